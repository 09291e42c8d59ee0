"""What the viewer of a report shows: an index of all threads, and their details in pieces that are read when needed."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from corpora.thread import ClaimThread
from eval import annotation_view, read
from eval.database import connect
from eval.metrics import flip_rate
from eval.pages.escape import hides_for_script, script_json
from eval.pages.gather import Edition, Side

Row = dict[str, Any]
Key = tuple[str, str]
"""Corpus and thread."""

ABSTAINED, FAILED, NOT_JUDGED = -1, -2, -3
"""In place of a label's number."""
_CODES = {"abstained": ABSTAINED, "failed": FAILED}
PIECE = 300_000
"""Characters of a piece, about."""
_AT_ONCE = 2_000
"""Threads asked of the database at a time."""
_MANY = 20_000
"""Threads from which on the index has the beginnings of claims only."""


def keys_of(sides: Sequence[Side]) -> list[Key]:
    """All threads that anybody judged, those most often wrong first."""
    wrong: dict[Key, int] = defaultdict(int)
    for side in sides:
        for row in (row for rows in side.predictions for row in rows):
            wrong[side.runs[0]["dataset"], row["thread_id"]] += row["label"] != row["gold"]
    return sorted(wrong, key=lambda key: (-wrong[key], key))


def index(sides: Sequence[Side], editions: Sequence[Edition], keys: Sequence[Key]) -> Row:
    """What is needed to list, search and filter threads, column by column."""
    places = {key: place for place, key in enumerate(keys)}
    corpora = list(dict.fromkeys(name for name, _ in keys))
    longest = 280 if len(keys) <= _MANY else 140
    claims = [""] * len(keys)
    posts = [0] * len(keys)
    for edition in editions:
        for thread in edition.threads.values():
            place = places[edition.dataset, thread.id]
            claims[place] = claims[place] or thread.source.text[:longest]
    views = []
    for side in sides:
        labels = _labels(side)
        gold: list[int] = [NOT_JUDGED] * len(keys)
        for run, rows, later in zip(side.runs, side.predictions, side.later, strict=True):
            changed = turned(rows, later)
            by_checkpoint: dict[str | None, list[Row]] = defaultdict(list)
            for row in rows:
                by_checkpoint[row["checkpoint"]].append(row)
            for checkpoint, judged in by_checkpoint.items():
                view = _view(side, run, checkpoint, labels) | {"gold": gold}
                given, stop, turns, sure = ([fill] * len(keys) for fill in (NOT_JUDGED, 0, 0, -1))
                for row in judged:
                    place = places[side.runs[0]["dataset"], row["thread_id"]]
                    gold[place] = labels.index(row["gold"]) if row["gold"] in labels else NOT_JUDGED
                    given[place] = labels.index(row["label"]) if row["label"] else _CODES.get(row["outcome"], ABSTAINED)
                    stop[place] = row["stop_index"] or 0
                    posts[place] = max(posts[place], row["n_posts"] or 0)
                    turns[place] = int(row["turned"] > 0 or row["thread_id"] in changed)
                    chance = (row["probabilities"] or {}).get(row["label"])
                    sure[place] = -1 if chance is None else round(100 * chance)
                views.append(view | {"given": given, "stop": stop, "turned": turns, "sure": sure})
    return {
        "hides": hides_for_script(),
        "corpora": corpora,
        "corpus": [corpora.index(name) for name, _ in keys] if len(corpora) > 1 else [],
        "ids": [name for _, name in keys],
        "claims": claims,
        "posts": posts,
        "views": views,
        "missing": [edition.missing for edition in editions],
    }


def _view(side: Side, run: Row, checkpoint: str | None, labels: Sequence[str]) -> Row:
    name = f"seed {run['seed']}" + (f", {checkpoint}" if checkpoint else "")
    common = {"side": side.letter, "about": side.name, "name": name, "run": run["run_id"], "edition": side.edition}
    return common | {"checkpoint": checkpoint, "labels": list(labels), "when": checkpoint or run["when"]}


def _labels(side: Side) -> list[str]:
    """The side's classes, and whatever else was given as a label."""
    every = (row for rows in side.predictions for row in rows)
    given = {name: None for row in every for name in (row["gold"], row["label"]) if name}
    return list(dict.fromkeys([*side.labels, *given]))


def turned(rows: Sequence[Row], later: Sequence[Row]) -> set[str]:
    """Threads whose label changes between stored prefixes; an abstention is a label of its own (see flip_rate)."""
    labels: dict[str, dict[int, str | None]] = defaultdict(dict)
    for row in rows:
        if row["stop_index"]:
            labels[row["thread_id"]][row["stop_index"]] = row["label"]
    for row in later:
        labels[row["thread_id"]][row["step"]] = row["label"]
    return {name for name, found in labels.items() if flip_rate([found[step] for step in sorted(found)])}


