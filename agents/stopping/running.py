"""A fold over a conversation's posts that a pure function of the prefix can afford: O(1) for each further post."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from corpora.thread import ClaimThread, Post

S = TypeVar("S")

REMEMBERED = 1024
"""Conversations whose last state is kept; more of them than are read side by side would be waste."""


class Running(Generic[S]):
    """`step(...step(step(None, first), second)..., last)`, continued where the same conversation was left.

    A prefix that is not the continuation of the last one seen under its thread id is folded from its start, so the
    result depends on the prefix alone.
    """

    def __init__(self, step: Callable[[S | None, Post], S]) -> None:
        """Take the function of (state so far, next post); it must not change the state it is given."""
        self._step = step
        self._last: OrderedDict[str, tuple[tuple[Post, ...], S]] = OrderedDict()

    def __call__(self, prefix: ClaimThread) -> S:
        """Fold the posts of a prefix, which has at least one."""
        posts, state = self._last.get(prefix.id, ((), None))
        if not posts or posts != prefix.posts[: len(posts)]:
            posts, state = (), None
        for post in prefix.posts[len(posts) :]:
            state = self._step(state, post)
        assert state is not None
        self._last[prefix.id] = (prefix.posts, state)
        self._last.move_to_end(prefix.id)
        if len(self._last) > REMEMBERED:
            self._last.popitem(last=False)
        return state
