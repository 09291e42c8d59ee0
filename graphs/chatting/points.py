"""The points of the chat's answers: a sentence for each thing that was computed."""

from collections import Counter
from collections.abc import Sequence

from agents.debate.transcript import Turn
from corpora.thread import ClaimThread, Language
from graphs.chatting.context import ChatContext
from graphs.chatting.evidence import LEAST, STOCK, Judgement, Weighed
from graphs.chatting.numbers import at_p, in_points, joined, percent, spans
from graphs.chatting.posts import post_line
from graphs.chatting.quoting import plain, quote
from graphs.chatting.texts import name_of, say

TOLD = 3
"""Posts told of at most, on each side."""
MOST_SPANS = 8
"""Spans of numbers that are told one by one."""


def moved(found: Judgement, language: Language) -> list[str]:
    """What the last post changed, where the beliefs after all posts are known."""
    if len(found["beliefs"]) != len(found["numbers"]) or len(found["beliefs"]) < 2:
        return []
    before, after = found["beliefs"][-2:]
    if before["p"] is None or after["p"] is None:
        return []
    name = name_of(found["label"], language)
    shown = {"before": percent(before["p"]), "after": percent(after["p"])}
    key = "moved" if shown["before"] != shown["after"] else "moved_not"
    if before["label"] != after["label"]:
        key = "moved_over"
    return [say(key, language, label=name, **shown)]


def stopped(found: Judgement, thread: ClaimThread) -> list[str]:
    """Where it would have stopped, or why that is not known."""
    language, read, when = thread.language, found.get("read"), plain(found["when"])
    if read is None:
        return not_stopped(found, language)
    n = len(found["numbers"])
    if n == 1:
        return []
    if read == n:
        return [say("stopped_last", language, when=when)]
    label, at = name_of(found["stopped_label"], language), at_p(found["stopped_p"], language)
    key = "stopped" if found["stopped_label"] == found["label"] else "stopped_other"
    return [say(key, language, read=found["numbers"][read - 1], n=n, when=when, label=label, at=at)]


def carried(found: Judgement, language: Language, thread: ClaimThread | None = None) -> list[str]:
    """The claim alone, the posts that carried it, and those against it; quoted, if the thread is given."""
    label, lines = found["label"], []

    def quoted(some: Sequence[Weighed]) -> str:
        numbers = [number for each in some for number in each["posts"][:TOLD]] if thread else []
        return "".join(f"\n  - {post_line(thread, number)}" for number in numbers if thread)

    if found["beliefs"] and len(found["numbers"]) > 1:
        first_label, p = found["beliefs"][0]["label"], found["beliefs"][0]["p"]
        name = name_of(first_label, language)
        if p is None or found["p"] is None:
            lines.append(say("alone_label", language, label=name))
        else:
            own = p if first_label == label else None if len(found["probabilities"] or {}) != 2 else 1 - p
            moved = {"verdict": name_of(label, language), "p": percent(p), "all": percent(found["p"])}
            key = "alone_same" if moved["p"] == moved["all"] else "alone"
            lines.append(say(key, language, label=name, at=at_p(own, language), **moved))
    if not found["left_out"]:
        return [*lines, say("carried_claim", language)] if found["beliefs"] and len(found["numbers"]) == 1 else lines
    for key, against in (("carried", False), ("against", True)):
        some = _carriers(found["left_out"], against=against)
        told = joined([_left_out(each, language) for each in some], language)
        if some:
            lines.append(say(key, language, posts=told) + quoted(some))
        elif not against:
            opposed = _carriers(found["left_out"], against=True)
            lines.append(say("carried_claim_only" if opposed else "carried_nothing", language))
    return lines


def _carriers(left_out: Sequence[Weighed], *, against: bool = False) -> list[Weighed]:
    """Those that carried the verdict, most first; or those that spoke against it."""
    sign = -1 if against else 1
    weighed = [each for each in left_out if each["weight"] is not None and sign * each["weight"] >= LEAST]
    weighed.sort(key=lambda each: -sign * (each["weight"] or 0.0))
    return weighed[: TOLD if not against else TOLD - 1]


