"""S2MAD: score the comments, separate them by stance, let two debaters argue, and judge where they do not agree.

Paper: "Breaking Event Rumor Detection via Stance-Separated Multi-Agent Debate" (2024), Algorithm 1. Debater p sees the
comments that support the claim, debater n those that oppose it. Scores and the claim's subjectivity are asked at once,
and so are both turns of a round. The last round is bounded by the settings, so no route leads round for ever.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal, cast

from langgraph.channels import EphemeralValue
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from agents.debate.debate import Debate
from agents.debate.evidence import halves, separate
from agents.debate.scoring import Batch
from agents.debate.transcript import Scored, Transcript, Turn, flips
from agents.verdict import Verdict
from corpora.thread import ClaimThread
from graphs.debate_context import DebateContext, debate_of
from graphs.stop_then_detect import Input, known_thread, more
from graphs.stop_then_detect import State as Conversation
from graphs.stop_then_detect import admit as admit_posts

SPEAKERS = ("p", "n", "agent", "judge")
"""In the order in which a round is told."""


class State(TypedDict):
    """What the nodes share; plain values only, so that any checkpointer can hold it."""

    posts: Annotated[Any, EphemeralValue]
    """What was sent, for `admit` alone, as in stop_then_detect."""
    id: Annotated[Any, EphemeralValue]
    language: Annotated[Any, EphemeralValue]
    conversation: dict[str, Any] | ClaimThread
    """What was taken in: id, language, and posts as fields of `Post`; in a batch the thread itself."""
    scores: Annotated[dict[str, float | None], more]
    """Comment id -> score."""
    quotes: Annotated[dict[str, str], more]
    """Comment id -> words of it that the scorer quotes, where debaters see nothing else of it."""
    subjective: bool | None
    p: list[int]
    """Indices of the comments that debater p sees."""
    n: list[int]
    turns: Annotated[list[Turn], more]
    calls: Annotated[int, more]
    stopped: str | None
    """How the debaters stood after the last round, and what came of it."""
    verdict: dict[str, Any] | None


class Output(BaseModel):
    """The verdict, and the debate that led to it."""

    verdict: dict[str, Any] = Field(description="label, outcome, reason, rationale, stances, debate (the transcript)")
    stopped: str | None = Field(description="Why the debate ended where it did")
    subjective: bool | None = Field(description="Whether the claim only expresses an opinion, if that could be read")
    turns: list[Turn] = Field(description="What was said: speaker, round, label, text, cited posts")
    arguments: dict[str, str] = Field(description="Speaker -> last argument: p, n and the judge, or the agent alone")
    scores: dict[str, float | None] = Field(description="Comment id -> score: above 0 supports, below 0 opposes")
    flips: dict[str, int] = Field(description="Debater -> how often it changed sides")
    calls: int = Field(description="Questions asked of chat models")


async def admit(state: State) -> dict[str, Any]:
    """Take the conversation in."""
    admitted = await admit_posts(cast("Conversation", state))
    # A server's thread may have held another debate before: nothing of it is this one's.
    fresh: dict[str, Any] = {"scores": {}, "quotes": {}, "turns": [], "calls": None}
    fresh |= {"subjective": None, "p": [], "n": [], "stopped": None, "verdict": None, "arguments": {}, "flips": {}}
    return fresh | {"conversation": admitted["conversation"]}


async def hand_out(state: State, runtime: Runtime[DebateContext]) -> list[Send] | Literal["separate_stances"]:
    """Send every comment to the scorer, and the claim to whoever says what kind it is."""
    debate = await debate_of(runtime.context)
    sends = [Send("score_comments", batch) for batch in debate.batches(_thread(state))]
    if asks_kind(debate):
        claim = {**cast("dict[str, Any]", state["conversation"])}
        claim["posts"] = claim["posts"][:1]
        sends.append(Send("classify_claim", {**state, "conversation": claim}))
    return sends or "separate_stances"


async def score_comments(state: Batch, runtime: Runtime[DebateContext]) -> dict[str, Any]:
    """Score comments: do they support that the claim is real, or oppose it?"""
    scored, calls = await (await debate_of(runtime.context)).score(state)
    ids = [comment["id"] for comment in state["comments"]]
    quotes = {post: each.quote for post, each in zip(ids, scored, strict=True) if each.quote}
    found = {"scores": {post: each.score for post, each in zip(ids, scored, strict=True)}, "quotes": quotes}
    # `more` takes what is empty for a new beginning, which would lose what the batches beside this one found
    return {name: values for name, values in found.items() if values} | {"calls": calls}


async def classify_claim(state: State, runtime: Runtime[DebateContext]) -> dict[str, Any]:
    """Ask whether the claim only expresses an opinion."""
    subjective, calls = await (await debate_of(runtime.context)).classify(_thread(state))
    return {"subjective": subjective, "calls": calls}


async def separate_stances(state: State, runtime: Runtime[DebateContext]) -> dict[str, Any]:
    """Give each debater its comments."""
    debate = await debate_of(runtime.context)
    if debate.settings.ablate == "stance":
        support, oppose = halves(_thread(state), debate.seed)
    else:
        scores = {index: found.score for index, found in _scored(state).items()}
        support, oppose = separate(scores, debate.settings.k)
    return {"p": support, "n": oppose}


async def route_opening(
    _: State, runtime: Runtime[DebateContext]
) -> list[Literal["argue_support", "argue_oppose", "argue_alone"]]:
    """Open the debate, or let one agent do without."""
    alone = (await debate_of(runtime.context)).settings.ablate == "debate"
    return ["argue_alone"] if alone else ["argue_support", "argue_oppose"]


async def argue_support(state: State, runtime: Runtime[DebateContext]) -> dict[str, Any]:
    """Debater p, who sees supporting comments: the initial opinion, then an answer to n."""
    return await _argue(state, await debate_of(runtime.context), "p")


async def argue_oppose(state: State, runtime: Runtime[DebateContext]) -> dict[str, Any]:
    """Debater n, who sees opposing comments: the initial opinion, then an answer to p."""
    return await _argue(state, await debate_of(runtime.context), "n")


async def argue_alone(state: State, runtime: Runtime[DebateContext]) -> dict[str, Any]:
    """One agent, who sees both kinds of comments (the ablation "w/o Debate")."""
    return await _argue(state, await debate_of(runtime.context), "agent")


async def moderate(state: State, runtime: Runtime[DebateContext]) -> dict[str, Any]:
    """Wait for both debaters, and say where it goes from here and why; `route_debate` leads there."""
    return {"stopped": _moderated(state, await debate_of(runtime.context))[1]}


async def route_debate(
    state: State, runtime: Runtime[DebateContext]
) -> list[Literal["argue_support", "argue_oppose", "judge", "conclude"]]:
    """Go another round, call the judge, or conclude."""
    return _moderated(state, await debate_of(runtime.context))[0]


def _moderated(
    state: State, debate: Debate
) -> tuple[list[Literal["argue_support", "argue_oppose", "judge", "conclude"]], str]:
    """Where the debate goes after a round, and why."""
    settings, (p, n) = debate.settings, (_last(state["turns"], speaker) for speaker in ("p", "n"))
    agreed = p["label"] is not None and p["label"] == n["label"]
    stand = f"after round {p['round']} of {settings.rounds} p says {p['label'] or '?'}, n says {n['label'] or '?'}"
    if p["round"] < settings.rounds and not (settings.gate and p["round"] == 0 and agreed):
        return ["argue_support", "argue_oppose"], f"{stand}: they answer each other"
    if agreed:
        return ["conclude"], f"{stand}: they agree"
    # Where one debater abstains the judge decides; two abstentions leave nothing to judge by.
    if p["label"] is None and n["label"] is None:
        return ["conclude"], f"{stand}: nobody gave a label"
    return ["judge"], f"{stand}: the judge decides"


async def judge(state: State, runtime: Runtime[DebateContext]) -> dict[str, Any]:
    """Decide between the debaters' last arguments."""
    p, n = (_last(state["turns"], speaker) for speaker in ("p", "n"))
    debate = await debate_of(runtime.context)
    turn = await debate.judge(_thread(state), p["text"], n["text"], p["round"])
    return {"turns": [turn], "calls": turn["calls"]}


