"""Downloads of corpora from stable public addresses: resumable, bounded, and the same each time.

On the first fetch the file's SHA-256 is stored beside it, in FILE.sha256; from then on content with another
sum is refused. A cut download stays as FILE.part and goes on with a Range request for as long as the server
says, by its validator, that the content is still the same.
"""

import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from corpora.clean import printable
from corpora.errors import UsageError

_CHUNK = 1 << 16
_TIMEOUT = 30
_ATTEMPTS = 4
Progress = Callable[[int, int | None], None]
"""Called with the bytes there so far and their total, if known."""


def fetch(
    url: str,
    target: Path,
    *,
    max_bytes: int,
    progress: Progress = lambda done, total: None,
    schemes: tuple[str, ...] = ("https",),
) -> Path:
    """Download a file unless it is there, and check it against the sum stored at the first fetch.

    Args:
        url: The address.
        target: Where the file goes.
        max_bytes: Refuse anything larger.
        progress: Told of every chunk.
        schemes: What the address, and any it redirects to, may begin with.

    Raises:
        UsageError: no connection, a refusal, too large, or other content than at the first fetch.
    """
    stored = target.with_name(f"{target.name}.sha256")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            part = target.with_name(f"{target.name}.part")
            _download(url, part, max_bytes, progress, schemes)
            _verify(part, stored)
            part.replace(target)
            _validator(part).unlink(missing_ok=True)
        _verify(target, stored)
    except OSError as error:
        raise UsageError(f"cannot write {printable(target, 300)}: {error}") from None
    return target


def _verify(path: Path, stored: Path) -> None:
    """Store the sum if there is none yet; refuse the file if it has another."""
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if not stored.exists():
        stored.write_text(f"{actual}\n")
        return
    expected = stored.read_text().strip()
    if actual != expected:
        raise UsageError(
            f"{printable(path, 300)} is not what was first fetched: sha256 {actual}, "
            f"first {printable(expected)}; delete it, and {printable(stored.name)} too if the new content "
            "is wanted"
        )


def _download(url: str, part: Path, max_bytes: int, progress: Progress, schemes: tuple[str, ...]) -> None:
    """Complete the partial file, going on after a cut as often as it helps."""
    opener = urllib.request.build_opener(_SameSchemes(schemes))
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            if urlsplit(url).scheme not in schemes:
                raise UsageError(f"refused to fetch {printable(url, 300)}: not {' or '.join(schemes)}")
            _go_on(opener, url, part, max_bytes, progress)
            return
        except urllib.error.HTTPError as error:
            if error.code == 416:  # the part is longer than the file: not a part of it
                part.unlink(missing_ok=True)
            elif error.code < 500 or attempt == _ATTEMPTS:
                raise UsageError(f"{printable(url, 300)} answers {error.code}; nothing was fetched") from None
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
            if attempt == _ATTEMPTS:
                have = part.stat().st_size if part.exists() else 0
                reason = printable(getattr(error, "reason", None) or error or type(error).__name__)
                raise UsageError(
                    f"cannot fetch {printable(url, 300)}: {reason}; {have:,} bytes are kept, "
                    "the same command goes on from there"
                ) from None
    raise UsageError(f"cannot fetch {printable(url, 300)}: its length changes between requests")


def _go_on(opener: urllib.request.OpenerDirector, url: str, part: Path, max_bytes: int, progress: Progress) -> None:
    """One request for what is missing, appended as it comes."""
    have = part.stat().st_size if part.exists() else 0
    validator = _validator(part).read_text() if have and _validator(part).exists() else ""
    request = urllib.request.Request(url, headers={"User-Agent": "hearsay-corpora"})  # noqa: S310 checked above
    if validator:
        request.add_header("Range", f"bytes={have}-")
        request.add_header("If-Range", validator)
    with opener.open(request, timeout=_TIMEOUT) as reply:
        resumed = reply.status == 206 and reply.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        if reply.status == 206 and not resumed:
            _validator(part).unlink(missing_ok=True)
            raise ConnectionError("another part was sent than the one asked for")
        if not resumed:
            have = 0
            _validator(part).unlink(missing_ok=True)
        total = _length(reply.headers.get("Content-Length"), have)
        if total is not None and total > max_bytes:
            raise UsageError(f"refused to fetch {printable(url, 300)}: {total:,} bytes, at most {max_bytes:,}")
        with part.open("ab" if resumed else "wb") as file:
            fresh = reply.headers.get("ETag") or reply.headers.get("Last-Modified") or ""
            # a weak tag promises equal meaning, not equal bytes
            if fresh and not fresh.startswith("W/"):
                _validator(part).write_text(fresh)
            while chunk := reply.read(_CHUNK):
                have += len(chunk)
                if have > max_bytes:
                    raise UsageError(f"refused to fetch {printable(url, 300)}: more than {max_bytes:,} bytes")
                file.write(chunk)
                progress(have, total)
    if total is not None and have < total:
        raise ConnectionError(f"cut after {have:,} of {total:,} bytes")


def _length(header: str | None, have: int) -> int | None:
    return have + int(header) if header is not None and header.isdecimal() else None


def _validator(part: Path) -> Path:
    """Where the server's name for the content of a partial file is kept."""
    return part.with_name(f"{part.name}.etag")


class _SameSchemes(urllib.request.HTTPRedirectHandler):
    """Redirects only to addresses that would have been allowed in the first place."""

    def __init__(self, schemes: tuple[str, ...]) -> None:
        self.schemes = schemes

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """Refuse another scheme."""
        if urlsplit(newurl).scheme not in self.schemes:
            raise UsageError(f"refused a redirect to {printable(newurl, 300)}: not {' or '.join(self.schemes)}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)
