"""Made-up corpora and servers for tests of whole commands."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

from agents.encoder import Encoder
from corpora.locate import cache_dir

ROOT = Path(__file__).parent.parent
VECTORS = cache_dir(os.environ)
"""Where vectors are cached on this machine: they are a text's own, and computing those of the sample takes half a
minute."""


def own_cache(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Give a test a cache of its own in a folder, empty but for the vectors of this machine."""
    cache = folder / "cache" / "hearsay"
    cache.mkdir(parents=True)
    VECTORS.mkdir(parents=True, exist_ok=True)
    file = Encoder(cache=VECTORS)._file
    assert file
    (cache / file.name).symlink_to(file)
    patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))


def write_corpus(path: Path, threads: int, posts: int = 4, *, timed: bool = True) -> Path:
    """A JSONL corpus: every other thread is a rumor, and says "unconfirmed" in its last post."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(threads):
            rumor = number % 2 == 0
            texts = [
                f"thread {number}: the bridge at milestone {number * 7} is closed",
                "what happened?",
                "ok then",
            ]
            texts = [*texts[: posts - 1], *(f"noise {i}" for i in range(posts - 4))]
            texts.append(f"this is {'unconfirmed' if rumor else 'on the town website'} ({number})")
            content = {
                "id": f"t{number}",
                "event": f"event{number % 3}",
                "language": "en",
                "rumor": "rumor" if rumor else "non-rumor",
                "veracity": "U" if rumor else "N",
                "posts": [
                    {
                        "id": f"t{number}-{i}",
                        "parent": None if i == 0 else f"t{number}-0",
                        "seconds": i * 600.0 if timed else None,
                        "author": f"someone{i}",
                        "text": text,
                    }
                    for i, text in enumerate(texts)
                ],
            }
            file.write(json.dumps(content) + "\n")
    return path


RULES: list[dict[str, Any]] = [
    {"contains": "unconfirmed", "reply": "Yes", "probabilities": {"Yes": 0.9, "No": 0.1}},
    {"reply": "No", "probabilities": {"Yes": 0.2, "No": 0.8}},
]


@contextmanager
def stub_process(rules: list[dict[str, Any]], *options: str) -> Iterator[str]:
    """A chat stub in a process of its own, so that it outlives a killed runner; yields its base URL."""
    command = [sys.executable, "-m", "tests.chat_stub", "--port", "0", "--rules", json.dumps(rules), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert process.stdout
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


def rows(query: str, db: str = "hearsay.duckdb") -> list[dict[str, Any]]:
    """What a query finds in a database: a row by the names of its columns."""
    with duckdb.connect(db, read_only=True) as connection:
        cursor = connection.execute(query)
        names = [column[0] for column in cursor.description or []]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def asked(url: str) -> dict[str, int]:
    """How many requests the stub has had, and how many different ones."""
    with urllib.request.urlopen(url.removesuffix("/v1") + "/count", timeout=10) as answer:
        return json.loads(answer.read())
