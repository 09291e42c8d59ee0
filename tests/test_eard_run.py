"""EARD through the commands a user types: trained, found again, saved elsewhere, resumed, refused."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from agents.stopping.learned import saved
from corpora.catalog import load
from eval.run import main
from graphs.context import Context
from graphs.stop_then_detect import graph, recursion_limit
from tests.made_up import own_cache, rows, stub_process
from training.stopper import main as stopper

ROOT = Path(__file__).parent.parent
SMALL = ["--dataset", "sample", "--shots", "20", "--pool", "20", "--limit", "30", "--seeds", "1"]
QUICK = ["--stopper", "steps=2000"]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents are trained here and not found in the user's cache; vectors still are."""
    own_cache(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def agents() -> list[Path]:
    return sorted(Path("cache/hearsay/stoppers").iterdir())


def test_default_run_trains_stops_and_finds_its_agent_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, *QUICK]) == 0
    printed = capsys.readouterr().out
    assert "when eard, how encoder" in printed
    (agent,) = agents()
    written = (agent / "policy.safetensors").stat().st_mtime_ns
    about = json.loads((agent / "policy.json").read_text())
    assert about["settings"]["steps"] == 2000
    assert about["threads"] == {"shots": 20, "pool": 20}
    steps = rows("SELECT * FROM steps ORDER BY thread_id, step")
    stops = {row["thread_id"]: row["stop_index"] for row in rows("SELECT * FROM predictions")}
    lengths = {thread.id: len(thread.posts) for thread in load("sample", environ={}).threads}
    assert len(stops) == 30
    for step in steps:
        assert 0 <= step["stop_probability"] <= 1
        at_end = step["step"] == lengths[step["thread_id"]]
        assert (step["action"] == "stop") == (step["stop_probability"] >= 0.5 or at_end)
    assert {row["thread_id"]: row["step"] for row in steps if row["action"] == "stop"} == stops
    # judged again: the agent stands
    assert main([*SMALL, *QUICK, "--fresh"]) == 0
    assert agents() == [agent]
    assert (agent / "policy.safetensors").stat().st_mtime_ns == written
    again = rows(
        "SELECT thread_id, stop_index FROM predictions JOIN runs USING (run_id) ORDER BY started DESC LIMIT 30"
    )
    assert {row["thread_id"]: row["stop_index"] for row in again} == stops
    # other settings, another agent
    assert main([*SMALL, *QUICK, "alpha=0.9"]) == 0
    assert len(agents()) == 2
    assert {json.loads(row["config"])["stopper"][-1] for row in rows("SELECT config FROM runs")} == {
        "steps=2000",
        "alpha=0.9",
    }


def test_saved_agent_works_with_any_verifier_and_in_the_graph(tmp_path: Path) -> None:
    assert stopper([*SMALL[:6], "--set", "steps=2000", "--out", "agent"]) == 0
    Path("script.json").write_text(json.dumps({"rules": [], "default": {"reply": "No"}}))
    every = ["--dataset", "sample", "--language", "en", "--split", "all", "--limit", "20", "--seeds", "1"]
    assert main([*every, "--when", "eard:agent", "--how", "direct", "--model", "scripted:script.json"]) == 0
    (run,) = rows('SELECT "when", how FROM runs')
    assert run == {"when": "eard:agent", "how": "direct"}
    predictions = rows("SELECT * FROM predictions ORDER BY thread_id")
    calls = rows("SELECT * FROM calls")
    assert len(calls) == len(predictions) == 20  # one call a thread
    Path("debate.json").write_text(json.dumps({"rules": [], "default": {"reply": "Fake"}}))
    debates = ["--when", "eard:agent", "--how", "s2mad", "--model", "scripted:debate.json", "--db", "debates.duckdb"]
    assert main([*every, *debates]) == 0
    with duckdb.connect("debates.duckdb", read_only=True) as connection:
        found = connection.execute("SELECT stop_index, label FROM predictions ORDER BY thread_id").fetchall()
    assert [stop for stop, _ in found] == [row["stop_index"] for row in predictions]
    assert {label for _, label in found} == {"rumor"}
    threads = {thread.id: thread for thread in load("sample", environ={}).threads}
    for row in predictions[:5]:
        thread = threads[row["thread_id"]]
        posts = [{"id": p.id, "text": p.text, "seconds": p.seconds, "author": p.author} for p in thread.posts]
        output = asyncio.run(
            graph.ainvoke(
                {"posts": posts},
                {"recursion_limit": recursion_limit(len(posts))},
                context=Context(when="eard:agent", how="encoder"),
            )
        )
        assert output["read"] == row["stop_index"]
        kept = rows(f"SELECT step, stop_probability FROM steps WHERE thread_id = '{thread.id}' ORDER BY step")
        assert [step["stop_probability"] for step in output["steps"]] == pytest.approx(
            [step["stop_probability"] for step in kept], abs=1e-6
        )


