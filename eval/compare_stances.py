"""The stances of two or more runs on the posts that all of a pair have annotated: a part of `eval.compare`."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import duckdb
import numpy as np
from rich.console import Console
from rich.text import Text

from corpora.errors import UsageError
from eval import read, stance_metrics
from eval.cells import plain_table
from eval.comparison import by_checkpoint, by_seed, common_checkpoints


@dataclass(frozen=True)
class StanceComparison:
    """The macro-F1 of stances of one side against another's: second minus first."""

    first: str
    second: str
    checkpoint: str
    seeds: int
    n: int
    """Posts with a gold stance that both have annotated."""
    macro_f1: float
    low: float | None
    high: float | None
    p: float


def nothing_else(connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> bool:
    """Whether one of the runs scores stances only, so that labels are not to be compared."""
    runs = [run for name in names for run in read.find_runs(connection, name)]
    return any((run["config"] or {}).get("task") == "stance" for run in runs)


def compare(
    connection: duckdb.DuckDBPyConnection, names: Sequence[str], rng: np.random.Generator
) -> list[StanceComparison]:
    """Compare the stances of each run after the first with the first's; those that have annotated none are left out.

    Args:
        connection: Open for reading.
        names: Ids of runs or configurations, or their beginnings.
        rng: Where the bootstrap's chance comes from.

    Raises:
        UsageError: a name is unknown.
    """
    found: list[StanceComparison] = []
    first = read.find_runs(connection, names[0])
    for name in names[1:]:
        pairs = by_seed(first, read.find_runs(connection, name))
        sides = [
            [by_checkpoint(run, read.annotations(connection, run["run_id"])) for run in side]
            for side in zip(*pairs, strict=True)
        ]
        if not pairs or not all(any(side) for side in sides):
            continue
        try:
            checkpoints = common_checkpoints(sides, f"{names[0]} and {name}")
        except UsageError:  # which comparing their labels tells
            continue
        for at in checkpoints:
            rows = [[run.get(each, []) for run in side] for side, each in zip(sides, at, strict=True)]
            if (difference := stance_metrics.paired_difference(rows[0], rows[1], rng)) is not None:
                label = at[0] if at[0] == at[1] else f"{at[0]} / {at[1]}"
                found.append(StanceComparison(names[0], name, label, *difference))
    return found


def joined(
    rows: Sequence[dict[str, Any]], stances: Sequence[StanceComparison], adjusted: Sequence[float]
) -> list[dict[str, Any]]:
    """Comparisons as plain values, with that of stances under "stances"; rows of their own where there is no other."""
    keys = ("first", "second", "checkpoint")
    found = {tuple(row[key] for key in keys): dict(row) for row in rows}
    for each, p in zip(stances, adjusted, strict=True):
        values = asdict(each) | {"p_holm": p}
        of = {key: values.pop(key) for key in keys}
        found.setdefault(tuple(of.values()), of)["stances"] = values
    return list(found.values())


def show(console: Console, found: Sequence[StanceComparison], adjusted: Sequence[float], tested: int) -> None:
    """Print the comparisons as a table."""
    table = plain_table()
    table.add_column("run", overflow="fold")
    table.add_column("read", overflow="fold")
    for head in ("macro-F1 of stances", "p"):
        table.add_column(head, justify="right", no_wrap=True)
    for each, p in zip(found, adjusted, strict=True):
        interval = "" if each.low is None else f"[{each.low:+.3f}, {each.high:+.3f}]"
        figures = f"{each.macro_f1:+.3f}\n{interval}", f"{each.p:.3g}\nHolm {p:.3g}"
        table.add_row(*map(Text, (each.second, f"{each.checkpoint}\nn = {each.n:,}", *figures)))
    console.print(Text(f"stances: differences to {found[0].first}", style="bold"))
    console.print(table)
    note = f"n: posts that both have annotated; Holm: p adjusted for the {tested} printed"
    console.print(Text(note, style="dim"))
