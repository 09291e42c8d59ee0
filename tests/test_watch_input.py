"""Where a stream's lines come from and go to: files that grow, are cut or replaced, and lines that are half there."""

import json
import os
from pathlib import Path

import pytest

from corpora.errors import UsageError
from graphs.watching.input import Source
from graphs.watching.output import Output


def everything(source: Source) -> list[tuple[int, bytes]]:
    return [line for _ in range(8) for line in source.read(100)[0]]


def test_a_followed_file_grows_is_cut_and_is_replaced(tmp_path: Path) -> None:
    file, notes = tmp_path / "live", list[str]()
    file.write_bytes(b"one\ntwo\nthr")
    source = Source(str(file), True, notes.append)
    assert everything(source) == [(1, b"one"), (2, b"two")]
    with file.open("ab") as live:
        live.write(b"ee\n")
    assert everything(source) == [(3, b"three")]
    assert source.state()["position"] == 14
    file.write_bytes(b"anew\n")  # cut
    assert everything(source) == [(1, b"anew")]
    (tmp_path / "next").write_bytes(b"other\nand longer\n")
    (tmp_path / "next").replace(file)
    assert everything(source) == [(1, b"other"), (2, b"and longer")]
    assert len(notes) == 2 and "begun anew" in notes[0]
    source.close()


def test_reading_goes_on_where_it_was_left_if_it_is_the_same_file(tmp_path: Path) -> None:
    file, notes = tmp_path / "posts", list[str]()
    file.write_bytes(b"one\ntwo\nthree")
    source = Source(str(file), False, notes.append)
    assert source.read(2) == ([(1, b"one"), (2, b"two")], False)
    state = json.loads(json.dumps(source.state()))
    assert source.read(2) == ([(3, b"three")], True)
    assert source.state()["position"] == 13
    again = Source(str(file), False, notes.append)
    again.restore(state)
    assert everything(again) == [(3, b"three")]
    assert not notes
    file.write_bytes(b"zero\none\n")
    other = Source(str(file), False, notes.append)
    other.restore(state)
    assert everything(other) == [(1, b"zero"), (2, b"one")]
    assert "not the file that was read before" in notes[0]


def test_a_line_without_end_is_not_kept_whole(tmp_path: Path) -> None:
    file = tmp_path / "posts"
    file.write_bytes(b"x" * 5_000_000 + b"\nsmall\n")
    source = Source(str(file), True, print)
    (first, long), (second, small) = everything(source)
    assert (first, second, small) == (1, 2, b"small")
    assert 1 << 20 < len(long) < 3 << 20
    assert source.state()["position"] == 5_000_007


def test_half_a_line_is_cut_off_and_the_rest_read_back(tmp_path: Path) -> None:
    file = tmp_path / "out"
    output = Output(file)
    output.write([{"n": 1}])
    size = output.size
    output.write([{"n": 2}, {"n": "\x1b[31m\u202e"}])
    with pytest.raises(UsageError, match="another watch is writing"):
        Output(file)
    output.close()
    with file.open("ab") as half:
        half.write(b'{"n": 4')
    again = Output(file)
    assert again.since(size) == [{"n": 2}, {"n": "\x1b[31m\u202e"}]
    assert file.read_bytes().endswith(b'\\u202e"}\n')
    assert b"\x1b" not in file.read_bytes()
    with pytest.raises(UsageError, match="shorter than its checkpoint"):
        again.since(10_000)
    again.close()


def test_a_file_replaced_in_the_midst_of_a_line_is_read_from_its_start(tmp_path: Path) -> None:
    file = tmp_path / "live"
    file.write_bytes(b"one\nhal")
    source = Source(str(file), True, print)
    assert everything(source) == [(1, b"one")]
    (tmp_path / "next").write_bytes(b"anew\nmore\n")
    (tmp_path / "next").replace(file)
    assert everything(source) == [(2, b"hal"), (1, b"anew"), (2, b"more")]
    again = Source(str(file), True, pytest.fail)
    again.restore(source.state())
    assert source.state()["position"] == 10 and everything(again) == []


def test_the_last_words_of_a_file_that_is_replaced_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, stat = tmp_path / "live", os.stat
    file.write_bytes(b"one\ntw")
    source, old = Source(str(file), True, print), file.open("ab", buffering=0)

    def replaced_meanwhile(path: str) -> os.stat_result:
        monkeypatch.undo()
        old.write(b"o\nthree\n")
        (tmp_path / "next").write_bytes(b"anew\n")
        (tmp_path / "next").replace(file)
        return stat(path)

    assert everything(source) == [(1, b"one")]
    monkeypatch.setattr("graphs.watching.input.os.stat", replaced_meanwhile)
    assert everything(source) == [(2, b"two"), (3, b"three"), (1, b"anew")]
    old.close()


def test_a_followed_pipe_waits_for_its_next_writer(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    first = os.open(pipe, os.O_RDWR)  # Linux lets it be opened so without a reader
    source = Source(str(pipe), True, print)
    os.write(first, b"one\ntw")
    os.close(first)
    assert everything(source) == [(1, b"one")]
    pipe.open("wb", buffering=0).write(b"o\n")
    assert everything(source) == [(2, b"two")]
