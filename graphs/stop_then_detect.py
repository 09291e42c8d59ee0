"""Read a conversation post by post, stop when enough has been heard, then judge it once.

The machine every published method is run by: *when* is a stop policy, *how* a verifier (`graphs/methods.py`).
A step of the loop is a post; the last one forces the stop, so the loop is bounded by the thread's length.
"""

from dataclasses import asdict, fields
from typing import Annotated, Any, Literal

from langgraph.channels import EphemeralValue
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from agents.verdict import Verdict
from corpora.errors import UsageError
from corpora.thread import ClaimThread, Language, Post
from graphs.admitting import thread_of
from graphs.checked import parse
from graphs.context import Context, Method, method_of

MOST_POSTS = 1_000
"""Of a conversation that a graph reads; a server keeps its state after every one of them, all decisions included."""
MOST_CHARACTERS = 20_000
"""Of a post."""


class InputPost(BaseModel):
    """One post, as a caller gives it."""

    text: str = Field(description="What the post says", max_length=MOST_CHARACTERS)
    seconds: float | None = Field(None, description="Seconds since the source post, if known", ge=0)
    author: str = Field("", description="Any name that tells speakers apart")
    id: str | None = Field(None, description="Its id; its position, counted from 0, if none is given")
    parent: str | None = Field(None, description="Id of the post it answers; the source post if none is given")


class Input(BaseModel):
    """A conversation to judge: the source post, then the replies in time order."""

    posts: list[InputPost] = Field(
        description="Source post first, then replies in time order", min_length=1, max_length=MOST_POSTS
    )
    id: str = Field("thread", description="A name for the conversation, shown in the call log")
    language: Language = Field("en", description="Language of the prompts")


class Step(TypedDict):
    """What was decided after one post."""

    step: int
    """Posts read so far."""
    post: str
    """Id of the post just read."""
    action: Literal["continue", "stop"]
    stop_probability: float
    why: str
    """Why it went on, or stopped."""


STOP = 0.5
"""Probability from which on the reading stops."""


def more(before: Any, found: Any) -> Any:
    """Add what a node found to what is known; `[]`, `{}` and None begin anew.

    A server's thread may hold another conversation's. LangGraph's `Overwrite` would begin anew too, but whoever streams
    updates would be shown its wire form in place of a list.
    """
    if found is None or found == [] or found == {}:
        return type(before)()
    return before | found if isinstance(before, dict) else before + found


class State(TypedDict):
    """What the nodes share; plain values only, so that any checkpointer can hold it."""

    posts: Annotated[Any, EphemeralValue]
    """What was sent, for `admit` alone. A server's thread keeps nothing of it for a next run, which may send less."""
    id: Annotated[Any, EphemeralValue]
    language: Annotated[Any, EphemeralValue]
    conversation: dict[str, Any] | ClaimThread
    """What was taken in: id, language, and posts as fields of `Post`; in a batch, which has no checkpoints, the thread.

    Nodes look at the first `read` of its posts and no further.
    """
    read: int
    text: str
    """What the post just read says, so that a trace reads like the conversation."""
    steps: Annotated[list[Step], more]
    stopped: str | None
    judged: list[str]
    verdict: dict[str, Any] | None


class Output(BaseModel):
    """The verdict, and where in the conversation it was reached."""

    verdict: dict[str, Any] = Field(description="label, probabilities, outcome, reason, rationale, stances")
    read: int = Field(description="Posts read when the reading stopped")
    stopped: str = Field(description="Why it stopped there")
    judged: list[str] = Field(description="Ids of the posts that the verdict is about")
    text: str = Field(description="What the last post read says")
    steps: list[Step] = Field(description="The decision after each post, and why")


async def admit(state: State) -> dict[str, Any]:
    """Take the conversation in: check it, and put its posts through the rules that the corpora went through."""
    given = parse(Input, state)
    posts = [post.model_dump() | {"id": post.id or str(index)} for index, post in enumerate(given.posts)]
    if len({post["id"] for post in posts}) < len(posts):
        raise UsageError("two posts have one id: leave the ids out, or make each its own")
    times = [post["seconds"] for post in posts if post["seconds"] is not None]
    if times != sorted(times):
        raise UsageError("the posts are not in time order: sort them by seconds, the source post first")
    if times and posts[0]["seconds"] is None:
        posts[0]["seconds"] = 0.0  # seconds count from it
    thread, _ = thread_of(given.id, posts, language=given.language)
    admitted = {"id": thread.id, "language": thread.language, "posts": [asdict(post) for post in thread.posts]}
    return {"conversation": admitted, "read": 0, "text": ""} | {
        # A server's thread may have held another conversation before: nothing of it is this one's.
        "steps": [],
        "stopped": None,
        "judged": [],
        "verdict": None,
    }


