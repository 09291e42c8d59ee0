"""Stop policies that nobody trained: a count, a clock, or how sure the verifier is."""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.batches import CLOSE, BatchVerifier, judge_all
from agents.verdict import Verdict, Verifier
from corpora.errors import UsageError
from corpora.thread import ClaimThread


@dataclass(frozen=True, slots=True)
class AfterPosts:
    """Stop after n posts; None reads to the end."""

    n: int | None
    deadline: float | None = None

    async def __call__(self, prefix: ClaimThread) -> float:
        """1.0 from the n-th post on."""
        return float(self.n is not None and len(prefix.posts) >= self.n)


@dataclass(frozen=True, slots=True)
class AfterHours:
    """Stop when the clock says so: everything posted up to then has been read, and nothing after."""

    deadline: float | None
    """Seconds after the source post."""

    async def __call__(self, prefix: ClaimThread) -> float:
        """Never stops at a post; the deadline does, between two posts.

        Raises:
            UsageError: the corpus gives no times.
        """
        if prefix.posts[-1].seconds is None:
            raise UsageError(f"thread {prefix.id} has no times, so hours mean nothing in it: use --when posts:N")
        return 0.0


@dataclass(frozen=True, slots=True)
class Confident:
    """Stop where the verifier gives its label a probability of at least T; it is asked after every post."""

    verifier: Verifier
    threshold: float
    deadline: float | None = None

    async def __call__(self, prefix: ClaimThread) -> float:
        """The label's probability over T, halved: 0.5 where it is reached; 0.0 without a label."""
        return self._over(await self.verifier(prefix))

    async def batch(self, prefixes: Sequence[ClaimThread]) -> list[float]:
        """The same of many prefixes at once; where the verifier's model could not be asked, 0.0."""
        found = [self._over(verdict) for verdict in await judge_all(self.verifier, prefixes)]
        if not isinstance(self.verifier, BatchVerifier):
            return found
        return [await self(prefix) if abs(p - 0.5) < CLOSE else p for p, prefix in zip(found, prefixes, strict=True)]

    def _over(self, verdict: Verdict) -> float:
        if verdict.label is None or verdict.probabilities is None:
            return 0.0
        return min(1.0, 0.5 * verdict.probabilities[verdict.label] / self.threshold)


def after_posts(argument: str) -> AfterPosts:
    """`posts:N` or `posts:all`."""
    if argument == "all":
        return AfterPosts(None)
    if not argument.isascii() or not argument.isdigit() or int(argument) < 1:
        raise UsageError(f"posts:{argument}: want a whole number from 1, or all (posts:20, posts:10,20,all)")
    return AfterPosts(int(argument))


def after_hours(argument: str) -> AfterHours:
    """`hours:H`; H may be a fraction."""
    try:
        hours = float(argument)
    except ValueError:
        hours = -1.0
    if not 0 <= hours < float("inf"):
        raise UsageError(f"hours:{argument}: want a number of hours (hours:12, hours:0.5, hours:1,6,12)")
    return AfterHours(hours * 3600)
