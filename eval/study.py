"""`python -m eval.study`: several runs set side by side, in one table, one picture and the database."""

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import ArgumentParser, UsageError, one_line_errors
from eval import studies
from eval.command_line import read_config
from eval.config import RunConfig

if TYPE_CHECKING:
    from rich.console import Console

    from eval.report import Report
    from eval.study_table import Result

ABOUT = {
    "table": "fixed rules, baselines, the agent, its audits (shuffled experts, no experts, random stop, oracle)",
    "shots": "macro-F1 and ER by the number of labelled threads",
    "alpha": "macro-F1 against ER by the weight of the experts, with the Pareto frontier and the baselines",
    "cross": "trained on other corpora, tested on --dataset",
    "hours": "preset hours against the agent (a corpus with times)",
}
EPILOG = """\
Every option of python -m eval.run but --when and --method applies to all rows (--dataset, --labels, --seeds, --how,
--model, --stopper, ...); CED, ERD and HEARD keep the classifier that is their own. Each row is an ordinary run,
stored and resumable: the same command continues a study, and no study runs again what another one has run.

examples:
  python -m eval.study table --dataset twitter15 --labels false/non-rumor
  python -m eval.study table --variant "EARD, wary" alpha=0.9 beta=0.05 gamma=0.05
  python -m eval.study shots --dataset pheme --shots 10 20 30 40 50
  python -m eval.study alpha --alphas 0.4 0.7 1.0 --seeds 3
  python -m eval.study cross --dataset twitter-covid19 --train-on pheme twitter15
  python -m eval.study hours --dataset pheme --hours 1 6 12 24 36 --how direct --model openai:gpt-4o-mini --dry-run
"""
OWN = ("--when", "--method")


def parser() -> ArgumentParser:
    """The command line of `python -m eval.study`; what it leaves over is `eval.run`'s."""
    abouts = "\n".join(f"  {name:<7} {about}" for name, about in ABOUT.items())
    result = ArgumentParser(
        prog="python -m eval.study",
        usage="python -m eval.study NAME [its options] [options of eval.run] [--out DIR]",
        description=f"Set runs side by side: one table, stored in DuckDB, and a picture as PNG and SVG.\n\n{abouts}",
        epilog=EPILOG,
    )
    result.add_argument("name", metavar="NAME", help=", ".join(ABOUT))
    add = result.add_argument
    add("--out", type=Path, default=Path("studies"), metavar="DIR", help="for the pictures (default: %(default)s)")
    add = result.add_argument_group("one study's own").add_argument
    help_ = "table: one more agent, with its own audits"
    add("--variant", nargs="+", action="append", default=[], metavar=("LABEL", "NAME=VALUE"), help=help_)
    add("--shots", nargs="+", type=int, metavar="K", help="shots: how many (default: 10 20 30 40 50); else one number")
    add("--alphas", nargs="+", type=float, metavar="A", help="alpha: weights of CE; the others share the rest")
    add("--train-on", nargs="+", metavar="CORPUS", help="cross: which corpora (default: pheme twitter15)")
    add("--hours", nargs="+", type=float, metavar="H", help="hours, table: which (default: 1 6 12 24 36)")
    return result


def read_study(arguments: Sequence[str] | None = None) -> tuple[argparse.Namespace, RunConfig]:
    """Make the study's options and the base configuration of all its rows.

    Raises:
        UsageError: no such study, an option that is not this study's, or one that eval.run refuses.
    """
    from graphs.methods import known

    options, rest = parser().parse_known_args(arguments)
    known(options.name, ABOUT, "study")
    for theirs in OWN:
        if any(each.partition("=")[0] == theirs for each in rest):
            raise UsageError(f"{theirs} is what a study varies: leave it out")
    allowed = {"variant": ("table",), "alphas": ("alpha",), "hours": ("hours", "table")}
    for name, where in allowed.items():
        if getattr(options, name) and options.name not in where:
            raise UsageError(f"--{name} is an option of the study {where[0]}, not of {options.name}")
    # eval.run's own options of these names take one value, and so do studies that do not vary them
    for name, study in (("shots", "shots"), ("train_on", "cross")):
        values = getattr(options, name) or []
        if options.name == study:
            continue
        if len(values) > 1:
            raise UsageError(f"--{name.replace('_', '-')} takes one value, except in the study {study}")
        rest += [f"--{name.replace('_', '-')}={value}" for value in values]
    return options, read_config([*rest, "--when=eard"])  # so that it is checked as the agent's row would be


