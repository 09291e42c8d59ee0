"""From rows of predictions to named values, each with its interval and the n it is measured on.

A thread on which the method abstained or failed counts as wrong: its gold class loses recall and no class
gets a false positive. How many there are is stated in every table as `abstained` and `failed`. Macro-F1 is
averaged over the classes that occur, as gold or as given; a class that never does has no F1 (NaN, stored as
NULL) rather than a zero. ER is `stop_index / n_posts`, averaged over threads.

SEA, Stabilized Early Accuracy (HEARD, NAACL 2022, as its released code computes it), is the mean of 1 - ER, of 1 - the
flip rate and of accuracy. It is there only where a run asked for labels after the stop (--sea). A failed thread is
neither early nor stable nor right: its SEA is 0, where ER leaves it out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval import statistics
from eval.statistics import Confusions, Floats


@dataclass(frozen=True, slots=True)
class Estimate:
    """One measured value."""

    name: str
    value: float | None
    """Mean over seeds; None where it is undefined."""
    low: float | None
    """Of the 95 % bootstrap interval over threads; None for counts."""
    high: float | None
    n: int
    """Threads it is measured on, abstained and failed ones included."""
    std: float | None = None
    """Over seeds (ddof 1); None for one seed."""

    def row(self, checkpoint: str | None) -> dict[str, Any]:
        """The row of table `metrics`."""
        stored = asdict(self)
        del stored["std"]
        return {"checkpoint": checkpoint, **stored}


def f1(confusion: Confusions) -> Floats:
    """Per-class F1: (..., k, k + 1) -> (..., k); NaN for a class that is neither gold nor given."""
    k = confusion.shape[-2]
    hits = np.diagonal(confusion, axis1=-2, axis2=-1)
    return _ratio(2 * hits, confusion.sum(axis=-1) + confusion[..., :k].sum(axis=-2))


def macro_f1(confusion: Confusions) -> Floats:
    """Mean F1 of the classes that occur: (..., k, k + 1) -> (...)."""
    each = f1(confusion)
    occurs = ~np.isnan(each)
    return _ratio(np.where(occurs, each, 0).sum(axis=-1), occurs.sum(axis=-1))


def micro_f1(confusion: Confusions) -> Floats:
    """F1 of the summed counts; above accuracy by what abstentions leave out of the false positives."""
    k = confusion.shape[-2]
    hits = np.trace(confusion, axis1=-2, axis2=-1)
    return _ratio(2 * hits, confusion.sum(axis=(-2, -1)) + confusion[..., :k].sum(axis=(-2, -1)))


def accuracy(confusion: Confusions) -> Floats:
    """Share of threads given their gold label."""
    return _ratio(np.trace(confusion, axis1=-2, axis2=-1), confusion.sum(axis=(-2, -1)))


def _ratio(above: Any, below: Any) -> Floats:
    """NaN where there is nothing to divide by."""
    undefined: Floats = np.full(np.shape(above), np.nan)
    ratio: Floats = np.divide(above, below, out=undefined, where=np.asarray(below) > 0)
    return ratio


LABEL_METRICS: dict[str, Callable[[Confusions], Floats]] = {
    "macro_f1": macro_f1,
    "micro_f1": micro_f1,
    "accuracy": accuracy,
}
"""Of the confusion matrix; `f1_<label>` is added for every label."""

Row = Mapping[str, Any]

MEAN_METRICS: dict[str, Callable[[Row], float | None]] = {
    "early_rate": lambda row: row["stop_index"] / row["n_posts"] if row["stop_index"] else None,
    "coverage": lambda row: float(row["outcome"] == "verdict"),
    "seconds_per_thread": lambda row: row.get("seconds"),
    "calls_per_thread": lambda row: row.get("calls"),
    "tokens_per_thread": lambda row: row.get("tokens"),
}
"""Of one prediction, averaged over threads; None leaves the thread out of it."""


def flip_rate(labels: Sequence[str | None]) -> float:
    """How unstable a thread's verdict is once given.

    Args:
        labels: Of the prefix it stopped at and of each longer one up to the whole thread. None, for an abstention,
            counts as a label of its own: to abstain after a verdict is a change, and so is the way back.

    Returns:
        Changes from one prefix to the next, over how many there could be; 0 where the stop was at the last post.
    """
    changes = sum(before != after for before, after in pairwise(labels))
    return changes / max(1, len(labels) - 1)


def _sea(row: Row) -> float | None:
    if row["outcome"] == "failed":
        return 0.0
    if row.get("flip_rate") is None:
        return None
    early, stable = 1 - row["stop_index"] / row["n_posts"], 1 - row["flip_rate"]
    return float(early + stable + (row["label"] == row["gold"])) / 3


SEA_METRICS: dict[str, Callable[[Row], float | None]] = {
    "flip_rate": lambda row: row.get("flip_rate"),
    "sea": _sea,
}
"""The same as MEAN_METRICS, of runs that asked for labels after the stop."""

COUNT_METRICS: dict[str, Callable[[Row], bool]] = {
    "abstained": lambda row: row["outcome"] == "abstained",
    "failed": lambda row: row["outcome"] == "failed",
}
"""Of one prediction, counted."""


def cells(runs: Sequence[Sequence[Row]], labels: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Line runs up by thread.

    Args:
        runs: The predictions of each run at one checkpoint: rows of `predictions`.
        labels: The classes.

    Returns:
        The threads of all runs, and (runs, threads) confusion cells, -1 where a run has no prediction.

    Raises:
        ValueError: a row has a gold label that is not among them. A given one that is not counts as wrong, and is no
            other class's false positive.
    """
    k = len(labels)
    number = {label: index for index, label in enumerate(labels)} | {None: k}
    threads = {name: i for i, name in enumerate(sorted({row["thread_id"] for rows in runs for row in rows}))}
    lined = np.full((len(runs), len(threads)), -1, dtype=np.int64)
    for line, rows in zip(lined, runs, strict=True):
        for row in rows:
            if row["gold"] not in labels:
                raise ValueError(f"thread {row['thread_id']}: {row['gold']} is not of {labels}")
            line[threads[row["thread_id"]]] = number[row["gold"]] * (k + 1) + number.get(row["label"], k)
    return list(threads), lined


