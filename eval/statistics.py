"""Intervals and tests over threads. Threads are the sample: seeds that judge one thread are drawn together.

Everything about labels starts from a *cell* a thread: its place in the flattened (k, k + 1) confusion matrix,
gold * (k + 1) + given, where given = k stands for abstained and failed. Threads with equal cells in every run
are alike, so drawing n threads anew is one multinomial draw over the distinct patterns, which makes 2,000
draws a matter of milliseconds however many threads there are.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Confusions = NDArray[np.float64]
"""(..., k, k + 1): rows gold, columns given, the last one for abstained and failed."""

DRAWS = 2_000
_NORMAL_FROM = 10_000
_Z = 1.959964
_AT_ONCE = 1_000_000
"""Threads drawn at once: some tens of megabytes."""


def confusions(runs: NDArray[np.int64], k: int) -> Confusions:
    """Count the cells: (runs, n) -> (runs, k, k + 1)."""
    size = k * (k + 1)
    counts = [np.bincount(run[run >= 0], minlength=size) for run in runs]
    return np.array(counts, dtype=float).reshape(len(runs), k, k + 1)


def resample(runs: NDArray[np.int64], k: int, rng: np.random.Generator, draws: int = DRAWS) -> Confusions:
    """Draw as many threads as there are, with replacement, and count their cells in every run.

    Args:
        runs: (runs, n) cells of the same n threads in each run, -1 where a run did not judge a thread.
        k: How many classes there are.
        rng: Where chance comes from.
        draws: How often.

    Returns:
        (draws, runs, k, k + 1).
    """
    n = runs.shape[1]
    patterns, counts = np.unique(runs, axis=1, return_counts=True)  # (runs, p), (p,)
    weights = rng.multinomial(n, counts / n, size=draws).astype(np.float32)  # (draws, p)
    size = k * (k + 1)
    found = [weights @ (pattern[:, None] == np.arange(size)).astype(np.float32) for pattern in patterns]
    return np.stack(found, axis=1).reshape(draws, len(runs), k, k + 1).astype(float)


def percentiles(values: Floats) -> tuple[float, float] | tuple[None, None]:
    """The middle 95 % of bootstrap values, those left out where the value is undefined in a draw."""
    defined = values[~np.isnan(values)]
    if not len(defined):
        return None, None
    low, high = np.quantile(defined, (0.025, 0.975))
    return float(low), float(high)


def mean_intervals(
    values: Floats, rng: np.random.Generator, draws: int = DRAWS
) -> list[tuple[float, float] | tuple[None, None]]:
    """The 95 % intervals of means over threads, themselves averaged over runs.

    From 10,000 threads on the normal approximation is taken: the two agree to more digits than are printed.

    Args:
        values: (metrics, runs, n), NaN where a run has no value for a thread.
        rng: Where chance comes from.
        draws: How often to draw threads anew.

    Returns:
        One interval a metric; (None, None) where a run has no value at all.
    """
    metrics, runs, n = values.shape
    present = ~np.isnan(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        if n >= _NORMAL_FROM:
            counts = present.sum(axis=2, keepdims=True)
            means = np.where(present, values, 0).sum(axis=2, keepdims=True) / counts
            # what each thread adds to the mean of means (its influence), first order
            share = (np.where(present, values - means, 0) / counts).mean(axis=1)
            middle, half = means.mean(axis=(1, 2)), _Z * np.sqrt((share**2).sum(axis=1))
            return [
                (None, None) if np.isnan(m) else (float(m - h), float(m + h)) for m, h in zip(middle, half, strict=True)
            ]
        both = np.concatenate([np.where(present, values, 0), present]).reshape(-1, n).T
        sums = np.empty((draws, both.shape[1]))
        block = max(1, _AT_ONCE // n)
        for start in range(0, draws, block):
            drawn = rng.integers(n, size=(min(block, draws - start), n))
            of_its_own = n * np.arange(len(drawn))[:, None]  # a range of numbers a draw, so that one count does for all
            counts = np.bincount((drawn + of_its_own).ravel(), minlength=drawn.size).reshape(drawn.shape)
            sums[start : start + len(drawn)] = counts.astype(float) @ both
        totals, counts = sums.reshape(draws, 2, metrics, runs).swapaxes(0, 1)
        return [percentiles(column) for column in (totals / counts).mean(axis=2).T]


def mcnemar(first: Floats, second: Floats) -> tuple[int, int, float]:
    """Exact McNemar test of two runs on the same threads; over several seeds, the exact sign test by thread.

    A thread counts for the side that is right on it in more seeds, and for neither at a tie; with one seed
    these are McNemar's discordant pairs. So a thread is one observation however many seeds judged it.

    Args:
        first: (n,) seeds in which the first is right on a thread.
        second: (n,) the same for the second.

    Returns:
        Threads on which only (or mostly) the first is right, the same for the second, two-sided p.
    """
    from scipy.stats import binomtest

    wins, losses = int((first > second).sum()), int((first < second).sum())
    p = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    return wins, losses, float(p)


def paired_difference(
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    k: int,
    metric: Callable[[Confusions], Floats],
    rng: np.random.Generator,
    draws: int = 10_000,
) -> tuple[float, float | None, float | None, float]:
    """The second's metric minus the first's on the same threads, over seeds, by the paired bootstrap.

    Args:
        first: (seeds, n) cells.
        second: (seeds, n) cells of the same threads.
        k: How many classes there are.
        metric: (..., k, k + 1) -> (...).
        rng: Where chance comes from.
        draws: How often.

    Returns:
        Difference, low and high of its 95 % interval, two-sided p.
    """
    seeds = len(first)
    both = np.concatenate([first, second])
    values = metric(confusions(both, k))
    observed = float(values[seeds:].mean() - values[:seeds].mean())
    drawn = metric(resample(both, k, rng, draws))
    return observed, *of_differences(drawn[:, seeds:].mean(axis=1) - drawn[:, :seeds].mean(axis=1))


def of_differences(drawn: Floats) -> tuple[float | None, float | None, float]:
    """Low and high of the 95 % interval of a bootstrap's differences, two-sided p; undefined ones say nothing."""
    defined = drawn[~np.isnan(drawn)]
    low, high = percentiles(defined)
    # the share of draws on the other side of zero, twice; +1: the sample itself is one of its draws
    tail = min((defined <= 0).sum(), (defined >= 0).sum())
    return low, high, min(1.0, 2 * (int(tail) + 1) / (len(defined) + 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p values for being several (Holm 1979), in the order given."""
    order = np.argsort(p_values, kind="stable")
    adjusted: list[Any] = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, p_values[index] * (len(p_values) - rank)))
        adjusted[index] = highest
    return adjusted
