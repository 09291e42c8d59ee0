"""What happened in the debates of a run: who changed sides, whom the judge was called to, what the evidence was worth.

Everything is a share of something counted: of threads, of turns, of comments, of citations. Seeds are pooled. The 95 %
intervals are of a bootstrap over threads, each drawn with all its turns, comments and seeds, since these are not
independent; where every draw is alike (none of 30, or all) it is Wilson's interval of as many threads.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from eval.cells import plain_table
from eval.metrics import Estimate, macro_f1
from eval.statistics import Floats, percentiles

Row = Mapping[str, Any]

SHARES = {
    "start_apart": ("debaters start apart", "debates"),
    "apart_p_changed": ("of these: p goes over to n", "debates"),
    "apart_n_changed": ("of these: n goes over to p", "debates"),
    "apart_swapped": ("of these: they swap sides", "debates"),
    "apart_neither": ("of these: neither moves", "debates"),
    "alike_p_changed": ("start alike: only p changes sides", "debates"),
    "alike_n_changed": ("start alike: only n changes sides", "debates"),
    "alike_both_changed": ("start alike: both change sides", "debates"),
    "judge_called": ("the judge is called", "debates"),
    "judge_accuracy": ("accuracy of the judge", "debates"),
    "consensus_accuracy": ("accuracy where the debaters agree", "debates"),
    "turns_without_label": ("turns without a label", "turns"),
    "second_attempts": ("turns asked for twice", "turns"),
    "turns_that_cite": ("turns that cite a post", "turns"),
    "cited_unknown": ("cited posts that do not exist", "citations"),
    "unscored": ("comments without a score", "comments"),
    "zero_scores": ("comments scored 0", "comments"),
    "one_sided": ("evidence on one side only", "debates"),
    "no_evidence": ("no evidence at all", "debates"),
    "scorer_coverage": ("gold S or D: scored other than 0", "comments"),
    "scorer_accuracy": ("of these: sign of the score is right", "comments"),
}
"""Name -> how tables call it, and what it is a share of."""
_APART = ("apart_neither", "apart_p_changed", "apart_n_changed", "apart_swapped")
_ALIKE = ("alike_neither", "alike_p_changed", "alike_n_changed", "alike_both_changed")
_STANCES = {("S", 1): "SS", ("S", -1): "SD", ("D", 1): "DS", ("D", -1): "DD"}
"""(gold stance, sign of the score) -> cell of the confusion matrix."""
_DRAWS = 1_000
_Z_SQUARED = 1.959964**2


def statistics_of(rows: Sequence[Row]) -> dict[str, Any]:
    """Count what happened in debates.

    Args:
        rows: Rows of `predictions` at one checkpoint, of all seeds; those without a debate (failed ones) are left out.

    Returns:
        Empty where there was no debate. Else "debates" and "threads" (how many there are), "shares": name of SHARES ->
        value, low, high and n (what it is a share of; value is None where that is 0), "scorer_macro_f1" (the same, over
        gold S and D) and "scorer_majority" (what always guessing the more frequent stance would have right).
    """
    rows = [row for row in rows if row.get("debate")]
    if not rows:
        return {}
    by_thread: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        by_thread[row["thread_id"]] += _counts(row)
    names = [*SHARES, *_STANCES.values()]
    hits = np.array([[counts[name] for name in names] for counts in by_thread.values()], float)  # (threads, names)
    of = np.array([[counts[f"of {name}"] for name in SHARES] for counts in by_thread.values()], float)
    drawn_hits, drawn_of = _resample(hits, of)
    shares = {}
    for index, name in enumerate(SHARES):
        drawn = _divide(drawn_hits[:, index], drawn_of[:, index])
        threads = int((of[:, index] > 0).sum())
        shares[name] = _estimate(hits[:, index].sum(), of[:, index].sum(), drawn, threads)
    cells, drawn_cells = hits[:, len(SHARES) :].sum(axis=0), drawn_hits[:, len(SHARES) :]
    covered = int(cells.sum())
    low, high = percentiles(_stance_f1(drawn_cells)) if covered else (None, None)
    if low == high:
        low = high = None  # every draw alike: these say nothing of how far it may be off
    f1 = float(_stance_f1(cells)) if covered else None
    return {
        "debates": len(rows),
        "threads": len(by_thread),
        "shares": shares,
        "scorer_macro_f1": {"value": f1, "low": low, "high": high, "n": covered},
        "scorer_majority": float(max(cells[:2].sum(), cells[2:].sum())) / covered if covered else None,
    }


def per_thousand(values: Mapping[str, Estimate], checkpoint: str | None) -> float | None:
    """Accuracy for every 1,000 tokens a thread costs, failed threads among them.

    Args:
        values: What was measured (see eval.metrics.estimate).
        checkpoint: Where, if it is one of several.

    Returns:
        None where nobody tells tokens, and at one checkpoint of several: the tokens are those of all of them together.
    """
    accuracy, tokens = values["accuracy"].value, values["tokens_per_thread"].value
    return accuracy / (tokens / 1000) if checkpoint is None and accuracy is not None and tokens else None


def _counts(row: Row) -> Counter[str]:
    """One debate: name -> how often, and "of NAME" -> out of how many."""
    found: Counter[str] = Counter()

    def count(name: str, hits: int, of: int = 1) -> None:
        found[name] += hits
        found[f"of {name}"] += of

    debate, right = row["debate"], row["label"] == row["gold"]
    turns, scores, gold = debate["turns"], debate["scores"], debate.get("gold", {})
    sides = {s: [turn["label"] for turn in turns if turn["speaker"] == s] for s in ("p", "n")}
    if sides["p"] and sides["n"]:
        called = any(turn["speaker"] == "judge" for turn in turns)
        count("judge_called", called)
        if called or row["label"]:  # two debaters without a label: neither judge nor consensus
            count("judge_accuracy" if called else "consensus_accuracy", right)
        if sides["p"][0] and sides["n"][0]:
            apart = sides["p"][0] != sides["n"][0]
            count("start_apart", apart)
            outcomes = _APART if apart else _ALIKE
            outcome = outcomes[_changed(sides["p"]) + 2 * _changed(sides["n"])]
            for name in outcomes:
                count(name, name == outcome)
    count("turns_without_label", sum(turn["label"] is None for turn in turns), len(turns))
    count("second_attempts", sum(turn["calls"] > 1 for turn in turns), len(turns))
    count("turns_that_cite", sum(bool(turn["cites"] or turn["unknown"]) for turn in turns), len(turns))
    unknown = sum(turn["unknown"] for turn in turns)
    count("cited_unknown", unknown, unknown + sum(len(turn["cites"]) for turn in turns))
    count("unscored", sum(score is None for score in scores.values()), len(scores))
    count("zero_scores", sum(score == 0 for score in scores.values()), len(scores))
    count("one_sided", bool(debate["p"]) != bool(debate["n"]))
    count("no_evidence", not debate["p"] and not debate["n"])
    for post, stance in gold.items():
        score = scores.get(post)
        count("scorer_coverage", bool(score))
        if score:
            cell = _STANCES[stance, 1 if score > 0 else -1]
            found[cell] += 1
            count("scorer_accuracy", cell in ("SS", "DD"))
    return found


def _changed(labels: Sequence[str | None]) -> bool:
    """Whether a debater's last label is another than the first, which is there."""
    return [label for label in labels if label][-1] != labels[0]


