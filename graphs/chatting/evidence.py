"""A verdict on a conversation, and where the reading would have stopped.

The stop policy reads post by post, as in `graphs/stop_then_detect.py`; the verdict is on all the posts that were given,
since the person has read them too. What it rests on is found in `graphs/chatting/weighing.py`.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from typing_extensions import TypedDict

from agents.verdict import Verdict
from corpora.errors import UsageError
from corpora.labels import LABEL_SETS
from corpora.thread import ClaimThread, Language
from graphs.chatting.context import ChatContext
from graphs.context import Context, Method, method_of
from graphs.hows import how_of
from graphs.stop_then_detect import run_nodes

T = TypeVar("T")

ONE_QUESTION = ("direct", "vanilla", "multi-task")
"""Verifiers that ask a chat model once a verdict."""
LEAST = 0.01
"""Weight from which on a reply counts as having carried something."""
STOCK: dict[Language, tuple[tuple[str, str], ...]] = {
    "en": (
        ("support", "I can confirm this, I saw it myself."),
        ("deny", "This is false. Officials have denied it."),
        ("question", "Is there any source for this?"),
        ("comment", "Stay safe, everyone."),
    ),
    "zh": (
        ("support", "我可以证实，我亲眼看到了。"),
        ("deny", "这是假的，官方已经辟谣。"),
        ("question", "请问消息来源是哪里？"),
        ("comment", "大家注意安全。"),
    ),
}


class Weighed(TypedDict):
    """What is said of a conversation from which posts were left out, or to which one was added."""

    posts: list[int]
    """Numbers of the posts that were left out; of a stock reply, none."""
    reply: str
    """Name of the stock reply that was added; empty if none was."""
    label: str | None
    p: float | None
    """Probability of the verdict's label."""
    weight: float | None
    """How much likelier these posts make the verdict's label; None where the verifier gives no probability."""


class Belief(TypedDict):
    """What is said after some posts."""

    read: int
    label: str | None
    p: float | None
    """Probability of the verdict's label."""


class Judgement(TypedDict, total=False):
    """A verdict and what it rests on; plain values only."""

    how: str
    when: str
    language: Language
    """Of the posts."""
    numbers: list[int]
    """Numbers of the posts judged, in the conversation's own order."""
    label: str | None
    outcome: str
    reason: str | None
    rationale: str | None
    probabilities: dict[str, float] | None
    p: float | None
    """Probability of the label."""
    read: int | None
    """How many of the posts it would have read; None where that was not asked."""
    stopped: str | None
    """Why it would have stopped there."""
    stopped_label: str | None
    stopped_p: float | None
    beliefs: list[Belief]
    """After every post; with a chat model, after the first (and the last of two)."""
    weighed: bool
    """Whether what follows was computed, as far as it can be."""
    left_out: list[Weighed]
    without: Weighed | None
    """The posts that, left out together, flip the label."""
    added: list[Weighed]
    calls: int
    """Questions asked of a chat model for all but the verdict."""
    limits: list[str]
    """What was not computed, and why: keys of graphs/chatting/texts.py, each with a value after its colon."""
    debate: dict[str, Any] | None
    person: dict[str, str] | None
    """What a person decided: "label" and "said"."""


async def judge(thread: ClaimThread, numbers: Sequence[int], context: Context, max_calls: int) -> Judgement:
    """Judge all posts, and find where the stop policy would have stopped.

    Args:
        thread: The posts.
        numbers: Their numbers in the conversation they are from.
        context: How they are judged.
        max_calls: Further questions that all of this may cost a chat model.

    Raises:
        UsageError: the context cannot be met.
        ModelError: the chat model failed for good.
    """
    method = await method_of(context)
    verdict = await method.verifier(thread)
    found: Judgement = {
        "how": context.how,
        "when": context.when,
        "language": thread.language,
        "numbers": list(numbers),
        "label": verdict.label,
        "outcome": verdict.outcome,
        "reason": verdict.reason,
        "rationale": verdict.rationale,
        "probabilities": verdict.probabilities,
        "p": p_of(verdict, verdict.label),
        "debate": verdict.debate,
        "person": None,
        **nothing_weighed(),
    }
    return {**found, **await _stop(thread, context, method, verdict, max_calls)}


async def aside(work: Coroutine[Any, Any, T], context: Context) -> T:
    """What the encoder computes of a long conversation never waits: a thread of its own lets the event loop go on.

    A chat model's client belongs to this loop, and its questions wait anyway.
    """
    return await asyncio.to_thread(asyncio.run, work) if context.how == "encoder" else await work


async def _stop(thread: ClaimThread, context: Context, method: Method, verdict: Verdict, max_calls: int) -> Judgement:
    """Where the policy would have stopped, and what it would have said there."""
    posts, p = len(thread.posts), p_of(verdict, verdict.label)
    if posts == 1:
        return {"read": 1, "stopped_label": verdict.label, "stopped_p": p, "stopped": "the last post is read"}
    asks, by_verdict = how_of(context.how).asks_model, context.when.partition(":")[0] == "confidence"
    if asks and (context.how not in ONE_QUESTION or (2 * posts if by_verdict else 1) > max_calls):
        return {"read": None, "limits": [f"no_stop:{context.how}"]}
    try:
        state = await aside(run_nodes(thread, method), context)
    except UsageError as error:  # no times, for a clock
        return {"read": None, "limits": [f"stop_failed:{error}"]}
    told, read = state["verdict"] or {}, state["read"]
    label, odds = told.get("label"), told.get("probabilities") or {}
    return {
        "read": read,
        "stopped": state["stopped"],
        "stopped_label": label,
        "stopped_p": odds.get(label),
        "calls": (read if by_verdict else int(read < posts)) if asks else 0,
    }


def unsure(found: Judgement, context: ChatContext) -> bool:
    """Whether a person should be asked: the first label's probability lies in the band, or there is no verdict.

    Of more than two classes, it is the probability of the label itself.
    """
    if found["outcome"] == "failed":
        return False
    labels = LABEL_SETS[context.labels].labels
    if found["label"] is None:
        return True
    low, high = context.unsure_low, context.unsure_high
    odds = found["probabilities"]
    p = odds.get(labels[0] if len(labels) == 2 else found["label"]) if odds else None
    return p is not None and low <= p <= high


def nothing_weighed() -> Judgement:
    """The fields that `weigh` fills."""
    return {"weighed": False, "beliefs": [], "left_out": [], "without": None, "added": [], "calls": 0, "limits": []}


def p_of(verdict: Verdict, label: str | None) -> float | None:
    """The probability that a verdict gives a label, if it gives any."""
    return None if verdict.probabilities is None or label is None else verdict.probabilities.get(label)
