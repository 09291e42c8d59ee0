"""How tables of a database become files: DuckDB writes them row by row, and all of them appear at once or none does."""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from corpora.errors import UsageError
from eval import export_csv
from eval.database import columns

if TYPE_CHECKING:
    from rich.progress import Progress

_OPTIONS = {
    "parquet": "FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 10240",  # more would be held in memory
    "csv": "FORMAT csv, HEADER, FORCE_QUOTE ({text})",
    "jsonl": "FORMAT json",
}
_OF_RUN = {"studies": "config_id"}
"""Tables whose rows are found by something else than `run_id`."""


@dataclass(frozen=True)
class Written:
    """One table as it was written."""

    table: str
    rows: int
    path: Path
    bytes: int


def choose(connection: duckdb.DuckDBPyConnection, runs: Sequence[tuple[str, str]] | None) -> None:
    """Say which runs are exported from this connection.

    Args:
        connection: Open for reading; settings of it change.
        runs: (run_id, config_id) of each; None for all there is.
    """
    # one thread that need not keep batches in order writes what it reads, in order, and holds no more than that
    connection.execute("SET threads = 1; SET preserve_insertion_order = false")
    connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
    connection.execute("CREATE OR REPLACE TEMP TABLE chosen (run_id VARCHAR, config_id VARCHAR)")
    if runs is not None:
        given = [[run[place] for run in runs] for place in (0, 1)]
        connection.execute("INSERT INTO chosen SELECT unnest($1::VARCHAR[]), unnest($2::VARCHAR[])", given)


def query(connection: duckdb.DuckDBPyConnection, table: str, form: str, *, every: bool) -> str:
    """The SQL that reads a table as a file has it: the columns of schema.sql in their order.

    Args:
        connection: Where `choose` was called. A column that its file lacks, made by an earlier version, is NULL.
        table: Its name.
        form: parquet, csv or jsonl.
        every: All rows, and not only those of the chosen runs.
    """
    found = connection.execute("SELECT column_name FROM duckdb_columns() WHERE table_name = ?", [table]).fetchall()
    there = {name for (name,) in found}
    parts = []
    for name, kind in columns()[table].items():
        value = f'"{name}"' if name in there else f"NULL::{kind}"
        if form == "csv" and kind in ("VARCHAR", "JSON"):
            value = export_csv.cell(f"{value}::VARCHAR")
        elif form == "jsonl" and kind == "DOUBLE":
            value = f"CASE WHEN isfinite({value}) THEN {value} END"  # JSON has no other numbers
        parts.append(f'{value} AS "{name}"')
    key = _OF_RUN.get(table, "run_id")
    where = "" if every else f" WHERE {key} IN (SELECT {key} FROM chosen)"  # noqa: S608 - names of schema.sql
    return f'SELECT {", ".join(parts)} FROM "{table}"{where}'  # noqa: S608


def write(
    connection: duckdb.DuckDBPyConnection, paths: dict[str, Path], form: str, progress: "Progress", *, every: bool
) -> list[Written]:
    """Write tables to files, beside their places first; when all are whole they move there.

    Args:
        connection: Where `choose` was called.
        paths: Table -> file.
        form: parquet, csv or jsonl.
        progress: Shows how far it is.
        every: All rows, and not only those of the chosen runs.

    Raises:
        UsageError: the disk does not take them; nothing is left behind.
        KeyboardInterrupt: Ctrl-C; neither is then.
    """
    parts = {table: path.with_name(f".{path.name}.{os.getpid()}.part") for table, path in paths.items()}
    written = []
    try:
        for number, (table, part) in enumerate(parts.items(), 1):
            quoted = ", ".join(f'"{name}"' for name, kind in columns()[table].items() if kind in ("VARCHAR", "JSON"))
            asked = query(connection, table, form, every=every)
            options = _OPTIONS[form].format(text=quoted)
            with _watched(connection, progress, f"{table} ({number} of {len(parts)})", part):
                (rows,) = connection.execute(f"COPY ({asked}) TO $path ({options})", {"path": str(part)}).fetchall()
            written.append(Written(table, rows[0], paths[table], part.stat().st_size))
        for table, part in parts.items():
            part.replace(paths[table])
    except (duckdb.IOException, duckdb.OutOfMemoryException, OSError) as error:
        text = str(error).strip().split("\n")[0]
        raise UsageError(f"cannot write {paths[table]}: {text}") from None
    except RuntimeError as error:
        if str(error) == "Query interrupted":  # what DuckDB makes of Ctrl-C
            raise KeyboardInterrupt from None
        raise
    finally:
        for part in parts.values():
            with suppress(OSError):
                part.unlink()
    return written


@contextmanager
def _watched(connection: duckdb.DuckDBPyConnection, progress: "Progress", name: str, part: Path) -> Iterator[None]:
    """Show how far one table is, as DuckDB tells another thread meanwhile."""
    done, line = threading.Event(), progress.add_task(name, total=None, size="")

    def watch() -> None:
        while not done.wait(0.3):
            size = part.stat().st_size if part.exists() else 0
            share = connection.query_progress()  # in steps of 122,880 rows, so of a small table nothing is known
            progress.update(line, total=100 if share > 0 else None, completed=share, size=f"{size:,} bytes")

    watcher = threading.Thread(target=watch, daemon=True)
    if not progress.disable:
        watcher.start()
    try:
        yield
    finally:
        done.set()
        if watcher.is_alive():
            watcher.join()
        progress.remove_task(line)
