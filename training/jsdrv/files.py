"""What an epoch leaves on disk: each file and folder is whole or not there, however the process ended."""

import json
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agents.jsdrv.annotation import Annotation


def put(path: Path, write: Callable[[Path], object]) -> None:
    """Have a file or folder written beside its place, then put it there.

    Args:
        path: Its place; what lay there goes.
        write: Writes it at the path that it is given.
    """
    part = path.with_name(f".{path.name}.part")
    remove(part)
    path.parent.mkdir(parents=True, exist_ok=True)
    write(part)
    if part.is_dir():  # a folder cannot take the place of one that holds anything
        old = path.with_name(f".{path.name}.old")
        remove(old)
        if path.exists():
            path.rename(old)
        part.rename(path)
        remove(old)
    else:
        os.replace(part, path)


def put_json(path: Path, content: Any) -> None:
    """The same for plain values."""
    put(path, lambda part: part.write_text(json.dumps(content, indent=1, ensure_ascii=True) + "\n", "utf-8"))


def get_json(path: Path) -> Any:
    """Plain values, None if there is no such file."""
    return json.loads(path.read_text("utf-8")) if path.is_file() else None


def remove(path: Path) -> None:
    """Take a file or folder away, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def as_plain(annotation: Annotation) -> dict[str, Any]:
    """An annotation as plain values."""
    odds = annotation.probabilities
    plain = asdict(annotation)
    return plain | {"probabilities": None if odds is None else {label: float(p) for label, p in odds.items()}}


def as_annotation(plain: dict[str, Any]) -> Annotation:
    """An annotation from plain values."""
    return Annotation(**plain)


class Journal:
    """Lines of a work in progress, so that what was done before a kill is not done again."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Any]:
        """What was written; a line that the kill cut short is left out."""
        found: list[Any] = []
        if self.path.is_file():
            for line in self.path.read_bytes().split(b"\n")[:-1]:
                try:
                    found.append(json.loads(line))
                except ValueError:  # cut short, and then written on
                    continue
        return found

    def add(self, contents: Iterable[Any]) -> None:
        """Write lines."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            # begins with a newline: what a kill cut short must not spoil this line too
            file.write(b"".join(b"\n" + json.dumps(each).encode() + b"\n" for each in contents))
