"""What is asked of the database: runs by name, what a run has finished, calls by address."""

import difflib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from corpora.errors import UsageError
from eval.database import connect, made

EXPERTS = "experts"
"""Role of the calls that labelled training threads: they belong to a run, and to none of its test threads."""

_JSON = {"config", "prompts", "packages", "corpus_counts", "probabilities", "parameters", "request", "reply", "debate"}


def rows(connection: duckdb.DuckDBPyConnection, query: str, values: object = None) -> list[dict[str, Any]]:
    """Ask for rows as plain dicts, JSON columns read.

    Raises:
        UsageError: the file is a DuckDB database, but not one of ours.
    """
    try:
        answer = connection.execute(query, values)
    except (duckdb.CatalogException, duckdb.BinderException) as error:
        raise UsageError(
            "this database has none of Hearsay's tables, or those of another version; --db names another file"
        ) from error
    names = [column[0] for column in answer.description or []]
    read = [name in _JSON for name in names]
    return [
        {
            name: json.loads(value) if is_json and value is not None else value
            for name, is_json, value in zip(names, read, row, strict=True)
        }
        for row in answer.fetchall()
    ]


def read_run(db: Path, run_id: str) -> dict[str, Any] | None:
    """A run's row in `runs`, None if there is none, or no database yet."""
    if not made(db):
        return None
    with connect(db, read_only=True) as connection:
        found = rows(connection, "SELECT * FROM runs WHERE run_id = ?", [run_id])
    return found[0] if found else None


def finished_threads(db: Path, run_id: str) -> set[tuple[str | None, str]]:
    """The threads a run need not judge again: (fold, thread_id). Failed ones are left out."""
    query = "SELECT DISTINCT fold, thread_id FROM predictions WHERE run_id = ? AND outcome <> 'failed'"
    with connect(db, read_only=True) as connection:
        return set(connection.execute(query, [run_id]).fetchall())


def known_call_keys(db: Path) -> set[str]:
    """The addresses of all calls that were answered, in any run."""
    with connect(db, read_only=True) as connection:
        try:
            found = connection.execute("SELECT key FROM calls WHERE NOT cached AND error IS NULL").fetchall()
        except (duckdb.CatalogException, duckdb.BinderException):
            return set()  # not ours: entering the run says so
    return {key for (key,) in found}


def fetch_calls(db: Path, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The answered calls with these addresses: key -> row of `calls` without its request.

    A call recorded within the last second may still be in the journal, and then is not among them.
    """
    query = """SELECT * EXCLUDE (request) FROM calls
               WHERE key IN (SELECT unnest($1::VARCHAR[])) AND NOT cached AND error IS NULL"""
    with connect(db, read_only=True) as connection:
        return {row["key"]: row for row in rows(connection, query, [list(keys)])}


def predictions(connection: duckdb.DuckDBPyConnection, run_id: str) -> list[dict[str, Any]]:
    """A run's rows of `predictions`, each with the calls and tokens of its thread, over all checkpoints.

    A repeated use of one address in a thread counts once, and a cached answer counts as the call that it
    saved: so the numbers are those of the method, however often the run was interrupted.
    """
    query = """
        WITH used AS (SELECT DISTINCT thread_id, key FROM calls
                      WHERE run_id = $1 AND error IS NULL AND role IS DISTINCT FROM $2),
             sizes AS (SELECT key, max(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)) AS tokens
                       FROM calls WHERE NOT cached AND key IN (SELECT key FROM used) GROUP BY key),
             spent AS (SELECT thread_id, count(*) AS calls, sum(tokens)::BIGINT AS tokens
                       FROM used JOIN sizes USING (key) GROUP BY thread_id)
        SELECT predictions.* EXCLUDE (rationale), coalesce(calls, 0) AS calls, coalesce(tokens, 0) AS tokens
        FROM predictions LEFT JOIN spent USING (thread_id)
        WHERE run_id = $1 ORDER BY thread_id, checkpoint"""
    return rows(connection, query, [run_id, EXPERTS])


def annotations(connection: duckdb.DuckDBPyConnection, run_id: str) -> list[dict[str, Any]]:
    """A run's rows of `annotations`, as far as they are measured; none in a database made before there were any."""
    if not has_annotations(connection):
        return []
    query = """SELECT thread_id, checkpoint, post_id, gold, label, kept FROM annotations
               WHERE run_id = ? ORDER BY thread_id, checkpoint, post_id"""
    return rows(connection, query, [run_id])


def has_annotations(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether a database has the table: who only reads cannot add it."""
    found = connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'annotations' AND NOT internal")
    return found.fetchone() is not None


def find_runs(connection: duckdb.DuckDBPyConnection, name: str) -> list[dict[str, Any]]:
    """The run of this id, or all seeds of the configuration of this id; the beginning of either will do.

    Returns:
        Rows of `runs`, by seed.

    Raises:
        UsageError: nothing has this id, or several different things begin so.
    """
    known = rows(connection, "SELECT * FROM runs ORDER BY seed, run_id")
    for kind in ("config_id", "run_id"):
        if exact := [run for run in known if run[kind] == name]:
            return exact
    begun = [run for run in known if any(run[kind].startswith(name) for kind in ("config_id", "run_id"))]
    configs = {run["config_id"] for run in begun}
    if len(configs) == 1 and begun[0]["config_id"].startswith(name):
        return begun
    if len(begun) == 1:
        return begun
    if begun:
        raise UsageError(f"{name} begins several: {', '.join([run['run_id'] for run in begun][:6])}")
    ids = {run[kind] for run in known for kind in ("config_id", "run_id")}
    near = difflib.get_close_matches(name, sorted(ids), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else "python -m eval.ls lists them"
    raise UsageError(f"no run or configuration {name}; {hint}")
