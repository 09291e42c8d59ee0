"""A chat model beside the rules: it reads what no rule reads, and puts a computed answer into words.

Its replies are untrusted. An intent is one line of a closed list, or it is nothing. A paragraph is dropped unless it
names no other verdict, no number that was not computed, and no link; it stands apart and never replaces the answer.
"""

import asyncio
import re
from weakref import WeakKeyDictionary

import prompts
from agents.call_log import CallLog
from agents.debate.evidence import quoted
from agents.models import Message, Model, ModelError, ModelSettings, open_model
from agents.replies import THOUGHT, clean
from corpora.labels import LABEL_SETS
from corpora.thread import Language
from graphs.chatting.context import ChatContext
from graphs.chatting.intents import Asked, Do
from graphs.chatting.quoting import plain
from graphs.chatting.texts import name_of

MAX_TOKENS = 400
LONGEST = 700
"""Characters of a paragraph."""
_LINE = re.compile(r"[`*\"' ]*([a-z]+)(?:[ :]+#?(\d{1,4}))?[`*\"'. ]*", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
# words that say how true it is, in other words than the labels'
_VERDICT = re.compile(
    r"\b(?:true|untrue|false|fake|hoax|real|genuine|legit\w*|authentic|accurate|inaccurate|correct|factual|"
    r"confirm\w*|verified|proven|proved|debunk\w*|refute\w*|disproved?|disproven|den(?:y|ies|ied)|lies?)\b|"
    r"真的|真实|假的|虚假|属实|不实|失实|造假|证实|辟谣|官方",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"`[^`]*`")
_LINK = re.compile(r"://|www\.|\]\(|<[a-z/!]", re.IGNORECASE)

_open: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str | None], tuple[Model, CallLog]]]
_open = WeakKeyDictionary()


async def read_by_model(text: str, count: int, language: Language, context: ChatContext) -> Asked | None:
    """What a message asks for, by the model; None if it is a post, or the model does not say.

    Raises:
        UsageError: the model cannot be used.
    """
    reply = await _ask("chat-intent", language, context, count=str(count), message=quoted(clean(text, 400)))
    return read_reply(reply) if reply else None


def read_reply(reply: str) -> Asked | None:
    """One line of the closed list; None for `post` and for anything else."""
    lines = [line for line in THOUGHT.sub("", reply).splitlines() if line.strip()]
    found = _LINE.fullmatch(lines[0].strip()) if len(lines) == 1 else None
    if not found:
        return None
    word, number = found[1].lower(), int(found[2] or 0)
    if word in ("first", "without", "show"):
        if number < 1:
            return None
        if word == "show":
            return {"do": "show", "posts": [number, number]}
        return {"do": "judge", "first": number} if word == "first" else {"do": "judge", "without": [number]}
    # a hostile post may steer the model: what takes posts away, or costs more than a verdict, is read by rules only
    allowed: tuple[Do, ...] = ("why", "change", "sure", "stop", "judge", "list", "help")
    return next((Asked(do=do) for do in allowed if do == word), None)


async def reword(result: str, label: str, language: Language, context: ChatContext) -> str | None:
    """The answer in the model's words; None where they are not fit to be shown.

    Raises:
        UsageError: the model cannot be used.
    """
    reply = await _ask("chat-words", language, context, result=quoted(result))
    return fit(reply, result, label, context.labels) if reply else None


def fit(reply: str, result: str, label: str, labels: str) -> str | None:
    """A model's paragraph, as plain text; None if it says more or something else than was computed."""
    words = " ".join(THOUGHT.sub("", reply).split())
    if not words or len(words) > LONGEST or _LINK.search(words):
        return None
    if set(_NUMBER.findall(words)) - set(_NUMBER.findall(result)):
        return None
    ours = _QUOTED.sub("", result).lower()  # of what strangers said nothing is repeated
    if set(_VERDICT.findall(words.lower())) - set(_VERDICT.findall(ours)):
        return None
    others = [other for other in LABEL_SETS[labels].labels if other != label]
    told, known = _names(words, label, labels), _names(result, label, labels)
    # another label may only be named where the result names it too (a flip, what the first posts say), and the
    # verdict has to be named before it
    if any(other in told and (other not in known or told[other] < told.get(label, len(words))) for other in others):
        return None
    return plain(words, LONGEST) if label in told else None


def _names(text: str, label: str, labels: str) -> dict[str, int]:
    """Which labels a text names, and where first; "not a rumor" names its opposite."""
    known = LABEL_SETS[labels].labels
    found: dict[str, int] = {}
    spaced = text.lower()
    for name in sorted(known, key=len, reverse=True):
        forms = {name.lower(), name_of(name, "zh").lower(), name.lower().replace("rumor", "rumour")}
        if name == "non-rumor":
            forms |= {"not a rumor", "not a rumour", "no rumor", "no rumour", "not rumor", "不是谣言", "并非谣言"}
        for form in sorted(forms, key=len, reverse=True):
            boundary = r"(?<![\w-]){}(?![\w-]|\w)" if form.isascii() else "{}"
            if match := re.search(boundary.format(re.escape(form) + ("s?" if form.isascii() else "")), spaced):
                found[name] = min(found.get(name, match.start()), match.start())
                spaced = re.sub(boundary.format(re.escape(form)), lambda hit: " " * len(hit[0]), spaced)
    return found


def _prompt(name: str, language: Language, **values: str) -> list[Message]:
    return prompts.load(name, language).render(**values)


async def _ask(role: str, language: Language, context: ChatContext, **values: str) -> str | None:
    """The model's reply to a prompt; None if there is no model, or it does not answer this once."""
    if context.speaker is None:
        return None
    # a client belongs to the event loop in which it first answered
    opened = _open.setdefault(asyncio.get_running_loop(), {})
    key = (context.speaker, context.base_url)
    # files are read off the event loop, which a server does not let wait
    messages = await asyncio.to_thread(_prompt, role, language, **values)
    if key not in opened:
        settings = ModelSettings(context.speaker, base_url=context.base_url, max_tokens=MAX_TOKENS)
        opened[key] = (await asyncio.to_thread(open_model, settings), CallLog())
    model, log = opened[key]
    try:
        reply = await log.ask(model, messages, role=role, thread_id="chat", prompt_sha256="")
    except ModelError:
        return None
    return reply.text
