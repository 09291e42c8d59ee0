"""PHEME: rumours and non-rumours during breaking news (Zubiaga et al. 2016; Kochkina et al. 2018).

`<event>[-all-rnr-threads]/{rumours,non-rumours}/<thread id>/…`, and an `annotation.json` a thread with the
veracity. The folder says whether it is a rumor; the older release of five events has no veracity.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpora.clean import RawThread, Tally
from corpora.readers.conversations import read_posts, thread_folders
from corpora.readers.files import nothing_read, read_json
from corpora.thread import RumorLabel, Veracity

_RUMOR: dict[str, RumorLabel] = {"rumours": "rumor", "non-rumours": "non-rumor"}
# (misinformation, true) as annotated; both 1 is a contradiction and stays without veracity
_VERACITY: dict[tuple[str, str], Veracity] = {("0", "1"): "T", ("1", "0"): "F", ("0", "0"): "U"}


def read(root: Path, tally: Tally) -> Iterator[RawThread]:
    """Read every thread below root.

    Raises:
        UsageError: there is none.
    """
    found = False
    for folder in thread_folders(root):
        rumor = _RUMOR.get(folder.parent.name)
        if rumor is None:
            continue
        found = True
        event = folder.parent.parent.name.removesuffix("-all-rnr-threads")
        annotation = folder / "annotation.json"
        labels = read_json(annotation, tally) if annotation.is_file() else None
        yield RawThread(
            folder.name,
            folder.name,
            read_posts(folder, tally),
            rumor,
            "N" if rumor == "non-rumor" else _veracity(labels, tally),
            event,
        )
    if not found:
        raise nothing_read(root, "<event>/{rumours,non-rumours}/<id>/source-tweets/<id>.json")


def _veracity(labels: Any, tally: Tally) -> Veracity | None:
    """A rumor's veracity. Some annotations have one of the two marks only; "true" alone decides nothing."""
    if not isinstance(labels, dict) or "misinformation" not in labels:
        return None
    veracity = _VERACITY.get((str(labels["misinformation"]), str(labels.get("true", "0"))))
    if veracity is None:
        tally["unknown_labels"] += 1
    return veracity
