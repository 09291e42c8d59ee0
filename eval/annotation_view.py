"""The stances of a thread's posts, for `eval.show`: what was said of each, what annotators say, and what was kept."""

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
from rich.table import Table
from rich.text import Text

from eval import read
from eval.results import line

Row = dict[str, Any]

HEADS = ("stance", "gold", "")
"""What `marks` says of a post."""
_KEPT = {True: "kept", False: "discarded", None: ""}
_STYLES = {True: "green", False: "red", None: ""}


def collect(connection: duckdb.DuckDBPyConnection, run_id: str, thread_id: str) -> list[Row]:
    """Rows of `annotations` of one thread; none in a database made before there were any."""
    if not read.has_annotations(connection):
        return []
    query = "SELECT * FROM annotations WHERE run_id = ? AND thread_id = ?"
    return read.rows(connection, query, [run_id, thread_id])


def of_last(rows: Sequence[Row], checkpoints: Sequence[str | None]) -> dict[str, Row]:
    """Post id -> its row, of the last checkpoint that has any.

    Args:
        rows: Of one thread, at all checkpoints.
        checkpoints: In the order of reading.
    """
    for checkpoint in reversed(checkpoints):
        if found := {row["post_id"]: row for row in rows if row["checkpoint"] == checkpoint}:
            return found
    return {}


def marks(row: Row | None) -> tuple[Text, Text, Text]:
    """Cells for HEADS: stance with its probability, what annotators say, and whether the post was kept."""
    if row is None:
        return Text(), Text(), Text()
    label, gold = row["label"], row["gold"]
    chance = (row["probabilities"] or {}).get(label)
    given = f"{label or '?'}{'' if chance is None else f' {chance:.2f}'}"
    right = "" if gold is None else "green" if label == gold else "red"
    return Text(line(given), style=right), Text(line(gold or "")), Text(_KEPT[row["kept"]], style=_STYLES[row["kept"]])


def why(row: Row | None) -> Text | None:
    """Why the post has that stance, or none."""
    words = row and (row["explanation"] or row["reason"])
    return Text(line(words), style="dim italic") if words else None


def alone(rows: Mapping[str, Row]) -> Table:
    """The same as a table of its own, for a thread whose posts are gone."""
    table = Table("post", *HEADS, "why", box=None, pad_edge=False, header_style="dim")
    for post, row in rows.items():
        table.add_row(Text(line(post)), *marks(row), why(row) or "")
    return table


def summary(rows: Mapping[str, Row]) -> str:
    """How many there are, and of what kind."""
    known = [row for row in rows.values() if row["gold"] is not None]
    parts = [f"{len(rows)} posts annotated"]
    if known:
        parts.append(f"{sum(row['label'] == row['gold'] for row in known)} of {len(known)} as annotators did")
    selected = [row["kept"] for row in rows.values() if row["kept"] is not None]
    if selected:
        parts.append(f"{sum(selected)} kept, {len(selected) - sum(selected)} discarded")
    return ", ".join(parts)
