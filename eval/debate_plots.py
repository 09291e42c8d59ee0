"""The pictures of S2MAD's studies; hollow diamonds are the paper's own figures, where corpus and model are its."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from eval.debate_studies import POSTS, S2MAD, VANILLA
from eval.plot_parts import BLUE, LOOKS, MACRO_F1, ONE_COLUMN, TWO_COLUMNS, draw_lines, new_figure
from eval.studies import Row
from eval.study_table import Result, other_papers

Spot = tuple[float, float, str]
"""A place and its colour."""
_PALE = "#DDDDDD"


def _debate(heading: str, results: Sequence[Result]) -> Figure:
    """Table 1 as bars: the paper's other systems, then a group a model."""
    figure, axes = new_figure(heading, TWO_COLUMNS, 2.9, 1, 2, sharey=True)
    others = other_papers("debate", results)
    models = list(dict.fromkeys(result.row.group for result in results))
    names = ["† " + paper.system for paper in others] + [_short(model) for model in models]
    for ax, (metric, title) in zip(axes, (("accuracy", "accuracy"), ("macro_f1", MACRO_F1)), strict=True):
        ax.bar(range(len(others)), [paper.values[metric][0] for paper in others], 0.6, color=_PALE, edgecolor="#777777")
        papers: list[Spot] = []
        for side, system in ((-0.2, VANILLA), (0.2, S2MAD)):
            rows = [result for result in results if result.row.system == system]
            xs = [len(others) + models.index(result.row.group) + side for result in rows]
            heights, (below, above) = [result.number(metric) for result in rows], _reach(rows, metric)
            color = LOOKS[system][0]
            ax.bar(xs, heights, 0.38, yerr=(below, above), color=color, error_kw={"elinewidth": 0.6}, label=system)
            for x, row in zip(xs, rows, strict=True):
                papers += [(x, value, "black") for value in _figures(row, metric)]
        _diamonds(ax, papers)
        ax.set(ylabel=title, ylim=(0, 1))
        slant: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if len(names) > 3 else {}
        ax.set_xticks(range(len(names)), names, **slant)
        ax.grid(False, axis="x")
    handles, labels = axes[0].get_legend_handles_labels()
    named = sorted(zip(labels, handles, strict=True), key=lambda pair: pair[0].startswith("†"))
    figure.legend([handle for _, handle in named], [name for name, _ in named], loc="outside lower center", ncols=3)
    return figure


def _ablations(heading: str, results: Sequence[Result]) -> Figure:
    """Table 2 as bars of accuracy."""
    figure, (ax,) = new_figure(heading, ONE_COLUMN, 2.8)
    places, (below, above) = range(len(results)), _reach(results, "accuracy")
    colors = [BLUE if result.row.system == S2MAD else LOOKS["preset hours"][0] for result in results]
    widths = [result.number("accuracy") for result in results]
    ax.barh(places, widths, 0.65, xerr=(below, above), color=colors, error_kw={"elinewidth": 0.6})
    papers = [(value, y, "black") for y, row in enumerate(results) for value in _figures(row, "accuracy")]
    _diamonds(ax, papers)
    ax.set(xlabel="accuracy", xlim=(0, 1))
    ax.set_yticks(places, [result.row.label for result in results])
    ax.invert_yaxis()
    ax.grid(False, axis="y")
    if papers:
        _legend(ax)
    return figure


def _rounds(heading: str, results: Sequence[Result]) -> Figure:
    """Figure 2: accuracy and macro-F1 by the number of rounds."""
    figure, (ax,) = new_figure(heading, ONE_COLUMN, 2.8)
    papers = []
    for metric, name in (("accuracy", "accuracy"), ("macro_f1", MACRO_F1)):
        draw_lines(ax, results, metric, "", name=name)
        papers += [(row.row.x or 0.0, value, LOOKS[name][0]) for row in results for value in _figures(row, metric)]
    _diamonds(ax, papers)
    ax.set(xlabel="rounds of debate, M", ylabel="value")
    ax.set_xticks([result.row.x or 0.0 for result in results])
    _legend(ax)
    return figure


def _early(heading: str, results: Sequence[Result]) -> Figure:
    """Figure 3: macro-F1 by how many posts there are to read."""

    def at(row: Row) -> float:
        return float(len(POSTS) if row.x is None else POSTS.index(int(row.x)))

    figure, (ax,) = new_figure(heading, ONE_COLUMN, 2.8)
    draw_lines(ax, results, "macro_f1", MACRO_F1, at)
    papers = [
        (at(result.row), value, LOOKS[result.row.system][0])
        for result in results
        for value in _figures(result, "macro_f1")
    ]
    _diamonds(ax, papers)
    ax.set_xlabel("posts read, at most")
    ax.set_xticks(range(len(POSTS) + 1), [*map(str, POSTS), "all"])
    _legend(ax)
    return figure


def _short(model: str) -> str:
    """A model's name without where it runs and who made it."""
    return model.partition(":")[2].rstrip("/").rpartition("/")[2]


def _reach(results: Sequence[Result], metric: str) -> tuple[list[float], list[float]]:
    """How far the 95 % intervals reach below and above the values."""
    low, middle, high = ([row.number(metric, part) for row in results] for part in ("low", "value", "high"))
    below = [max(0.0, value - end) for value, end in zip(middle, low, strict=True)]
    return below, [max(0.0, end - value) for value, end in zip(middle, high, strict=True)]


def _figures(result: Result, metric: str) -> list[float]:
    """What the paper has for the same, if anything."""
    return [paper.values[metric][0] for paper in result.published if metric in paper.values]


def _diamonds(ax: Axes, papers: Sequence[Spot]) -> None:
    """The paper's own figures, if there are any."""
    if papers:
        xs, ys, colors = zip(*papers, strict=True)
        looks: dict[str, Any] = {"s": 14, "marker": "D", "facecolors": "white", "linewidths": 0.8, "zorder": 5}
        ax.scatter(xs, ys, edgecolors=colors, label="† the paper's", **looks)


def _legend(ax: Axes) -> None:
    ax.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))


PICTURES = {"debate": _debate, "ablations": _ablations, "rounds": _rounds, "early": _early}
"""Study -> what draws it, from its heading and its rows."""
