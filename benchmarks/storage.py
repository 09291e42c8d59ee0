"""The store: rows a second into DuckDB, and how soon a resumed run of many finished threads makes its first call."""

import os
import signal
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from benchmarks.table import EVAL_RUN, Row
from eval.store import Writer
from tests.made_up import ROOT, RULES, asked, stub_process, write_corpus


def rows_per_second(folder: Path, rows: int) -> list[Row]:
    """Predictions through the journal into DuckDB, last flush included; beside DuckDB's own executemany."""
    prediction = {
        "thread_id": "", "fold": "few-shot", "gold": "rumor", "label": "rumor", "outcome": "verdict",
        "probabilities": {"rumor": 0.9, "non-rumor": 0.1}, "stop_index": 16, "n_posts": 16, "seconds": 0.01,
    }  # fmt: skip
    run = {"run_id": "bench", "started": datetime.now(UTC)}
    started = time.perf_counter()
    with Writer(folder / "rows.duckdb", run) as writer:
        for number in range(rows):
            writer.add(predictions=[prediction | {"thread_id": f"t{number}"}])
    own = rows / (time.perf_counter() - started)
    few = rows // 50
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        (stored,) = connection.execute("SELECT count(*) FROM predictions").fetchone() or (0,)
        assert stored == rows
        marks = ", ".join("?" * len(prediction))
        values = [[*prediction.values()] for _ in range(few)]
        for row in values:
            row[5] = '{"rumor": 0.9, "non-rumor": 0.1}'
        started = time.perf_counter()
        connection.executemany(f"INSERT INTO predictions ({', '.join(prediction)}) VALUES ({marks})", values)
    peer = few / (time.perf_counter() - started)
    return [
        Row("rows into DuckDB, each safe from SIGKILL", f"{own:,.0f} rows/s", "≥ 15,000"),
        Row("  / DuckDB's executemany", f"{own / peer:.0f} × ({peer:,.0f} rows/s)", ""),
    ]


def resume(folder: Path, threads: int) -> Row:
    """Time from the start of the command to its first new call, when all threads but a few are finished."""
    corpus = write_corpus(folder / "many.jsonl", threads, 3)
    with stub_process([{**rule, "seconds": 0.001} for rule in RULES]) as url:
        command = [*EVAL_RUN, "--dataset", f"jsonl:{corpus}", "--model", "openai:x", "--base-url", url]
        command += ["--db", "many.duckdb"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / "cache")}
        _finish_all_but(folder, command, environment, url, left=100)
        before = asked(url)["count"]
        started = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while asked(url)["count"] == before and process.poll() is None:
            time.sleep(0.005)
        seconds = time.perf_counter() - started
        process.kill()
        process.wait()
        assert asked(url)["count"] > before, "the command ended without a call"
    return Row(f"first new call when resuming {threads:,} finished threads", f"{seconds:.2f} s", "< 2 s")


def _finish_all_but(folder: Path, command: list[str], environment: dict[str, str], url: str, left: int) -> None:
    """Start the run for its row and first calls, kill it, and write the other threads' results as it would have."""
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while asked(url)["count"] < 50 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    process.wait()
    with duckdb.connect(str(folder / "many.duckdb")) as connection:
        done = "thread_id IN (SELECT thread_id FROM predictions)"
        for table in ("predictions", "steps", "calls"):
            columns = [name for name, *_ in connection.execute(f"DESCRIBE {table}").fetchall()]
            made = {"thread_id": "'t' || n", "key": "md5('a' || n) || md5('b' || n) AS key"}
            values = ", ".join(made.get(name, f'one."{name}"') for name in columns)
            (count,) = connection.execute("SELECT n_threads FROM runs").fetchone() or (0,)
            connection.execute(
                f"INSERT INTO {table} SELECT {values} FROM range({count - left}) AS r(n), "
                f"(SELECT * FROM {table} WHERE {done} LIMIT 1) AS one "
                f"WHERE 't' || n NOT IN (SELECT thread_id FROM {table})"
            )
