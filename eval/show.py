"""`python -m eval.show`: one run or configuration in full, or one of its threads as the method saw it."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import ArgumentParser, UsageError, one_line_errors

if TYPE_CHECKING:
    from rich.table import Table

Row = dict[str, Any]

LISTED = 20
"""Threads listed without --all."""


def parser() -> ArgumentParser:
    """The command line of `python -m eval.show`."""
    result = ArgumentParser(
        prog="python -m eval.show",
        description="Show a run (what was in force, its table, its threads, the wrong ones first), "
        "or one thread of it: posts, where it stopped, the debate, the verdict, the calls.",
        epilog="examples:\n  python -m eval.show 3f2a\n  python -m eval.show 3f2a lantern-07",
    )
    result.add_argument("run", metavar="RUN", help="id of a run or configuration, or its beginning")
    result.add_argument("thread", metavar="THREAD", nargs="?", help="id of a thread")
    result.add_argument("--db", type=Path, default=Path("hearsay.duckdb"), help="the database (default: %(default)s)")
    result.add_argument("--data-dir", type=Path, help="where the corpus lies, if not where it was at the time")
    result.add_argument(
        "--all", action="store_true", help=f"list every thread, not only the first {LISTED}; every call of a debate"
    )
    result.add_argument("--json", action="store_true", help="print the results as JSON")
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    options = parser().parse_args(arguments)
    with one_line_errors():
        from rich.console import Console

        from eval import read, results, thread_view
        from eval.database import connect

        console = Console(highlight=False)
        if options.thread and options.json:
            raise UsageError("--json prints runs, not single threads: leave THREAD out")
        if options.thread:
            with connect(options.db, read_only=True) as connection:
                view = thread_view.collect(connection, read.find_runs(connection, options.run), options.thread)
            thread_view.show(view, options.data_dir, console, every_call=options.all)
            return
        with connect(options.db, read_only=True) as connection:
            runs = read.find_runs(connection, options.run)
            found = results.collect(connection, runs)
            judged = judgements(read.predictions(connection, run["run_id"]) for run in runs)
        if options.json:
            console.print_json(data=found.as_dict() | {"record": records(runs), "threads": judged}, ensure_ascii=True)
            return
        console.print(_grid(records(runs)))
        console.print()
        results.show(found, console)
        console.print()
        shown = judged if options.all else judged[:LISTED]
        console.print(_threads(shown))
        if len(shown) < len(judged):
            console.print(
                f"{len(shown)} of {len(judged)}, those most often wrong first; --all lists the others",
                style="dim",
            )


def records(runs: Sequence[Row]) -> Row:
    """What was in force: name -> text."""
    first = runs[0]
    same = (
        "config_id",
        "dataset",
        "split",
        "when",
        "how",
        "model",
        "endpoint",
        "git_commit",
        "corpus_fingerprint",
    )
    found = {name: first[name] for name in same if first[name] is not None}
    for run in runs:
        until = f" to {run['finished']:%Y-%m-%d %H:%M}" if run["finished"] else ""
        found[f"seed {run['seed']}"] = f"{run['run_id']} {run['status']}, {run['started']:%Y-%m-%d %H:%M}{until} UTC"
    found["corpus"] = _pairs(first["corpus_counts"])
    found["config"] = _pairs({name: value for name, value in (first["config"] or {}).items() if value is not None})
    found["prompts"] = _pairs(first["prompts"])
    found["packages"] = _pairs(first["packages"])
    return found


def _pairs(values: Row | None) -> str:
    return ", ".join(f"{name} {value}" for name, value in (values or {}).items()) or "none"


def judgements(runs: Iterable[Sequence[Row]]) -> list[Row]:
    """Each thread at each checkpoint, as all the runs judged it; those most often wrong first."""
    from eval.results import order

    found: dict[tuple[str, str | None], Row] = {}
    for row in (row for rows in runs for row in rows):
        new = {
            "thread": row["thread_id"],
            "checkpoint": row["checkpoint"],
            "gold": row["gold"],
            "wrong": 0,
            "n": 0,
        }
        entry = found.setdefault((row["thread_id"], row["checkpoint"]), new | {"given": {}, "stop": [], "reasons": []})
        entry["n"] += 1
        entry["wrong"] += row["label"] != row["gold"]
        given = row["label"] or row["outcome"]
        entry["given"][given] = entry["given"].get(given, 0) + 1
        entry["stop"].append(f"{row['stop_index'] or '–'}/{row['n_posts']}")
        if row["reason"] and row["reason"] not in entry["reasons"]:
            entry["reasons"].append(row["reason"])
    return sorted(found.values(), key=lambda entry: (-entry["wrong"], entry["thread"], order(entry["checkpoint"])))


def _grid(values: Row) -> "Table":
    from rich.table import Table
    from rich.text import Text

    from eval.results import clean

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in values.items():
        grid.add_row(Text(name), Text(clean(value)))
    return grid


def _threads(judged: Sequence[Row]) -> "Table":
    from rich.text import Text

    from eval.cells import plain_table
    from eval.results import line

    table = plain_table()
    for head in ("thread", "read", "gold", "given", "posts", "why no verdict"):
        table.add_column(head, overflow="fold")
    for entry in judged:
        given = ", ".join(f"{label} ×{count}" if entry["n"] > 1 else label for label, count in entry["given"].items())
        stops = entry["stop"][0] if len(set(entry["stop"])) == 1 else "varies"
        cells = (
            entry["thread"],
            entry["checkpoint"] or "",
            entry["gold"],
            given,
            stops,
            "; ".join(entry["reasons"]),
        )
        table.add_row(*(Text(line(cell)) for cell in cells), style="" if entry["wrong"] else "dim")
    return table


if __name__ == "__main__":
    main()
