"""The open threads of a stream: what of them is read, what waits, and when one is over. No I/O, no clock but theirs.

Time is the stream's: the latest `time` of any post so far. So the same lines give the same decisions, however fast
they came and however they were cut into batches. docs/watch.md has the rules.
"""

import heapq
from collections import Counter, OrderedDict
from collections.abc import Iterator
from itertools import count
from typing import Any

from corpora.clean import Handles, visible
from corpora.stream import Malformed, StreamPost
from corpora.thread import Post
from graphs.watching.open import Open, since
from graphs.watching.settings import DROP, WatchSettings


class Threads:
    """All open threads, and the ids of those that are no longer."""

    def __init__(self, settings: WatchSettings, deadline: float | None) -> None:
        """Begin with none.

        Args:
            settings: The rules.
            deadline: Seconds after its source post at which a thread is decided, if the stop policy is a clock.
        """
        self.settings, self.deadline = settings, deadline
        self.open: dict[str, Open] = {}
        self.counts: Counter[str] = Counter()
        self.clock: float | None = None
        self.gone: OrderedDict[str, None] = OrderedDict()
        """Ids of threads that were decided or dropped, the last `remember` of them."""
        self._silent: OrderedDict[str, Open] = OrderedDict()
        """Threads that are not over, the one longest without a post first."""
        self._deadlines: list[tuple[float, str]] = []
        self._ready: dict[str, Open] = {}

    def advance(self, time: float | None) -> None:
        """Move the clock; what that ends is over."""
        if time is None or (self.clock is not None and time <= self.clock):
            return
        if self.clock is None:  # until now there was no time to be silent in
            for each in self._silent.values():
                each.last = time
        self.clock = time
        while self._deadlines and self._deadlines[0][0] <= time:
            at, name = self._deadlines[0]
            thread = self._silent.get(name)
            # The id of a thread that is over and forgotten may be that of a new one, whose deadline is another.
            if thread and thread.begun is not None and self.deadline is not None and at == thread.begun + self.deadline:
                if not time - thread.begun > self.deadline:
                    break  # the deadline's own second is still read
                self._end(thread, "deadline")
            heapq.heappop(self._deadlines)
        while self._silent:
            thread = next(iter(self._silent.values()))
            if time - thread.last <= self.settings.stale * 3600:
                break
            self._end(thread, "stale")

    def take(self, post: StreamPost) -> None:
        """Admit one line, in reading order.

        Raises:
            Malformed: it cannot be used.
        """
        self.advance(post.time)
        if not post.thread:
            return
        thread = self.open.get(post.thread)
        if post.thread in self.gone or (thread and thread.over):
            self.counts["after"] += 1
        elif not visible(post.text):
            self.counts["empty"] += 1
        elif thread is None and post.parent is None:
            self._begin(None, post)
        elif thread is None or (not thread.ids and post.parent is not None):
            thread = thread or self._new(post)
            if len(thread.waiting) < self.settings.max_posts:
                thread.waiting.append(post)
            else:
                self.counts["without_source"] += 1
        elif not thread.ids:
            self._begin(thread, post)
        else:
            self._admit(thread, post)

    def end(self) -> None:
        """Nothing comes any more, in any thread."""
        for thread in list(self._silent.values()):
            self._end(thread, "end")

    def next(self) -> Iterator[tuple[Open, bool]]:
        """The next step of every thread that has one: a post that was just read, or (True) that there is no more."""
        ready, self._ready = self._ready, {}
        for name, thread in ready.items():
            if self.open.get(name) is not thread:
                continue
            if thread.queue:
                thread.posts.append(thread.queue.popleft())
                self.counts["posts"] += 1
                if thread.queue or thread.over:
                    self._ready[name] = thread
                yield thread, False
            elif thread.over in ("stale", "evicted") and self.settings.at_stale == DROP:
                self._drop(thread)
            elif thread.over:
                yield thread, True

    def forget(self, thread: Open) -> None:
        """A thread is decided or dropped: only its id stays, for some time."""
        self.counts["after"] += len(thread.queue)
        del self.open[thread.id]
        self._silent.pop(thread.id, None)
        self.gone[thread.id] = None
        while len(self.gone) > self.settings.remember:
            self.gone.popitem(last=False)

    def _new(self, post: StreamPost) -> Open:
        language = post.language or self.settings.language
        thread = Open(post.thread, language, Handles(language))
        self.open[post.thread] = self._silent[post.thread] = thread
        thread.last = self.clock or 0.0
        while len(self._silent) > self.settings.max_open:
            self._end(next(iter(self._silent.values())), "evicted")
        return thread

    def _begin(self, thread: Open | None, post: StreamPost) -> None:
        """The source post is here, and replies that came before it have waited long enough."""
        if self.deadline is not None and post.time is None and post.seconds is None:
            raise Malformed("no time, and --when hours:H needs one")
        thread = thread or self._new(post)
        thread.begun, thread.base = post.time, post.seconds
        if self.deadline is not None and thread.begun is not None:
            heapq.heappush(self._deadlines, (thread.begun + self.deadline, thread.id))
            if len(self._deadlines) > 2 * len(self.open) + 1024:  # of threads that were over long before
                self._collect_deadlines(self.deadline)
        self._admit(thread, post._replace(parent=None))
        waiting, thread.waiting = thread.waiting, []
        for reply in sorted(waiting, key=lambda each: (each.time or 0.0, each.seconds or 0.0)):
            if thread.over:
                self.counts["after"] += 1
                continue
            try:
                self._admit(thread, reply)
            except Malformed:
                self.counts["malformed"] += 1

    def _collect_deadlines(self, deadline: float) -> None:
        threads = self._silent.values()
        self._deadlines = [(thread.begun + deadline, thread.id) for thread in threads if thread.begun is not None]
        heapq.heapify(self._deadlines)

    def _admit(self, thread: Open, post: StreamPost) -> None:
        name = post.id or next(each for n in count(len(thread.ids)) if (each := str(n)) not in thread.ids)
        if name in thread.ids:
            self.counts["duplicates"] += 1
            return
        seconds = since(thread, post)
        if seconds is None and self.deadline is not None:
            raise Malformed("no time, and --when hours:H needs one")
        if seconds is not None:
            if self.deadline is not None and seconds > self.deadline:
                self._end(thread, "deadline")
                self.counts["after"] += 1
                return
            self.counts["late"] += seconds < thread.seconds
            seconds = thread.seconds = max(seconds, thread.seconds)
        source = thread.posts[0].id if thread.posts else thread.queue[0].id if thread.queue else None
        parent = source if source is None or post.parent not in thread.ids else post.parent
        author, text = post.author, post.text
        if not self.settings.keep_handles:
            author = thread.names.name(author) if author else author
            text = thread.names.hide_mentions(text) if "@" in text or "＠" in text else text
        thread.ids.add(name)
        thread.queue.append(Post(name, text.strip(), seconds, author, parent))
        thread.last = self.clock or 0.0
        self._silent.move_to_end(thread.id)
        self._ready[thread.id] = thread
        if len(thread.ids) >= self.settings.max_posts:
            self._end(thread, "max_posts")

    def _end(self, thread: Open, why: str) -> None:
        """Nothing of this thread will be admitted any more."""
        if not thread.ids:  # its source never came
            self._drop(thread)
            return
        thread.over = why
        del self._silent[thread.id]
        self._ready[thread.id] = thread

    def _drop(self, thread: Open) -> None:
        self.counts["without_source"] += len(thread.waiting)
        self.counts["dropped"] += bool(thread.ids)
        self.forget(thread)

    def state(self) -> dict[str, Any]:
        """All of it as plain values; between two batches, so that nothing is queued."""
        return {
            "clock": self.clock,
            "counts": dict(self.counts),
            "gone": list(self.gone),
            "open": [thread.state() for thread in self._silent.values()],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` gave."""
        self.clock, self.counts, self.gone = (
            state["clock"],
            Counter(state["counts"]),
            OrderedDict.fromkeys(state["gone"]),
        )
        for values in state["open"]:
            thread = Open.of(values)
            self.open[thread.id] = self._silent[thread.id] = thread
        if self.deadline is not None:
            self._collect_deadlines(self.deadline)
