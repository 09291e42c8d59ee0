"""The live stream decides as the batch runner does: same policy, same verifier, same posts, same decision."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.call_log import CallLog
from agents.encoder import EMBEDDED, Encoder
from agents.stopping.learned import save
from agents.stopping.steady import NUMBERS
from corpora.__main__ import main as corpora
from corpora.locate import cache_dir
from eval.config import RunConfig
from eval.planning import make_plan
from eval.runner import Tools, jobs, judge
from graphs.watch import main as watch
from tests.watching import decisions

FEW = ["--shots", "20", "--pool", "20"]


def agent(folder: str, dimensions: int, about: dict[str, str]) -> None:
    """A stop policy that nobody trained, of random weights."""
    rng = np.random.default_rng(4)
    shapes = {"hidden1": (16, dimensions), "hidden2": (16, 16), "action": (2, 16)}
    tensors = {f"{name}.weight": rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    tensors |= {f"{name}.bias": np.zeros(shape[0], np.float32) for name, shape in shapes.items()}
    tensors |= {"mean": np.zeros(dimensions, np.float32), "continue": np.zeros(dimensions, np.float32)}
    save(Path(folder), {**tensors, "deviation": np.full(dimensions, 0.5, np.float32)}, {"encoder": EMBEDDED, **about})


def batch(when: str) -> list[dict[str, Any]]:
    """What the runner of eval.run makes of thirty test threads."""
    plan = make_plan(RunConfig(shots=20, pool=20, when=when, limit=30))
    tools = Tools(CallLog(), {}, Encoder(cache=cache_dir(os.environ)))

    async def judged() -> list[dict[str, Any]]:
        found = jobs(plan, tools, plan.folds(0), seed=0)
        return [row for job in found for row in (await judge(plan, job))["predictions"]]

    return asyncio.run(judged())


def test_decisions_are_those_of_the_batch_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    corpora(["export", "sample", "--format", "posts", "--out", "posts.jsonl"])
    agent("eard", 384, {})
    agent("steady", NUMBERS, {"state": "verdicts"})
    settled, tested = set(), None
    for when in ("first-post", "posts:1,3", "confidence:0.55,0.8", "hours:0.05", "eard:eard", "eard:steady"):
        predictions = batch(when)
        if tested is None:
            tested = {row["thread_id"] for row in predictions}
            lines = [
                line for line in Path("posts.jsonl").read_text().splitlines() if json.loads(line)["thread"] in tested
            ]
            Path("posts.jsonl").write_text("\n".join(lines))
        for single in dict.fromkeys(row["checkpoint"] or when for row in predictions):
            out = f"{single.replace(':', '-')}.jsonl"
            assert watch(["posts.jsonl", "--when", single, *FEW, "--stale", "inf", "--out", out]) == 0
            found = decisions(out)
            judged = [row for row in predictions if row["checkpoint"] in (None, single)]
            assert found.keys() == {row["thread_id"] for row in judged}
            for row in judged:
                line, label = found[row["thread_id"]], row["label"]
                assert (line["read"], line["label"]) == (row["stop_index"], label), (single, row["thread_id"])
                assert line["probabilities"][label] == pytest.approx(row["probabilities"][label], abs=1e-4)
            assert any(row["stop_index"] < row["n_posts"] for row in judged)
            settled.add(single)
    assert len(settled) == 8
