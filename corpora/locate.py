"""Where corpora lie: below --data-dir, $HEARSAY_DATA or the user's cache; as folder, archive or file."""

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from corpora.clean import printable
from corpora.errors import UsageError
from corpora.unpack import ARCHIVE_SUFFIXES, unpack

FILE_SUFFIXES = (".json", ".jsonl")


def cache_dir(environ: Mapping[str, str]) -> Path:
    """The user's cache: $XDG_CACHE_HOME/hearsay, or ~/.cache/hearsay."""
    base = environ.get("XDG_CACHE_HOME", "")
    # the XDG specification has relative paths ignored
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "hearsay"


def places(data_dir: Path | None, environ: Mapping[str, str]) -> list[Path]:
    """The folders to look in, in order.

    Raises:
        UsageError: --data-dir or $HEARSAY_DATA names a folder that is not there.
    """
    named = {"--data-dir": data_dir, "$HEARSAY_DATA": environ.get("HEARSAY_DATA")}
    chosen = []
    for origin, value in named.items():
        if not value:
            continue
        folder = Path(os.path.expanduser(value))
        if not folder.is_dir():
            raise UsageError(f"{origin} names {printable(value, 300)}, which is not a folder")
        chosen.append(folder)
    return [*chosen, cache_dir(environ)]


def find(names: Iterable[str], folders: Iterable[Path]) -> Path | None:
    """The first folder, archive or JSON file with one of the names, upper and lower case alike.

    Within a place a folder goes before an archive, and an archive before a file.

    Raises:
        UsageError: a place cannot be read.
    """
    wanted = [name.casefold() for name in names]
    for place in folders:
        try:
            entries = {path.name.casefold(): path for path in sorted(place.iterdir(), reverse=True)}
        except FileNotFoundError:  # there need be no cache
            continue
        except OSError as error:
            raise UsageError(f"cannot look into {printable(place, 300)}: {error.strerror}") from None
        for suffix in ("", *ARCHIVE_SUFFIXES, *FILE_SUFFIXES):
            for name in wanted:
                path = entries.get(name + suffix)
                if path is not None and path.is_dir() == (suffix == ""):
                    return path
    return None


def own_name(path: Path) -> str:
    """The name of a folder, archive or file without what says how it is packed."""
    for suffix in (*ARCHIVE_SUFFIXES, *FILE_SUFFIXES, ".txt"):
        if path.name.casefold().endswith(suffix) and not path.is_dir():
            return path.name[: -len(suffix)]
    return path.name


def unpacked(found: Path, environ: Mapping[str, str]) -> Path:
    """The folder or file itself, or the folder that holds an archive's content, unpacked once.

    Raises:
        UsageError: the archive is damaged or hostile, or the cache cannot be written.
    """
    if found.is_dir() or not found.name.casefold().endswith(ARCHIVE_SUFFIXES):
        return found
    try:
        with found.open("rb") as archive:
            content = hashlib.file_digest(archive, "sha256").hexdigest()
        target = cache_dir(environ) / "unpacked" / content
        if target.is_dir():
            return target
        # Unpacked beside its place and then renamed: a folder of that name is always whole, however many
        # processes unpack it at once and whenever they are killed.
        partial = target.with_name(f".{content[:16]}-{secrets.token_hex(4)}")
        partial.mkdir(parents=True)
        try:
            unpack(found, partial)
            partial.rename(target)
        except OSError:
            if not target.is_dir():
                raise
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        raise UsageError(f"cannot unpack {printable(found, 300)}: {error}") from None
    return target
