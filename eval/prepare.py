"""What a run with the learned stop policy needs first: labels of the shots' prefixes, and agents trained from them."""

import asyncio
from pathlib import Path

from corpora.splits import Fold
from eval.plan import Plan
from eval.progress import RunProgress
from eval.runner import RunStopped, Tools, parts_of
from graphs.stoppers import folder, label_shots, missing, needed_texts, task_of
from training.task import Task
from training.workers import train_all


def tasks_of(
    plan: Plan, tools: Tools, folds: list[Fold], seed: int, progress: RunProgress, loop: asyncio.Runner
) -> dict[Path, Task]:
    """What the missing agents of one seed learn from: the verifier labels every prefix of every shot.

    Raises:
        RunStopped: more prefixes could not be labelled than --fail-on-error allows.
    """
    tasks: dict[Path, Task] = {}
    for fold in folds:
        parts = parts_of(plan, tools, fold, seed)
        if not missing(parts):
            continue
        assert parts.encoder is not None
        progress.embed(parts.encoder, needed_texts(parts))
        failures: list[str] = []
        with progress.labelling(seed, len(fold.shots)) as done:
            labels = loop.run(label_shots(parts, concurrency=plan.config.concurrency, progress=done, failures=failures))
        prefixes = sum(map(len, labels.values()))
        if len(failures) > plan.config.fail_on_error * prefixes:
            raise RunStopped(f"{len(failures)} of {prefixes} prefixes could not be labelled; the last: {failures[-1]}")
        if failures:
            progress.note(f"seed {seed}: {len(failures)} of {prefixes} prefixes could not be labelled: as abstained")
        tasks[folder(parts)] = task_of(parts, labels)
    return tasks


def train(tasks: dict[Path, Task], progress: RunProgress) -> None:
    """Train them, one a core, under a bar.

    Raises:
        UsageError: one has nothing to imitate.
    """
    if tasks:
        with progress.training(tasks) as report:
            train_all(tasks, report)
