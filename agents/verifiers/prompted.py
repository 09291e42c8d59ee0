"""`single-task` and `multi-task`: a chat model asked for stances and veracity, untrained (JSDRV, Tables 1 and 2).

Single-task asks a question for the stance of each post, and one for the veracity that shows all posts without their
stances; multi-task asks one question for everything. Both may be shown labelled claims as examples of veracity
(few-shot); nobody gives stances for those, as none are given for JSDRV's seeds.
"""

from collections.abc import Awaitable, Sequence
from pathlib import Path

from agents.call_log import CallLog
from agents.jsdrv.annotation import Annotation, VeracityExample
from agents.jsdrv.chat_networks import ChatNetworks
from agents.jsdrv.mapping import rows_of, verdict_of
from agents.models import Model
from agents.together import together
from agents.verdict import Verdict, Verifier
from corpora.labels import LabelSet
from corpora.thread import ClaimThread, Gold, Veracity


def prompted(
    log: CallLog,
    model: Model,
    prompts_dir: Path | None,
    label_set: LabelSet,
    *,
    multi: bool,
    shots: Sequence[ClaimThread] = (),
    examples: int = 0,
    seed: int = 0,
    samples: int = 1,
) -> Verifier:
    """Make the verifier.

    Args:
        log: Where its calls go through.
        model: Whom it asks.
        prompts_dir: A folder whose files replace our prompts, or None.
        label_set: The task's classes; veracity is mapped onto them (agents/jsdrv/mapping.py).
        multi: One question for all, instead of one for each post and one for the claim.
        shots: Labelled threads to draw examples from.
        examples: How many to show at most, balanced over the labels; 0 for none (zero-shot).
        seed: Of the draw, and at a temperature above 0 of the replies.
        samples: Calls a question where the model gives no label probabilities (single-task).

    Raises:
        UsageError: a prompt file is not usable, or samples cannot differ.
    """
    networks = ChatNetworks(
        log,
        model,
        prompts_dir,
        examples=drawn(shots, seed) if examples else (),
        most_examples=examples or None,
        seed=seed,
        samples=1 if multi else samples,
        reasons=False,  # a local model would generate one for each post: hundreds of calls for a baseline's labels
    )

    async def verify(prefix: ClaimThread) -> Verdict:
        if multi:
            stances, veracity = await networks.joint(prefix)
        else:
            stances, veracity = await _apart(networks, prefix)
        return verdict_of(veracity, label_set, rows_of(prefix, stances))

    return verify


async def _apart(networks: ChatNetworks, thread: ClaimThread) -> tuple[dict[int, Annotation], Annotation]:
    """The stance of every post, and the veracity from their texts alone."""
    numbers = range(len(thread.posts))
    found: list[list[Annotation]] = await together(
        networks.stances(thread, numbers), _alone(networks.veracity(thread, unannotated(thread)))
    )
    stances, (veracity,) = found
    return dict(zip(numbers, stances, strict=True)), veracity


async def _alone(judged: Awaitable[Annotation]) -> list[Annotation]:
    return [await judged]


def unannotated(thread: ClaimThread) -> dict[int, Annotation]:
    """All replies of a thread, without stances."""
    return {number: Annotation(None) for number in range(1, len(thread.posts))}


def veracity_of(gold: Gold) -> Veracity | None:
    """The veracity of a labelled claim; a corpus that tells only rumors apart says it of the others."""
    return gold.veracity or ("N" if gold.rumor == "non-rumor" else None)


def drawn(shots: Sequence[ClaimThread], seed: int) -> list[VeracityExample]:
    """The shots whose veracity is known as examples, in an order that the seed decides."""
    import numpy as np

    order = np.random.default_rng(seed).permutation(len(shots))
    threads = [shots[n] for n in order]
    return [
        VeracityExample(thread, unannotated(thread), label) for thread in threads if (label := veracity_of(thread.gold))
    ]