async def read_post(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Read the next post, and ask the stop policy whether these are enough."""
    method = await method_of(runtime.context)
    read, end = state["read"] + 1, _length(state)
    prefix, deadline = _prefix(state, read), method.policy.deadline
    probability = await method.policy(prefix)
    upcoming = None
    if read < end and deadline is not None:
        # A clock needs no later post to strike: the next one is asked only for its time, and stays unread.
        upcoming = _prefix(state, read + 1).posts[-1].seconds
        probability = float(upcoming is not None and upcoming > deadline)
    stop = probability >= STOP or read == end
    step: Step = {
        "step": read,
        "post": prefix.posts[-1].id,
        "action": "stop" if stop else "continue",
        "stop_probability": probability,
        "why": why(method, probability, last=read == end, upcoming=upcoming),
    }
    return {"read": read, "text": prefix.posts[-1].text, "steps": [step]}


def route(state: State) -> Literal["read_post", "verify"]:
    """Go on reading, or judge."""
    return "verify" if state["steps"][-1]["action"] == "stop" else "read_post"


async def verify(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Judge the posts read, once."""
    method, prefix = await method_of(runtime.context), _prefix(state, state["read"])
    verdict: Verdict = await method.verifier(prefix)
    return {
        "verdict": {field.name: getattr(verdict, field.name) for field in fields(verdict)},
        "stopped": state["steps"][-1]["why"],
        "judged": [post.id for post in prefix.posts],
    }


def _length(state: State) -> int:
    known = state["conversation"]
    return len(known.posts if isinstance(known, ClaimThread) else known["posts"])


def _prefix(state: State, read: int) -> ClaimThread:
    return known_thread(state["conversation"], read)


def known_thread(known: dict[str, Any] | ClaimThread, read: int | None = None) -> ClaimThread:
    """The first posts of what was taken in, or all of them; never with gold labels."""
    if isinstance(known, ClaimThread):
        return ClaimThread(known.id, known.posts[:read], language=known.language)
    posts = tuple(Post(**post) for post in known["posts"][:read])
    return ClaimThread(known["id"], posts, language=known["language"])


def why(method: Method, probability: float, *, last: bool, upcoming: float | None) -> str:
    """Why the reading goes on or stops after a post: the clock, the policy, or the last post."""
    deadline = method.policy.deadline
    if probability >= STOP and deadline is not None:
        return (
            f"{method.name}: the next post comes {upcoming:g} s after the source, past the deadline of {deadline:g} s"
        )
    told = f"stop probability {probability:.3f}, threshold {STOP}"
    if probability >= STOP:
        return f"{method.name}: {method.means} ({told})"
    return f"the last post is read ({told})" if last else told


builder = StateGraph(State, context_schema=Context, input_schema=Input, output_schema=Output)
builder.add_node("admit", admit)
builder.add_node("read_post", read_post)
builder.add_node("verify", verify)
builder.add_edge(START, "admit")
builder.add_edge("admit", "read_post")
builder.add_conditional_edges("read_post", route)
builder.add_edge("verify", END)

graph = builder.compile(name="stop then detect")


def recursion_limit(n_posts: int) -> int:
    """Steps that a conversation of n posts can take at most; pass it to `graph.invoke`."""
    return n_posts + 3


async def run_nodes(thread: ClaimThread, method: Method) -> State:
    """Run the machine's own nodes one after the other, for batches.

    The graph's bookkeeping costs 0.3 ms a node, thirty nodes a thread; a batch needs no checkpoints.
    """
    runtime: Runtime[Any] = Runtime(context=method)
    state: State = {
        "posts": None,
        "id": None,
        "language": None,
        "conversation": thread,
        "read": 0,
        "text": "",
        "steps": [],
        "stopped": None,
        "judged": [],
        "verdict": None,
    }
    while True:
        update = await read_post(state, runtime)
        state["read"] = update["read"]
        state["steps"] += update["steps"]
        if route(state) == "verify":
            state.update(await verify(state, runtime))  # type: ignore[typeddict-item]
            return state
