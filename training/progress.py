"""What a person sees while agents are trained: how far they are, and what they and the discriminator make of it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from agents.encoder import Encoder
from agents.stopping.learned import saved
from training.task import Task
from training.workers import Report

_MEANINGS = {
    "loss": "discriminator loss {:.2f}",
    "taken_for_expert_agent": "fooled {:.0%}",
    "shots_early_rate": "on the shots: stops at ER {:.2f}",
    "shots_macro_f1": "macro-F1 {:.2f}",
}


MINUTE = 60.0
"""Seconds between two lines about one task, at least."""
SHARE = 0.1
"""Of a task that is done between them, at least."""


def bar(console: Console) -> Progress:
    """A progress display; on what is no terminal, such as a file, a line now and then."""
    if not console.is_terminal:
        return _Lines(console=console, disable=True)
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[numbers]}", style="dim"),
        console=console,
        refresh_per_second=5,
        transient=True,
    )


class _Lines(Progress):
    """Tells in plain lines that a task begins and how far it is, so that a log shows what a long wait is for."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._said: dict[TaskID, tuple[float, str, float]] = {}  # when, of what, and how much was done

    def add_task(self, description: str, *settings: Any, **more: Any) -> TaskID:
        """A task begins."""
        task = super().add_task(description, *settings, **more)
        self._say(task)
        return task

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """A task is further, or is another."""
        super().update(task_id, **changes)
        self._say(task_id)

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        """A task is further."""
        super().advance(task_id, advance)
        self._say(task_id)

    def _say(self, task_id: TaskID) -> None:
        task, now = self._tasks[task_id], self.get_time()
        if not (task.visible and task.total):
            return
        then, what, before = self._said.get(task_id, (-MINUTE, "", 0.0))
        if now - then < MINUTE or (what == task.description and task.completed - before < SHARE * task.total):
            return
        if task.completed >= task.total and not what:
            return  # it was done before it began
        self._said[task_id] = now, task.description, task.completed
        numbers = f"; {task.fields['numbers']}" if task.fields["numbers"] else ""
        line = f"{task.description}: {task.completed:,.0f} of {task.total:,.0f}{numbers}"
        self.console.print(line, highlight=False, soft_wrap=True)


@contextmanager
def training(progress: Progress, tasks: Mapping[Path, Task]) -> Iterator[Report]:
    """A line over the steps of all agents in training; yields what is told where each of them stands."""
    total = sum(each.settings.steps for each in tasks.values())
    what = "training the stopping agent" if len(tasks) == 1 else f"training {len(tasks)} stopping agents"
    line = progress.add_task(what, total=total, numbers="")

    def report(standing: Mapping[Path, Mapping[str, float]]) -> None:
        done = sum(
            each.settings.steps if saved(folder) else standing.get(folder, {}).get("steps", 0)
            for folder, each in tasks.items()
        )
        progress.update(line, completed=done, numbers=numbers(list(standing.values())))

    yield report
    progress.remove_task(line)


def numbers(standing: Sequence[Mapping[str, float]]) -> str:
    """Where trainings stand, on the mean of those that have begun: the discriminator, and the agent on the shots."""
    begun = [each for each in standing if "loss" in each]
    if not begun:
        return ""
    means = {name: sum(each.get(name, 0.0) for each in begun) / len(begun) for name in _MEANINGS}
    return ", ".join(text.format(means[name]) for name, text in _MEANINGS.items())


def embed(progress: Progress, encoder: Encoder, texts: Iterable[str]) -> None:
    """Compute the vectors of texts under a line of their own, if any are missing."""
    texts = list(texts)
    missing = encoder.missing(texts)
    line = progress.add_task("sentence vectors", total=missing, numbers="", visible=missing > 0)
    encoder.warm(texts, lambda done: progress.advance(line, done))
    progress.remove_task(line)


@contextmanager
def show_training(console: Console, tasks: Mapping[Path, Task]) -> Iterator[Report]:
    """The same, as a display of its own."""
    with bar(console) as progress, training(progress, tasks) as report:
        yield report


@contextmanager
def show_labelling(console: Console, shots: int) -> Iterator[Callable[[int], None]]:
    """A display over the shots whose prefixes are labelled; yields what is told how many are done."""
    with bar(console) as progress:
        line = progress.add_task("labelling prefixes", total=shots, numbers="")
        yield lambda done: progress.update(line, completed=done)
