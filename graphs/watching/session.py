"""One watch: lines in, steps taken, lines out, and a checkpoint now and then."""

import asyncio
import signal
import time
from contextlib import ExitStack
from functools import partial
from typing import Any

from rich.console import Console

from agents.stopping.running import remember
from corpora.errors import UsageError
from corpora.stream import Malformed, StreamPost, read_post
from graphs.watching import checkpoint as watch_checkpoint
from graphs.watching.input import Source
from graphs.watching.method import Opened, open_method
from graphs.watching.order import InOrder
from graphs.watching.output import Output
from graphs.watching.settings import DECIDE, WatchSettings
from graphs.watching.status import Status, note
from graphs.watching.step import Stepper
from graphs.watching.threads import Threads

BATCH = 2048
"""Lines taken at once."""
POLL = 0.02
"""Seconds between two looks at a stream that has nothing to say."""
VECTORS = 50_000
"""Sentence vectors kept in memory: 77 MB. Those of older posts are on disk, should they be needed."""
SHARE = 20
"""A checkpoint that took a second is not made again within so many seconds."""


def run(settings: WatchSettings) -> int:
    """Watch a stream; returns the exit code (0 it ended, 130 interrupted before).

    Raises:
        UsageError: something the user can put right.
    """
    console = Console(stderr=True)
    with ExitStack() as stack:
        # Mistakes in names are told before anything is trained.
        source = Source(settings.file, settings.follow, partial(note, console))
        stack.callback(source.close)
        output = Output(settings.out)
        stack.callback(output.close)
        # Before it is opened: what is trained anew in a folder meanwhile is not what decides here.
        identity = settings.identity if settings.checkpoint else {}
        state = _state(settings, identity, output)
        runner = stack.enter_context(asyncio.Runner())
        method = open_method(settings, runner, console)
        try:
            return runner.run(_Watch(settings, identity, method, source, output, console).run(state))
        finally:
            for model in method.models.values():
                runner.run(model.close())


def _state(settings: WatchSettings, identity: dict[str, Any], output: Output) -> dict[str, Any] | None:
    """What an earlier watch left.

    Raises:
        UsageError: it cannot be continued with these settings.
    """
    if settings.checkpoint is None:
        return None
    state = watch_checkpoint.load(settings.checkpoint, identity)
    if state is None and output.size:
        raise UsageError(f"--out {settings.out} has lines and no checkpoint beside it: choose another")
    return state


class _Watch:
    def __init__(
        self,
        settings: WatchSettings,
        identity: dict[str, Any],
        method: Opened,
        source: Source,
        output: Output,
        console: Console,
    ) -> None:
        self.settings, self.identity, self.method = settings, identity, method
        self.source, self.output = source, output
        self.threads = Threads(settings, method.policy.deadline)
        self.order = InOrder(settings)
        self.stepper = Stepper(
            self.threads, method, output.write, beliefs=settings.beliefs, concurrency=settings.concurrency
        )
        self.status = Status(console, self.threads, self.stepper, method.log.totals)
        self.stopped = False
        self._saved, self._cost, self._changed = time.monotonic(), 0.0, False

    async def run(self, state: dict[str, Any] | None) -> int:
        """Read to the end, or until a signal comes."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def stop() -> None:
            if self.stopped and task:
                task.cancel()  # asked twice: without waiting for what is under way
            self.stopped = self.stepper.stopping = True

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)
        try:
            if state is not None:
                self._restore(state)
            self._save()  # so that lines never stand without a checkpoint
            with self.status:
                await self._read()
        except asyncio.CancelledError:
            return 130
        finally:
            await self._abandon()
        if self.settings.checkpoint is None and self.stopped and self.threads.open:
            self.status.note("what is open stays undecided (with --out FILE, the same command would go on)")
        self.status.note(self.status.summary())
        return 130 if self.stopped and not self.settings.follow else 0

    async def _read(self) -> None:
        ended = False
        while not (ended or self.stopped):
            lines, ended = self.source.read(BATCH)
            for number, content in lines:
                self._line(number, content)
            await self._step()
            await asyncio.sleep(0 if lines or ended else POLL)
            self._changed = self._changed or bool(lines)
            if self._changed and time.monotonic() - self._saved > max(self.settings.every, SHARE * self._cost):
                self._save()
        if not self.stopped and self.settings.at_end == DECIDE:
            for number, post in self.order.rest():
                self._take(number, post)
            self.threads.end()
            await self._step()
        await self.stepper.waited(0)
        self._save()

    async def _abandon(self) -> None:
        """Let go of what is still being asked for; the last checkpoint has it."""
        for task in self.stepper.asked:
            task.cancel()
        await asyncio.gather(*self.stepper.asked, return_exceptions=True)

    async def _step(self) -> None:
        await self.stepper.step()
        await self.stepper.waited()
        remember(max(1024, 2 * len(self.threads.open)))
        if self.method.encoder:
            self.method.encoder.trim(VECTORS)

    def _line(self, number: int, content: bytes) -> None:
        if not content.strip():
            return
        try:
            for place, each in self.order.push(number, read_post(content)):
                self._take(place, each)
        except Malformed as error:
            self.status.malformed(number, str(error))

    def _take(self, number: int, post: StreamPost) -> None:
        try:
            self.threads.take(post)
        except Malformed as error:
            self.status.malformed(number, str(error))

    def _save(self) -> None:
        if self.settings.checkpoint is None:
            return
        begun = time.monotonic()
        self.output.sync()
        state = {
            "input": self.source.state(),
            "output": self.output.size,
            "threads": self.threads.state(),
            "held": self.order.state(),
            "asked": self.stepper.state(),
            # A watch that goes on may be killed before it has caught up with what was told.
            "decided": self.stepper.decided,
            "believed": sorted(self.stepper.believed),
        }
        watch_checkpoint.save(self.settings.checkpoint, self.identity, state)
        self._saved = time.monotonic()
        self._cost, self._changed = self._saved - begun, False

    def _restore(self, state: dict[str, Any]) -> None:
        """Go on where a watch ended or was killed: what it told since its checkpoint is known and not told again."""
        self.stepper.decided = dict(state["decided"])
        self.stepper.believed = {(thread, read) for thread, read in state["believed"]}
        for line in self.output.since(state["output"]):
            if line["type"] == "decision":
                self.stepper.decided[line["thread"]] = line["read"]
            else:
                self.stepper.believed.add((line["thread"], line["read"]))
        self.source.restore(state["input"])
        self.threads.restore(state["threads"])
        self.order.restore(state["held"])
        self.stepper.restore(state["asked"])
        self.stepper.settle()
