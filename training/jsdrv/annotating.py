"""Annotate: draw claims and posts, have SD say the stance of each post and RV the veracity of each claim.

RV is asked here with all annotated posts of the claim. What the selector makes of it is another verdict
(training/jsdrv/selecting.py); both are kept, so that one can tell what the selection changed.
"""

import asyncio
from typing import Any

from agents.jsdrv.annotation import Annotation, Kept, Networks
from agents.models import ModelError
from agents.together import together
from corpora.clean import printable
from corpora.errors import UsageError
from corpora.thread import ClaimThread
from training.jsdrv import preselection
from training.jsdrv.cycle import Cycle
from training.jsdrv.files import Journal, as_annotation, as_plain, remove

ABREAST = 8
"""Claims that are annotated side by side."""
FAILED = 0.1
"""Share of the claims of which the model may fail to be asked; with more, something is wrong with it."""

Row = dict[str, Any]
"""A claim: id, labelled, posts (number, id, annotation), veracity."""


def annotate(cycle: Cycle, epoch: int) -> list[Row]:
    """Annotate what an epoch draws; a row per claim, in the order drawn.

    Raises:
        UsageError: the model could not be asked of too many claims; what was annotated is not annotated again.
    """
    if (found := cycle.read(epoch, "annotations")) is not None:
        return list(found)
    drawn = draw(cycle, epoch)
    journal = Journal(cycle.folder(epoch) / "annotations.part.jsonl")
    done = {row["id"]: row for row in journal.read()}
    networks, failures = cycle.networks(epoch - 1), list[str]()
    left = iter([claim for claim in drawn if claim not in done])
    one_at_a_time = asyncio.Lock()

    async def work() -> None:
        for claim in left:
            thread, numbers = cycle.threads[claim], drawn[claim]
            try:
                posts, veracity = await judge(networks, thread, numbers)
                asked = True
            except ModelError as error:
                failures.append(f"{claim}: {error}")
                veracity = failed(error)
                posts, asked = dict.fromkeys(numbers, veracity), False
            row = _row(cycle, claim, posts, veracity)
            async with one_at_a_time:
                if asked:  # a disk is nothing that an event loop may wait for: a server watches for that
                    await asyncio.to_thread(journal.add, [row])
                done[claim] = row
                cycle.watcher.advance("annotating claims", len(done), len(drawn))

    async def work_abreast() -> None:
        await together(*(work() for _ in range(ABREAST)))

    cycle.watcher.advance("annotating claims", len(done), len(drawn))
    cycle.run(work_abreast())
    check_failures(failures, len(drawn))
    rows = [done[claim] for claim in drawn]
    cycle.write(epoch, "annotations", rows)
    remove(journal.path)
    return rows


def draw(cycle: Cycle, epoch: int) -> dict[str, list[int]]:
    """Claims of an epoch in the order drawn, and the places of their posts; the source is not among them."""
    settings, rng = cycle.settings, cycle.rng(epoch, "annotate")
    n = 0 if settings.ablate == "epRV" else settings.claims
    known = [*cycle.seeds, *cycle.unlabelled]
    places = preselection.claims(len(cycle.seeds), len(cycle.unlabelled), n, settings.epsilon, rng)
    return {
        known[place]: [
            1 + reply
            for reply in preselection.posts(
                len(cycle.threads[known[place]].posts) - 1, cycle.posts, settings.epsilon, rng
            )
        ]
        for place in places
    }


async def judge(
    networks: Networks, thread: ClaimThread, numbers: list[int]
) -> tuple[dict[int, Annotation], Annotation]:
    """Stances of posts, in the order given, and the veracity of the claim given those that have one.

    Raises:
        ModelError: the model cannot be asked.
    """
    said = await networks.stances(thread, numbers) if numbers else []
    posts = dict(zip(numbers, said, strict=True))
    return posts, await networks.veracity(thread, in_time(posts))


def in_time(posts: Kept) -> dict[int, Annotation]:
    """Those that have a stance, in the order of time: RV reads a conversation, however it was drawn."""
    return {number: posts[number] for number in sorted(posts) if posts[number].label is not None}


def failed(error: ModelError) -> Annotation:
    """What stands for an annotation that could not be asked for."""
    return Annotation(None, reason=f"could not be asked: {error}")


def check_failures(failures: list[str], claims: int) -> None:
    """Go on without some claims, but not without many.

    Raises:
        UsageError: more than FAILED of them.
    """
    if len(failures) > FAILED * claims:
        raise UsageError(
            f"the model could not be asked of {len(failures)} of {claims} claims, as of {printable(failures[0], 300)}; "
            "the same command goes on from here"
        )


def posts_of(row: Row) -> dict[int, Annotation]:
    """The annotated posts of a claim, in the order drawn."""
    return {post["number"]: as_annotation(post["annotation"]) for post in row["posts"]}


def _row(cycle: Cycle, claim: str, posts: Kept, veracity: Annotation) -> Row:
    ids = cycle.threads[claim].posts
    return {
        "id": claim,
        "labelled": claim in cycle.veracities,
        "posts": [
            {"number": number, "id": ids[number].id, "annotation": as_plain(each)} for number, each in posts.items()
        ],
        "veracity": as_plain(veracity),
    }
