"""`python -m corpora`: what it prints, and how it exits."""

import json
import os
import subprocess
import sys
import zipfile

import pytest

from corpora.__main__ import main
from corpora.catalog import CORPORA, FORMATS, load
from corpora.labels import LABEL_SETS

THREADS = [
    {
        "id": f"t{i}",
        "event": "flood\x1b[31m[bold]",
        "rumor": "rumor" if i else "non-rumor",
        "partition": "train",
        "posts": [
            {
                "id": "s",
                "seconds": 0,
                "author": "ann",
                "text": f"bridge number {i} has fallen @bo",
                "stance": "S",
            },
            {"id": "r", "parent": "s", "seconds": 9, "author": "bo", "text": "no\x1b]0;x\x07", "stance": "D"},
            {"id": "e", "parent": "s", "seconds": 9, "text": " "},
        ],
    }
    for i in range(3)
]


@pytest.fixture
def data(tmp_path, monkeypatch):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "own.jsonl").write_text("".join(json.dumps(thread) + "\n" for thread in THREADS))
    monkeypatch.setenv("HEARSAY_DATA", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "160")
    return folder


def refused(capsys, *argv):
    with pytest.raises(SystemExit) as caught:
        main(list(argv))
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1
    return error


def test_every_entry_of_the_catalog_is_whole():
    for name, corpus in CORPORA.items():
        assert set(corpus.label_sets) <= set(LABEL_SETS)
        assert name == "sample" or corpus.downloads or corpus.steps, name
        assert name == "sample" or name in corpus.folders
        assert all(download.url.startswith("https://") for download in corpus.downloads)
    assert set(FORMATS) == {"aclr", "eard", "jsonl"}


def test_list_names_every_corpus_and_where_it_is(data, capsys):
    (data / "beard.json").write_text("{}")
    main(["list"])
    out = capsys.readouterr().out
    for name in CORPORA:
        assert name in out
    assert "beard.json" in out and "not here" in out


