"""A stream of posts of many threads: one post a line of JSON, read as it comes.

A post: `thread` and `text`; and where known
    `id`        its place in the thread is its id if it has none
    `time`      on a clock that the whole stream shares: ISO 8601, or seconds since 1970
    `seconds`   since the thread's source post, where there is no such clock
    `author`, `parent` (id; null or absent for the source), `language` ("en" or "zh")
A line with nothing but `time` moves the clock. Other keys are ignored; the names are those of `readers/jsonl.py`.
"""

import heapq
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, get_args

from corpora.readers.files import identifier_of, seconds_of
from corpora.thread import ClaimThread, Language

LONGEST = 1 << 20
"""Bytes of a line; longer ones are no posts."""
LONGEST_ID = 1000
_LANGUAGES = get_args(Language)
EVERY = 60.0
"""Seconds between the source posts of two threads, where a corpus is turned into a stream."""


class StreamPost(NamedTuple):
    """One line, as it came."""

    thread: str
    """Empty for a line that only moves the clock."""
    text: str = ""
    id: str | None = None
    time: float | None = None
    """Seconds on the stream's clock."""
    seconds: float | None = None
    """On the thread's own."""
    author: str = ""
    parent: str | None = None
    language: Language | None = None


class Malformed(ValueError):
    """A line that is no post; says why, without quoting it."""


def read_post(line: bytes) -> StreamPost:
    """Read one line.

    Raises:
        Malformed: it is no post.
    """
    if len(line) > LONGEST:
        raise Malformed(f"longer than {LONGEST:,} bytes")
    try:
        record = json.loads(line.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        raise Malformed("no JSON") from None
    if not isinstance(record, dict):
        raise Malformed("no JSON object")
    time = _number(record, "time")
    if "thread" not in record and time is not None and "text" not in record:
        return StreamPost("", time=time)
    text, author, language = record.get("text"), record.get("author"), record.get("language")
    if not isinstance(text, str):
        raise Malformed("no text")
    if not isinstance(author, str | None):
        raise Malformed("author is no text")
    if language is not None and language not in _LANGUAGES:
        raise Malformed(f"language is not {' or '.join(_LANGUAGES)}")
    seconds = _number(record, "seconds")
    if isinstance(record.get("seconds"), str):
        raise Malformed("seconds is no number (a time of day is called time)")
    thread = _identifier(record, "thread")
    if not thread:
        raise Malformed("no thread")
    return StreamPost(
        thread,
        _encodable(text),
        _identifier(record, "id"),
        time,
        seconds,
        _encodable(author or ""),
        _identifier(record, "parent"),
        language,
    )


def _identifier(record: dict[str, Any], name: str) -> str | None:
    value = record.get(name)
    if value is None:
        return None
    if type(value) is str and value.isascii() and 0 < len(value) <= LONGEST_ID:
        return value
    try:
        found = _encodable(identifier_of(value))
    except TypeError:
        raise Malformed(f"{name} is no id") from None
    if len(found) > LONGEST_ID:
        raise Malformed(f"{name} is longer than {LONGEST_ID:,} characters")
    return found or None


def _number(record: dict[str, Any], name: str) -> float | None:
    value = record.get(name)
    found = None if value is None else seconds_of(value)
    if value is not None and found is None:
        raise Malformed(f"{name} is no time")
    return found


def _encodable(text: str) -> str:
    """The text without lone surrogates, which neither a file nor a model can take."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


def to_stream(threads: Iterable[ClaimThread]) -> Iterator[dict[str, Any]]:
    """A corpus as if it were happening: its threads begin one after another, and their posts come in order of time.

    What is known to be true of a thread is left out, and so is the time of a thread whose posts have none: there,
    one post a minute sets the order.
    """

    def posts(number: int, thread: ClaimThread) -> Iterator[tuple[float, int, int, dict[str, Any]]]:
        begin = number * EVERY
        for place, post in enumerate(thread.posts):
            time = begin + (60.0 * place if not thread.timed else post.seconds or 0.0)
            record = {
                "thread": thread.id,
                "id": post.id,
                "parent": post.parent,
                "time": time if thread.timed else None,
                "author": post.author,
                "language": thread.language,
                "text": post.text,
            }
            yield time, number, place, {key: value for key, value in record.items() if value is not None}

    for *_, record in heapq.merge(*(posts(number, thread) for number, thread in enumerate(threads))):
        yield record
