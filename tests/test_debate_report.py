"""What is counted in debates, on made-up transcripts."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from agents.debate.transcript import flips
from eval import read
from eval.database import connect
from eval.debate_report import per_thousand, show, statistics_of
from eval.metrics import Estimate
from eval.results import Results, collect
from eval.results import show as show_report
from eval.show import main as show_main
from eval.store import Writer

R, N = "rumor", "non-rumor"


def turn(speaker: str, round_: int, label: str | None, calls: int = 1, cites: tuple[str, ...] = (), unknown: int = 0):
    return {
        "speaker": speaker,
        "round": round_,
        "label": label,
        "text": "…",
        "cites": list(cites),
        "unknown": unknown,
        "calls": calls,
    }


def debate(
    p_says: list[str | None], n_says: list[str | None], judge: str | None = "", **changed: Any
) -> dict[str, Any]:
    """A transcript: the labels of both debaters round by round, and the judge's, "" without one."""
    turns = []
    for number, (p_label, n_label) in enumerate(zip(p_says, n_says, strict=True)):
        turns += [turn("p", number, p_label), turn("n", number, n_label)]
    if judge != "":
        turns.append(turn("judge", len(p_says) - 1, judge))
    made = {"subjective": False, "scores": {"c1": 0.5, "c2": -0.5}, "p": ["c1"], "n": ["c2"], "turns": turns}
    return made | {"flips": {name: flips(turns, name) for name in "pn"}, "calls": 9, "gold": {}} | changed


def row(thread: str, transcript: dict[str, Any] | None, label: str | None = R, gold: str = R, **changed: Any):
    return {"thread_id": thread, "label": label, "gold": gold, "tokens": 2000, "debate": transcript} | changed


def shares(rows: list[dict[str, Any]]) -> dict[str, tuple[float | None, int]]:
    return {name: (each["value"], each["n"]) for name, each in statistics_of(rows)["shares"].items()}


def test_who_went_over_to_whom() -> None:
    found = shares(
        [
            row("a", debate([N, R], [R, R])),
            row("b", debate([N, N, N], [R, R, N])),
            row("c", debate([N, R], [R, N], judge=R)),
            row("d", debate([N, R, N], [R, R, R], judge=R)),  # there and back: nobody has moved
            row("e", debate([N, None], [R, R], judge=R)),  # the last label that was given counts
            row("f", debate([R, R], [R, R])),
            row("g", debate([R, N], [R, R], judge=N)),
            row("h", debate([R, N], [R, N])),
            row("i", debate([None, R], [R, R])),  # where it started nobody knows
        ]
    )
    assert found["start_apart"] == (5 / 8, 8)
    apart = [found[f"apart_{name}"] for name in ("p_changed", "n_changed", "swapped", "neither")]
    assert apart == [(0.2, 5), (0.2, 5), (0.2, 5), (0.4, 5)]
    alike = [found[f"alike_{name}"] for name in ("p_changed", "n_changed", "both_changed")]
    assert alike == [(1 / 3, 3), (0.0, 3), (1 / 3, 3)]


def test_the_judge_and_consensus() -> None:
    found = shares(
        [
            row("a", debate([R], [R])),
            row("b", debate([R], [R]), gold=N),
            row("c", debate([R], [N], judge=R)),
            row("d", debate([R], [N], judge=None), label=None),
            row("e", debate([R], [N], judge=N), label=N),
            row("f", debate([None], [None]), label=None),  # no judge, and no consensus either
        ]
    )
    assert found["judge_called"] == (0.5, 6)
    assert found["judge_accuracy"] == (1 / 3, 3)
    assert found["consensus_accuracy"] == (0.5, 2)


