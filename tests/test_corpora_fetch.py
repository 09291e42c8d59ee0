"""Downloads, against a server on loopback that cuts, changes, refuses and redirects."""

import contextlib
import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from corpora.errors import UsageError
from corpora.fetch import fetch

BODY = bytes(range(256)) * 2000


class Handler(BaseHTTPRequestHandler):
    """Serves `server.body`; cuts the connection after the byte counts in `server.cuts`, one a request."""

    def do_GET(self):
        server = self.server
        server.ranges.append(self.headers.get("Range"))
        if server.status != 200:
            self.send_error(server.status)
            return
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", server.location)
            self.end_headers()
            return
        body, start = server.body, 0
        asked = self.headers.get("Range")
        if asked and self.headers.get("If-Range") == server.etag:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            self.send_response(206)
            sent = start + server.shift
            self.send_header("Content-Range", f"bytes {sent}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        if server.etag:
            self.send_header("ETag", server.etag)
        if server.length:
            self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        stop = server.cuts.pop(0) if server.cuts else len(body)
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body[start:stop])

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.body, server.etag, server.status, server.cuts, server.ranges = BODY, '"v1"', 200, [], []
        server.length, server.location, server.shift = True, "", 0
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def get(server, target, path="/corpus.zip", max_bytes=1 << 20, **options):
    url = f"http://127.0.0.1:{server.server_port}{path}"
    return fetch(url, target, max_bytes=max_bytes, schemes=("http",), **options)


@pytest.fixture
def target(tmp_path):
    return tmp_path / "cache" / "corpus.zip"


def test_a_file_is_fetched_once_with_its_sum_beside_it(server, target):
    seen = []
    assert get(server, target, progress=lambda done, total: seen.append((done, total))) == target
    assert target.read_bytes() == BODY
    assert seen[-1] == (len(BODY), len(BODY))
    stored = target.with_name("corpus.zip.sha256").read_text().strip()
    assert stored == hashlib.sha256(BODY).hexdigest()
    get(server, target)
    assert len(server.ranges) == 1
    assert sorted(path.name for path in target.parent.iterdir()) == ["corpus.zip", "corpus.zip.sha256"]


def test_a_cut_connection_is_taken_up_where_it_broke(server, target):
    server.cuts = [100_000, 300_000]
    get(server, target)
    assert target.read_bytes() == BODY
    assert server.ranges == [None, "bytes=100000-", "bytes=300000-"]


def test_the_next_command_goes_on_where_this_one_gave_up(server, target):
    server.cuts = [100_000] * 4
    with pytest.raises(UsageError, match="100,000 bytes are kept, the same command goes on from there"):
        get(server, target)
    assert not target.exists()
    get(server, target)
    assert target.read_bytes() == BODY
    assert server.ranges[-1] == "bytes=100000-"


def test_a_part_of_other_content_is_not_gone_on_with(server, target):
    server.cuts = [100_000] * 4
    with pytest.raises(UsageError):
        get(server, target)
    server.body, server.etag = BODY[::-1], '"v2"'
    get(server, target)
    assert target.read_bytes() == BODY[::-1]


def test_without_a_strong_validator_it_starts_anew(server, target):
    server.etag, server.cuts = 'W/"v1"', [100_000]
    get(server, target)
    assert target.read_bytes() == BODY
    assert server.ranges == [None, None]


def test_changed_content_is_refused(server, target):
    get(server, target)
    target.unlink()
    server.body = BODY[::-1]
    with pytest.raises(UsageError, match="not what was first fetched"):
        get(server, target)
    assert not target.exists()


def test_a_file_that_was_tampered_with_is_refused(server, target):
    get(server, target)
    target.write_bytes(b"else")
    with pytest.raises(UsageError, match="not what was first fetched"):
        get(server, target)


@pytest.mark.parametrize("length", [True, False])
def test_no_more_than_the_bound_is_written(server, target, length):
    server.length = length
    with pytest.raises(UsageError, match=r"refused to fetch .*100,000"):
        get(server, target, max_bytes=100_000)
    assert sum(path.stat().st_size for path in target.parent.glob("*.part")) <= 100_000


def test_refusals_are_one_line(server, target):
    server.status = 404
    with pytest.raises(UsageError, match="answers 404"):
        get(server, target)
    server.status = 503
    with pytest.raises(UsageError, match="answers 503"):
        get(server, target)
    assert len(server.ranges) == 1 + 4


def test_a_part_longer_than_the_file_is_thrown_away(server, target):
    get(server, target)
    target.rename(target.with_name("corpus.zip.part"))
    target.with_name("corpus.zip.part.etag").write_text(server.etag)
    real, server.status = server.status, 416
    with pytest.raises(UsageError, match="length changes"):
        get(server, target)
    server.status = real
    assert get(server, target).read_bytes() == BODY


def test_only_https_and_no_way_around_it(server, target):
    with pytest.raises(UsageError, match="not https"):
        fetch(f"http://127.0.0.1:{server.server_port}/", target, max_bytes=10)
    with pytest.raises(UsageError, match="not https"):
        fetch("file:///etc/passwd", target, max_bytes=10)
    server.location = "ftp://127.0.0.1/corpus.zip"
    with pytest.raises(UsageError, match="refused a redirect"):
        get(server, target, "/moved")
    server.location = f"http://127.0.0.1:{server.server_port}/corpus.zip"
    assert get(server, target, "/moved").read_bytes() == BODY


def test_another_part_than_was_asked_for_is_not_taken_for_the_file(server, target):
    server.cuts, server.shift = [100_000], 5
    assert get(server, target).read_bytes() == BODY
    assert server.ranges == [None, "bytes=100000-", None]


def test_no_server_is_one_line(target):
    with pytest.raises(UsageError, match="cannot fetch"):
        fetch("http://127.0.0.1:9/", target, max_bytes=10, schemes=("http",))