def pieces(
    db: Path, sides: Sequence[Side], editions: Sequence[Edition], keys: Sequence[Key], *, posts: bool = True
) -> Iterator[tuple[int, str]]:
    """The details of all threads, in the order of the index: how many threads a piece holds, and its JSON.

    The database is opened for every few thousand threads anew, so that a run that writes need not wait for long.
    Without `posts` nothing is in them that a post or a model said.
    """
    held: list[str] = []
    size = 0
    for start in range(0, len(keys), _AT_ONCE):
        for text in _details(db, sides, editions, keys[start : start + _AT_ONCE], posts):
            held.append(text)
            size += len(text)
            if size >= PIECE:
                yield len(held), f"[{','.join(held)}]"
                held, size = [], 0
    if held:
        yield len(held), f"[{','.join(held)}]"


def _details(
    db: Path, sides: Sequence[Side], editions: Sequence[Edition], keys: Sequence[Key], words: bool
) -> Iterator[str]:
    """One JSON object a thread; without `words`, nothing that anybody said."""
    runs = [run["run_id"] for side in sides for run in side.runs]
    of = [runs, sorted({name for _, name in keys})]
    where = "WHERE run_id IN (SELECT unnest($1::VARCHAR[])) AND thread_id IN (SELECT unnest($2::VARCHAR[]))"
    stored: dict[str, dict[Key, list[Row]]] = {}
    with connect(db, read_only=True) as connection:
        tables = ["predictions", "steps"] + (["annotations"] if read.has_annotations(connection) else [])
        for table in tables:
            stored[table] = defaultdict(list)
            for row in read.rows(connection, f"SELECT * FROM {table} {where}", of):  # noqa: S608 - our own names
                stored[table][row["run_id"], row["thread_id"]].append(row)
    for dataset, name in keys:
        texts = {number: each.threads.get(name) for number, each in enumerate(editions) if each.dataset == dataset}
        judged = {}
        for side in sides:
            if side.runs[0]["dataset"] == dataset:
                for run in side.runs:
                    rows = {table: stored[table].get((run["run_id"], name), []) for table in tables}
                    if rows["predictions"]:
                        judged[run["run_id"]] = _judged(rows, texts.get(side.edition), words)
        posts = {str(number): _posts(thread) for number, thread in texts.items() if thread is not None}
        yield script_json({"posts": posts, "runs": judged})


def _posts(thread: ClaimThread) -> list[list[Any]]:
    """Author, seconds, number of the post it answers, text and annotators' stance of each post."""
    numbers = {post.id: number for number, post in enumerate(thread.posts, 1)}
    return [
        [post.author, post.seconds, numbers.get(post.parent or ""), post.text, thread.gold.stances.get(post.id)]
        for post in thread.posts
    ]


def _judged(rows: Mapping[str, list[Row]], thread: ClaimThread | None, words: bool) -> Row:
    """What one run made of a thread; posts by their numbers, or by their ids where the texts are gone."""
    numbers: dict[str, int] = {post.id: number for number, post in enumerate(thread.posts if thread else (), 1)}

    def named(posts: Sequence[str]) -> list[int | str]:
        return [numbers.get(post, post) for post in posts]

    steps = sorted(rows["steps"], key=lambda row: row["step"])
    verdicts = []
    for row in rows["predictions"]:
        odds = dict(row["probabilities"] or {})
        method = odds.pop("method", None)
        names = ("checkpoint", "label", "gold", "outcome", "seconds") + (("reason", "rationale") if words else ())
        of_posts = annotation_view.of_last(rows.get("annotations", []), [row["checkpoint"]])
        verdicts.append(
            {name: row[name] for name in names}
            | {"stop": row["stop_index"], "n": row["n_posts"], "to_stop": row["seconds_to_stop"]}
            | {"odds": list(odds.items()), "method": method}
            | {"debate": _debate(row["debate"], named, words) if row.get("debate") else None}
            | {"stances": [_stance(each, numbers, words) for each in of_posts.values()]}
        )
    return {
        "steps": [[row["step"], row["action"], row["stop_probability"], row["label"]] for row in steps],
        "verdicts": verdicts,
    }


def _stance(row: Row, numbers: Mapping[str, int], words: bool) -> list[Any]:
    odds = [(row["probabilities"] or {}).get(name, 0.0) for name in "SDQC"] if row["probabilities"] else None
    why = (row["explanation"] or row["reason"]) if words else None
    return [numbers.get(row["post_id"], row["post_id"]), row["label"], row["gold"], row["kept"], odds, why]


def _debate(debate: Row, named: Any, words: bool) -> Row:
    scores = zip(named(list(debate["scores"])), debate["scores"].values(), strict=True)
    shown = ("speaker", "round", "label", "text" if words else "")
    return {
        "subjective": debate["subjective"],
        "calls": debate["calls"],
        "p": named(debate["p"]),
        "n": named(debate["n"]),
        "scores": list(scores),
        "flips": [[speaker, count] for speaker, count in debate["flips"].items() if count],
        "turns": [[*map(turn.get, shown), named(turn["cites"]), turn["unknown"]] for turn in debate["turns"]],
    }
