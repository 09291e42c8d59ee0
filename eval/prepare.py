"""What is trained before a run can judge: JSDRV's networks, and what the learned stop policy is trained from."""

import asyncio
from pathlib import Path

from agents.debate.stance_scorer import learned_texts
from corpora.errors import UsageError
from corpora.splits import Fold
from eval.plan import Plan
from eval.progress import RunProgress
from eval.runner import RunStopped, Tools, parts_of
from graphs.stoppers import folder, label_shots, missing, needed_texts, task_of
from training.task import Task


def tasks_of(
    plan: Plan, tools: Tools, folds: list[Fold], seed: int, progress: RunProgress, loop: asyncio.Runner
) -> dict[Path, Task]:
    """What the missing agents of one seed learn from: the verifier labels every prefix of every shot.

    Raises:
        UsageError: no call can succeed, or the budget is spent.
        RunStopped: a prefix could not be labelled; those that were are in the call log.
    """
    tasks: dict[Path, Task] = {}
    for fold in folds:
        parts = parts_of(plan, tools, fold, seed)
        if not missing(parts):
            continue
        if not parts.pool:
            raise UsageError("the stopping agent reads unlabelled threads, and the split leaves none: fewer --shots")
        assert parts.encoder is not None
        stances = learned_texts(parts.stance_threads) if parts.stance_threads else []
        progress.embed(parts.encoder, [*needed_texts(parts), *stances])
        failures: list[str] = []
        with progress.labelling(seed, len(parts.shots)) as done:
            judged = loop.run(label_shots(parts, concurrency=plan.config.concurrency, progress=done, failures=failures))
        if failures:
            # An agent is kept for good, and shall not have learned from a server's bad hour.
            raise RunStopped(f"{len(failures)} prefixes of the shots could not be labelled; the last: {failures[-1]}")
        tasks[folder(parts)] = task_of(parts, judged)
    return tasks


def train_networks(plan: Plan, tools: Tools, progress: RunProgress, folds: list[Fold], seed: int) -> None:
    """Train the networks of one seed that are missing, one after the other: each takes all cores.

    Raises:
        UsageError: there is nothing to learn from, or the budget is spent.
    """
    from graphs.jsdrv import networks as jsdrv_networks

    for fold in folds:
        parts = parts_of(plan, tools, fold, seed)
        if jsdrv_networks.missing(parts):
            name = f", {fold.name}" if len(folds) > 1 else ""
            with progress.networks(f"seed {seed}{name}") as watcher:
                jsdrv_networks.train(parts, watcher)
