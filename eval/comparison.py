"""Runs against each other on the threads that all of a pair have judged: exact tests, paired bootstrap, Holm."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np

from corpora.errors import UsageError
from eval import metrics, statistics
from eval.published import SAME
from eval.read import find_runs, predictions
from eval.results import label_set_of, order

if TYPE_CHECKING:
    from eval.compare_stances import StanceComparison
Run = dict[str, Any]
Row = dict[str, Any]


@dataclass(frozen=True)
class Comparison:
    """One run, or the seeds of one configuration, against another; differences are second minus first."""

    first: str
    second: str
    checkpoint: str
    seeds: int
    """Those of which both have judged a thread."""
    n: int
    """Threads judged by both."""
    accuracy: float
    only_first: int
    """Threads on which only (over several seeds: mostly) the first is right."""
    only_second: int
    accuracy_p: float
    macro_f1: float
    macro_f1_low: float | None
    macro_f1_high: float | None
    macro_f1_p: float


def compare(connection: duckdb.DuckDBPyConnection, names: Sequence[str], rng: np.random.Generator) -> list[Comparison]:
    """Compare each run after the first with the first.

    Args:
        connection: Open for reading.
        names: Ids of runs or configurations, or their beginnings.
        rng: Where the bootstrap's chance comes from.

    Raises:
        UsageError: a name is unknown, or two runs have no seed, thread, checkpoint or question in common.
    """
    if len(names) < 2:
        raise UsageError("name at least two runs to compare")
    groups = [find_runs(connection, name) for name in names]
    return [
        comparison
        for name, group in zip(names[1:], groups[1:], strict=True)
        for comparison in pair(connection, (names[0], groups[0]), (name, group), rng)
    ]


def pair(
    connection: duckdb.DuckDBPyConnection,
    first: tuple[str, list[Run]],
    second: tuple[str, list[Run]],
    rng: np.random.Generator,
) -> list[Comparison]:
    """Compare two sides, each a name and its rows of `runs`, at the checkpoints that both have.

    Raises:
        UsageError: they have no seed, thread, checkpoint or question in common.
    """
    pairs = by_seed(first[1], second[1])
    names = f"{first[0]} and {second[0]}"
    if not pairs:
        raise UsageError(f"{names} have no seed in common")
    sides = [
        [by_checkpoint(run, predictions(connection, run["run_id"])) for run in side]
        for side in zip(*pairs, strict=True)
    ]
    every = [[row for run in side for rows in run.values() for row in rows] for side in sides]
    sets = [label_set_of(pairs[0][index], rows) for index, rows in enumerate(every)]
    if sets[0].name != sets[1].name:
        raise UsageError(f"{names} answer different questions: {sets[0].name} and {sets[1].name}")
    found = []
    for at in common_checkpoints(sides, names):
        rows = [[run.get(name, []) for run in side] for side, name in zip(sides, at, strict=True)]
        label = at[0] if at[0] == at[1] else f"{at[0]} / {at[1]}"
        if comparison := measure(first[0], second[0], label, rows, sets[0].labels, rng):
            found.append(comparison)
    if not found:
        raise UsageError(f"{names} have judged no thread in common")
    return found


def by_seed(first: Sequence[Run], second: Sequence[Run]) -> list[tuple[Run, Run]]:
    """Runs to set against each other: two single ones whatever their seeds, else those with equal seeds."""
    if len(first) == len(second) == 1:
        return [(first[0], second[0])]
    seeds = {run["seed"]: run for run in second}
    return [(run, seeds[run["seed"]]) for run in first if run["seed"] in seeds]


def by_checkpoint(run: Run, rows: Sequence[Row]) -> dict[str, list[Row]]:
    """A run's rows of `predictions` or `annotations` at each of its checkpoints."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        name: str = row["checkpoint"] or run["when"]
        found.setdefault(SAME.get(name, name), []).append(row)
    return found


def common_checkpoints(sides: Sequence[Sequence[dict[str, list[Row]]]], names: str) -> list[tuple[str, str]]:
    """Which checkpoint of the first goes with which of the second."""
    first, second = ({name for run in side for name in run} for side in sides)
    if common := first & second:
        return [(name, name) for name in sorted(common, key=order)]
    if len(first) == len(second) == 1:
        return [(first.pop(), second.pop())]
    both = [", ".join(sorted(side, key=order)) or "none" for side in (first, second)]
    raise UsageError(f"{names} have no checkpoint in common: {both[0]} and {both[1]}; run both with one --when")


def measure(
    first: str,
    second: str,
    checkpoint: str,
    rows: list[list[list[Row]]],
    labels: tuple[str, ...],
    rng: np.random.Generator,
) -> Comparison | None:
    """Compare the seeds of two sides at one checkpoint; None where no thread is judged by both."""
    k, sides = len(labels), metrics.common_cells(rows[0], rows[1], labels)
    if not sides.size:
        return None
    if (sides[0] // (k + 1) != sides[1] // (k + 1)).any():
        raise UsageError(f"{first} and {second} have different gold labels for the same threads")
    right = (sides >= 0) & (sides // (k + 1) == sides % (k + 1))
    wins, losses, p = statistics.mcnemar(*right.sum(axis=1).astype(float))
    accuracies = right.sum(axis=2) / (sides >= 0).sum(axis=2)
    difference, low, high, bootstrap_p = statistics.paired_difference(sides[0], sides[1], k, metrics.macro_f1, rng)
    gain = float((accuracies[1] - accuracies[0]).mean())
    return Comparison(
        first,
        second,
        checkpoint,
        sides.shape[1],
        sides.shape[2],
        gain,
        wins,
        losses,
        p,
        difference,
        low,
        high,
        bootstrap_p,
    )


def adjust(found: Sequence[Comparison], stances: Sequence["StanceComparison"]) -> tuple[list[float], list[float]]:
    """All p values of one call, adjusted together (Holm).

    Returns:
        Those of `found`, accuracy's and macro-F1's in turn; and those of `stances`.
    """
    p_values = [p for each in found for p in (each.accuracy_p, each.macro_f1_p)]
    adjusted = statistics.holm([*p_values, *(each.p for each in stances)])
    return adjusted[: len(p_values)], adjusted[len(p_values) :]
