"""`eval.ls`, `eval.show` and `eval.compare` as a user runs them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from corpora.errors import UsageError
from corpora.thread import ClaimThread, Post
from eval import compare, ls, show, thread_view
from eval.journal import run_lock
from eval.store import Writer
from tests.test_results import judge

ROOT = Path(__file__).parent.parent


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "hearsay.duckdb"


@pytest.fixture
def corpus(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """A corpus with one invented thread; the list holds what it was asked for."""
    posts = (
        Post("p1", "The old bridge is closed \x1b[2Jsince noon", 0.0, "ada", None),
        Post("p2", "[bold]Who says so?[/bold]", 95.0, "bea", "p1"),
        Post("p3", "The city, an hour ago", 3700.0, "ada", "p2"),
        Post("p4", "Reply to a post that is gone", 90000.0, "cem", "lost"),
    )
    asked: list[dict[str, object]] = []

    def load(name: str, **options: object) -> SimpleNamespace:
        asked.append({"name": name} | options)
        if name == "gone":
            raise UsageError("gone is not here")
        return SimpleNamespace(threads=[ClaimThread("t1", posts)])

    monkeypatch.setattr(thread_view, "load", load)
    return asked


def fails(command: object, *arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as stopped:
        command.main(arguments)  # type: ignore[attr-defined]
    message = capsys.readouterr().err
    assert stopped.value.code == 2 and message.startswith("error: ") and message.count("\n") == 1
    return message


@pytest.mark.parametrize("name", ["ls", "show", "compare"])
def test_help_is_quick_and_has_examples(name: str) -> None:
    before = os.times()
    result = subprocess.run([sys.executable, "-m", f"eval.{name}", "--help"], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0 and "examples:" in result.stdout and f"python -m eval.{name}" in result.stdout
    after = os.times()
    assert after.children_user - before.children_user < 1  # 0.05 s of work; not the clock, which others share
    code = f"import sys, eval.{name}; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True).stdout.split()
    assert not {"numpy", "duckdb", "rich", "scipy", "torch"} & set(modules)


def test_ls(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judge(db, 0, config_id="conf", checkpoints=("posts:1", "posts:all"))
    with Writer(db, {"run_id": "run0", "seed": 0}) as writer:
        rows = [
            {"checkpoint": checkpoint, "name": name, "value": value, "n": 20}
            for checkpoint, value in (("posts:all", 0.75), ("posts:1", 0.625))
            for name in ("macro_f1", "early_rate")
        ]
        writer.replace_metrics(rows)
        writer.finish("finished")
    judge(db, 1, status="")
    judge(db, 0, run_id="other", config_id="elsewhere", dataset="invented \x1b[31mred", status="")
    with run_lock(db, "other"):
        ls.main([])
        text = capsys.readouterr().out
        ls.main(["--json"])
        found = {entry["config_id"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert "\x1b" not in text and "0.625" in text
    assert found["conf"]["status"] == "killed" and found["conf"]["seeds"] == [1, 2]
    assert list(found["conf"]["results"]) == ["posts:1", "posts:all"]
    assert found["elsewhere"]["status"] == "running"
    ls.main(["--dataset", "none"])
    assert "no runs in hearsay.duckdb on none" in capsys.readouterr().out


def test_show_run(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judge(db, 0, prompts={"vanilla.en.md": "ab" * 32}, packages={"duckdb": "2.0.0"}, git_commit="f00d")
    judge(db, 1)
    show.main(["conf"])
    text = capsys.readouterr().out
    for part in (
        "run0 finished",
        "run1 finished",
        "duckdb 2.0.0",
        "abab",
        "f00d",
        "macro-F1",
        "no label in the reply",
    ):
        assert part in text
    threads = text[text.index("why no verdict") :]
    assert threads.index("t19") < threads.index("t0 ")  # wrong in both seeds before wrong in one
    assert len([row for row in threads.splitlines() if row.startswith("t")]) == 20
    show.main(["run1", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["runs"][0]["run_id"] == "run1" and len(found["threads"]) == 20


def test_show_thread(db: Path, corpus: list[dict[str, object]], capsys: pytest.CaptureFixture[str]) -> None:
    config = {"dataset": "aclr:somewhere", "data_dir": "/there", "keep_handles": True}
    judge(db, 0, ("posts:1", "posts:2"), config=config, dataset="somewhere")
    judge(db, 1, ("posts:1", "posts:2"), config=config, dataset="somewhere")
    call = {
        "thread_id": "t0",
        "key": "k",
        "role": "verifier",
        "model": "m",
        "input_tokens": 9,
        "output_tokens": 1,
    }
    asked = {
        "request": [{"role": "user", "content": "Is it a [red]rumor?\x07"}],
        "reply": {"text": "Yes, \x1b[1mit is"},
    }
    with Writer(db, {"run_id": "run0"}) as writer:
        writer.add(calls=[call | asked | {"thread_id": "t0", "cached": False}])
        writer.add(calls=[call | {"thread_id": "t1", "cached": True}])
        writer.add(calls=[call | {"thread_id": "t1", "key": "l", "cached": False, "error": "timed out"}])
    show.main(["conf", "t1"])
    text = capsys.readouterr().out
    assert corpus[0]["name"] == "aclr:somewhere"
    assert corpus[0]["data_dir"] == Path("/there") and corpus[0]["keep_handles"] is True
    assert "\x1b" not in text and "\x07" not in text
    lines = text.splitlines()
    bridge = next(index for index, each in enumerate(lines) if "The old bridge" in each)
    assert "stopped here at posts:1" in lines[bridge + 1] and "stopped here at posts:2" in lines[bridge + 2]
    found = ("The old bridge", "[bold]Who", "The city", "Reply to a post")
    starts = [next(each.index(words) for each in lines if words in each) for words in found]
    assert [start - starts[0] for start in starts] == [0, 2, 4, 2]  # the lost parent counts as the source
    assert "1:35" in text and "1:01:40" in text and "1d 1:00:00" in text
    assert "[bold]Who says so?[/bold]" in text and "Is it a [red]rumor?" in text and "timed out" in text
    # with the request and reply of the call it repeats
    assert "call 1: verifier, m, 9 + 1 tokens, cached" in text
    assert "seed 0 at posts:1" in text and "seed 1 at posts:2" in text


def test_show_thread_without_its_corpus(
    db: Path, corpus: list[dict[str, object]], capsys: pytest.CaptureFixture[str]
) -> None:
    judge(db, 0, config={"dataset": "gone"})
    show.main(["run0", "t19"])
    text = capsys.readouterr().out
    assert "its posts cannot be shown: gone is not here" in text and "abstained: no label in the reply" in text
    judge(db, 1, config={"dataset": "here"}, config_id="second")
    show.main(["run1", "t19"])
    assert "no longer has this thread" in capsys.readouterr().out


def test_compare(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judge(db, 0)
    judge(db, 1)
    judge(db, 1, run_id="other1", config_id="other", when="first-post")
    compare.main(["conf", "other", "--json"])
    (found,) = json.loads(capsys.readouterr().out)
    assert found["seeds"] == 1 and found["n"] == 20 and found["checkpoint"] == "all-posts / first-post"
    assert found["accuracy"] == 0 and found["macro_f1"] == 0 and found["accuracy_p"] == 1
    compare.main(["run0", "run1", "other1", "--json"])
    first, second = json.loads(capsys.readouterr().out)
    assert first["n"] == 20 and first["only_first"] + first["only_second"] > 0
    assert first["macro_f1_low"] < first["macro_f1"] < first["macro_f1_high"]
    assert first["accuracy_p_holm"] >= first["accuracy_p"] and second["first"] == "run0"
    compare.main(["run0", "run1"])
    text = capsys.readouterr().out
    assert "differences to run0" in text and "n = 20" in text and "Holm" in text


def test_compare_leaves_out_seeds_without_a_common_thread(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in (0, 1):
        judge(db, seed)
        judge(db, seed, run_id=f"other{seed}", config_id="other", threads=20 * (1 - seed), status="interrupted")
    compare.main(["conf", "other", "--json"])
    (found,) = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert (found["seeds"], found["n"], found["accuracy"], found["macro_f1"]) == (1, 20, 0, 0)
    assert found["macro_f1_p"] == found["accuracy_p"] == 1


def test_compare_and_the_table_take_the_same_macro_f1(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = {"labels": "veracity", "classes": ["T", "F", "U"], "seeds": 1}
    common = {"outcome": "verdict", "stop_index": 1, "n_posts": 1}
    for name, given in {"first": "TFUTTF", "second": "TFNTFN"}.items():
        run = {"run_id": name, "config_id": name, "seed": 0, "when": "all-posts", "how": "encoder", "config": config}
        with Writer(db, run) as writer:
            pairs = enumerate(zip("TFUTFU", given, strict=True))
            writer.add(predictions=[{"thread_id": f"t{n}", "gold": g, "label": x} | common for n, (g, x) in pairs])
            writer.finish("finished")
    values = []
    for name in ("first", "second"):
        show.main([name, "--json"])
        (result,) = json.loads(capsys.readouterr().out)["results"]
        values.append(result["metrics"]["macro_f1"]["value"])
    compare.main(["first", "second", "--json"])
    (found,) = json.loads(capsys.readouterr().out)
    assert found["macro_f1"] == pytest.approx(values[1] - values[0])


def test_compare_matches_checkpoints_by_what_was_read(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judge(db, 0, ("posts:1", "posts:all"))
    judge(db, 0, run_id="single", config_id="single", when="first-post")
    compare.main(["conf", "single", "--json"])
    assert [each["checkpoint"] for each in json.loads(capsys.readouterr().out)] == ["first-post"]
    judge(db, 0, ("hours:1", "hours:2"), run_id="hours", config_id="hours")
    assert "no checkpoint in common" in fails(compare, "conf", "hours", capsys=capsys)


def test_compare_refuses_what_cannot_be_paired(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judge(db, 0)
    judge(db, 1, config_id="alone")
    judge(db, 0, run_id="empty", config_id="empty", threads=0)
    judge(db, 0, run_id="veracity", config_id="veracity", config={"labels": "veracity"}, threads=0)
    with Writer(db, {"run_id": "far", "config_id": "far", "seed": 0, "when": "all-posts"}) as writer:
        row = {
            "thread_id": "x",
            "gold": "rumor",
            "label": "rumor",
            "outcome": "verdict",
            "stop_index": 1,
            "n_posts": 1,
        }
        writer.add(predictions=[row])
    with Writer(db, {"run_id": "gold", "config_id": "gold", "seed": 0, "when": "all-posts"}) as writer:
        writer.add(predictions=[row | {"thread_id": "t1", "gold": "rumor"}])
    assert "no thread in common" in fails(compare, "run0", "far", capsys=capsys)
    assert "different gold labels" in fails(compare, "run0", "gold", capsys=capsys)
    assert "no checkpoint in common" in fails(compare, "run0", "empty", capsys=capsys)
    assert "different questions" in fails(compare, "run0", "veracity", capsys=capsys)
    assert "at least two" in fails(compare, "run0", capsys=capsys)


def test_one_line_errors(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no database at hearsay.duckdb: eval.run makes one" in fails(ls, capsys=capsys)
    judge(db, 0)
    assert "did you mean run0?" in fails(show, "rum0", capsys=capsys)
    assert "has not judged a thread nope" in fails(show, "run0", "nope", capsys=capsys)
