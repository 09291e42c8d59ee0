"""A folder of trained JSDRV networks, as far as one needs to know it without opening it: `--how jsdrv:DIR`.

It holds `about.json` (how the networks came about), `selector.safetensors` and a folder `networks`. Nothing in it is
code. What lies under `training` is how far a training had come, and no part of the result.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from corpora.errors import UsageError

ABOUT = "about.json"
NETWORKS = "networks"
_TRAINING = "training"
_READ = 1 << 20
_WIDEST = 1 << 16
"""Dimensions that vectors may have."""


def read_about(folder: Path) -> dict[str, Any]:
    """How networks came about.

    Raises:
        UsageError: none that are finished lie there.
    """
    if not (folder / NETWORKS).is_dir():
        raise UsageError(f"no trained networks in {folder}: train some with python -m graphs.annotate_select_finetune")
    try:
        about: dict[str, Any] = json.loads((folder / ABOUT).read_text("utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{folder} has no {ABOUT}: their training has not ended; the same command goes on") from None
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{folder / ABOUT}: {error}") from None
    kinds = {"dimensions": int, "settings": dict, "threads_seen": list}
    right = isinstance(about, dict) and all(isinstance(about.get(name), kind) for name, kind in kinds.items())
    if not right or about["dimensions"] is True or not 1 <= about["dimensions"] <= _WIDEST:
        raise UsageError(f"{folder / ABOUT} is not what a training of JSDRV writes: want {', '.join(kinds)}")
    return about


def threads_seen(folder: Path) -> set[str]:
    """Ids of the threads that networks learned from.

    Raises:
        UsageError: there are no networks.
    """
    return set(map(str, read_about(folder).get("threads_seen") or ()))


def kind(folder: Path) -> str:
    """What networks are: "encoder", "hf", "openai" or "scripted"; their name after it where the folder tells.

    Raises:
        UsageError: there are no networks.
    """
    about = read_about(folder)
    try:
        told = json.loads((folder / NETWORKS / "networks.json").read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        told = {}
    return str(about.get("network") or (told.get("kind") if isinstance(told, dict) else None) or "encoder")


def digest(folder: Path) -> str:
    """Content address of networks: of what they compute, wherever they lie.

    Raises:
        UsageError: there are none, or they cannot be read.
    """
    read_about(folder)
    found = hashlib.sha256()
    paths = (path for path in folder.rglob("*") if path.suffix in (".json", ".safetensors") and path.is_file())
    named = {path.relative_to(folder).as_posix(): path for path in paths}
    try:
        for name, path in sorted(named.items()):
            if name.partition("/")[0] != _TRAINING:
                found.update(f"{name}\n{_sha256(path)}\n".encode())
    except OSError as error:
        raise UsageError(f"{folder}: {error}") from None
    return found.hexdigest()


def _sha256(path: Path) -> str:
    whole = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(_READ):
            whole.update(part)
    return whole.hexdigest()
