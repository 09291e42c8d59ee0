"""What our tables look like, and what stands in their cells: values with deviations and intervals, as many as fit."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table

from eval.metrics import COUNT_METRICS, Estimate
from eval.published import Published
from eval.stance_metrics import KEPT, PREFIX

PAPER = "† "
"""Begins the name of a row that is a paper's own."""
_HEADS = {
    "macro_f1": "macro-F1",
    "micro_f1": "micro-F1",
    "early_rate": "ER",
    "sea": "SEA",
    "stance_n": "posts",
    KEPT: "kept",
    "seconds_per_thread": "seconds",
    "calls_per_thread": "calls",
    "tokens_per_thread": "tokens",
}
_SHARES = re.compile(f"(?:{PREFIX})?(?:macro_f1|micro_f1|f1_.*)|{KEPT}|accuracy|early_rate|sea|flip_rate|coverage")


def plain_table(**options: Any) -> Table:
    """A table with a line under its heads and no other; options are rich's."""
    return Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, **options)


def cell(value: Estimate) -> str:
    """A value as tables print it: mean ± std, and its interval on a second line."""
    if value.value is None:
        return "–"
    spell = _speller(value.name, value.value)
    text = spell(value.value) + ("" if value.std is None else f" ± {spell(value.std)}")
    return text if value.low is None or value.high is None else f"{text}\n[{spell(value.low)}, {spell(value.high)}]"


def _speller(name: str, value: float) -> Callable[[float], str]:
    """How a metric's numbers are written: shares to three places, others to three digits of their mean."""
    places = 3 if _SHARES.fullmatch(name) else 0 if not value else max(0, 2 - math.floor(math.log10(abs(value))))
    if name in (*COUNT_METRICS, "stance_n", "stance_abstained"):
        places = 0 if value == int(value) else 1
    return f"{{:,.{places}f}}".format


def head(name: str) -> str:
    """A metric's name as tables print it; those of stances have tables of their own, and are called as others are."""
    if name in _HEADS:
        return _HEADS[name]
    return head(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else name.replace("f1_", "F1 ", 1)


def fit(cells: Mapping[str, Sequence[str]], width: int) -> list[list[str]]:
    """Divide columns among as many tables as a width asks for.

    Args:
        cells: Column -> all texts in it, its head among them.
        width: Characters beside the heads of the rows.

    Returns:
        The columns of each table; at least one each.
    """
    chunks: list[list[str]] = [[]]
    left = width
    for name, texts in cells.items():
        need = 2 + max(len(line) for text in texts for line in text.split("\n"))
        if need > left and chunks[-1]:
            chunks.append([])
            left = width
        chunks[-1].append(name)
        left -= need
    return chunks


def paper_cell(row: Published, name: str) -> str:
    """A paper's figure as tables print it, empty where it has none."""
    if name not in row.values:
        return ""
    value, std = row.values[name]
    return f"{value:.3f}" if std is None else f"{value:.3f} ± {std:.3f}"
