"""Read a conversation post by post, stop when enough has been heard, then judge it once.

The machine every published method is run by: *when* is a stop policy, *how* a verifier (`graphs/methods.py`).
The last post forces the stop, so the loop is bounded by the thread's length.
"""

import operator
from dataclasses import asdict, fields
from typing import Annotated, Any, Literal

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from agents.verdict import Verdict
from corpora.errors import UsageError
from corpora.thread import ClaimThread, Language, Post
from graphs.context import Context, Method, method_of


class InputPost(BaseModel):
    """One post, as a caller gives it."""

    text: str = Field(description="What the post says")
    seconds: float | None = Field(None, description="Seconds since the source post, if known", ge=0)
    author: str = Field("", description="Any name that tells speakers apart")
    id: str | None = Field(None, description="Its id; its position if none is given")
    parent: str | None = Field(None, description="Id of the post it answers; the source post if none is given")


class Input(BaseModel):
    """A conversation to judge: the source post, then the replies in time order."""

    posts: list[InputPost] = Field(description="Source post first, then replies in time order", min_length=1)
    id: str = Field("thread", description="A name for the conversation, shown in the call log")
    language: Language = Field("en", description="Language of the prompts")


class Step(TypedDict):
    """What was decided after one post."""

    step: int
    """Posts read so far."""
    post: str
    """Id of the post just read."""
    text: str
    """What it says, so that a trace reads like the conversation."""
    action: Literal["continue", "stop"]
    stop_probability: float


class State(TypedDict):
    """What the nodes share; plain values only, so that any checkpointer can hold it."""

    id: str
    language: Language
    posts: list[dict[str, Any]] | tuple[Post, ...]
    """All posts, as fields of `Post`, or in a batch, which has no checkpoints, the posts themselves.

    Nodes look at the first `read` of them and no further.
    """
    read: int
    steps: Annotated[list[Step], operator.add]
    verdict: dict[str, Any] | None


class Output(BaseModel):
    """The verdict, and where in the conversation it was reached."""

    verdict: dict[str, Any] = Field(description="label, probabilities, outcome, reason, rationale, stances")
    read: int = Field(description="Posts read when the reading stopped")
    steps: list[Step] = Field(description="The decision after each post")


async def admit(state: Input) -> dict[str, Any]:
    """Take the conversation in: give every post an id, a parent and its place in time."""
    posts = [
        Post(
            post.id or str(index),
            post.text,
            post.seconds,
            post.author,
            None if index == 0 else (post.parent or state.posts[0].id or "0"),
        )
        for index, post in enumerate(state.posts)
    ]
    if len({post.id for post in posts}) < len(posts):
        raise UsageError("two posts have one id: leave the ids out, or make each its own")
    return {"id": state.id, "language": state.language, "posts": [asdict(post) for post in posts], "read": 0} | {
        # A server's thread may have held another conversation before: nothing of it is this one's.
        "steps": Overwrite([]),
        "verdict": None,
    }


async def read_post(state: State) -> dict[str, Any]:
    """Read the next post."""
    return {"read": state["read"] + 1}


async def decide(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Ask the stop policy whether the posts read so far are enough."""
    method = await method_of(runtime.context)
    read, prefix, end = state["read"], _prefix(state), len(state["posts"])
    probability = await method.policy(prefix)
    if read < end and method.policy.deadline is not None:
        # A clock needs no later post to strike: the next one is asked only for its time, and stays unread.
        upcoming = _prefix({**state, "read": read + 1}).posts[-1].seconds
        probability = float(upcoming is not None and upcoming > method.policy.deadline)
    stop = probability >= 0.5 or read == end
    step: Step = {
        "step": read,
        "post": prefix.posts[-1].id,
        "text": prefix.posts[-1].text,
        "action": "stop" if stop else "continue",
        "stop_probability": probability,
    }
    return {"steps": [step]}


def route(state: State) -> Literal["read_post", "verify"]:
    """Go on reading, or judge."""
    return "verify" if state["steps"][-1]["action"] == "stop" else "read_post"


async def verify(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Judge the posts read, once."""
    method = await method_of(runtime.context)
    verdict: Verdict = await method.verifier(_prefix(state))
    return {"verdict": {field.name: getattr(verdict, field.name) for field in fields(verdict)}}


def _prefix(state: State) -> ClaimThread:
    posts = state["posts"][: state["read"]]
    known = posts if isinstance(posts, tuple) else tuple(Post(**post) for post in posts)
    return ClaimThread(state["id"], known, language=state["language"])


builder = StateGraph(State, context_schema=Context, input_schema=Input, output_schema=Output)
builder.add_node("admit", admit)
builder.add_node("read_post", read_post)
builder.add_node("decide", decide)
builder.add_node("verify", verify)
builder.add_edge(START, "admit")
builder.add_edge("admit", "read_post")
builder.add_edge("read_post", "decide")
builder.add_conditional_edges("decide", route)
builder.add_edge("verify", END)

graph = builder.compile(name="stop then detect")


def recursion_limit(n_posts: int) -> int:
    """Steps that a conversation of n posts can take at most; pass it to `graph.invoke`."""
    return 2 * n_posts + 3


async def run_nodes(thread: ClaimThread, method: Method) -> State:
    """Run the machine's own nodes one after the other, for batches.

    The graph's bookkeeping costs 0.3 ms a node, thirty nodes a thread; a batch needs no checkpoints.
    """
    runtime: Runtime[Any] = Runtime(context=method)
    state: State = {
        "id": thread.id,
        "language": thread.language,
        "posts": thread.posts,
        "read": 0,
        "steps": [],
        "verdict": None,
    }
    while True:
        state.update(await read_post(state))  # type: ignore[typeddict-item]
        state["steps"] += (await decide(state, runtime))["steps"]
        if route(state) == "verify":
            state.update(await verify(state, runtime))  # type: ignore[typeddict-item]
            return state
