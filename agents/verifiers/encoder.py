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

from agents.batches import CLOSE
from agents.encoder import Encoder
from agents.stopping.running import Running
from agents.verdict import Verdict
from corpora.errors import UsageError
from corpora.thread import ClaimThread, Post

LENGTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
C = 10.0
"""Inverse strength of the L2 penalty: vectors of length 1 need a weak one."""

Sums = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Vector of the source, sum of the replies' vectors: (d,) each."""


def features(prefix: ClaimThread, encoder: Encoder) -> NDArray[np.float32]:
    """One prefix as a row of shape (2 d,)."""
    vectors = encoder([post.text for post in prefix.posts])
    source = vectors[0]
    replies = vectors[1:].mean(axis=0) if len(vectors) > 1 else np.zeros_like(source)
    return np.concatenate([source, replies / (np.linalg.norm(replies) or 1.0)])


def _length(prefix: ClaimThread) -> int:
    return max(length for length in LENGTHS if length <= len(prefix.posts))


class EncoderVerifier:
    """Judges one prefix, or many in one go."""

    def __init__(self, encoder: Encoder, shots: Sequence[ClaimThread], labels: Sequence[str]) -> None:
        self._encoder, self._shots, self._labels = encoder, shots, labels
        self._fitted: dict[int, Any] = {}
        self._sums = Running(self._add)

    async def __call__(self, prefix: ClaimThread) -> Verdict:
        """The verdict on a prefix."""
        if _length(prefix) in self._fitted and self._encoder.holds(post.text for post in prefix.posts):
            return self._judge(prefix)
        # The first sight of a text or a length loads files and computes: off the event loop with it.
        return await asyncio.to_thread(self._judge, prefix)

    async def batch(self, prefixes: Sequence[ClaimThread]) -> list[Verdict]:
        """Verdicts on many prefixes: new texts in one call, prefixes of like length in one."""
        await self._encoder.ready([post.text for prefix in prefixes for post in self._sums.left(prefix)[1]])
        if all(_length(prefix) in self._fitted for prefix in prefixes):
            return self._judge_all(prefixes)
        return await asyncio.to_thread(self._judge_all, prefixes)

    def _classifier(self, length: int) -> Any:
        if length not in self._fitted:
            from sklearn.linear_model import LogisticRegression

            rows = [features(shot.prefix(min(length, len(shot.posts))), self._encoder) for shot in self._shots]
            model = LogisticRegression(C=C, max_iter=2000, class_weight="balanced")
            self._fitted[length] = model.fit(rows, self._labels)
        return self._fitted[length]

    def _judge(self, prefix: ClaimThread) -> Verdict:
        return self._verdicts(_length(prefix), [features(prefix, self._encoder)])[0]

    def _judge_all(self, prefixes: Sequence[ClaimThread]) -> list[Verdict]:
        by_length: dict[int, list[int]] = {}
        for place, prefix in enumerate(prefixes):
            by_length.setdefault(_length(prefix), []).append(place)
        found: dict[int, Verdict] = {}
        for length, places in by_length.items():
            rows = [self._row(prefixes[place]) for place in places]
            found |= zip(places, self._verdicts(length, rows), strict=True)
        for place, verdict in found.items():
            first, second, *_ = sorted((verdict.probabilities or {}).values(), reverse=True)
            if first - second < CLOSE:
                found[place] = self._judge(prefixes[place])
        return [found[place] for place in range(len(prefixes))]

    def _verdicts(self, length: int, rows: Sequence[NDArray[np.float32]]) -> list[Verdict]:
        model = self._classifier(length)
        classes = [str(label) for label in model.classes_]
        made = (dict(zip(classes, row, strict=True)) for row in model.predict_proba(rows).tolist())
        return [Verdict(max(given, key=given.__getitem__), given, "classifier") for given in made]

    def _row(self, prefix: ClaimThread) -> NDArray[np.float32]:
        """`features`, at the cost of the new posts alone."""
        source, replies = self._sums(prefix)
        mean = replies / max(1, len(prefix.posts) - 1)
        return np.concatenate([source, mean / (np.linalg.norm(mean) or 1.0)])

    def _add(self, sums: Sums | None, post: Post) -> Sums:
        (vector,) = self._encoder([post.text])
        return (vector, np.zeros_like(vector)) if sums is None else (sums[0], sums[1] + vector)


def encoder_verifier(encoder: Encoder, shots: Sequence[ClaimThread], labels: Sequence[str]) -> EncoderVerifier:
    """Fit on the labelled shots.

    Raises:
        UsageError: the shots hold fewer than two classes.
    """
    if len(set(labels)) < 2:
        raise UsageError("the encoder learns from labelled threads of at least two classes: use --shots 10 or more")
    return EncoderVerifier(encoder, shots, labels)
