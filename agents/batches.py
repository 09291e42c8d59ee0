"""Many conversations at once: what can be computed in one go is, and what cannot is asked for one by one.

A product of many rows rounds otherwise than that of a single row. Whoever computes a batch therefore computes again,
alone, what lies within `CLOSE` of tipping: decisions do not depend on who else was in the batch.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from agents.models import ModelError
from agents.verdict import StopPolicy, Verdict, Verifier
from corpora.thread import ClaimThread

CLOSE = 1e-4
"""Probabilities that differ by less may be told apart by rounding; float32 sums err by some 1e-6."""


@runtime_checkable
class BatchVerifier(Protocol):
    """A verifier that computes here, and many prefixes in one go."""

    async def __call__(self, prefix: ClaimThread) -> Verdict:
        """Judge one prefix."""
        ...

    async def batch(self, prefixes: Sequence[ClaimThread]) -> list[Verdict]:
        """Judge many, in their order."""
        ...


@runtime_checkable
class BatchPolicy(Protocol):
    """A stop policy that takes many conversations' steps in one go."""

    async def batch(self, prefixes: Sequence[ClaimThread]) -> list[float]:
        """Probabilities of stopping after the last post of each prefix, in their order."""
        ...


async def judged(verifier: Verifier, prefix: ClaimThread) -> Verdict:
    """The verdict on one prefix; a failed one where the model could not be asked."""
    try:
        return await verifier(prefix)
    except ModelError as error:
        return Verdict.failed(str(error))


async def judge_all(verifier: Verifier, prefixes: Sequence[ClaimThread]) -> list[Verdict]:
    """Verdicts on many prefixes; failed ones where the model could not be asked.

    How many calls of a chat model are under way at once is for its call log to say.
    """
    if isinstance(verifier, BatchVerifier):
        return await verifier.batch(prefixes) if prefixes else []
    from agents.together import together  # asyncio is a fifth of what --help takes

    return await together(*(judged(verifier, prefix) for prefix in prefixes))


async def stop_probabilities(policy: StopPolicy, prefixes: Sequence[ClaimThread]) -> list[float]:
    """Probabilities of stopping, each after the last post of a prefix."""
    if isinstance(policy, BatchPolicy):
        return await policy.batch(prefixes) if prefixes else []
    return [await policy(prefix) for prefix in prefixes]