async def conclude(state: State) -> dict[str, Any]:
    """Say what came of it."""
    posts = _thread(state).posts
    scores = {post.id: state["scores"][post.id] for post in posts if post.id in state.get("scores", {})}
    turns = sorted(state["turns"], key=lambda turn: (turn["round"], SPEAKERS.index(turn["speaker"])))
    transcript = Transcript(
        subjective=state.get("subjective"),
        scores=scores,
        p=[posts[index].id for index in state["p"]],
        n=[posts[index].id for index in state["n"]],
        turns=turns,
        flips={speaker: flips(turns, speaker) for speaker in ("p", "n")},
        calls=state["calls"],
    )
    last = {turn["speaker"]: turn for turn in turns}
    deciding = last.get("judge") or last.get("agent") or last["p"]
    verdict = Verdict(
        deciding["label"],
        outcome="verdict" if deciding["label"] else "abstained",
        reason=None if deciding["label"] else _why(last),
        rationale=deciding["text"],
        stances=dict.fromkeys(transcript["p"], "S") | dict.fromkeys(transcript["n"], "D") if scores else {},
        debate=cast("dict[str, Any]", transcript),
    )
    return {
        "verdict": asdict(verdict),
        "arguments": {speaker: turn["text"] for speaker, turn in last.items()},
        "flips": transcript["flips"],
    }


