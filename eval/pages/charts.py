"""Charts as inline SVG: colours come from the page's style, so that they are right in light, in dark and on paper."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from eval.pages.escape import safe

WIDTH, HEIGHT = 480, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 42, 14, 12, 44
_MARKERS = (
    "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0",
    "M-3 -3h6v6h-6z",
    "M0 -4l4 7h-8z",
    "M0 -4.5l4 4.5l-4 4.5l-4 -4.5z",
    "M0 4l4 -7h-8z",
    "M-1.3 -4h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7v-2.6h2.7z",
)
COLOURS = 8
"""Classes s0, s1, ... of report.css."""
Tick = tuple[float, str]


@dataclass(frozen=True)
class Series:
    """Points that belong together."""

    name: str
    slot: int
    """Decides colour and marker."""
    xs: Sequence[float]
    ys: Sequence[float]
    lows: Sequence[float | None] = ()
    highs: Sequence[float | None] = ()
    told: Sequence[str] = ()
    """What each point says when pointed at."""
    thin: Sequence[float] = ()
    """Another line over the same xs, drawn thin and dotted."""
    joined: bool = True
    dash: int = 0
    """Tells lines of one colour apart."""
    names: Sequence[str] = field(default=())
    """What is written beside each point."""


def marker(slot: int) -> str:
    """A series' marker alone, for legends."""
    return (
        f'<svg class="key-mark s{slot % COLOURS}" viewBox="-6 -6 12 12" aria-hidden="true">'
        f'<path class="dot" d="{_MARKERS[slot % len(_MARKERS)]}"/></svg>'
    )


def ticks(low: float, high: float, step: float) -> list[Tick]:
    """Even ones, to two places."""
    count = round((high - low) / step)
    return [(low + index * step, f"{low + index * step:.2f}".rstrip("0").rstrip(".")) for index in range(count + 1)]


def span(values: Sequence[float], step: float = 0.1) -> tuple[float, float]:
    """The range of shares worth showing: the values, rounded outwards."""
    if not values:
        return 0.0, 1.0
    low = max(0.0, math.floor(min(values) / step - 0.2) * step)
    high = min(1.0, math.ceil(max(values) / step + 0.2) * step)
    return low, max(high, low + 2 * step)


def chart(
    title: str,
    about: str,
    series: Sequence[Series],
    *,
    x: tuple[float, float],
    y: tuple[float, float],
    x_ticks: Sequence[Tick],
    y_ticks: Sequence[Tick],
    x_name: str,
    y_name: str,
    scale: Callable[[float], float] = float,
    extra: Callable[[Callable[[float], float], Callable[[float], float]], str] | None = None,
) -> str:
    """Draw series over two axes.

    Args:
        title: What it shows.
        about: The same for those who cannot see it, in a sentence or two.
        series: What to draw.
        x: Ends of the x axis.
        y: Ends of the y axis.
        x_ticks: Places and texts; those that would run into the one before are left out.
        y_ticks: The same of the other axis.
        x_name: What x is.
        y_name: What y is.
        scale: What of x is even along the axis.
        extra: Draws beneath the series, given where x and y lie.
    """
    low, high = scale(x[0]), scale(x[1])

    def to_x(value: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * (scale(value) - low) / ((high - low) or 1)

    def to_y(value: float) -> float:
        share = (min(max(value, y[0]), y[1]) - y[0]) / ((y[1] - y[0]) or 1)
        return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * share

    parts = [f"<title>{safe(title)}</title><desc>{safe(about)}</desc>"]
    for value, text in y_ticks:
        parts.append(f'<path class="grid" d="M{_LEFT} {to_y(value):.1f}H{WIDTH - _RIGHT}"/>')
        parts.append(f'<text class="tick" x="{_LEFT - 6}" y="{to_y(value) + 4:.1f}" text-anchor="end">{text}</text>')
    free = -math.inf
    for value, text in x_ticks:
        place, width = to_x(value), 7.0 * len(text)
        parts.append(f'<path class="grid" d="M{place:.1f} {_TOP}V{HEIGHT - _BOTTOM}"/>')
        if place - width / 2 > free:
            at = f'x="{place:.1f}" y="{HEIGHT - _BOTTOM + 16}" text-anchor="middle"'
            parts.append(f'<text class="tick" {at}>{safe(text)}</text>')
            free = place + width / 2
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    parts.append(f'<text class="axis" x="{middle:.0f}" y="{HEIGHT - 6}" text-anchor="middle">{safe(x_name)}</text>')
    parts.append(
        f'<text class="axis" transform="translate(11 {(HEIGHT - _BOTTOM) / 2:.0f}) rotate(-90)" '
        f'text-anchor="middle">{safe(y_name)}</text>'
    )
    if extra:
        parts.append(extra(to_x, to_y))
    taken: list[tuple[float, float, float]] = []
    parts += [_series(each, to_x, to_y, taken) for each in series]
    return f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{"".join(parts)}</svg>'


def _series(
    series: Series,
    to_x: Callable[[float], float],
    to_y: Callable[[float], float],
    taken: list[tuple[float, float, float]],
) -> str:
    """One series; `taken` are the places of the names written so far: left end, right end, base line."""
    points = [(to_x(x), to_y(y)) for x, y in zip(series.xs, series.ys, strict=True)]
    parts = []
    banded = [
        (x, to_y(low), to_y(high))
        for (x, _), low, high in zip(points, series.lows, series.highs, strict=False)
        if low is not None and high is not None
    ]
    if series.joined:
        if len(banded) > 1:
            there = " ".join(f"{x:.1f},{high:.1f}" for x, _, high in banded)
            back = " ".join(f"{x:.1f},{low:.1f}" for x, low, _ in reversed(banded))
            parts.append(f'<polygon class="band" points="{there} {back}"/>')
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline class="line d{series.dash % 4}" points="{line}"/>')
        if series.thin:
            thin = " ".join(f"{x:.1f},{to_y(y):.1f}" for (x, _), y in zip(points, series.thin, strict=True))
            parts.append(f'<polyline class="thin" points="{thin}"/>')
    else:
        parts += [f'<path class="error" d="M{x:.1f} {low:.1f}V{high:.1f}"/>' for x, low, high in banded]
    for index, (x, y) in enumerate(points):
        told = f"<title>{safe(series.told[index])}</title>" if series.told else ""
        parts.append(
            f'<path class="dot" transform="translate({x:.1f} {y:.1f})" '
            f'd="{_MARKERS[series.slot % len(_MARKERS)]}">{told}</path>'
        )
        if series.names and series.names[index]:
            parts.append(_name(series.names[index], x, y, taken))
    return f'<g class="s{series.slot % COLOURS}">{"".join(parts)}</g>'


def _name(text: str, x: float, y: float, taken: list[tuple[float, float, float]]) -> str:
    """A point's name beside it, at the first of some places where it runs into no other."""
    width, end = 7.5 * len(text), x > WIDTH - 120
    left, anchor = (x - 7 - width, "end") if end else (x + 7, "start")

    def free(base: float) -> bool:
        return all(left > right or left + width < other or abs(base - row) > 12 for other, right, row in taken)

    base = next((y + shift for shift in (-5, 14, -18, 27, -31, 40) if free(y + shift)), y - 5)
    taken.append((left, left + width, base))
    at = f'x="{x + (-7 if end else 7):.1f}" y="{base:.1f}" text-anchor="{anchor}"'
    return f'<text class="point" {at}>{safe(text)}</text>'
