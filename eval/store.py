"""How a run's rows get into the database, with none lost or doubled by a kill.

Rows go to the journal first (see `eval.journal`). About once a second, a thread of the `Writer` closes the
journal's segment and stores it in one transaction with `runs.flushed`, the segment's number; only then is
the segment removed. Killed between the two, the next Writer sees that the number is stored, and skips it.
What is asked of the database is in `eval.read`.
"""

import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

import duckdb

from corpora.errors import UsageError
from eval.database import PATIENCE, SCHEMA, Busy, check_tables, columns, connect, errors, insert_lines, insert_row
from eval.journal import Journal, Row, StoreError, finish_segment, run_lock, segment_path, segments

INTERVAL = 1.0
"""Seconds between two batches."""
BATCH = 5_000
"""Journal lines that bring a batch forward."""

_PYTHON_TYPES: dict[str, type | tuple[type, ...]] = {
    "VARCHAR": str,
    "BIGINT": int,
    "DOUBLE": (float, int),
    "BOOLEAN": bool,
    "TIMESTAMP": (datetime, str),
    "JSON": (dict, list),
}


class Writer:
    """Records one run: holds its lock, takes its rows and stores them batch by batch. A context manager.

    Entering it stores what killed runs left in their journals, this run's and others'; leaving it stores what
    is left. Methods other than `add` wait for the disk and for other processes: async code calls them with
    `asyncio.to_thread`.
    """

    def __init__(self, db: Path, run: Row):
        """Prepare to record.

        Args:
            db: The DuckDB file; made where it is missing.
            run: The run's row in `runs`; of a run that is known already the stored row stays.
        """
        self.db = db.resolve()
        self.run_id: str = run["run_id"]
        self._run = run
        self._kinds = columns()
        self._error: BaseException | None = None
        self._storing = threading.Lock()
        self._wake, self._closing = threading.Event(), False
        self._thread = threading.Thread(target=self._work, name=f"store {self.run_id}", daemon=True)

    def __enter__(self) -> "Writer":
        """Lock the run, enter it in `runs` and recover journals.

        Raises:
            UsageError: another process works on this run, or the file is no database.
            StoreError: the file cannot be written.
        """
        if not self.db.parent.is_dir():
            raise UsageError(f"no folder {self.db.parent} to make {self.db.name} in")
        with ExitStack() as stack:
            stack.enter_context(run_lock(self.db, self.run_id, patience=2 * PATIENCE))
            self._start()
            _store(self.db, self.run_id, segments(self.db).get(self.run_id, []), PATIENCE)
            recover(self.db)
            with connect(self.db, read_only=True) as connection:
                stored = _last_segment(connection, self.run_id) or 0
            self._journal = Journal(self.db, self.run_id, stored + 1)
            self._held = stack.pop_all()
        self._thread.start()
        return self

    def add(self, **tables: Sequence[Row]) -> None:
        """Record rows, as in `add(predictions=[…], steps=[…])`: when it returns, a kill cannot lose them.

        Args:
            tables: Table -> rows. All the rows of one call become visible together, or none of them.
                Columns that a row leaves out are NULL; `run_id` is filled in. JSON columns take a
                dict or list.

        Raises:
            StoreError: the disk is full, or an earlier batch could not be stored; the run should end.
            TypeError: a row has a column that its table has not, or a value of the wrong type.
            ValueError: a number is NaN or infinite.
        """
        if self._error is not None:
            raise self._error
        for table, rows in tables.items():
            for row in rows:
                self._check(table, row)
        self._journal.append(tables)
        if self._journal.lines >= BATCH:
            self._wake.set()

    def flush(self, patience: float = PATIENCE) -> None:
        """Store all that was recorded so far.

        Raises:
            Busy: another process kept the file; the rows stay in the journal.
            StoreError: the file cannot be written; the rows stay in the journal.
        """
        if self._error is not None:
            raise self._error
        with self._storing:
            number = self._journal.rotate()
            closed = [each for each in segments(self.db).get(self.run_id, []) if each < number]
            _store(self.db, self.run_id, closed, patience)

    def forget_failed(self) -> None:
        """Delete the run's threads with a failed prediction, so that they are tried again."""
        failed = "(SELECT thread_id FROM predictions WHERE run_id = $run AND outcome = 'failed')"
        self._write(
            f"DELETE FROM annotations WHERE run_id = $run AND thread_id IN {failed}",  # noqa: S608 - a literal
            f"DELETE FROM steps WHERE run_id = $run AND thread_id IN {failed}",  # noqa: S608
            f"DELETE FROM predictions WHERE run_id = $run AND thread_id IN {failed}",  # noqa: S608
        )

    def replace_metrics(self, rows: Sequence[Row]) -> None:
        """Store the run's metrics in place of those it has."""
        self._write("DELETE FROM metrics WHERE run_id = $run")
        self.add(metrics=rows)
        self.flush()

    def finish(self, status: str) -> None:
        """Store all rows and how the run ended: finished, interrupted or failed."""
        done = datetime.now(UTC).replace(tzinfo=None) if status == "finished" else None
        self._write("UPDATE runs SET status = $status, finished = $done WHERE run_id = $run", status=status, done=done)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Store what is left and free the run."""
        self._closing = True
        self._wake.set()
        self._thread.join()
        with self._held:
            if error is None or self._error is None:  # else the trouble is known and on its way up
                self.flush()

    def _check(self, table: str, row: Row) -> None:
        kinds = self._kinds[table]
        for column, value in row.items():
            if column not in kinds:
                raise TypeError(f"table {table} has no column {column}")
            if value is not None and not isinstance(value, _PYTHON_TYPES[kinds[column]]):
                raise TypeError(f"{table}.{column} takes {kinds[column]}, not {type(value).__name__}")

    def _work(self) -> None:
        """Store a batch now and then until the Writer is left; the thread's body."""
        while not self._closing:
            self._wake.wait(INTERVAL)
            self._wake.clear()
            try:
                self.flush(patience=0.5)
            except Busy:
                continue  # it is in the journal; the next turn stores it
            except BaseException as error:  # add, flush and the end of the block raise it
                self._error = error
                return

    def _start(self) -> None:
        """Make the tables and the run's row."""
        row = {"flushed": 0, "started": datetime.now(UTC), **self._run, "status": "running"}
        self._check("runs", row)
        with errors(self.db), connect(self.db) as connection:
            connection.execute(SCHEMA)
            check_tables(connection, self.db)
            if connection.execute("SELECT 1 FROM runs WHERE run_id = ?", [self.run_id]).fetchone():
                update = "UPDATE runs SET status = 'running', finished = NULL WHERE run_id = ?"
                connection.execute(update, [self.run_id])
            else:
                insert_row(connection, "runs", row)

    def _write(self, *statements: str, **values: object) -> None:
        """Run statements on the run's rows in one transaction, with $run and the values given."""
        self.flush()
        with errors(self.db), connect(self.db) as connection:
            connection.begin()
            for statement in statements:
                connection.execute(statement, {"run": self.run_id, **values})
            connection.commit()


