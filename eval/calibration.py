"""Whether a verdict's probability is what it says: reliability by bins, and the expected calibration error."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eval.statistics import percentiles

Row = Mapping[str, Any]

BINS = 10
_DRAWS = 500


@dataclass(frozen=True)
class Bin:
    """Verdicts given with about the same probability."""

    low: float
    high: float
    n: int
    confidence: float
    """Mean probability of the label given."""
    accuracy: float


@dataclass(frozen=True)
class Calibration:
    """How well the probabilities of the labels given agree with how often these are right; seeds pooled."""

    n: int
    """Verdicts with probabilities, over all seeds."""
    of: int
    """All judgements, those without probabilities among them."""
    ece: float
    """Expected calibration error: |accuracy - confidence| of each bin, weighted by its verdicts."""
    low: float | None
    """95 % bootstrap interval over threads, each drawn with all its seeds."""
    high: float | None
    confidence: float
    accuracy: float
    bins: list[Bin]
    """Those that have verdicts, of ten of equal width."""
    methods: list[str]
    """Where the probabilities come from."""


def calibration(runs: Sequence[Sequence[Row]]) -> Calibration | None:
    """Measure the probabilities of a configuration's verdicts at one checkpoint.

    Args:
        runs: Rows of `predictions` of each seed.

    Returns:
        None where no verdict has a probability.
    """
    found: list[tuple[str, float, bool]] = []
    methods: set[str] = set()
    for row in (row for rows in runs for row in rows):
        odds = row["probabilities"] or {}
        if row["label"] is not None and odds.get(row["label"]) is not None:
            found.append((row["thread_id"], min(max(float(odds[row["label"]]), 0.0), 1.0), row["label"] == row["gold"]))
            methods.add(str(odds.get("method") or "not said"))
    if not found:
        return None
    threads = {name: index for index, name in enumerate(sorted({name for name, _, _ in found}))}
    sums = np.zeros((len(threads), BINS, 3))  # n, confidence and hits by thread and bin
    for name, confidence, right in found:
        sums[threads[name], min(int(confidence * BINS), BINS - 1)] += (1, confidence, right)
    total = sums.sum(axis=0)
    flat, rng, n = sums.reshape(len(threads), -1), np.random.default_rng(0), len(threads)
    drawn = [_ece((np.bincount(rng.integers(n, size=n), minlength=n) @ flat).reshape(BINS, 3)) for _ in range(_DRAWS)]
    bins = [
        Bin(index / BINS, (index + 1) / BINS, int(count), confidence / count, hits / count)
        for index, (count, confidence, hits) in enumerate(total.tolist())
        if count
    ]
    count, confidence, hits = total.sum(axis=0).tolist()
    low, high = percentiles(np.array(drawn))
    return Calibration(
        n=int(count),
        of=sum(map(len, runs)),
        ece=_ece(total),
        low=low,
        high=high,
        confidence=confidence / count,
        accuracy=hits / count,
        bins=bins,
        methods=sorted(methods),
    )


def _ece(sums: np.ndarray[Any, Any]) -> float:
    """Of (BINS, 3): the mean gap between what is said and what is right, weighted by n."""
    return float(np.abs(sums[:, 1] - sums[:, 2]).sum() / sums[:, 0].sum())
