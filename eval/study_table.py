"""What a study found: its rows measured, printed as one table, and stored in `studies`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from eval.config import RunConfig, identity
from eval.database import SCHEMA, check_tables, connect, errors, insert_row
from eval.metrics import Estimate
from eval.provenance import address
from eval.published import Published
from eval.report import Report, cell, clean, judged, paper_cell
from eval.studies import Row

_HEADS = {
    "macro_f1": "macro-F1",
    "accuracy": "accuracy",
    "early_rate": "ER",
    "sea": "SEA",
    "calls_per_thread": "calls",
    "abstained": "abstained",
    "failed": "failed",
}
_VARIED = {"shots": {"shots"}, "cross": {"train_on", "exclude_overlap"}}
"""Study -> what differs between its rows, and so is in no title."""


_WIDE = 100
"""Columns from which on a row is one line."""


@dataclass(frozen=True)
class Result:
    """One row of a study and what was measured."""

    row: Row
    report: Report
    """Of the row's whole run, all checkpoints."""

    @property
    def values(self) -> dict[str, Estimate]:
        """Metric -> estimate; empty where nothing was judged."""
        return self.report.values.get(self.row.checkpoint, {})

    @property
    def published(self) -> list[Published]:
        """The papers' figures for the same."""
        return self.report.published.get(self.row.checkpoint, [])

    def number(self, name: str, part: str = "value") -> float:
        """A metric's value, std, low or high; NaN where there is none."""
        found = getattr(self.values[name], part) if name in self.values else None
        return math.nan if found is None else float(found)

    @property
    def threads(self) -> list[int]:
        """Threads measured in each seed."""
        return self.report.threads.get(self.row.checkpoint, [])


def span(counts: Sequence[int]) -> str:
    """Counts as text: 95, or 85–125 where they differ."""
    low, high = min(counts, default=0), max(counts, default=0)
    return str(low) if low == high else f"{low}–{high}"


def title(study: str, results: Sequence[Result]) -> str:
    """What was judged, in one line, without what the study varies."""
    run = results[0].report.runs[0]
    varied = _VARIED.get(study, set())
    kept = {name: value for name, value in (run["config"] or {}).items() if name not in varied}
    return clean(judged({**run, "config": kept}))


def show(study: str, results: Sequence[Result], console: Console) -> None:
    """Print the table."""
    first = results[0].report.runs[0]
    console.print(Text(f"{study}: {title(study, results)}", style="bold"))
    console.print(Text(clean(f"how {first['how']}, model {first['model']}"), style="bold"))
    if (first["corpus_counts"] or {}).get("variant"):
        text = f"This is not the published {first['dataset']}, but a sample or variant of it"
        console.print(Text(clean(text), style="yellow"))
    if unfinished := [result for result in results if result.report.state]:
        for result in unfinished:
            console.print(Text(clean(f"{result.row.label}: {result.report.state}"), style="bold yellow"))
    console.print(_table(results, console.width))
    seeds = max(len(result.threads) for result in results)
    over = f"mean ± std over {seeds} seeds, " if seeds > 1 else ""
    note = f"{over}[95 % bootstrap interval over threads]; abstained and failed threads count as wrong"
    console.print(Text(note, style="dim"))
    for source in sorted({paper.source for result in results for paper in result.published}):
        console.print(Text(f"† the paper's own figures ({source}), not measured here", style="dim"))


def _table(results: Sequence[Result], width: int) -> Table:
    names = list(_HEADS)
    for name in ("calls_per_thread", "sea"):  # where a model was asked, and with --sea
        if not any(result.number(name) > 0 for result in results):
            names.remove(name)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("row", overflow="fold")
    table.add_column("n", justify="right", no_wrap=True)
    for name in names:
        table.add_column(_HEADS[name], justify="right", no_wrap=True)
    for result in results:
        values = result.values
        cells = [_cell(values[name], width) if name in values else "–" for name in names]
        table.add_row(Text(clean(result.row.label)), span(result.threads), *map(Text, cells))
        for paper in result.published:
            table.add_row(Text("† " + paper.system), "", *(paper_cell(paper, name) for name in names), style="italic")
    return table


def _cell(value: Estimate, width: int) -> str:
    """What a table of many rows has room for: one interval and two deviations."""
    if value.name == "macro_f1":
        return cell(value).replace("\n", " " if width >= _WIDE else "\n")
    kept = value.std if value.name == "early_rate" else None
    return cell(replace(value, low=None, high=None, std=kept))


def base_id(study: str, dataset: str, base: RunConfig) -> str:
    """A short name for what all rows of a study have in common: one that is made again has the same."""
    common = identity(base)
    for name in ("when", *_VARIED.get(study, ())):
        common.pop(name, None)
    return address({**common, "study": study, "dataset": dataset})


def store(study: str, base: RunConfig, results: Sequence[Result]) -> None:
    """Write the rows to table `studies`, in place of those of the same study made before.

    Raises:
        UsageError: the file cannot be written.
    """
    dataset = results[0].report.runs[0]["dataset"]
    common = {"study": study, "base_id": base_id(study, dataset, base), "dataset": dataset}
    common["created"] = datetime.now(UTC)
    path: Path = base.db
    with errors(path), connect(path) as connection:
        connection.execute(SCHEMA)  # a database made by an earlier version gets the table now
        check_tables(connection, path)
        connection.begin()
        connection.execute("DELETE FROM studies WHERE study = ? AND base_id = ?", [study, common["base_id"]])
        for position, result in enumerate(results, 1):
            insert_row(connection, "studies", common | {"position": position} | _stored(result))
        connection.commit()


def _stored(result: Result) -> dict[str, Any]:
    def part(name: str, what: str = "value") -> float | None:
        value = result.number(name, what)
        return None if math.isnan(value) else value

    row = result.row
    found: dict[str, Any] = {"row": row.label, "system": row.system, "x": row.x, "checkpoint": row.checkpoint}
    found |= {"config_id": result.report.runs[0]["config_id"], "seeds": len(result.threads)}
    found["n"] = result.values["macro_f1"].n if result.values else 0
    for name in ("macro_f1", "early_rate"):
        found |= {name: part(name)} | {f"{name}_{what}": part(name, what) for what in ("std", "low", "high")}
    return found | {name: part(name) for name in ("accuracy", "abstained", "failed")}
