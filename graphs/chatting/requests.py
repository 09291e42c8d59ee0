"""What is judged, and by what, when somebody asks for it in a chat."""

from collections.abc import Sequence
from dataclasses import replace

from corpora.errors import UsageError
from corpora.thread import ClaimThread, Language
from graphs.chatting.context import ChatContext
from graphs.chatting.evidence import Judgement
from graphs.chatting.intents import Asked
from graphs.chatting.texts import say
from graphs.chatting.weighing import without
from graphs.hows import how_of

TRAINS = ("jsdrv", "ced", "erd", "heard")
"""Verifiers that learn for minutes: nobody starts that by a word in a chat."""


class Told(UsageError):
    """A mistake that is already told in the chat's own words."""


def how_to(asked: Asked, context: ChatContext, before: Judgement | None, language: Language) -> str | None:
    """The verifier to judge by: the one asked for, the one of the last verdict if that is asked about, or the usual.

    Raises:
        UsageError: it needs what is not there.
    """
    how = asked.get("how") or (before["how"] if before and ("first" in asked or "without" in asked) else None)
    if not how or how == context.how:
        return None
    model = (how == "s2mad" and context.debate_model) or context.speaker
    if how_of(how).asks_model and model is None:
        key = "no_debate_model" if how == "s2mad" else "no_model"
        raise Told(say(key, language, how))
    if how in TRAINS:
        raise Told(say("trains", language, how))
    return how


def which(asked: Asked, thread: ClaimThread, language: Language) -> tuple[list[int], list[str]]:
    """The numbers of the posts to judge.

    Raises:
        UsageError: the claim is not among them, or a post is asked for that is not there.
    """
    count = len(thread.posts)
    out = asked.get("without", [])
    if 1 in out:
        raise Told(say("without_claim", language))
    if missing := [number for number in out if not 1 <= number <= count]:
        raise Told(say("no_such_post", language, number=missing[0], n=count))
    first = asked.get("first", count)
    numbers = [number for number in range(1, min(first, count) + 1) if number not in out]
    return numbers, [f"all_there_is:{count}"] if first > count else []


def part_of(thread: ClaimThread, numbers: Sequence[int]) -> ClaimThread:
    """Those posts of a conversation."""
    return replace(
        thread, posts=without(thread.posts, [n - 1 for n in range(1, len(thread.posts) + 1) if n not in numbers])
    )
