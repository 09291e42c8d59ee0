"""The ε-greedy controller: which claims of the corpus, and which posts of a claim, are annotated in an epoch.

Paper: "Reinforcement Tuning for Detecting Stances and Debunking Rumors Jointly with Large Language Models" (ACL 2024),
equations (1) and (2). Two things that the equations leave open: an epoch draws no claim twice, and where one kind of
claim has run out the other is drawn instead.
"""

import numpy as np


def posts(n: int, m: int, epsilon: float, rng: np.random.Generator) -> list[int]:
    """Draw posts of one claim, equation (1).

    Each step takes with probability 1 - ε the earliest post that is left, else any of those left.

    Args:
        n: How many posts there are, in the order of time.
        m: How many to draw; 0 for all, which are not drawn but taken in the order of time.
        epsilon: ε.
        rng: Draws.

    Returns:
        Places of the drawn posts, from 0, in the order in which they were drawn.
    """
    if m == 0:
        return list(range(n))
    left = list(range(n))
    drawn = []
    for _ in range(min(m, n)):
        explore = rng.random() < epsilon
        drawn.append(left.pop(int(rng.integers(len(left))) if explore else 0))
    return drawn


def claims(labelled: int, unlabelled: int, n: int, epsilon: float, rng: np.random.Generator) -> list[int]:
    """Draw claims, equation (2).

    Each step takes with probability 1 - ε any labelled claim that is left, else any unlabelled one.

    Args:
        labelled: How many claims people have labelled.
        unlabelled: How many they have not.
        n: How many to draw; 0 for all, in an order that chance alone decides (the ablation "epRV").
        epsilon: ε.
        rng: Draws.

    Returns:
        Places of the drawn claims in the labelled claims followed by the unlabelled ones, in the order in which they
        were drawn.
    """
    total = labelled + unlabelled
    if n == 0:
        return [int(place) for place in rng.permutation(total)]
    exploit, explore = list(range(labelled)), list(range(labelled, total))
    drawn = []
    for _ in range(min(n, total)):
        wanted, other = (explore, exploit) if rng.random() < epsilon else (exploit, explore)
        kind = wanted or other
        drawn.append(kind.pop(int(rng.integers(len(kind)))))
    return drawn
