"""How the scorer's and the debaters' replies are read: scores, quotations and the posts they name.

A scorer is asked for JSON, and answers with JSON in prose, in markdown, cut short or not quite JSON; and a Reason
may hold whatever a stranger's comment says, a score too. So what counts is, in this order:

1. the last JSON object, or piece of broken JSON, that states a score as a key of its own. Text within a JSON
   string states nothing. In a broken piece every score stated has to be the same;
2. the last "Score: x" of the prose, quotations left out;
3. a reply's only number.

A reading outside [-1, 1] is none, and so is a percentage, a fraction, a range or a decimal comma: a wrong score is
worse than a missing one. All readers are total, and their time is linear in the length of the reply. Labels (Fake,
Real) are read by agents.replies.
"""

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

from agents.replies import THOUGHT, clean

_SCORE = ("score", "分数", "得分", "评分")
_POST = ("post", "帖子", "编号")
_QUOTE = ("quote", "引用")
_BROKEN = 50
"""Failed attempts at JSON in one reply, after which none is made: an attempt may read all that follows."""
_LONGEST_RANGE = 20

_PLAIN = str.maketrans("０１２３４５６７８９．＋－−–﹣‐‑⁻➖：％／", "0123456789.+--------:%/")
_SIGN = re.compile(r"(:\s*)[+−–－﹣‐‑⁻➖](?=[0-9])")  # JSON knows no sign but a hyphen
_BRACE = re.compile("[{}]")
_QUOTATION = re.compile(r'"[^"\n]*"|[“「『][^”」』\n]*(?:[”」』]|$)|^[ \t]*>.*$', re.MULTILINE)

# a number of bounded length, so that no run of digits is read more than once
_NUMBER = r"[+-]?(?:[0-9]{1,20}+(?:\.[0-9]{0,40}+)?+|\.[0-9]{1,40}+)(?:[eE][+-]?[0-9]{1,4}+)?+(?![0-9A-Za-z_]|\.[0-9])"
_NO_POST = r"(?:(?<![\[【])|(?=[+-]))"
"""What begins a number that names no post: [1] does, [-1] does not."""
_UNLESS = (
    r"(?P<unless>[,，][0-9]|\s{0,2}(?:[%~—]|[-/]\s?[.0-9]|(?:to|out|percent|means|would)\b|[至到]|表示|代表|意味))?"
)
"""What follows a number that is a share, the end of a range, cut at its decimal comma, or explained: no score."""


def _key(names: Sequence[str]) -> str:
    """Regular expression of a key of broken JSON; an escaped quotation mark stands within a string, and opens none."""
    return rf"""(?:(?<!\\)["'“]|[{{\n]\s{{0,20}})(?:{"|".join(names)})["'”]?\s{{0,20}}:\s{{0,20}}"""


_BROKEN_SCORE = re.compile(
    rf"""{_key(_SCORE)}["'“]?(?P<number>{_NUMBER})(?:(?P<unless>[,，][0-9])|["'”]?\s{{0,20}}(?:[,}}\]\n]|\Z))""",
    re.IGNORECASE,
)
_BROKEN_POST = re.compile(rf"""{_key(_POST)}["'“\[#]{{0,3}}([0-9]{{1,6}}+)""", re.IGNORECASE)
_IN_PROSE = re.compile(
    rf"""(?<![A-Za-z])(?:{"|".join(_SCORE)})["'”’*_`\s]{{0,8}}(?:is|of|=|:|为|是)"""
    rf"(?P<before>[\W_]{{0,8}}?(?:(?:minus|negative|负)[\W_]{{0,4}})?){_NO_POST}(?P<number>{_NUMBER}){_UNLESS}",
    re.IGNORECASE,
)
_HABIT = re.compile(r"""["'“‘*_`\s]*+""")
"""What may stand before a number that is stated: emphasis, and no sign or bracket, which may change what it means."""
# not behind half of its sign
_LONE = re.compile(rf"(?<![0-9A-Za-z_.+-]){_NO_POST}(?P<number>{_NUMBER}){_UNLESS}", re.IGNORECASE)
_TURNED = re.compile(
    r"(?:minus|negative|not|than|most|least|above|below|over|under|负|非|不|[-+±—](?!>))\W{0,5}\Z", re.IGNORECASE
)
_COUNTED = re.compile(r"[0-9]++(?:\.[0-9]++)?+")
_POST_NUMBER = re.compile(r"\[?#?([0-9]{1,6})\]?")