def asks_kind(debate: Debate) -> bool:
    """Whether anybody wants to know what kind of claim it is."""
    return debate.settings.ablate not in ("subjective", "non-subjective")


async def _argue(state: State, debate: Debate, speaker: str) -> dict[str, Any]:
    """A debater's next turn."""
    ablate = debate.settings.ablate
    # A claim whose kind could not be read is argued as one of facts, the commoner kind.
    subjective = ablate == "non-subjective" or (bool(state.get("subjective")) and ablate != "subjective")
    chosen = sorted({*state["p"], *state["n"]}) if speaker == "agent" else state["p" if speaker == "p" else "n"]
    turns, said, round_ = state.get("turns", []), None, 0
    if turns:
        own, other = _last(turns, speaker), _last(turns, "n" if speaker == "p" else "p")
        said, round_ = (own["text"], other["text"]), own["round"] + 1
    turn = await debate.argue(_thread(state), chosen, _scored(state), subjective, speaker, said, round_)
    return {"turns": [turn], "calls": turn["calls"]}


def _last(turns: Sequence[Turn], speaker: str) -> Turn:
    """A debater's latest turn. While both argue, neither sees the other's turn of the same round."""
    return next(turn for turn in reversed(turns) if turn["speaker"] == speaker)


def _why(last: Mapping[str, Turn]) -> str:
    """Why there is no verdict."""
    if "judge" in last:
        why, turns = "the debaters did not agree, and the judge's reply has no label", [last["judge"]]
    elif "agent" in last:
        why, turns = "the agent's reply has no label", [last["agent"]]
    else:
        why, turns = "no debater's last reply has a label", [last["p"], last["n"]]
    cuts = [turn["cut"] for turn in turns if "cut" in turn]
    return f"{why}: cut off at --max-tokens {cuts[0]}, allow more" if cuts else why


def _scored(state: State) -> dict[int, Scored]:
    scores, quotes = state.get("scores", {}), state.get("quotes", {})
    posts = enumerate(_thread(state).posts)
    return {index: Scored(scores[post.id], quotes.get(post.id, "")) for index, post in posts if post.id in scores}


def _thread(state: State) -> ClaimThread:
    return known_thread(state["conversation"])


builder = StateGraph(State, context_schema=DebateContext, input_schema=Input, output_schema=Output)
builder.add_node("admit", admit)
builder.add_node("score_comments", score_comments, input_schema=Batch)
builder.add_node("classify_claim", classify_claim)
builder.add_node("separate_stances", separate_stances)
builder.add_node("argue_support", argue_support)
builder.add_node("argue_oppose", argue_oppose)
builder.add_node("argue_alone", argue_alone)
builder.add_node("moderate", moderate)
builder.add_node("judge", judge)
builder.add_node("conclude", conclude)
builder.add_edge(START, "admit")
builder.add_conditional_edges("admit", hand_out, ["score_comments", "classify_claim", "separate_stances"])
builder.add_edge("score_comments", "separate_stances")
builder.add_edge("classify_claim", "separate_stances")
builder.add_conditional_edges("separate_stances", route_opening, ["argue_support", "argue_oppose", "argue_alone"])
builder.add_edge("argue_support", "moderate")
builder.add_edge("argue_oppose", "moderate")
builder.add_conditional_edges("moderate", route_debate, ["argue_support", "argue_oppose", "judge", "conclude"])
builder.add_edge("argue_alone", "conclude")
builder.add_edge("judge", "conclude")
builder.add_edge("conclude", END)

graph = builder.compile(name="stance-separated debate")
