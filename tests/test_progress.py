"""What long work says of itself where nobody watches: a log shows that it goes on."""

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from agents.totals import Totals
from eval.progress import RunProgress
from graphs.jsdrv.progress import show
from training import progress
from training.settings import Settings


def log(clock: list[float]) -> Console:
    """A console that is a file, narrow as such consoles are, at a time that can be set."""
    return Console(file=io.StringIO(), width=40, get_time=lambda: clock[0])


def lines(console: Console) -> list[str]:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.fixture
def clock() -> list[float]:
    return [1000.0]


def test_a_training_says_that_it_begins_and_once_a_minute_how_far_it_is(tmp_path: Path, clock: list[float]) -> None:
    console, settings, folder = log(clock), Settings(), tmp_path / "agent"
    steps, task = settings.steps, SimpleNamespace(settings=settings)
    tasks: Any = {folder: task}
    with progress.show_training(console, tasks) as report:
        for second in range(301):
            clock[0] = 1000.0 + second
            report({folder: {"steps": steps * second / 300, "loss": 0.5, "shots_macro_f1": 0.75}})
    told = lines(console)
    assert told[0] == f"training the stopping agent: 0 of {steps:,}"
    assert [line.partition(": ")[2].partition(";")[0] for line in told[1:]] == [
        f"{steps * share // 5:,} of {steps:,}" for share in range(1, 6)
    ]
    assert told[1].endswith("discriminator loss 0.50, fooled 0%, on the shots: stops at ER 0.00, macro-F1 0.75")


def test_hours_of_work_are_no_thousand_lines(clock: list[float]) -> None:
    console = log(clock)
    with progress.show_labelling(console, 1000) as done:
        for second in range(0, 36_000, 36):
            clock[0] = 1000.0 + second
            done(second // 36)
    assert lines(console) == [f"labelling prefixes: {n} of 1,000" for n in range(0, 1000, 100)]


def test_each_bar_of_a_run_says_so_and_what_was_done_before_says_nothing(clock: list[float]) -> None:
    console = log(clock)
    with RunProgress(console, Totals()) as shown:
        shown.begin_seed(0, 2, 50, 50)
        assert lines(console) == ["judging, seed 1 of 2: 50 of 100"]
        with shown.labelling(1, 5), shown.networks("seed 1") as watcher:
            watcher.advance("annotating claims", 0, 7)
            watcher.advance("annotating posts", 0, 9)
            clock[0] += 61
            watcher.advance("annotating posts", 0, 9)
        with RunProgress(console, Totals()) as other:
            other.begin_seed(0, 1, 50, 50)
    assert lines(console)[1:] == [
        "seed 1: labelling prefixes: 0 of 5",
        "seed 1: annotating claims: 0 of 7",
        "seed 1: annotating posts: 0 of 9",
    ]
    console = log(clock)
    with show(console) as display:
        display.advance("annotating claims", 0, 7)
    assert lines(console) == ["annotating claims: 0 of 7"]


def test_a_terminal_has_a_bar_and_no_lines() -> None:
    assert not isinstance(progress.bar(Console(file=io.StringIO(), force_terminal=True)), progress._Lines)
