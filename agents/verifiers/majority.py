"""The floor: the commonest label of the shots for every thread, and for every post the commonest stance."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from agents.verdict import Verdict, Verifier
from corpora.labels import LabelSet
from corpora.thread import ClaimThread, Stance

COMMONEST: Stance = "C"
"""Of all corpora of conversations with stances that are known here, by far."""


def majority(labels: Sequence[str], label_set: LabelSet) -> Verifier:
    """Make a verifier that reads nothing.

    Args:
        labels: The label of each shot.
        label_set: The classes; of several that are equally common the first is taken.
    """
    counts = Counter(labels)
    label = max(label_set.labels, key=lambda each: counts[each])
    why = f"the commonest of {counts.total()} shots: {counts[label]}"

    async def verify(prefix: ClaimThread) -> Verdict:
        rows: list[dict[str, Any]] = [
            {
                "post": post.id,
                "label": COMMONEST,
                "probabilities": None,
                "explanation": "",
                "reason": None,
                "kept": None,
            }
            for post in prefix.posts
        ]
        stances = {post.id: COMMONEST for post in prefix.posts}
        return Verdict(label, rationale=why, stances=dict(stances), annotations=rows)

    return verify
