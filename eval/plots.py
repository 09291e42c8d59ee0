"""The pictures of the studies, for a page of a paper: PNG and SVG, in colours that colour-blind readers tell apart."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from eval import debate_plots, jsdrv_plots
from eval.debate_studies import ABOUT
from eval.pareto import frontier
from eval.plot_labels import Spot, write_labels
from eval.plot_parts import (
    BLUE,
    DASHES,
    GREEN,
    GREY,
    LOOKS,
    MACRO_F1,
    ONE_COLUMN,
    ORANGE,
    PINK,
    READ,
    RED,
    SKY,
    STYLE,
    TWO_COLUMNS,
    draw_lines,
    new_figure,
    save,
    spread,
)
from eval.studies import Row
from eval.study_audit import BINS, Stops
from eval.study_table import Result, setting, span, title


def draw(study: str, results: Sequence[Result], stops: Sequence[Stops], out: Path, name: str) -> list[Path]:
    """Draw a study.

    Args:
        study: Its name.
        results: Its rows.
        stops: Where the agent stopped, seed by seed, for the table's picture.
        out: Folder for the files.
        name: Of the files, without ending.

    Returns:
        The PNG and the SVG.

    Raises:
        UsageError: they cannot be written.
    """
    paths = [out / f"{name}.png", out / f"{name}.svg"]
    with rc_context(STYLE):
        wide = study in ("table", "cross", "debate", *jsdrv_plots.PICTURES)
        width = TWO_COLUMNS if wide else ONE_COLUMN
        heading = _heading(study, results, width)
        figure = _table(heading, results, stops) if study == "table" else _PICTURES[study](heading, results)
        save(figure, paths)
    return paths


def _heading(study: str, results: Sequence[Result], width: float) -> str:
    seeds = max(len(result.threads) for result in results)
    counts = [count for result in results for count in result.threads]
    text = f"{title(study, results)}, n = {span(counts)} test threads, {seeds} seed{'s' * (seeds > 1)}"
    if study in ABOUT or study in jsdrv_plots.PICTURES:
        text += f", {setting(study, results)}"
    return textwrap.fill(text, int(17.5 * width), break_on_hyphens=False)


def _point(ax: Axes, result: Result, **looks: Any) -> None:
    """One row at its ER and macro-F1, with bars of one standard deviation over seeds."""
    (x, dx), (y, dy) = spread(result, "early_rate"), spread(result, "macro_f1")
    color, marker = LOOKS.get(result.row.system, (BLUE, "o"))
    hollow = {"markerfacecolor": "white"} if result.row.kind == "audit" and marker == "o" else {}
    style: dict[str, Any] = {"color": color, "marker": marker, "markersize": 4, "elinewidth": 0.5} | hollow | looks
    _, _, bars = ax.errorbar([x], [y], xerr=[dx], yerr=[dy], linestyle="none", **style)
    for bar in bars:
        bar.set_alpha(0.45)


def _short(row: Row, several: bool) -> str:
    """A row's name where there is little room; an audit is of the only agent unless there are several."""
    if row.system in ("oracle", "random stop"):
        return f"{row.system} ({row.of})" if several and row.of else row.system
    return row.label if several or not row.of else row.label.removeprefix(f"{row.of}, ")


def _places(results: Sequence[Result]) -> list[tuple[float, float]]:
    return [(result.number("early_rate"), result.number("macro_f1")) for result in results]


def _label(ax: Axes, results: Sequence[Result], names: Sequence[str]) -> None:
    spots = []
    for result, name in zip(results, names, strict=True):
        (x, dx), (y, dy) = spread(result, "early_rate"), spread(result, "macro_f1")
        spots.append(Spot(name, x, y, dx, dy))
    write_labels(ax, spots)


def _frontier(ax: Axes, results: Sequence[Result]) -> None:
    """Outline the Pareto-optimal rows and join them."""
    places = _places(results)
    best = frontier(places)
    xs, ys = [places[i][0] for i in best], [places[i][1] for i in best]
    ax.plot(xs, ys, linestyle="--", color="black", linewidth=0.7, zorder=1, label="Pareto frontier")
    ax.scatter(xs, ys, s=40, facecolors="none", edgecolors="black", linewidths=0.7, zorder=4)


