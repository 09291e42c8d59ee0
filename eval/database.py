"""The DuckDB file: who may hold it when, what tables it has, and how rows get in.

DuckDB lets nobody else read a file while a process writes it, so a process holds it only while it stores a
batch or reads, and waits for others a while.
"""

import itertools
import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb

from corpora.errors import UsageError
from eval.journal import Row, StoreError

SCHEMA = (Path(__file__).parent / "schema.sql").read_text("utf-8")
PATIENCE = 30.0
"""Seconds to wait for a file that another process holds, where the answer is needed to go on."""

_SETTINGS = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
_IN_PROCESS = threading.RLock()  # one process cannot open a file for reading and for writing at once
_open: dict[Path, tuple[str, bool]] = {}  # file -> its name in the engine, and whether it may be written
_numbers = itertools.count()


class Busy(StoreError):
    """Another process holds the file."""


@lru_cache
def columns() -> dict[str, dict[str, str]]:
    """Read the schema: table -> column -> type, as in schema.sql."""
    with duckdb.connect(config=_SETTINGS) as memory:
        memory.execute(SCHEMA)
        tables: dict[str, dict[str, str]] = {}
        found = memory.execute("SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal")
        for table, column, kind in found.fetchall():
            tables.setdefault(table, {})[column] = kind
    return tables


def check_tables(connection: duckdb.DuckDBPyConnection, db: Path) -> None:
    """Check that the file has all tables and columns that are read and written here.

    Raises:
        UsageError: it has not; another program or another version made it.
    """
    found = connection.execute("SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal").fetchall()
    wanted = {(table, column) for table, kinds in columns().items() for column in kinds}
    if missing := sorted(wanted - set(found)):
        table, column = missing[0]
        raise UsageError(
            f"{db} was made by another version of Hearsay or another program: {table}.{column} is missing; "
            "--db names another file"
        )


def made(db: Path) -> bool:
    """Whether there is a database; an empty file, as mktemp makes one, is none."""
    return db.is_file() and db.stat().st_size > 0


@contextmanager
def connect(db: Path, *, read_only: bool = False, patience: float = PATIENCE) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the file, waiting while others hold it; close it at the end of the block, and be quick inside.

    Args:
        db: The DuckDB file; made where it is missing, unless read_only.
        read_only: Whether others may read meanwhile.
        patience: Seconds to wait for a file that another process holds.

    Raises:
        Busy: it is still held after that time.
        UsageError: there is no database to read, or the file is none.
    """
    if read_only and not made(db):
        raise UsageError(f"no database at {db}: eval.run makes one, --db names another")
    until = time.monotonic() + patience
    if not _IN_PROCESS.acquire(timeout=patience):
        raise Busy(f"{db} is in use")
    try:
        if db.resolve() in _open:
            name, writes = _open[db.resolve()]
            if not (read_only or writes):
                raise Busy(f"{db} is being read by this process")
            with _using(name) as connection:
                yield connection
            return
        name = f"file{next(_numbers)}"
        try:
            _attach(db, name, read_only, until)
            _open[db.resolve()] = name, not read_only
            with _using(name) as connection:
                yield connection
        finally:
            _open.pop(db.resolve(), None)
            _engine().execute(f"DETACH DATABASE IF EXISTS {name}")
    finally:
        _IN_PROCESS.release()


@lru_cache
def _engine() -> duckdb.DuckDBPyConnection:
    """DuckDB itself. It is started once: that takes some ten times as long as to open a file with it."""
    return duckdb.connect(config=_SETTINGS)


def _start_anew() -> None:
    """Forget, in a copy of this process, the engine whose threads were not copied; it is kept as it is, untouched."""
    _left.append(_engine())
    _engine.cache_clear()
    _open.clear()


_left: list[duckdb.DuckDBPyConnection] = []
os.register_at_fork(after_in_child=lambda: _start_anew() if _engine.cache_info().currsize else None)


@contextmanager
def _using(name: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection whose tables are those of an open file."""
    with _engine().cursor() as connection:
        connection.execute(f"USE {name}")
        yield connection


