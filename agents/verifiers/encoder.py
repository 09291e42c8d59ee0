"""The embedded verifier: sentence vectors of the source and the replies, and logistic regression on the shots.

A prefix becomes [vector of the source; mean vector of the replies, scaled to length 1], shape (2 d,). The mean of
many replies is short where they disagree in subject; scaled, it weighs as much as the source.

A classifier that has only seen whole threads misreads the first three posts, so a prefix of n posts is judged by a
classifier fitted on the first n posts of each shot (n rounded down to one of `LENGTHS`). Each is fitted when first
needed: 50 shots take some 10 ms.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.encoder import Encoder
from agents.verdict import Verdict, Verifier
from corpora.errors import UsageError
from corpora.thread import ClaimThread

LENGTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
C = 10.0
"""Inverse strength of the L2 penalty: vectors of length 1 need a weak one."""


def features(prefix: ClaimThread, encoder: Encoder) -> NDArray[np.float32]:
    """One prefix as a row of shape (2 d,)."""
    vectors = encoder([post.text for post in prefix.posts])
    source = vectors[0]
    replies = vectors[1:].mean(axis=0) if len(vectors) > 1 else np.zeros_like(source)
    return np.concatenate([source, replies / (np.linalg.norm(replies) or 1.0)])


def _length(prefix: ClaimThread) -> int:
    return max(length for length in LENGTHS if length <= len(prefix.posts))


def encoder_verifier(encoder: Encoder, shots: Sequence[ClaimThread], labels: Sequence[str]) -> Verifier:
    """Fit on the labelled shots.

    Raises:
        UsageError: the shots hold fewer than two classes.
    """
    if len(set(labels)) < 2:
        raise UsageError("the encoder learns from labelled threads of at least two classes: use --shots 10 or more")
    fitted: dict[int, Any] = {}

    def classifier(length: int) -> Any:
        if length not in fitted:
            from sklearn.linear_model import LogisticRegression

            rows = [features(shot.prefix(min(length, len(shot.posts))), encoder) for shot in shots]
            fitted[length] = LogisticRegression(C=C, max_iter=2000, class_weight="balanced").fit(rows, labels)
        return fitted[length]

    def judge(prefix: ClaimThread) -> Verdict:
        model = classifier(_length(prefix))
        (row,) = model.predict_proba([features(prefix, encoder)])
        probabilities = {str(label): float(p) for label, p in zip(model.classes_, row, strict=True)}
        label = max(probabilities, key=probabilities.__getitem__)
        return Verdict(label, probabilities, "classifier")

    async def verify(prefix: ClaimThread) -> Verdict:
        if _length(prefix) in fitted and encoder.holds(post.text for post in prefix.posts):
            return judge(prefix)
        # The first sight of a text or a length loads files and computes: off the event loop with it.
        return await asyncio.to_thread(judge, prefix)

    return verify
