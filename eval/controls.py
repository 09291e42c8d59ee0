"""`--controls`: is the debate worth its tokens? S2MAD beside one agent that has its evidence, or its tokens.

After S2MAD's own run come three more: one agent on both kinds of comments (`--ablate debate`), and self-consistency and
self-correction (agents/verifiers/controls.py) with as many tokens a thread as S2MAD used on average, those of its
scorer included. The debaters' model speaks in all of them. Each is an ordinary run, stored and resumable.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.text import Text

from agents.debate.settings import DebateSettings
from eval import session
from eval.cells import cell, fit, plain_table
from eval.comparison import Comparison, pair
from eval.config import RunConfig
from eval.database import connect
from eval.debate_report import per_thousand
from eval.dry_run import dry_run as count
from eval.metrics import Estimate
from eval.planning import make_plan
from eval.results import Results, clean, judged
from eval.several import Series, run_several
from eval.statistics import holm
from graphs.methods import HOW

S2MAD = "S2MAD"
AT_ITS_TOKENS = ("self-consistency", "self-correction")
Named = tuple[str, Results]
"""A system's name and its results."""


def run(config: RunConfig) -> int:
    """Run S2MAD and its controls, and print one table; returns the exit code (see eval.several.run_several).

    --max-cost is of all four together.

    Raises:
        UsageError: nothing can go on; what was measured until then is printed.
    """
    console, notes = Console(), Console(stderr=True)
    found: dict[str, Results] = {}

    def first(report: Results) -> None:
        found[S2MAD] = report
        session.present(report, config, console)

    def work(series: Series) -> None:
        series.run(S2MAD, make_plan(config), first)
        if not _tokens(found[S2MAD]):
            text = "The endpoint tells no tokens: self-consistency and self-correction spend what they do by default."
            notes.print(text)
        for name, control in controls(config, found[S2MAD]).items():
            budget = f", {control.token_budget:,} tokens a verdict" if control.token_budget else ""
            series.run(name + budget, make_plan(control), partial(found.__setitem__, name))

    def end(_: int) -> None:
        if not found[S2MAD].state:  # else there is nothing to set beside it
            show(list(found.items()), config.db, console)
        session.write_page(list(found.values()), config, notes)

    return run_several(work, end, config, total=4)


def dry_run(config: RunConfig) -> int:
    """Count what S2MAD's run would ask, and ask nothing; how much its controls may spend, it decides."""
    code = count(config)
    Console().print("--controls: three more runs, each of about as many tokens (one agent: fewer)", soft_wrap=True)
    return code


def controls(config: RunConfig, report: Results) -> dict[str, RunConfig]:
    """The runs that S2MAD is set beside: name -> configuration.

    Args:
        config: S2MAD's.
        report: What it measured: a verdict of a control may cost its tokens a thread, over several checkpoints an
            equal part of them.
    """
    tokens = _tokens(report)
    alone = replace(config, debate=replace(config.debate, ablate="debate"), controls=False)
    plain = replace(
        alone,
        model=config.debater_model or config.model,
        debate=DebateSettings(),
        method=None,
        scorer_model=None,
        debater_model=None,
        judge_model=None,
    )
    budget = max(1, round(tokens / len(config.checkpoints))) if tokens else None
    others = {
        how: replace(plain, how=how, temperature=HOW[how].temperature, token_budget=budget) for how in AT_ITS_TOKENS
    }
    return {"one agent": alone, **others}


