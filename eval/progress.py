"""What a person sees while a run is under way: threads, calls, tokens, cost, failures."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from agents.encoder import Encoder
from agents.totals import Totals
from corpora.clean import printable
from training import progress
from training.jsdrv.watcher import Watcher
from training.task import Task
from training.workers import Report


class RunProgress:
    """A progress bar over the threads of all seeds; a context manager. Lines now and then where nobody watches."""

    def __init__(self, console: Console, totals: Totals) -> None:
        self._totals = totals
        self._failed = self._abstained = 0
        self._begun = 0
        self._bar = progress.bar(console)
        self._threads = self._bar.add_task("reading", total=None, numbers="")

    def __enter__(self) -> "RunProgress":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def note(self, text: str) -> None:
        """Print a line above the bar."""
        self._bar.console.print(text, markup=False, highlight=False)

    def begin_seed(self, seed: int, seeds: int, threads: int, done: int) -> None:
        """The next seed's threads, some of them done before; later seeds are expected to have as many."""
        total = self._begun + threads * (seeds - seed)
        self._bar.update(self._threads, description=f"judging, seed {seed + 1} of {seeds}", total=total, advance=done)
        self._begun += threads

    def judged(self, predictions: list[dict[str, Any]]) -> None:
        """One more thread is done."""
        self._failed += any(row["outcome"] == "failed" for row in predictions)
        self._abstained += any(row["outcome"] == "abstained" for row in predictions)
        self._bar.update(self._threads, advance=1, numbers=self._numbers())

    def embed(self, encoder: Encoder, texts: list[str]) -> None:
        """Compute the vectors of texts under a bar of their own, if any are missing."""
        progress.embed(self._bar, encoder, texts)

    @contextmanager
    def labelling(self, seed: int, shots: int) -> Iterator[Callable[[int], None]]:
        """A bar over the shots whose prefixes a verifier labels; yields what is told how many are done."""
        task = self._bar.add_task(f"seed {seed}: labelling prefixes", total=shots, numbers="")
        yield lambda done: self._bar.update(task, completed=done, numbers=self._numbers())
        self._bar.remove_task(task)

    @contextmanager
    def networks(self, name: str) -> Iterator[Watcher]:
        """A bar over the training of JSDRV's networks; yields what is told how far it is."""
        watcher = _Training(self, self._bar, name)
        yield watcher
        watcher.end()

    def training(self, tasks: Mapping[Path, Task]) -> AbstractContextManager[Report]:
        """A bar over the steps of all agents in training; gives what is told where each of them stands."""
        return progress.training(self._bar, tasks)

    def _numbers(self) -> str:
        totals = self._totals
        parts = []
        if totals.calls or totals.cached:
            tokens = totals.input_tokens + totals.output_tokens
            cost = f"{totals.cost:.4f} USD" if not totals.unpriced else "cost unknown"
            parts.append(f"{totals.calls:,} calls, {totals.cached:,} cached, {tokens:,} tokens, {cost}")
        parts += [f"{n} {what}" for n, what in ((self._abstained, "abstained"), (self._failed, "failed")) if n]
        return ", ".join(parts)


class _Training:
    """Who is told how far a training of networks is."""

    def __init__(self, shown: RunProgress, bar: Progress, name: str) -> None:
        self._shown, self._bar, self._name = shown, bar, name
        self._task = bar.add_task(escape(name), total=None, numbers="")
        self._what = ""

    def advance(self, what: str, done: int, total: int, numbers: str = "") -> None:
        """So much of a step is done."""
        if what != self._what:
            self._bar.reset(self._task, description=escape(f"{self._name}: {what}"))
            self._what = what
        self._bar.update(self._task, completed=done, total=total, numbers=escape(numbers))

    def say(self, line: str) -> None:
        """Something to remember."""
        self._shown.note(printable(f"{self._name}: {line}", 500))

    def row(self, row: Mapping[str, Any]) -> None:
        """An epoch was validated."""
        from graphs.jsdrv.progress import summary

        self.say(summary(row))

    def end(self) -> None:
        """The training has ended."""
        self._bar.remove_task(self._task)
