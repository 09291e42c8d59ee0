"""The pictures of JSDRV's studies: a panel for the veracity of claims, one for the stances of posts.

Hollow diamonds are the paper's own figures of macro-F1; hollow circles are micro-F1, measured here.
"""

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from eval.jsdrv_studies import SEEDS_ONLY, WHOLE, WITHOUT
from eval.plot_parts import BLUE, GREY, ORANGE, SKY, TWO_COLUMNS, new_figure
from eval.published import Published
from eval.study_table import Result, beside, other_papers

PANELS = (("macro_f1", "micro_f1", "veracity of claims"), ("stance_macro_f1", "stance_micro_f1", "stances of posts"))
"""Macro-F1, micro-F1 and what they are of."""
_COLORS = {WHOLE: BLUE, SEEDS_ONLY: ORANGE}
_ROW = 0.23
"""Inches."""


def _joint(heading: str, results: Sequence[Result]) -> Figure:
    """Tables 1 and 2 as bars, a pair for what learned with the overlap and without; the paper's systems beneath."""
    papers = other_papers("joint", results)
    systems = list(dict.fromkeys(result.row.system for result in results))
    names = [*systems, *(f"† {paper.system}" for paper in papers)]
    panels = _panels(results)
    figure, axes = new_figure(heading, TWO_COLUMNS, 1.2 + _ROW * max(len(names), 7), 1, len(panels), sharey=True)
    several = any(result.row.group for result in results)
    for ax, (macro, micro, title) in zip(axes, panels, strict=True):
        for result in results:
            # what learned from no thread has no pair
            alone = not several or sum(other.row.system == result.row.system for other in results) == 1
            side = 0.0 if alone else 0.2 if result.row.group == WITHOUT else -0.2
            color = SKY if several and not alone and not result.row.group else BLUE
            _bar(ax, systems.index(result.row.system) + side, result, macro, micro, 0.7 if alone else 0.36, color)
        _diamonds(ax, [(len(systems) + place, paper) for place, paper in enumerate(papers)], macro)
        ax.set(xlabel="macro-F1", xlim=(0, 1), title=title)
    _rows(axes, names)
    handles: list[Any] = [_circle()]
    if several:
        handles = [Patch(color=SKY, label="overlap included"), Patch(color=BLUE, label=WITHOUT), *handles]
    _legend(figure, handles, bool(papers))
    return figure


def _parts(heading: str, results: Sequence[Result]) -> Figure:
    """Table 3 as bars; the line is the whole."""
    panels = _panels(results)
    figure, axes = new_figure(heading, TWO_COLUMNS, 1.2 + _ROW * max(len(results), 7), 1, len(panels), sharey=True)
    own = [beside("parts", result) for result in results]
    for ax, (macro, micro, title) in zip(axes, panels, strict=True):
        for place, result in enumerate(results):
            _bar(ax, place, result, macro, micro, 0.65, BLUE if result.row.system == WHOLE else SKY)
            if result.row.system == WHOLE and not math.isnan(result.number(macro)):
                ax.axvline(result.number(macro), color=BLUE, linewidth=0.6, linestyle="--", zorder=1)
        _diamonds(ax, [(place, paper) for place, each in enumerate(own) for paper in each], macro)
        ax.set(xlabel="macro-F1", xlim=(0, 1), title=title)
    _rows(axes, [result.row.label for result in results])
    _legend(figure, [_circle()], any(own))
    return figure


