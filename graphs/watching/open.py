"""One open thread of a stream."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from corpora.clean import Handles
from corpora.stream import StreamPost
from corpora.thread import ClaimThread, Language, Post


@dataclass(slots=True)
class Open:
    """A thread that has begun and is not decided."""

    id: str
    language: Language
    names: Handles
    begun: float | None = None
    """Time of its source post on the stream's clock."""
    base: float | None = None
    """What its own clock said then."""
    last: float = 0.0
    """The stream's time when its last post came."""
    seconds: float = 0.0
    """Of the last post admitted."""
    ids: set[str] = field(default_factory=set)
    posts: list[Post] = field(default_factory=list)
    """Those read."""
    probability: float = 0.0
    """Of stopping, after the last of them."""
    queue: deque[Post] = field(default_factory=deque)
    """Those admitted, to be read."""
    waiting: list[StreamPost] = field(default_factory=list)
    """Replies that came before the source."""
    over: str | None = None
    """Why there is nothing to come after the queue."""

    def prefix(self) -> ClaimThread:
        """The posts read."""
        return ClaimThread(self.id, tuple(self.posts), language=self.language)

    def state(self) -> list[Any]:
        """All of it as plain values, between two batches: nothing is queued."""
        return [
            self.id,
            self.language,
            self.names.names,
            self.begun,
            self.base,
            self.last,
            self.seconds,
            self.probability,
            list(map(plain, self.posts)),
            list(map(list, self.waiting)),
        ]

    @classmethod
    def of(cls, values: list[Any]) -> "Open":
        """What `state` gave, as a thread."""
        name, language, names, begun, base, last, seconds, probability, posts, waiting = values
        thread = cls(name, language, Handles(language, names), begun, base, last, seconds, probability=probability)
        thread.posts = [Post(*post) for post in posts]
        thread.ids = {post.id for post in thread.posts}
        thread.waiting = [StreamPost(*post) for post in waiting]
        return thread


def plain(post: Post) -> list[Any]:
    """A post as plain values: its fields in their order."""
    return [post.id, post.text, post.seconds, post.author, post.parent]


def since(thread: Open, post: StreamPost) -> float | None:
    """Seconds since the source post, by the stream's clock or by the thread's own; None if neither says."""
    if post.time is not None and thread.begun is not None:
        return max(0.0, post.time - thread.begun)
    if post.seconds is not None:
        return max(0.0, post.seconds - (thread.base or 0.0))
    return 0.0 if post.time is not None and not thread.ids else None
