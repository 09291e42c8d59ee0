"""`python -m eval.export`: tables of the database as Parquet, CSV or JSON lines, of all runs or of some."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import ArgumentParser, UsageError, one_line_errors

if TYPE_CHECKING:
    import duckdb
    from rich.table import Table

    from eval.export_files import Written

TABLES = ("runs", "predictions", "annotations", "steps", "calls", "metrics", "studies")
FORMATS = ("parquet", "csv", "jsonl")
EVERY = "all"
EPILOG = """\
The columns are those of eval/schema.sql (docs/store.md). Parquet keeps their types, with JSON columns as JSON; JSON
lines have one object a row, with JSON columns as objects; CSV has JSON as text, and text such that no spreadsheet takes
it for a formula (docs/export.md says how, and how to have it back). Of a run that is not finished what is stored so
far is exported. Calls hold what models were shown, posts included: mind the licence of a corpus before you share them.

examples:
  python -m eval.export -o export
  python -m eval.export 3f2a 77b0 --format csv --table predictions metrics -o export
  python -m eval.export all --table studies -o studies.csv
"""


def parser() -> ArgumentParser:
    """The command line of `python -m eval.export`."""
    result = ArgumentParser(
        prog="python -m eval.export",
        description="Write tables of the database to files, one a table.",
        epilog=EPILOG,
    )
    add = result.add_argument
    add("runs", metavar="RUN", nargs="*", help=f"id of a run or configuration, or its beginning (default: {EVERY})")
    add("--format", choices=FORMATS, help="default: what the ending of FILE says, else parquet")
    add("--table", nargs="+", action="extend", metavar="TABLE", help=f"which (default: all): {', '.join(TABLES)}")
    add(
        "-o", "--out", type=Path, default=Path("export"), metavar="DIR-OR-FILE",
        help="folder for the files, or the file of one table (default: %(default)s)",
    )  # fmt: skip
    add("--force", action="store_true", help="replace files that are there")
    add("--db", type=Path, default=Path("hearsay.duckdb"), help="the database (default: %(default)s)")
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (0 done, 130 Ctrl-C)."""
    options = parser().parse_args(arguments)
    with one_line_errors():
        form, tables = format_of(options.out, options.format), chosen_tables(options.table)
        from rich.console import Console

        console = Console()
        try:
            written = export(options.db, options.runs, tables, form, options.out, force=options.force)
        except KeyboardInterrupt:
            Console(stderr=True).print("Interrupted: nothing was written.")
            return 130
        console.print(_table(written))
        return 0


def format_of(out: Path, named: str | None) -> str:
    """The format that --format and the ending of a file agree on.

    Raises:
        UsageError: they do not agree.
    """
    ending = out.suffix.removeprefix(".").lower()
    if ending not in FORMATS or out.is_dir():
        return named or FORMATS[0]
    if named not in (None, ending):
        raise UsageError(f"-o {out} with --format {named}: give the file the ending .{named}, or leave --format out")
    return ending


def chosen_tables(names: Sequence[str] | None) -> list[str]:
    """The tables of these names, each once; all of them without names.

    Raises:
        UsageError: there is no such table.
    """
    from graphs.methods import known

    return list(dict.fromkeys(known(name, dict.fromkeys(TABLES), "table") for name in names or TABLES))


def export(
    db: Path, names: Sequence[str], tables: Sequence[str], form: str, out: Path, *, force: bool = False
) -> "list[Written]":
    """Write tables of a database to files.

    Args:
        db: The database; it is only read.
        names: Ids of runs and configurations, or their beginnings; none, or "all", for everything.
        tables: Which, of `TABLES`.
        form: Which of `FORMATS`.
        out: A folder, or with that format's ending the file of one table.
        force: Whether files that are there may be replaced.

    Raises:
        UsageError: no such run, a file is there already, or it cannot be written.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn

    from eval import export_files
    from eval.database import connect

    paths = _paths(out, tables, form)
    _check(paths, force)
    notes = Console(stderr=True, highlight=False)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    size = TextColumn("{task.fields[size]}", style="dim")
    with (
        connect(db, read_only=True) as connection,
        Progress(*columns, size, console=notes, transient=True, disable=not notes.is_terminal) as progress,
    ):
        every = not names or EVERY in names
        runs = _runs(connection, names, every)
        _make_folder(next(iter(paths.values())).parent)
        for table in _missing(connection, paths):
            if len(tables) < len(TABLES):
                raise UsageError(f"{db} has no table {table}: a version of Hearsay before there was one made it")
            del paths[table]
            notes.print(f"no table {table}: a version of Hearsay before there was one made {db}", markup=False)
        if begun := sum(run["status"] != "finished" for run in runs):
            notes.print(f"{begun} of {len(runs)} runs are not finished: theirs is what is stored so far")
        export_files.choose(connection, None if every else [(run["run_id"], run["config_id"]) for run in runs])
        return export_files.write(connection, paths, form, progress, every=every)


def _paths(out: Path, tables: Sequence[str], form: str) -> dict[str, Path]:
    if out.suffix.lower() != f".{form}" or out.is_dir():
        return {table: out / f"{table}.{form}" for table in tables}
    if len(tables) > 1:
        raise UsageError(f"-o {out} holds one table: --table says which, or give a folder")
    return {tables[0]: out}


def _check(paths: dict[str, Path], force: bool) -> None:
    for path in paths.values():
        if path.is_dir():
            raise UsageError(f"{path} is a folder: move it away or give another -o")
        if path.exists() and not force:
            raise UsageError(f"{path} is there already: --force replaces it, -o names another place")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"-o {folder}: {error.strerror or error}") from None


def _runs(connection: "duckdb.DuckDBPyConnection", names: Sequence[str], every: bool) -> list[dict[str, Any]]:
    """The runs of these names, each once."""
    from eval import read

    if every:
        return read.rows(connection, "SELECT run_id, config_id, status FROM runs")
    found = [run for name in names for run in read.find_runs(connection, name)]
    return list({run["run_id"]: run for run in found}.values())


def _missing(connection: "duckdb.DuckDBPyConnection", tables: Iterable[str]) -> list[str]:
    found = connection.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal").fetchall()
    return [table for table in tables if (table,) not in found]


def _table(written: "Sequence[Written]") -> "Table":
    from rich.text import Text

    from corpora.clean import printable
    from eval.cells import plain_table

    table = plain_table()
    table.add_column("table", no_wrap=True)
    table.add_column("rows", justify="right", no_wrap=True)
    table.add_column("file", overflow="fold")
    table.add_column("bytes", justify="right", no_wrap=True)
    for each in written:
        table.add_row(each.table, f"{each.rows:,}", Text(printable(str(each.path))), f"{each.bytes:,}")
    return table


if __name__ == "__main__":
    sys.exit(main())
