"""The first sections of a report: what was run, what it measured, and whether differences are more than chance."""

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import numpy as np

from corpora.errors import UsageError
from eval import compare_stances, comparison
from eval.cells import PAPER, cell, head, paper_cell
from eval.debate_report import SHARES
from eval.pages.charts import COLOURS, marker
from eval.pages.escape import safe
from eval.pages.gather import Edition, Side
from eval.results import notes, shown_metrics, variant_of
from eval.show import records
from eval.titles import judged

Row = dict[str, Any]
Estimates = Mapping[str, Any]


def badge(sides: Sequence[Side], side: Side, named: bool = False) -> str:
    """A side's letter in its colour, and its name."""
    slot = sides.index(side)
    letter = f'<b class="side s{slot % COLOURS}">{marker(slot)}{side.letter}</b>'
    return f"{letter} {safe(side.name)}" if named else letter


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    caption: str = "",
    kinds: Sequence[str] = (),
    words: bool = False,
) -> str:
    """A table that scrolls by itself where it is too wide.

    Args:
        heads: Of its columns, as HTML.
        rows: Cells as HTML, the first one heading its row.
        caption: As HTML.
        kinds: Class of each row.
        words: Whether cells are words rather than numbers.
    """
    top = "".join(f'<th scope="col">{text}</th>' for text in heads)
    body = []
    for number, (first, *others) in enumerate(rows):
        kind = f' class="{kinds[number]}"' if kinds and kinds[number] else ""
        body.append(f'<tr{kind}><th scope="row">{first}</th>{"".join(f"<td>{text}</td>" for text in others)}</tr>')
    title, kind = f"<caption>{caption}</caption>" if caption else "", ' class="words"' if words else ""
    return (
        f'<div class="scroll" tabindex="0"><table{kind}>{title}<thead><tr>{top}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def what_was_run(sides: Sequence[Side], editions: Sequence[Edition]) -> str:
    """Each side in a line, what to be warned of, and everything that was in force, to unfold."""
    warnings = []
    for side in sides:
        for text in (variant_of(side.runs[0]), side.results.state, *_leaks(side)):
            warnings += [f"{badge(sides, side)} {safe(text)}"] if text else []
    warnings += [safe(edition.missing) for edition in editions if edition.missing]
    rows = []
    for side in sides:
        first, statuses = side.runs[0], [run["status"] for run in side.runs]
        done = f"{statuses.count('finished')} of {len(statuses)} finished"
        threads = " / ".join(dict.fromkeys(f"{count:,}" for count in side.results.judged))
        commit = (first["git_commit"] or "no checkout")[:12]
        rows.append(
            [badge(sides, side, named=True), safe(judged(first)), done, threads]
            + [f"<code>{safe(text)}</code>" for text in (first["config_id"], commit)]
        )
    parts = [f'<p class="warning">{text}</p>' for text in dict.fromkeys(warnings)]
    heads = ["when, how", "judged", "seeds", "threads judged", "configuration", "git"]
    parts.append(table(heads, rows, words=True))
    if len(sides) > 1 and (differing := _differing(sides)):
        cells = [[f"<code>{safe(name)}</code>", *map(safe, values)] for name, values in differing.items()]
        parts.append(table(["what differs", *(badge(sides, side) for side in sides)], cells, words=True))
    for side in sides:
        entries = "".join(f"<dt>{safe(name)}</dt><dd>{safe(text)}</dd>" for name, text in records(side.runs).items())
        parts.append(
            f"<details><summary>{badge(sides, side)} everything that was in force</summary>"
            f'<dl class="record">{entries}</dl></details>'
        )
    return "\n".join(parts)


def _leaks(side: Side) -> list[str]:
    """What a reader should know of the threads that results come from, as counted when they were read."""
    counts = side.runs[0]["corpus_counts"] or {}
    told = {
        "test_threads_also_in_training_corpus": "test threads are in the corpus too that the shots come from",
        "test_threads_that_the_stop_policy_learned_from": "of the threads the stop policy has learned from: "
        "results on them say little",
        "test_threads_that_the_networks_learned_from": "of the threads JSDRV's networks have learned from: "
        "results on them say little",
    }
    return [f"{counts[name]} {text}" for name, text in told.items() if counts.get(name)]


def _differing(sides: Sequence[Side]) -> dict[str, list[str]]:
    """What of the configurations is not the same on all sides."""
    configs = [
        (side.runs[0]["config"] or {})
        | {name: side.runs[0][name] for name in ("dataset", "split", "when", "how", "model")}
        for side in sides
    ]
    names = sorted({name for config in configs for name in config})
    found = {name: [str(config.get(name)) for config in configs] for name in names if name not in ("db", "method")}
    return {name: values for name, values in found.items() if len(set(values)) > 1}


def metrics(sides: Sequence[Side]) -> str:
    """All measured values with their intervals: those of threads, of posts' stances, and of debates."""
    parts = []
    names = list(dict.fromkeys(name for side in sides for name in shown_metrics(side.results)[0]))
    of_stances = list(dict.fromkeys(name for side in sides for name in shown_metrics(side.results)[1]))
    for title, columns in (("", names), ("stances of posts", of_stances)):
        rows, kinds = [], []
        for side in sides:
            for checkpoint, values in side.results.values.items():
                if not any(name in values for name in columns):
                    continue
                rows.append([_row_head(sides, side, checkpoint), *(_cell(values, name) for name in columns)])
                kinds.append("")
                for paper in side.results.published.get(checkpoint, []):
                    if any(name in paper.values for name in columns):
                        rows.append([safe(PAPER + paper.system), *(paper_cell(paper, name) for name in columns)])
                        kinds.append("paper")
        if rows:
            parts.append(table(["read", *(safe(head(name)) for name in columns)], rows, caption=title, kinds=kinds))
    told = dict.fromkeys(text for side in sides for text in notes(side.results))
    parts += [f'<p class="note">{safe(text)}</p>' for text in told]
    parts += [
        _debates(sides, side, checkpoint, statistics)
        for side in sides
        for checkpoint, statistics in side.results.debates.items()
        if statistics
    ]
    return "\n".join(parts)


def _row_head(sides: Sequence[Side], side: Side, checkpoint: str | None) -> str:
    counts = side.results.threads[checkpoint]
    n = f"{min(counts):,}" + (f"–{max(counts):,}" if max(counts) > min(counts) else "")
    return f'{badge(sides, side)} {safe(checkpoint or side.runs[0]["when"])} <span class="ci">n = {n}</span>'


def _cell(values: Estimates, name: str) -> str:
    if name not in values:
        return "–"
    value, _, interval = cell(values[name]).partition("\n")
    return f"{value}<br><span class='ci'>{interval}</span>" if interval else value


def _debates(sides: Sequence[Side], side: Side, checkpoint: str | None, statistics: Row) -> str:
    def row(label: str, value: Row, unit: str) -> list[list[str]]:
        if value["value"] is None:
            return []
        interval = "–" if value["low"] is None else f"[{value['low']:.3f}, {value['high']:.3f}]"
        return [[safe(label), f"{value['value']:.3f}", interval, f"{value['n']:,} {unit}"]]

    rows = [line for name, (label, unit) in SHARES.items() for line in row(label, statistics["shares"][name], unit)]
    rows += row("of these: macro-F1 of the sign", statistics["scorer_macro_f1"], "comments")
    at = f" at {checkpoint}" if checkpoint else ""
    counts = f"{statistics['debates']:,} debates on {statistics['threads']:,} threads"
    inner = table(["share", "", "95 % interval", "n"], rows)
    summary = f"{badge(sides, side)} in the debates{safe(at)}: {counts}"
    return f"<details><summary>{summary}</summary>{inner}</details>"


def tests(connection: duckdb.DuckDBPyConnection, sides: Sequence[Side]) -> str:
    """Each side after the first against the first, as `eval.compare` does; empty where there is one side."""
    if len(sides) < 2:
        return ""
    rng, found, notes_ = np.random.default_rng(0), [], []
    first = sides[0]
    for side in sides[1:]:
        if not (first.scores_labels and side.scores_labels):
            continue
        try:
            found += comparison.pair(connection, (first.letter, first.runs), (side.letter, side.runs), rng)
        except UsageError as error:
            notes_.append(str(error))
    names = {side.asked: side for side in sides}
    stances = compare_stances.compare(connection, list(names), np.random.default_rng(0))
    adjusted, of_stances = comparison.adjust(found, stances)
    letters = {side.letter: side for side in sides}
    rows = [
        [
            f'{badge(sides, letters[each.second])} {safe(each.checkpoint)} <span class="ci">n = {each.n:,}</span>',
            f'{each.accuracy:+.3f}<br><span class="ci">{each.only_second} : {each.only_first}</span>',
            f'{each.accuracy_p:.3g}<br><span class="ci">Holm {accuracy_p:.3g}</span>',
            f'{each.macro_f1:+.3f}<br><span class="ci">{_interval(each.macro_f1_low, each.macro_f1_high)}</span>',
            f'{each.macro_f1_p:.3g}<br><span class="ci">Holm {f1_p:.3g}</span>',
        ]
        for each, accuracy_p, f1_p in zip(found, adjusted[::2], adjusted[1::2], strict=True)
    ]
    parts = []
    if rows:
        parts.append(table([f"minus {badge(sides, first)}", "accuracy", "p", "macro-F1", "p"], rows))
    rows = [
        [
            f'{badge(sides, names[each.second])} {safe(each.checkpoint)} <span class="ci">n = {each.n:,} posts</span>',
            f'{each.macro_f1:+.3f}<br><span class="ci">{_interval(each.low, each.high)}</span>',
            f'{each.p:.3g}<br><span class="ci">Holm {p:.3g}</span>',
        ]
        for each, p in zip(stances, of_stances, strict=True)
    ]
    if rows:
        parts.append(table([f"minus {badge(sides, first)}", "macro-F1 of stances", "p"], rows))
    parts += [f'<p class="warning">{safe(text)}</p>' for text in notes_]
    tested = len(adjusted) + len(of_stances)
    parts.append(
        f'<p class="note">On the threads that both have judged (n), configurations matched by seed. a : b are threads '
        f"that only the row has right, and that only {first.letter} has. p of accuracy: exact McNemar test (over "
        f"several seeds: exact sign test by thread); p and interval of macro-F1: paired bootstrap over threads; Holm: "
        f"adjusted for the {tested} shown.</p>"
    )
    return "\n".join(parts)


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{low:+.3f}, {high:+.3f}]"