def _attach(db: Path, name: str, read_only: bool, until: float) -> None:
    path, how = str(db).replace("'", "''"), "TYPE duckdb, READ_ONLY" if read_only else "TYPE duckdb"
    while True:
        try:
            _engine().execute(f"ATTACH '{path}' AS {name} ({how})")
            return
        except duckdb.CatalogException as error:  # DuckDB takes a .csv for something to look at, not to open
            raise UsageError(f"{db} is not a DuckDB database; --db names another file") from error
        except duckdb.Error as error:
            text = str(error)
            if db.is_file() and not made(db):
                raise UsageError(f"{db} is an empty file: remove it, or name another with --db") from error
            if "not a valid DuckDB" in text or "Extension " in text:  # it has an extension for SQLite's files
                raise UsageError(f"{db} is not a DuckDB database; --db names another file") from error
            if "Could not set lock" not in text and "file handle conflict" not in text:  # held elsewhere, or here
                raise StoreError(f"cannot open {db}: {_first_line(error)}") from error
            if time.monotonic() > until:
                holder = text.partition("held in ")[2].partition(". See")[0] or "this process"
                raise Busy(f"{db} is held by {holder}; try again when it is done") from error
        time.sleep(random.uniform(0.01, 0.05))  # noqa: S311 - uneven, so that waiting processes take turns


def insert_row(connection: duckdb.DuckDBPyConnection, table: str, row: Row) -> None:
    """Insert one row of a table of schema.sql; columns it leaves out are NULL."""
    kinds = columns()[table]
    names = [name for name in kinds if name in row]
    convert: dict[str, Callable[[Any], object]] = {"JSON": _json, "TIMESTAMP": _utc}
    values = [convert[kinds[name]](row[name]) if kinds[name] in convert else row[name] for name in names]
    places = ", ".join(f'"{name}"' for name in names)
    marks = ", ".join("?" * len(names))
    connection.execute(f"INSERT INTO {table} ({places}) VALUES ({marks})", values)  # noqa: S608 - names of schema.sql


def insert_lines(connection: duckdb.DuckDBPyConnection, path: Path, run_id: str, longest: int) -> None:
    """Insert a journal's rows into their tables. DuckDB reads the file itself, in native code and many at once.

    Args:
        connection: Open for writing.
        path: JSON lines, each table name -> rows.
        run_id: What the rows are of.
        longest: Bytes of the longest line.
    """
    for table, kinds in columns().items():
        if "run_id" not in kinds:  # studies are no run's, and in no journal
            continue
        fields = ", ".join(f'"{name}" {kind}' for name, kind in kinds.items() if name != "run_id")
        connection.execute(
            f"INSERT INTO {table} BY NAME SELECT $run AS run_id, unnest({table}, max_depth := 2) "  # noqa: S608 - names of schema.sql
            f"FROM read_json($path, format = 'newline_delimited', columns = {{{table}: 'STRUCT({fields})[]'}}, "
            f"maximum_object_size = {max(longest, 1 << 24)})",
            {"run": run_id, "path": str(path)},
        )


def _json(value: object) -> str | None:
    """JSON text; half a surrogate pair, which DuckDB refuses, becomes a question mark."""
    return None if value is None else json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()


def _utc(value: datetime | str | None) -> datetime | None:
    if value is None:
        return None
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


@contextmanager
def errors(db: Path) -> Iterator[None]:
    """Turn what DuckDB says of a full disk or a broken file into one line."""
    try:
        yield
    except duckdb.Error as error:
        raise StoreError(
            f"cannot store in {db}: {_first_line(error)}; nothing is lost: what was recorded is in "
            f"{db.name}.*.journal.* beside it, and the same command continues once that is put right"
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]
