"""The table of one configuration: a row a checkpoint, values over its seeds, the papers' figures beneath."""

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import duckdb
import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from corpora.labels import LABEL_SETS, LabelSet
from eval import debate_report, read, stance_metrics
from eval.cells import PAPER, cell, fit, head, paper_cell, plain_table
from eval.comparable import comparable, footnotes, is_published
from eval.metrics import Estimate, estimate
from eval.published import SAME, Published
from eval.stance_metrics import is_of_stances
from eval.titles import debate_options, judged, options

__all__ = [
    "Results", "classes_of", "clean", "collect", "debate_options", "is_published", "judged", "label_set_of", "line",
    "order", "show",
]  # fmt: skip

_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_OF_CALLS = {"calls_per_thread", "tokens_per_thread"}  # left out where no model was asked
_HIDDEN = {"micro_f1", "coverage", "flip_rate"}  # stored, but they say what accuracy, the counts and SEA say
_ORDER = ("early_rate", "sea", "abstained", "failed", "seconds_per_thread", "calls_per_thread", "tokens_per_thread")


def clean(text: object) -> str:
    """Text of a post or a model made safe for a terminal: control and direction characters become spaces."""
    return _UNSAFE.sub(" ", str(text))


def line(text: object) -> str:
    """The same, on one line."""
    return " ".join(clean(text).split())


@dataclass(frozen=True)
class Results:
    """A configuration's results so far."""

    runs: list[dict[str, Any]]
    """Its rows of `runs`, one a seed."""
    judged: list[int]
    """Threads judged in each."""
    values: dict[str | None, dict[str, Estimate]]
    """Checkpoint -> metric -> estimate."""
    threads: dict[str | None, list[int]]
    """Checkpoint -> threads measured in each seed."""
    published: dict[str | None, list[Published]]
    """Checkpoint -> the papers' figures, where corpus and method are theirs."""
    debates: dict[str | None, dict[str, Any]] = field(default_factory=dict)
    """Checkpoint -> what happened in debates (see eval.debate_report), empty where there were none."""
    wanted: int | None = None
    """Seeds that were asked for; None where only the database can say."""

    @property
    def state(self) -> str:
        """What is there and what is to come, empty where all seeds are finished."""
        finished = sum(run["status"] == "finished" for run in self.runs)
        stored = max([len(self.runs), *((run["config"] or {}).get("seeds") or 0 for run in self.runs)])
        wanted = self.wanted or stored
        if finished == wanted:
            return ""
        begun = [
            f"seed {run['seed']}: {judged} of {run['n_threads']} threads"
            for run, judged in zip(self.runs, self.judged, strict=True)
            if run["status"] != "finished"
        ]
        return "; ".join([f"PARTIAL: {finished} of {wanted} seeds finished", *begun])

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for --json."""
        first = self.runs[0]
        return {
            **{name: first[name] for name in ("config_id", "dataset", "split", "when", "how", "model", "endpoint")},
            "partial": bool(self.state),
            "runs": [
                {"run_id": run["run_id"], "seed": run["seed"], "status": run["status"], "judged": judged}
                | {"n_threads": run["n_threads"]}
                for run, judged in zip(self.runs, self.judged, strict=True)
            ],
            "results": [
                {
                    "checkpoint": checkpoint,
                    "metrics": {name: asdict(value) for name, value in values.items()},
                    "published": [asdict(row) for row in self.published.get(checkpoint, [])],
                }
                | ({"debates": debates} if (debates := self.debates.get(checkpoint)) else {})
                for checkpoint, values in self.values.items()
            ],
        }


def label_set_of(run: dict[str, Any], rows: Sequence[dict[str, Any]]) -> LabelSet:
    """The label set a run's predictions are of: the configured one, or the first that holds all labels."""
    if named := LABEL_SETS.get((run["config"] or {}).get("labels") or ""):
        return named
    seen = {row[key] for row in rows for key in ("gold", "label")} - {None}
    fitting = [each for each in LABEL_SETS.values() if seen <= set(each.labels)]
    return fitting[0] if fitting else LabelSet("unknown", tuple(sorted(seen)), {})


