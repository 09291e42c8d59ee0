"""What tests of the live stream share: streams, and what was decided."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents.call_log import CallLog
from agents.verdict import Verdict
from corpora.stream import Malformed, StreamPost
from corpora.thread import ClaimThread
from graphs.watching.method import Opened
from graphs.watching.order import InOrder
from graphs.watching.settings import WatchSettings
from graphs.watching.step import Stepper
from graphs.watching.threads import Threads

ROOT = Path(__file__).parent.parent
HOUR = 3600.0


def decisions(file: str | Path) -> dict[str, dict[str, Any]]:
    """Thread -> its decision, of which there must be one."""
    lines = [json.loads(line) for line in Path(file).read_text().splitlines()]
    found = {line["thread"]: line for line in lines if line["type"] == "decision"}
    assert len(found) == sum(line["type"] == "decision" for line in lines), "a thread was decided twice"
    return found


def stream(file: str, threads: int, posts: int = 4) -> list[str]:
    """Made-up threads, interleaved; every other one says "unconfirmed" in its third post."""
    lines = [
        json.dumps({
            "thread": f"t{number}", "id": f"t{number}-{n}", "parent": f"t{number}-0" if n else None,
            "time": 60 * n + number,
            "text": f"{number}: this is {'unconfirmed' if n == 2 and number % 2 else 'closed'}",
        })
        for n in range(posts) for number in range(threads)
    ]  # fmt: skip
    Path(file).write_text("".join(f"{line}\n" for line in lines))
    return lines


def process(*arguments: str, **options: Any) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-m", "graphs.watch", *arguments], env=environment, text=True, **options)


async def counting(prefix: ClaimThread) -> Verdict:
    """A rumor from three posts on, and the surer the more there are."""
    p = min(1.0, 0.2 * len(prefix.posts))
    return Verdict("rumor" if p > 0.5 else "non-rumor", {"rumor": p, "non-rumor": 1 - p})


class Run:
    """A stream without files: what was decided, and how the threads stand."""

    def __init__(self, policy: Any, verifier: Any = counting, *, beliefs: bool = False, **rules: Any) -> None:
        self.settings = WatchSettings(when="posts:1", model="scripted:x", how="direct", **rules)
        self.threads, self.order = Threads(self.settings, policy.deadline), InOrder(self.settings)
        self.lines: list[dict[str, Any]] = []
        self.malformed: list[str] = []
        method = Opened(policy, verifier, None, CallLog(), {})
        self.stepper = Stepper(
            self.threads, method, self.lines.extend, beliefs=beliefs, concurrency=self.settings.concurrency
        )

    def take(self, posts: Sequence[StreamPost]) -> None:
        for number, post in enumerate(posts):
            try:
                for _, each in self.order.push(number, post):
                    self.admit(each)
            except Malformed as error:
                self.malformed.append(str(error))

    def admit(self, post: StreamPost) -> None:
        try:
            self.threads.take(post)
        except Malformed as error:
            self.malformed.append(str(error))

    async def read(self, posts: Sequence[StreamPost], *, batch: int = 1000, end: bool = True) -> "Run":
        for start in range(0, len(posts), batch):
            self.take(posts[start : start + batch])
            await self.stepper.step()
        if end:
            for _, each in self.order.rest():
                self.admit(each)
            self.threads.end()
            await self.stepper.step()
        await self.stepper.waited(0)
        return self

    @property
    def decided(self) -> dict[str, tuple[int, str]]:
        found = [
            (line["thread"], (line["read"], line["stopped_by"])) for line in self.lines if line["type"] == "decision"
        ]
        assert len(dict(found)) == len(found), "a thread was decided twice"
        return dict(found)


def post(thread: str, n: int, time: float | None = None, **rest: Any) -> StreamPost:
    """The n-th post of a thread; the first is its source."""
    parent = rest.pop("parent", f"{thread}0" if n else None)
    return StreamPost(thread, rest.pop("text", f"{thread} says {n}"), f"{thread}{n}", time, parent=parent, **rest)
