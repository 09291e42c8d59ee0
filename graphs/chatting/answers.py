"""The chat's answers, put together from what was computed; posts are quoted so that no renderer reads them.

Verdicts, numbers and reasons come from `evidence.py`. A model's own paragraph (`model.py`) stands apart and is marked.
"""

from collections.abc import Sequence
from dataclasses import replace

from agents.debate.transcript import Turn
from corpora.thread import ClaimThread, Language
from graphs.chatting.context import ChatContext
from graphs.chatting.evidence import STOCK, Judgement
from graphs.chatting.numbers import at_p, path_of, percent, spans, titled
from graphs.chatting.points import TOLD, carried, debated, flip, limits, moved, not_stopped, own_p, stopped, turned
from graphs.chatting.posts import post_line, show_posts
from graphs.chatting.quoting import SHOWN, plain, quote
from graphs.chatting.state import State
from graphs.chatting.texts import name_of, say
from graphs.chatting.turns import Conversation, thread_of_posts

NEEDS_VERDICT = ("judge", "why", "change", "stop", "sure")
"""Requests that are about a verdict."""


def answer(state: State, context: ChatContext) -> str:
    """What is said to the last message."""
    language, found, asked = state["language"], state.get("judgement"), state["asked"] or {"do": "help"}
    conversation, do = state.get("conversation"), asked["do"]
    told = notes(state["notes"], language)
    if state["problem"]:
        stands = ""
        if found and found["label"] and conversation and do != "help":
            stands = say("stands", language, label=name_of(found["label"], language))
        return "\n\n".join(filter(None, (state["problem"], stands)))
    if do == "help":
        return say("welcome", language)
    if do == "thanks":
        return say("thanks", language)
    if conversation is None:
        return told or say("fresh" if do == "new" else "nothing_yet", language)
    thread = shown(conversation, language)
    if do == "show":
        return show_posts(thread, asked["posts"][0], asked["posts"][-1], found)
    if do == "list":
        return show_posts(thread, 1, -1, found)
    if found is None or do not in NEEDS_VERDICT:
        return told or say("welcome", language)
    if do == "judge":
        # who has just begun is told what can be asked; who goes on, what one more post changed
        began = any(note.startswith(("began:", "another:")) for note in state["notes"])
        added = any(note.startswith("added:1:") for note in state["notes"])
        line = verdict(found, thread, context, hints=began, added=added, words=state["words"])
        return "\n\n".join(filter(None, (told, line)))
    return {"why": why, "change": change, "stop": stop, "sure": sure}[do](found, thread, context)


def shown(conversation: Conversation, language: Language) -> ClaimThread:
    """The conversation, to be told of in the person's language."""
    return replace(thread_of_posts(conversation)[0], language=language)


def verdict(
    found: Judgement,
    thread: ClaimThread,
    context: ChatContext,
    *,
    hints: bool = False,
    added: bool = False,
    words: str = "",
) -> str:
    """The verdict and what it rests on.

    Args:
        found: What was computed.
        thread: The whole conversation at hand, its language that of the answer.
        context: What it was computed with.
        hints: Whether to tell what can be asked now.
        added: Whether the last post has just been added.
        words: A model's paragraph about it, if it wrote one that is fit.
    """
    language = thread.language
    parts = [headline(found, thread)]
    if found["label"] is not None:
        points = [
            *(moved(found, language) if added else []),
            *stopped(found, thread),
            *carried(found, language),
            *debated(found, thread),
            *turned(found, language),
        ]
        if found["person"] and points:
            parts.append(say("machine_went_by", language))
        parts.append("\n".join(f"- {point}" for point in points))
        parts += limits(found, context, language)
    elif found["rationale"]:
        parts.append(say("reason", language, text=quote(found["rationale"])))
    if words:
        parts.append(f"{say('in_words', language)}\n> {words}")
    if hints:
        parts.append(_try(thread))
    return "\n\n".join(part for part in parts if part)


def headline(found: Judgement, thread: ClaimThread) -> str:
    """The verdict in a line: whose, which, how sure, by what, on which posts."""
    language, person = thread.language, found["person"]
    if not person:
        return _machine(found, thread, "verdict")
    if not person["label"]:
        return say("person_unsure", language) + "\n\n" + _machine(found, thread, "verdict")
    line = say(
        "by_person", language, label=titled(person["label"], language), machine=_machine(found, thread, "machine")
    )
    said = plain(person["said"])
    return line if said.lower() == person["label"] else f"{line}\n\n{say('person_said', language, said=quote(said))}"


def _machine(found: Judgement, thread: ClaimThread, key: str) -> str:
    language = thread.language
    if found["label"] is None:
        reason = plain(found["reason"] or found["outcome"])
        if key == "machine":
            return say("machine_none", language, reason=reason)
        return say("no_verdict", language, how=found["how"], posts=_posts(found, thread), reason=reason)
    label = titled(found["label"], language) if key == "verdict" else name_of(found["label"], language)
    sure = say("no_p", language) if found["p"] is None else say("sure", language, p=percent(found["p"]))
    return say(key, language, label=label, sure=sure, how=found["how"], posts=_posts(found, thread))