def _resample(*columns: Floats) -> list[Floats]:
    """Draw threads anew and sum over them: (threads, m) -> (draws, m)."""
    rng = np.random.default_rng(0)  # the same chance every time: a table that is shown again shows the same digits
    n = len(columns[0])
    weights = (np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(_DRAWS))
    sums = [[draw @ column for column in columns] for draw in weights]
    return [np.array(column) for column in zip(*sums, strict=True)]


def _divide(hits: Floats, of: Floats) -> Floats:
    undefined: Floats = np.full(hits.shape, np.nan)
    shares: Floats = np.divide(hits, of, out=undefined, where=of > 0)
    return shares


def _estimate(hits: float, of: float, drawn: Floats, threads: int) -> dict[str, Any]:
    """A share with its interval: of the draws, or where these are all alike, Wilson's."""
    if not of:
        return {"value": None, "low": None, "high": None, "n": 0}
    value = float(hits / of)
    low, high = percentiles(drawn)
    if value in (0, 1):
        far = _Z_SQUARED / (threads + _Z_SQUARED)
        low, high = (0.0, far) if value == 0 else (1 - far, 1.0)
    return {"value": value, "low": low, "high": high, "n": int(of)}


def _stance_f1(cells: Floats) -> Floats:
    """Macro-F1 of cells SS, SD, DS, DD: (..., 4) -> (...)."""
    square = cells.reshape(*cells.shape[:-1], 2, 2)
    nothing = np.zeros((*square.shape[:-1], 1))
    return macro_f1(np.concatenate([square, nothing], axis=-1))


def show(statistics: Mapping[str, Any], console: Console, checkpoint: str | None = None) -> None:
    """Print the statistics of one checkpoint as a table; nothing where there was no debate.

    Args:
        statistics: Of statistics_of, with "accuracy_per_1000_tokens" where that is known (see per_thousand).
        console: Where to print.
        checkpoint: Its name where there are several.
    """
    if not statistics:
        return
    at = f" at {checkpoint}" if checkpoint else ""
    counted = f"{statistics['debates']} debates on {statistics['threads']} threads"
    console.print(Text(f"in the debates{at} ({counted})", style="bold"))
    table = plain_table()
    table.add_column("share", overflow="fold")
    for head in ("", "95 % interval", "n"):
        table.add_column(head, justify="right", no_wrap=True)
    for name, (label, unit) in SHARES.items():
        _add(table, label, statistics["shares"][name], unit)
    f1, majority = statistics["scorer_macro_f1"], statistics["scorer_majority"]
    _add(table, "of these: macro-F1 of the sign", f1, "comments")
    if majority is not None:
        table.add_row(Text("of these: the more frequent stance"), f"{majority:.3f}", "", f"{f1['n']:,} comments")
    console.print(table)
    if (worth := statistics.get("accuracy_per_1000_tokens")) is not None:
        console.print(Text(f"accuracy per 1,000 tokens a thread: {worth:.3g}"))


def _add(table: Table, label: str, value: Mapping[str, Any], unit: str) -> None:
    """One line, unless there is nothing that it could be a share of."""
    if value["value"] is not None:
        interval = "–" if value["low"] is None else f"[{value['low']:.3f}, {value['high']:.3f}]"
        table.add_row(Text(label), f"{value['value']:.3f}", interval, f"{value['n']:,} {unit}")
