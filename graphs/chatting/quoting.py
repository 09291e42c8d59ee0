"""Strangers' text in a chat answer: markdown, HTML and links in it do nothing, wherever the answer is shown.

A chat tool may render markdown, paste HTML, turn bare addresses into links or fetch a preview of them. So a post is
shown in a code span, where CommonMark reads nothing, without backticks and angle brackets, on one line, its addresses
defanged (hxxp://example[.]com) as security reports write them.
"""

import re
import unicodedata

from agents.replies import clean

QUOTED = 280
"""Characters of a post that an answer shows; `show post` shows more."""
SHOWN = 1_000
LONGEST_WORD = 60
"""Characters of one word that are shown; no chat window is wider."""

_LOOKALIKES = str.maketrans({"`": "'", "<": "‹", ">": "›", "\\": "⧵"})
_MARKS = str.maketrans({"*": "∗", "_": " ", "[": "(", "]": ")", "#": "♯", "|": "¦", "~": "∼", "$": "＄", "&": "＆"})
# East Asian scripts write whole sentences without a space: no letter from U+2E80 on is part of a long word
_LONG_WORD = re.compile(rf"[^\s\u2e80-\uffef]{{{LONGEST_WORD},}}")
_SCHEME = re.compile(
    r"\b(?:(h)tt(ps?)|(f)t(ps?))(?=:)|\b(java|vb)(?=script:)|\b(data|file|mailto|tel)(?=:)", re.IGNORECASE
)
_ENDINGS = (
    "com|org|net|info|biz|edu|gov|co|io|me|ly|gl|gd|uk|us|eu|de|fr|ru|cn|jp|in|tv|cc|xyz|top|app|dev|ai|be|it|to|tk"
)
_HOST = re.compile(rf"(?<=[a-z0-9-])\.(?=[a-z]{{2,24}}(?:/|:\d)|(?:{_ENDINGS})\b)|(?<=\bwww)\.", re.IGNORECASE)
_AT = re.compile(r"@(?=here\b|channel\b|everyone\b|all\b)", re.IGNORECASE)


def quote(text: str, limit: int = QUOTED) -> str:
    """A post as a code span of at most `limit` characters, which no renderer reads as anything but text."""
    return f"`{_harmless(text, limit).translate(_LOOKALIKES).strip() or ' '}`"


def plain(text: str, limit: int = SHOWN) -> str:
    """A model's or an error's words as one paragraph of running text, without any markup."""
    line = _harmless(text.replace("**", ""), limit).translate(_LOOKALIKES).translate(_MARKS)
    return re.sub(r"^[-+=!\s]+", "", line)


def _harmless(text: str, limit: int) -> str:
    line = _unstacked(clean(text, limit))
    line = _LONG_WORD.sub(lambda word: word[0][: LONGEST_WORD - 1] + "…", line)
    line = _SCHEME.sub(_defanged, line)
    return _AT.sub("＠", _HOST.sub("[.]", line))


def _defanged(found: re.Match[str]) -> str:
    http, rest, ftp, more, script, other = found.groups()
    if http:
        return f"{http}xx{rest}"
    return f"{ftp}xx{more}" if ftp else f"{script or other}-"


def _unstacked(line: str) -> str:
    """The line with at most two marks on a letter: a hundred of them run over the lines above and below."""
    if line.isascii():
        return line
    kept: list[str] = []
    marks = 0
    for character in line:
        marks = marks + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        if marks <= 2:
            kept.append(character)
    return "".join(kept)
