"""What a labelled conversation is: posts in time order, and apart from them what is known to be true.

Gold labels never sit on a post, so a prefix handed to a model carries neither the future nor the answer.
"""

from dataclasses import dataclass, field
from typing import Literal

RumorLabel = Literal["rumor", "non-rumor"]
Veracity = Literal["N", "T", "F", "U"]
"""N non-rumor, T true, F false, U unverified (the four classes of JSDRV and of Twitter15/16)."""
Stance = Literal["S", "D", "Q", "C"]
"""S support, D deny, Q question, C comment: the stance of a post towards its thread's claim."""
Language = Literal["en", "zh"]


@dataclass(frozen=True, slots=True)
class Post:
    """One post of a conversation."""

    id: str
    text: str
    seconds: float | None
    """Since the source post; None where the corpus gives no times."""
    author: str
    parent: str | None
    """Id of the post it answers; None for the source post."""


@dataclass(frozen=True, slots=True)
class Gold:
    """What annotators said of a thread; None or absent where a corpus does not say."""

    rumor: RumorLabel | None = None
    veracity: Veracity | None = None
    stances: dict[str, Stance] = field(default_factory=dict)
    """Post id -> stance towards the claim."""


@dataclass(frozen=True, slots=True)
class ClaimThread:
    """A source post that makes a claim, and the replies to it, in time order."""

    id: str
    posts: tuple[Post, ...]
    """Source post first; then by time, ties in file order."""
    gold: Gold = Gold()
    event: str | None = None
    """The breaking event it belongs to, where a corpus groups threads so."""
    partition: str | None = None
    """"train", "dev" or "test" where the publisher fixes them."""
    language: Language = "en"

    @property
    def source(self) -> Post:
        """The post that makes the claim."""
        return self.posts[0]

    @property
    def timed(self) -> bool:
        """Whether every post has a time."""
        return all(post.seconds is not None for post in self.posts)

    def prefix(self, n: int) -> "ClaimThread":
        """Return the first n posts as a thread of their own, without gold labels.

        Raises:
            ValueError: n is not between 1 and the number of posts.
        """
        if not 1 <= n <= len(self.posts):
            raise ValueError(f"thread {self.id} has {len(self.posts)} posts; asked for a prefix of {n}")
        return ClaimThread(self.id, self.posts[:n], event=self.event, language=self.language)
