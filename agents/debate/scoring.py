"""Equation 1 of S2MAD: does a comment support that the claim is real, or oppose it?"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from typing_extensions import TypedDict

from agents.debate.asking import Asker
from agents.debate.evidence import quoted
from agents.debate.readings import read_quote, read_score, read_scores
from agents.debate.transcript import Scored
from agents.models import Model
from agents.replies import show_posts
from corpora.thread import ClaimThread, Language, Post

ANSWER = 40
"""Tokens that a scorer may need to say what it makes of one of several comments."""
INSTRUCTIONS = 700
"""Tokens of a prompt for scores without its posts, in either language; a replaced prompt is hardly longer."""

StanceScorer = Callable[[ClaimThread, Sequence[int]], Awaitable[Sequence[float | None]]]
"""Scores comments without a chat model: a thread and indices of its comments in, a score each out;
None where it abstains."""


class Batch(TypedDict):
    """Comments that are scored in one call: all that it takes, so that it can be done apart from the thread."""

    id: str
    language: Language
    source: dict[str, Any]
    """Fields of the source post."""
    comments: list[dict[str, Any]]
    """Fields of the comments."""
    numbers: list[int]
    """Their places in the thread; the source post is 1."""
    shown: list[str]
    """The source post and each comment as prompts show them."""


def batches(thread: ClaimThread, size: int, model: Model | None) -> list[Batch]:
    """Divide a thread's comments among the calls that will score them.

    Args:
        thread: The posts seen so far.
        size: Comments in one call at most; fewer where the model has no room to read or to answer so many.
        model: Who scores; None for a classifier, which takes all at once.
    """
    lines = show_posts(thread).split("\n")  # a post is one line
    if model is None:
        return [_batch(thread, range(1, len(lines)), lines)] if lines[1:] else []
    size = max(1, min(size, model.max_tokens // ANSWER))
    room = model.max_prompt_tokens - INSTRUCTIONS - model.count_text(lines[0])
    groups: list[list[int]] = []
    filled = 0
    for index, line in enumerate(lines[1:], 1):
        cost = model.count_text(line) + 1 if size > 1 else 0
        if not groups or len(groups[-1]) == size or filled + cost > room:
            groups.append([])
            filled = 0
        groups[-1].append(index)
        filled += cost
    return [_batch(thread, group, lines) for group in groups]


def _batch(thread: ClaimThread, chosen: Sequence[int], lines: Sequence[str]) -> Batch:
    return Batch(
        id=thread.id,
        language=thread.language,
        source=_fields(thread.source),
        comments=[_fields(thread.posts[index]) for index in chosen],
        numbers=[index + 1 for index in chosen],
        shown=[lines[0], *(lines[index] for index in chosen)],
    )


async def score(
    batch: Batch, asker: Asker, stance_scorer: StanceScorer | None, with_quotes: bool
) -> tuple[list[Scored], int]:
    """Score a batch.

    Args:
        batch: The comments.
        asker: Asks the model in the role "scorer".
        stance_scorer: Scores in its place.
        with_quotes: Whether the model shall quote a few words of the comment (not in batches of several).

    Returns:
        What was made of each comment, and the calls it took.

    Raises:
        ModelError: a call failed for good.
    """
    dry_run = asker.log.dry_run
    if stance_scorer and not dry_run:
        posts = [Post(**post) for post in (batch["source"], *batch["comments"])]
        thread = ClaimThread(batch["id"], tuple(posts), language=batch["language"])
        return [Scored(score) for score in await stance_scorer(thread, range(1, len(posts)))], 0
    found: list[Scored] = []
    calls = 0
    if not stance_scorer:
        ask = _several if len(batch["numbers"]) > 1 else _one_with_quote if with_quotes else _one
        found, calls = await ask(batch, asker)
    if dry_run:
        # Half of them on each side: about as much as a debater may come to read.
        found = [Scored(1.0 if number % 2 else -1.0) for number in batch["numbers"]]
    return found, calls


async def _several(batch: Batch, asker: Asker, attempt: int = 0) -> tuple[list[Scored], int]:
    """Score comments in one call; those without a score are asked for once more, by themselves."""
    source, *comments = batch["shown"]
    numbers = batch["numbers"]
    shown = {"source": quoted(source), "comments": quoted("\n".join(comments))}
    about = (batch["id"], batch["language"])
    read, _, calls = await asker.render_and_ask(
        "scorer",
        "scorer",
        "score-batch",
        about,
        shown,
        lambda reply: read_scores(reply.text, numbers),
        attempts=(attempt,),
    )
    assert read is not None
    missing = [place for place, number in enumerate(numbers) if read[number] is None]
    if missing and attempt == 0 and not asker.log.dry_run:
        rest: Batch = {
            **batch,
            "comments": [batch["comments"][place] for place in missing],
            "numbers": [numbers[place] for place in missing],
            "shown": [source, *(comments[place] for place in missing)],
        }
        again, more = await _several(rest, asker, attempt=1)
        read |= {number: each.score for number, each in zip(rest["numbers"], again, strict=True)}
        calls += more
    return [Scored(read[number]) for number in numbers], calls


async def _one(batch: Batch, asker: Asker, name: str = "score") -> tuple[list[Scored], int]:
    source, comment = batch["shown"]
    shown = {"source": quoted(source), "comment": quoted(comment)}
    about = (batch["id"], batch["language"])
    score, reply, calls = await asker.render_and_ask(
        "scorer", "scorer", name, about, shown, lambda reply: read_score(reply.text)
    )
    quote = read_quote(reply.text) if name == "score-quote" else ""
    # Words that the comment has not are the scorer's, or an attacker's: not a quotation.
    return [Scored(score, quote if quote in comment else "")], calls


async def _one_with_quote(batch: Batch, asker: Asker) -> tuple[list[Scored], int]:
    return await _one(batch, asker, "score-quote")


def _fields(post: Post) -> dict[str, Any]:
    return {name: getattr(post, name) for name in ("id", "text", "seconds", "author", "parent")}
