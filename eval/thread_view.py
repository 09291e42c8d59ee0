"""One thread of a run, for `eval.show`: its posts and where the reading stopped, the debate, verdicts, the calls."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from corpora.catalog import LoadedCorpus, load
from corpora.errors import UsageError
from corpora.thread import ClaimThread
from eval import annotation_view, debate_view, read
from eval.attacks import attack_named
from eval.results import clean, line, order

Row = dict[str, Any]

_DEEPEST = 6
"""Replies below this level are not indented further."""


@dataclass(frozen=True)
class ThreadView:
    """What the database knows of a thread."""

    run: Row
    """The run that posts and calls are shown of: the first that judged the thread."""
    verdicts: list[Row]
    """Rows of `predictions` with the seed of their run, of every run given."""
    calls: list[Row]
    """Rows of `calls`, cached ones with the request and reply of the call that they repeat."""
    annotations: list[Row] = field(default_factory=list)
    """Rows of `annotations`."""


def collect(connection: duckdb.DuckDBPyConnection, runs: Sequence[Row], thread_id: str) -> ThreadView:
    """Gather what runs recorded of a thread.

    Raises:
        UsageError: none of them has judged it.
    """
    query = """SELECT predictions.*, seed FROM predictions JOIN runs USING (run_id)
               WHERE thread_id = $1 AND run_id IN (SELECT unnest($2::VARCHAR[])) ORDER BY seed"""
    verdicts = read.rows(connection, query, [thread_id, [run["run_id"] for run in runs]])
    if not verdicts:
        raise UsageError(f"{runs[0]['dataset']}: this run has not judged a thread {line(thread_id)}")
    verdicts.sort(key=lambda row: (row["seed"], order(row["checkpoint"])))
    run = next(run for run in runs if run["run_id"] == verdicts[0]["run_id"])
    query = """
        WITH used AS (SELECT * FROM calls WHERE run_id = $1 AND thread_id = $2),
             made AS (SELECT key, any_value(request) AS request, any_value(reply) AS reply FROM calls
                      WHERE NOT cached AND error IS NULL AND key IN (SELECT key FROM used) GROUP BY key)
        SELECT used.* EXCLUDE (request, reply), coalesce(used.request, made.request) AS request,
               coalesce(used.reply, made.reply) AS reply
        FROM used LEFT JOIN made USING (key) ORDER BY created"""
    calls = read.rows(connection, query, [run["run_id"], thread_id])
    return ThreadView(run, verdicts, calls, annotation_view.collect(connection, run["run_id"], thread_id))


def show(view: ThreadView, data_dir: Path | None, console: Console, *, every_call: bool = False) -> None:
    """Print a thread, with its posts where the corpus is still there.

    Args:
        view: What the database knows.
        data_dir: Where the corpus lies; None for where it was at the time.
        console: Where to print.
        every_call: Print a debate's calls too: some fifty prompts.
    """
    first = view.verdicts[0]
    title = f"thread {first['thread_id']} of {view.run['dataset']}, gold {first['gold']}"
    console.print(Text(line(f"{title}, run {view.run['run_id']}"), style="bold"))
    own = [row for row in view.verdicts if row["run_id"] == view.run["run_id"]]
    debated = [row for row in own if row.get("debate")]
    marks = debate_view.marks([row["debate"] for row in debated])
    stances = annotation_view.of_last(view.annotations, [row["checkpoint"] for row in own])
    thread = None
    try:
        thread = find(view.run, data_dir, first["thread_id"])
    except UsageError as error:
        console.print(Text(f"its posts cannot be shown: {line(error)}", style="yellow"))
        if marks:
            console.print(debate_view.marks_alone(marks))
        if stances:
            console.print(annotation_view.alone(stances))
    else:
        console.print(_posts(thread, own, marks, stances))
    if stances:
        console.print(Text(annotation_view.summary(stances), style="dim"))
    for row in debated:
        console.print(debate_view.show(row["debate"], thread, _at(row)))
    console.print(_verdicts(view.verdicts))
    for row in own:
        if row["rationale"] and not row.get("debate"):
            console.print(Text(f"rationale{_at(row)}:", style="bold"))
            console.print(Padding(Text(clean(row["rationale"])), (0, 0, 0, 4)))
    if debated and not every_call:
        roles = Counter(call["role"] for call in view.calls)
        asked = ", ".join(f"{role} {count}" for role, count in roles.items())
        console.print(Text(line(f"{len(view.calls)} calls ({asked}); --all prints them"), style="dim"))
        return
    for number, call in enumerate(view.calls, 1):
        console.print(_call(number, call))


def find(run: Row, data_dir: Path | None, thread_id: str) -> ClaimThread:
    """A run's thread as it was judged, read again from its corpus.

    Raises:
        UsageError: the corpus is not here, or has changed.
    """
    for thread in corpus_of(run, data_dir).threads:
        if thread.id == thread_id:
            return as_judged(run, thread)
    raise UsageError(f"{run['dataset']} no longer has this thread; its files have changed since")


def corpus_of(run: Row, data_dir: Path | None) -> LoadedCorpus:
    """The corpus that a run judged, read again.

    Args:
        run: Row of `runs`.
        data_dir: Where it lies; None for where it was at the time.

    Raises:
        UsageError: it is not here.
    """
    config = run["config"] or {}
    there = data_dir or (Path(config["data_dir"]) if config.get("data_dir") else None)
    name = config.get("dataset") or run["dataset"]
    return load(name, data_dir=there, keep_handles=bool(config.get("keep_handles")), environ=os.environ)


def as_judged(run: Row, thread: ClaimThread) -> ClaimThread:
    """A thread as a run's method saw it: with the hostile post that it was attacked with, where it was."""
    attack = (run["config"] or {}).get("attack")
    return attack_named(attack)(thread) if attack else thread


