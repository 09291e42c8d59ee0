"""Reading order: posts are held for a while of the stream's time, so that those that come late take their place.

And the stream's time itself: a wrong one, once believed, would end every open thread and stay for good.
"""

import heapq
import time
from collections.abc import Iterator
from typing import Any

from corpora.stream import Malformed, StreamPost
from graphs.watching.settings import WatchSettings

HELD = 100_000
"""Posts held at most; beyond, the earliest is read before its time."""
DAY = 24 * 3600.0


class InOrder:
    """Posts in, and out in order of time once nothing earlier is expected.

    What has no `time` is not held. Without lateness nothing is, but for a line that leaps ahead, until the next agrees.
    """

    def __init__(self, settings: WatchSettings) -> None:
        self.lateness, self.leap = settings.lateness, settings.leap * DAY
        self._latest: float | None = None
        """The stream's time, of all lines that came."""
        self._doubted: tuple[int, StreamPost] | None = None
        """The last line with a time, if that leapt ahead."""
        self._held: list[tuple[float, int, int, StreamPost]] = []
        self._count = 0

    def push(self, number: int, post: StreamPost) -> Iterator[tuple[int, StreamPost]]:
        """Take a post in; yields (line number, post) of those that are to be read now.

        Raises:
            Malformed: its time is yet to come.
        """
        if post.time is None:
            yield number, post
            return
        if post.time > time.time() + DAY:  # milliseconds, the year 9999
            raise Malformed("time is in the future")
        leaps = self._latest is not None and post.time > self._latest + self.leap
        doubted, self._doubted = self._doubted, None
        if leaps and not doubted:
            self._doubted = number, post
            return
        if doubted:
            before, other = doubted
            yield from self._timed(before, other if leaps else other._replace(time=None))
        yield from self._timed(number, post)

    def _timed(self, number: int, post: StreamPost) -> Iterator[tuple[int, StreamPost]]:
        if post.time is not None:
            self._latest = post.time if self._latest is None else max(self._latest, post.time)
        if post.time is None or self._latest is None or not self.lateness:
            yield number, post
            return
        if post.thread:
            self._count += 1  # equal times stay in the order of their lines
            heapq.heappush(self._held, (post.time, self._count, number, post))
        until = self._latest - self.lateness
        while self._held and (self._held[0][0] <= until or len(self._held) > HELD):
            yield heapq.heappop(self._held)[2:]
        yield number, StreamPost("", time=until)

    def rest(self) -> Iterator[tuple[int, StreamPost]]:
        """Everything that is held: nothing more will come."""
        while self._held:
            yield heapq.heappop(self._held)[2:]
        if self._doubted:
            yield self._doubted
            self._doubted = None

    def state(self) -> dict[str, Any]:
        """What is held, as plain values, and the stream's time."""
        return {
            "latest": self._latest,
            "doubted": self._doubted and [self._doubted[0], list(self._doubted[1])],
            "held": [[number, list(post)] for _, _, number, post in sorted(self._held)],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` gave."""
        self._latest = state["latest"]
        if state["doubted"]:
            number, values = state["doubted"]
            self._doubted = number, StreamPost(*values)
        for number, values in state["held"]:
            post = StreamPost(*values)
            self._count += 1
            assert post.time is not None
            heapq.heappush(self._held, (post.time, self._count, number, post))
