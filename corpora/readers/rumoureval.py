"""RumourEval 2017, SemEval task 8 (Derczynski et al. 2017): stance of each tweet, veracity of each thread.

Thread folders lie below `rumoureval-data/<event>/` and, for the test set, below the test data's own folder.
Labels are JSON objects id -> label in files named `*subtaskA*` (stance) and `*subtaskB*` (veracity), of the
train, dev and test (gold) partitions, wherever they lie.
"""

from collections.abc import Iterator
from pathlib import Path

from corpora.clean import RawThread, Tally
from corpora.readers.conversations import read_posts, thread_folders
from corpora.readers.files import files_below, nothing_read, read_json
from corpora.thread import Stance, Veracity

_STANCES: dict[str, Stance] = {"support": "S", "deny": "D", "query": "Q", "comment": "C"}
_VERACITIES: dict[str, Veracity] = {"true": "T", "false": "F", "unverified": "U"}


def read(root: Path, tally: Tally) -> Iterator[RawThread]:
    """Read every thread below root, with the labels found there.

    Raises:
        UsageError: there is none.
    """
    stances: dict[str, str] = {}
    veracities: dict[str, tuple[str, str]] = {}
    for path in files_below(root, "*.json"):
        name = path.name.casefold()
        labels = read_json(path, tally) if "subtaska" in name or "subtaskb" in name else None
        if not isinstance(labels, dict):
            continue
        if "subtaska" in name:
            stances.update((identifier, str(label)) for identifier, label in labels.items())
        else:
            partition = next((part for part in ("train", "dev") if part in path.stem.casefold()), "test")
            veracities.update((identifier, (str(label), partition)) for identifier, label in labels.items())
    found = False
    for folder in thread_folders(root):
        found = True
        label, partition = veracities.pop(folder.name, (None, "test"))
        tally["unknown_labels"] += label is not None and label not in _VERACITIES
        posts = [post._replace(stance=_STANCES.get(stances.pop(post.id, ""))) for post in read_posts(folder, tally)]
        in_events = folder.parent.parent.name == "rumoureval-data"
        yield RawThread(
            folder.name,
            folder.name,
            posts,
            "rumor",  # every thread of the task was collected as one
            _VERACITIES.get(label or ""),
            folder.parent.name if in_events else None,
            partition,
        )
    if not found:
        raise nothing_read(root, "rumoureval-data/<event>/<id>/source-tweet/<id>.json")
    tally["labels_without_thread"] += len(stances) + len(veracities)
