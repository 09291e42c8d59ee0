"""`--how jsdrv`: JSDRV's networks as a verifier.

It annotates the stance of every post, lets the selector keep those that are worth judging by, and has RV judge the
claim by them (paper, section 4). The kept posts with their stances and reasons are the verdict's rationale.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from agents.jsdrv.annotation import Annotation, Networks
from agents.jsdrv.mapping import rows_of, verdict_of
from agents.verdict import Verdict, Verifier
from corpora.thread import ClaimThread
from graphs.jsdrv import networks as jsdrv_networks
from graphs.parts import Parts
from training.jsdrv.selector import Embed, Selector

SHOWN = 5
"""Kept posts that a rationale names."""


def jsdrv(argument: str, parts: Parts) -> Verifier:
    """Open the verifier.

    Args:
        argument: A folder of trained networks; empty for those that learned from these parts.
        parts: What they were trained from, or what else they need.

    Raises:
        UsageError: the folder holds no networks.
    """
    networks, selector, embed = jsdrv_networks.open_folder(
        Path(argument) if argument else jsdrv_networks.folder(parts), parts
    )

    async def verify(prefix: ClaimThread) -> Verdict:
        return await judge(networks, selector, embed, prefix, parts)

    return verify


async def judge(
    networks: Networks, selector: Selector | None, embed: Embed, prefix: ClaimThread, parts: Parts
) -> Verdict:
    """Annotate, select, judge.

    Args:
        networks: SD and RV.
        selector: Decides which posts are kept; None for all of them.
        embed: What the selector sees posts with.
        prefix: The posts read so far.
        parts: For the label set.

    Raises:
        ModelError: the model cannot be asked.
    """
    numbers = range(len(prefix.posts))
    annotations = dict(zip(numbers, await networks.stances(prefix, numbers), strict=True))
    replies = {number: each for number, each in annotations.items() if number > 0}
    if selector is None:
        kept = [number for number, each in replies.items() if each.label]
    else:
        kept = await asyncio.to_thread(selector.retain, embed, prefix, replies)
    veracity = await networks.veracity(prefix, {number: annotations[number] for number in sorted(kept)})
    # The source is read as the claim itself: it is annotated, but neither kept nor discarded.
    rows = rows_of(prefix, annotations, kept)
    rows[0]["kept"] = None
    return verdict_of(veracity, parts.task, rows, rationale(prefix, veracity, annotations, sorted(kept)))


def rationale(
    thread: ClaimThread, veracity: Annotation, annotations: dict[int, Annotation], kept: Sequence[int]
) -> str:
    """What the verdict rests on, by the numbers of posts, as a reader counts them (the source is 1)."""
    words = {"S": "supports", "D": "denies", "Q": "asks", "C": "comments"}
    shown = [f"post {number + 1} {words[str(annotations[number].label)]}" for number in kept[:SHOWN]]
    more = f" and {len(kept) - SHOWN} more" if len(kept) > SHOWN else ""
    found = f"kept {len(kept)} of {len(thread.posts) - 1} replies" + (f": {', '.join(shown)}{more}" if shown else "")
    return f"{veracity.explanation} ({found})".strip()
