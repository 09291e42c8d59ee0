"""What a stopping agent is trained from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.encoder import Encoder
from agents.stopping.learned import WORDS
from corpora.thread import ClaimThread
from training.prefix_labels import Labels
from training.settings import Settings

Floats = NDArray[np.float32]
PROGRESS = "progress.json"
"""File in an agent's folder that says how far its training is."""


@dataclass(frozen=True)
class Task:
    """All that one agent learns from; plain values, so that another process can take it."""

    pool: list[Floats]
    """Vectors of the posts of each unlabelled thread, (posts, d)."""
    shots: list[Floats]
    """The same of each labelled thread, as far as its prefixes were labelled."""
    predicted: list[list[str | None]]
    """What the verifier said of every prefix of the labelled threads."""
    gold: list[str]
    words: Floats
    """Vectors of "Continue." and "Stop.", (2, d)."""
    seed: int
    settings: Settings = field(default_factory=Settings)
    about: dict[str, Any] = field(default_factory=dict)
    """What else `policy.json` shall say; `encoder` at least."""
    pool_predicted: list[list[str | None]] = field(default_factory=list)
    """What the verifier said of every prefix of the pool, where the agent learns from that."""


def task_of(
    encoder: Encoder,
    shots: Sequence[ClaimThread],
    gold: Sequence[str],
    pool: Sequence[ClaimThread],
    labels: Mapping[str, Labels],
    seed: int,
    settings: Settings,
    about: Mapping[str, Any],
) -> Task:
    """Turn threads into what training reads.

    Args:
        encoder: Makes the posts' vectors; what it has seen is not computed again.
        shots: Labelled threads.
        gold: The label of each.
        pool: Unlabelled threads.
        labels: Thread id -> what the verifier said of each prefix of a shot (see `training.prefix_labels`).
        seed: Of all chance in training.
        settings: Of the training.
        about: What the saved policy shall say of its origin.
    """
    predicted = [labels[shot.id] for shot in shots]
    read = [
        encoder([post.text for post in shot.posts[: len(said)]]) for shot, said in zip(shots, predicted, strict=True)
    ]
    return Task(
        pool=[encoder([post.text for post in thread.posts]) for thread in pool],
        shots=read,
        predicted=predicted,
        gold=list(gold),
        words=encoder(list(WORDS)),
        seed=seed,
        settings=settings,
        about=dict(about),
    )
