"""Posts as somebody gives them to a graph, made a conversation by the corpora's own rules."""

from collections.abc import Mapping, Sequence
from typing import Any

from corpora.clean import RawPost, RawThread, Tally, build_thread, encodable, language_of
from corpora.errors import UsageError
from corpora.thread import ClaimThread, Language


def thread_of(
    identifier: str, posts: Sequence[Mapping[str, Any]], source: str | None = None, language: Language | None = None
) -> tuple[ClaimThread, Tally]:
    """Posts as a conversation, by the corpora's own rules (order, duplicates, pseudonyms), and what those changed.

    Args:
        identifier: Of the conversation.
        posts: Fields of `RawPost`.
        source: Id of the source post, if it is not the first.
        language: That of most letters if None.

    Raises:
        UsageError: the first post shows nothing.
    """
    tally = Tally()
    raw = [RawPost(**post) for post in posts]
    language = language or language_of([post.text for post in raw])
    wanted = RawThread(identifier, source or raw[0].id, raw, language=language)
    thread = build_thread(encodable(wanted, tally), tally)
    if thread is None:
        raise UsageError(
            "the first post has no visible text: it is the claim, and there is nothing to judge without it"
        )
    return thread, tally
