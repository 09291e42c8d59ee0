"""The words of JSDRV's prompts, and how a reply that uses them is read.

A reply has the form `Stance: Deny, Reason: "…"`. The label is what stands in the field of its name, as a whole word, in
the last such line; the words of the reason never count ("comment", "question" and "true" are ordinary words), nor does
what a model thinks aloud or quotes (agents/replies.py), so that no post can put its label into a reply that cites it. A
reply without the field is read only if the label stands alone: in all that comes before the reason, in the first line
or in the last. Anything else has no label.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from agents.replies import QUOTED, THOUGHT, clean, find_label
from corpora.thread import Language

Kind = Literal["stance", "veracity"]
MAX_REPLY = 20_000
"""Characters of a reply that are read."""
MAX_REASON = 600


@dataclass(frozen=True)
class Words:
    """One kind of label in one language."""

    field: str
    reason: str
    labels: Mapping[str, str]
    """Label -> its word; in the order of annotation.STANCES or VERACITIES."""
    variants: Mapping[str, str]
    """Other forms of a word, with spaces between them (_ for a space inside) -> label."""
    colon: str
    comma: str
    quotes: str

    @cached_property
    def words(self) -> tuple[str, ...]:
        """What a model is asked to choose from."""
        return tuple(self.labels.values())

    @cached_property
    def label_of(self) -> dict[str, str]:
        """Every form of every word, in lower case -> label."""
        forms = {word.casefold(): label for label, word in self.labels.items()}
        return forms | {form.replace("_", " "): label for some, label in self.variants.items() for form in some.split()}

    def answer(self, label: str, explanation: str = "") -> str:
        """The reply that gives a label and, where there is one, its reason."""
        given = f"{self.field}{self.colon}{self.labels[label]}"
        reason = clean(re.sub('["“”]', "'", explanation), MAX_REASON)
        return f"{self.beginning(label)}{reason}{self.quotes[1]}" if reason else given

    def beginning(self, label: str) -> str:
        """The reply up to where its reason begins."""
        return f"{self.field}{self.colon}{self.labels[label]}{self.comma}{self.reason}{self.colon}{self.quotes[0]}"


_ENGLISH = {"colon": ": ", "comma": ", ", "quotes": '""'}
_CHINESE = {"colon": "：", "comma": "，", "quotes": "“”"}
WORDS: dict[Kind, dict[Language, Words]] = {
    "stance": {
        "en": Words(
            "Stance",
            "Reason",
            {"S": "Support", "D": "Deny", "Q": "Question", "C": "Comment"},
            {
                "supports supporting supported": "S",
                "denies denying denied": "D",
                "questions questioning query querying": "Q",
                "comments commenting": "C",
            },
            **_ENGLISH,
        ),
        "zh": Words(
            "立场",
            "理由",
            {"S": "支持", "D": "反对", "Q": "质疑", "C": "评论"},
            {"赞同 表示支持": "S", "否认 表示反对": "D", "疑问 提问 表示质疑": "Q", "普通评论 中立评论": "C"},
            **_CHINESE,
        ),
    },
    "veracity": {
        "en": Words(
            "Veracity",
            "Reason",
            {"N": "Non-rumor", "T": "True", "F": "False", "U": "Unverified"},
            {"non-rumour nonrumor nonrumour non_rumor non_rumour": "N", "unconfirmed": "U"},
            **_ENGLISH,
        ),
        # not 真实, which agents/replies.py reads in 非谣言 as well
        "zh": Words(
            "真实性",
            "理由",
            {"N": "非谣言", "T": "属实", "F": "不实", "U": "未证实"},
            {"不是谣言": "N", "不属实 虚假": "F", "未经证实 无法证实 尚未证实": "U"},
            **_CHINESE,
        ),
    },
}


_WHAT = "post|comment|reply|tweet|user|author|claim|rumou?r|news|story|source"
_LEAD_IN = (
    rf"(?:(?:(?:it|this|that)|(?:the|this|that)\s+(?:{_WHAT})|(?:my|the)\s+answer)(?:['’]s|\s+is|\s+was)?\s+)?"
    r"(?:(?:clearly|definitely|certainly|probably|(?:most\s+)?likely)\s+)?(?:(?:an?|the|in)\s+)?"
)
"""All that may stand between a field's name and its label; any other words may take the label back."""
_GOES_ON = re.compile(rf"\s+(?:{_WHAT}|the|this|that|its?|of|for|on|about|towards?|as|because|since)\b", re.IGNORECASE)
"""How a sentence may go on behind its label."""


class Answer(NamedTuple):
    """What a reply says."""

    label: str
    start: int
    """Where the label's word begins in the reply."""
    explanation: str


def read_answer(text: str, kind: Kind, language: Language, cut: int | None = None) -> Answer | None:
    """Read the label and the reason of a reply; None if it has no label that is surely meant.

    Of a reply that was cut (see agents.models.Reply) only a label that it begins with is, or one with its reason begun.
    """
    words = WORDS[kind][language]
    text = text[:MAX_REPLY]
    shown = _unquoted(text, words)
    reasons = [found.span() for found in _marker("", f"{words.reason}|原因", r"\w{0,9}", "[:：]").finditer(shown)]
    found = _in_field(shown, words, [start for start, _ in reasons]) or _alone(shown, words, reasons)
    if found is None:
        return None
    field, start, form = found
    end = start + len(form)
    led_to = any(character.isalnum() for character in shown[:field])
    if cut is not None and led_to and not any(begins >= end for begins, _ in reasons):
        return None
    return Answer(words.label_of[form.casefold()], start, _explanation(text, field, start, end, reasons))


