"""What a study found: its rows measured, and printed as tables."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.console import Console
from rich.table import Table
from rich.text import Text

from eval import debate_studies, jsdrv_studies, jsdrv_table
from eval.cells import PAPER, cell, fit, head, paper_cell, plain_table
from eval.comparable import footnotes
from eval.metrics import Estimate
from eval.published import Published, graph_networks
from eval.results import Results, clean, is_published, judged
from eval.results import debate_options as of_run
from eval.studies import Row

_AGENT = ("macro_f1", "accuracy", "early_rate", "sea", "calls_per_thread", "abstained", "failed")
_DEBATE = ("accuracy", "macro_f1", "f1_*", "abstained", "failed", "calls_per_thread", "tokens_per_thread")
_TABLES = ("debate", "ablations", "rounds")
_COLUMNS = dict.fromkeys(_TABLES, _DEBATE) | {
    # without calls and tokens, which would be those of all checkpoints together
    "early": ("macro_f1", "accuracy", "f1_*", "early_rate", "abstained", "failed"),
}
_INTERVALS = dict.fromkeys(_TABLES, ("accuracy", "macro_f1")) | jsdrv_table.INTERVALS
"""Which have theirs printed, macro-F1's in all studies; of others there is room for a value, and for ER's deviation."""
_ZERO = {"sea", "calls_per_thread", "tokens_per_thread"}
"""Left out where all are: no --sea, no model."""
VARIED = {"shots": {"shots"}, "cross": {"train_on", "exclude_overlap"}, **jsdrv_table.VARIED}
"""Study -> what differs between its rows, and so is in no title."""
_LABEL = 24
"""Columns that a row's name is given before it is folded."""


@dataclass(frozen=True)
class Result:
    """One row of a study and what was measured."""

    row: Row
    report: Results
    """Of the row's whole run, all checkpoints."""

    @property
    def values(self) -> dict[str, Estimate]:
        """Metric -> estimate; empty where nothing was judged."""
        return self.report.values.get(self.row.checkpoint, {})

    @property
    def published(self) -> list[Published]:
        """The papers' figures for the same."""
        return self.report.published.get(self.row.checkpoint, [])

    def number(self, name: str, part: str = "value") -> float:
        """A metric's value, std, low or high; NaN where there is none."""
        found = getattr(self.values[name], part) if name in self.values else None
        return math.nan if found is None else float(found)

    @property
    def posts(self) -> int:
        """Posts with a gold stance that were measured."""
        return self.values["stance_micro_f1"].n if "stance_micro_f1" in self.values else 0

    @property
    def threads(self) -> list[int]:
        """Threads measured in each seed."""
        return self.report.threads.get(self.row.checkpoint, [])


def span(counts: Sequence[int]) -> str:
    """Counts as text: 95, or 85–125 where they differ."""
    low, high = min(counts, default=0), max(counts, default=0)
    return str(low) if low == high else f"{low}–{high}"


def title(study: str, results: Sequence[Result]) -> str:
    """What was judged, in one line, without what the study varies."""
    run = results[0].report.runs[0]
    varied = VARIED.get(study, set())
    kept = {name: value for name, value in (run["config"] or {}).items() if name not in varied}
    return clean(judged({**run, "config": kept}))


def debate_options(study: str, results: Sequence[Result]) -> list[str]:
    """What is not as usual in a study's debates: "k 5", "gate", "scorer-model encoder"."""
    found: dict[str, str] = {}
    for result in results:
        found |= of_run(result.report.runs[0])
    found.pop({"ablations": "ablate"}.get(study, study), None)  # what the study varies
    return list(found.values())


def setting(study: str, results: Sequence[Result]) -> str:
    """How all rows judge, in one line."""
    first = results[0].report.runs[0]
    if study in jsdrv_studies.ABOUT:
        return clean(jsdrv_table.setting([result.report.runs[0] for result in results]))
    if study not in debate_studies.ABOUT:
        return clean(f"how {first['how']}, model {first['model']}")
    models = dict.fromkeys(result.report.runs[0]["model"] for result in results)
    temperature = f"temperature {(first['config'] or {}).get('temperature')}"
    return clean(", ".join([f"model {', '.join(models)}", temperature, *debate_options(study, results)]))


def show(study: str, results: Sequence[Result], console: Console) -> None:
    """Print the table."""
    first = results[0].report.runs[0]
    console.print(Text(f"{study}: {title(study, results)}", style="bold"))
    console.print(Text(setting(study, results), style="bold"))
    if (first["corpus_counts"] or {}).get("variant"):
        text = f"This is not the published {first['dataset']}, but a sample or variant of it"
        console.print(Text(clean(text), style="yellow"))
    if unfinished := [result for result in results if result.report.state]:
        for result in unfinished:
            console.print(Text(clean(f"{result.row.label}: {result.report.state}"), style="bold yellow"))
    others = other_papers(study, results)
    own = [beside(study, result) for result in results]
    for number, table in enumerate(_sections(study, results, own, others, console.width)):
        if number:
            console.print()
        console.print(table)
    seeds = max(len(result.threads) for result in results)
    over = f"mean ± std over {seeds} seeds, " if seeds > 1 else ""
    note = f"{over}[95 % bootstrap interval over threads]; abstained and failed threads count as wrong"
    if study in debate_studies.ABOUT and study != "early":
        note += "; calls and tokens are per thread"
    console.print(Text(note, style="dim"))
    for text in [*jsdrv_table.notes(study, results), *footnotes(first, [*(p for each in own for p in each), *others])]:
        console.print(Text(clean(text), style="dim"))


