"""What a method learns from and what it lacks, prepared alike for all that open one: the graphs, and a watch.

`eval.run` has its own (eval/prepare.py): there splits give the threads, and many agents are trained side by side.
"""

import io
import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from corpora.errors import UsageError
from graphs.methods import learns, learns_from_shots
from graphs.parts import Parts

if TYPE_CHECKING:
    from rich.console import Console

    from graphs.stoppers import Judged

POOL = 100
"""Unlabelled threads that a stopping agent reads while it is trained."""
Label = Callable[[Callable[[int], None], list[str]], "Judged"]
"""Has `graphs.stoppers.label_shots` done: takes its `progress` and its `failures`."""


def with_threads(parts: Parts, when: str, train_on: str, *, shots: int, pool: int = POOL) -> Parts:
    """Labelled and unlabelled threads to learn from, where anything learns: those that eval.run draws for the seed.

    Args:
        parts: Label set, seed, verifier, and where corpora lie.
        when: The stop policy.
        train_on: The corpus.
        shots: How many labelled threads.
        pool: How many unlabelled ones, at most; JSDRV takes all there are.

    Raises:
        UsageError: the corpus cannot be had, or has no such labels, or too few threads.
    """
    if not (learns_from_shots(parts.how) or learns(when) or when.startswith("random:")):
        return parts
    import numpy as np

    from corpora.catalog import load
    from corpora.splits import few_shot

    corpus = load(train_on, data_dir=parts.data_dir, environ=os.environ)
    if parts.label_set.name not in corpus.label_sets:
        has = ", ".join(corpus.label_sets) or "stance labels only"
        raise UsageError(f"{corpus.name} has no labels {parts.label_set.name} to learn from: it has {has}")
    threads = [thread for thread in corpus.threads if parts.label_set.of(thread)]
    pool = len(threads) if parts.how == "jsdrv" else pool
    (fold,) = few_shot(threads, parts.label_set.of, shots=shots, pool=pool, rng=np.random.default_rng(parts.seed))
    there = {parts.label_set.of(thread) for thread in threads}
    classes = [label for label in parts.label_set.labels if label in there]
    return replace(parts, shots=fold.shots, pool=fold.pool, classes=classes)


class Told(io.StringIO):
    """A file whose lines are told to somebody: what a console is given that is to write to no terminal."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._tell = tell

    def write(self, text: str, /) -> int:
        """Tell each line. A console writes whole ones."""
        for line in text.splitlines():
            if line.strip():
                self._tell(line.rstrip())
        return len(text)


def train_missing(parts: Parts, when: str, train_on: str, label: Label, console: "Console") -> None:
    """Train what `jsdrv` and `eard` name and is not there yet: minutes, once.

    Args:
        parts: What `with_threads` gave, with an encoder.
        when: The stop policy.
        train_on: The corpus that the threads are from, for the message that there are none.
        label: Asks the verifier about the shots.
        console: Where it is shown how far it is.

    Raises:
        UsageError: the two cannot be trained together, there is nothing to learn from, or a model cannot be asked.
    """
    if parts.how == "jsdrv":
        _train_networks(parts, when, console)
    if when == "eard":
        _train_agent(parts, train_on, label, console)


def _train_networks(parts: Parts, when: str, console: "Console") -> None:
    from graphs.jsdrv import networks as jsdrv_networks
    from graphs.jsdrv.progress import show

    if when == "eard":
        raise UsageError(
            "when eard is taught by a verifier that has not seen the shots, and JSDRV learns from just these: train "
            "its networks once, and name their folder, as in how jsdrv:DIR"
        )
    if jsdrv_networks.missing(parts):
        with show(console) as watcher:
            jsdrv_networks.train(parts, watcher)


def _train_agent(parts: Parts, train_on: str, label: Label, console: "Console") -> None:
    from graphs.stoppers import folder, missing, needed_texts, task_of
    from training.progress import bar, embed, show_labelling, show_training
    from training.workers import train_all

    if not missing(parts):
        return
    if not parts.pool:
        raise UsageError(
            f"{train_on} has no unlabelled threads left for the stopping agent: set fewer shots, more pool"
        )
    assert parts.encoder is not None
    with bar(console) as progress:
        embed(progress, parts.encoder, needed_texts(parts))
    failures: list[str] = []
    with show_labelling(console, len(parts.shots)) as done:
        judged = label(done, failures)
    if failures:
        # An agent is kept for good, and shall not have learned from a server's bad hour.
        raise UsageError(f"the model could not be asked while the stopping agent was prepared: {failures[0]}")
    tasks = {folder(parts): task_of(parts, judged)}
    with show_training(console, tasks) as report:
        train_all(tasks, report)
