"""The floor and the ceiling of every stop policy: stopping by chance, and stopping where the answer is right."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from agents.verdict import Verifier
from corpora.errors import UsageError
from corpora.thread import ClaimThread


@dataclass(frozen=True, slots=True)
class RandomStop:
    """Stop after each post with the same probability, whatever it says: the floor."""

    hazard: float
    """Probability of stopping after a post."""
    seed: int
    deadline: float | None = None

    async def __call__(self, prefix: ClaimThread) -> float:
        """1.0 or 0.0: the draw, which depends on seed, thread and post alone."""
        draw = random.Random(f"{self.seed} {prefix.id} {len(prefix.posts)}").random()  # noqa: S311 - no secret
        return float(draw < self.hazard)


def random_stop(early_rate: float, lengths: Sequence[int], seed: int) -> RandomStop:
    """Random stopping whose mean ER over threads of these lengths is `early_rate`.

    A thread of n posts is stopped after min(geometric, n) of them, (1 - (1 - h)^n) / h on average. The lengths are
    those of unlabelled training threads: those of the test threads are not known to a reader. Where the rate is below
    that of stopping after the first post, that is the nearest there is.
    """
    from scipy.optimize import brentq

    n = np.array(lengths, dtype=float)

    def excess(hazard: float) -> float:
        return float(np.mean(-np.expm1(n * np.log1p(-hazard)) / (hazard * n))) - early_rate

    low, high = 1e-9, 1 - 1e-12
    if excess(high) >= 0:
        return RandomStop(1.0, seed)
    return RandomStop(0.0 if excess(low) <= 0 else float(brentq(excess, low, high)), seed)


@dataclass(frozen=True, slots=True)
class Oracle:
    """Stop where the verifier is first right (EAE with the true label): the ceiling, which no reader can reach."""

    verifier: Verifier
    answers: Mapping[str, str]
    """Thread id -> true label."""
    deadline: float | None = None

    async def __call__(self, prefix: ClaimThread) -> float:
        """1.0 where the verdict is right.

        Raises:
            UsageError: the thread's true label is not known.
        """
        if prefix.id not in self.answers:
            raise UsageError("the oracle knows the answers of eval.run's test threads only: choose another when")
        return float((await self.verifier(prefix)).label == self.answers[prefix.id])
