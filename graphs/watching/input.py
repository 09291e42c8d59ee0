"""Where lines come from: a file, a file that grows, or standard input. Nothing here waits.

A stream is known by its first line. Begun again (a file opened anew, a command that sends everything once more), it is
read from where it was left; another one (a file that was rotated, a live feed) is read from where it begins.
"""

import hashlib
import os
import select
import stat
import sys
from collections import deque
from collections.abc import Callable
from typing import Any

from corpora.clean import printable
from corpora.errors import UsageError
from corpora.stream import LONGEST

CHUNK = 1 << 20


class Source:
    """Lines in order, each once."""

    def __init__(self, file: str, follow: bool, note: Callable[[str], None]) -> None:
        """Open it.

        Args:
            file: A path, or "-" for standard input.
            follow: Whether the file's end is not the stream's.
            note: Takes a line that a person should read.

        Raises:
            UsageError: it cannot be opened.
        """
        self.file, self.follow, self._note = file, follow, note
        self._open()
        self._waiting: deque[bytes] = deque()
        """Whole lines that were not asked for yet."""
        self._part = b""
        """A line whose end has not come yet."""
        self._cut = 0
        """Bytes of it that were let go, as it is too long anyway."""
        self._left: dict[str, Any] = {}

    def _open(self) -> None:
        """Open what bears the name now, to be read from its start."""
        try:
            fd = sys.stdin.fileno() if self.file == "-" else os.open(self.file, os.O_RDONLY | os.O_CLOEXEC)
            if stat.S_ISDIR(os.fstat(fd).st_mode):
                raise IsADirectoryError(21, "it is a folder")
        except OSError as error:
            raise UsageError(f"cannot read {printable(self.file, 300)}: {error.strerror or 'it is closed'}") from None
        self._fd, self._regular = fd, stat.S_ISREG(os.fstat(fd).st_mode)
        self.lines = self.position = 0
        self.first = ""

    def close(self) -> None:
        """Let go of it."""
        if self.file != "-":
            os.close(self._fd)

    def state(self) -> dict[str, Any]:
        """How far it was read: lines, bytes, and the first line's digest."""
        return {"lines": self.lines, "position": self.position, "first": self.first}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where it was left, if it is the same stream, which standard input only shows by and by."""
        if not state["first"]:
            return
        if not self._regular:
            self._left = state
            return
        start = os.pread(self._fd, LONGEST + 1, 0)
        same = b"\n" in start or len(start) <= LONGEST
        if same and _digest(start.split(b"\n")[0]) == state["first"] and self._size() >= state["position"]:
            os.lseek(self._fd, state["position"], os.SEEK_SET)
            self.lines, self.position, self.first = state["lines"], state["position"], state["first"]
        elif start:
            self._note(f"{printable(self.file, 300)} is not the file that was read before: reading it from its start")

    def read(self, most: int) -> tuple[list[tuple[int, bytes]], bool]:
        """Lines that are there, at most so many, with their numbers from 1; and whether the stream has ended.

        Raises:
            UsageError: it cannot be read.
        """
        ended = turned = False
        if not self._waiting:
            chunk = self._chunk()
            if chunk == b"" and self.follow and (turned := self._turned()):
                chunk = self._chunk()  # written between the last look and the turn
            if chunk:
                *whole, self._part = (self._part + chunk).split(b"\n")
                self._waiting.extend(whole)
                if whole and self._cut:
                    self.position, self._cut = self.position + self._cut, 0
                if len(self._part) > LONGEST + 1:
                    self._cut += len(self._part) - LONGEST - 1
                    self._part = self._part[: LONGEST + 1]
                turned = False  # not before that was handed out
            elif chunk is not None and (turned or not self.follow):
                ended = not self.follow
                if self._part:
                    self._waiting.append(self._part)
                    self.position -= 1  # it has no line end
                    self._part = b""
        lines: list[tuple[int, bytes]] = []
        while self._waiting and len(lines) < most:
            content = self._waiting.popleft()
            self.lines, self.position = self.lines + 1, self.position + len(content) + 1
            if self._is_new(content):
                lines.append((self.lines, content))
        if turned:
            os.close(self._fd)
            self._open()
            self._note(f"{printable(self.file, 300)} was begun anew: reading it from its start")
        return lines, ended and not self._waiting

    def _is_new(self, content: bytes) -> bool:
        """Whether a line was not read before, by the watch that is continued."""
        if not self.first:
            self.first = _digest(content)
            if self._left and self._left["first"] != self.first:
                self._note("this stream is not the one that was read before: reading all of it")
                self._left = {}
        if self._left:
            if self.position > self._left["position"]:
                self._left = {}
                return True
            return False
        return True

    def _chunk(self) -> bytes | None:
        """What is there; nothing at the end; None if more may come."""
        try:
            if not self._regular and not select.select([self._fd], [], [], 0)[0]:
                return None
            return os.read(self._fd, CHUNK)
        except BlockingIOError:
            return None
        except OSError as error:
            raise UsageError(f"cannot read {printable(self.file, 300)}: {error.strerror}") from None

    def _turned(self) -> bool:
        """Whether a followed file was replaced or cut."""
        try:
            there = os.stat(self.file)
        except OSError:
            return False  # between two files
        if not os.path.samestat(there, os.fstat(self._fd)):
            return True
        return self._regular and self._size() < os.lseek(self._fd, 0, os.SEEK_CUR)

    def _size(self) -> int:
        return os.fstat(self._fd).st_size


def _digest(line: bytes) -> str:
    return hashlib.sha256(line[:LONGEST]).hexdigest()[:32]
