"""The markup of `attacks.toml`: what each «name» or «name:text» in a hostile post becomes."""

import base64
import codecs
import re
import unicodedata
from collections.abc import Callable
from random import Random

from corpora.thread import ClaimThread

_LONG = 50_000
_QUOTED = 280
"""Characters of the claim that a hostile post repeats at most."""
_LATIN = dict(zip("aceiopsxyABCEHIKMOPTXY", "асеіорѕхуАВСЕНІКМОРТХУ", strict=True))
_RADICALS = {unicodedata.normalize("NFKC", chr(code)): chr(code) for code in range(0x2F00, 0x2FD6)}
_LOOK_ALIKES = str.maketrans(_LATIN | _RADICALS)  # Cyrillic for Latin letters, radicals for Chinese characters

FORMS: dict[str, Callable[[str], str]] = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "rot13": lambda text: str(codecs.encode(text, "rot13")),
    "zero-width": lambda text: "\u200b".join(text),
    "right-to-left": lambda text: f"\u202e{text[::-1]}\u202c",
    "look-alikes": lambda text: text.translate(_LOOK_ALIKES),
    "struck-out": lambda text: "".join(f"{letter}\u0336\u0330" for letter in text),
    "tags": lambda text: "".join(chr(0xE0000 + ord(letter)) for letter in text),
    "fifty": lambda text: text * 50,
    "long": lambda text: text * (_LONG // len(text)),
}
"""Name -> how it makes the text behind it over."""
_MARKUP = re.compile(r"«([\w-]+)(?::([^»]*))?»")


def write(text: str, thread: ClaimThread, number: int, rng: Random) -> str:
    """Replace the markup in a text of attacks.toml.

    Args:
        text: The text.
        thread: The thread it is written into, as it was.
        number: Which post of the attacked thread it will be, from 1.
        rng: Draws codes and wordings.
    """

    def replaced(found: re.Match[str]) -> str:
        name: str = found[1]
        inner: str = found[2] or ""
        match name:
            case "claim":
                return thread.source.text[:_QUOTED]
            case "author":
                return thread.source.author
            case "next":
                return str(number + 1)
            case "nonce":
                return f"{rng.getrandbits(64):016x}"
            case "pick":
                return rng.choice(inner.split("|"))
        return FORMS[name](inner)

    return _MARKUP.sub(replaced, text)
