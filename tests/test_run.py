"""The main command, whole, as a user types it."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pytest

from eval import runner
from eval.run import main
from tests.made_up import ROOT, RULES, asked, own_cache, rows, stub_process, write_corpus

FAST = ["--shots", "10", "--pool", "0"]
ENDS = ["--when", "posts:1,all"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own_cache(tmp_path, monkeypatch)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    return f"jsonl:{write_corpus(tmp_path / 'made-up.jsonl', 40)}"


@pytest.fixture
def script(tmp_path: Path) -> str:
    content = {"rules": RULES[:1], "default": RULES[1]}
    (tmp_path / "script.json").write_text(json.dumps(content))
    return f"scripted:{tmp_path / 'script.json'}"


def results(db: str = "hearsay.duckdb") -> dict[str, list[dict[str, Any]]]:
    """All that a run computes, without what the clock says."""
    timed = "EXCLUDE (seconds)"
    return {
        "predictions": rows(f"SELECT * {timed} FROM predictions ORDER BY ALL", db),
        "steps": rows("SELECT * FROM steps ORDER BY ALL", db),
        "metrics": rows("SELECT * FROM metrics WHERE name <> 'seconds_per_thread' ORDER BY ALL", db),
    }


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "eval.run", *arguments]


def environment(tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "COLUMNS": "200",
    }


def test_scripted_run_stores_every_step_and_is_right_where_the_last_post_tells(corpus: str, script: str) -> None:
    arguments = [
        "--dataset",
        corpus,
        "--how",
        "direct",
        "--when",
        "posts:1,all",
        "--model",
        script,
        "--seeds",
        "2",
        *FAST,
    ]
    assert main(arguments) == 0
    metrics = {(m["run_id"], m["checkpoint"], m["name"]): m for m in rows("SELECT * FROM metrics")}
    runs = rows("SELECT * FROM runs ORDER BY seed")
    assert [run["status"] for run in runs] == ["finished", "finished"]
    assert len({run["config_id"] for run in runs}) == 1
    for run in runs:
        assert run["n_threads"] == 30
        everything = metrics[run["run_id"], "posts:all", "macro_f1"]
        assert (everything["value"], everything["n"]) == (1.0, 30)
        # the source alone never says "unconfirmed": everything is called non-rumor
        assert metrics[run["run_id"], "posts:1", "accuracy"]["value"] == 0.5
        assert metrics[run["run_id"], "posts:1", "early_rate"]["value"] == 0.25
        steps = rows(f"SELECT * FROM steps WHERE run_id = '{run['run_id']}'")
        assert len(steps) == 30 * 4
        assert {step["step"] for step in steps if step["label"]} == {1, 4}
    config = json.loads(runs[0]["config"])
    assert config["how"] == "direct"
    assert config["labels"] == "rumor/non-rumor"
    assert set(json.loads(runs[0]["prompts"])) == {"direct.en"}
    assert json.loads(runs[0]["packages"])["duckdb"]
    assert json.loads(runs[0]["corpus_counts"])["threads_read"] == 40
    assert runs[0]["corpus_fingerprint"]


def test_the_same_command_again_shows_and_repeats_nothing(
    corpus: str, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [
        "--dataset",
        corpus,
        "--how",
        "direct",
        "--when",
        "all-posts",
        "--model",
        script,
        "--seeds",
        "1",
        *FAST,
    ]
    assert main(arguments) == 0
    first, before = capsys.readouterr().out, results()
    assert main(arguments) == 0
    second = capsys.readouterr()
    assert second.out == first
    assert "finished before" in second.err
    assert results() == before
    # anew: other rows, but every answer is known already
    assert main([*arguments, "--fresh"]) == 0
    assert len(rows("SELECT * FROM runs")) == 2
    assert rows("SELECT count(*) AS n FROM calls WHERE NOT cached") == [{"n": 30}]
    assert rows("SELECT count(*) AS n FROM calls WHERE cached") == [{"n": 30}]


def test_more_seeds_later_keep_the_first(corpus: str, script: str) -> None:
    arguments = ["--dataset", corpus, "--how", "direct", "--when", "all-posts", "--model", script, *FAST]
    assert main([*arguments, "--seeds", "1"]) == 0
    (run,) = rows("SELECT run_id, started FROM runs")
    assert main([*arguments, "--seeds", "3"]) == 0
    later = rows("SELECT run_id, started FROM runs ORDER BY seed")
    assert len(later) == 3
    assert later[0] == run


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--dataset", "pheem"], "did you mean pheme"),
        (["--dataset", "beard"], "--dataset sample"),
        (["--how", "direct"], "--model"),
        (["--how", "dirct"], "did you mean direct"),
        (["--when", "posts:0"], "whole number"),
        (["--method", "eaard"], "--method eaard"),
        (["--labels", "truth"], "--labels truth"),
        (["--seeds", "0"], "--seeds 0"),
        (["--shots", "0"], "--shots"),
        (["--shots", "5000"], "shots"),
        (["--model", "gpt-4o-mini"], "openai:gpt-4o-mini"),
        (["--model", "openai:gpt-4o-mini"], "OPENAI_API_KEY"),
        (["--model", "scripted:nowhere.json"], "nowhere.json"),
        (["--config", "nowhere.toml"], "nowhere.toml"),
        (["--prompts", "nowhere", "--model", "SCRIPT"], "nowhere"),
        (["--fail-on-error", "2"], "--fail-on-error"),
        (["--dataset", "sample", "--labels", "veracity", "--model", "SCRIPT"], "--labels rumor/non-rumor"),
        (["--data-dir", "nowhere", "--dataset", "pheme"], "nowhere"),
        (["--max-cost", "1", "--model", "openai:x", "--base-url", "http://127.0.0.1:9/v1"], "--price"),
        (["--model", "openai:x", "--base-url", "http://127.0.0.1:9/v1"], "cannot connect"),
        (["--db", "nowhere/x.duckdb"], "nowhere"),
        (["--dataset", "sample", "--split", "official"], "official"),
        (["--train-on", "pheme", "--split", "events"], "leave --split events out"),
        (["--sead", "3"], "--sead"),
        (["--seed", "3"], "--seed"),
        (["--seeds", "many"], "--seeds"),
        (["--method", "s2mad", "--model", "SCRIPT", "--debater-model", "encoder"], "--debater-model encoder"),
        (["--method", "s2mad", "--model", "SCRIPT", "--judge-model", "encoder"], "--judge-model encoder"),
        (["--how", "s2mad", "--model", "SCRIPT", "--when", "confidence:0.7"], "and s2mad gives none"),
        (["--how", "self-correction", "--model", "SCRIPT", "--when", "confidence:0.6,0.7"], "gives none"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_users_mistake_is_one_line(
    arguments: list[str],
    says: str,
    script: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("HEARSAY_DATA", raising=False)
    with pytest.raises(SystemExit) as stop:
        main([script if argument == "SCRIPT" else argument for argument in arguments])
    assert stop.value.code == 2
    message = capsys.readouterr().err.strip().splitlines()[-1]
    assert message.startswith("error: ")
    assert says in message


def test_hours_on_a_corpus_without_times_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_corpus(tmp_path / "untimed.jsonl", 40, timed=False)
    with pytest.raises(SystemExit):
        main(["--dataset", f"jsonl:{path}", "--when", "hours:1,6"])
    assert "has no times" in capsys.readouterr().err


def test_config_file_gives_way_to_the_command_line(corpus: str, script: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(f'dataset = "{corpus}"\nmodel = "{script}"\nshots = 10\nseeds = 3\npool = 0\n')
    assert main(["--config", "study.toml", "--seeds", "1", "--limit", "7"]) == 0
    (run,) = rows("SELECT * FROM runs")
    assert (run["how"], run["when"], run["n_threads"]) == ("direct", "all-posts", 7)


@pytest.mark.parametrize("line", ["shotz = 3", "shots = 'many'", "shots = 2.5", "price = [1]", "= 3", "fresh = 1"])
def test_bad_config_lines_are_named(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.toml").write_text(line)
    with pytest.raises(SystemExit) as stop:
        main(["--config", "bad.toml"])
    assert stop.value.code == 2
    assert "bad.toml" in capsys.readouterr().err


def test_dry_run_counts_and_calls_nothing(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    with stub_process(RULES) as url:
        arguments = [
            "--dataset",
            corpus,
            "--model",
            "openai:x",
            "--base-url",
            url,
            "--price",
            "1",
            "2",
            "--seeds",
            "2",
            *FAST,
        ]
        assert main([*arguments, "--dry-run"]) == 0
        printed = capsys.readouterr().out
        assert asked(url)["count"] == 0
        assert main(arguments) == 0
        distinct = asked(url)["distinct"]
        assert f"new calls {distinct} " in printed
        assert "USD" in printed
    assert not Path("hearsay.duckdb.journal").exists()


def test_abstentions_are_counted_and_never_a_label(corpus: str, tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text(
        json.dumps({"rules": RULES[:1], "default": {"reply": "I would rather not say."}})
    )
    assert main(["--dataset", corpus, "--model", "scripted:odd.json", "--seeds", "1", *FAST]) == 0
    outcomes = rows("SELECT outcome, label, count(*) AS n FROM predictions GROUP BY ALL ORDER BY outcome")
    assert outcomes == [
        {"outcome": "abstained", "label": None, "n": 15},
        {"outcome": "verdict", "label": "rumor", "n": 15},
    ]
    values = {m["name"]: m["value"] for m in rows("SELECT name, value FROM metrics")}
    assert (values["abstained"], values["coverage"], values["accuracy"]) == (15, 0.5, 0.5)


def test_faults_of_the_endpoint_are_survived(corpus: str) -> None:
    rules = [
        {"contains": "thread 1:", "fault": ["rate_limit"], "retry_after": 0.2, "reply": "No"},
        {"contains": "thread 3:", "fault": ["server_error", "server_error"], "reply": "No"},
        {"contains": "thread 5:", "fault": ["cut"], "reply": "No"},
        {"contains": "thread 7:", "fault": "empty"},
        {"contains": "thread 9:", "fault": "garbage"},
        {"contains": "thread 11:", "fault": "null_choices"},
        *RULES,
    ]
    with stub_process(rules) as url:
        arguments = [
            "--dataset",
            corpus,
            "--model",
            "openai:x",
            "--base-url",
            url,
            "--split",
            "all",
            "--seeds",
            "1",
        ]
        assert main([*arguments, "--fail-on-error", "0.2"]) == 0
    outcome = {row["thread_id"]: row for row in rows("SELECT * FROM predictions")}
    for retried in ("t1", "t3", "t5"):
        assert outcome[retried]["label"] == "non-rumor"
    assert (outcome["t7"]["outcome"], outcome["t7"]["reason"]) == ("abstained", "empty reply")
    for unreadable in ("t9", "t11"):
        assert outcome[unreadable]["outcome"] == "failed"
        assert outcome[unreadable]["label"] is None
        assert outcome[unreadable]["reason"]
    assert len(outcome) == 40


def test_too_many_failures_stop_the_run_and_the_same_command_tries_them_again(
    corpus: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [
        "--dataset",
        corpus,
        "--model",
        "openai:x",
        "--seeds",
        "1",
        "--max-retries",
        "0",
        "--split",
        "all",
    ]
    with stub_process([{"contains": "thread 1", "fault": "server_error", "times": 3}, *RULES]) as url:
        arguments += ["--base-url", url, "--concurrency", "1"]
        assert main(arguments) == 1
        printed = capsys.readouterr()
        assert "PARTIAL" in printed.out
        assert "--fail-on-error" in printed.err
        assert main(arguments) == 0
    assert rows("SELECT outcome, count(*) AS n FROM predictions GROUP BY 1") == [{"outcome": "verdict", "n": 40}]


def test_a_failure_at_any_checkpoint_counts(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    fails = {"regex": "unconfirmed|town website", "error": "the line is dead"}  # what the last post says
    Path("fails.json").write_text(json.dumps({"rules": [fails], "default": "Yes"}))
    arguments = ["--dataset", corpus, "--how", "direct", "--model", "scripted:fails.json", "--seeds", "1", *ENDS, *FAST]
    assert main([*arguments, "--concurrency", "1"]) == 1
    assert "2 threads failed, more than --fail-on-error allows; the last: the line is dead" in capsys.readouterr().err


def test_fewer_seeds_than_before_are_complete(corpus: str, script: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--dataset", corpus, "--how", "direct", "--when", "all-posts", "--model", script, *FAST]
    assert main([*arguments, "--seeds", "2"]) == 0
    assert main([*arguments, "--seeds", "1"]) == 0
    assert "PARTIAL" not in capsys.readouterr().out


def test_what_continues_a_fresh_run(
    corpus: str, script: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["--dataset", corpus, "--how", "direct", "--when", "all-posts", "--model", script, *FAST]
    arguments += ["--seeds", "1"]
    assert main(arguments) == 0
    judge, judged = runner.judge, []

    async def interrupted(plan: Any, job: Any) -> Any:
        judged.append(job.thread.id)
        if len(judged) == 4:
            raise KeyboardInterrupt
        return await judge(plan, job)

    monkeypatch.setattr(runner, "judge", interrupted)
    assert main([*arguments, "--fresh", "--concurrency", "1"]) == 130
    assert "the same command without --fresh continues" in capsys.readouterr().err
    monkeypatch.setattr(runner, "judge", judge)
    assert main(arguments) == 0
    assert [run["status"] for run in rows("SELECT status FROM runs")] == ["finished", "finished"]


def test_a_password_in_the_address_is_stored_nowhere(corpus: str) -> None:
    with stub_process(RULES) as url:
        secret = url.replace("http://", "http://me:s3cret@")
        assert main(["--dataset", corpus, "--model", "openai:x", "--base-url", secret, "--seeds", "1", *FAST]) == 0
        assert main(["--dataset", corpus, "--model", "openai:x", "--base-url", url, "--seeds", "1", *FAST]) == 0
    assert len(rows("SELECT * FROM runs")) == 1
    for table in ("runs", "calls", "predictions"):
        assert "s3cret" not in str(rows(f"SELECT * FROM {table}"))


def test_wrong_key_ends_the_run_with_one_line(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    with stub_process([{"fault": "unauthorized"}]) as url, pytest.raises(SystemExit) as stop:
        main(["--dataset", corpus, "--model", "openai:x", "--base-url", url, "--seeds", "1", *FAST])
    assert stop.value.code == 2
    assert "401" in capsys.readouterr().err.strip().splitlines()[-1]


def test_budget_is_never_passed(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    with stub_process(RULES) as url:
        arguments = [
            "--dataset",
            corpus,
            "--model",
            "openai:x",
            "--base-url",
            url,
            "--price",
            "1000",
            "1000",
            "--seeds",
            "1",
            *FAST,
        ]
        with pytest.raises(SystemExit):
            main([*arguments, "--max-cost", "2", "--max-tokens", "8"])
        assert "--max-cost reached" in capsys.readouterr().err
        assert 0 < rows("SELECT sum(cost) AS usd FROM calls")[0]["usd"] <= 2


def test_a_budget_already_spent_counts_only_new_calls(corpus: str, script: str) -> None:
    assert main(["--dataset", corpus, "--model", script, "--seeds", "1", "--max-cost", "0.0001", *FAST]) == 0


@pytest.mark.parametrize(("how", "answers"), [("direct", ("Yes", "否")), ("vanilla", ("Fake", "真实"))])
def test_a_server_is_asked_in_the_language_of_the_thread(how: str, answers: tuple[str, str]) -> None:
    english, chinese = answers
    with stub_process([{"contains": "帖子", "reply": chinese}, {"reply": english}]) as url:
        arguments = ["--how", how, "--model", "openai:x", "--base-url", url, "--split", "all", "--seeds", "1"]
        assert main(arguments) == 0
        assert asked(url) == {"count": 192, "distinct": 192}
    assert rows("SELECT label, count(*) AS n FROM predictions GROUP BY 1 ORDER BY 1") == [
        {"label": "non-rumor", "n": 48},
        {"label": "rumor", "n": 144},
    ]
    (run,) = rows("SELECT prompts FROM runs")
    assert set(json.loads(run["prompts"])) == {f"{how}.en", f"{how}.zh"}


@pytest.mark.parametrize("how", ["direct", "vanilla"])
def test_in_process_model_through_the_whole_command(how: str, corpus: str, tmp_path: Path) -> None:
    from tests.tiny_llama import build

    model = build(tmp_path / "llama")
    arguments = [
        "--dataset",
        corpus,
        "--how",
        how,
        "--when",
        "all-posts",
        "--model",
        f"hf:{model}",
        "--seeds",
        "1",
    ]
    assert main([*arguments, "--limit", "6", *FAST]) == 0
    for row in rows("SELECT * FROM predictions"):
        probabilities = json.loads(row["probabilities"])
        assert probabilities.pop("method") == "log-likelihood"
        assert sum(probabilities.values()) == pytest.approx(1)
        assert row["label"] == max(probabilities, key=probabilities.get)


def wait_for_calls(url: str, count: int, process: subprocess.Popen[Any]) -> None:
    """Wait until the stub has had so many calls, or the process has ended."""
    until = time.monotonic() + 300
    while process.poll() is None and asked(url)["count"] < count:
        assert time.monotonic() < until
        time.sleep(0.002)


def kill_at(tmp_path: Path, arguments: list[str], url: str, calls: int) -> int:
    """Start the command, SIGKILL it once the stub has had so many calls more; its exit code."""
    begun = asked(url)["count"]
    process = subprocess.Popen(
        command(*arguments),
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    wait_for_calls(url, begun + calls, process)
    process.kill()
    return process.wait()


def test_sigkill_loses_no_finished_thread_and_repeats_only_calls_in_flight(tmp_path: Path) -> None:
    corpus = f"jsonl:{write_corpus(tmp_path / 'made-up.jsonl', 60)}"
    rules = [{**rule, "seconds": 0.15} for rule in RULES]
    concurrency, kills = 8, [1, 30]
    with stub_process(rules) as url:
        arguments = [
            "--dataset",
            corpus,
            "--model",
            "openai:x",
            "--base-url",
            url,
            "--split",
            "all",
            "--seeds",
            "2",
        ]
        arguments += ["--when", "posts:2,all", "--concurrency", str(concurrency)]
        for calls in kills:
            assert kill_at(tmp_path, arguments, url, calls) == -signal.SIGKILL
        assert main(arguments) == 0
        counted = asked(url)
        assert counted["distinct"] == 120
        assert counted["count"] <= 120 + len(kills) * concurrency
        assert main([*arguments, "--db", "undisturbed.duckdb"]) == 0
    assert results() == results("undisturbed.duckdb")
    assert not list(tmp_path.glob("*.journal.*"))
    assert not list(tmp_path.glob("*.lock"))


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_cleanly_with_a_partial_table(sent: signal.Signals, tmp_path: Path) -> None:
    corpus = f"jsonl:{write_corpus(tmp_path / 'made-up.jsonl', 60)}"
    with stub_process([{**rule, "seconds": 0.3} for rule in RULES]) as url:
        arguments = [
            "--dataset",
            corpus,
            "--model",
            "openai:x",
            "--base-url",
            url,
            "--split",
            "all",
            "--seeds",
            "2",
        ]
        arguments += ["--concurrency", "4"]
        process = subprocess.Popen(
            command(*arguments), cwd=tmp_path, env=environment(tmp_path), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),  # as a script's `&` starts it
        )  # fmt: skip
        wait_for_calls(url, 20, process)
        process.send_signal(sent)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 130, err
        assert "PARTIAL" in out
        assert "macro-F1" in out
        assert "Interrupted" in err
        assert "Traceback" not in err
        assert rows("SELECT status FROM runs") == [{"status": "interrupted"}]
        assert main([*arguments, "--concurrency", "40"]) == 0  # the same run, sooner done
        assert len(rows("SELECT run_id FROM runs")) == 2  # one for each seed, none begun anew
        assert asked(url)["count"] <= 60 + 4


def pause_at_work(process: subprocess.Popen[Any], db: Path) -> None:
    """Stop a runner once its run is entered, but not while it holds the database: nobody could read that meanwhile."""
    until = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < until:
        if db.exists():
            process.send_signal(signal.SIGSTOP)
            with suppress(duckdb.Error), duckdb.connect(str(db), read_only=True) as connection:
                if connection.execute("SELECT 1 FROM runs").fetchall():
                    return
            process.send_signal(signal.SIGCONT)
        time.sleep(0.05)
    raise AssertionError(process.communicate())


def test_two_runners_on_one_run_and_on_one_database(tmp_path: Path) -> None:
    corpus = f"jsonl:{write_corpus(tmp_path / 'made-up.jsonl', 40)}"
    with stub_process([{**rule, "seconds": 0.3} for rule in RULES]) as url:
        arguments = ["--dataset", corpus, "--model", "openai:x", "--base-url", url, "--split", "all", "--seeds", "1"]
        arguments += ["--concurrency", "2"]

        def start(*more: str) -> subprocess.Popen[str]:
            return subprocess.Popen(command(*arguments, *more), cwd=tmp_path, env=environment(tmp_path), text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip

        first = start()
        pause_at_work(first, tmp_path / "hearsay.duckdb")  # however long the others take to start, it is still there
        second, third = start("--when", "posts:2"), start()
        _, said = third.communicate(timeout=300)
        first.send_signal(signal.SIGCONT)
        assert third.returncode == 2
        assert f"process {first.pid} is already working on this run" in said
        for process in (first, second):
            _, err = process.communicate(timeout=300)
            assert process.returncode == 0, err
    assert rows('SELECT "when", count(*) AS n FROM runs JOIN predictions USING (run_id) GROUP BY 1 ORDER BY 1') == [
        {"when": "all-posts", "n": 40},
        {"when": "posts:2", "n": 40},
    ]


def test_a_full_disk_stops_the_run_and_it_goes_on_when_there_is_room(tmp_path: Path) -> None:
    corpus = f"jsonl:{write_corpus(tmp_path / 'made-up.jsonl', 400)}"
    (tmp_path / "script.json").write_text(json.dumps({"rules": RULES[:1], "default": RULES[1]}))
    arguments = ["--dataset", corpus, "--model", "scripted:script.json", "--split", "all", "--seeds", "1"]
    # No file may grow beyond 300 KB: what a full disk looks like to the journal.
    limited = f"""
