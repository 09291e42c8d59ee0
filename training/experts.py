"""The three experts of EARD: where each would have stopped, given a verifier's label on every prefix and the truth.

Paper: "LLM-based Few-Shot Early Rumor Detection with Imitation Agent" (KDD 2026), section 4.2.1. An expert continues
up to its stop and answers STOP from there to the end of the thread. A prefix on which the verifier abstained (None)
equals neither the true label nor any other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Expert = Literal["ce", "eae", "me"]
EXPERTS: tuple[Expert, ...] = ("ce", "eae", "me")

Predicted = Sequence[str | None]
"""The label of every prefix of a thread, None where the verifier abstained."""


def conservative(predicted: Predicted, gold: str) -> int | None:
    """CE: the first prefix (from 0) that is right and after which every other is; None if the last one is not."""
    return _last_run(predicted) if predicted[-1] == gold else None


def early_action(predicted: Predicted, gold: str) -> int | None:
    """EAE: the first prefix (from 0) that is right; None if none is."""
    return next((k for k, label in enumerate(predicted) if label == gold), None)


def misleading(predicted: Predicted, gold: str) -> int | None:
    """ME: the first prefix (from 0) from which on the verifier stays with one wrong label.

    None if it ends up right, or abstaining, which is no label to be misled to.
    """
    return _last_run(predicted) if predicted[-1] not in (gold, None) else None


def _last_run(predicted: Predicted) -> int:
    """Where the run of equal labels begins that the thread ends with."""
    k = len(predicted) - 1
    while k and predicted[k - 1] == predicted[-1]:
        k -= 1
    return k


@dataclass(frozen=True, slots=True)
class Stop:
    """An expert's way through one thread."""

    thread: int
    """Which of the labelled threads."""
    at: int
    """First state (from 0) in which it answers STOP."""
    length: int
    """States that the expert shows: all of the thread's, unless truncated."""


def demonstrations(
    predicted: Sequence[Predicted],
    gold: Sequence[str],
    *,
    min_posts: int = 1,
    eae_only_if_apart: bool = False,
    states_after_stop: int | None = None,
) -> dict[Expert, list[Stop]]:
    """Every expert's trajectories over the labelled threads.

    Args:
        predicted: For each thread the label of every prefix.
        gold: For each thread its true label.
        min_posts: Shorter threads show nothing (the released code wants 3).
        eae_only_if_apart: EAE shows only what CE does not show already (as in the released code).
        states_after_stop: End a trajectory so many states after its stop; None shows the whole thread (the paper).
    """
    shown: dict[Expert, list[Stop]] = {expert: [] for expert in EXPERTS}
    for thread, (labels, truth) in enumerate(zip(predicted, gold, strict=True)):
        if len(labels) < min_posts:
            continue
        stops = {
            "ce": conservative(labels, truth),
            "eae": early_action(labels, truth),
            "me": misleading(labels, truth),
        }
        if eae_only_if_apart and stops["eae"] == stops["ce"]:
            stops["eae"] = None
        for expert in EXPERTS:
            if (at := stops[expert]) is not None:
                length = len(labels) if states_after_stop is None else min(len(labels), at + 1 + states_after_stop)
                shown[expert].append(Stop(thread, at, length))
    return shown


def shuffled(
    shown: Mapping[Expert, Sequence[Stop]], lengths: Sequence[int], rng: np.random.Generator
) -> dict[Expert, list[Stop]]:
    """The same stops, dealt out to the wrong threads: the audit in which experts know nothing about the posts.

    Each expert's stops keep their place relative to the thread's length, so that how early it stops stays as it was.
    """
    dealt: dict[Expert, list[Stop]] = {}
    for expert, stops in shown.items():
        order = rng.permutation(len(stops))
        dealt[expert] = []
        for stop, other in zip(stops, order, strict=True):
            source = stops[other]
            share = source.at / max(lengths[source.thread] - 1, 1)
            at = min(round(share * (lengths[stop.thread] - 1)), stop.length - 1)
            dealt[expert].append(Stop(stop.thread, at, stop.length))
    return dealt
