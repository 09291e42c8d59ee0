"""A fold over a conversation's posts that a pure function of the prefix can afford: O(1) for each further post."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from corpora.thread import ClaimThread, Post

S = TypeVar("S")

_remembered = 1024


def remember(conversations: int) -> None:
    """Keep the last states of so many conversations; more of them than are read side by side would be waste."""
    global _remembered
    _remembered = conversations


class Memory(Generic[S]):
    """The state in which each of the last conversations was left.

    A prefix that is not the continuation of the last one seen under its thread id begins anew, so what comes of it
    depends on the prefix alone.
    """

    def __init__(self) -> None:
        self._last: OrderedDict[str, tuple[tuple[Post, ...], S]] = OrderedDict()

    def left(self, prefix: ClaimThread) -> tuple[S | None, tuple[Post, ...]]:
        """The state in which this conversation was left, and the posts since; None and all posts if it is not known."""
        posts, state = self._last.get(prefix.id, ((), None))
        if not posts or posts != prefix.posts[: len(posts)]:
            return None, prefix.posts
        return state, prefix.posts[len(posts) :]

    def keep(self, prefix: ClaimThread, state: S) -> None:
        """Remember the state after a prefix."""
        self._last[prefix.id] = (prefix.posts, state)
        self._last.move_to_end(prefix.id)
        while len(self._last) > _remembered:
            self._last.popitem(last=False)


class Running(Memory[S]):
    """`step(...step(step(None, first), second)..., last)`, continued where the same conversation was left."""

    def __init__(self, step: Callable[[S | None, Post], S]) -> None:
        """Take the function of (state so far, next post); it must not change the state it is given."""
        super().__init__()
        self._step = step

    def __call__(self, prefix: ClaimThread) -> S:
        """Fold the posts of a prefix, which has at least one."""
        state, posts = self.left(prefix)
        for post in posts:
            state = self._step(state, post)
        assert state is not None
        self.keep(prefix, state)
        return state