import resource, signal, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from eval.run import main
sys.exit(main({arguments!r}))
"""
    full = subprocess.run(
        [sys.executable, "-c", limited],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
    )
    assert full.returncode == 2, full.stderr
    last = full.stderr.strip().splitlines()[-1]
    assert last.startswith("error: cannot")
    assert "same command continues" in last
    assert "Traceback" not in full.stderr
    assert main(arguments) == 0
    assert rows("SELECT count(*) AS n, count(DISTINCT thread_id) AS threads FROM predictions") == [
        {"n": 400, "threads": 400}
    ]


@pytest.mark.parametrize(("split", "folds"), [("few-shot", 1), ("events", 3), ("all", 1)])
def test_splits(split: str, folds: int, corpus: str, script: str) -> None:
    assert main(["--dataset", corpus, "--model", script, "--split", split, "--seeds", "1", *FAST]) == 0
    (row,) = rows("SELECT count(DISTINCT fold) AS folds, count(DISTINCT thread_id) AS threads FROM predictions")
    assert row == {"folds": folds, "threads": 30 if split == "few-shot" else 40}


def test_train_on_another_corpus_without_what_both_have(
    corpus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_corpus(tmp_path / "other.jsonl", 60)
    arguments = ["--dataset", corpus, "--train-on", "jsonl:other.jsonl", *ENDS, "--seeds", "1", *FAST]
    assert main(arguments) == 0
    assert "40 of 40 test threads are in jsonl:other.jsonl too" in capsys.readouterr().err
    assert main([*arguments, "--exclude-overlap", corpus]) == 0
    assert "too, where" not in capsys.readouterr().err
    leaking, clean = rows("SELECT * FROM runs ORDER BY started")
    assert {(run["split"], run["n_threads"]) for run in (leaking, clean)} == {("cross-corpus", 40)}
    assert json.loads(leaking["corpus_counts"])["test_threads_also_in_training_corpus"] == 40
    assert json.loads(clean["corpus_counts"])["training_threads_also_in_made-up_left_out"] == 40
    # without another corpus to learn from, the tested one itself is freed of the overlap
    write_corpus(tmp_path / "few.jsonl", 10)
    assert main(["--dataset", corpus, "--exclude-overlap", "jsonl:few.jsonl", *ENDS, "--seeds", "1", *FAST]) == 0
    assert rows("SELECT n_threads FROM runs ORDER BY started")[-1] == {"n_threads": 20}


def test_no_verdict_is_of_a_class_that_is_not_tested(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, classes in (("tested", "TF"), ("learned", "TFN")):
        with (tmp_path / f"{name}.jsonl").open("w") as file:
            for number in range(20):
                text = f"{name} says that number {number} is a bridge"
                thread = {"id": f"{name}{number}", "veracity": classes[number % len(classes)]}
                thread["posts"] = [{"id": f"{name}p{number}", "text": text}]
                file.write(json.dumps(thread) + "\n")
    arguments = ["--dataset", "jsonl:tested.jsonl", "--labels", "veracity", "--when", "all-posts", *FAST]
    arguments += ["--seeds", "1"]
    for more in ([], ["--train-on", "jsonl:learned.jsonl"]):
        assert main([*arguments, *more]) == 0
        assert ("shots that are N are left out" in capsys.readouterr().err) == bool(more)
    assert {row["label"] for row in rows("SELECT label FROM predictions")} <= {"T", "F"}


def test_encoder_learns_from_the_shots(corpus: str) -> None:
    assert main(["--dataset", corpus, *ENDS, "--seeds", "1", *FAST]) == 0
    values = {(m["checkpoint"], m["name"]): m["value"] for m in rows("SELECT * FROM metrics")}
    assert values["posts:all", "macro_f1"] == 1.0
    assert values["posts:1", "macro_f1"] < 0.9


def test_a_variant_is_named_as_such_wherever_its_results_are(
    tmp_path: Path, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from eval.ls import main as ls

    folder = tmp_path / "data" / "twitter-covid19"
    folder.mkdir(parents=True)
    lines, labels = [], []
    for number in range(30):
        lines.append(f"{number}\tNone\t1\t0.0\tclaim number {number}")
        lines.append(f"{number}\t1\t2\t3.5\tthis is {'unconfirmed' if number % 2 else 'known'}")
        labels.append(f"{number}\t{number % 2}")
    (folder / "x_data.txt").write_text("\n".join(lines) + "\n")
    (folder / "x_label.txt").write_text("\n".join(labels) + "\n")
    arguments = ["--dataset", "twitter-covid19", "--data-dir", "data", "--method", "vanilla", "--model", script]
    assert main([*arguments, "--seeds", "1"]) == 0
    printed = capsys.readouterr().out
    assert "twitter-covid19 (a sample or variant)" in printed
    assert "GPT-3.5" not in printed
    ls([])
    assert "sample or variant" in " ".join(capsys.readouterr().out.split())


needs_data = pytest.mark.skipif(not os.environ.get("HEARSAY_DATA"), reason="HEARSAY_DATA is not set")


@needs_data
@pytest.mark.parametrize(
    ("dataset", "name", "threads"),
    [
        ("aclr:covid19-standin", "covid19-standin", 251),
        ("aclr:weibo-covid19-standin", "weibo-covid19-standin", 399),
    ],
)
def test_stand_ins_run_under_their_own_name(dataset: str, name: str, threads: int, script: str) -> None:
    assert main(["--dataset", dataset, "--model", script, "--how", "vanilla", "--split", "all", "--seeds", "1"]) == 0
    (run,) = rows("SELECT dataset, n_threads FROM runs")
    assert run == {"dataset": name, "n_threads": threads}


def test_a_second_ctrl_c_or_one_while_libraries_load_is_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(config: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("eval.session.run", interrupted)
    with pytest.raises(SystemExit) as ended:
        main(["--how", "encoder", "--when", "all-posts"])
    assert ended.value.code == 130
