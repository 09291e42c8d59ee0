"""What a report is made of: the runs asked for, with their results and what else is stored of them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from corpora.errors import UsageError
from corpora.thread import ClaimThread
from eval import read, results
from eval.thread_view import as_judged, corpus_of
from eval.titles import options

Row = dict[str, Any]


@dataclass(frozen=True)
class Edition:
    """The texts that runs judged: those of a corpus, with or without handles or a hostile post."""

    dataset: str
    threads: Mapping[str, ClaimThread]
    """As published here; empty where they cannot or shall not be shown."""
    missing: str = ""
    """Why not; or what to know of them."""
    times: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    """Thread -> seconds of its posts; where there are labels after the stop: the database has no times of these."""


@dataclass(frozen=True)
class Side:
    """One of the runs or configurations that a report sets side by side."""

    letter: str
    asked: str
    """The name by which it was asked for."""
    results: results.Results
    edition: int
    """Place among the report's editions."""
    predictions: list[list[Row]] = field(default_factory=list)
    """Rows of `predictions` of each seed: what is measured of them, with `when`, and `turned`: changes of sides."""
    later: list[list[Row]] = field(default_factory=list)
    """Rows of `steps` of each seed that have labels, or could have one after the stop."""
    costs: list[Row] = field(default_factory=list)
    """Calls by role and model."""

    @property
    def runs(self) -> list[Row]:
        """Its rows of `runs`."""
        return self.results.runs

    @property
    def name(self) -> str:
        """What it is, in a few words."""
        first = self.runs[0]
        model = [] if first["model"] in ("encoder", "none") else [first["model"]]
        attack = [f"attack {config['attack']}"] if (config := first["config"] or {}).get("attack") else []
        stopper = config.get("stopper") or []
        return ", ".join([first["when"], first["how"], *model, *options(first), *stopper, *attack])

    @property
    def labels(self) -> list[str]:
        """The classes that are scored, in report order."""
        return list(results.classes_of(self.runs[0], [row for rows in self.predictions for row in rows]))

    @property
    def task(self) -> str:
        """Corpus and classes that are tested: sides of which these are the same can be told better and worse."""
        classes = (self.runs[0]["config"] or {}).get("classes") or self.labels
        return f"{self.runs[0]['dataset']} ({'/'.join(classes)})"

    @property
    def scores_labels(self) -> bool:
        """Whether labels of threads are what it is measured by, and not stances alone."""
        return (self.runs[0]["config"] or {}).get("task") != "stance"


def sides(connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> tuple[list[Side], list[tuple[Any, ...]]]:
    """Read all that the report's figures are made of.

    Returns:
        The sides; and which editions they judged, as keys for `editions`.

    Raises:
        UsageError: a name is unknown, or two are the same.
    """
    found: list[Side] = []
    keys: list[tuple[Any, ...]] = []
    for name in dict.fromkeys(names):
        runs = read.find_runs(connection, name)
        if twice := [side for side in found if {r["run_id"] for r in side.runs} == {r["run_id"] for r in runs}]:
            raise UsageError(f"{name} and {twice[0].asked} are the same")
        config = runs[0]["config"] or {}
        key = (runs[0]["dataset"], *(config.get(each) for each in ("dataset", "data_dir", "keep_handles", "attack")))
        if key not in keys:
            keys.append(key)
        measured = results.collect(connection, runs)
        predictions = [_predictions(connection, run) for run in runs]
        later = [_labelled_steps(connection, run) for run in runs]
        found.append(
            Side(_letter(len(found)), name, measured, keys.index(key), predictions, later, _costs(connection, runs))
        )
    return found, keys


def editions(
    found: Sequence[Side], keys: Sequence[tuple[Any, ...]], data_dir: Path | None, *, posts: bool = True
) -> list[Edition]:
    """Read the texts again that the runs judged, and times, as far as their corpora are on this machine.

    Args:
        found: The sides.
        keys: As `sides` gives them.
        data_dir: Where corpora lie, if not where they were at the time.
        posts: Whether texts shall be shown at all.
    """
    corpora: dict[Any, Any] = {}
    read_again = []
    for index, key in enumerate(keys):
        judging = [side for side in found if side.edition == index]
        run = judging[0].runs[0]
        hidden = "" if posts else f"The posts of {key[0]} are left out of this page."
        dated = any(row["action"] == "after" for side in judging for rows in side.later for row in rows)
        if hidden and not dated:
            read_again.append(Edition(key[0], {}, hidden))
            continue
        try:
            if key[:-1] not in corpora:
                corpora[key[:-1]] = corpus_of(run, data_dir)
        except UsageError as error:
            read_again.append(Edition(key[0], {}, hidden or f"The posts of {key[0]} cannot be shown: {error}"))
            continue
        corpus = corpora[key[:-1]]
        judged = {row["thread_id"] for side in judging for rows in side.predictions for row in rows}
        threads = {thread.id: as_judged(run, thread) for thread in corpus.threads if thread.id in judged}
        changed = corpus.fingerprint != run["corpus_fingerprint"]
        note = f"The files of {key[0]} have changed since: posts may not be those that were judged." if changed else ""
        times = {name: [post.seconds for post in thread.posts] for name, thread in threads.items()} if dated else {}
        read_again.append(Edition(key[0], {} if hidden else threads, f"{hidden} {note}".strip(), times))
    return read_again


def _letter(index: int) -> str:
    """A, B, ... Z, A2, ..."""
    round_, place = divmod(index, 26)
    return chr(ord("A") + place) + (str(round_ + 1) if round_ else "")


def _predictions(connection: duckdb.DuckDBPyConnection, run: Row) -> list[Row]:
    query = """SELECT thread_id, checkpoint, gold, label, outcome, stop_index, n_posts, seconds_to_stop, probabilities,
                      seconds, CAST(debate -> 'flips' AS VARCHAR) AS turned
               FROM predictions WHERE run_id = ?"""
    found = read.rows(connection, query, [run["run_id"]])
    for row in found:
        row["when"] = run["when"]
        row["turned"] = sum(json.loads(row["turned"] or "{}").values())
    return sorted(found, key=lambda row: (results.order(row["checkpoint"]), row["thread_id"]))


def _labelled_steps(connection: duckdb.DuckDBPyConnection, run: Row) -> list[Row]:
    query = """SELECT thread_id, step, action, label FROM steps
               WHERE run_id = ? AND (label IS NOT NULL OR action = 'after') ORDER BY thread_id, step"""
    return read.rows(connection, query, [run["run_id"]])


def _costs(connection: duckdb.DuckDBPyConnection, runs: Sequence[Row]) -> list[Row]:
    query = """
        SELECT coalesce(role, '') AS role, model,
               count(*) FILTER (error IS NULL) AS used, count(*) FILTER (error IS NULL AND NOT cached) AS made,
               count(*) FILTER (error IS NOT NULL) AS failed,
               sum(input_tokens) FILTER (NOT cached)::BIGINT AS input_tokens,
               sum(output_tokens) FILTER (NOT cached)::BIGINT AS output_tokens,
               sum(cost) FILTER (NOT cached) AS cost, sum(seconds) FILTER (NOT cached) AS seconds
        FROM calls WHERE run_id IN (SELECT unnest($1::VARCHAR[])) GROUP BY ALL ORDER BY seconds DESC, role, model"""
    return read.rows(connection, query, [[run["run_id"] for run in runs]])
