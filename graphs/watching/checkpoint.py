"""A watch's state on disk: one JSON file, replaced in one step, so that a kill leaves the old one or the new one."""

import json
import os
from pathlib import Path
from typing import Any

from corpora.clean import printable
from corpora.errors import UsageError

VERSION = 2


def save(path: Path, identity: dict[str, Any], state: dict[str, Any]) -> None:
    """Replace the checkpoint.

    Args:
        path: Where it is.
        identity: What decided when the watch began (`WatchSettings.identity`).
        state: How far the watch is.

    Raises:
        UsageError: the disk does not take it.
    """
    part = path.with_name(f".{path.name}.part")
    content = {"version": VERSION, "settings": identity, **state}
    try:
        with part.open("w", encoding="utf-8") as file:
            file.write(json.dumps(content))
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise UsageError(f"cannot write {printable(path, 300)}: {error.strerror}") from None


def load(path: Path, identity: dict[str, Any]) -> dict[str, Any] | None:
    """The state that was saved last; None if none was.

    Raises:
        UsageError: it cannot be read, or is that of a watch with other settings.
    """
    shown = printable(path, 300)
    try:
        content = json.loads(path.read_text("utf-8"))
        known, version = content["settings"], content["version"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"cannot read {shown}: {error}; remove it and its lines to begin anew") from None
    if version != VERSION:
        raise UsageError(f"{shown} is of another version of Hearsay: choose another --out")
    wanted = json.loads(json.dumps(identity))
    for name in sorted(known.keys() | wanted.keys()):
        if known.get(name) != wanted.get(name):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{shown} is of a watch with {option} {known.get(name)}, not {wanted.get(name)}: choose another --out"
            )
    return content  # type: ignore[no-any-return]
