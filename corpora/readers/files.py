"""What the readers share: text, numbers and times out of files that strangers wrote."""

import calendar
import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from corpora.clean import Tally, printable
from corpora.errors import UsageError
from corpora.thread import RumorLabel, Veracity

_MONTHS = {name: number for number, name in enumerate(calendar.month_abbr) if name}
# Larger numbers are no times, and sums of them no numbers.
_LARGEST = 1e100
_TWITTER_TIME = re.compile(r"\w{3} (\w{3}) (\d{2}) (\d{2}):(\d{2}):(\d{2}) ([+-])(\d{2})(\d{2}) (\d{4})")


def decode(raw: bytes, tally: Tally) -> str:
    """Bytes as UTF-8, a byte order mark dropped; what cannot be decoded is replaced and counted."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode(errors="replace")
        tally["undecodable_bytes"] += text.count("\ufffd") - raw.count("\ufffd".encode())
    return text.removeprefix("\ufeff")


def read_text(path: Path, tally: Tally) -> str:
    """A whole file as text.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        return decode(path.read_bytes(), tally)
    except OSError as error:
        raise UsageError(f"cannot read {printable(path, 300)}: {error.strerror}") from None


def walk(root: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Every folder below a root, itself first, with the names of folders and files in it, sorted.

    Hidden ones and `__MACOSX`, which archives made on macOS are full of, are left out. A root that is no folder
    has none.

    Raises:
        UsageError: a folder cannot be read.
    """

    def refuse(error: OSError) -> None:
        raise UsageError(f"cannot read {printable(error.filename, 300)}: {error.strerror}") from None

    for folder, children, files in os.walk(root, onerror=refuse) if root.is_dir() else ():
        children[:] = sorted(name for name in children if name[0] != "." and name != "__MACOSX")
        yield Path(folder), children, sorted(name for name in files if name[0] != ".")


def files_below(root: Path, pattern: str) -> list[Path]:
    """The files below a root whose names match, in order of path.

    Raises:
        UsageError: a folder cannot be read.
    """
    return sorted(folder / name for folder, _, files in walk(root) for name in files if fnmatchcase(name, pattern))


def identifier_of(value: object) -> str:
    """An id, which files hold as text or as a number.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError(f"{type(value).__name__} is no id")
    return str(value)


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of each line that is not blank; of all line ends, only a newline counts."""
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.removesuffix("\r")
        if line.strip():
            yield number, line


def read_json(path: Path, tally: Tally) -> Any:
    """A JSON file's content; None, counted, if it is not JSON."""
    try:
        return json.loads(read_text(path, tally))
    except (ValueError, RecursionError):
        tally["malformed_records"] += 1
        return None


def seconds_of(value: object) -> float | None:
    """A time in seconds: a number, a number as text, an ISO 8601 time, or Twitter's own form.

    Returns:
        Seconds; of a date, since 1970. None if it is no time. A date without a zone is taken as UTC.
    """
    if type(value) is float and -_LARGEST < value < _LARGEST:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    found = _TWITTER_TIME.fullmatch(value) if isinstance(value, str) else None
    try:
        if found:
            month, day, hour, minute, second, sign, zone_hour, zone_minute, year = found.groups()
            moment = calendar.timegm((int(year), _MONTHS[month], int(day), int(hour), int(minute), int(second)))
            offset = int(zone_hour) * 3600 + int(zone_minute) * 60
            return float(moment - offset if sign == "+" else moment + offset)
        number = float(value)
        return number if -_LARGEST < number < _LARGEST else None
    except (ValueError, KeyError, OverflowError):
        pass
    try:
        date = datetime.fromisoformat(str(value).strip())
    except ValueError:
        return None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def rumor_of(veracity: Veracity | None) -> RumorLabel | None:
    """What a veracity says of the binary question: whatever is not N was a rumor, even if true."""
    if veracity is None:
        return None
    return "non-rumor" if veracity == "N" else "rumor"


def nothing_read(path: Path, expected: str) -> UsageError:
    """The error of a reader that found nothing of its format."""
    return UsageError(f"no thread in {printable(path, 300)}: expected {expected}")
