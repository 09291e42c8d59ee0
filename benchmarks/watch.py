"""The live stream: posts a second over many open threads, beside a LangGraph invocation for every post."""

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from agents.encoder import EMBEDDED, Encoder
from agents.stopping.learned import save
from benchmarks.table import Row
from corpora.catalog import load
from corpora.locate import cache_dir
from tests.made_up import ROOT

DIMENSIONS = 384
POSTS = 10
"""A thread."""
SHOTS = 50


class _Chance(Encoder):
    """Any text's vector is drawn, so that a cache can be filled at once: what is measured never looks at meaning."""

    def _encode(self, texts: list[str]) -> np.ndarray:  # type: ignore[type-arg]
        rng = np.random.default_rng(len(texts))
        vectors = rng.normal(size=(len(texts), DIMENSIONS)).astype(np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)  # type: ignore[no-any-return]


def _agent(folder: Path) -> Path:
    """An agent that goes on reading, so that the threads stay open."""
    rng = np.random.default_rng(0)
    shapes = {"hidden1": (256, DIMENSIONS), "hidden2": (256, 256), "action": (2, 256)}
    tensors = {f"{name}.weight": (rng.normal(size=shape) / shape[1] ** 0.5).astype(np.float32)
               for name, shape in shapes.items()}  # fmt: skip
    tensors |= {f"{name}.bias": np.zeros(shape[0], np.float32) for name, shape in shapes.items()}
    tensors["action.bias"] = np.array([3.2, 0], np.float32)
    tensors |= {"mean": np.zeros(DIMENSIONS, np.float32), "continue": np.zeros(DIMENSIONS, np.float32)}
    tensors["deviation"] = np.full(DIMENSIONS, 0.05, np.float32)
    save(folder, tensors, {"encoder": EMBEDDED})
    return folder


def posts_per_second(folder: Path, threads: int, peer_posts: int) -> list[Row]:
    """`graphs.watch` as a whole process on interleaved threads, all open at once; vectors are in the cache on disk.

    Args:
        folder: For the stream, the cache and the agent.
        threads: How many are open.
        peer_posts: How many of the same posts LangGraph is invoked for.
    """
    agent, stream = _agent(folder / "agent"), folder / "posts.jsonl"
    records = [
        {"thread": f"t{number}", "id": f"{number}-{n}", "time": n * threads + number, "author": f"a{n}",
         "parent": f"{number}-0" if n else None, "text": f"post {n} of thread {number}: the bridge is closed"}
        for n in range(POSTS) for number in range(threads)
    ]  # fmt: skip
    stream.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / "vectors")}
    sample = [post.text for thread in load("sample", environ={}).threads for post in thread.posts]
    _Chance(cache=cache_dir(environment)).warm([*(str(record["text"]) for record in records), *sample])
    command = [sys.executable, "-m", "graphs.watch", str(stream), "--when", f"eard:{agent}", "--stale", "inf"]
    started, before = time.perf_counter(), os.times()
    done = subprocess.run(
        [*command, "--out", str(folder / "out.jsonl")], env=environment, capture_output=True, text=True
    )
    seconds, after = time.perf_counter() - started, os.times()
    if done.returncode:
        raise SystemExit(done.stderr)
    own = len(records) / (after.children_user + after.children_system - before.children_user - before.children_system)
    reads = [json.loads(line)["read"] for line in (folder / "out.jsonl").open()]
    assert len(reads) == threads
    assert sum(reads) > 0.9 * len(records), "the agent is to keep the threads open"
    peer = _invoked(records[-peer_posts:], records, agent, cache_dir(environment))
    what = f"graphs.watch, eard, {threads:,} open threads of {POSTS} posts, vectors cached, start-up included"
    return [
        Row(what, f"{len(records) / seconds:,.0f} posts/s", "≥ 2,000"),
        Row("  … by the processor's time", f"{own:,.0f} posts/s", ""),
        Row(
            "  / a LangGraph invocation a post, by the processor's time",
            f"{own / peer:,.0f} × ({peer:,.0f} posts/s)",
            "",
        ),
    ]


def _invoked(few: list[dict[str, object]], records: list[dict[str, object]], agent: Path, cache: Path) -> float:
    """Posts a processor's second where, with every post, the compiled graph is invoked on its thread so far."""
    from agents.stopping.learned import learned
    from agents.verifiers.encoder import encoder_verifier
    from corpora.labels import LABEL_SETS
    from graphs.context import Method
    from graphs.stop_then_detect import graph, recursion_limit

    encoder = Encoder(cache=cache)
    label_of = LABEL_SETS["rumor/non-rumor"].of
    shots = [thread for thread in load("sample", environ={}).threads if label_of(thread)][:SHOTS]
    method = Method(learned(agent, encoder), encoder_verifier(encoder, shots, [label_of(shot) or "" for shot in shots]))
    by_thread: dict[object, list[dict[str, object]]] = {}
    for record in records:
        by_thread.setdefault(record["thread"], []).append({"id": record["id"], "text": record["text"]})
    encoder.warm(str(post["text"]) for record in few for post in by_thread[record["thread"]])

    async def invoke() -> float:
        started = time.process_time()
        for number, record in enumerate(few):
            posts = by_thread[record["thread"]][: 1 + number % POSTS]
            given = {"id": str(record["thread"]), "posts": posts}
            await graph.ainvoke(given, {"recursion_limit": recursion_limit(len(posts))}, context=method)
        return len(few) / (time.process_time() - started)

    return asyncio.run(invoke())
