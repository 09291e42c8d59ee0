"""What becomes of text in a CSV file, so that no spreadsheet runs a stranger's post as a formula.

A cell is a formula if it begins with = + - @, a tab or a line break. Spaces, quotes and characters without width or ink
before these make it no safer, nor do full-width and raised forms. A spreadsheet that splits at semicolons, as many do
where numbers have a decimal comma, begins new cells in the midst of a text, and another one at tabs or line breaks. So
an apostrophe goes before whatever would be a formula at the beginning of a text or behind such a separator, and before
whatever has an apostrophe there already: then taking one apostrophe off each of these places gives the text back
(`ORIGINAL`). A text that is nothing but a number stays as it is; columns of numbers are no text.

Characters that cannot be seen and at which programs stumble become their pictures: NUL ␀, ESC ␛ and so on, those from
U+0080 to U+009F the sign �. Tabs and line breaks stay.
"""

ORIGINAL = (r"(^|[;\t\r\n])'", r"\1")
"""What `re.sub` takes to make a cell the text that it was, but for the pictures."""

_FORMULA = r"=+\-@−＝＋－＠﹦﹢﹣﹫⁺⁻⁼₊₋₌⩵⩶﬩"  # all that Unicode's compatibility forms begin so
_BLANK = r"\x{115f}\x{1160}\x{2800}\x{3164}\x{ffa0}"  # letters and signs that show nothing
_BEFORE = rf"""[\p{{Z}}\p{{Cf}}\p{{Mn}}{_BLANK}'"`´‘’“”„«»＇＂｀]*"""
_BEGINNING = rf"^('|{_BEFORE}[{_FORMULA}\t\r\n])"
_INSIDE = rf"([;\t\r\n])('|{_BEFORE}[{_FORMULA}])"
_NUMBER = r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?"

_UNSEEN = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x{9f}]"
_PICTURES = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\r\n"}
_PICTURES |= {0x7F: "␡"} | {code: "\N{REPLACEMENT CHARACTER}" for code in range(0x80, 0xA0)}


def cell(text: str) -> str:
    """The SQL expression of what a CSV file has for a text.

    Args:
        text: An SQL expression of type VARCHAR.
    """
    unseen = " || ".join(f"chr({code})" for code in _PICTURES)
    seen = f"translate({text}, {unseen}, '{''.join(_PICTURES.values())}')"
    begun = _replace(seen, _BEGINNING, r"'\1")
    safe = _replace(begun, _INSIDE, r"\1'\2")
    # most texts are left as they are, and to look costs a tenth of what it costs to replace
    plain = f"NOT regexp_matches({text}, {_quoted(f'{_BEGINNING}|{_INSIDE}|{_UNSEEN}')})"
    return f"CASE WHEN {plain} OR regexp_full_match({text}, {_quoted(_NUMBER)}) THEN {text} ELSE {safe} END"


def _replace(text: str, pattern: str, by: str) -> str:
    return f"regexp_replace({text}, {_quoted(pattern)}, {_quoted(by)}, 'g')"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