_BRACKETS = re.compile(r"[\[【［]([^\[\]【】［］]*+)[\]】］]")
_BETWEEN_CITED = re.compile(r"[,，、;；和&]|\band\b")
_CITED = re.compile(
    r"(?:posts?|comments?|帖子|评论)?\s{0,3}#?([0-9]{1,9})(?:\s{0,3}(?:[-~—]|to|至|到)\s{0,3}#?([0-9]{1,9}))?",
    re.IGNORECASE,
)

_Pairs = list[tuple[str, Any]]


def read_score(text: str) -> float | None:
    """Read the score of one comment: in [-1, 1], or None if the reply states none."""
    pieces, prose = _split(text)
    stated = [scores for piece in pieces if (scores := _scores(piece))]
    if stated:
        return _agreed(stated[-1])
    prose = prose.translate(_PLAIN)
    prose = _QUOTATION.sub(lambda found: " … " if _IN_PROSE.search(found[0]) else found[0], prose)
    named = list(_IN_PROSE.finditer(prose))
    if named and _HABIT.fullmatch(named[-1]["before"]):
        return _checked(named[-1])
    return None if pieces else _only_number(prose)


def read_quote(text: str) -> str:
    """Read the quotation that a reply with a score gives, as one harmless line; "" if there is none."""
    pieces, _ = _split(text)
    quotes = [value for piece in pieces for value in _values(piece, _QUOTE) if isinstance(value, str)]
    return clean(quotes[-1]) if quotes else ""


def read_scores(text: str, numbers: Sequence[int]) -> dict[int, float | None]:
    """Read the scores of several comments.

    Args:
        text: a reply with one object a comment: its number under "Post", its score under "Score".
        numbers: of the comments that were asked about.

    Returns:
        Each of these numbers -> a score in [-1, 1]; None where the reply states none, or contradicts itself.
    """
    stated: dict[int, list[float | None]] = {number: [] for number in numbers}
    for piece in _split(text)[0]:
        posts, scores = _posts(piece), _scores(piece)
        if scores and len(set(posts)) == 1 and posts[0] in stated:
            stated[posts[0]].append(_agreed(scores))
    return {number: _agreed(scores) for number, scores in stated.items()}


def read_citations(text: str, numbers: Collection[int]) -> tuple[list[int], int]:
    """Read which posts an argument names, as [3], [3, 7] or [3-5].

    Args:
        text: the argument. Of a range of more than 20 posts only the two ends count.
        numbers: of the posts that exist.

    Returns:
        The existing posts that it names, ascending, and how many others it names.
    """
    cited: set[int] = set()
    for group in _BRACKETS.findall(THOUGHT.sub(" ", text).translate(_PLAIN)):
        named = [_CITED.fullmatch(part.strip()) for part in _BETWEEN_CITED.split(group)]
        for found in named if all(named) else ():
            assert found is not None
            first, last = int(found[1]), int(found[2] or found[1])
            cited |= set(range(first, last + 1)) if 0 <= last - first < _LONGEST_RANGE else {first, last}
    known = cited.intersection(numbers)
    return sorted(known), len(cited) - len(known)