def _posts(
    thread: ClaimThread, verdicts: Sequence[Row], marks: Mapping[str, Sequence[str]], stances: Mapping[str, Row]
) -> Table:
    stops: dict[int, list[str]] = {}
    for row in verdicts:
        if row["stop_index"]:
            stops.setdefault(row["stop_index"], []).append(f"stopped here{_at(row)}: {_given(row)}")
    heads = debate_view.HEADS if marks else annotation_view.HEADS if stances else ()
    grid = Table.grid(padding=(0, 1, 0, 0))
    for _ in ("number", "time", *heads):
        grid.add_column(justify="right", style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    if heads:
        where = next((_at(row) for row in reversed(verdicts) if row.get("debate")), "")
        grid.add_row("", "", *heads, Text(line(f"side{where}") if where else "", style="dim"))
    none = ("",) * len(heads)
    depth: dict[str, int] = {}
    for number, post in enumerate(thread.posts, 1):
        depth[post.id] = 0 if number == 1 else depth.get(post.parent or "", 0) + 1
        text = Text.assemble((line(post.author), "bold"), " ", clean(post.text))
        level = min(depth[post.id], _DEEPEST)
        told = stances.get(post.id)
        marked = marks.get(post.id, none) if marks else annotation_view.marks(told) if stances else ()
        indent = (0, 0, 0, 2 * level)
        grid.add_row(str(number), clock_of(post.seconds), *marked, Padding(text, indent))
        if not marks and (why := annotation_view.why(told)):
            grid.add_row("", "", *none, Padding(why, indent))
        for stop in stops.get(number, []):
            grid.add_row("", "", *none, Text(f"── {line(stop)} ──", style="bold cyan"))
    return grid


def clock_of(seconds: float | None) -> str:
    """Time since the source post: 0:42, 3:05:00, 2d 4:00:00."""
    if seconds is None:
        return ""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    clock = f"{hour}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
    return f"{days}d {clock}" if days else clock


def _at(row: Row) -> str:
    return f" at {row['checkpoint']}" if row["checkpoint"] else ""


def _given(row: Row) -> str:
    return row["label"] or f"{row['outcome']}: {row['reason']}"


def _verdicts(verdicts: Sequence[Row]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(4):
        grid.add_column(overflow="fold")
    for row in verdicts:
        probabilities = dict(row["probabilities"] or {})
        method = probabilities.pop("method", None)
        chances = ", ".join(f"{label} {p:.3f}" for label, p in probabilities.items())
        right = "right" if row["label"] == row["gold"] else "wrong"
        grid.add_row(
            Text(f"seed {row['seed']}{_at(row)}", style="bold"),
            Text(line(_given(row)), style="green" if right == "right" else "red"),
            Text(right),
            Text(line(chances + (f" ({method})" if method else ""))),
        )
    return grid


def _call(number: int, call: Row) -> Group:
    tokens = f"{call['input_tokens'] or 0} + {call['output_tokens'] or 0} tokens"
    spent = "cached" if call["cached"] else f"{call['seconds'] or 0:.2f} s"
    head = Text(line(f"call {number}: {call['role']}, {call['model']}, {tokens}, {spent}"), style="bold")
    parts: list[Any] = [head]
    for message in call["request"] or []:
        parts += [Text(line(message.get("role")), style="dim"), _quoted(message.get("content"))]
    if call["error"]:
        parts += [Text("error", style="dim"), _quoted(call["error"])]
    elif call["reply"]:
        parts += [Text("reply", style="dim"), _quoted(call["reply"].get("text"))]
    return Group(*parts)


def _quoted(text: object) -> Padding:
    return Padding(Text(clean(text)), (0, 0, 0, 4))
