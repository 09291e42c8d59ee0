"""`vanilla`: S2MAD's single-model baseline, one Fake/Real question on the source and 40 random comments.

Paper: "Breaking Event Rumor Detection via Stance-Separated Multi-Agent Debate" (2024), section 4.2. Fake
means the first label of a binary task. The draw is fixed by (seed, thread id, comments seen so far), so that
a rerun asks the same; the drawn comments are shown in the order of time. The prompt is ours.
"""

import hashlib
from pathlib import Path

from agents.call_log import CallLog
from agents.models import Model
from agents.replies import FAKE_REAL, show_posts
from agents.verdict import Verdict, Verifier
from agents.verifiers.question import ask, check, load_prompts, room_for_posts
from corpora.labels import LabelSet
from corpora.thread import ClaimThread

COMMENTS = 40
"""Drawn at most."""


def vanilla(
    log: CallLog,
    model: Model,
    prompts: Path | None,
    label_set: LabelSet,
    *,
    seed: int = 0,
    samples: int = 1,
) -> Verifier:
    """Make the verifier.

    Args:
        log: where its calls go through.
        model: whom it asks.
        prompts: a folder whose files replace our prompts, or None.
        label_set: a binary task.
        seed: of the draws, and at a temperature above 0 of the replies.
        samples: calls a thread where the model gives no label probabilities.

    Raises:
        UsageError: the label set is not binary, a prompt file is not usable, or samples cannot differ.
    """
    check("vanilla", label_set, model, samples)
    by_language = load_prompts("vanilla", {"source", "comments"}, prompts)

    async def verify(prefix: ClaimThread) -> Verdict:
        prompt = by_language[prefix.language]
        budget = room_for_posts(model, prompt)
        source = show_posts(prefix, [0], max_tokens=budget, count=model.count_text)
        budget -= model.count_text(source)
        chosen = draw(prefix, COMMENTS, seed)
        shown = show_posts(prefix, chosen, max_tokens=budget, count=model.count_text)
        return await ask(
            log,
            model,
            prompt.render(source=source, comments=shown),
            words=FAKE_REAL[prefix.language],
            label_set=label_set,
            thread_id=prefix.id,
            prompt_sha256=prompt.sha256,
            samples=samples,
            seed=seed,
        )

    return verify


def draw(thread: ClaimThread, n: int, seed: int) -> list[int]:
    """Draw the indices of at most n comments (posts after the source), ascending."""
    import numpy as np

    count = len(thread.posts) - 1
    if count <= n:
        return list(range(1, count + 1))
    thread_key = int.from_bytes(hashlib.sha256(thread.id.encode()).digest()[:8])
    rng = np.random.default_rng([seed, thread_key])
    return sorted(int(i) + 1 for i in rng.choice(count, size=n, replace=False))
