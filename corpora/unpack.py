"""Archives by strangers, unpacked: no path escapes, no links or devices, bounds that no header can lie about.

The bounds are on what is really written, counted as it is decompressed.
"""

import contextlib
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any, Protocol

from corpora.clean import printable
from corpora.errors import UsageError

ARCHIVE_SUFFIXES = (".zip", ".7z", ".tar.xz", ".tar.bz2", ".tar.gz", ".tgz")
MAX_BYTES = 4 << 30
"""Unpacked bytes of one archive; the largest known corpus is below 2 GiB."""
MAX_FILES = 500_000
"""Files and folders in one archive; PHEME has about 120,000."""
_MAX_TAR_HEADER = 1 << 20
_CHUNK = 1 << 20
_DAMAGED = (
    *(zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, ValueError),
    RuntimeError,  # what zipfile raises for an encrypted file; RecursionError is one, too
)
_UNREADABLE = (
    *_DAMAGED,
    OSError,
)  # which gzip and bz2 raise for damage; nothing is written where this is caught


def unpack(archive: Path, folder: Path, *, max_bytes: int = MAX_BYTES, max_files: int = MAX_FILES) -> None:
    """Write an archive's regular files below an existing, empty folder.

    Hidden files and macOS's `__MACOSX` twins are skipped.

    Raises:
        UsageError: the archive is damaged, encrypted or beyond a bound, or holds a link, a device, a name
            that leads outside, or two files of one name. What was written until then stays in the folder.
        OSError: the folder cannot be written.
    """
    bounds = _Bounds(archive, max_bytes, max_files)
    if archive.name.casefold().endswith(".7z"):
        _unpack_7z(archive, folder, bounds)
        return
    for name, content in _entries(archive, bounds):
        with _create(folder, name, bounds) as file:
            while chunk := bounds.read(content):
                file.write(chunk)


def read_zip(archive: Path, *, max_bytes: int = MAX_BYTES, max_files: int = MAX_FILES) -> Iterator[tuple[str, bytes]]:
    """Name and content of each file in a zip that lies inside a corpus, under the rules of `unpack`."""
    bounds = _Bounds(archive, max_bytes, max_files)
    for name, content in _entries(archive, bounds):
        chunks = []
        while chunk := bounds.read(content):
            chunks.append(chunk)
        yield name, b"".join(chunks)


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Bounds:
    """What one archive may still write, and how it is refused."""

    def __init__(self, archive: Path, max_bytes: int, max_files: int) -> None:
        self.archive = archive
        self.max_bytes = self.bytes_left = max_bytes
        self.max_files = self.files_left = max_files

    def refuse(self, reason: str) -> UsageError:
        return UsageError(f"refused to unpack {printable(self.archive, 300)}: {reason}")

    def count_file(self) -> None:
        self.files_left -= 1
        if self.files_left < 0:
            raise self.refuse(f"more than {self.max_files:,} files")

    def count_bytes(self, n: int) -> None:
        self.bytes_left -= n
        if self.bytes_left < 0:
            raise self.refuse(f"more than {self.max_bytes:,} bytes unpacked")

    def read(self, content: _Readable) -> bytes:
        try:
            chunk = content.read(_CHUNK)
        except _UNREADABLE as error:
            raise self.refuse(f"damaged ({printable(error)})") from None
        self.count_bytes(len(chunk))
        return chunk

    def checked(self, name: str) -> str | None:
        """The name if it stays inside; None if the file is one to skip."""
        path = PurePosixPath(name.replace("\\", "/"))
        drive = path.parts and path.parts[0].endswith(":")
        if path.is_absolute() or drive or ".." in path.parts or "\0" in name:
            raise self.refuse(f"{printable(name)!r} leads outside")
        if not path.parts or "__MACOSX" in path.parts or path.name.startswith("."):
            return None
        return path.as_posix()


def _create(folder: Path, name: str, bounds: _Bounds) -> IO[bytes]:
    """A new file below the folder; mode "x" so that no file is written twice."""
    target = folder / name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return target.open("xb")
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        raise bounds.refuse(f"{printable(name)!r} is there twice") from None


def _entries(archive: Path, bounds: _Bounds) -> Iterator[tuple[str, IO[bytes]]]:
    """Checked name and content of each regular file of a zip or tar."""
    entries = _zip_entries if archive.name.casefold().endswith(".zip") else _tar_entries
    try:
        yield from entries(archive, bounds)
    except UsageError:  # refused for another reason
        raise
    except _UNREADABLE as error:
        raise bounds.refuse(f"damaged ({printable(error)})") from None