def test_turns_citations_scores_and_evidence() -> None:
    turns = [turn("p", 0, R, 2, ("c1", "c2"), 1), turn("n", 0, None, 2), turn("judge", 0, R, 1, (), 1)]
    one = debate([], [], turns=turns, scores={"c1": 0.5, "c2": None, "c3": 0.0, "c4": 0.0}, n=[])
    found = shares([row("a", one), row("b", debate([R], [R], p=[], n=[], scores={}))])
    assert found["turns_without_label"] == (1 / 5, 5)
    assert found["second_attempts"] == (2 / 5, 5)
    assert found["turns_that_cite"] == (2 / 5, 5)
    assert found["cited_unknown"] == (0.5, 4)
    assert found["unscored"] == (0.25, 4)
    assert found["zero_scores"] == (0.5, 4)
    assert found["one_sided"] == (0.5, 2)
    assert found["no_evidence"] == (0.5, 2)


def test_the_scorer_beside_gold_stance() -> None:
    scores = {"a": 0.9, "b": 0.1, "c": 0.4, "d": -1.0, "e": 0.0, "f": None, "g": 0.7}
    gold = {"a": "S", "b": "S", "c": "D", "d": "D", "e": "D", "f": "S"}
    found = statistics_of([row("t", debate([R], [R], scores=scores, gold=gold)), row("u", debate([R], [R]))])
    assert found["shares"]["scorer_coverage"]["value"] == pytest.approx(4 / 6)
    assert found["shares"]["scorer_accuracy"] | {"low": 0, "high": 0} == {"value": 0.75, "low": 0, "high": 0, "n": 4}
    assert found["scorer_macro_f1"]["value"] == pytest.approx((0.8 + 2 / 3) / 2)
    assert found["scorer_majority"] == 0.5


def test_one_agent_has_no_debaters() -> None:
    alone = debate([], [], turns=[turn("agent", 0, R)])
    found = shares([row("a", alone)])
    assert found["start_apart"] == found["judge_called"] == found["consensus_accuracy"] == (None, 0)
    assert found["turns_without_label"] == (0.0, 1)


def test_runs_without_debates_have_nothing_to_tell() -> None:
    assert statistics_of([]) == statistics_of([row("a", None)]) == statistics_of([{"thread_id": "old"}]) == {}
    console = Console(file=io.StringIO())
    show({}, console)
    assert console.file.getvalue() == ""  # type: ignore[attr-defined]


def test_failed_threads_are_no_debates_and_seeds_are_pooled() -> None:
    rows = [row("a", debate([R], [N], judge=R)), row("a", debate([R], [R])), row("b", None, None)]
    found = statistics_of(rows)
    assert (found["debates"], found["threads"]) == (2, 1)
    assert found["shares"]["start_apart"]["n"] == 2


@pytest.mark.parametrize("checkpoints", [[None], ["posts:10", "posts:all"]])
def test_accuracy_for_every_thousand_tokens(checkpoints: list[str | None], tmp_path: Path) -> None:
    report = collect_rows(tmp_path / "results.duckdb", checkpoints)
    for checkpoint in checkpoints:
        # two of three threads are right, one has failed, and all of them were paid for
        expected = None if checkpoint else pytest.approx((2 / 3) / ((100 + 200 + 300) / 3 / 1000))
        assert report.debates[checkpoint]["accuracy_per_1000_tokens"] == expected
        console = Console(file=io.StringIO(), width=120)
        show(report.debates[checkpoint], console, checkpoint)
        assert ("tokens" in console.file.getvalue()) == (checkpoint is None)  # type: ignore[attr-defined]
    console = Console(file=io.StringIO(), width=200)
    show_report(report, console)
    together = "calls and tokens those of all checkpoints together"
    assert (together in console.file.getvalue()) == (len(checkpoints) > 1)  # type: ignore[attr-defined]


def test_where_nobody_tells_tokens_nothing_is_divided_by_them() -> None:
    def values(accuracy: float | None, tokens: float | None) -> dict[str, Estimate]:
        found = {"accuracy": accuracy, "tokens_per_thread": tokens}
        return {name: Estimate(name, value, None, None, n=3) for name, value in found.items()}

    assert per_thousand(values(0.5, 2000), None) == 0.25
    for accuracy, tokens in ((0.5, 0), (None, 9), (0.5, None)):
        assert per_thousand(values(accuracy, tokens), None) is None


