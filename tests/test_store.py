"""The store: nothing lost, nothing doubled, whoever is killed or holds the file."""

import asyncio
import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from corpora.errors import UsageError
from eval import read, store
from eval.database import Busy, columns, connect
from eval.journal import Journal, StoreError, run_lock, segment_path, segments
from eval.opening import known_keys
from eval.store import Writer, recover

RUN = {"run_id": "r1", "config_id": "c1", "dataset": "invented", "seed": 0, "n_threads": 3}
ROOT = Path(__file__).parent.parent


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "results.duckdb"


def prediction(thread: str, **values: object) -> dict[str, object]:
    return {"thread_id": thread, "gold": "rumor", "label": "rumor", "outcome": "verdict"} | values


def ask(db: Path, query: str, *values: object) -> list[tuple]:
    with connect(db, read_only=True) as connection:
        return connection.execute(query, list(values)).fetchall()


def python(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a Python process on the repository."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_schema_has_the_seven_tables() -> None:
    assert set(columns()) == {"runs", "predictions", "annotations", "steps", "calls", "metrics", "studies"}


def test_rows_arrive_with_their_values(db: Path) -> None:
    created = datetime(2026, 3, 1, 12, tzinfo=UTC)
    call = {"thread_id": "t1", "cached": False}
    with Writer(db, RUN | {"config": {"shots": 50}}) as writer:
        writer.add(
            predictions=[prediction("t1", probabilities={"rumor": 0.75}, stop_index=2, n_posts=4, fold="all")],
            steps=[{"thread_id": "t1", "step": 2, "action": "stop", "stop_probability": 1.0}],
        )
        writer.add(
            calls=[
                call | {"key": "k", "request": [{"role": "user"}], "created": created},
                call | {"key": "l", "reply": {"text": "No"}, "created": created.isoformat()},
            ]
        )
        writer.finish("finished")
    assert segments(db) == {} and sorted(os.listdir(db.parent)) == [db.name]
    run = read.read_run(db, "r1")
    assert run is not None and run["config"] == {"shots": 50} and run["status"] == "finished" and run["finished"]
    with connect(db, read_only=True) as connection:
        (row,) = read.predictions(connection, "r1")
        calls = read.rows(connection, "SELECT * FROM calls ORDER BY key")
    assert row["probabilities"] == {"rumor": 0.75} and row["stop_index"] == 2 and row["calls"] == 2
    assert [call["run_id"] for call in calls] == ["r1", "r1"]
    assert calls[0]["request"] == [{"role": "user"}] and calls[1]["reply"] == {"text": "No"}
    assert calls[0]["created"] == calls[1]["created"] == created.replace(tzinfo=None)


@pytest.mark.parametrize(
    "text",
    [
        "\ud83d half a pair",
        "nul \x00 byte",
        "'; DROP TABLE runs; --",
        '{"lc": 1, "type": "constructor"}',
        "\u2028\r\n",
    ],
)
def test_hostile_text_is_only_text(db: Path, text: str) -> None:
    with Writer(db, RUN) as writer:
        writer.add(
            predictions=[prediction(text, rationale=text, probabilities={text: 1.0})],
            calls=[{"key": "k", "request": [text], "reply": {"text": text}}],
        )
    expected = text.encode("utf-8", "replace").decode()
    assert ask(db, "SELECT thread_id, rationale FROM predictions") == [(expected, expected)]
    with connect(db, read_only=True) as connection:
        (call,) = read.rows(connection, "SELECT * FROM calls")
    assert call["request"] == [expected] and call["reply"] == {"text": expected}


def test_wrong_rows_are_refused_at_once(db: Path) -> None:
    with Writer(db, RUN) as writer:
        with pytest.raises(TypeError, match="no column thread"):
            writer.add(predictions=[{"thread": "t"}])
        with pytest.raises(TypeError, match=r"predictions\.stop_index takes BIGINT, not str"):
            writer.add(predictions=[prediction("t", stop_index="2")])
        with pytest.raises(ValueError, match="JSON"):
            writer.add(predictions=[prediction("t", seconds=float("nan"))])
        with pytest.raises(KeyError):
            writer.add(**{"predictions; DROP TABLE runs": [{}]})
    assert ask(db, "SELECT count(*) FROM predictions") == [(0,)]


def test_finished_threads_and_calls(db: Path) -> None:
    with Writer(db, RUN) as writer:
        writer.add(predictions=[prediction("t1", fold="a")], steps=[{"thread_id": "t1", "step": 1}])
        writer.add(
            predictions=[
                prediction("t2", fold="a", checkpoint="posts:1"),
                prediction("t2", fold="a", checkpoint="posts:5", outcome="failed", label=None),
            ],
            steps=[{"thread_id": "t2", "step": 1}],
        )
        call = {"thread_id": "t1", "key": "k1", "cached": False, "reply": {"text": "Yes"}, "input_tokens": 7}
        cached = {"thread_id": "t2", "key": "k1", "cached": True}
        failed = {"thread_id": "t2", "key": "k2", "cached": False, "error": "no answer"}
        writer.add(calls=[call, cached, failed])
        writer.forget_failed()
        assert read.finished_threads(db, "r1") == {("a", "t1")}
        assert read.finished_threads(db, "another") == set()
        assert read.known_call_keys(db) == {"k1"}
        found = read.fetch_calls(db, ["k1", "k2", "k3"])
        assert list(found) == ["k1"] and found["k1"]["reply"] == {"text": "Yes"} and found["k1"]["input_tokens"] == 7
    assert ask(db, "SELECT thread_id FROM steps") == [("t1",)]


def test_costs_are_the_methods_whatever_was_cached_or_asked_twice(db: Path) -> None:
    with Writer(db, RUN) as writer:
        use = {"thread_id": "t1", "key": "k1", "cached": False, "input_tokens": 10, "output_tokens": 1}
        writer.add(
            calls=[
                use,
                use | {"cached": True},
                use | {"thread_id": "t2", "cached": True, "input_tokens": None},
            ]
        )
        writer.add(calls=[use | {"key": "k2", "error": "timed out", "input_tokens": None}])
        writer.add(predictions=[prediction("t1"), prediction("t2"), prediction("t3")])
    with connect(db, read_only=True) as connection:
        found = [(row["thread_id"], row["calls"], row["tokens"]) for row in read.predictions(connection, "r1")]
    assert found == [("t1", 1, 11), ("t2", 1, 11), ("t3", 0, 0)]


def test_metrics_are_replaced(db: Path) -> None:
    with Writer(db, RUN) as writer:
        writer.replace_metrics([{"name": "accuracy", "value": 0.5, "n": 2}])
        writer.replace_metrics([{"name": "accuracy", "value": 0.75, "low": None, "n": 4, "checkpoint": "posts:1"}])
    assert ask(db, "SELECT run_id, checkpoint, value, n FROM metrics") == [("r1", "posts:1", 0.75, 4)]


def test_names_of_runs(db: Path) -> None:
    for run_id, config_id, seed in (("aa11", "cc77", 0), ("aa22", "cc77", 1), ("bb33", "dd88", 0)):
        with Writer(db, RUN | {"run_id": run_id, "config_id": config_id, "seed": seed}):
            pass
    with connect(db, read_only=True) as connection:
        assert [run["run_id"] for run in read.find_runs(connection, "cc")] == ["aa11", "aa22"]
        assert [run["run_id"] for run in read.find_runs(connection, "aa2")] == ["aa22"]
        for name, message in (
            ("aa", "begins several: aa11, aa22"),
            ("aa23", "did you mean aa22"),
            ("%", "eval.ls"),
        ):
            with pytest.raises(UsageError, match=message):
                read.find_runs(connection, name)


ADDS_FOREVER = """
    import sys
    from pathlib import Path
    from eval import store
    store.INTERVAL = 0.02  # many batches, so that kills fall into every phase of one
    with store.Writer(Path(sys.argv[1]), {"run_id": "r1", "seed": 0}) as writer:
        number = int(sys.argv[2])
        while True:
            rows = [{"thread_id": str(number), "outcome": "verdict", "rationale": "long " * 300}]
            writer.add(predictions=rows, steps=[{"thread_id": str(number), "step": i} for i in range(3)])
            print(number, flush=True)
            number += 1
"""


def test_sigkill_loses_and_doubles_nothing(db: Path) -> None:
    """Every add that returned is there once, with all its rows, wherever the kills fell."""
    rng = random.Random(5)
    next_number, leftovers = 0, 0
    for _ in range(12):
        process = python(ADDS_FOREVER, db, next_number)
        assert process.stdout is not None
        assert process.stdout.readline(), process.communicate()[1]
        time.sleep(rng.uniform(0, 0.25))
        process.send_signal(signal.SIGKILL)
        process.wait()
        printed = process.stdout.read().split()
        leftovers += len(segments(db).get("r1", []))
        recover(db)
        assert segments(db) == {}
        there = [int(thread) for (thread,) in ask(db, "SELECT thread_id FROM predictions")]
        assert len(there) == len(set(there)), "a row is there twice"
        # the kill may fall between the write and the print: one more than was printed may be there
        least = int(printed[-1]) + 1 if printed else next_number + 1
        assert sorted(there) == list(range(len(there))) and least <= len(there) <= least + 1
        assert ask(db, "SELECT DISTINCT count(*) FROM steps GROUP BY thread_id") == [(3,)]
        next_number = len(there)
    assert leftovers, "no kill left a journal: the test tests nothing"


def test_kill_between_commit_and_removal_of_the_segment(db: Path) -> None:
    with Writer(db, RUN) as writer:
        writer.add(predictions=[prediction("t1")])
        (number,) = segments(db)["r1"]
        content = segment_path(db, "r1", number).read_bytes()
        writer.flush()
    segment_path(db, "r1", number).write_bytes(content)  # as if it had not come to its removal
    segment_path(db, "r1", number + 1).write_bytes(b'{"predictions": [{"thread_id": "t2"}]}\n{"predictions": [{"thr')
    with Writer(db, RUN) as writer:
        assert segments(db) == {}
        assert ask(db, "SELECT thread_id FROM predictions") == [("t1",), ("t2",)]
        writer.add(predictions=[prediction("t3")])
    assert ask(db, "SELECT thread_id FROM predictions") == [("t1",), ("t2",), ("t3",)]


def test_damaged_journal_stops_its_own_run_only(db: Path) -> None:
    with Writer(db, RUN):
        pass
    path = segment_path(db, "r1", 9)
    for damage in (b"garbage\n", b'{"predictions": 7}\n', b'{"predictions": [{"stop_index": "x"}]}\n'):
        path.write_bytes(damage)
        with (
            pytest.raises(StoreError, match=r"journal\.9 is damaged; move (it|the file) away"),
            Writer(db, RUN),
        ):
            pass
        with Writer(db, RUN | {"run_id": "r2"}) as writer:
            writer.add(predictions=[prediction("t")])
    path.unlink()
    with Writer(db, RUN):
        pass


def test_one_process_a_run(db: Path) -> None:
    with Writer(db, RUN):
        with (
            pytest.raises(UsageError, match=f"process {os.getpid()} is already working on this run"),
            Writer(db, RUN),
        ):
            pass
        with Writer(db, RUN | {"run_id": "r2"}):
            pass
    with Writer(db, RUN):  # freed
        pass
    with run_lock(db, "r1"), pytest.raises(UsageError, match="already working"), run_lock(db, "r1"):
        pass


def test_a_run_whose_journal_another_command_stores_is_waited_for(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Writer(db, RUN):
        pass
    Journal(db, "r1", 1).append({"predictions": [prediction("t1")]})
    begun, may_end, stored = threading.Event(), threading.Event(), store._store

    def slow(*arguments: Any) -> None:
        begun.set()
        may_end.wait(30)
        stored(*arguments)

    monkeypatch.setattr(store, "_store", slow)
    other = threading.Thread(target=store.recover, args=[db])
    other.start()
    assert begun.wait(30)
    monkeypatch.setattr(store, "_store", stored)
    threading.Timer(0.3, may_end.set).start()
    with Writer(db, RUN):
        pass
    other.join()
    assert ask(db, "SELECT thread_id FROM predictions WHERE run_id = 'r1'") == [("t1",)]


ADDS_SOME = """
    import sys
    from pathlib import Path
    from eval import store
    store.INTERVAL = 0.01
    with store.Writer(Path(sys.argv[1]), {"run_id": sys.argv[2], "seed": 0}) as writer:
        for number in range(3000):
            writer.add(predictions=[{"thread_id": str(number), "outcome": "verdict"}])
        writer.finish("finished")
"""


def test_two_runs_on_one_database_and_a_reader(db: Path) -> None:
    processes = [python(ADDS_SOME, db, run_id) for run_id in ("r1", "r2")]
    reads = 0
    while any(process.poll() is None for process in processes):
        if db.exists():
            try:
                ask(db, "SELECT count(*) FROM runs")
                reads += 1
            except (UsageError, duckdb.CatalogException):
                assert not reads, "the tables were there before"
        time.sleep(0.02)
    assert [(process.returncode, process.communicate()[1]) for process in processes] == [(0, ""), (0, "")]
    assert ask(db, "SELECT run_id, count(DISTINCT thread_id), count(*) FROM predictions GROUP BY 1 ORDER BY 1") == [
        ("r1", 3000, 3000),
        ("r2", 3000, 3000),
    ]
    assert reads


HOLDS = """
    import sys, time, duckdb
    connection = duckdb.connect(sys.argv[1])
    print("held", flush=True)
    time.sleep(60)
"""


def test_held_file_delays_and_loses_nothing(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "INTERVAL", 0.05)
    with Writer(db, RUN) as writer:
        holder = python(HOLDS, db)
        try:
            assert holder.stdout is not None and holder.stdout.readline()
            for number in range(5):
                writer.add(predictions=[prediction(f"t{number}")])
                time.sleep(0.1)  # the writer's thread tries meanwhile, and goes on trying
            with pytest.raises(Busy, match=rf"is held by .*PID {holder.pid}"):
                writer.flush(patience=0.1)
            with pytest.raises(Busy), connect(db, read_only=True, patience=0.1):
                pass
        finally:
            holder.kill()
            holder.communicate()
        writer.flush()
        assert read.finished_threads(db, "r1") == {(None, f"t{number}") for number in range(5)}


def test_flush_leaves_the_event_loop_free(db: Path) -> None:
    async def work() -> None:
        with Writer(db, RUN) as writer:
            writer.add(predictions=[prediction("t1")])
            await asyncio.to_thread(writer.flush)

    asyncio.run(work())
    assert ask(db, "SELECT count(*) FROM predictions") == [(1,)]


def test_an_empty_file_is_no_database(db: Path) -> None:
    db.touch()
    assert read.read_run(db, "r1") is None and known_keys(db, asks=True) == set()
    with pytest.raises(UsageError, match="no database at"), connect(db, read_only=True):
        pass
    with pytest.raises(UsageError, match="is an empty file: remove it"), connect(db):
        pass


def test_no_database(db: Path) -> None:
    assert read.read_run(db, "r1") is None
    recover(db)
    with (
        pytest.raises(UsageError, match=r"no database at .*: eval\.run makes one"),
        connect(db, read_only=True),
    ):
        pass
    assert not db.exists()
    db.write_bytes(b"not a database" * 1000)
    for read_only in (True, False):
        with pytest.raises(UsageError, match="is not a DuckDB database"), connect(db, read_only=read_only):
            pass
    with pytest.raises(UsageError, match="no folder"), Writer(db.parent / "none" / "x.duckdb", RUN):
        pass
    other = db.with_name("other.duckdb")
    duckdb.connect(str(other)).close()
    with (
        connect(other, read_only=True) as connection,
        pytest.raises(UsageError, match="none of Hearsay's tables"),
    ):
        read.find_runs(connection, "x")


FILLS_DISK = """
    import resource, signal, sys
    from pathlib import Path
    from corpora.errors import one_line_errors
    from eval import store
    store.INTERVAL = 0.05
    limit = int(sys.argv[2])
    with one_line_errors(), store.Writer(Path(sys.argv[1]), {"run_id": "r1", "seed": 0}) as writer:
        if limit:  # a file may not grow beyond it, which looks like a full disk to DuckDB and to the journal
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        for number in range(100_000):
            row = {"thread_id": str(number), "rationale": f"{7 ** (number % 997 + 500):x}"}
            writer.add(predictions=[row])
            print(number, flush=True)
"""


def added_before_the_disk_was_full(process: subprocess.Popen[str]) -> int:
    printed, message = process.communicate(timeout=120)
    assert process.returncode == 2, message
    assert message.startswith("error: cannot ") and message.count("\n") == 1, message
    assert "the same command continues" in message
    return int(printed.split()[-1]) + 1


def test_file_limit_loses_nothing(db: Path) -> None:
    added = added_before_the_disk_was_full(python(FILLS_DISK, db, 3_000_000))
    recover(db)
    assert ask(db, "SELECT count(*), count(DISTINCT thread_id) FROM predictions") == [(added, added)]
    assert segments(db) == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk takes root")
def test_full_disk_loses_nothing(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("may not mount here")
    db = disk / "results.duckdb"
    try:
        added = added_before_the_disk_was_full(python(FILLS_DISK, db, 0))
        with pytest.raises(StoreError, match="the same command continues"), Writer(db, RUN) as writer:
            for _ in range(100_000):
                writer.add(predictions=[prediction("more", rationale=os.urandom(500).hex())])
        subprocess.run(["mount", "-o", "remount,size=60m", str(disk)], check=True)
        recover(db)
        assert ask(db, "SELECT count(*), count(DISTINCT thread_id) FROM predictions WHERE thread_id <> 'more'") == [
            (added, added)
        ]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("change", ["ALTER TABLE runs DROP COLUMN flushed", "ALTER TABLE predictions DROP COLUMN fold"])
def test_a_database_of_another_version_is_told(tmp_path, change):
    db = tmp_path / "x.duckdb"
    with Writer(db, {"run_id": "r"}):
        pass
    with duckdb.connect(str(db)) as connection:
        connection.execute(change)
    column = change.split()[-1]
    with pytest.raises(UsageError, match=f"another version.*{column} is missing"), Writer(db, {"run_id": "s"}):
        pass


def test_a_database_from_before_flip_rates_is_read_and_written(db: Path) -> None:
    def as_it_was() -> None:
        with duckdb.connect(str(db)) as connection:
            connection.execute("ALTER TABLE predictions DROP COLUMN flip_rate")

    with Writer(db, RUN) as writer:
        writer.add(predictions=[prediction("old")])
    as_it_was()
    with connect(db, read_only=True) as connection:
        (row,) = read.predictions(connection, "r1")
    assert row["thread_id"] == "old" and "flip_rate" not in row
    # what a killed run of that version left in its journal
    segment_path(db, "r1", 9).write_text('{"predictions": [{"thread_id": "left", "outcome": "verdict"}]}\n')
    recover(db)
    assert ask(db, "SELECT thread_id FROM predictions ORDER BY thread_id") == [("left",), ("old",)]
    as_it_was()
    with Writer(db, RUN) as writer:
        writer.add(predictions=[prediction("new", flip_rate=0.25)])
    found = ask(db, "SELECT thread_id, flip_rate FROM predictions ORDER BY thread_id")
    assert found == [("left", None), ("new", 0.25), ("old", None)]


def test_a_foreign_database_knows_no_calls(tmp_path):
    db = tmp_path / "x.duckdb"
    with duckdb.connect(str(db)) as connection:
        connection.execute("CREATE TABLE runs (a INTEGER)")
    assert read.known_call_keys(db) == set()
    with pytest.raises(UsageError, match="another version"), connect(db, read_only=True) as connection:
        read.find_runs(connection, "x")


def test_an_sqlite_file_is_no_duckdb_database(tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "x.db")) as file:
        file.execute("CREATE TABLE t (a)")
        file.commit()
    with pytest.raises(UsageError, match="is not a DuckDB database"), connect(tmp_path / "x.db"):
        pass
