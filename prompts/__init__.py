"""Prompts: one text file each, rendered strictly.

`NAME.LANGUAGE.md` holds `$name` places (string.Template: `$$` is a dollar sign; values are put in once and
never read again, so a post may hold anything). A file is the user message; where it has a line `--- user
---`, what stands above that line is the system message. Prompts are append-only: instructions first, posts in
the order of time, the question last, so that the prompts of a growing thread share their beginning.

A folder given as `directory` (`--prompts DIR`) replaces files by name; the others stay.
"""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from string import Template

_HERE = Path(__file__).parent
_SEPARATOR = "\n--- user ---\n"


class PromptError(ValueError):
    """A prompt file is missing, misnamed or does not fit what it is rendered with."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt file's text, ready to be rendered."""

    name: str
    """File name without `.md`, such as "direct.en"."""
    sha256: str
    """Of the file's text."""
    system: Template | None
    user: Template
    identifiers: frozenset[str]
    """Names of its places."""

    def render(self, **values: str) -> list[dict[str, str]]:
        """Fill the places, and return the messages ({"role", "content"}) that it makes.

        Raises:
            PromptError: a place has no value, or a value has no place.
        """
        if missing := sorted(self.identifiers - values.keys()):
            raise PromptError(f"prompt {self.name}: no value for ${missing[0]}")
        if unused := sorted(values.keys() - self.identifiers):
            raise PromptError(f"prompt {self.name}: has no place for ${unused[0]}")
        messages = [{"role": "user", "content": self.user.substitute(values)}]
        if self.system is not None:
            messages.insert(0, {"role": "system", "content": self.system.substitute(values)})
        return messages


def names() -> list[str]:
    """Names of all prompts, such as "direct.en"."""
    return sorted(path.stem for path in _HERE.glob("*.md"))


@lru_cache
def load(name: str, language: str, directory: Path | None = None) -> Prompt:
    """Load a prompt; a file of the same name in `directory` takes precedence.

    Args:
        name: such as "direct".
        language: "en" or "zh".
        directory: a folder whose files replace ours.

    Raises:
        PromptError: there is no such prompt, `directory` is no folder or holds a file that no prompt is named
            after, or the file has a stray `$`.
    """
    full = f"{name}.{language}"
    if full not in names():
        raise PromptError(f"no prompt {full}; there are: {', '.join(names())}")
    path = _HERE / f"{full}.md"
    if directory is not None:
        check_overrides(directory)
        path = own if (own := directory / path.name).is_file() else path
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"cannot read prompt {path}: {error}") from error
    system, separator, user = text.partition(_SEPARATOR)
    parts = [Template(part.strip()) for part in ((system, user) if separator else (text,))]
    if not all(part.is_valid() for part in parts):
        raise PromptError(f"prompt {path}: a $ that begins no name; write $$ for a dollar sign")
    identifiers = frozenset(name for part in parts for name in part.get_identifiers())
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    return Prompt(full, sha256, parts[0] if separator else None, parts[-1], identifiers)


def check_overrides(directory: Path) -> None:
    """Check that every prompt file of a folder replaces one of ours.

    Raises:
        PromptError: one does not, or the folder is none.
    """
    if not directory.is_dir():
        raise PromptError(f"--prompts: no folder {directory}")
    for path in sorted(directory.glob("*.md")):
        if path.stem not in names():
            raise PromptError(f"--prompts: {path.name} replaces no prompt; there are: {', '.join(names())}")