def collect_rows(db: Path, checkpoints: list[str | None]) -> Results:
    """Three threads, the last of which failed, with calls of 100, 200 and 300 tokens."""
    run = {"run_id": "run0", "config_id": "conf", "dataset": "d", "split": "all", "when": "all-posts", "how": "s2mad"}
    run |= {"seed": 0, "n_threads": 3, "config": {"labels": "rumor/non-rumor", "seeds": 1}, "corpus_counts": {}}
    with Writer(db, run) as writer:
        for number in range(3):
            entry = {"thread_id": f"t{number}", "gold": R, "label": R, "outcome": "verdict", "stop_index": 3}
            if number == 2:
                entry |= {"label": None, "outcome": "failed", "stop_index": None}
            transcript = None if number == 2 else debate([R], [R])
            entry |= {"n_posts": 3, "seconds": 0.1, "debate": transcript}
            call = {"run_id": "run0", "thread_id": f"t{number}", "key": f"k{number}", "cached": False, "role": "scorer"}
            call |= {"input_tokens": 100 * (number + 1), "output_tokens": 0}
            predictions = [entry | {"checkpoint": checkpoint} for checkpoint in checkpoints]
            writer.add(predictions=predictions, calls=[call])
        writer.finish("finished")
    with connect(db, read_only=True) as connection:
        return collect(connection, read.find_runs(connection, "conf"))


def test_intervals_hold_the_value_and_never_close_on_it() -> None:
    rows = [row(f"t{i}", debate([R], [N if i % 3 else R], judge=R if i % 3 else "")) for i in range(60)]
    found = statistics_of(rows)["shares"]
    assert found["start_apart"]["low"] < 2 / 3 < found["start_apart"]["high"]
    assert found["start_apart"]["high"] - found["start_apart"]["low"] < 0.3
    assert found["no_evidence"]["value"] == found["no_evidence"]["low"] == 0
    assert 0.05 < found["no_evidence"]["high"] < 0.07  # Wilson: of 60 threads
    # more seeds on the same threads are no more threads
    again = statistics_of(rows * 3)["shares"]
    assert again["start_apart"]["low"] == found["start_apart"]["low"]
    assert again["no_evidence"]["high"] == found["no_evidence"]["high"]


def test_tables_fit_and_leave_out_what_there_was_none_of() -> None:
    console = Console(file=io.StringIO(), width=80)
    show(statistics_of([row("a", debate([R], [N], judge=R))]), console, "posts:10")
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    assert "in the debates at posts:10 (1 debates on 1 threads)" in text
    assert "the judge is called" in text and "start alike" not in text and "macro-F1" not in text


def test_eval_show_tells_of_debates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = tmp_path / "results.duckdb"
    run = {"run_id": "run0", "config_id": "conf", "dataset": "d", "split": "all", "when": "all-posts", "how": "s2mad"}
    run |= {"seed": 0, "n_threads": 2, "config": {"labels": "rumor/non-rumor", "seeds": 1}, "corpus_counts": {}}
    with Writer(db, run) as writer:
        for number, transcript in enumerate((debate([R], [N], judge=R), debate([R], [R]))):
            entry = {"thread_id": f"t{number}", "gold": R, "label": R, "outcome": "verdict", "stop_index": 3}
            writer.add(predictions=[entry | {"n_posts": 3, "seconds": 0.1, "debate": transcript}])
        writer.finish("finished")
    with connect(db, read_only=True) as connection:
        report = collect(connection, read.find_runs(connection, "conf"))
    assert report.debates[None]["shares"]["judge_called"]["value"] == 0.5
    show_main(["conf", "--db", str(db), "--json"])
    told = json.loads(capsys.readouterr().out)["results"][0]["debates"]
    assert told == json.loads(json.dumps(report.debates[None]))
    show_main(["conf", "--db", str(db)])
    assert "in the debates (2 debates on 2 threads)" in capsys.readouterr().out
