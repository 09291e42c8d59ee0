"""How right stances are: F1 over posts, with intervals over threads, since the posts of a thread are not independent.

Measured are the posts that annotators gave a stance and that were read. One without an annotation, or on which the
network abstained, counts as wrong: its gold class loses recall and no class gets a false positive, as with threads
(see eval.metrics).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.jsdrv.annotation import STANCES
from eval import statistics
from eval.metrics import Estimate, f1, macro_f1, micro_f1
from eval.statistics import Confusions, Floats

Row = Mapping[str, Any]

PREFIX = "stance_"
KEPT = "kept_share"
NAMES = (
    "stance_micro_f1",
    "stance_macro_f1",
    *(f"stance_f1_{label}" for label in STANCES),
    "stance_n",
    "stance_abstained",
    KEPT,
)
"""Every metric of this page, in report order; `kept_share` is of the posts that a selector looked at."""
_K = len(STANCES)
_CELLS = _K * (_K + 1)
_COLUMNS = _CELLS + 2
"""Of a thread in a run: the cells of its confusion matrix, then posts that were kept and that might have been."""
_NUMBER: Mapping[str | None, int] = {label: index for index, label in enumerate(STANCES)} | {None: _K}
_DRAWN_AT_ONCE = 250


def is_of_stances(name: str) -> bool:
    """Whether a metric is one of this page."""
    return name.startswith(PREFIX) or name == KEPT


def counts(runs: Sequence[Sequence[Row]]) -> tuple[list[str], NDArray[np.float32]]:
    """Count each thread's posts, run by run.

    Args:
        runs: Rows of `annotations` of each run, at one checkpoint.

    Returns:
        The threads of all runs, and (threads, runs, 22): the flattened (4, 5) confusion matrix of a thread's posts with
        a gold stance, and how many of its posts were kept, of how many that a selector looked at.

    Raises:
        ValueError: a stance is none of S, D, Q, C.
    """
    threads = {name: i for i, name in enumerate(sorted({row["thread_id"] for rows in runs for row in rows}))}
    found = np.zeros((len(threads), len(runs), _COLUMNS), dtype=np.float32)
    for run, rows in enumerate(runs):
        for row in rows:
            gold, label = row["gold"], row["label"]
            if label not in _NUMBER or gold not in _NUMBER:
                raise ValueError(f"thread {row['thread_id']}: {gold} or {label} is not of {STANCES}")
            line = found[threads[row["thread_id"]], run]
            if gold is not None:
                line[_NUMBER[gold] * (_K + 1) + _NUMBER[label]] += 1
            if row["kept"] is not None:
                line[_CELLS] += row["kept"]
                line[_CELLS + 1] += 1
    return list(threads), found


def resample(
    counted: NDArray[np.float32], rng: np.random.Generator, draws: int = statistics.DRAWS
) -> NDArray[np.float32]:
    """Draw as many threads as there are, with replacement, each with all its posts in every run: (draws, runs, 22)."""
    n, runs, columns = counted.shape
    # threads that are alike are drawn together, which of 20,000 threads of one post each leaves twenty to draw from
    patterns, numbers = np.unique(counted.reshape(n, -1), axis=0, return_counts=True)
    found = np.empty((draws, runs * columns), dtype=np.float32)
    for start in range(0, draws, _DRAWN_AT_ONCE):
        size = min(_DRAWN_AT_ONCE, draws - start)
        weights = rng.multinomial(n, numbers / n, size=size).astype(np.float32)
        found[start : start + size] = weights @ patterns
    return found.reshape(draws, runs, columns)


def confusions(counted: NDArray[np.float32]) -> Confusions:
    """The confusion matrices of counts: (..., 22) -> (..., 4, 5)."""
    return counted[..., :_CELLS].reshape(*counted.shape[:-1], _K, _K + 1).astype(float)


def estimate(
    runs: Sequence[Sequence[Row]], rng: np.random.Generator, draws: int = statistics.DRAWS
) -> dict[str, Estimate]:
    """Measure the stances of a configuration at one checkpoint, over one seed or several.

    Args:
        runs: Rows of `annotations` of each seed.
        rng: Where the bootstrap's chance comes from.
        draws: Bootstrap draws.

    Returns:
        Name -> estimate, in the order of NAMES; its n is how many posts it is measured on. Empty where no post was
        annotated; without F1 where none of them has a gold stance, and without `kept_share` where nothing was selected.
    """
    runs = [rows for rows in runs if rows]
    if not runs:
        return {}
    _, counted = counts(runs)
    observed, drawn = counted.sum(axis=0), resample(counted, rng, draws)
    found: dict[str, Estimate] = {}

    def add(name: str, values: Floats, interval: tuple[float | None, float | None], n: int) -> None:
        defined = not np.isnan(values).any()
        std = float(np.std(values, ddof=1)) if defined and len(values) > 1 else None
        found[name] = Estimate(name, float(np.mean(values)) if defined else None, *interval, n=n, std=std)

    each, of_draws = confusions(observed), confusions(drawn)
    posts = len({(row["thread_id"], row["post_id"]) for rows in runs for row in rows if row["gold"] is not None})
    if posts:
        for name, metric in (("micro_f1", micro_f1), ("macro_f1", macro_f1)):
            add(PREFIX + name, metric(each), statistics.percentiles(metric(of_draws).mean(axis=-1)), posts)
        classes, drawn_classes = f1(each), f1(of_draws).mean(axis=1)
        for index, label in enumerate(STANCES):
            interval = statistics.percentiles(drawn_classes[:, index])
            add(f"{PREFIX}f1_{label}", classes[:, index], interval, posts)
        add("stance_n", each.sum(axis=(-2, -1)), (None, None), posts)
        add("stance_abstained", each[..., _K].sum(axis=-1), (None, None), posts)
    if observed[:, -1].all():
        with np.errstate(invalid="ignore"):  # a draw may have no thread that anything was selected from
            interval = statistics.percentiles((drawn[..., -2] / drawn[..., -1]).mean(axis=-1).astype(float))
        seen = len({(row["thread_id"], row["post_id"]) for rows in runs for row in rows if row["kept"] is not None})
        add(KEPT, (observed[:, -2] / observed[:, -1]).astype(float), interval, seen)
    return found


def paired_difference(
    first: Sequence[Sequence[Row]],
    second: Sequence[Sequence[Row]],
    rng: np.random.Generator,
    draws: int = 10_000,
) -> tuple[int, int, float, float | None, float | None, float] | None:
    """The second's macro-F1 of stances minus the first's on the same posts, by the paired bootstrap over threads.

    Args:
        first: Rows of `annotations` of each seed.
        second: The same of as many seeds.
        rng: Where chance comes from.
        draws: How often.

    Returns:
        Seeds of which both have annotated a post, posts, difference, low and high of its 95 % interval, two-sided p;
        None where no post is annotated by both.
    """
    pairs: list[tuple[list[Row], list[Row]]] = []
    for one, other in zip(first, second, strict=True):
        sides = [{(row["thread_id"], row["post_id"]): row for row in rows if row["gold"]} for rows in (one, other)]
        if both := sides[0].keys() & sides[1].keys():
            pairs.append(([sides[0][key] for key in both], [sides[1][key] for key in both]))
    if not pairs:
        return None
    posts = {(row["thread_id"], row["post_id"]) for pair in pairs for row in pair[0]}
    seeds = len(pairs)
    _, counted = counts([*(pair[0] for pair in pairs), *(pair[1] for pair in pairs)])
    values = macro_f1(confusions(counted.sum(axis=0)))
    drawn = macro_f1(confusions(resample(counted, rng, draws)))
    difference = float(values[seeds:].mean() - values[:seeds].mean())
    return (
        seeds,
        len(posts),
        difference,
        *statistics.of_differences(drawn[:, seeds:].mean(axis=1) - drawn[:, :seeds].mean(axis=1)),
    )
