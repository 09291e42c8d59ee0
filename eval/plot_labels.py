"""Names beside the points of a scatter plot, none on top of another."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

SIZE = 6.0
"""Of the letters, in points of 1/72 inch; so is all that follows."""
_POINT, _BAR = 7.0, 1.0
_REACH = (5, 8, 11, 15, 20, 26, 33, 41, 50, 60, 72)
_ANGLES = (0, 180, 45, 315, 135, 225, 90, 270, 20, 340, 160, 200, 70, 290, 110, 250)
_NEAR = 8
_ON_BAR, _ON_POINT = 12, 1000
"""What lying there costs, in points of distance."""


@dataclass(frozen=True)
class Spot:
    """A point with error bars and its name, in data coordinates."""

    name: str
    x: float
    y: float
    dx: float = 0.0
    dy: float = 0.0


def write_labels(ax: Axes, spots: Sequence[Spot]) -> None:
    """Write each name as near its point as there is room, with a thin line where that is not beside it.

    A name lies on no point and no other name, if there is any other room, and rather not on an error bar.

    Args:
        ax: All else is drawn on it.
        spots: What to name; those that are NaN get no name.
    """
    figure = ax.figure
    assert isinstance(figure, Figure)
    spots = [spot for spot in spots if not math.isnan(spot.x) and not math.isnan(spot.y)]
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()  # lays the figure out, without which nothing has a place
    renderer, scale = canvas.get_renderer(), figure.dpi / 72
    room = ax.get_window_extent(renderer)
    points = [_box(ax, spot, 0, 0, _POINT * scale) for spot in spots]
    bars = [_box(ax, spot, spot.dx, 0, _BAR * scale) for spot in spots]
    bars += [_box(ax, spot, 0, spot.dy, _BAR * scale) for spot in spots]
    for spot, point in zip(spots, points[:], strict=True):
        middle = ((point.x0 + point.x1) / 2, (point.y0 + point.y1) / 2)
        text = ax.annotate(spot.name, middle, xycoords="figure pixels", fontsize=SIZE, ha="center", va="center")
        box = text.get_window_extent(renderer)
        text.remove()
        cheapest = math.inf
        there, move, far = box, (0.0, 0.0), False
        for reach, across, up in _moves(box.width, box.height, scale):
            place = box.translated(across, up)
            cost = reach + _ON_BAR * (place.count_overlaps(bars) > 0) + _ON_POINT * (place.count_overlaps(points) > 0)
            if cost < cheapest and _within(place, room):
                cheapest, there, move, far = cost, place, (across, up), reach > _NEAR
        points.append(there)
        line = {"arrowstyle": "-", "linewidth": 0.3, "color": "#555555", "shrinkA": 0, "shrinkB": 2}
        ax.annotate(
            spot.name,
            (spot.x, spot.y),
            (move[0] / scale, move[1] / scale),
            textcoords="offset points",
            fontsize=SIZE,
            ha="center",
            va="center",
            zorder=6,
            bbox={"boxstyle": "square,pad=0.05", "facecolor": "white", "alpha": 0.7, "linewidth": 0},
            arrowprops=line if far else None,
        )


def _box(ax: Axes, spot: Spot, dx: float, dy: float, least: float) -> Bbox:
    """Pixels that a spot takes with bars so far to both sides, at least so many in each direction."""
    (x0, y0), (x1, y1) = ax.transData.transform([(spot.x - dx, spot.y - dy), (spot.x + dx, spot.y + dy)])
    width, height = max(x1 - x0, least), max(y1 - y0, least)
    return Bbox.from_bounds((x0 + x1 - width) / 2, (y0 + y1 - height) / 2, width, height)


def _within(box: Bbox, room: Bbox) -> bool:
    return bool(room.x0 <= box.x0 and box.x1 <= room.x1 and room.y0 <= box.y0 and box.y1 <= room.y1)


def _moves(width: float, height: float, scale: float) -> Iterator[tuple[float, float, float]]:
    """Where a text may go: its distance, and how far across and up its middle is; the nearest first."""
    for reach in _REACH:
        for angle in _ANGLES:
            cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
            yield reach, cos * (reach * scale + width / 2), sin * (reach * scale + height / 2)