def read_stances(text: str, language: Language) -> dict[int, str]:
    """Read the stances of a reply to the joint question: number of a post -> label.

    Only lines (or parts of one line, with commas between them) that are a number in brackets and one label count; of
    two for one post, the last.
    """
    words = WORDS["stance"][language]
    forms = "|".join(map(re.escape, sorted(words.label_of, key=len, reverse=True)))
    # not a colon, nor a bracket: so does a post's line go on whose writer calls himself Deny
    part = re.compile(
        rf"\s*(?:[-*•]\s+)?[*_]*\[(\d{{1,6}})\][\s:：.*_–-]*(?:{words.field}\s*[:：]\s*)?[\"“*_]*({forms})"
        rf"[\s\"”*_.。]*(?:[,，;；—–].*)?",
        re.IGNORECASE,
    )
    stances = {}
    for line in THOUGHT.sub("", text[:MAX_REPLY]).splitlines():
        for piece in re.split(r"[,，;；、]\s*(?=\[\d)", line):
            if found := part.fullmatch(piece):
                stances[int(found[1])] = words.label_of[found[2].casefold()]
    return stances


def _marker(begins: str, names: str, more: str, ends: str) -> re.Pattern[str]:
    return re.compile(rf"{begins}(?:{names}){more}[\W_]{{0,4}}?{ends}", re.IGNORECASE | re.MULTILINE)


def _unquoted(text: str, words: Words) -> str:
    """The reply with spaces where it thinks aloud or quotes; what is in quotation marks only by habit stays."""
    habits = {*words.label_of, words.field.casefold(), words.reason.casefold()}

    def blank(quote: re.Match[str]) -> str:
        alone = quote[0].casefold().strip(' \t*_"“”「」『』.,:：，。')
        return quote[0] if alone in habits else re.sub(r"[^\n]", " ", quote[0])

    return QUOTED.sub(blank, THOUGHT.sub(lambda thought: re.sub(r"[^\n]", " ", thought[0]), text))


def _in_field(text: str, words: Words, reasons: list[int]) -> tuple[int, int, str] | None:
    """The label in the field of its name: where the field and where the label begins, and its form.

    A field at the beginning of a line is one of the reply; of several the last counts. One within a line may be cited,
    so several that differ are none.
    """
    for begins, ends in ((r"^[ \t\-*•\"“{(\[_#]{0,12}", "[:：=]"), ("", "[:：=]"), ("", "(?:is\\b|是|为)")):
        fields = [found.span() for found in _marker(begins, words.field, "", ends).finditer(text)]
        borders = sorted([*reasons, *(start for start, _ in fields)])
        found = []
        for start, end in fields:
            stop = next((border for border in borders if border >= end), len(text))
            line = re.compile(r"\s*[^\n]*").match(text, end, stop)
            segment = line[0] if line else ""
            if any(form in segment.casefold() for form in words.label_of):
                label = _in_segment(segment, words)
                found.append(label and (start, end + label[1], label[0]))
        if found and (begins or len({each and words.label_of[each[2]] for each in found}) == 1):
            return found[-1]
        if found:
            return None
    return None


def _in_segment(segment: str, words: Words) -> tuple[str, int] | None:
    """The label that a segment begins with, or leads straight to: its form, and where it begins.

    "I cannot say whether it is True" has a label in it and gives none.
    """
    forms = "|".join(map(re.escape, sorted(words.label_of, key=len, reverse=True)))
    found = re.match(rf"[\W_]*{_LEAD_IN}[\"“'‘`*_(\[<]*({forms})[\"”'’`*_)\]>]*", segment, re.IGNORECASE)
    if found is None:
        return None
    after = segment[found.end() :]
    if re.match(r"\s*(?:[,，.。;；:：!！({}\n]|[–—-]\s)|[^\w?？]*$", after):
        told = not re.match(rf"[\s,，\"]*(?:{forms}|or\b)", after, re.IGNORECASE)
    else:
        others = find_label(after, list(words.label_of)) or re.search("[|/]", after)
        told = _GOES_ON.match(after) is not None and not others
    return (found[1].casefold(), found.start(1)) if told else None


def _alone(text: str, words: Words, reasons: list[tuple[int, int]]) -> tuple[int, int, str] | None:
    """A label that stands alone before the reason, in the first line or in the last."""
    head = text[: reasons[0][0]] if reasons else text
    lines = [line.span() for line in re.finditer(r"[^\n]+", text) if line[0].strip()]
    found = {}
    for start, end in [(0, len(head)), *lines[:1], *lines[-1:]]:
        letters = [n for n in range(start, end) if text[n].isalnum()]
        form = text[letters[0] : letters[-1] + 1] if letters else ""
        if (label := words.label_of.get(form.casefold())) is not None:
            found[label] = (letters[0], letters[0], form)
    return next(iter(found.values())) if len(found) == 1 else None


def _explanation(text: str, field: int, start: int, end: int, reasons: list[tuple[int, int]]) -> str:
    """The reason that follows the label, or that leads to it; without the word, what follows the label."""
    after = [stop for begins, stop in reasons if begins >= end]
    before = [stop for _, stop in reasons if stop <= field]
    if after:
        reason = text[after[0] :]
    elif before:
        reason = text[before[-1] : field]
    elif field < start or re.search(r"\w", text[end:]):
        reason = text[end:]
    else:  # the label alone in the last line
        reason = THOUGHT.sub("", text[:field])
    return clean(reason, MAX_REASON).strip(' *_"“”「」{},.;:，。；：') if re.search(r"\w", reason) else ""