def _lines(xlabel: str, heading: str, results: Sequence[Result]) -> Figure:
    """Figures 7 and 8: macro-F1 with its interval, and micro-F1."""
    panels = _panels(results)
    figure, axes = new_figure(heading, TWO_COLUMNS, 2.7, 1, len(panels), sharex=True)
    systems = list(dict.fromkeys(result.row.system for result in results))
    for ax, (macro, micro, title) in zip(axes, panels, strict=True):
        for system in systems:
            rows = [result for result in results if result.row.system == system]
            xs, color = [result.row.x or 0.0 for result in rows], _COLORS.get(system, GREY)
            low, middle, high = ([row.number(macro, part) for row in rows] for part in ("low", "value", "high"))
            ax.plot(xs, middle, "-o", color=color, markersize=3.5)
            ax.fill_between(xs, low, high, color=color, alpha=0.15, linewidth=0)
            looks: dict[str, Any] = {"markersize": 3.5, "markerfacecolor": "white", "linewidth": 0.8}
            ax.plot(xs, [row.number(micro) for row in rows], ":o", color=color, **looks)
        ax.set(xlabel=xlabel, ylabel="F1", title=title)
        ax.set_xticks(sorted({result.row.x or 0.0 for result in results}))
    handles: list[Any] = [Line2D([], [], color=_COLORS.get(system, GREY), label=system) for system in systems]
    grey: dict[str, Any] = {"color": GREY, "marker": "o", "markersize": 3.5}
    handles.append(Line2D([], [], linestyle="-", label="macro-F1", **grey))
    handles.append(Line2D([], [], linestyle=":", markerfacecolor="white", label="micro-F1", **grey))
    _legend(figure, handles if len(systems) > 1 else handles[1:], papers=False)
    return figure


def _seeds(heading: str, results: Sequence[Result]) -> Figure:
    return _lines("share of training claims that are labelled", heading, results)


def _epsilon(heading: str, results: Sequence[Result]) -> Figure:
    return _lines("ε, how often chance chooses", heading, results)


def _panels(results: Sequence[Result]) -> list[tuple[str, str, str]]:
    """Those of which anything was measured."""
    return [panel for panel in PANELS if any(panel[0] in result.values for result in results)] or [PANELS[0]]


def _bar(ax: Axes, y: float, result: Result, macro: str, micro: str, height: float, color: str) -> None:
    value, low, high = (result.number(macro, part) for part in ("value", "low", "high"))
    if not math.isnan(value):
        reach = None if math.isnan(low) else ([max(0.0, value - low)], [max(0.0, high - value)])
        ax.barh([y], [value], height, xerr=reach, color=color, error_kw={"elinewidth": 0.6})
    ax.plot(
        [result.number(micro)], [y], "o", color="black", markerfacecolor="white", markersize=2.8, markeredgewidth=0.6
    )


def _diamonds(ax: Axes, papers: Sequence[tuple[int, Published]], metric: str) -> None:
    """The paper's own figures, where it has them."""
    spots = [(paper.values[metric][0], y) for y, paper in papers if metric in paper.values]
    if spots:
        xs, ys = zip(*spots, strict=True)
        ax.scatter(xs, ys, s=14, marker="D", facecolors="white", edgecolors="black", linewidths=0.8, zorder=5)


def _rows(axes: Sequence[Axes], names: Sequence[str]) -> None:
    """Name the bars, the first on top."""
    axes[0].set_yticks(range(len(names)), names)
    axes[0].set_ylim(len(names) - 0.4, -0.6)
    for ax in axes:
        ax.grid(False, axis="y")


def _circle() -> Line2D:
    looks: dict[str, Any] = {"linestyle": "", "color": "black", "markerfacecolor": "white"}
    return Line2D([], [], marker="o", markersize=2.8, markeredgewidth=0.6, label="micro-F1", **looks)


def _legend(figure: Figure, handles: list[Any], papers: bool) -> None:
    if papers:
        looks: dict[str, Any] = {"linestyle": "", "color": "black", "markerfacecolor": "white", "markersize": 3.5}
        handles = [*handles, Line2D([], [], marker="D", label="† the paper's macro-F1", **looks)]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))


PICTURES = {"joint": _joint, "parts": _parts, "seeds": _seeds, "epsilon": _epsilon}
"""Study -> what draws it, from its heading and its rows."""
