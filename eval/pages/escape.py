"""Texts of strangers in a page: as HTML, and as JSON inside a script element."""

import html
import json
import math
import re
import unicodedata
from typing import Any

HIDES = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Control and direction characters, and such as show nothing; not the joiners that emoji and some scripts need."""
_BLANKS = re.compile(r"\n(?:[ \t]*\n){2,}")
_AWKWARD = re.compile(f"[<>&]|{HIDES.pattern}")


def safe(text: object) -> str:
    """Text of anybody as HTML: escaped, with characters that cannot be seen, or turn others around, named."""
    found, end = [], 0
    shown = _BLANKS.sub("\n\n", str(text).replace("\r\n", "\n"))
    for match in HIDES.finditer(shown):
        found += [html.escape(shown[end : match.start()]), _named(match[0])]
        end = match.end()
    return "".join([*found, html.escape(shown[end:])])


def script_json(value: Any) -> str:
    """A value as JSON that may stand in a script element, whatever strings are in it: none of them can end it.

    Numbers that JSON has no word for (NaN) become null.
    """
    text = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _AWKWARD.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    """A character as JSON spells it in ASCII."""
    character = match[0]
    return f"\\u{ord(character):04x}" if character.isascii() else json.dumps(character)[1:-1]


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): _finite(each) for name, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value


def hides_for_script() -> str:
    r"""HIDES as the body of a regular expression in JavaScript (flags gu), in ASCII: \u{...} for every character."""
    return "".join(character if character in "[]-" else f"\\u{{{ord(character):x}}}" for character in HIDES.pattern)


def _named(character: str) -> str:
    name = unicodedata.name(character, "a control character").lower()
    return f'<span class="hidden" title="{html.escape(name)}">U+{ord(character):04X}</span>'