def why(found: Judgement, thread: ClaimThread, context: ChatContext) -> str:
    """Why: the way there, and the posts that carried it, quoted."""
    language, label = thread.language, found["label"]
    if label is None:
        return verdict(found, thread, context)
    name = name_of(label, language)
    parts = [
        headline(found, thread) if found["person"] else say("why", language, label=name, at=at_p(found["p"], language))
    ]
    points = carried(found, language, thread)
    known = [each["p"] for each in found["beliefs"] if each["p"] is not None]
    if len(known) > 1:
        points.append(say("why_beliefs", language, label=name, path=path_of(known)))
    points += debated(found, thread)
    if found["person"] and points:
        parts.append(say("machine_went_by", language))
    parts.append("\n".join(f"- {point}" for point in points))
    if found["debate"]:
        parts.append("\n\n".join(_arguments(found, language)))
    elif found["rationale"]:
        parts.append(say("reason", language, text=quote(found["rationale"], SHOWN)))
    parts += limits(found, context, language)
    if found["how"] == "encoder":
        parts.append(say("why_learned", language, shots=context.shots, corpus=context.train_on))
    return "\n\n".join(part for part in parts if part)


def change(found: Judgement, thread: ClaimThread, context: ChatContext) -> str:
    """What would change its mind: posts left out, and each of the stock replies."""
    language, without = thread.language, found["without"]
    lines = []
    if without:
        quoted = [f"  - {post_line(thread, number)}" for number in without["posts"][:TOLD]]
        lines += [say("change", language, ways=flip(without, found, language)), *quoted]
    elif found["left_out"]:
        lines.append(say("change", language, ways=say("no_set", language)))
    for each in (each for each in found["added"] if each["label"]):
        text, label = quote(dict(STOCK[found["language"]])[each["reply"]]), name_of(each["label"], language)
        lines.append(say("next", language, text=text, label=label, at=at_p(own_p(each, found), language)))
    told = "\n".join(line if line.startswith(" ") else f"- {line}" for line in lines)
    return "\n\n".join([told or headline(found, thread), *limits(found, context, language)])


def stop(found: Judgement, thread: ClaimThread, context: ChatContext) -> str:
    """Where it would have stopped, and why there."""
    points = stopped(found, thread)
    told = found.get("stopped")
    lines = [*points, *([f"`{plain(told)}`"] if told and points else [])]
    return "\n\n".join(lines or not_stopped(found, thread.language) or [headline(found, thread)])


def sure(found: Judgement, thread: ClaimThread, context: ChatContext) -> str:
    """How sure, and what that number is."""
    language = thread.language
    parts = [headline(found, thread)]
    odds = found["probabilities"] or {}
    parts.append(" · ".join(f"{name_of(label, language)} {percent(p)}" for label, p in odds.items()))
    if found["how"] == "encoder":
        parts.append(say("why_learned", language, shots=context.shots, corpus=context.train_on))
    return "\n\n".join(part for part in parts if part)


def notes(told: Sequence[str], language: Language) -> str:
    """How a message was read: notes of graphs/chatting/turns.py as sentences."""
    lines = []
    for note in told:
        key, _, rest = note.partition(":")
        values = rest.split(":") if rest else []
        if key in ("began", "another"):
            n, kind = values
            lines.append(
                say(f"{key}_one", language) if n == "1" else say(key, language, n=n, kind=say(f"kind_{kind}", language))
            )
        elif key == "added":
            n, last = values
            which = {"0": "added_none", "1": "added"}.get(n, "added_many")
            lines.append(say(which, language, n=n, last=last))
        else:
            lines.append(say(key, language, *values))
    return " ".join(lines)


def _arguments(found: Judgement, language: Language) -> list[str]:
    """Each speaker's last argument, quoted."""
    last: dict[str, Turn] = {turn["speaker"]: turn for turn in (found["debate"] or {})["turns"]}
    return [
        f"**{say(f'speaker_{speaker}', language)}**: {quote(turn['text'], SHOWN)}" for speaker, turn in last.items()
    ]


def _try(thread: ClaimThread) -> str:
    count = len(thread.posts)
    if count == 1:
        return say("try_short", thread.language)
    return say("try" if count > 3 else "try_few", thread.language, n=min(count, 3), first=count // 2)


def _posts(found: Judgement, thread: ClaimThread) -> str:
    n, count, language = len(found["numbers"]), len(thread.posts), thread.language
    if n < count:
        return say("posts_of", language, numbers=spans(found["numbers"]), n=count)
    return say("post", language) if n == 1 else say("posts", language, n=n)