def show(found: Sequence[Named], db: Path, console: Console) -> None:
    """Print all systems in one table, and what S2MAD gains over each control that is finished."""
    report = found[0][1]
    console.print()
    console.print(Text(clean(f"is the debate worth it? {judged(report.runs[0])}"), style="bold"))
    for name, other in found:
        if other.state:
            console.print(Text(clean(f"{name}: {other.state}"), style="bold yellow"))
    gains = _gains(found, db)
    several = len(report.values) > 1
    rows = [
        (f"{name}, {checkpoint}" if several else name, other, checkpoint)
        for checkpoint in report.values
        for name, other in found
        if checkpoint in other.values
    ]
    columns = {
        "accuracy": [cell(other.values[at]["accuracy"]) for _, other, at in rows],
        "macro-F1": [cell(other.values[at]["macro_f1"]) for _, other, at in rows],
    }
    if not several:  # else they would be those of all checkpoints together
        columns |= {
            "calls": [_mean(other.values[at]["calls_per_thread"]) for _, other, at in rows],
            "tokens": [_mean(other.values[at]["tokens_per_thread"]) for _, other, at in rows],
            "acc. / 1,000": [_worth(other, at) for _, other, at in rows],
        }
    columns |= {
        "S2MAD: acc.": [gains.get((id(other), at), ("", ""))[0] for _, other, at in rows],
        "S2MAD: macro-F1": [gains.get((id(other), at), ("", ""))[1] for _, other, at in rows],
    }
    heads = [f"{name}\nn = {max(other.threads[at])}" for name, other, at in rows]
    width = console.width - max(len(line) for text in heads for line in text.split("\n")) - 2
    for names in fit({name: [name, *texts] for name, texts in columns.items()}, width):
        table = plain_table()
        table.add_column("system", no_wrap=True)
        for name in names:
            table.add_column(name, justify="right", no_wrap=True)
        for index, text in enumerate(heads):
            table.add_row(Text(clean(text)), *(Text(columns[name][index]) for name in names))
        console.print(table)
        console.print()
    notes = ["calls and tokens are per thread; acc. / 1,000: accuracy for every 1,000 tokens a thread"]
    if several:
        notes = [
            "calls and tokens, which are those of all checkpoints together, are left out here: see each run's table"
        ]
    if gains:
        notes.append(
            "S2MAD: its value minus the row's, on the same threads [95 % paired bootstrap]; p: exact McNemar test "
            f"(over seeds: sign test by thread), paired bootstrap; Holm's adjustment for all {2 * len(gains)}"
        )
    notes.append(f"again: python -m eval.compare {' '.join(other.runs[0]['config_id'] for _, other in found)}")
    for note in notes:
        console.print(Text(note, style="dim"))


def _gains(found: Sequence[Named], db: Path) -> dict[tuple[int, str | None], tuple[str, str]]:
    """What S2MAD has over each finished control: (id of its report, checkpoint) -> cells of accuracy and macro-F1."""
    (_, report), *others = found
    rng = np.random.default_rng(0)
    compared: dict[tuple[int, str | None], Comparison] = {}
    with connect(db, read_only=True) as connection:
        for name, other in others:
            if not other.state:
                sides = pair(connection, (name, other.runs), (S2MAD, report.runs), rng)
                compared |= zip([(id(other), at) for at in other.values], sides, strict=True)
    p_values = holm([p for each in compared.values() for p in (each.accuracy_p, each.macro_f1_p)])
    gains = {}
    for (key, each), accuracy_p, f1_p in zip(compared.items(), p_values[::2], p_values[1::2], strict=True):
        low, high = each.macro_f1_low, each.macro_f1_high
        interval = "" if low is None or high is None else f"\n[{low:+.3f}, {high:+.3f}]"
        accuracy = f"{each.accuracy:+.3f}\np = {accuracy_p:.3g}"
        gains[key] = accuracy, f"{each.macro_f1:+.3f}, p = {f1_p:.3g}{interval}"
    return gains


def _tokens(report: Results) -> float | None:
    """Tokens a thread, over all checkpoints; None or 0 where nobody knows."""
    return next(iter(report.values.values()))["tokens_per_thread"].value


def _mean(value: Estimate) -> str:
    return cell(replace(value, low=None, high=None, std=None))


def _worth(report: Results, checkpoint: str | None) -> str:
    worth = per_thousand(report.values[checkpoint], checkpoint)
    return "–" if worth is None else f"{worth:.3g}"
