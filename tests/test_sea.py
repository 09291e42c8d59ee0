"""Labels after the stop, for Stabilized Early Accuracy: which are asked for, what is stored and what is shown."""

import asyncio
import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from agents.models import ModelError
from agents.stopping.fixed import AfterPosts
from agents.verdict import Verdict
from corpora.labels import LABEL_SETS
from corpora.splits import Fold
from corpora.thread import ClaimThread, Gold, Post
from eval import read
from eval.database import connect
from eval.results import collect, show
from eval.run import main
from eval.runner import Job, judge
from eval.store import Writer
from graphs.context import Method
from tests.made_up import RULES, write_corpus

Rows = dict[str, list[dict[str, Any]]]


def thread(posts: int) -> ClaimThread:
    said = tuple(Post(f"p{i}", f"post {i}", i * 60.0, "someone", "p0" if i else None) for i in range(posts))
    return ClaimThread("t", said, Gold("rumor"))


class Planned:
    """A verifier with a label for each number of posts: None abstains, "error" cannot be asked."""

    def __init__(self, *labels: str | None) -> None:
        self.labels = labels
        self.asked: list[int] = []

    async def __call__(self, prefix: ClaimThread) -> Verdict:
        self.asked.append(len(prefix.posts))
        assert prefix.gold == Gold()
        label = self.labels[len(prefix.posts) - 1]
        if label == "error":
            raise ModelError("no answer")
        return Verdict(label) if label else Verdict.abstained("no label in the reply")


def judged(verifier: Planned, *stops: int, sea: bool = True) -> Rows:
    plan: Any = SimpleNamespace(config=SimpleNamespace(sea=sea, task=None), label_set=LABEL_SETS["rumor/non-rumor"])
    methods = [(f"posts:{stop}" if len(stops) > 1 else None, Method(AfterPosts(stop), verifier)) for stop in stops]
    whole = thread(len(verifier.labels))
    return asyncio.run(judge(plan, Job(whole, Fold("all", [], [], [whole]), methods)))


def steps(rows: Rows) -> list[tuple[int, str, str | None]]:
    return [(step["step"], step["action"], step["label"]) for step in rows["steps"]]


def test_every_prefix_after_the_stop_is_labelled_once() -> None:
    verifier = Planned("rumor", "non-rumor", "non-rumor", "rumor", "rumor")
    rows = judged(verifier, 2)
    (prediction,) = rows["predictions"]
    assert (prediction["label"], prediction["stop_index"], prediction["flip_rate"]) == ("non-rumor", 2, 1 / 3)
    assert verifier.asked == [2, 3, 4, 5]
    assert steps(rows) == [
        (1, "continue", None),
        (2, "stop", "non-rumor"),
        (3, "after", "non-rumor"),
        (4, "after", "rumor"),
        (5, "after", "rumor"),
    ]
    assert [step["stop_probability"] for step in rows["steps"]] == [0.0, 1.0, None, None, None]


def test_without_the_option_nothing_is_asked_after_the_stop() -> None:
    verifier = Planned("rumor", "non-rumor", "rumor")
    rows = judged(verifier, 2, sea=False)
    assert verifier.asked == [2]
    assert rows["predictions"][0]["flip_rate"] is None
    assert steps(rows) == [(1, "continue", None), (2, "stop", "non-rumor")]


def test_a_stop_at_the_last_post_leaves_nothing_to_ask() -> None:
    verifier = Planned("rumor", "rumor")
    assert judged(verifier, 9)["predictions"][0]["flip_rate"] == 0.0
    assert verifier.asked == [2]


def test_an_abstention_later_is_a_change() -> None:
    rows = judged(Planned("rumor", None, "rumor"), 1)
    assert rows["predictions"][0]["flip_rate"] == 1.0
    assert steps(rows)[1] == (2, "after", None)


def test_checkpoints_share_their_later_labels() -> None:
    verifier = Planned("rumor", "non-rumor", "rumor", "rumor")
    rows = judged(verifier, 1, 3)
    assert [row["flip_rate"] for row in rows["predictions"]] == [2 / 3, 0.0]
    assert verifier.asked == [1, 2, 3, 4, 3]  # the second stop's own verdict, with its words, is asked for anew
    assert steps(rows) == [
        (1, "continue", "rumor"),
        (2, "continue", "non-rumor"),
        (3, "stop", "rumor"),
        (4, "after", "rumor"),
    ]


def test_a_model_that_cannot_be_asked_later_fails_the_thread() -> None:
    rows = judged(Planned("rumor", "rumor", "error", "rumor"), 1)
    (prediction,) = rows["predictions"]
    assert (prediction["outcome"], prediction["reason"], prediction["label"]) == ("failed", "no answer", None)
    assert prediction["flip_rate"] is None and prediction["stop_index"] is None
    assert rows["steps"] == []


@pytest.mark.parametrize("sea", [True, False])
def test_the_table_has_a_column_where_it_was_asked_for(tmp_path: Path, sea: bool) -> None:
    db = tmp_path / "results.duckdb"
    with Writer(db, {"run_id": "r", "config_id": "c", "seed": 0, "n_threads": 1, "dataset": "made-up"}) as writer:
        writer.add(**judged(Planned("rumor", "rumor", "non-rumor", "non-rumor", "rumor"), 1, sea=sea))
    with connect(db, read_only=True) as connection:
        report = collect(connection, read.find_runs(connection, "r"))
    console = Console(file=io.StringIO(), width=200)
    show(report, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert ("SEA" in text) == sea
    assert (f"{(0.8 + 0.5 + 1) / 3:.3f}" in text) == sea
    assert ("flip_rate" in report.values[None]) == sea


def test_the_option_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seen whole, a rumor says that it is unconfirmed; up to its last post the model takes it for none."""
    corpus, script, db = write_corpus(tmp_path / "corpus.jsonl", 20), tmp_path / "script.json", tmp_path / "x.duckdb"
    script.write_text(json.dumps({"rules": RULES[:1], "default": RULES[1]}))
    options = ["--dataset", f"jsonl:{corpus}", "--model", f"scripted:{script}", "--when", "posts:1", "--seeds", "1"]
    options += ["--split", "all", "--db", str(db)]
    assert main(options) == 0
    assert "SEA" not in capsys.readouterr().out
    assert main([*options, "--sea"]) == 0
    assert "SEA" in capsys.readouterr().out
    with connect(db, read_only=True) as connection:
        query = "SELECT name, value FROM metrics JOIN runs USING (run_id) WHERE (config->>'sea')::BOOLEAN = $1"
        with_, without = (dict(connection.execute(query, [sea]).fetchall()) for sea in (True, False))
        actions = connection.execute("SELECT action, count(*) FROM steps GROUP BY action ORDER BY action").fetchall()
    assert with_["flip_rate"] == pytest.approx(0.5 / 3)
    assert with_["sea"] == pytest.approx((0.75 + (1 - 0.5 / 3) + 0.5) / 3)
    assert "sea" not in without and without["accuracy"] == with_["accuracy"] == 0.5
    assert actions == [("after", 60), ("stop", 40)]