def test_list_and_check_tell_the_licence(data, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    main(["list"])
    listed = capsys.readouterr().out.splitlines()
    for name, corpus in CORPORA.items():
        (row,) = (place for place, line in enumerate(listed) if line.startswith(f"{name} "))
        assert f"licence: {corpus.licence}" in listed[row + 1]
    main(["check", "sample"])
    assert "licence: CC0\n" in capsys.readouterr().out
    main(["check", "jsonl:own"])
    assert "licence" not in capsys.readouterr().out


def test_check_prints_counts_and_what_was_dropped(data, capsys):
    main(["check", "jsonl:own", "--overlap", "jsonl:own"])
    out = capsys.readouterr().out
    assert "\x1b" not in out and "flood [31m[bold]" in out
    for line in (
        "No published counts to compare with.",
        "posts dropped: no visible text",
        "kept: 3 threads, 6 posts",
        "times in 3 of 3 threads",
        "overlap with own: 3 of 3 threads",
    ):
        assert line in out
    assert load("jsonl:own", environ=os.environ).fingerprint in out


def test_check_says_so_when_counts_differ_and_exits_with_0(data, capsys):
    with zipfile.ZipFile(data / "Beard.zip", "w") as zipped:
        content = {"e": {"label": 1, "seq": {"timeline": [0], "tids": ["1"], "texts": ["a dam broke"]}}}
        zipped.writestr("beard.json", json.dumps(content))
    main(["check", "beard"])
    out = capsys.readouterr().out
    assert "Counts differ from the published ones" in out
    assert "1,198" in out and "-1,197" in out


@pytest.mark.parametrize("layout", ["jsonl", "eard"])
def test_export_is_read_back_as_it_was(data, capsys, layout):
    out = data / f"again.{layout.replace('eard', 'json')}"
    main(["export", "jsonl:own", "--format", layout, "--out", str(out)])
    assert "wrote own to" in capsys.readouterr().err
    before = load("jsonl:own", environ=os.environ)
    # the EARD format has no authors, so that handles would be numbered anew
    after = load(f"{layout}:again", keep_handles=layout == "eard", environ=os.environ)
    assert [t.gold.rumor for t in after.threads] == [t.gold.rumor for t in before.threads]
    assert [[p.text for p in t.posts] for t in after.threads] == [[p.text for p in t.posts] for t in before.threads]
    if layout == "jsonl":
        assert after.fingerprint == before.fingerprint


def test_export_to_the_terminal_is_escaped(data, capsys):
    main(["export", "jsonl:own", "--format", "jsonl"])
    out = capsys.readouterr().out
    assert "\x1b" not in out and json.loads(out.splitlines()[0])["posts"][1]["text"] == "no\x1b]0;x\x07"


def test_keep_handles(data, capsys):
    main(["export", "jsonl:own", "--format", "jsonl", "--keep-handles"])
    assert "fallen @bo" in capsys.readouterr().out
    main(["export", "jsonl:own", "--format", "jsonl"])
    assert "fallen @user2" in capsys.readouterr().out


def test_mistakes_are_one_line_and_exit_with_2(data, capsys):
    assert "did you mean pheme" in refused(capsys, "check", "phemme")
    assert "python -m corpora fetch pheme" in refused(capsys, "check", "pheme")
    assert "jsonl:gone is not here" in refused(capsys, "check", "jsonl:gone")
    assert "not a folder" in refused(capsys, "list", "--data-dir", str(data / "gone"))
    assert "cannot write" in refused(capsys, "export", "jsonl:own", "--format", "eard", "--out", "/gone/x.json")
    assert "did you mean" in refused(capsys, "fetch", "twiter15")
    assert "nothing to fetch" in refused(capsys, "fetch", "jsonl:own")
    (data / "own.jsonl").write_text("\x1b[2J")
    assert "own.jsonl, line 1" in refused(capsys, "check", "jsonl:own")


def write_aclr(folder, rumors, others):
    folder.mkdir()
    ids = [f"t{i}" for i in range(rumors + others)]
    (folder / "covid_data.txt").write_text("".join(f"{i}\tNone\t1\t0\ta dam broke\n" for i in ids))
    (folder / "covid_label.txt").write_text("".join(f"{i}\t{int(n < rumors)}\n" for n, i in enumerate(ids)))


def test_what_lies_under_a_corpus_name_is_not_taken_for_it_by_its_size(data, capsys):
    write_aclr(data / "weibo-covid19", 146, 253)
    write_aclr(data / "twitter-covid19", 148, 252)
    assert not load("weibo-covid19", environ=os.environ).complete
    assert not load("twitter-covid19", environ=os.environ).complete
    main(["check", "weibo-covid19", "twitter-covid19"])
    out = capsys.readouterr().out
    assert "Counts differ from the published ones" in out
    assert "does not tell that it is that corpus" in out


@pytest.mark.parametrize("name", ["PHEME_veracity", "weibo_covid19", "Weibo_COVID19_data", "semeval-2017-task8"])
def test_no_path_passes_for_a_corpus_of_the_catalog(data, name):
    (data / "own.jsonl").rename(data / f"{name}.jsonl")
    assert load(f"jsonl:{name}", environ=os.environ).name == f"jsonl:{name}"


def test_a_symlink_is_reported_as_what_it_points_to(data):
    (data / "better.jsonl").symlink_to("own.jsonl")
    assert load("jsonl:better", environ=os.environ).name == "own"


def test_paths_are_the_users(data, capsys, monkeypatch):
    monkeypatch.setenv("HOME", str(data))
    assert len(load("jsonl:~/own.jsonl", environ=os.environ).threads) == 3
    assert "is not here" in refused(capsys, "check", f"jsonl:{'a' * 400}")
    (data / "folder").mkdir()
    monkeypatch.setattr("corpora.readers.files.os.scandir", _forbidden)
    assert "cannot read" in refused(capsys, "check", f"jsonl:{data / 'folder'}")


def _forbidden(path):
    raise PermissionError(13, "Permission denied", str(path))


def test_an_empty_corpus_is_a_mistake(data, capsys):
    write_aclr(data / "nothing", 0, 0)
    assert "no thread in" in refused(capsys, "check", "aclr:nothing")


def test_what_no_file_can_hold_is_replaced_before_it_is_exported(data, capsys):
    post = {"id": "s\ud800", "text": "x", "author": "a\ud800", "seconds": 0}
    thread = {"id": "t\ud800", "event": "e\ud800", "posts": [post]}
    (data / "odd.jsonl").write_text(json.dumps(thread) + "\n" + json.dumps({**thread, "id": "t\udfff"}))
    before = load("jsonl:odd", environ=os.environ)
    assert before.counts["duplicate_threads"] == 1
    main(["export", "jsonl:odd", "--format", "jsonl", "--out", str(data / "again.jsonl")])
    assert load("jsonl:again", environ=os.environ).fingerprint == before.fingerprint


def test_fetch_prints_the_steps_where_there_is_no_address(data, capsys):
    main(["fetch", "twitter15"])
    assert "rumdetect2017.zip" in capsys.readouterr().out
    main(["fetch", "sample"])
    assert "nothing to fetch" in capsys.readouterr().out


def test_fetch_puts_files_where_they_are_found(data, capsys, monkeypatch):
    def from_nowhere(url, target, *, max_bytes, progress):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("a\tNone\t1\t0\t水坝塌了\n" if "data" in target.name else "a\t1\n")
        progress(1, None)
        return target

    monkeypatch.setattr("corpora.fetch.fetch", from_nowhere)
    main(["fetch", "weibo-covid19"])
    assert "check weibo-covid19" in capsys.readouterr().out
    assert len(load("weibo-covid19", environ=os.environ).threads) == 1


def test_help_has_examples_and_imports_nothing_heavy():
    code = (
        "import sys\nfrom corpora.__main__ import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'rich', 'py7zr', 'torch', 'langgraph'} & set(sys.modules)\nassert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "python -m corpora check pheme --overlap rumoreval-s" in done.stdout


def test_the_sample_is_here_and_complete(monkeypatch):
    monkeypatch.delenv("HEARSAY_DATA", raising=False)
    corpus = load("sample", environ=os.environ)
    assert corpus.complete and corpus.language == "mixed"
    assert set(corpus.counts) == {"threads_read", "posts_read", "threads", "posts"}  # nothing to clean
    assert all(len(t.gold.stances) == len(t.posts) and t.timed for t in corpus.threads)
