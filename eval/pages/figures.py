"""Figures of a report about being early: answers over time, and macro-F1 against ER."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from eval.early import Curve, curves
from eval.pages.charts import Series, chart, span, ticks
from eval.pages.escape import safe
from eval.pages.gather import Edition, Side
from eval.pages.parts import counted
from eval.pages.sections import badge, table
from eval.pareto import frontier

Row = dict[str, Any]
Point = tuple[Side, str | None, Any, Any]
"""A side at a checkpoint, its ER and its macro-F1."""

_HOURS = ((0, "0"), (1 / 60, "1 min"), (5 / 60, "5 min"), (0.25, "15 min"), (1, "1 h"), (6, "6 h"), (24, "1 day"))
_DAYS = ((72, "3 days"), (168, "1 week"), (720, "30 days"))
_POSTS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)


def early(sides: Sequence[Side], editions: Sequence[Edition]) -> str:
    """Macro-F1 by posts read and by hours."""
    drawn = []
    for unit in ("posts", "hours"):
        found = [
            (side, curve)
            for side in sides
            if side.scores_labels
            for curve in curves(side.predictions, side.later, editions[side.edition].times, side.labels, unit)
        ]
        if found:
            drawn.append(f"<figure>{_early_chart(sides, found, unit)}</figure>")
    if not drawn:
        return ""
    return (
        "<p>At each moment a thread counts with the last label stored for it by then; one without a label yet counts "
        "as wrong, like an abstention, and the dotted line is the share that has one. So a method that stops once "
        "climbs as it decides: this is how good its answers are by then, and not what it would say if it had to. "
        "Labels are stored where a run stops, at each of its checkpoints, and with <code>--sea</code> after every "
        "later post.</p>"
        f'<div class="figures">{"".join(drawn)}</div>'
    )


def _left_out(sides: Sequence[Side], found: Sequence[tuple[Side, Curve]]) -> str:
    """What a chart by hours does not show."""
    told = {}
    for side, curve in found:
        if curve.without_times:
            threads = counted(curve.without_times, "thread has no times and is", "threads have no times and are")
            told[side.letter, "threads"] = f"{badge(sides, side)} {threads} left out by hours: n = {curve.threads:,}."
        if curve.undated:
            labels = counted(curve.undated, "label after the stop is", "labels after the stop are")
            why = "no time is known of their posts (the corpus has none, has changed, or is not here)"
            told[side.letter, "labels"] = f"{badge(sides, side)} {labels} not in the curve by hours: {why}."
    return "".join(f'<p class="note">{text}</p>' for text in told.values())


def _early_chart(sides: Sequence[Side], found: Sequence[tuple[Side, Curve]], unit: str) -> str:
    last = max(curve.at[-1] for _, curve in found)
    what = "posts read" if unit == "posts" else "time since the source post"
    series, dashes = [], Counter[str]()
    for side, curve in found:
        told = [
            f"{_moment(at, unit)}: macro-F1 {value:.3f}, {answered:.0%} of threads have a label"
            for at, value, answered in zip(curve.at, curve.macro_f1, curve.answered, strict=True)
        ]
        name = f"{side.letter} {curve.checkpoint or ''}".strip()
        line = Series(name, sides.index(side), curve.at, curve.macro_f1, curve.low, curve.high, told)
        series.append(replace(line, thin=curve.answered, dash=dashes[side.letter]))
        dashes[side.letter] += 1
    posts = [(float(each), f"{each:,}") for each in _POSTS if each <= last]
    hours = [(float(at), text) for at, text in (*_HOURS, *_DAYS) if at <= last]
    scale: Callable[[float], float] = math.log if unit == "posts" else (lambda hours: math.log1p(60 * hours))
    ends = "; ".join(f"{each.name} ends at {each.ys[-1]:.3f}" for each in series)
    picture = chart(
        f"Macro-F1 by {what}",
        f"{counted(len(series), 'curve', 'curves')}: {ends}.",
        series,
        x=(1.0 if unit == "posts" else 0.0, last),
        y=(0.0, 1.0),
        x_ticks=posts if unit == "posts" else hours,
        y_ticks=ticks(0, 1, 0.2),
        x_name=what,
        y_name="macro-F1",
        scale=scale,
    )
    rows = [
        [safe(each.name), _moment(at, unit), f"{value:.3f}", f"{share:.0%}"]
        for each in series
        for at, value, share in zip(each.xs, each.ys, each.thin, strict=True)
    ]
    numbers = table(["", what, "macro-F1", "with a label"], rows)
    beneath = f"{_legend(sides, found)}{_left_out(sides, found)}"
    return f"{picture}{beneath}<details><summary>the numbers</summary>{numbers}</details>"


def _moment(at: float, unit: str) -> str:
    if unit == "posts":
        return counted(int(at), "post", "posts")
    return f"{round(at * 60)} min" if at < 1 else f"{at:.3g} h"


def _legend(sides: Sequence[Side], found: Sequence[tuple[Side, Any]]) -> str:
    shown = dict.fromkeys(side.letter for side, _ in found)
    items = "".join(f"<li>{badge(sides, side, named=True)}</li>" for side in sides if side.letter in shown)
    if any(isinstance(each, Curve) for _, each in found):
        items += "<li>dotted: share of threads with a label</li>"
    return f'<ul class="legend">{items}</ul>'


def pareto(sides: Sequence[Side]) -> str:
    """Macro-F1 against ER, with the frontier of what nothing else on the same corpus and labels beats in both."""
    points: list[Point] = []
    for side in sides:
        for checkpoint, values in side.results.values.items():
            f1, rate = values.get("macro_f1"), values.get("early_rate")
            if f1 and rate and f1.value is not None and rate.value is not None:
                points.append((side, checkpoint, rate, f1))
    if not points:
        return ""
    best = _frontiers(points)
    near = [bound for _, _, _, f1 in points for bound in (f1.low, f1.high, f1.value) if bound is not None]
    low, high = span(near)
    several = Counter(side.letter for side, *_ in points)
    series = []
    for side in sides:
        own = [point for point in points if point[0] is side]
        series.append(
            Series(
                side.letter,
                sides.index(side),
                [rate.value for _, _, rate, _ in own],
                [f1.value for *_, f1 in own],
                [f1.low for *_, f1 in own],
                [f1.high for *_, f1 in own],
                [f"{side.letter} {at or ''}: ER {r.value:.3f}, macro-F1 {f.value:.3f}" for _, at, r, f in own],
                joined=False,
                names=[(at or "") if several[side.letter] > 1 else side.letter for _, at, _, _ in own],
            )
        )

    def line(to_x: Callable[[float], float], to_y: Callable[[float], float]) -> str:
        drawn = ""
        for joined in best.values():
            path = ""
            for number, (_, _, rate, f1) in enumerate(joined):
                x, y = to_x(rate.value), to_y(f1.value)
                path += f"M{x:.1f} {y:.1f}" if not number else f"H{x:.1f}V{y:.1f}"
            drawn += f'<path class="frontier" d="{path}"/>' if len(joined) > 1 else ""
        return drawn

    names = {
        what: ", ".join(f"{side.letter} {at or ''}".strip() for side, at, *_ in joined) for what, joined in best.items()
    }
    several_tasks = len(names) > 1
    named = "; ".join(f"{what}: {text}" if several_tasks else text for what, text in names.items())
    comparable = " on the same corpus and labels" if several_tasks else ""
    picture = chart(
        "Macro-F1 against early rate",
        f"{counted(len(points), 'point', 'points')}. Not beaten in both: {named}.",
        series,
        x=(0.0, 1.0),
        y=(low, high),
        x_ticks=ticks(0, 1, 0.2),
        y_ticks=ticks(low, high, 0.1 if high - low > 0.25 else 0.05),
        x_name="early rate: share of posts read",
        y_name="macro-F1",
        extra=line,
    )
    text = (
        "Up and to the left is better: right after few posts. Bars are 95 % bootstrap intervals over threads; the line "
        f"joins what no other{comparable} beats in both: {named}."
    )
    return (
        f'<figure>{picture}{_legend(sides, [(side, None) for side in sides])}</figure><p class="note">{safe(text)}</p>'
    )


def _frontiers(points: Sequence[Point]) -> dict[str, list[Point]]:
    """What to beat where: corpus and labels -> the points on their frontier, by ER. Others are another task."""
    tasks: dict[str, list[Point]] = {}
    for point in points:
        tasks.setdefault(point[0].task, []).append(point)
    return {
        what: [there[index] for index in frontier([(rate.value, f1.value) for _, _, rate, f1 in there])]
        for what, there in tasks.items()
    }
