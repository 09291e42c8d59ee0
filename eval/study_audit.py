"""What a study's table asks of the agent: is it better than chance and than no experts, and where does it stop?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
from rich.table import Table
from rich.text import Text

from eval import read
from eval.cells import plain_table
from eval.comparison import Comparison, measure
from eval.results import clean, label_set_of
from eval.statistics import holm
from eval.studies import NONE, SHUFFLED
from eval.study_table import Result

BINS = 10
_BLOCKS = " ▁▂▃▄▅▆▇█"
_LEVEL = 0.05


@dataclass(frozen=True)
class Stops:
    """Where one seed's run stopped."""

    seed: int
    n: int
    posts: tuple[float, float, float]
    """Quartiles of the posts read."""
    shares: tuple[float, float, float]
    """Quartiles of the posts read over the posts there are."""
    at_first: float
    """Share of threads stopped at their first post."""
    at_end: float
    """Share of threads read to their last post."""
    histogram: tuple[int, ...]
    """Threads by the share read, in BINS equal parts of (0, 1]."""


def stops_of(seed: int, rows: Sequence[dict[str, Any]]) -> Stops | None:
    """Describe where the threads of one seed were stopped; None where none was."""
    pairs = [(row["stop_index"], row["n_posts"]) for row in rows if row["stop_index"]]
    if not pairs:
        return None
    posts, length = np.array(pairs).T
    quartiles = [np.quantile(values, (0.25, 0.5, 0.75)).tolist() for values in (posts, posts / length)]
    # (0, 0.1] is the first part, (0.9, 1] the last; in whole numbers, which round nothing
    histogram = np.bincount((BINS * posts - 1) // length, minlength=BINS)
    first, end = float((posts == 1).mean()), float((posts == length).mean())
    return Stops(seed, len(pairs), tuple(quartiles[0]), tuple(quartiles[1]), first, end, tuple(histogram.tolist()))


def stop_positions(connection: duckdb.DuckDBPyConnection, result: Result) -> list[Stops]:
    """Where each seed of a row stopped."""
    found = []
    for run, rows in zip(result.report.runs, _predictions(connection, result), strict=True):
        if stops := stops_of(run["seed"], rows):
            found.append(stops)
    return found


def _predictions(connection: duckdb.DuckDBPyConnection, result: Result) -> list[list[dict[str, Any]]]:
    """A row's predictions, seed by seed."""
    at = result.row.checkpoint
    every = [read.predictions(connection, run["run_id"]) for run in result.report.runs]
    return [[row for row in rows if row["checkpoint"] == at] for rows in every]


def bars(histogram: Sequence[int]) -> str:
    """A histogram in one line of text; what is not empty shows."""
    highest = max(max(histogram), 1)
    return "".join(_BLOCKS[-(-8 * count // highest)] for count in histogram)


def stops_table(name: str, stops: Sequence[Stops]) -> Table:
    """Where an agent stopped, a line a seed."""
    title = Text(clean(f"where {name} stops: median [quartiles]"), style="bold")
    table = plain_table(title=title, title_justify="left")
    for head in ("seed", "posts read", "share read", "at post 1", "to the end"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("share, 0 to 1", no_wrap=True)
    for each in stops:
        low, middle, high = (round(value, 1) for value in each.posts)
        share = each.shares
        cells = (
            str(each.seed),
            f"{middle:g} [{low:g}, {high:g}]",
            f"{share[1]:.2f} [{share[0]:.2f}, {share[2]:.2f}]",
            f"{each.at_first:.0%}",
            f"{each.at_end:.0%}",
            f"|{bars(each.histogram)}|",
        )
        table.add_row(*map(Text, cells))
    return table


def opponents(results: Sequence[Result], agent: Result) -> list[tuple[str, Result]]:
    """What an agent is held against, each with the words for it."""
    found = []
    for result in results:
        row = result.row
        if row.of == agent.row.label:
            words = {
                f"{row.of}, {SHUFFLED}": "the same training on shuffled experts",
                f"{row.of}, {NONE}": "the same training without experts",
            }.get(row.label, "random stopping at the same ER")
            found.append((words, result))
        elif row.system == "first post":
            found.append(("reading the first post only", result))
        elif row.system == "all posts":
            found.append(("reading all posts", result))
    if sure := [result for result in results if result.row.system == "confidence"]:
        nearest = min(sure, key=lambda each: abs(each.number("early_rate") - agent.number("early_rate")))
        found.append((f"the confidence rule nearest in ER ({nearest.row.x:g})", nearest))
    return found


def against(connection: duckdb.DuckDBPyConnection, agent: Result, other: Result) -> Comparison | None:
    """The agent minus another row on the threads that both have judged, seed by seed; None where there are none."""
    sides = []
    for result in (other, agent):
        seeds = [run["seed"] for run in result.report.runs]
        sides.append(dict(zip(seeds, _predictions(connection, result), strict=True)))
    common = [seed for seed in sides[0] if seed in sides[1]]
    rows = [[side[seed] for seed in common] for side in sides]
    every = [row for side in rows for seed in side for row in seed]
    if not every:
        return None
    labels = label_set_of(agent.report.runs[0], every).labels
    rng = np.random.default_rng(0)  # a table that is shown again shows the same digits
    return measure(other.row.label, agent.row.label, "", rows, labels, rng)


def sentence(comparison: Comparison, opponent: str, p: float, rates: tuple[float, float]) -> str:
    """What a comparison means, in words and figures.

    Args:
        comparison: The agent minus its opponent.
        opponent: What it is called.
        p: Of the difference in macro-F1, adjusted.
        rates: ER of the agent and of the opponent.
    """
    gain = comparison.macro_f1
    beats = gain > 0 and p < _LEVEL
    claim = f"{comparison.second} {'beats' if beats else 'does not beat'} {opponent} here"
    if gain < 0 and p < _LEVEL:
        claim += ", but does worse"
    interval = ""
    if comparison.macro_f1_low is not None:
        interval = f" [{comparison.macro_f1_low:+.3f}, {comparison.macro_f1_high:+.3f}]"
    figures = f"macro-F1 {gain:+.3f}{interval}, p = {p:.2g}, n = {comparison.n}"
    taught = "" if beats or "experts" not in opponent else " What it does, it has not learned from its experts."
    return f"{claim} ({figures}; ER {rates[0]:.3f} against {rates[1]:.3f}).{taught}"


def verdicts(connection: duckdb.DuckDBPyConnection, results: Sequence[Result]) -> list[str]:
    """A sentence for each agent and opponent; all p values adjusted together (Holm)."""
    found = []
    for agent in (result for result in results if result.row.kind == "agent"):
        for words, other in opponents(results, agent):
            if comparison := against(connection, agent, other):
                rates = agent.number("early_rate"), other.number("early_rate")
                found.append((comparison, words, rates))
    adjusted = holm([comparison.macro_f1_p for comparison, _, _ in found])
    return [
        sentence(comparison, words, p, rates) for (comparison, words, rates), p in zip(found, adjusted, strict=True)
    ]
