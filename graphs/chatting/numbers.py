"""Numbers, times and labels as the chat tells them, and labels as a person does."""

import math
from collections.abc import Sequence

from corpora.labels import LABEL_SETS
from corpora.thread import Language
from graphs.chatting.texts import name_of, say


def spans(numbers: Sequence[int]) -> str:
    """1, 2, 3, 7 as 1–3, 7."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return ", ".join(
        str(span[0]) if len(span) == 1 else f"{span[0]}{'–' if len(span) > 2 else ', '}{span[-1]}" for span in spans
    )


def path_of(known: Sequence[float], most: int = 12) -> str:
    """Beliefs in a row; of many, evenly chosen ones, the first and the last among them."""
    places = range(len(known))
    if len(known) > most:
        places = sorted({round(n * (len(known) - 1) / (most - 1)) for n in range(most)})  # type: ignore[assignment]
    return " → ".join(f"{place + 1}: {percent(known[place])}" for place in places)


def percent(p: float) -> str:
    """Whole per cent; never 100 or 0 for what is not quite."""
    shown = math.floor(100 * p + 0.5)
    if p < 1 and shown == 100:
        return "> 99 %"
    return "< 1 %" if p > 0 and shown == 0 else f"{shown} %"


def in_points(weight: float, language: Language) -> str:
    """A weight in points of a hundred."""
    return say("points", language, weight=f"{100 * weight:+.0f}".replace("-", "−"))


def at_p(p: float | None, language: Language) -> str:
    """Where a probability lies, nothing if there is none."""
    return "" if p is None else say("at", language, p=percent(p))


def later(seconds: float, language: Language) -> str:
    """A time after the claim, in the unit that fits."""
    for key, unit in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * unit:
            return say(key, language, n=round(seconds / unit))
    return say("seconds", language, n=round(seconds))


def titled(label: str, language: Language) -> str:
    """A label that begins a line."""
    name = name_of(label, language)
    return name[:1].upper() + name[1:]


def joined(parts: Sequence[str], language: Language, mark: str = ",") -> str:
    """Parts in a row, as the language does it."""
    return {",": "、", ";": "；"}[mark].join(parts) if language == "zh" else f"{mark} ".join(parts)


def label_said(text: str, labels: str) -> str | None:
    """The label that a person names, None if none: its name, or yes and no for the first of two, in either language."""
    words = " ".join(text.lower().replace("-", " ").strip(" .!。！*`'\"").split())
    known = LABEL_SETS[labels].labels
    names = {" ".join(name.lower().replace("-", " ").split()): name for name in known}
    for name in known:
        names[name_of(name, "zh").lower()] = name
    if len(known) == 2:
        first, second = known
        names |= dict.fromkeys(("yes", "y", "是", "是的", "fake", "a rumor", "it is a rumor", "rumour"), first)
        names |= dict.fromkeys(("no", "n", "否", "不是", "real", "not a rumor", "no rumor", "nonrumor", "true"), second)
    return names.get(words)
