"""A run's finished work on disk before it is in the database: append-only files that survive SIGKILL.

Each line is one JSON object, table name -> rows, written with one write() and no buffer of ours, so that it
is the kernel's the moment `append` returns. Lines go to numbered segments `<db>.<run>.journal.<n>`; a segment
is removed once the database holds its rows and its number. Nothing is synced to the disk itself: a power cut,
unlike a kill, may cost the last seconds.
"""

import fcntl
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from corpora.errors import UsageError

Row = Mapping[str, Any]
"""Column -> value: JSON-able, or a datetime."""

_JOURNAL = ".journal."
_RECOVERING = ", recovering"
"""Marks a lock that is held for a moment only."""


class StoreError(UsageError):
    """The database or its journal cannot be written; says where the rows are and how to go on."""


def segment_path(db: Path, run_id: str, number: int) -> Path:
    """Where a segment lies: beside the database."""
    return Path(f"{db}.{run_id}{_JOURNAL}{number}")


def segments(db: Path) -> dict[str, list[int]]:
    """Segments beside a database: run id -> their numbers, in order."""
    found: dict[str, list[int]] = {}
    for name in os.listdir(db.parent):
        run_id, mark, number = name.removeprefix(f"{db.name}.").rpartition(_JOURNAL)
        if name.startswith(f"{db.name}.") and mark and number.isdecimal():
            found.setdefault(run_id, []).append(int(number))
    return {run_id: sorted(numbers) for run_id, numbers in found.items()}


def finish_segment(path: Path) -> int:
    """Make a segment whole: a last line without its end was being written when its process died, and is cut off.

    Returns:
        Bytes of its longest line.
    """
    content = path.read_bytes()
    end = content.rfind(b"\n") + 1
    if end < len(content):
        os.truncate(path, end)
    return max(map(len, content.split(b"\n")))


class Journal:
    """The segment being written, and the switch to the next one. Safe to append to from several threads."""

    def __init__(self, db: Path, run_id: str, first: int):
        """Write from segment number `first` on; its file is made with the first row."""
        self._db, self._run_id = db, run_id
        self._number, self._end, self._file = first, 0, -1
        self._guard = threading.Lock()
        self.lines = 0
        """In the segment being written."""

    def append(self, tables: Mapping[str, Sequence[Row]]) -> None:
        """Write rows of one or more tables as one line: after a crash all of them are there, or none.

        Raises:
            StoreError: the disk does not take it; then none of these rows is recorded.
            ValueError, TypeError: a value is NaN, infinite or not JSON-able.
        """
        # a post may hold half a surrogate pair, which neither UTF-8 nor the database knows
        line = (_ENCODE(tables) + "\n").encode("utf-8", "replace")
        with self._guard:
            try:
                if self._file < 0:
                    path = segment_path(self._db, self._run_id, self._number)
                    self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
                written = os.write(self._file, line)
                while written < len(line):
                    written += os.write(self._file, line[written:])
            except OSError as error:
                if self._file >= 0:  # take a half-written line back, so that nothing is appended to it
                    os.ftruncate(self._file, self._end)
                    os.lseek(self._file, self._end, os.SEEK_SET)
                raise StoreError(
                    f"cannot write the journal of {self._db}: {error.strerror}; what was recorded before "
                    "is safe, and the same command continues it"
                ) from error
            self._end += len(line)
            self.lines += 1

    def rotate(self) -> int:
        """Close the segment being written and return the number of the next; all below it may be stored."""
        with self._guard:
            if self._file >= 0:
                os.close(self._file)
                self._number, self._end, self._file, self.lines = self._number + 1, 0, -1, 0
            return self._number


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} cannot be stored")


_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain).encode


@contextmanager
def run_lock(db: Path, run_id: str, *, recovering: bool = False, patience: float = 0) -> Iterator[None]:
    """Hold a run, so that no two processes work on it; the kernel frees it when the holder dies.

    Args:
        db: The database.
        run_id: The run.
        recovering: Hold it only to store what a killed process left of it.
        patience: Seconds to wait for whoever does so.

    Raises:
        UsageError: another process holds it.
        StoreError: the lock file cannot be made.
    """
    path, until = Path(f"{db}.{run_id}.lock"), time.monotonic() + patience
    file = _locked(path, until)
    while not _still_there(path, file):  # its last holder removed it between our open and our lock
        os.close(file)
        file = _locked(path, until)
    try:
        os.ftruncate(file, 0)
        os.write(file, f"{os.getpid()}{_RECOVERING if recovering else ''}".encode())
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(file)


def is_held(db: Path, run_id: str) -> bool:
    """Whether a process is working on a run."""
    try:
        file = os.open(Path(f"{db}.{run_id}.lock"), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def _locked(path: Path, until: float) -> int:
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            holder = os.pread(file, 40, 0).decode("ascii", "replace")
        working = holder and not holder.endswith(_RECOVERING)  # empty: locked just now, and about to say who it is
        if working or time.monotonic() >= until:
            os.close(file)
            number = holder.removesuffix(_RECOVERING) or "of unknown number"
            raise UsageError(f"process {number} is already working on this run ({path.name}); wait for it or stop it")
        time.sleep(0.05)


def _still_there(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False
