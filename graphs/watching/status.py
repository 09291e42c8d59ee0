"""What a person sees of a watch: a line that keeps up with it, notes above it, and at the end what was done."""

import time
from collections import deque
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from agents.totals import Totals
from graphs.watching.step import Stepper
from graphs.watching.threads import Threads

NOTES = 100
"""Malformed lines that are told one by one; all are counted."""
WINDOW = 5.0
"""Seconds over which posts a second are measured."""


def note(console: Console, text: str) -> None:
    """Print a line that a person should read."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


class Status:
    """A context manager; silent but for notes where nobody watches."""

    def __init__(self, console: Console, threads: Threads, stepper: Stepper, totals: Totals) -> None:
        self._console, self._threads, self._stepper, self._totals = console, threads, stepper, totals
        self._samples: deque[tuple[float, int]] = deque()
        self._begun, self._had = time.monotonic(), 0
        self._live = Live(
            console=console, get_renderable=self._line, refresh_per_second=4, transient=True, auto_refresh=True
        )

    def __enter__(self) -> "Status":
        self._begun, self._had = time.monotonic(), self._threads.counts["posts"]
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def note(self, text: str) -> None:
        """Print a line above the moving one."""
        note(self._console, text)

    def malformed(self, number: int, reason: str) -> None:
        """A line could not be used."""
        counts = self._threads.counts
        counts["malformed"] += 1
        if counts["malformed"] <= NOTES:
            self.note(f"line {number}: {reason}")
            if counts["malformed"] == NOTES:
                self.note("further lines of that kind are only counted")

    def _line(self) -> Text:
        counts, now = self._threads.counts, time.monotonic()
        self._samples.append((now, counts["posts"]))
        while len(self._samples) > 2 and now - self._samples[0][0] > WINDOW:
            self._samples.popleft()
        (then, before), seconds = self._samples[0], max(now - self._samples[0][0], 1e-9)
        parts = [
            f"{counts['posts']:,} posts",
            f"{len(self._threads.open):,} threads open",
            f"{counts['decided']:,} decided",
        ]
        if self._stepper.asked:
            parts.append(f"{len(self._stepper.asked):,} being judged")
        if then < now:
            parts.append(f"{(counts['posts'] - before) / seconds:,.0f} posts/s")
        if counts["malformed"]:
            parts.append(f"{counts['malformed']:,} malformed")
        if self._totals.cost:
            parts.append(f"{self._totals.cost:.4f} USD")
        return Text(" · ".join(parts), style="dim", no_wrap=True, overflow="ellipsis")

    def summary(self) -> str:
        """What was done, in one line."""
        counts = self._threads.counts
        seconds = max(time.monotonic() - self._begun, 1e-9)
        speed = f" ({(counts['posts'] - self._had) / seconds:,.0f}/s)" if counts["posts"] > self._had else ""
        parts = [f"{counts['posts']:,} posts read{speed}", f"{counts['decided']:,} threads decided"]
        parts.append(f"{len(self._threads.open):,} open")
        said = {
            "dropped": "dropped undecided",
            "after": "posts after the end of their threads",
            "without_source": "posts without a source",
            "duplicates": "posts twice",
            "empty": "posts without visible text",
            "late": "posts late",
            "malformed": "lines malformed",
        }
        parts += [f"{counts[name]:,} {what}" for name, what in said.items() if counts[name]]
        if self._totals.calls:
            parts.append(f"{self._totals.calls:,} calls")
        if self._totals.cost:
            parts.append(f"{self._totals.cost:.4f} USD")
        return ", ".join(parts)