def _table(heading: str, results: Sequence[Result], stops: Sequence[Stops]) -> Figure:
    figure, (ax, below) = new_figure(heading, TWO_COLUMNS, 3.3, 1, 2, width_ratios=(2.2, 1))
    for result in results:
        _point(ax, result)
    sure = [result for result in results if result.row.system == "confidence"]
    ax.plot([x for x, _ in _places(sure)], [y for _, y in _places(sure)], color=SKY, linewidth=0.6)
    # the oracle knows the labels: it bounds the others, and is no rival on their frontier
    _frontier(ax, [result for result in results if result.row.system != "oracle"])
    ax.set(xlabel=READ, ylabel=MACRO_F1)
    agents = [result.row.label for result in results if result.row.kind == "agent"]
    width = 1 / (BINS * (len(stops) + 0.5))
    colors = (BLUE, ORANGE, GREEN, RED, PINK, SKY, GREY)
    for place, each in enumerate(stops):
        lefts = [part / BINS + (place + 0.25) * width for part in range(BINS)]
        heights = [count / each.n for count in each.histogram]
        below.bar(lefts, heights, width, align="edge", color=colors[place % len(colors)], label=f"seed {each.seed}")
    below.set(xlabel=f"share of posts read by {agents[0]}", ylabel="share of threads", xlim=(0, 1))
    if stops:
        below.legend(handlelength=0.8)
    _label(ax, results, [_short(result.row, len(agents) > 1) for result in results])
    return figure


def _shots(heading: str, results: Sequence[Result]) -> Figure:
    figure, (above, below) = new_figure(heading, ONE_COLUMN, 3.6, 2, 1, sharex=True, height_ratios=(2, 1))
    draw_lines(above, results, "macro_f1", MACRO_F1)
    draw_lines(below, results, "early_rate", "early rate")
    below.set_xlabel("labelled threads (shots)")
    below.set_xticks(sorted({result.row.x for result in results if result.row.x is not None}))
    above.legend()
    return figure


def _alpha(heading: str, results: Sequence[Result]) -> Figure:
    figure, (ax,) = new_figure(heading, ONE_COLUMN, 3.0)
    agents = [result for result in results if result.row.kind == "agent"]
    others = [result for result in results if result.row.kind != "agent"]
    for result in agents:
        _point(ax, result, color="#AAAAAA", marker="")
    for result in others:
        _point(ax, result)
    places = _places(agents)
    points = ax.scatter(
        [x for x, _ in places], [y for _, y in places], c=[result.row.x or 0.0 for result in agents],
        cmap="cividis", s=22, zorder=3,
    )  # fmt: skip
    _frontier(ax, results)
    figure.colorbar(points, ax=ax, label="α, weight of CE", shrink=0.8)
    names = [f"{result.row.x:g}" for result in agents] + [result.row.label for result in others]
    ax.set(xlabel=READ, ylabel=MACRO_F1)
    _label(ax, [*agents, *others], names)
    return figure


def _cross(heading: str, results: Sequence[Result]) -> Figure:
    figure, axes = new_figure(heading, TWO_COLUMNS, 3.2, 2, 1, sharex=True)
    groups = list(dict.fromkeys(result.row.group for result in results))
    systems = list(dict.fromkeys(result.row.system for result in results))
    width = 0.8 / len(systems)
    for ax, metric, name in zip(axes, ("macro_f1", "early_rate"), (MACRO_F1, "early rate"), strict=True):
        for place, system in enumerate(systems):
            rows = [result for result in results if result.row.system == system]
            xs = [groups.index(result.row.group) - 0.4 + (place + 0.5) * width for result in rows]
            heights, errors = zip(*(spread(result, metric) for result in rows), strict=True)
            color = LOOKS.get(system, (BLUE, ""))[0] if system != "all posts" else "#BBBBBB"
            ax.bar(xs, heights, width * 0.92, yerr=errors, color=color, error_kw={"elinewidth": 0.5}, label=system)
        ax.set_ylabel(name)
        ax.set_ylim(bottom=0)
        ax.grid(False, axis="x")
    axes[1].set_xticks(range(len(groups)), [f"{name} (itself)" if not i else name for i, name in enumerate(groups)])
    axes[1].set_xlabel("corpus that the shots come from")
    axes[0].legend(ncols=len(systems), loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def _hours(heading: str, results: Sequence[Result]) -> Figure:
    figure, axes = new_figure(heading, ONE_COLUMN, 3.6, 2, 1, sharex=True)
    clock = [result for result in results if result.row.system == "preset hours"]
    rest = [result for result in results if result.row.system != "preset hours"]
    hours = [result.row.x or 0.0 for result in clock]
    for ax, metric, name in zip(axes, ("macro_f1", "early_rate"), (MACRO_F1, "early rate"), strict=True):
        draw_lines(ax, clock, metric, name)
        for result in rest:
            color, style = LOOKS.get(result.row.system, (BLUE, ""))[0], DASHES.get(result.row.system, "-")
            ax.axhline(result.number(metric), color=color, linestyle=style, label=result.row.label)
            if result.row.kind == "agent":
                ax.axhspan(result.number(metric, "low"), result.number(metric, "high"), color=color, alpha=0.15, lw=0)
    axes[1].set(xlabel="hours after the source post")
    axes[1].set_xticks(hours, [f"{hour:g}" for hour in hours])
    axes[0].yaxis.set_major_locator(MaxNLocator(5))
    axes[0].legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


_PICTURES = {
    "shots": _shots,
    "alpha": _alpha,
    "cross": _cross,
    "hours": _hours,
    **debate_plots.PICTURES,
    **jsdrv_plots.PICTURES,
}
