"""Threads a second through `eval.run`, whole processes from start to end, beside a bare client loop and inspect_ai."""

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import prompts
from agents.replies import show_posts
from benchmarks.table import EVAL_RUN, Row
from corpora.catalog import load
from tests.made_up import ROOT, RULES, stub_process, write_corpus

POSTS = 16
"""A thread, as in PHEME."""


def timed(command: list[str], folder: Path) -> float:
    """Wall seconds of a whole process."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / "cache")}
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return seconds


def instant_model(folder: Path, threads: int) -> Row:
    """A model that answers at once, in process."""
    corpus = write_corpus(folder / "instant.jsonl", threads, POSTS)
    (folder / "script.json").write_text(json.dumps({"rules": RULES[:1], "default": RULES[1]}))
    command = [*EVAL_RUN, "--dataset", f"jsonl:{corpus}", "--model", "scripted:script.json", "--db", "instant.duckdb"]
    seconds = timed(command, folder)
    return Row("eval.run, a model that answers at once", f"{threads / seconds:,.0f} threads/s", "≥ 300")


def against_peers(folder: Path, threads: int, inspect_samples: int) -> list[Row]:
    """The same prompts to one loopback stub: eval.run, a bare openai loop, inspect_ai, one after the other."""
    corpus = write_corpus(folder / "peers.jsonl", threads, POSTS)
    prompt = prompts.load("direct", "en")
    texts = [show_posts(thread, max_tokens=10**6, count=len) for thread in load(f"jsonl:{corpus}", environ={}).threads]
    messages = [prompt.render(posts=text) for text in texts]
    (folder / "prompts.json").write_text(json.dumps(messages))
    (folder / "few.json").write_text(json.dumps(messages[:inspect_samples]))
    here = str(Path(__file__).parent)
    with stub_process(RULES) as url:
        ours = [*EVAL_RUN, "--dataset", f"jsonl:{corpus}", "--model", "openai:x", "--base-url", url]
        ours += ["--db", "peers.duckdb"]
        own = threads / timed(ours, folder)
        bare = threads / timed([sys.executable, f"{here}/bare_loop.py", "prompts.json", url], folder)
        rows = [
            Row("eval.run on a loopback stub, 32 connections", f"{own:,.0f} threads/s", ""),
            Row("  / bare openai client loop", f"{own / bare:.2f} × ({bare:,.0f} calls/s)", "≥ 0.7"),
        ]
        if importlib.util.find_spec("inspect_ai"):
            inspect = [sys.executable, f"{here}/inspect_task.py", "few.json", url, str(folder / "logs")]
            peer = inspect_samples / timed(inspect, folder)
            rows.append(Row("  / inspect_ai", f"{own / peer:.1f} × ({peer:,.0f} samples/s)", "≥ 5"))
        else:
            rows.append(Row("  / inspect_ai", "not installed (make bench installs it)", "≥ 5"))
    return rows
