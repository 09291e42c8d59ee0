"""What a person sees while agents are trained: how far they are, and what they and the discriminator make of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from agents.stopping.learned import saved
from training.task import Task
from training.workers import Report

_MEANINGS = {
    "loss": "discriminator loss {:.2f}",
    "taken_for_expert_agent": "fooled {:.0%}",
    "shots_early_rate": "on the shots: stops at ER {:.2f}",
    "shots_macro_f1": "macro-F1 {:.2f}",
}


def bar(console: Console) -> Progress:
    """A progress display; silent where nobody watches."""
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
        disable=not console.is_terminal,
    )


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
