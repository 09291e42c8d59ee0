"""The JSON format of the EARD code (Zeng and Gao 2022, 2026): `{id: {"label", "seq": {...}}}`.

`seq` holds three lists of equal length, sorted by time: `timeline` (seconds, absolute or since the first
post, or ISO 8601 times), `tids` (post ids; may be absent) and `texts`. Label 1 or "rumor" is a rumor, 0 or
"non-rumor" is none. The first post stands for the source; there are no authors and no reply tree.
The language is "zh" if most letters of the first posts are Han, else "en".
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from corpora.clean import RawPost, RawThread, Tally, language_of, printable
from corpora.errors import UsageError
from corpora.labels import LABEL_SETS
from corpora.readers.files import identifier_of, read_text, seconds_of
from corpora.readers.jsonl import find_file
from corpora.thread import ClaimThread, RumorLabel

_LABELS: dict[str, RumorLabel] = {"1": "rumor", "rumor": "rumor", "0": "non-rumor", "non-rumor": "non-rumor"}
EXPECTED = '{id: {"label", "seq": {"timeline", "tids", "texts"}}}'
# Seconds since 1970 pass this in the year 5138; milliseconds passed it in 1973.
_NO_SECONDS = 1e11


def read(path: Path, tally: Tally) -> Iterator[RawThread]:
    """Read a file, or the only `*.json` below a folder.

    Raises:
        UsageError: no such file, not of this format, or times that cannot be seconds.
    """
    path = find_file(path, "json", EXPECTED)
    try:
        content = json.loads(read_text(path, tally))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{printable(path, 300)}: not JSON ({printable(error)})") from None
    records = content.items() if isinstance(content, dict) else ()
    threads = []
    for identifier, record in records:
        thread = _thread(identifier, record, tally)
        if thread is None:
            tally["malformed_records"] += 1
            continue
        threads.append(thread)
        if any(post.seconds is not None and post.seconds > _NO_SECONDS for post in thread.posts):
            raise UsageError(f"{printable(path, 300)}: the timeline of {printable(identifier)} is not in seconds")
    if not threads:
        raise UsageError(f"no thread in {printable(path, 300)}: expected {EXPECTED}")
    language = language_of([thread.posts[0].text for thread in threads if thread.posts])
    for thread in threads:
        thread.language = language
        yield thread


def _thread(identifier: str, record: Any, tally: Tally) -> RawThread | None:
    """One record's thread; None if it is not one."""
    try:
        timeline, texts = record["seq"]["timeline"], record["seq"]["texts"]
        ids = record["seq"].get("tids") or range(1, len(texts) + 1)
        label = str(record["label"]).strip().lower()
        if not all(isinstance(part, list) for part in (timeline, texts)):
            return None
        if not len(timeline) == len(texts) == len(ids) or not all(isinstance(text, str) for text in texts):
            return None
        posts = [
            RawPost(identifier_of(post), text, seconds_of(time))
            for post, text, time in zip(ids, texts, timeline, strict=True)
        ]
    except (KeyError, TypeError, AttributeError):
        return None
    tally["unknown_labels"] += label not in _LABELS
    return RawThread(identifier, posts[0].id if posts else "", posts, _LABELS.get(label))


def to_json(threads: Iterable[ClaimThread]) -> tuple[dict[str, Any], int]:
    """Threads in this format, and how many were left out because they have no rumor label."""
    label_of = LABEL_SETS["rumor/non-rumor"].of
    content: dict[str, Any] = {}
    left_out = 0
    for thread in threads:
        label = label_of(thread)
        if label is None:
            left_out += 1
            continue
        content[thread.id] = {
            "label": 1 if label == "rumor" else 0,
            "seq": {
                "timeline": [post.seconds for post in thread.posts],
                "tids": [post.id for post in thread.posts],
                "texts": [post.text for post in thread.posts],
            },
        }
    return content, left_out
