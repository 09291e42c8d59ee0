"""What the pictures of all studies share: sizes, colours that colour-blind readers tell apart, axes and lines."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from corpora.errors import UsageError
from eval.studies import Row
from eval.study_table import Result

ONE_COLUMN, TWO_COLUMNS = 3.3, 7.0  # inches
STYLE: Any = {
    "font.size": 7,
    "axes.titlesize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "grid.linewidth": 0.4,
    "grid.alpha": 0.4,
    "legend.frameon": False,
    "legend.fontsize": 6.5,
    "lines.linewidth": 1.2,
    "text.parse_math": False,  # a corpus may be called $x$
    "svg.hashsalt": "hearsay",  # the same picture is the same file
}
ORANGE, SKY, GREEN, BLUE, RED, PINK, GREY = (
    "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7", "#777777"
)  # fmt: skip
"""Okabe and Ito's colours."""
LOOKS = {
    "EARD": (BLUE, "o"),
    "CED": (ORANGE, "s"),
    "ERD": (GREEN, "^"),
    "HEARD": (PINK, "D"),
    "first post": (GREY, "<"),
    "all posts": (GREY, ">"),
    "preset hours": (SKY, "P"),
    "confidence": (SKY, "v"),
    "random stop": (RED, "x"),
    "oracle": ("#000000", "*"),
    "S2MAD": (BLUE, "o"),
    "vanilla": (ORANGE, "s"),
    "accuracy": (GREEN, "D"),
    "macro-F1": (BLUE, "o"),
}
"""System, or metric where that is what lines are of -> colour and marker."""
DASHES = {"first post": ":", "all posts": "--"}
READ = "early rate (share of posts read)"
MACRO_F1 = "macro-F1"


def new_figure(
    heading: str, width: float, height: float, rows: int = 1, columns: int = 1, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure with its heading and a grid of axes; width and height in inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.suptitle(heading, fontsize=7)
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    for ax in axes.flat:
        ax.grid(True)
        ax.set_axisbelow(True)
    return figure, list(axes.flat)


def save(figure: Figure, paths: Sequence[Path]) -> None:
    """Write a figure to each of the paths, PNG or SVG.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        for path in paths:
            figure.savefig(path, dpi=300, metadata={"Date": None} if path.suffix == ".svg" else None)
    except OSError as error:
        raise UsageError(f"cannot draw {error.filename or paths[0]}: {error.strerror or error}") from None


def spread(result: Result, name: str) -> tuple[float, float]:
    """Mean and standard deviation over seeds, 0 where there is one seed."""
    std = result.number(name, "std")
    return result.number(name), 0.0 if math.isnan(std) else std


def draw_lines(
    ax: Axes,
    results: Sequence[Result],
    metric: str,
    ylabel: str,
    at: Callable[[Row], float] = lambda row: row.x or 0.0,
    name: str = "",
) -> None:
    """One line a system, with its 95 % intervals.

    Args:
        ax: Where.
        results: Rows of the systems, in the order of x.
        metric: What y is.
        ylabel: What y is called.
        at: A row's place on the x axis.
        name: What the line is called and looks like, if not like the only system.
    """
    for system in dict.fromkeys(result.row.system for result in results):
        rows = [result for result in results if result.row.system == system]
        xs = [at(result.row) for result in rows]
        low, middle, high = ([result.number(metric, part) for result in rows] for part in ("low", "value", "high"))
        color, marker = LOOKS.get(name or system, (BLUE, "o"))
        style = DASHES.get(system, "-")
        ax.plot(xs, middle, style, color=color, marker=marker, markersize=3.5, label=name or system)
        ax.fill_between(xs, low, high, color=color, alpha=0.15, linewidth=0)
    ax.set_ylabel(ylabel)
