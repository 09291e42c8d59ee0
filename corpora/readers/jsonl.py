"""Hearsay's own format, one thread a line of JSON: what `export --format jsonl` writes.

A thread: `id`, `posts`; and where known `rumor` ("rumor", "non-rumor"), `veracity` ("N", "T", "F", "U"),
`event`, `partition` ("train", "dev", "test"), `language` ("en", the default, or "zh").
A post: `id`, `text`; and where known `parent` (id; null or absent for the source, which is the first such
post), `seconds` (any clock shared by the thread, or an ISO 8601 time), `author`, `stance` ("S", "D", "Q",
"C").
Other keys are ignored.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from corpora.clean import RawPost, RawThread, Tally, printable
from corpora.errors import UsageError
from corpora.readers.files import decode, files_below, identifier_of, nothing_read, seconds_of
from corpora.thread import ClaimThread, Language, RumorLabel, Stance, Veracity

_RUMORS, _VERACITIES, _STANCES, _LANGUAGES = (
    frozenset(get_args(kind)) for kind in (RumorLabel, Veracity, Stance, Language)
)
_PARTITIONS = frozenset(("train", "dev", "test"))
EXPECTED = 'one JSON object a line, with "id" and "posts"'
LONGEST = 100_000_000
"""Bytes of a line, far more than any thread known has: a file without line ends must not fill memory."""


def read(path: Path, tally: Tally) -> Iterator[RawThread]:
    """Read a file, or the only `*.jsonl` below a folder.

    Raises:
        UsageError: no such file, its first line is not a thread, or a line is too long to be one.
    """
    found = False
    path = find_file(path, "jsonl", EXPECTED)
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(iter(lambda: lines.readline(LONGEST + 1), b""), start=1):
                if len(line) > LONGEST:
                    raise UsageError(
                        f"{printable(path, 300)}, line {number}: over {LONGEST:,} bytes; expected {EXPECTED}"
                    )
                if not line.strip():
                    continue
                thread = _thread(decode(line, tally), tally)
                if thread is not None:
                    found = True
                    yield thread
                elif found:
                    tally["malformed_records"] += 1
                else:
                    raise UsageError(f"{printable(path, 300)}, line {number}: expected {EXPECTED}")
    except OSError as error:
        raise UsageError(f"cannot read {printable(path, 300)}: {error.strerror}") from None
    if not found:
        raise nothing_read(path, EXPECTED)


def find_file(path: Path, suffix: str, expected: str) -> Path:
    """The file itself, or the only one of that suffix below a folder.

    Raises:
        UsageError: there is none below the folder, or more than one.
    """
    if not path.is_dir():
        return path
    files = files_below(path, f"*.{suffix}")
    if not files:
        raise nothing_read(path, f"a .{suffix} file with {expected}")
    if len(files) > 1:
        names = ", ".join(printable(file.name) for file in files[:10])
        raise UsageError(f"several .{suffix} files in {printable(path, 300)}: name one of {names}")
    return files[0]


def _thread(line: str, tally: Tally) -> RawThread | None:
    """One line's thread; None if it is not one."""
    try:
        record = json.loads(line)
        language: Any = record.get("language") or "en"
        posts = [
            RawPost(
                identifier_of(post["id"]),
                post["text"],
                seconds_of(post.get("seconds")),
                post.get("author") or "",
                None if post.get("parent") is None else identifier_of(post["parent"]),
                _label(post.get("stance"), _STANCES, tally),
            )
            for post in record["posts"]
        ]
        if language not in _LANGUAGES or {type(value) for post in posts for value in post[1:4:2]} != {str}:
            return None  # a text or author that is none
        return RawThread(
            identifier_of(record["id"]),
            next((post.id for post in posts if post.parent is None), ""),
            posts,
            _label(record.get("rumor"), _RUMORS, tally),
            _label(record.get("veracity"), _VERACITIES, tally),
            None if record.get("event") is None else str(record["event"]),
            _label(record.get("partition"), _PARTITIONS, tally),
            language,
        )
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return None


def _label(value: object, known: frozenset[Any], tally: Tally) -> Any:
    """The label if it is one of the format's, else None, counted."""
    if value is None or (isinstance(value, str) and value in known):
        return value
    tally["unknown_labels"] += 1
    return None


def to_record(thread: ClaimThread) -> dict[str, Any]:
    """A thread as one line's object; what is not known is left out."""
    record: dict[str, Any] = {
        "id": thread.id,
        "event": thread.event,
        "partition": thread.partition,
        "language": thread.language,
        "rumor": thread.gold.rumor,
        "veracity": thread.gold.veracity,
    }
    record = {key: value for key, value in record.items() if value is not None}
    record["posts"] = [
        {
            "id": post.id,
            "parent": post.parent,
            "seconds": post.seconds,
            "author": post.author,
            "text": post.text,
            "stance": thread.gold.stances.get(post.id),
        }
        for post in thread.posts
    ]
    for post in record["posts"]:
        if post["stance"] is None:
            del post["stance"]
    return record