def test_experts_of_a_chat_model_are_asked_once_through_the_call_log(capsys: pytest.CaptureFixture[str]) -> None:
    rules = {"rules": [{"contains": "\n[3]", "reply": "Yes"}], "default": {"reply": "No"}}
    Path("script.json").write_text(json.dumps(rules))
    arguments = [*SMALL, "--language", "en", *QUICK, "--method", "eard", "--model", "scripted:script.json"]
    assert main([*arguments, "--dry-run"]) == 0
    lengths = {thread.id: len(thread.posts) for thread in load("sample", environ={}).threads}
    promised = capsys.readouterr().out
    assert not Path("cache/hearsay/stoppers").exists()
    assert main(arguments) == 0
    assert "the naive way" in capsys.readouterr().err
    test = {row["thread_id"] for row in rows("SELECT thread_id FROM predictions")}
    asked = rows("SELECT * FROM calls WHERE NOT cached")
    shots = {row["thread_id"] for row in asked} - test
    assert len(shots) == 20
    assert len([row for row in asked if row["thread_id"] in shots]) == sum(lengths[name] for name in shots)
    assert f"new calls {len(asked):,} " in promised
    assert {row["run_id"] for row in asked} == {row["run_id"] for row in rows("SELECT run_id FROM runs")}
    # another agent of the same labels asks for none of them again
    assert main([*arguments[:-4], "alpha=0.9", *arguments[-4:]]) == 0
    new = rows("SELECT * FROM calls WHERE NOT cached AND run_id <> (SELECT run_id FROM runs ORDER BY started LIMIT 1)")
    assert not {row["thread_id"] for row in new} & shots


def test_audits_are_a_floor_and_a_ceiling() -> None:
    for when in ("random:0.5", "oracle", "all-posts"):
        assert main([*SMALL, "--how", "encoder", "--when", when]) == 0
    found = {
        (row["when"], row["name"]): row["value"]
        for row in rows('SELECT "when", name, value FROM metrics JOIN runs USING (run_id)')
    }
    assert found["oracle", "accuracy"] >= max(found["all-posts", "accuracy"], found["random:0.5", "accuracy"])
    assert 0.3 < found["random:0.5", "early_rate"] < 0.7


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--pool", "0"], "leave --pool 0 out"),
        (["--shots", "0"], "learns from labelled threads"),
        (["--stopper", "alhpa=1"], "NAME=VALUE"),
        (["--stopper", "alpha=0.5", "--when", "all-posts"], "--when eard trains"),
        (["--when", "eard:nowhere"], "no stop policy in nowhere"),
        (["--method", "heard", "--how", "direct", "--model", "scripted:x"], "decides by heard"),
        (["--when", "ced", "--split", "all", "--how", "direct", "--model", "scripted:x"], "learns from labelled"),
        (["--db", "nowhere/x.duckdb"], "nowhere"),
    ],
)
def test_mistakes_are_one_line_and_train_nothing(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*SMALL, *arguments])
    assert stop.value.code == 2
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("error: ")
    assert says in last
    assert not Path("cache/hearsay/stoppers").exists()


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_training_goes_on_where_it_was_and_leaves_no_worker_behind(ending: signal.Signals) -> None:
    quick = ["iteration=20", "environments=2", "minibatches=2", "ppo_epochs=1", "disc_epochs=1"]
    arguments = [sys.executable, "-m", "eval.run", *SMALL, "--stopper", "steps=400000", *quick]
    process = subprocess.Popen(
        arguments,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not list(Path("cache").glob("hearsay/stoppers/*/training.safetensors")) and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(ending)
    _, err = process.communicate(timeout=60)
    assert process.returncode == (130 if ending == signal.SIGINT else -signal.SIGKILL)
    if ending == signal.SIGINT:
        assert "the same command continues" in err
    (agent,) = agents()
    assert not saved(agent)
    assert (agent / "training.safetensors").is_file()
    deadline = time.monotonic() + 60
    while _group_lives(process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _group_lives(process.pid)


def _group_lives(group: int) -> bool:
    """Whether a process of the group still runs."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            return True
    return False


def test_steady_variant_runs_and_warns_where_it_has_learned(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--stopper", "steady", "steps=1000"]) == 0
    (agent,) = agents()
    about = json.loads((agent / "policy.json").read_text())
    assert about["state"] == "verdicts"
    assert len(about["threads_seen"]) == 40
    # the verifier is asked after every post, and stops are within the thread
    assert all(1 <= row["stop_index"] <= row["n_posts"] for row in rows("SELECT * FROM predictions"))
    capsys.readouterr()
    assert main([*SMALL, "--when", f"eard:{agent}"]) == 0
    assert "learned from 40 of the 192 threads" in " ".join(capsys.readouterr().err.split())


def test_a_failed_label_leaves_no_agent_behind(capsys: pytest.CaptureFixture[str]) -> None:
    with stub_process([{"contains": "\n[4]", "fault": ["server_error"] * 1000, "reply": "No"}, {"reply": "No"}]) as url:
        arguments = [*SMALL, "--language", "en", *QUICK, "--method", "eard", "--model", "openai:x", "--base-url", url]
        assert main([*arguments, "--max-retries", "0"]) == 1
    assert "could not be labelled" in capsys.readouterr().err
    assert not list(Path("cache").glob("hearsay/stoppers/*/policy.json"))
