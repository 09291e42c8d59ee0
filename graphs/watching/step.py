"""What a watch does after posts: every thread's next step in one batch, and a verdict where the reading stops.

Verifiers that compute here judge in the batch. Chat models are asked beside the stream, a bounded number at once; their
decisions fall when they have answered.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agents.batches import BatchVerifier, judge_all, judged, stop_probabilities
from agents.verdict import Verdict
from corpora.thread import ClaimThread, Post
from graphs.watching.method import Opened
from graphs.watching.open import Open, plain
from graphs.watching.threads import Threads

Write = Callable[[list[dict[str, Any]]], None]
AHEAD = 4
"""Decisions that may wait for a chat model, for each that is being asked for: beyond, the stream waits."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A thread whose reading has stopped."""

    prefix: ClaimThread
    why: str
    """"policy", "deadline", "stale", "evicted", "max_posts" or "end"."""
    probability: float


class Stepper:
    """Takes the steps of a watch's threads, and writes what comes of them."""

    def __init__(self, threads: Threads, method: Opened, write: Write, *, beliefs: bool, concurrency: int) -> None:
        """Begin with nothing told.

        Args:
            threads: The open threads.
            method: When and how.
            write: Takes lines.
            beliefs: Whether to write one after every post too.
            concurrency: Verdicts asked for at once, where they are not computed here.
        """
        self.threads, self.method, self._write, self.beliefs = threads, method, write, beliefs
        self.decided: dict[str, int] = {}
        """Thread id -> posts read: decisions that stand in the output and are not told again."""
        self.believed: set[tuple[str, int]] = set()
        """Thread id and posts read of beliefs that stand there."""
        self.asked: dict[asyncio.Task[None], Decision] = {}
        self.stopping = False
        """Set where nothing more is to be asked for: what waits for its turn is left to the next watch."""
        self._left: list[Decision] = []
        self._slots, self._most = asyncio.Semaphore(concurrency), concurrency * AHEAD
        self._here = isinstance(method.verifier, BatchVerifier)

    async def step(self) -> None:
        """Take all steps there are: in each round one of every thread that has one.

        Raises:
            UsageError: no verdict can be had any more.
        """
        while round_ := list(self.threads.next()):
            read = [thread for thread, over in round_ if not over]
            prefixes = [thread.prefix() for thread in read]
            probabilities = await stop_probabilities(self.method.policy, prefixes)
            verdicts: list[Verdict | None] = [None] * len(read)
            if self.beliefs:
                verdicts = [*await judge_all(self.method.verifier, prefixes)]
                self._tell_beliefs(prefixes, probabilities, verdicts)
            decisions = []
            for thread, prefix, p, verdict in zip(read, prefixes, probabilities, verdicts, strict=True):
                thread.probability = p
                count = self.decided.get(thread.id)
                if count == len(prefix.posts) if count else p >= 0.5:
                    decisions.append((thread, Decision(prefix, "policy", p), verdict))
            decisions += [
                (thread, Decision(thread.prefix(), thread.over or "", thread.probability), None)
                for thread, over in round_
                if over
            ]
            await self._decide(decisions)

    def settle(self) -> None:
        """Threads of a checkpoint whose decisions were told after it: they are decided."""
        for thread in list(self.threads.open.values()):
            if self.decided.get(thread.id) == len(thread.posts):
                self._close(thread)

    async def _decide(self, decisions: Sequence[tuple[Open, Decision, Verdict | None]]) -> None:
        new = []
        for thread, decision, verdict in decisions:
            told = thread.id in self.decided
            self._close(thread)
            if not told:
                new.append((decision, verdict))
        if self._here:
            known = iter(await judge_all(self.method.verifier, [each.prefix for each, known in new if known is None]))
            self._write([_line(each, verdict or next(known)) for each, verdict in new])
            return
        self._write([_line(each, verdict) for each, verdict in new if verdict])
        for decision, verdict in new:
            if verdict is None:
                self.ask(decision)
                await self.waited()

    def _close(self, thread: Open) -> None:
        self.decided.pop(thread.id, None)
        self.threads.counts["decided"] += 1
        self.threads.forget(thread)

    def ask(self, decision: Decision) -> None:
        """Have a verdict asked for beside the stream."""
        self.asked[asyncio.get_running_loop().create_task(self._ask(decision))] = decision

    async def _ask(self, decision: Decision) -> None:
        async with self._slots:
            if self.stopping:
                self._left.append(decision)
                return
            verdict = await judged(self.method.verifier, decision.prefix)
        self._write([_line(decision, verdict)])

    async def waited(self, left: int | None = None) -> None:
        """Wait until not too many verdicts, or at most `left`, are being asked for.

        Raises:
            UsageError: one could not be had, and no other can.
        """
        while True:
            for task in [task for task in self.asked if task.done()]:
                task.result()  # what no verdict can be had for stays asked for, and in the checkpoint
                del self.asked[task]
            if len(self.asked) <= (self._most if left is None else left):
                return
            await asyncio.wait(self.asked, return_when=asyncio.FIRST_COMPLETED)

    def _tell_beliefs(
        self, prefixes: Sequence[ClaimThread], probabilities: Sequence[float], verdicts: Sequence[Verdict | None]
    ) -> None:
        lines = []
        for prefix, p, verdict in zip(prefixes, probabilities, verdicts, strict=True):
            assert verdict is not None
            key = (prefix.id, len(prefix.posts))
            if self.believed and key in self.believed:
                self.believed.remove(key)
            else:
                lines.append({"type": "belief", **_where(prefix, p), **_what(verdict)})
        self._write(lines)

    def state(self) -> list[Any]:
        """Decisions whose verdicts are not here yet, as plain values."""
        return [
            [each.prefix.id, each.prefix.language, each.why, each.probability,
             list(map(plain, each.prefix.posts))]
            for each in (*self._left, *(each for task, each in self.asked.items() if not _is_through(task)))
        ]  # fmt: skip

    def restore(self, state: list[Any]) -> None:
        """Ask again for those of them that were not told since."""
        for name, language, why, probability, posts in state:
            if self.decided.pop(name, None) is None:
                thread = ClaimThread(name, tuple(Post(*post) for post in posts), language=language)
                self.ask(Decision(thread, why, probability))


def _is_through(task: "asyncio.Task[None]") -> bool:
    """Whether it is written, or left to the next watch: before anyone waited for it, as a checkpoint may find it."""
    return task.done() and not task.cancelled() and task.exception() is None


def _line(decision: Decision, verdict: Verdict) -> dict[str, Any]:
    line = {"type": "decision", **_where(decision.prefix, decision.probability), "stopped_by": decision.why}
    return {**line, **_what(verdict)}


def _where(prefix: ClaimThread, probability: float) -> dict[str, Any]:
    post = prefix.posts[-1]
    return {
        "thread": prefix.id,
        "post": post.id,
        "read": len(prefix.posts),
        "seconds": post.seconds,
        "stop_probability": round(probability, 6),
    }


def _what(verdict: Verdict) -> dict[str, Any]:
    found: dict[str, Any] = {
        "label": verdict.label,
        "probabilities": verdict.probabilities and {label: round(p, 6) for label, p in verdict.probabilities.items()},
        "outcome": verdict.outcome,
    }
    rest = {"reason": verdict.reason, "rationale": verdict.rationale, "stances": verdict.stances}
    return found | {name: value for name, value in rest.items() if value}