def classes_of(run: dict[str, Any], rows: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """The classes that labels are scored by: those the tested corpus has, and any other that was given."""
    labels = label_set_of(run, rows).labels
    scored = {*((run["config"] or {}).get("classes") or labels), *(row["label"] for row in rows)}
    return tuple(label for label in labels if label in scored)


def order(checkpoint: str | None) -> tuple[float, str]:
    """Sort key of checkpoints: first-post, then by number (hours:6 before hours:12), all posts last."""
    name = SAME.get(checkpoint or "", checkpoint or "")
    if name in ("first-post", "all-posts"):
        return (0.0 if name == "first-post" else math.inf), name
    try:
        return float(name.partition(":")[2]), name
    except ValueError:
        return math.inf, name


def collect(
    connection: duckdb.DuckDBPyConnection, runs: Sequence[dict[str, Any]], wanted: int | None = None
) -> Results:
    """Measure a configuration on what it has judged so far.

    Args:
        connection: Open for reading.
        runs: Its rows of `runs`, one a seed (see `eval.read.find_runs`).
        wanted: Seeds that were asked for; None for as many as any command asked for.
    """
    predictions = [read.predictions(connection, run["run_id"]) for run in runs]
    annotations = [read.annotations(connection, run["run_id"]) for run in runs]
    every = [row for rows in predictions for row in rows]
    label_set = label_set_of(runs[0], every)
    labels = () if (runs[0]["config"] or {}).get("task") == "stance" else classes_of(runs[0], every)
    judged = [len({row["thread_id"] for row in rows}) for rows in predictions]
    report = Results(list(runs), judged, {}, {}, {}, wanted=wanted)
    for checkpoint in sorted({row["checkpoint"] for row in every}, key=order):
        at = [[row for row in rows if row["checkpoint"] == checkpoint] for rows in predictions]
        # the same chance every time: a table that is shown again shows the same digits
        report.values[checkpoint] = estimate(at, labels, np.random.default_rng(0))
        posts = [[row for row in rows if row["checkpoint"] == checkpoint] for rows in annotations]
        report.values[checkpoint] |= stance_metrics.estimate(posts, np.random.default_rng(0))
        report.threads[checkpoint] = [len(rows) for rows in at if rows]
        report.published[checkpoint] = comparable(runs[0], checkpoint, label_set.name)
        if debates := debate_report.statistics_of([row for rows in at for row in rows]):
            debates["accuracy_per_1000_tokens"] = debate_report.per_thousand(report.values[checkpoint], checkpoint)
        report.debates[checkpoint] = debates
    return report


def show(report: Results, console: Console) -> None:
    """Print the report: as many tables beneath each other as the width asks for."""
    first = report.runs[0]
    console.print(Text(clean(judged(first)), style="bold"))
    how = ", ".join([f"how {first['how']}", f"model {first['model']}", *options(first)])
    console.print(Text(clean(f"when {first['when']}, {how}"), style="bold"))
    if variant := variant_of(first):
        console.print(Text(variant, style="yellow"))
    if report.state:
        console.print(Text(report.state, style="bold yellow"))
    if not report.values:
        console.print("nothing judged yet")
        return
    names, of_stances = shown_metrics(report)
    _print_tables(report, names, console)
    if of_stances:
        console.print(Text("stances of posts", style="bold"))
        _print_tables(report, of_stances, console)
    for text in notes(report):
        console.print(Text(clean(text), style="dim"))
    for checkpoint, statistics in report.debates.items():
        debate_report.show(statistics, console, checkpoint)


def variant_of(run: dict[str, Any]) -> str:
    """What to know of a run whose corpus is not as published; empty where it is, or nobody published one."""
    if not (run["corpus_counts"] or {}).get("variant"):
        return ""
    return (
        f"This is not the published {run['dataset']}, but a sample or variant of it: "
        f"see python -m corpora check {run['dataset']}"
    )


def shown_metrics(report: Results) -> tuple[list[str], list[str]]:
    """Which metrics tables show, in their order: those of threads, and those of the stances of posts."""
    hidden = _HIDDEN - ({"micro_f1"} if (report.runs[0]["config"] or {}).get("task") else set())
    measured = list(dict.fromkeys(name for values in report.values.values() for name in values))
    names = [name for name in measured if name not in (*hidden, *_ORDER) and not is_of_stances(name)] + list(_ORDER)
    names = [name for name in names if all(name in values for values in report.values.values())]
    if not any(values["calls_per_thread"].value for values in report.values.values()):
        names = [name for name in names if name not in _OF_CALLS]
    return names, [name for name in measured if is_of_stances(name)]


def notes(report: Results) -> list[str]:
    """What is to be said beneath the tables."""
    seeds = max(map(len, report.threads.values()), default=1)
    over = f"mean ± std over {seeds} seeds, " if seeds > 1 else ""
    note = f"{over}[95 % bootstrap interval over threads]; abstained and failed threads count as wrong"
    together = ", calls and tokens those of all checkpoints together" if len(report.values) > 1 else ""
    papers = [row for rows in report.published.values() for row in rows]
    return [f"{note}; seconds, calls and tokens are per thread{together}", *footnotes(report.runs[0], papers)]


def _print_tables(report: Results, names: Sequence[str], console: Console) -> None:
    row_heads = max(len(line) for line in _row_heads(report))
    cells = {name: [head(name), *(_cell(values, name) for values in report.values.values())] for name in names}
    for chunk in fit(cells, console.width - row_heads):
        console.print(_table(report, chunk))
        console.print()


def _cell(values: dict[str, Estimate], name: str) -> str:
    return cell(values[name]) if name in values else "–"


def _row_heads(report: Results) -> list[str]:
    heads = [_row_head(report, checkpoint) for checkpoint in report.values]
    return [line for head in heads for line in head.split("\n")] + [
        PAPER + row.system for rows in report.published.values() for row in rows
    ]


def _row_head(report: Results, checkpoint: str | None) -> str:
    counts = report.threads[checkpoint]
    low, high = min(counts), max(counts)
    return f"{checkpoint or report.runs[0]['when']}\nn = {low if low == high else f'{low}–{high}'}"


def _table(report: Results, names: Sequence[str]) -> Table:
    table = plain_table()
    table.add_column("read", no_wrap=True)
    for name in names:
        table.add_column(Text(clean(head(name))), justify="right", no_wrap=True)
    for checkpoint, values in report.values.items():
        table.add_row(Text(_row_head(report, checkpoint)), *(Text(_cell(values, name)) for name in names))
        for row in report.published.get(checkpoint, []):
            if any(name in row.values for name in names):
                table.add_row(Text(PAPER + row.system), *(paper_cell(row, name) for name in names), style="italic")
    return table