def common_cells(
    first: Sequence[Sequence[Row]], second: Sequence[Sequence[Row]], labels: Sequence[str]
) -> NDArray[np.int64]:
    """Line two sides up, seed by seed, on the threads that both have judged.

    Args:
        first: The predictions of each seed.
        second: The same of as many seeds.
        labels: The classes.

    Returns:
        (2, seeds, threads) cells, -1 where either side has none. Seeds and threads without any are left out.

    Raises:
        ValueError: a row has a gold label that is not among them.
    """
    _, lined = cells([*first, *second], labels)
    sides = lined.reshape(2, len(first), lined.shape[1])
    both = np.all(sides >= 0, axis=0)
    return np.where(both, sides, -1)[:, both.any(axis=1)][:, :, both.any(axis=0)]


def estimate(
    runs: Sequence[Sequence[Row]],
    labels: Sequence[str],
    rng: np.random.Generator,
    draws: int = statistics.DRAWS,
) -> dict[str, Estimate]:
    """Measure a configuration at one checkpoint, over one seed or several.

    Values are means over seeds. Intervals are over threads, and a thread that several seeds judge is drawn
    with all its judgements, since these are not independent.

    Args:
        runs: The predictions of each seed.
        labels: The classes, in report order; none where labels are not scored, and then rows need not have one.
        rng: Where the bootstrap's chance comes from.
        draws: Bootstrap draws.

    Returns:
        Name -> estimate, in report order; empty where nothing was predicted.
    """
    runs = [rows for rows in runs if rows]
    if not runs:
        return {}
    found: dict[str, Estimate] = {}

    def add(name: str, values: Floats, interval: tuple[float | None, float | None], n: int) -> None:
        defined = not np.isnan(values).any()
        std = float(np.std(values, ddof=1)) if defined and len(values) > 1 else None
        found[name] = Estimate(name, float(np.mean(values)) if defined else None, *interval, n=n, std=std)

    if labels:
        k = len(labels)
        threads, lined = cells(runs, labels)
        observed, drawn = statistics.confusions(lined, k), statistics.resample(lined, k, rng, draws)
        for name, metric in LABEL_METRICS.items():
            interval = statistics.percentiles(metric(drawn).mean(axis=-1))
            add(name, metric(observed), interval, len(threads))
        each, each_drawn = f1(observed), f1(drawn).mean(axis=1)
        for index, label in enumerate(labels):
            add(f"f1_{label}", each[:, index], statistics.percentiles(each_drawn[:, index]), len(threads))
    else:
        threads = sorted({row["thread_id"] for rows in runs for row in rows})
    asked = any(row.get("flip_rate") is not None for rows in runs for row in rows)
    metrics = MEAN_METRICS | (SEA_METRICS if asked else {})
    values = _by_thread(metrics, runs, threads)
    known = ~np.isnan(values)
    means = _ratio(np.where(known, values, 0).sum(axis=2), known.sum(axis=2))
    intervals = statistics.mean_intervals(values, rng, draws)
    for index, name in enumerate(metrics):
        add(name, means[index], intervals[index], int(known[index].any(axis=0).sum()))
    for name, counted in COUNT_METRICS.items():
        counts = np.array([float(sum(map(counted, rows))) for rows in runs])
        add(name, counts, (None, None), len(threads))
    return found


def _by_thread(
    metrics: Mapping[str, Callable[[Row], float | None]], runs: Sequence[Sequence[Row]], threads: Sequence[str]
) -> Floats:
    """Metrics of one prediction as (metrics, runs, threads), NaN where there is none."""
    values = np.full((len(metrics), len(runs), len(threads)), np.nan)
    column = {name: index for index, name in enumerate(threads)}
    for layer, metric in zip(values, metrics.values(), strict=True):
        for line, rows in zip(layer, runs, strict=True):
            for row in rows:
                value = metric(row)
                line[column[row["thread_id"]]] = np.nan if value is None else value
    return values