def _split(text: str) -> tuple[list[_Pairs | str], str]:
    """Split a reply into the JSON in it and the prose around it.

    Returns:
        In their order, JSON objects (as lists of keys and values; those within another one before it) and pieces
        of broken JSON (as text); and the prose, with {} where JSON stood.
    """
    text = _SIGN.sub(lambda sign: sign[1] + ("" if sign[0].endswith("+") else "-"), THOUGHT.sub(" ", text))
    objects: list[_Pairs] = []
    decoder = json.JSONDecoder(
        object_pairs_hook=objects.append,
        parse_int=float,  # of any length, which int() is not
        parse_constant=lambda _: None,
        strict=False,
    )
    pieces: list[_Pairs | str] = []
    prose: list[str] = []
    at = doubtful = failed = 0
    while brace := _BRACE.search(text, at):
        prose.append(text[at : brace.start()])
        at = brace.end()
        if brace[0] == "}":
            # it closes nothing that was opened: unless only a list ends before it, a quotation mark in a Reason was
            # not escaped, and what looked like objects up to here may have been a comment's words
            if prose[-1].strip("] \t\r\n"):
                pieces, prose, doubtful = [], [], at
            continue
        objects.clear()
        if failed < _BROKEN and (end := _end_of_object(decoder, text, brace.start())):
            at = end
            pieces.extend(objects)
        else:
            failed += 1
            at = _closing(text, brace.start())
            pieces.append(text[brace.start() : at])
    prose.append(text[at:])
    return ([text[:doubtful], *pieces] if doubtful else pieces), "{}".join(prose)


def _end_of_object(decoder: json.JSONDecoder, text: str, start: int) -> int | None:
    """Where the JSON object that begins at `start` ends; None if it is none."""
    try:
        return decoder.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None


def _closing(text: str, start: int) -> int:
    """Where the brace that opens at `start` is closed, counting braces only; else the end of the text."""
    depth = 0
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    return len(text)


def _values(piece: _Pairs | str, names: Sequence[str]) -> list[Any]:
    """What an object holds under a key of any of these names; broken JSON holds nothing."""
    return [] if isinstance(piece, str) else [value for key, value in piece if key.strip().casefold() in names]


def _scores(piece: _Pairs | str) -> list[float | None]:
    """Every score that a piece states; None for one that is no number in [-1, 1]."""
    if isinstance(piece, str):
        return [_checked(found) for found in _BROKEN_SCORE.finditer(piece.translate(_PLAIN))]
    return [_within(value) for value in _values(piece, _SCORE)]


def _posts(piece: _Pairs | str) -> list[int]:
    """Every post number that a piece states."""
    if isinstance(piece, str):
        return [int(found[1]) for found in _BROKEN_POST.finditer(piece.translate(_PLAIN))]
    values = _values(piece, _POST)
    written = [_POST_NUMBER.fullmatch(value.strip()) for value in values if isinstance(value, str)]
    return [
        *(int(value) for value in values if isinstance(value, float) and value.is_integer()),
        *(int(found[1]) for found in written if found),
    ]


def _within(value: object) -> float | None:
    """A number, or the text of one, if it is in [-1, 1]."""
    if isinstance(value, str):
        number = value.strip().translate(_PLAIN)
        value = float(number) if re.fullmatch(_NUMBER, number) else None
    return value + 0.0 if isinstance(value, float) and -1 <= value <= 1 else None  # + 0.0: there is no minus zero


def _agreed(scores: Sequence[float | None]) -> float | None:
    """The one score that is stated; None if there is none, or another one too."""
    return scores[0] if len(set(scores)) == 1 else None


def _checked(found: re.Match[str]) -> float | None:
    """The score of a match, unless what follows makes it a share, a range or an explanation of the scale."""
    return None if found["unless"] else _within(float(found["number"]))


def _only_number(prose: str) -> float | None:
    """The only number of a text; a whole number without a sign only if it stands alone, for it may count anything."""
    found = _LONE.search(prose)
    if found is None or len(_COUNTED.findall(prose)) != 1 or _TURNED.search(prose[: found.start()]):
        return None
    rest = prose[: found.start()] + prose[found.end() :]
    if found["number"].isdecimal() and any(character.isalnum() for character in rest):
        return None
    return _checked(found)
