"""Stopping by how the verifier's own verdict has fared so far: the state of our variant of EARD, `steady`.

The verifier is asked after every post, as the rule `confidence:T` does. What is known after a post are five numbers:
how sure it is (log odds of its label's probability), how many posts there were, how often its label has changed, for
how many posts it has stood, and the mean probability that all verdicts so far give to it.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from agents.batches import judge_all
from agents.stopping.learned import Network
from agents.stopping.running import Memory
from agents.verdict import Verdict, Verifier
from corpora.thread import ClaimThread

NUMBERS = 5
_SUREST = 1e-4


@dataclass(frozen=True, slots=True)
class Course:
    """How a conversation's verdicts have fared, in as much room after a thousand posts as after one."""

    count: int = 0
    label: str | None = None
    """The last verdict's."""
    sure: float = 0.5
    """What it gives to its label."""
    flips: int = 0
    run: int = 0
    unlabelled: int = 0
    given: Counter[str] = field(default_factory=Counter)
    """Label -> sum of what the verdicts with a label give to it."""

    def after(self, verdict: Verdict) -> "Course":
        """The same with one more verdict."""
        changed = self.count > 0 and verdict.label != self.label
        given, label = self.given, verdict.label
        if label is not None:
            given = given.copy()
            for name, p in (verdict.probabilities or {label: 1.0}).items():
                given[name] += p  # type: ignore[assignment]
        return Course(
            self.count + 1,
            label,
            0.5 if label is None else 1.0 if verdict.probabilities is None else verdict.probabilities.get(label, 0.0),
            self.flips + changed,
            0 if changed or not self.count else self.run + 1,
            self.unlabelled + (label is None),
            given,
        )

    @property
    def numbers(self) -> tuple[float, ...]:
        """The five numbers.

        A verdict without probabilities counts as sure of its label; one without a label (an abstention) as one half,
        and its lack of a label as a label of its own.
        """
        sure = min(max(self.sure, _SUREST), 1 - _SUREST)
        mean = 0.5 if self.label is None else (self.given[self.label] + 0.5 * self.unlabelled) / self.count
        return math.log(sure / (1 - sure)), math.log1p(self.count - 1), self.flips, math.log1p(self.run), mean


def features(verdicts: Sequence[Verdict]) -> NDArray[np.float32]:
    """What is known after each of a conversation's posts, (posts, 5)."""
    course, rows = Course(), []
    for verdict in verdicts:
        course = course.after(verdict)
        rows.append(course.numbers)
    return np.array(rows, dtype=np.float32).reshape(-1, NUMBERS)


class Steady:
    """Stop where the network takes the verifier's verdict to be its last."""

    deadline = None

    def __init__(self, network: Network, verifier: Verifier) -> None:
        self._network, self._verifier = network, verifier
        self._courses: Memory[Course] = Memory()

    async def __call__(self, prefix: ClaimThread) -> float:
        """Probability of STOP after the last post of the prefix."""
        left, unread = self._courses.left(prefix)
        course = left or Course()
        for n in range(len(prefix.posts) - len(unread), len(prefix.posts)):
            course = course.after(await self._verifier(prefix.prefix(n + 1)))
        self._courses.keep(prefix, course)
        return self._network.probability(np.array(course.numbers, dtype=np.float32))

    async def batch(self, prefixes: Sequence[ClaimThread]) -> list[float]:
        """The same of many prefixes at once; a verdict for which the model could not be asked has no label."""
        left = [self._courses.left(prefix) for prefix in prefixes]
        asked = [
            prefix.prefix(n + 1)
            for prefix, (_, unread) in zip(prefixes, left, strict=True)
            for n in range(len(prefix.posts) - len(unread), len(prefix.posts))
        ]
        verdicts = iter(await judge_all(self._verifier, asked))
        rows = []
        for prefix, (known, unread) in zip(prefixes, left, strict=True):
            course = known or Course()
            for _ in unread:
                course = course.after(next(verdicts))
            self._courses.keep(prefix, course)
            rows.append(course.numbers)
        return self._network.probabilities(np.array(rows, dtype=np.float32))
