"""What attacks did to verdicts: the same threads judged with and without them, paired by seed and thread."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eval.attacks import AIMS, Attack, attack_named
from eval.comparison import measure
from eval.database import connect
from eval.read import predictions
from eval.results import Results, label_set_of

Row = dict[str, Any]
Judged = dict[str | None, dict[int, list[Row]]]
"""Checkpoint -> seed -> rows of `predictions`."""
Key = tuple[int, str]
"""Seed and thread."""


@dataclass(frozen=True)
class Damage:
    """What one attack did to the verdicts at one checkpoint; those that failed, attacked or not, are left out."""

    attack: Attack
    n: int
    """Verdicts: one a thread and seed."""
    flipped: frozenset[Key]
    """Those that differ from the verdict without the attack; an abstention is a label of its own."""
    open: int
    """Verdicts that were not yet what the attacker wants."""
    turned: int
    """Those of them that then were."""
    macro_f1: float
    """Attacked minus not attacked; an abstained or failed thread counts as wrong."""
    low: float | None
    """Of the 95 % interval by the paired bootstrap over threads."""
    high: float | None
    abstained: float
    """Change in the share of abstentions."""

    @property
    def flip_rate(self) -> float:
        """Share of verdicts that changed."""
        return len(self.flipped) / self.n

    @property
    def success(self) -> float | None:
        """Share of the verdicts that could be turned the attacker's way that were; None if there were none."""
        return self.turned / self.open if self.open else None


def damages(db: Path, found: Mapping[str | None, Results]) -> dict[str | None, list[Damage]]:
    """What each attack did, by checkpoint; first those that turn most verdicts the attacker's way.

    Args:
        db: The database.
        found: The runs' reports, by attack; None for those without one.
    """
    before = _judged(db, found[None])
    every = [row for seeds in before.values() for rows in seeds.values() for row in rows]
    labels = label_set_of(found[None].runs[0], every).labels
    result: dict[str | None, list[Damage]] = {checkpoint: [] for checkpoint in found[None].values}
    for name, report in found.items():
        after = _judged(db, report) if name else {}
        for checkpoint in result.keys() & after.keys():
            damage = _damage(attack_named(name or ""), before[checkpoint], after[checkpoint], labels)
            if damage:
                result[checkpoint].append(damage)
    for rows in result.values():
        rows.sort(key=lambda damage: (-(damage.success or 0), -damage.flip_rate, damage.attack.name))
    return {checkpoint: rows for checkpoint, rows in result.items() if rows}


def _judged(db: Path, report: Results) -> Judged:
    found: Judged = {}
    with connect(db, read_only=True) as connection:
        for run in report.runs:
            for row in predictions(connection, run["run_id"]):
                found.setdefault(row["checkpoint"], {}).setdefault(run["seed"], []).append(row)
    return found


def _damage(
    attack: Attack, before: dict[int, list[Row]], after: dict[int, list[Row]], labels: tuple[str, ...]
) -> Damage | None:
    """Compare two sides of one checkpoint; None where they have judged no thread in common."""
    seeds = sorted(before.keys() & after.keys())
    sides = [{(seed, row["thread_id"]): row for seed in seeds for row in side[seed]} for side in (before, after)]
    pairs = {
        key: (_given(sides[0][key]), _given(sides[1][key]))
        for key in sides[0].keys() & sides[1].keys()
        if "failed" not in (sides[0][key]["outcome"], sides[1][key]["outcome"])
    }
    if not pairs:
        return None
    # the same chance for every attack, so that a table shown again shows the same digits
    rng, rows = np.random.default_rng(0), [[side[seed] for seed in seeds] for side in (before, after)]
    comparison = measure("no attack", attack.name, "", rows, labels, rng)
    assert comparison is not None
    wanted = AIMS[attack.aim]
    could = [then for now, then in pairs.values() if now not in wanted]
    return Damage(
        attack,
        len(pairs),
        frozenset(key for key, (now, then) in pairs.items() if now != then),
        len(could),
        sum(then in wanted for then in could),
        comparison.macro_f1,
        comparison.macro_f1_low,
        comparison.macro_f1_high,
        sum((then == "abstained") - (now == "abstained") for now, then in pairs.values()) / len(pairs),
    )


def _given(row: Row) -> str:
    return str(row["label"] or row["outcome"])
