"""Rows of the table `annotations`: what a verifier said of each post, beside what annotators say of it."""

from typing import Any

from agents.verdict import Verdict
from corpora.thread import ClaimThread

NOT_ANNOTATED = "the verifier gave no stance for this post"


def rows_of(
    thread: ClaimThread, verdict: Verdict, read: int | None, *, scored: bool, **common: Any
) -> list[dict[str, Any]]:
    """The rows of one thread at one checkpoint.

    Args:
        thread: The thread as judged, with its gold labels.
        verdict: What the verifier said.
        read: Posts read; None where it failed, and then all its posts count.
        scored: Whether stances are scored. Then a post with a gold stance that was read and has no annotation gets
            a row without a label: whatever a verifier leaves out is wrong.
        common: Columns that all rows have in common, such as checkpoint and fold.
    """
    given = {row["post"]: row for row in verdict.annotations or ()}
    why = verdict.reason or NOT_ANNOTATED
    rows = []
    for post in thread.posts[:read]:
        gold = thread.gold.stances.get(post.id)
        row = given.get(post.id)
        if row is None and not (scored and gold):
            continue
        told = row or {"label": None, "reason": why}
        rows.append(
            {
                "thread_id": thread.id,
                **common,
                "post_id": post.id,
                "gold": gold,
                "label": told["label"],
                "probabilities": told.get("probabilities"),
                "explanation": told.get("explanation") or None,
                "reason": told.get("reason"),
                "kept": told.get("kept"),
            }
        )
    return rows
