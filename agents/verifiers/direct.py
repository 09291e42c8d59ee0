"""`direct`: EARD's detector, one Yes/No question on all the posts seen so far.

Paper: "LLM-based Few-Shot Early Rumor Detection with Imitation Agent" (KDD 2026), section 5.1.3. Yes means
the first label of a binary task, whichever task it is. Deviations: the prompt is ours, numbers the posts and
shows authors, times and what they answer; the answer is the last Yes or No as a whole word, and a reply
without one is an abstention (the released code reads any "y" as Yes).
"""

from pathlib import Path

from agents.call_log import CallLog
from agents.models import Model
from agents.replies import YES_NO, show_posts
from agents.verdict import Verdict, Verifier
from agents.verifiers.question import ask, check, load_prompts, room_for_posts
from corpora.labels import LabelSet
from corpora.thread import ClaimThread


def direct(
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
        seed: at a temperature above 0, each draws replies of its own.
        samples: calls a thread where the model gives no label probabilities.

    Raises:
        UsageError: the label set is not binary, a prompt file is not usable, or samples cannot differ.
    """
    check("direct", label_set, model, samples)
    by_language = load_prompts("direct", {"posts"}, prompts)

    async def verify(prefix: ClaimThread) -> Verdict:
        prompt = by_language[prefix.language]
        posts = show_posts(prefix, max_tokens=room_for_posts(model, prompt), count=model.count_text)
        return await ask(
            log,
            model,
            prompt.render(posts=posts),
            words=YES_NO[prefix.language],
            label_set=label_set,
            thread_id=prefix.id,
            prompt_sha256=prompt.sha256,
            samples=samples,
            seed=seed,
        )

    return verify
