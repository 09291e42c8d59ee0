"""Stopping by how the verifier's own verdict has fared so far: the state of our variant of EARD, `steady`.

The verifier is asked after every post, as the rule `confidence:T` does. What is known after a post are five numbers:
how sure it is (log odds of its label's probability), how many posts there were, how often its label has changed, for
how many posts it has stood, and the mean probability that all verdicts so far give to it.
"""

import math
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from agents.stopping.learned import Network
from agents.stopping.running import REMEMBERED
from agents.verdict import Verdict, Verifier
from corpora.thread import ClaimThread, Post

NUMBERS = 5
_SUREST = 1e-4


def features(verdicts: Sequence[Verdict]) -> NDArray[np.float32]:
    """What is known after each of a conversation's posts, (posts, 5).

    A verdict without probabilities counts as sure of its label; one without a label (an abstention) as one half, and
    its lack of a label as a label of its own.
    """
    rows = []
    flips = run = 0
    for n, verdict in enumerate(verdicts):
        changed = n > 0 and verdict.label != verdicts[n - 1].label
        flips, run = flips + changed, 0 if n == 0 or changed else run + 1
        sure = min(max(_probability(verdict, verdict.label), _SUREST), 1 - _SUREST)
        mean = sum(_probability(each, verdict.label) for each in verdicts[: n + 1]) / (n + 1)
        rows.append((math.log(sure / (1 - sure)), math.log1p(n), flips, math.log1p(run), mean))
    return np.array(rows, dtype=np.float32).reshape(-1, NUMBERS)


def _probability(verdict: Verdict, label: str | None) -> float:
    """What a verdict gives to a label."""
    if label is None or verdict.label is None:
        return 0.5
    if verdict.probabilities is None:
        return float(verdict.label == label)
    return verdict.probabilities.get(label, 0.0)


class Steady:
    """Stop where the network takes the verifier's verdict to be its last."""

    deadline = None

    def __init__(self, network: Network, verifier: Verifier) -> None:
        self._network, self._verifier = network, verifier
        self._last: OrderedDict[str, tuple[tuple[Post, ...], list[Verdict]]] = OrderedDict()

    async def __call__(self, prefix: ClaimThread) -> float:
        """Probability of STOP after the last post of the prefix."""
        posts, verdicts = self._last.get(prefix.id, ((), []))
        if posts != prefix.posts[: len(posts)]:
            posts, verdicts = (), []
        verdicts = list(verdicts)
        for n in range(len(posts) + 1, len(prefix.posts) + 1):
            verdicts.append(await self._verifier(prefix.prefix(n)))
        self._last[prefix.id] = (prefix.posts, verdicts)
        self._last.move_to_end(prefix.id)
        if len(self._last) > REMEMBERED:
            self._last.popitem(last=False)
        return self._network.probability(features(verdicts)[-1])
