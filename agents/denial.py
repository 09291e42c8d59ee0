"""Whether a sentence says what it names, or denies, doubts, compares or asks it: for label words in replies.

A guess at grammar that errs on one side: what may be denied counts as denied, for an abstention is asked about once
more, and a wrong label is not. What is looked at ends with the clause (a stop, a comma, "but", "so it …") and after
`REACH` characters, so that reading is linear in time.
"""

import re

REACH = 300
"""Characters of the clause before a word that are looked at."""

_START, _END = r"(?<![^\W_])", r"(?![^\W_])"
_DENIES = re.compile(
    rf"{_START}(?:not|cannot|never|neither|nor|no|nobody|none|nothing|unable|unsure|uncertain|unclear|unlikely"
    r"|impossible|hardly|barely|scarcely|doubt(?:s|ed|ful)?|questionable|refuse[sd]?|refusing|decline[sd]?|den(?:y|ie[sd]|ying)"
    r"|(?:ca|do|does|did|is|are|was|wo)nt|whether|if|unless|than|instead|opposed|far from|less|unlike)"
    rf"{_END}|n['’]t{_END}"
    # one character may deny in Chinese: 不能, 没有证据, 无法, 并非, 是否, 难以
    r"|[不没無无未非莫否]|难以|拒绝|怀疑|如果|假如|与其",
    re.IGNORECASE,
)
_SURE = re.compile(
    r"\b(?:no|without(?: an?y?)?|beyond(?: an?y?)?) (?:doubt|question)\b|毫无疑问|无疑|不过|不得不|非常|没错",
    re.IGNORECASE,
)
"""Words of denial that affirm."""
_CLAUSE = re.compile(
    # "it is not, I think, Real": commas that begin right behind the denial end nothing
    r"(?P<aside>(?:not|n['’]t|never),[^,.;:!?\n]*,)|[.;:!?\n。，；：！？、]|(?<!not)(?<!n['’]t)(?<!never),"
    r"|\b(?:but|hence|thus|therefore)\b|\bso(?=\s+(?:it|the|this|i|my)\b)|(?<!not )(?<!n['’]t )\bso\W*$",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"[\"'’”*_)]*\s*(?:[?？]|(?:is|are|was|can|could|would|does)\s?(?:not\b|n['’]t|no\b))", re.IGNORECASE
)
_CONTRASTED = re.compile(
    r"[\"'’”*_.]*\s*[,;(—–-]\s*(?:(?:and|it is|it['’]s|is|definitely|certainly|clearly|surely)\s+)*not\s+[\"'‘“*_]*",
    re.IGNORECASE,
)


def denied(before: str, after: str) -> bool:
    """Whether a word is denied, doubted or asked for, by the text before it or right behind it."""
    clause = before[-REACH:]
    borders = [border.end() for border in _CLAUSE.finditer(clause) if not border["aside"]]
    clause = _SURE.sub(" ", clause[borders[-1] :] if borders else clause)
    return bool(_DENIES.search(clause) or _TAKEN_BACK.match(after))


def contrasted(between: str) -> bool:
    """Whether of two words with this text between them the second only says what the first is not: "Fake, not Real"."""
    return bool(_CONTRASTED.fullmatch(between))