def recover(db: Path) -> None:
    """Store what killed runs left in their journals; a run that a process is working on is left alone.

    A journal that cannot be stored stays where it is: the command that continues its run says why.
    """
    if not db.exists():
        return
    for run_id in segments(db):
        with suppress(UsageError), run_lock(db, run_id, recovering=True):
            _store(db, run_id, segments(db).get(run_id, []), PATIENCE)


def _store(db: Path, run_id: str, numbers: Sequence[int], patience: float) -> None:
    """Store segments of a run, each in one transaction with its number, and remove them."""
    if not numbers:
        return
    with errors(db), connect(db, patience=patience) as connection:
        stored = _last_segment(connection, run_id)
        if stored is None:
            return  # the database was replaced since; that run's command enters it again
        connection.execute(SCHEMA)  # an older version may have made the file and died
        for number in numbers:
            path = segment_path(db, run_id, number)
            if number > stored:
                _store_one(connection, run_id, number, path)
            path.unlink()


def _store_one(connection: duckdb.DuckDBPyConnection, run_id: str, number: int, path: Path) -> None:
    longest = finish_segment(path)
    connection.begin()
    try:
        insert_lines(connection, path, run_id, longest)
    except (duckdb.InvalidInputException, duckdb.ConversionException) as error:  # `add` lets no such row in
        raise StoreError(f"{path} is damaged; move it away to go on without its rows") from error
    connection.execute("UPDATE runs SET flushed = ? WHERE run_id = ?", [number, run_id])
    connection.commit()


def _last_segment(connection: duckdb.DuckDBPyConnection, run_id: str) -> int | None:
    row = connection.execute("SELECT flushed FROM runs WHERE run_id = ?", [run_id]).fetchone()
    return None if row is None else row[0]
