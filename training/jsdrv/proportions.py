"""Class proportions: how often people support, deny, ask or comment, and offsets that make a network agree.

A classifier that learned from one corpus says D of too many posts of another, or of none. Where the proportions there
are known, roughly, offsets on its scores put that right without a label (as in distribution alignment of ReMixMatch,
Berthelot et al. 2020).

Proportions are those that are published for RumourEval 2019 (Gorrell et al. 2019: 8,574 posts of Twitter and Reddit,
SemEval-8's among them). They are all that is known here about stances in the conversations that are tested.
"""

import numpy as np
from numpy.typing import NDArray

KNOWN = {"S": 1184 / 8574, "D": 606 / 8574, "Q": 608 / 8574, "C": 6176 / 8574}
STEPS = 300


def offsets(scores: NDArray[np.float64], proportions: NDArray[np.float64]) -> NDArray[np.float64]:
    """What to add to scores, so that classes are found as often as they should be.

    Half-way between two readings of "found": as the mean of the probabilities, which lets a class that is never sure
    vanish, and as the share of the labels given, which grants it its number however unsure.

    Args:
        scores: (n, k) logits of posts without labels.
        proportions: (k,) shares, summing to 1.

    Returns:
        (k,) offsets with mean 0.
    """
    soft = np.zeros(len(proportions))
    for _ in range(STEPS):
        soft += 0.5 * (np.log(proportions) - np.log(_softmax(scores + soft).mean(axis=0)))
    hard = soft.copy()
    for step in range(STEPS):
        shares = np.bincount((scores + hard).argmax(axis=1), minlength=len(proportions)) / len(scores)
        hard += 0.3 * (1 - step / STEPS) * (proportions - shares)
    found = (soft + hard) / 2
    return np.asarray(found - found.mean())


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))
