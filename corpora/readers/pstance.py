"""P-Stance (Li et al. 2021): the stance of single tweets towards a politician.

`raw_{train,val,test}_{target}.csv` with columns Tweet, Target, Stance. There is no conversation: as a thread,
the source is the target written out as a claim, and the tweet its one reply, with the stance towards it.
Tweets have neither ids nor authors nor times.
"""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from corpora.clean import RawPost, RawThread, Tally, printable
from corpora.errors import UsageError
from corpora.readers.files import files_below, nothing_read, read_text
from corpora.thread import Stance

_STANCES: dict[str, Stance] = {"FAVOR": "S", "AGAINST": "D", "NONE": "C"}
_PARTITIONS = {"train": "train", "val": "dev", "test": "test"}


def claim_about(target: str) -> str:
    """The claim that a tweet in favour of the target supports."""
    return f"{target} deserves to be president."


def read(root: Path, tally: Tally) -> Iterator[RawThread]:
    """Read every `raw_*.csv` below root.

    Raises:
        UsageError: there is none, or one lacks a column or is no CSV.
    """
    files = files_below(root, "raw_*.csv")
    if not files:
        raise nothing_read(root, "raw_train_<target>.csv and its like")
    for path in files:
        _, split, target = [*path.stem.split("_", 2), "", ""][:3]
        rows = csv.DictReader(io.StringIO(read_text(path, tally), newline=""))
        try:
            if not {"Tweet", "Target", "Stance"} <= set(rows.fieldnames or ()):
                raise UsageError(f"{printable(path, 300)}, line 1: expected the columns Tweet, Target, Stance")
            for number, row in enumerate(rows, start=1):
                thread = _thread(f"{split}-{target}-{number}", row, tally)
                if thread is None:
                    tally["malformed_records"] += 1
                else:
                    thread.event = target
                    thread.partition = _PARTITIONS.get(split)
                    yield thread
        except csv.Error as error:
            message = f"{printable(path, 300)}, line {rows.line_num}: {printable(error)}"
            raise UsageError(message) from None


def _thread(identifier: str, row: dict[str, str | None], tally: Tally) -> RawThread | None:
    tweet, target, label = row["Tweet"], row["Target"], row["Stance"]
    if tweet is None or not target or label is None:
        return None
    stance = _STANCES.get(label.strip().upper())
    tally["unknown_labels"] += stance is None
    return RawThread(
        identifier, "claim", [RawPost("claim", claim_about(target)), RawPost("tweet", tweet, stance=stance)]
    )
