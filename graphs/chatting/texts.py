"""What the chat says, in English and Chinese: every sentence of it that is not quoted or a model's."""

from corpora.thread import Language
from graphs.chatting.texts_talk import TALK
from graphs.chatting.texts_verdict import VERDICT

_TEXTS = VERDICT | TALK


def say(key: str, language: Language, *values: object, **named: object) -> str:
    """One sentence, its places filled; the values are not read again, so they may hold anything."""
    return _TEXTS[key][language == "zh"].format(*values, **named)


def name_of(label: str | None, language: Language) -> str:
    """A label as it is told; none where a model abstained."""
    label = label or "nothing"
    return say(label, language) if label in _TEXTS else label
