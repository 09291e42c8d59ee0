"""From what networks say of posts and a claim to the verdict that a verifier returns.

A network tells four veracities apart; a task may ask for fewer classes (is it a rumour at all?). The probability of a
class is the sum over the veracities that the label set maps to it, renormalised over the label set's classes: what is
none of them (U where only F and N are asked for) is left out, as it is in the gold labels.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from agents.jsdrv.annotation import Annotation
from agents.verdict import Verdict
from corpora.labels import LabelSet
from corpora.thread import ClaimThread


def row_of(post_id: str, annotation: Annotation, kept: bool | None = None) -> dict[str, Any]:
    """One post's annotation as plain JSON values.

    Args:
        post_id: The post's id.
        annotation: Its stance.
        kept: Whether the selector retained it; None where nothing was selected.
    """
    odds = annotation.probabilities
    return {
        "post": post_id,
        "label": annotation.label,
        "probabilities": None if odds is None else {label: float(p) for label, p in odds.items()},
        "explanation": annotation.explanation,
        "reason": annotation.reason,
        "kept": kept,
    }


def rows_of(
    thread: ClaimThread, annotations: Mapping[int, Annotation], kept: Collection[int] | None = None
) -> list[dict[str, Any]]:
    """The annotated posts of a thread, in the order of time, as plain JSON values.

    Args:
        thread: The posts.
        annotations: Place in `thread.posts` -> its stance.
        kept: Places of the posts that the selector retained; None where nothing was selected.
    """
    return [
        row_of(thread.posts[number].id, annotations[number], None if kept is None else number in kept)
        for number in sorted(annotations)
    ]


def verdict_of(
    annotation: Annotation,
    label_set: LabelSet,
    annotations: Sequence[dict[str, Any]] | None = None,
    rationale: str | None = None,
) -> Verdict:
    """Make a verdict of a claim's veracity.

    Args:
        annotation: What RV says of the claim.
        label_set: The task's classes.
        annotations: A row per annotated post, see `rows_of`; None where no post was annotated.
        rationale: What the verdict rests on; the annotation's explanation if there is none.

    Returns:
        The likeliest class, with probabilities where the network gave any. An abstention, which keeps the posts'
        annotations, where the network abstained or said what is none of the label set's classes.
    """
    label, probabilities, reason = _class_of(annotation, label_set)
    rows = None if annotations is None else list(annotations)
    return Verdict(
        label,
        probabilities,
        annotation.method if probabilities else None,
        outcome="verdict" if label else "abstained",
        reason=reason,
        rationale=rationale or annotation.explanation or None,
        stances={row["post"]: row["label"] for row in rows or () if row["label"] and row["kept"] is not False},
        annotations=rows,
    )


def _class_of(annotation: Annotation, label_set: LabelSet) -> tuple[str | None, dict[str, float] | None, str | None]:
    """Class, probabilities, and why there is none."""
    if annotation.label is None:
        return None, None, annotation.reason or "no veracity"
    own = label_set.from_veracity.get(annotation.label)
    outside = f"{annotation.label} is none of the labels {', '.join(label_set.labels)}"
    if annotation.probabilities is None:
        return own, None, None if own else outside
    sums = dict.fromkeys(label_set.labels, 0.0)
    for veracity, probability in annotation.probabilities.items():
        if (label := label_set.from_veracity.get(veracity)) is not None:
            sums[label] += float(probability)
    total = sum(sums.values())
    if total <= 0:
        return own, None, None if own else outside
    probabilities = {label: weight / total for label, weight in sums.items()}
    merges = len(set(label_set.from_veracity.values())) < len(label_set.from_veracity)
    if own is None or merges:  # the likeliest veracity need not be one of the likeliest class: .4 N, .3 T, .3 F
        own = max(label_set.labels, key=lambda label: (probabilities[label], label == own))
    return own, probabilities, None