def _zip_entries(archive: Path, bounds: _Bounds) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(archive) as zipped:
        for member in zipped.infolist():
            bounds.count_file()
            name = bounds.checked(member.filename)
            # the upper half holds the Unix mode, whatever system the entry claims to be from
            kind = stat.S_IFMT(member.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise bounds.refuse(f"{printable(member.filename)!r} is a link or device")
            if name is not None and not member.is_dir():
                with zipped.open(member) as content:
                    yield name, content


class _TarInfo(tarfile.TarInfo):
    """What is read into memory whole, and would be without bound: long headers, and maps of sparse files."""

    def _proc_member(self, archive: tarfile.TarFile) -> Any:
        if not self.isreg() and self.size > _MAX_TAR_HEADER:
            raise tarfile.ReadError("oversized header")
        if self.type == tarfile.GNUTYPE_SPARSE:
            raise tarfile.ReadError("sparse file")
        return super()._proc_member(archive)  # type: ignore[misc]

    def _proc_gnusparse_10(self, *_: object) -> None:
        raise tarfile.ReadError("sparse file")


def _tar_entries(archive: Path, bounds: _Bounds) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(archive, "r:*", tarinfo=_TarInfo) as tarred:
        while (member := tarred.next()) is not None:
            # tarfile keeps every member it has seen; nothing here asks for them again
            tarred.members.clear()  # type: ignore[attr-defined]
            bounds.count_file()
            name = bounds.checked(member.name)
            if not (member.isreg() or member.isdir()):
                raise bounds.refuse(f"{printable(member.name)!r} is a link or device")
            try:
                tarfile.data_filter(member, os.fspath(archive.parent))
            except tarfile.FilterError as error:
                raise bounds.refuse(printable(error)) from None
            content = tarred.extractfile(member) if member.isreg() else None
            if content is None:
                continue
            if name is None:
                while bounds.read(content):  # skipped, but decompressed all the same
                    pass
            else:
                yield name, content
        # on to the last byte: only there is the compressor's checksum compared
        while tarred.fileobj is not None and bounds.read(tarred.fileobj):
            pass


def _unpack_7z(archive: Path, folder: Path, bounds: _Bounds) -> None:
    """A 7z archive pushes its files instead of being read: the bounds sit in the files it is given."""
    import py7zr
    import py7zr.exceptions
    import py7zr.io

    class BoundedFile(py7zr.io.Py7zIO):  # type: ignore[misc]
        def __init__(self, file: IO[bytes] | None) -> None:
            self.file = file  # None for a file to skip

        def write(self, s: bytes | bytearray) -> int:
            bounds.count_bytes(len(s))
            return self.file.write(s) if self.file is not None else len(s)

        def read(self, size: int | None = None) -> bytes:
            return b""

        def seek(self, offset: int, whence: int = 0) -> int:
            return 0

        def flush(self) -> None:
            pass

        def size(self) -> int:
            return 0

        def close(self) -> None:
            if self.file is not None:
                self.file.close()

    class Files(py7zr.io.WriterFactory):  # type: ignore[misc]
        def create(self, filename: str) -> BoundedFile:
            name = bounds.checked(filename)
            if name is None:
                return BoundedFile(None)
            return BoundedFile(opened.enter_context(_create(folder, name, bounds)))

    try:
        # py7zr unpacks in parallel threads only when it opens the file itself
        with (
            contextlib.ExitStack() as opened,
            archive.open("rb") as packed,
            py7zr.SevenZipFile(packed) as sevenzip,
        ):
            names = []
            for member in sevenzip.files:
                bounds.count_file()
                if bounds.checked(member.filename) is not None:
                    names.append(member.filename)
                odd = member.st_fmt not in (None, 0, stat.S_IFREG, stat.S_IFDIR)
                if odd or member.is_symlink or member.is_junction:
                    raise bounds.refuse(f"{printable(member.filename)!r} is a link or device")
            if len(set(names)) < len(names):
                raise bounds.refuse("a file is there twice")
            sevenzip.extractall(factory=Files())  # noqa: S202 names were checked, files are ours
    except UsageError:
        raise
    except (py7zr.exceptions.ArchiveError, py7zr.exceptions.PasswordRequired, *_DAMAGED) as error:
        raise bounds.refuse(f"damaged ({printable(error) or type(error).__name__})") from None