def _left_out(each: Weighed, language: Language) -> str:
    number, weight, p = spans(each["posts"]), each["weight"], each["p"]
    assert weight is not None and p is not None
    key = "one_left_out" if len(each["posts"]) == 1 else "block_left_out"
    points = in_points(weight, language)
    return say(key, language, number=number, weight=points, p=percent(p))


def turned(found: Judgement, language: Language) -> list[str]:
    """What would change its mind, in one sentence; nothing where nothing was tried."""
    if not found["added"]:
        return []
    ways, without = [], found["without"]
    if without:
        ways.append(flip(without, found, language))
    flipping = [each for each in found["added"] if each["label"] not in (None, found["label"])]
    for each in flipping[:2]:
        text = quote(dict(STOCK[found["language"]])[each["reply"]])
        at = at_p(own_p(each, found), language)
        ways.append(say("next", language, text=text, label=name_of(each["label"], language), at=at))
    if not flipping and ways:
        moves = [
            say("moves", language, name=say(each["reply"], language), p=percent(each["p"]))
            for each in found["added"]
            if each["p"] is not None
        ]
        if moves:
            ways.append(say("no_flip_next", language, moves=", ".join(moves)))
    return [say("change", language, ways=joined(ways, language, ";"))] if ways else [say("change_nothing", language)]


def flip(without: Weighed, found: Judgement, language: Language) -> str:
    """The posts without which the label is another."""
    numbers, n = spans(without["posts"]), len(without["posts"])
    key = "flip_most" if numbers.count(",") > MOST_SPANS else "flip_many" if n > 1 else "flip_posts"
    posts_, label = say(key, language, numbers=numbers, n=n), name_of(without["label"], language)
    return say("flip", language, posts=posts_, label=label, at=at_p(own_p(without, found), language))


def own_p(each: Weighed, found: Judgement) -> float | None:
    """The probability of its own label, of two; what is kept is that of the verdict's."""
    if each["p"] is None or each["label"] == found["label"]:
        return each["p"]
    return 1 - each["p"] if len(found["probabilities"] or {}) == 2 else None


def limits(found: Judgement, context: ChatContext, language: Language) -> list[str]:
    """How it was computed, and what was not."""
    lines = []
    if found["added"] and found["calls"]:
        longest = max((len(each["posts"]) for each in found["left_out"]), default=1)
        size = say("size_one", language) if longest == 1 else say("size_many", language, n=longest)
        lines.append(say("computed_calls", language, calls=found["calls"], max=context.max_calls, size=size))
    elif found["added"]:
        lines.append(say("computed" if found["left_out"] else "computed_claim", language))
    lines += [_limit(limit, language) for limit in found["limits"] if not _of_stopping(limit)]
    if found["how"] == "encoder" and found["language"] != "en":
        lines.append(say("reads_english", language))
    return lines


def not_stopped(found: Judgement, language: Language) -> list[str]:
    """Why it is not known where it would have stopped."""
    return [_limit(limit, language) for limit in found["limits"] if _of_stopping(limit)]


def _of_stopping(limit: str) -> bool:
    return "stop" in limit.partition(":")[0]


def _limit(limit: str, language: Language) -> str:
    key, _, value = limit.partition(":")
    return say(key, language, plain(value))


def debated(found: Judgement, thread: ClaimThread) -> list[str]:
    """Who saw what in a debate, and which posts it cited."""
    debate, language = found["debate"], thread.language
    if not debate:
        return []
    numbers = {post.id: number for number, post in enumerate(thread.posts, 1)}

    def told(ids: Sequence[str]) -> str:
        known = sorted(numbers[each] for each in ids if each in numbers)
        return say("flip_many", language, numbers=spans(known)) if known else say("nobody", language)

    turns: list[Turn] = debate["turns"]
    changed = sum(debate["flips"].values())
    lines = [
        say(
            "debate_evidence",
            language,
            p=told(debate["p"]),
            n=told(debate["n"]),
            turns=len(turns),
            flips=changed or say("no_flips", language),
            end=say("judge_decided" if any(turn["speaker"] == "judge" for turn in turns) else "agreed", language),
        )
    ]
    cited = Counter(numbers[each] for turn in turns for each in turn["cites"] if each in numbers)
    if cited:
        lines.append(say("cited", language, posts=told([thread.posts[n - 1].id for n, _ in cited.most_common(TOLD)])))
    return lines
