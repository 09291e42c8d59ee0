"""Whether rows of a JSDRV study differ: macro-F1 of veracity and of stances on what both have judged, seed by seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
from rich.console import Console
from rich.text import Text

from eval import metrics, read, stance_metrics, statistics
from eval.cells import plain_table
from eval.jsdrv_studies import ENCODER, SEEDS_ONLY, WHOLE, WITHOUT
from eval.results import clean, label_set_of
from eval.study_table import Result
from training.jsdrv.settings import JsdrvSettings


@dataclass(frozen=True)
class Gain:
    """How much higher a macro-F1 is, in one row than in another."""

    value: float
    low: float | None
    """Of the 95 % interval of the paired bootstrap over threads."""
    high: float | None
    p: float
    n: int
    """Threads, or posts."""


@dataclass(frozen=True)
class Difference:
    """One row against another."""

    row: str
    other: str
    veracity: Gain | None
    """None where it is not scored."""
    stances: Gain | None


def pairs(study: str, results: Sequence[Result]) -> list[tuple[Result, Result]]:
    """Which rows a study sets against which: what the loop adds, what a part adds, what a leak adds."""
    rows = {(result.row.system, result.row.group, result.row.x): result for result in results}
    found = []
    for result in results:
        system, group, x = result.row.system, result.row.group, result.row.x
        if study == "joint" and system.startswith(WHOLE):
            found.append((result, rows.get((f"{ENCODER}, {SEEDS_ONLY}", group, None))))
            if group == WITHOUT:
                found.append((rows[system, "", None], result))
        elif study == "parts" and system != WHOLE:
            found.append((result, rows.get((WHOLE, "", None))))
        elif study == "seeds" and system == WHOLE:
            found.append((result, rows.get((SEEDS_ONLY, "", x))))
        elif study == "epsilon" and x != JsdrvSettings().epsilon:
            found.append((result, rows.get((WHOLE, "", JsdrvSettings().epsilon))))
    return [(one, other) for one, other in found if other is not None]


def differences(connection: duckdb.DuckDBPyConnection, study: str, results: Sequence[Result]) -> list[Difference]:
    """Measure them.

    Args:
        connection: Open for reading.
        study: Its name.
        results: Its rows, all of them finished.
    """
    found = []
    for one, other in pairs(study, results):
        sides = [{run["seed"]: run for run in result.report.runs} for result in (other, one)]
        runs = [[side[seed] for seed in sides[0] if seed in sides[1]] for side in sides]
        found.append(
            Difference(one.row.label, other.row.label, _of_claims(connection, runs), _of_posts(connection, runs))
        )
    return found


def _of_claims(connection: duckdb.DuckDBPyConnection, runs: list[list[dict[str, Any]]]) -> Gain | None:
    config = runs[0][0]["config"] or {}
    if config.get("task") == "stance":
        return None
    rows = [[read.predictions(connection, run["run_id"]) for run in side] for side in runs]
    labels = label_set_of(runs[0][0], [row for side in rows for each in side for row in each]).labels
    sides = metrics.common_cells(rows[0], rows[1], labels)
    if not sides.size:
        return None
    # a table that is shown again shows the same digits
    rng = np.random.default_rng(0)
    return Gain(*statistics.paired_difference(sides[0], sides[1], len(labels), metrics.macro_f1, rng), n=sides.shape[2])


def _of_posts(connection: duckdb.DuckDBPyConnection, runs: list[list[dict[str, Any]]]) -> Gain | None:
    rows = [[read.annotations(connection, run["run_id"]) for run in side] for side in runs]
    measured = stance_metrics.paired_difference(rows[0], rows[1], np.random.default_rng(0))
    return Gain(*measured[2:], n=measured[1]) if measured else None


def show(found: Sequence[Difference], console: Console) -> None:
    """Print them, all p values adjusted together (Holm)."""
    gains = [gain for each in found for gain in (each.veracity, each.stances) if gain]
    if not gains:
        return
    adjusted = dict(zip(map(id, gains), statistics.holm([gain.p for gain in gains]), strict=True))
    table = plain_table()
    table.add_column("row", overflow="fold", ratio=1)
    table.add_column("against", overflow="fold", ratio=1)
    for head in ("veracity", "p", "stances", "p"):
        table.add_column(head, justify="right", no_wrap=True)
    for each in found:
        cells = [clean(each.row), clean(each.other)]
        for gain in (each.veracity, each.stances):
            cells += [_spelled(gain), f"{adjusted[id(gain)]:.2g}"] if gain else ["–", ""]
        table.add_row(*map(Text, cells))
    console.print(Text("differences in macro-F1", style="bold"))
    console.print(table)
    note = (
        "[95 % interval, paired bootstrap over the threads that both have judged]; p adjusted for all of these (Holm)"
    )
    console.print(Text(note, style="dim"))


def _spelled(gain: Gain) -> str:
    if gain.low is None:
        return f"{gain.value:+.3f}"
    return f"{gain.value:+.3f}\n[{gain.low:+.3f}, {gain.high:+.3f}]"
