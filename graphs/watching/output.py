"""Where lines go: standard output, or a file beside which a checkpoint is kept.

A line is the kernel's the moment `write` returns, so a kill loses none. The checkpoint says how long the file was when
it was made; lines after that are read back, and what they tell is not told again.
"""

import fcntl
import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from corpora.clean import printable
from corpora.errors import UsageError

# Escaped, whoever reads it: ids are strangers' and may hold control characters.
_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(", ", ": ")).encode


class Output:
    """Lines of JSON, written at once or not at all."""

    def __init__(self, path: Path | None) -> None:
        """Open it, and keep others from writing to it.

        Raises:
            UsageError: it cannot be written, or another watch writes to it.
        """
        self.path, self._fd, self.size = path, -1, 0
        if path is None:
            return
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.size = os.fstat(self._fd).st_size
        except BlockingIOError:
            raise UsageError(f"--out {printable(path, 300)}: another watch is writing to it") from None
        except OSError as error:
            raise self._failed(error) from None

    def _failed(self, error: OSError) -> UsageError:
        return UsageError(
            f"cannot write --out {printable(self.path, 300)}: {error.strerror}; the same command goes on from its "
            "last checkpoint"
        )

    def write(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Write lines.

        Raises:
            UsageError: the file does not take them; then it ends where it did.
            BrokenPipeError: nobody reads any more.
        """
        text = "".join(f"{_encode(line)}\n" for line in lines)
        if not text:
            return
        if self._fd < 0:
            try:
                sys.stdout.write(text)
                sys.stdout.flush()
            except BrokenPipeError:
                raise
            except OSError as error:
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is buffered fails once only
                raise UsageError(f"cannot write standard output: {error.strerror}") from None
            return
        content = text.encode()
        try:
            written = os.write(self._fd, content)
            while written < len(content):
                written += os.write(self._fd, content[written:])
        except OSError as error:
            os.ftruncate(self._fd, self.size)
            raise self._failed(error) from None
        self.size += len(content)

    def since(self, size: int) -> list[dict[str, Any]]:
        """The lines after a length at which there was a checkpoint; a half line, its writer's last, is cut off.

        Raises:
            UsageError: the file is not the one that the checkpoint was made beside.
        """
        if self.size < size:
            raise UsageError(
                f"{printable(self.path, 300)} is shorter than its checkpoint says: put it back, or remove both"
            )
        content = os.pread(self._fd, self.size - size, size)
        end = content.rfind(b"\n") + 1
        if size + end < self.size:
            os.ftruncate(self._fd, size + end)
            self.size = size + end
        try:
            return [json.loads(line) for line in content[:end].splitlines()]
        except ValueError:
            raise UsageError(f"{printable(self.path, 300)} holds what no watch wrote: put it back as it was") from None

    def sync(self) -> None:
        """Have it on the disk, not only with the kernel."""
        if self._fd >= 0:
            os.fsync(self._fd)

    def close(self) -> None:
        """Let go of it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
