"""`eval.run --attack`: how often hostile posts turn a verdict, and what they cost.

The same threads are judged as they are and then under each attack, by the same verifier, which has learned from the
same unattacked threads. Each of these is an ordinary run, stored and resumable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from eval import session
from eval.attack_damage import Damage, Key, damages
from eval.attacks import ALL, CONTROL, attacks
from eval.cells import cell, plain_table
from eval.config import RunConfig
from eval.dry_run import dry_run_several
from eval.planning import make_plan
from eval.results import Results, clean, judged
from eval.several import Series, run_several

_DEFENCES = ("quarantine", "gate")
_WIDE = 100
"""Columns from which on a row is one line."""


def run(config: RunConfig) -> int:
    """Judge without an attack and under each that is asked for, and print what changed.

    What is stored already is not judged again. --max-cost is of all runs together.

    Returns:
        The exit code (see eval.several.run_several).

    Raises:
        UsageError: nothing can go on; what was measured until then is printed.
    """
    console, names = Console(), _names(config)
    plan = make_plan(replace(config, attack=None))
    found: dict[str | None, Results] = {}

    def work(series: Series) -> None:
        for name in names:
            attacked = replace(plan, config=replace(config, attack=name))
            series.run(_spoken(name), attacked, partial(found.__setitem__, name))

    def end(_: int) -> None:
        if config.attack != ALL and config.attack in found:
            session.present(found[config.attack], config, console)
        if len(found) > 1:
            show(found, config, console)
        session.write_page(list(found.values()), config, Console(stderr=True))

    return run_several(work, end, config, total=len(names))


def dry_run(config: RunConfig) -> int:
    """Count what each of the runs would ask, and ask nothing."""
    return dry_run_several({_spoken(name): replace(config, attack=name) for name in _names(config)})


def _names(config: RunConfig) -> list[str | None]:
    """What the threads are judged under, no attack first."""
    return [None, *(attacks() if config.attack == ALL else [config.attack])]


def _spoken(name: str | None) -> str:
    return name or "no attack"


def show(found: Mapping[str | None, Results], config: RunConfig, console: Console) -> None:
    """Print what the attacks did, a table a checkpoint."""
    plain = found[None]
    measured = damages(config.db, found)
    console.print()
    console.print(Text(clean(f"attacks on {judged(plain.runs[0])}"), style="bold"))
    console.print(Text(clean(_setup(plain.runs[0])), style="bold"))
    for name, report in found.items():
        if report.state:
            console.print(Text(f"{_spoken(name)}: {report.state}", style="bold yellow"))
    for checkpoint, rows in measured.items():
        value = cell(plain.values[checkpoint]["macro_f1"]).replace("\n", " ")
        counts = sorted({damage.n for damage in rows})
        n = str(counts[0]) if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"
        title = f"read {checkpoint}: " if checkpoint else ""
        console.print(Text(f"{title}macro-F1 without an attack {value}; n = {n} verdicts"))
        console.print(_table(rows, console.width))
        if len(hostile := _hostile(rows)) > 1:
            turned = frozenset[Key]().union(*(damage.flipped for damage in hostile))
            console.print(f"flipped by at least one of {len(hostile)} attacks: {len(turned) / counts[-1]:.3f}")
        console.print()
    notes = [
        "flipped: verdicts that differ from those without the attack, an abstention being one of its own; "
        "to the aim: of those that were not what the attacker wants, the share that became so; neither counts failures",
        "macro-F1, abstained: attacked minus not attacked, on the same threads [95 % paired bootstrap over threads]",
    ]
    if "placebo" in found and len(found) > 2:
        notes.append("placebo: one harmless post, to see what any post changes; no part of the mean")
    for note in notes:
        console.print(Text(note, style="dim"))


def _setup(run: dict[str, Any]) -> str:
    """Verifier, models and defences in force."""
    config = run["config"] or {}
    debate = config.get("debate") or {}
    roles = [f"{role} {config[key]}" for role in ("scorer", "debater", "judge") if config.get(key := f"{role}_model")]
    settings = [f"{name} {value}" for name, value in debate.items() if name not in _DEFENCES]
    what = ", ".join([f"when {run['when']}, how {run['how']}, model {run['model']}", *roles, *settings])
    return f"{what}; defences: {', '.join(name for name in _DEFENCES if debate.get(name)) or 'none'}"


def _table(rows: Sequence[Damage], width: int) -> Table:
    table = plain_table()
    table.add_column("attack", overflow="fold")
    table.add_column("aim", overflow="fold")
    for head in ("flipped", "to the aim", "macro-F1", "abstained"):
        table.add_column(head, justify="right", no_wrap=True)
    if len(hostile := _hostile(rows)) > 1:
        successes = [damage.success for damage in hostile if damage.success is not None]
        table.add_row(
            f"mean of {len(hostile)}",
            "",
            f"{np.mean([damage.flip_rate for damage in hostile]):.3f}",
            f"{np.mean(successes):.3f}" if successes else "–",
            f"{np.mean([damage.macro_f1 for damage in hostile]):+.3f}",
            f"{np.mean([damage.abstained for damage in hostile]):+.3f}",
            style="bold",
        )
    between = " " if width >= _WIDE else "\n"
    for damage in rows:
        interval = "" if damage.low is None or damage.high is None else f"[{damage.low:+.3f}, {damage.high:+.3f}]"
        success = "–" if damage.success is None else f"{damage.success:.3f}"
        table.add_row(
            damage.attack.name,
            damage.attack.aim,
            f"{damage.flip_rate:.3f}",
            f"{success}{between}{f'{damage.turned}/{damage.open}':>9}",
            Text(f"{damage.macro_f1:+.3f}{between}{interval}"),
            f"{damage.abstained:+.3f}",
            style="italic" if damage.attack.family == CONTROL else "",
        )
    return table


def _hostile(rows: Sequence[Damage]) -> list[Damage]:
    """Those that are attacks."""
    return [damage for damage in rows if damage.attack.family != CONTROL]