def beside(study: str, result: Result) -> list[Published]:
    """The papers' figures that stand beneath a row."""
    if study in jsdrv_studies.ABOUT:
        return jsdrv_table.beside(study, result.report.runs[0], result.published)
    return result.published


def other_papers(study: str, results: Sequence[Result]) -> list[Published]:
    """Rows of the paper's table that no row here can stand beside; none on a corpus that is not its."""
    if study in jsdrv_studies.ABOUT:
        own = [paper for result in results for paper in beside(study, result)]
        return jsdrv_table.beneath([result.published for result in results], own)
    run = results[0].report.runs[0]
    if study != "debate" or run["split"] != "all" or not is_published(run):
        return []
    return graph_networks(run["dataset"], (run["config"] or {}).get("labels") or "")


def _sections(
    study: str, results: Sequence[Result], own: Sequence[Sequence[Published]], others: Sequence[Published], width: int
) -> Iterator[Table | Text]:
    """The tables; where a study measures claims and posts, those of each with what they are of."""
    sections = jsdrv_table.SECTIONS if study in jsdrv_studies.ABOUT else {"": _COLUMNS.get(study, _AGENT)}
    for of, metrics in sections.items():
        names, stances = _columns(metrics, results), of == jsdrv_table.OF_POSTS
        if not names or (of == jsdrv_table.OF_CLAIMS and "macro_f1" not in names):  # --task scores one of the two
            continue
        counts = ["posts" if stances else "n"]
        counts += [f"{result.posts:,}" if stances else span(result.threads) for result in results]
        for number, table in enumerate(_tables(study, results, own, others, names, counts, width)):
            if of and not number:
                table.title, table.title_justify, table.title_style = of, "left", "bold"
            yield table


def _tables(
    study: str,
    results: Sequence[Result],
    own: Sequence[Sequence[Published]],
    others: Sequence[Published],
    names: Sequence[str],
    counts: Sequence[str],
    width: int,
) -> Iterator[Table]:
    """The table of these metrics; several with a part of the columns each, where the width asks for it."""
    labels = [result.row.label for result in results]
    papers = [*(paper for each in own for paper in each), *others]
    longest = max(map(len, [*labels, *(PAPER + paper.system for paper in papers)]))
    room = width - min(_LABEL, longest) - max(map(len, counts)) - 2
    intervals = _INTERVALS.get(study, ("macro_f1",))
    cells = {name: [head(name), *(_cell(result, name, intervals) for result in results)] for name in names}
    in_one_line = {name: [text.replace("\n", " ") for text in texts] for name, texts in cells.items()}
    if len(fit(in_one_line, room)) == 1:
        cells = in_one_line
    for chunk in fit(cells, room):
        table = plain_table()
        table.add_column("row", overflow="fold")
        for name in (counts[0], *(head(name) for name in chunk)):
            table.add_column(Text(clean(name)), justify="right", no_wrap=True)
        for number, label in enumerate(labels, 1):
            table.add_row(Text(clean(label)), counts[number], *(Text(cells[name][number]) for name in chunk))
            _add_papers(table, own[number - 1], chunk)
        _add_papers(table, others, chunk)
        yield table


def _add_papers(table: Table, papers: Sequence[Published], names: Sequence[str]) -> None:
    for paper in papers:
        if any(name in paper.values for name in names):
            table.add_row(Text(PAPER + paper.system), "", *(paper_cell(paper, name) for name in names), style="italic")


def _columns(metrics: Sequence[str], results: Sequence[Result]) -> list[str]:
    """What was measured of these metrics, in their order, with F1 of each class in place of "f1_*"."""
    every = dict.fromkeys(name for result in results for name in result.values)
    classes = [name for name in every if name.startswith("f1_")]
    names = []
    for name in metrics:
        names += classes if name == "f1_*" else [name]
    if every:
        names = [name for name in names if name in every]
    return [name for name in names if name not in _ZERO or any(result.number(name) > 0 for result in results)]


def _cell(result: Result, name: str, intervals: Sequence[str]) -> str:
    """What a table of many rows has room for."""
    if (value := result.values.get(name)) is None:
        return "–"
    if name in intervals:
        return cell(value)
    deviates = name == "early_rate" or name in jsdrv_table.DEVIATE
    return cell(replace(value, low=None, high=None, std=value.std if deviates else None))