def rows_of(options: argparse.Namespace, base: RunConfig) -> list[studies.Row]:
    """The rows of the study that was asked for.

    Raises:
        UsageError: the corpora do not allow it.
    """
    hours = options.hours or studies.HOURS
    match options.name:
        case "shots":
            return studies.shots(base, options.shots or studies.SHOTS)
        case "alpha":
            return studies.alpha(base, options.alphas or studies.ALPHAS)
        case "cross":
            return studies.cross(base, options.train_on or studies.TRAIN_ON)
        case "hours":
            return studies.hours(base, hours)
    more = {name: tuple(settings) for name, *settings in options.variant}
    return studies.table(base, studies.VARIANTS | more, hours if _timed(base) else ())


def _timed(base: RunConfig) -> bool:
    """Whether every thread that is tested has times: else preset hours would be measured on other threads."""
    from eval.plan import make_plan

    return all(thread.timed for thread in make_plan(studies.plain(base, "all-posts")).threads)


def check(rows: Sequence[studies.Row]) -> None:
    """Read every corpus once, before hours of work on the first of them.

    Raises:
        UsageError: one is missing, or has not what a row needs.
    """
    from eval.plan import make_plan

    needs = {(row.config.train_on, row.config.when.startswith("hours:")): row.config for row in rows}
    for config in needs.values():
        make_plan(config)


def run_rows(rows: Sequence[studies.Row], note: Callable[[str], None], found: "list[Result]") -> int:
    """Run what has not been run, row by row, each run once.

    Args:
        rows: The study's rows.
        note: Takes a line on what is under way.
        found: The results, filled as they come.

    Returns:
        The exit code of the last run; not 0 where it stopped early, and the study with it.
    """
    from eval.session import run
    from eval.study_table import Result

    reports: dict[RunConfig, Report] = {}
    total = len({row.config for row in rows if not row.random}) + sum(row.random for row in rows)
    for row in rows:
        config = row.config
        if row.random:
            (agent,) = (result for result in found if result.row.label == row.of)
            config = studies.plain(config, f"random:{agent.number('early_rate'):.3f}")
        if config not in reports:
            note(f"[{len(reports) + 1}/{total}] {row.label}" + (f" ({config.when})" if row.checkpoint else ""))
            shown: list[Report] = []
            code = run(config, shown.append)
            if shown:
                reports[config] = shown[-1]
            if code:
                same = [row] if row.random else [each for each in rows if each.config is row.config]
                found.extend(Result(each, reports[config]) for each in same if shown)
                return code
        found.append(Result(row, reports[config]))
    return 0


def finish(options: argparse.Namespace, base: RunConfig, found: "list[Result]", console: "Console") -> None:
    """Print, store and draw a study that is complete."""
    from eval import plots, study_audit, study_table
    from eval.database import connect
    from eval.report import clean

    study_table.show(options.name, found, console)
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
    study_table.store(options.name, base, found)
    paths = plots.draw(options.name, found, next(iter(stops.values()), []), options.out, file_name(options.name, found))
    console.print()
    where = f"stored in {base.db}, table studies; drawn in {' and '.join(map(str, paths))}"
    console.print(where, style="dim", markup=False, highlight=False, soft_wrap=True)


def file_name(study: str, found: "Sequence[Result]") -> str:
    """Name of the pictures: the study, the corpus, and what is not as usual."""
    import re

    run = found[0].report.runs[0]
    config: dict[str, Any] = run["config"] or {}
    parts = [study, run["dataset"]]
    if config.get("labels") not in (None, "rumor/non-rumor"):
        parts.append(config["labels"])
    if config.get("split") != "few-shot":
        parts.append(config["split"])
    if run["model"] != "encoder":
        parts += [run["how"], run["model"]]
    return re.sub(r"[^\w.]+", "-", "-".join(map(str, parts))).strip("-.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code (0 done, 1 stopped early, 2 the user's mistake, 130 Ctrl-C)."""
    with one_line_errors():
        options, base = read_study(arguments)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
        from rich.console import Console

        from eval.study_table import show

        console, notes = Console(), Console(stderr=True)
        rows = rows_of(options, base)
        if base.dry_run:
            return dry_run(rows, notes)
        check(rows)
        make_folder(options.out)
        found: list[Result] = []
        code = 2
        try:
            code = run_rows(rows, lambda text: notes.print(text, markup=False, highlight=False), found)
        except KeyboardInterrupt:
            notes.print("Interrupted. What was judged is kept; the same command continues.")
            code = 130
        finally:
            if code and found:  # the table so far, whatever happened
                show(options.name, found, console)
                console.print(f"INCOMPLETE: {len(found)} of {len(rows)} rows", style="bold yellow")
        if code == 0:
            finish(options, base, found, console)
        return code


def dry_run(rows: Sequence[studies.Row], notes: "Console") -> int:
    """Count what each run would ask, and ask nothing."""
    from eval.session import dry_run as count

    counted: set[RunConfig] = set()
    for row in rows:
        if row.random or row.config in counted:
            continue
        notes.print(row.label, markup=False, highlight=False)
        count(row.config)
        counted.add(row.config)
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
