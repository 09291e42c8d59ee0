"""Archives: every form is found and read alike, and hostile ones change nothing outside their folder."""

import io
import json
import stat
import tarfile
import zipfile

import py7zr
import pytest

from corpora.catalog import load
from corpora.errors import UsageError
from corpora.locate import cache_dir, find, places, unpacked
from corpora.unpack import read_zip, unpack

THREAD = json.dumps({"id": "t", "posts": [{"id": "s", "text": "a dam broke"}]}).encode()


def make_tar(path, *members, mode="w:xz"):
    """Members are (name, content) or a TarInfo."""
    with tarfile.open(path, mode) as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                tar.addfile(info, io.BytesIO(member[1]))


def make_zip(path, *members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in members:
            zipped.writestr(name, content)


def make_7z(path, *members):
    with py7zr.SevenZipFile(path, "w") as packed:
        for name, content in members:
            packed.writestr(content, name)


MAKERS = {
    ".zip": make_zip,
    ".7z": make_7z,
    ".tar.xz": make_tar,
    ".tar.bz2": lambda path, *members: make_tar(path, *members, mode="w:bz2"),
    ".tar.gz": lambda path, *members: make_tar(path, *members, mode="w:gz"),
    ".tgz": lambda path, *members: make_tar(path, *members, mode="w:gz"),
}


@pytest.fixture
def environ(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    return {"HEARSAY_DATA": str(data), "XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.fixture
def inside(tmp_path):
    folder = tmp_path / "outer" / "inside"
    folder.mkdir(parents=True)
    return folder


def everything_below(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


@pytest.mark.parametrize("suffix", MAKERS)
def test_every_kind_of_archive_is_unpacked_once_and_reads_as_its_folder_does(tmp_path, environ, suffix):
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "threads.jsonl").write_bytes(THREAD)
    members = (
        ("mine/threads.jsonl", THREAD),
        ("__MACOSX/mine/._threads.jsonl", b"\0"),
        ("mine/.DS_Store", b"\0"),
    )
    MAKERS[suffix](tmp_path / "data" / f"Mine{suffix}", *members)
    corpus = load("jsonl:mine", environ=environ)
    assert corpus.name == "Mine"
    assert corpus.fingerprint == load(f"jsonl:{folder}", environ=environ).fingerprint
    (content,) = (cache_dir(environ) / "unpacked").iterdir()
    assert everything_below(content) == ["mine", "mine/threads.jsonl"]
    before = content.stat().st_mtime_ns
    load("jsonl:mine", environ=environ)
    assert list(content.parent.iterdir()) == [content] and content.stat().st_mtime_ns == before


@pytest.mark.parametrize("name", ["../escaped", "a/../../escaped", "/tmp/escaped", "..\\escaped", "C:\\escaped"])
@pytest.mark.parametrize("suffix", [".zip", ".tar.xz"])
def test_no_name_leads_outside(tmp_path, inside, suffix, name):
    archive = tmp_path / f"bad{suffix}"
    MAKERS[suffix](archive, ("fine", b"x"), (name, b"x"))
    with pytest.raises(UsageError, match="leads outside"):
        unpack(archive, inside)
    assert everything_below(tmp_path / "outer") == ["inside", "inside/fine"]


@pytest.mark.parametrize("name", ["../escaped", "/tmp/escaped"])
def test_no_name_in_a_7z_leads_outside(tmp_path, inside, monkeypatch, name):
    archive = tmp_path / "bad.7z"
    make_7z(archive, ("harmless", b"x"))
    # py7zr writes no such name
    monkeypatch.setattr(py7zr.py7zr.ArchiveFile, "filename", property(lambda self: name))
    with pytest.raises(UsageError, match="leads outside"):
        unpack(archive, inside)
    assert everything_below(tmp_path / "outer") == ["inside"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_a_tar_holds_no_links_and_no_devices(tmp_path, inside, kind):
    info = tarfile.TarInfo("innocent")
    info.type, info.linkname = kind, "/etc/passwd"
    make_tar(tmp_path / "bad.tar.gz", info, mode="w:gz")
    with pytest.raises(UsageError, match="link or device"):
        unpack(tmp_path / "bad.tar.gz", inside)
    assert everything_below(inside) == []


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_a_zip_holds_no_links_and_no_devices(tmp_path, inside, kind):
    info = zipfile.ZipInfo("innocent")
    info.external_attr = (kind | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as zipped:
        zipped.writestr(info, "/etc/passwd")
    with pytest.raises(UsageError, match="link or device"):
        unpack(tmp_path / "bad.zip", inside)
    assert everything_below(inside) == []


def test_a_7z_holds_no_links(tmp_path, inside):
    (tmp_path / "link").symlink_to("/etc/passwd")
    with py7zr.SevenZipFile(tmp_path / "bad.7z", "w", dereference=False) as packed:
        packed.write(tmp_path / "link", "link")
    with pytest.raises(UsageError, match="link or device"):
        unpack(tmp_path / "bad.7z", inside)
    assert everything_below(inside) == []


@pytest.mark.parametrize("suffix", [".zip", ".7z", ".tar.xz"])
def test_a_bomb_is_stopped_at_the_bound(tmp_path, inside, suffix):
    archive = tmp_path / f"bomb{suffix}"
    MAKERS[suffix](archive, ("a", bytes(6 << 20)), ("b", bytes(6 << 20)))
    assert archive.stat().st_size < 100_000
    with pytest.raises(UsageError, match="more than 8,388,608 bytes"):
        unpack(archive, inside, max_bytes=8 << 20)
    assert sum(path.stat().st_size for path in inside.rglob("*")) <= 8 << 20


def test_a_zip_that_lies_about_its_size_is_stopped_all_the_same(tmp_path, inside):
    archive = tmp_path / "liar.zip"
    make_zip(archive, ("a", bytes(6 << 20)))
    raw = archive.read_bytes().replace((6 << 20).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    archive.write_bytes(raw)
    with pytest.raises(UsageError, match=r"damaged|bytes"):
        unpack(archive, inside, max_bytes=1 << 20)
    assert sum(path.stat().st_size for path in inside.rglob("*")) <= 1 << 20


def test_a_tar_with_an_oversized_header_is_refused(tmp_path, inside):
    info = tarfile.TarInfo("x")
    info.pax_headers = {"comment": "x" * (2 << 20)}
    make_tar(tmp_path / "bad.tar.gz", info, mode="w:gz")
    with pytest.raises(UsageError, match="oversized header"):
        unpack(tmp_path / "bad.tar.gz", inside)


def test_a_tar_holds_no_sparse_files_whose_maps_have_no_bound(tmp_path, inside):
    info = tarfile.TarInfo("x")
    info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "0"}
    info.size = 512
    with tarfile.open(tmp_path / "bad.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(info, io.BytesIO(b"0\n".ljust(512, b"\0")))
    old = tarfile.TarInfo("x")
    old.type = tarfile.GNUTYPE_SPARSE
    make_tar(tmp_path / "old.tar.gz", old, mode="w:gz")
    for name in ("bad.tar.gz", "old.tar.gz"):
        with pytest.raises(UsageError, match="sparse file"):
            unpack(tmp_path / name, inside)


@pytest.mark.parametrize("suffix", [".zip", ".7z", ".tar.xz"])
def test_too_many_files_are_refused(tmp_path, inside, suffix):
    MAKERS[suffix](tmp_path / f"many{suffix}", *((f"f{i}", b"") for i in range(12)))
    with pytest.raises(UsageError, match="more than 10 files"):
        unpack(tmp_path / f"many{suffix}", inside, max_files=10)
    assert len(everything_below(inside)) <= 10


@pytest.mark.parametrize("members", [("a", "a"), ("a", "a/b")])
@pytest.mark.parametrize("suffix", [".zip", ".tar.xz"])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_nothing_is_written_twice(tmp_path, inside, suffix, members):
    MAKERS[suffix](tmp_path / f"twice{suffix}", *((name, b"x") for name in members))
    with pytest.raises(UsageError, match="there twice"):
        unpack(tmp_path / f"twice{suffix}", inside)


@pytest.mark.parametrize("suffix", MAKERS)
def test_damage_is_one_line(tmp_path, environ, suffix):
    archive = tmp_path / "data" / f"cut{suffix}"
    MAKERS[suffix](archive, ("threads.jsonl", THREAD * 50))
    archive.write_bytes(archive.read_bytes()[:-60] + b"\x00" * 30)
    with pytest.raises(UsageError, match="refused to unpack") as caught:
        load("jsonl:cut", environ=environ)
    assert "\n" not in str(caught.value)
    left = cache_dir(environ) / "unpacked"
    assert not left.exists() or everything_below(left) == []


def test_terminal_codes_in_names_are_not_passed_on(tmp_path, inside):
    make_zip(tmp_path / "bad.zip", ("../\x1b[2J", b"x"))
    with pytest.raises(UsageError) as caught:
        unpack(tmp_path / "bad.zip", inside)
    assert "\x1b" not in str(caught.value)


def test_read_zip_keeps_the_same_rules(tmp_path):
    make_zip(tmp_path / "in.zip", ("a", b"one"), ("__MACOSX/._a", b"twin"), ("d/b", b"two"))
    assert list(read_zip(tmp_path / "in.zip")) == [("a", b"one"), ("d/b", b"two")]
    with pytest.raises(UsageError, match="bytes"):
        list(read_zip(tmp_path / "in.zip", max_bytes=4))


def test_places_in_order_and_folder_before_archive_before_file(tmp_path, environ):
    named, cache = tmp_path / "named", cache_dir(environ)
    for place in (named, cache):
        place.mkdir(parents=True)
    looked_in = places(named, environ)
    assert looked_in == [named, tmp_path / "data", cache]
    steps = [cache / "MINE.json", cache / "Mine.zip", tmp_path / "data" / "mine.tgz", named / "mine"]
    for path in steps:
        path.mkdir() if not path.suffix else path.touch()
        assert find(["mine"], looked_in) == path
    assert find(["other"], looked_in) is None
    with pytest.raises(UsageError, match=r"--data-dir names .* not a folder"):
        places(tmp_path / "gone", environ)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"cannot look into .*Not a directory"):
        find(["mine"], [tmp_path / "file"])
    with pytest.raises(UsageError, match=r"\$HEARSAY_DATA names"):
        places(None, {**environ, "HEARSAY_DATA": "/gone"})


def test_a_missing_corpus_names_the_places_and_the_ways_on(environ):
    with pytest.raises(UsageError) as caught:
        load("beard", environ=environ)
    message = str(caught.value)
    assert "\n" not in message
    for part in (environ["HEARSAY_DATA"], str(cache_dir(environ)), "corpora fetch beard", "--dataset sample"):
        assert part in message
    with pytest.raises(UsageError, match="did you mean beard"):
        load("bread", environ=environ)


def test_two_processes_may_unpack_at_once(tmp_path, environ, monkeypatch):
    archive = tmp_path / "data" / "mine.zip"
    make_zip(archive, ("threads.jsonl", THREAD))

    def and_another_is_faster(source, folder):
        unpack(source, folder)
        monkeypatch.undo()
        unpacked(archive, environ)

    monkeypatch.setattr("corpora.locate.unpack", and_another_is_faster)
    folder = unpacked(archive, environ)
    assert everything_below(folder) == ["threads.jsonl"]
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
