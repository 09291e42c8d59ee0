"""`python -m eval.study`: several runs set side by side, in one table, one picture and the database."""

import argparse
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import UsageError, one_line_errors
from eval import debate_studies, jsdrv_studies, studies
from eval.config import RunConfig
from eval.study_options import read_study, rows_of

if TYPE_CHECKING:
    from rich.console import Console

    from eval.results import Results
    from eval.several import Series
    from eval.study_table import Result


def check(rows: Sequence[studies.Row]) -> None:
    """Read every corpus once, before hours of work on the first of them, and look at the names of all models.

    Raises:
        UsageError: one is missing, or has not what a row needs.
        FatalModelError: the API key is missing.
    """
    from agents.models import ModelSettings, open_model
    from eval.planning import make_plan
    from eval.task_options import chat_network

    needs = {
        (row.config.train_on, row.config.exclude_overlap, row.config.when.startswith("hours:")): row.config
        for row in rows
    }
    for config in needs.values():
        make_plan(config)
    asked = ((row.config, [*row.config.models.values(), chat_network(row.config) or "hf:"]) for row in rows)
    for name, url in dict.fromkeys((name, config.base_url) for config, names in asked for name in names):
        if not name.startswith("hf:"):  # those are loaded where they are opened
            open_model(ModelSettings(name, base_url=url))


def run_rows(rows: Sequence[studies.Row], series: "Series", found: "dict[studies.Row, Results]") -> None:
    """Run what has not been run, row by row, each run once.

    Args:
        rows: The study's rows.
        series: Runs them.
        found: What was measured, filled as it comes.

    Raises:
        Ended: a run stopped early, and the study with it.
    """
    from eval.planning import make_plan
    from eval.study_table import Result

    reports: dict[RunConfig, Results] = {}
    for row in rows:
        config, of = row.config, [each for each in rows if each.config == row.config and not each.random]
        if row.random:
            (agent,) = (each for each in rows if each.label == row.of)
            rate = Result(agent, found[agent]).number("early_rate")
            config, of = studies.plain(config, f"random:{rate:.3f}"), [row]
        if config in reports:
            found[row] = reports[config]
            continue

        def shown(report: "Results", config: RunConfig = config, of: Sequence[studies.Row] = of) -> None:
            reports[config] = report
            found.update(dict.fromkeys(of, report))

        series.run(row.label + (f" ({config.when})" if row.checkpoint else ""), make_plan(config), shown)


def finish(options: argparse.Namespace, base: RunConfig, found: "list[Result]", console: "Console") -> None:
    """Print, store and draw a study that is complete."""
    from eval import plots, study_audit, study_table
    from eval.database import connect
    from eval.results import clean

    study_table.show(options.name, found, console)
    if options.name in jsdrv_studies.ABOUT:
        from eval import jsdrv_differences

        with connect(base.db, read_only=True) as connection:
            differences = jsdrv_differences.differences(connection, options.name, found)
        console.print()
        jsdrv_differences.show(differences, console)
    stops: dict[str, list[study_audit.Stops]] = {}
    if options.name == "table":
        with connect(base.db, read_only=True) as connection:
            sentences = study_audit.verdicts(connection, found)
            agents = [result for result in found if result.row.kind == "agent"]
            stops = {result.row.label: study_audit.stop_positions(connection, result) for result in agents}
        console.print()
        for text in sentences:
            console.print(clean(text), markup=False, highlight=False, soft_wrap=True)
        for name, each in stops.items():
            console.print()
            console.print(study_audit.stops_table(name, each))
    store(options.name, base, found)
    paths = plots.draw(options.name, found, next(iter(stops.values()), []), options.out, file_name(options.name, found))
    console.print()
    where = f"stored in {base.db}, table studies; drawn in {' and '.join(map(str, paths))}"
    console.print(where, style="dim", markup=False, highlight=False, soft_wrap=True)


def store(study: str, base: RunConfig, found: "Sequence[Result]") -> None:
    """Store a study's rows; those of several models are each a study of its own, made again model by model."""
    from eval import study_store

    models = dict.fromkeys(result.row.config.model for result in found) if study == "debate" else [base.model]
    for model in models:
        rows = [result for result in found if len(models) == 1 or result.row.config.model == model]
        study_store.store(study, replace(base, model=model), rows)


def file_name(study: str, found: "Sequence[Result]") -> str:
    """Name of the pictures: the study, the corpus, and what is not as usual."""
    import re

    from eval.jsdrv_table import name_parts
    from eval.study_table import debate_options

    runs = [result.report.runs[0] for result in found]
    run, config, of_debate = runs[0], runs[0]["config"] or {}, study in debate_studies.ABOUT
    parts = [study, run["dataset"]]
    if config.get("labels") not in (None, "rumor/non-rumor"):
        parts.append(config["labels"])
    if config.get("split") != ("all" if of_debate else "few-shot"):
        parts.append(config["split"])
    if study in jsdrv_studies.ABOUT:
        parts = [study, run["dataset"], *name_parts(study, runs)]
    elif of_debate:
        parts += [*dict.fromkeys(each["model"] for each in runs), *debate_options(study, found)]
    elif run["model"] != "encoder":
        parts += [run["how"], run["model"]]
    if config.get("attack"):
        parts.append(config["attack"])
    return re.sub(r"[^\w.]+", "-", "-".join(map(str, parts)))[:200].strip("-.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code (0 done, 1 stopped early, 2 the user's mistake, 130 Ctrl-C)."""
    with one_line_errors():
        options, base = read_study(arguments)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
        from rich.console import Console

        from eval.several import run_several
        from eval.study_table import Result, show

        console, notes = Console(), Console(stderr=True)
        rows = rows_of(options, base)
        if base.dry_run:
            return dry_run(rows, notes)
        check(rows)
        make_folder(options.out)
        found: dict[studies.Row, Results] = {}

        def end(code: int) -> None:
            results = [Result(row, found[row]) for row in rows if row in found]
            if code:  # the table so far, whatever happened
                show(options.name, results, console)
            else:
                finish(options, base, results, console)

        total = len({row.config for row in rows if not row.random}) + sum(row.random for row in rows)
        return run_several(lambda series: run_rows(rows, series, found), end, base, total=total)


def dry_run(rows: Sequence[studies.Row], notes: "Console") -> int:
    """Count what each run would ask, and ask nothing."""
    from eval.dry_run import dry_run_several
    from eval.task_options import chat_network

    configs: dict[RunConfig, str] = {}
    for row in rows:
        if not row.random:
            configs.setdefault(row.config, row.label)
    counted = {label: config for config, label in configs.items() if chat_network(config) is None}
    dry_run_several(counted)
    for label in (label for label in configs.values() if label not in counted):
        text = f"{label}: what is asked depends on what JSDRV's selector keeps, and nobody can tell beforehand"
        notes.print(text, markup=False, highlight=False, soft_wrap=True)
    if len(configs) > 1:
        notes.print("Rows that ask the same share the answer: each is counted here as if it came first.")
    return 0


def make_folder(out: Path) -> None:
    """Make the folder of the pictures, before hours of work that could not be drawn.

    Raises:
        UsageError: it cannot be made.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror or error}") from None


if __name__ == "__main__":
    sys.exit(main())
