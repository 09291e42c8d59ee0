"""What a person is shown of an epoch's selection, and what they may answer."""

from typing import Any

from agents.jsdrv.annotation import Annotation
from training.jsdrv.annotating import posts_of
from training.jsdrv.cycle import Cycle
from training.jsdrv.files import as_annotation
from training.jsdrv.learning import post_id

REVIEW = "review"
"""File of an epoch with what a person answered."""

QUESTION = (
    'Shall the networks learn these annotations? Answer {"veto": [ids]} with the ids of posts or claims that they '
    'shall not learn, {"veto": []} for none, or "stop" to end the training without them.'
)


def payload(cycle: Cycle, epoch: int, problem: str | None = None) -> dict[str, Any]:
    """What was kept, as plain values: claims with the label they would teach, and their posts with theirs.

    Texts are as posted.
    """
    annotated = {row["id"]: posts_of(row) for row in cycle.read(epoch, "annotations")}
    claims = []
    for row in cycle.read(epoch, "selection")["claims"]:
        if not row["kept"]:
            continue
        thread, predicted = cycle.threads[row["id"]], as_annotation(row["veracity"])
        gold = cycle.veracities.get(row["id"])
        posts = [
            {
                "id": post["id"],
                "text": thread.posts[post["number"]].text,
                **_said(annotated[row["id"]][post["number"]], "stance"),
            }
            for post in row["posts"]
            if post["kept"]
        ]
        claims.append(
            {
                "id": row["id"],
                "text": thread.source.text,
                "labelled": gold is not None,
                **_said(predicted, "predicted"),
                "veracity": gold or predicted.label,
                "posts": posts,
            }
        )
    shown = {"epoch": epoch, "question": QUESTION, "claims": claims}
    return shown if problem is None else {"problem": problem, **shown}


def read_answer(answer: Any, shown: dict[str, Any]) -> tuple[list[str], bool, str | None]:
    """Read a person's answer.

    Args:
        answer: {"veto": [ids]} or "stop". A post goes by its own id, or where two claims have such a post, by
            "claim/post".
        shown: The payload that it answers.

    Returns:
        What was vetoed (claims, and posts as "claim/post"), whether to stop, and what is wrong with the answer.
    """
    if answer == "stop":
        return [], True, None
    veto = answer.get("veto") if isinstance(answer, dict) else None
    if not isinstance(veto, list) or not all(isinstance(each, str) for each in veto):
        return [], False, 'want {"veto": [ids]} or "stop"'
    meant: dict[str, set[str]] = {}
    for claim in shown["claims"]:
        meant.setdefault(claim["id"], set()).add(claim["id"])
        for post in claim["posts"]:
            full = post_id(claim, post)
            for name in {full, post["id"]}:
                meant.setdefault(name, set()).add(full)
    for name in veto:
        if name not in meant:
            return [], False, f"no post or claim {name} was kept"
        if len(meant[name]) > 1:
            return [], False, f"{name} may mean {' or '.join(sorted(meant[name])[:3])}"
    return sorted({full for name in veto for full in meant[name]}), False, None


def _said(annotation: Annotation, name: str) -> dict[str, Any]:
    return {name: annotation.label, "explanation": annotation.explanation}
