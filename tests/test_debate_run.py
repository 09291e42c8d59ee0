"""`eval.run --method s2mad`, whole, over a loopback server whose replies depend on the prompt."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from corpora.catalog import load
from eval.run import main
from tests.debate_script import write_debates
from tests.made_up import ROOT, asked, rows, stub_process

SCRIPT = ("--script", "tests.debate_script:reply")
REAL = [
    ("pheme", "rumor/non-rumor"),
    ("aclr:covid19-standin", "rumor/non-rumor"),
    ("aclr:weibo-covid19-standin", "rumor/non-rumor"),
    ("semeval8", "false/true"),
]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    return f"jsonl:{write_debates(tmp_path / 'debates.jsonl', longest=40)}"


def command(url: str, dataset: str, *more: str) -> list[str]:
    start = ["--method", "s2mad", "--model", "openai:x", "--base-url", url]
    return [*start, "--dataset", dataset, "--seeds", "1", *more]


def debates() -> dict[str, dict[str, Any]]:
    """Thread -> its prediction, the transcript read."""
    found = rows("SELECT * FROM predictions WHERE debate IS NOT NULL")
    return {row["thread_id"]: {**row, "debate": json.loads(row["debate"])} for row in found}


def test_every_branch_is_taken_and_stored() -> None:
    corpus = f"jsonl:{write_debates(Path('debates.jsonl'), longest=500)}"
    with stub_process([], *SCRIPT) as url:
        assert main(command(url, corpus)) == 0
    found = debates()
    speakers = [[turn["speaker"] for turn in row["debate"]["turns"]] for row in found.values()]
    outcomes = Counter(row["outcome"] for row in found.values())
    assert outcomes["verdict"] > 5
    assert outcomes["abstained"] > 1, "both mumble, or the judge is silent"
    assert all(row["reason"] and row["label"] is None for row in found.values() if row["outcome"] == "abstained")
    assert {"judge" in said for said in speakers} == {True, False}
    assert {0, 1} <= {bool(row["debate"]["p"]) + bool(row["debate"]["n"]) for row in found.values()}
    assert {row["n_posts"] for row in found.values()} >= {1, 500}
    assert any(sum(row["debate"]["flips"].values()) for row in found.values())
    assert any(turn["calls"] == 2 for row in found.values() for turn in row["debate"]["turns"])
    assert any(None in row["debate"]["scores"].values() for row in found.values())
    assert {row["debate"]["subjective"] for row in found.values()} >= {True, False}
    gold = [row["debate"]["gold"] for row in found.values()]
    assert {stance for each in gold for stance in each.values()} == {"S", "D"}
    calls = rows("SELECT * FROM calls")
    assert {row["role"] for row in calls} == {"scorer", "subjectivity", "debater_p", "debater_n", "judge"}
    assert {json.loads(row["parameters"])["temperature"] for row in calls} == {0.2}
    for row in found.values():
        used = [call for call in calls if call["thread_id"] == row["thread_id"]]
        assert len(used) == row["debate"]["calls"]


def test_a_killed_run_goes_on_and_asks_nothing_twice(corpus: str) -> None:
    with stub_process([], *SCRIPT) as url:
        start = [sys.executable, "-m", "eval.run", *command(url, corpus)]
        process = subprocess.Popen(start, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.DEVNULL)
        while asked(url)["count"] < 150 and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert main(command(url, corpus)) == 0
        counted = asked(url)
        under_way = counted["count"] - len(rows("SELECT key FROM calls WHERE NOT cached"))
    assert under_way <= 32, "only what was under way when it was killed may be asked again"
    (run,) = rows("SELECT * FROM runs")
    assert run["status"] == "finished"
    assert len(debates()) == run["n_threads"]


def test_scores_are_not_asked_again_for_longer_prefixes(corpus: str) -> None:
    with stub_process([], *SCRIPT) as url:
        assert main(command(url, corpus, "--when", "posts:3,6,all", "--limit", "10", "--rounds", "0")) == 0
    scored = rows("SELECT cached, count(*) AS n FROM calls WHERE role = 'scorer' GROUP BY cached")
    counts = {row["cached"]: row["n"] for row in scored}
    assert counts[True] > 0
    assert {row["checkpoint"] for row in rows("SELECT * FROM predictions")} == {
        "posts:3",
        "posts:6",
        "posts:all",
    }


def test_roles_may_have_models_of_their_own(corpus: str) -> None:
    with stub_process([], *SCRIPT) as url:
        models = ["--scorer-model", "openai:small", "--judge-model", "openai:wise"]
        assert main(command(url, corpus, *models)) == 0
    by_role = {row["role"]: row["model"] for row in rows("SELECT DISTINCT role, model FROM calls")}
    assert by_role["scorer"] == "openai:small"
    assert by_role["judge"] == "openai:wise"
    assert by_role["debater_p"] == by_role["subjectivity"] == "openai:x"


def test_a_dry_run_bounds_the_calls_and_asks_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    corpus = f"jsonl:{write_debates(Path('debates.jsonl'), longest=500)}"
    with stub_process([], *SCRIPT) as url:
        assert main(command(url, corpus, "--dry-run")) == 0
        assert asked(url)["count"] == 0
        expected = int(capsys.readouterr().out.split("new calls ")[1].split()[0].replace(",", ""))
        assert main(command(url, corpus)) == 0
        # second attempts at replies that cannot be read are not foreseen
        assert 0.9 < asked(url)["count"] / expected < 1.1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--rounds", "6"], "--rounds 6: want 0 to 5"),
        (["--ablate", "judge"], "--ablate judge: want one of stance, debate"),
        (["--k", "0"], "--k 0"),
        (["--how", "direct", "--rounds", "1"], "leave --how or --method out"),
        (["--labels", "veracity"], "veracity"),
    ],
)
def test_mistakes_are_one_line(
    corpus: str, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(command("http://127.0.0.1:9/v1", corpus, *arguments))
    assert caught.value.code == 2
    error = capsys.readouterr().err.strip()
    assert says in error.splitlines()[-1]
    assert "Traceback" not in error


def test_debate_options_without_a_debate_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ["--gate"],
        ["--k", "3", "--how", "direct", "--model", "openai:x"],
        ["--judge-model", "openai:x"],
    ):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
        assert "s2mad" in capsys.readouterr().err


@pytest.mark.skipif(not os.environ.get("HEARSAY_DATA"), reason="set HEARSAY_DATA to test on real corpora")
@pytest.mark.parametrize(("dataset", "labels"), REAL)
def test_real_corpora_are_debated(dataset: str, labels: str) -> None:
    with stub_process([], *SCRIPT) as url:
        assert main(command(url, dataset, "--labels", labels, "--limit", "12")) == 0
    found = debates()
    assert len(found) == 12
    posts = {thread.id: {post.id for post in thread.posts} for thread in load(dataset, environ=os.environ).threads}
    for row in found.values():
        known = posts[row["thread_id"]]
        assert set(row["debate"]["scores"]) < known
        assert {post for turn in row["debate"]["turns"] for post in turn["cites"]} <= known
    assert any(row["outcome"] == "verdict" for row in found.values())
    (run,) = rows("SELECT * FROM runs")
    assert (run["split"], run["when"], run["how"]) == ("all", "all-posts", "s2mad")
