"""What the selector is rewarded with: the sign of a cosine similarity between two distributions, equation (4).

Paper: "Reinforcement Tuning for Detecting Stances and Debunking Rumors Jointly with Large Language Models" (ACL 2024),
section 4.3. A claim that people have labelled is rewarded for agreement of RV's distribution with the gold one; any
other for agreement of the mean stance of its kept posts with the mean stance of the posts of those labelled claims
whose label RV gave it.

As printed ("raw") the reward is never -1: no entry of a probability vector is negative, so neither is the dot product,
and it is 0 only where no label has a probability in both. A selector can learn nothing from a reward that is nearly
always +1. "centred" takes the uniform distribution from both vectors first, so that the sign says whether they lean to
the same labels. Of a labelled claim it then is +1 exactly where the gold label got more than a quarter. A distribution
that is uniform leans nowhere: its reward is 0.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agents.jsdrv.annotation import STANCES, VERACITIES, Annotation

Floats = NDArray[np.float64]
Distribution = Mapping[str, float] | ArrayLike
"""Label -> probability, or the four probabilities in the order of VERACITIES or STANCES."""

UNIFORM: Floats = np.full(4, 0.25)
_NOTHING = 1e-9
"""Products as small as this are rounding errors of zero."""


def labelled(predicted: Distribution, gold: Distribution, option: str = "centred") -> float:
    """The reward of a claim that people have labelled.

    Args:
        predicted: RV's distribution over the veracities.
        gold: The gold one: 1 for the claim's label.
        option: "centred", or "raw" as printed.

    Returns:
        -1, 0 or 1.
    """
    return _sign(_vector(predicted, VERACITIES), _vector(gold, VERACITIES), option)


def unlabelled(mean_kept: Distribution, mean_of_label: Distribution, option: str = "centred") -> float:
    """The reward of a claim that nobody has labelled.

    Args:
        mean_kept: Mean stance distribution of its kept posts.
        mean_of_label: Mean stance distribution of all posts of the labelled claims with the label that RV predicts.
        option: "centred", or "raw" as printed.

    Returns:
        -1, 0 or 1.
    """
    return _sign(_vector(mean_kept, STANCES), _vector(mean_of_label, STANCES), option)


def distribution(annotation: Annotation, labels: Sequence[str]) -> Floats | None:
    """What an annotation says as a vector in the order of `labels`; None if it abstained.

    A network that gives a label and no probabilities counts as sure of it here, and nowhere else.
    """
    if annotation.label is None:
        return None
    return _vector(annotation.probabilities or {annotation.label: 1.0}, labels)


def mean(annotations: Sequence[Annotation], labels: Sequence[str]) -> Floats | None:
    """The mean distribution of those that did not abstain; None if there are none."""
    found = [vector for each in annotations if (vector := distribution(each, labels)) is not None]
    return np.mean(found, axis=0) if found else None


def _vector(given: Distribution, labels: Sequence[str]) -> Floats:
    if isinstance(given, Mapping):
        return np.array([given.get(label, 0.0) for label in labels], dtype=np.float64)
    return np.asarray(given, dtype=np.float64)


def _sign(one: Floats, other: Floats, option: str) -> float:
    """Of the cosine, which is that of the dot product: lengths are never negative."""
    if option == "centred":
        one, other = one - UNIFORM, other - UNIFORM
    product = float(one @ other)
    return 0.0 if abs(product) <= _NOTHING else float(np.sign(product))
