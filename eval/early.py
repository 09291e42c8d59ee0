"""How good a method's answers are at any moment: macro-F1 by posts read and by hours.

At a moment a thread counts with the last label that was stored for it until then; a thread without one, because the
method reads on, abstained or failed, counts as wrong. Labels are stored where a run stopped, at each of its
checkpoints, and with --sea after every later post; no other is made up. So the curve of a stop policy climbs as it
decides, and that of several reading checkpoints is the verifier's own.

By hours, threads without times are left out: nobody can say when their labels came. A thread that failed counts as
wrong at every moment, as it does in the table.
"""

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eval import statistics
from eval.metrics import macro_f1
from eval.statistics import Floats

Row = Mapping[str, Any]

POSTS = (*range(1, 11), 12, 15, 20, 25, 30, 40, 50, 70, 100, 150, 200, 300, 500, 700, 1_000, 2_000, 5_000, 10_000)
HOURS = (0, 1 / 60, 5 / 60, 0.25, 0.5, 1, 2, 3, 4, 6, 8, 12, 18, 24, 36, 48, 72, 120, 168, 336, 720)
"""Moments at which it is measured, as far as a corpus goes."""
_DRAWS = 500
_FIXED = ("posts", "hours", "first-post", "all-posts")


@dataclass(frozen=True)
class Curve:
    """Macro-F1 over moments, mean over seeds."""

    checkpoint: str | None
    """Of which of several stop policies; None where all of a run's labels are one curve."""
    at: list[float]
    """Posts read, or hours since the source post."""
    macro_f1: list[float]
    low: list[float | None]
    """95 % bootstrap interval over threads."""
    high: list[float | None]
    answered: list[float]
    """Share of threads with a label by then."""
    threads: int
    """How many are measured, each once however many seeds judged it."""
    without_times: int = 0
    """Threads that are left out, by hours."""
    undated: int = 0
    """Labels after the stop that are left out, by hours, since no time is known of their posts."""


@dataclass(frozen=True)
class Label:
    """A label that a run stored."""

    thread: str
    posts: int
    hours: float | None
    label: str | None
    """None where it abstained."""


def curves(
    runs: Sequence[Sequence[Row]],
    later: Sequence[Sequence[Row]],
    times: Mapping[str, Sequence[float | None]],
    labels: Sequence[str],
    unit: str,
) -> list[Curve]:
    """Measure a configuration over time.

    Args:
        runs: Rows of `predictions`, at all checkpoints, of each seed.
        later: Rows of `steps` with labels (thread_id, step, action, label), of each seed: those after the stop count,
            and that of the stop is in `runs`.
        times: Thread -> seconds of its posts, for labels after the stop; without them these have no hours.
        labels: The classes.
        unit: "posts" or "hours".

    Returns:
        One curve, or one a checkpoint where these are stop policies that do not follow from each other; none where
        nothing was measured or no thread has times.
    """
    untimed: set[str] = set()
    if unit == "hours":
        every = (row for rows in runs for row in rows)
        untimed = {row["thread_id"] for row in every if row["stop_index"] and row["seconds_to_stop"] is None}
        runs = [[row for row in rows if row["thread_id"] not in untimed] for rows in runs]
    later = [[row for row in rows if row["action"] == "after" and row["thread_id"] not in untimed] for rows in later]
    later = [after for rows, after in zip(runs, later, strict=True) if rows]
    runs = [rows for rows in runs if rows]
    checkpoints = list(dict.fromkeys(row["checkpoint"] for rows in runs for row in rows))
    together = len(checkpoints) == 1 or all((name or "").partition(":")[0] in _FIXED for name in checkpoints)
    found = []
    for only in [None] if together else checkpoints:
        stored = [
            [_stored(row) for row in rows if (together or row["checkpoint"] == only) and row["stop_index"]]
            + ([_after(row, times) for row in after] if len(checkpoints) == 1 else [])
            for rows, after in zip(runs, later, strict=True)
        ]
        gold = [{row["thread_id"]: row["gold"] for row in rows} for rows in runs]
        lengths = [row["n_posts"] for rows in runs for row in rows if row["n_posts"]]
        if curve := _curve(only, stored, gold, labels, unit, max(lengths, default=0)):
            found.append(replace(curve, without_times=len(untimed)))
    return found


def _stored(row: Row) -> Label:
    seconds = row["seconds_to_stop"]
    name, _, number = (row["checkpoint"] or row.get("when") or "").partition(":")
    if name == "hours" and seconds is not None:
        seconds = max(seconds, 3600 * float(number))  # when the clock strikes, and not when the last post before came
    return Label(row["thread_id"], row["stop_index"], None if seconds is None else seconds / 3600, row["label"])


def _after(row: Row, times: Mapping[str, Sequence[float | None]]) -> Label:
    known = times.get(row["thread_id"], ())
    seconds = known[row["step"] - 1] if row["step"] <= len(known) else None
    return Label(row["thread_id"], row["step"], None if seconds is None else seconds / 3600, row["label"])


def _curve(
    checkpoint: str | None,
    runs: Sequence[Sequence[Label]],
    gold: Sequence[Mapping[str, str]],
    labels: Sequence[str],
    unit: str,
    longest: int,
) -> Curve | None:
    threads = {name: index for index, name in enumerate(sorted({name for each in gold for name in each}))}
    k, number = len(labels), {label: index for index, label in enumerate(labels)}
    moments: list[Floats] = []
    undated = 0
    answers: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
    for stored in runs:
        timed = [each for each in stored if unit == "posts" or each.hours is not None]
        undated += len(stored) - len(timed)
        at = np.array([each.posts if unit == "posts" else each.hours for each in timed], float)
        order = np.argsort(at, kind="stable")
        moments.append(at[order])
        places = np.array([threads[each.thread] for each in timed], int)
        given = np.array([number.get(each.label or "", k) for each in timed], int)
        answers.append((places[order], given[order]))
    last = max((each[-1] for each in moments if len(each)), default=None)
    if last is None or not k:
        return None
    truth = np.full((len(runs), len(threads)), -1)
    for line, named in zip(truth, gold, strict=True):
        for name, label in named.items():
            line[threads[name]] = number[label]
    grid = _grid(POSTS if unit == "posts" else HOURS, max(last, longest) if unit == "posts" else last)
    values, lows, highs, shares = [], [], [], []
    for moment in grid:
        given = np.full(truth.shape, k)
        answered = np.zeros(truth.shape, bool)
        for seed, (at, (places, labelled)) in enumerate(zip(moments, answers, strict=True)):
            until = bisect.bisect_right(at, moment)
            given[seed, places[:until]] = labelled[:until]  # in the order of time: the last one stays
            answered[seed, places[:until]] = True
        cells = np.where(truth >= 0, truth * (k + 1) + given, -1)
        values.append(float(macro_f1(statistics.confusions(cells, k)).mean()))
        drawn = macro_f1(statistics.resample(cells, k, np.random.default_rng(0), _DRAWS)).mean(axis=-1)
        low, high = statistics.percentiles(drawn)
        lows.append(low)
        highs.append(high)
        shares.append(float((answered & (given < k)).sum() / (truth >= 0).sum()))
    return Curve(checkpoint, grid, values, lows, highs, shares, len(threads), undated=undated)


def _grid(moments: Sequence[float], last: float) -> list[float]:
    """The moments until the last label, and that of the last label itself."""
    return [*(float(each) for each in moments if each < last), float(last)]
