"""Replies that earlier runs stored in the `calls` table: how they are kept there, and fetched many at a time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from agents.models import Reply

Fetch = Callable[[list[str]], Awaitable[dict[str, dict[str, Any]]]]
"""Addresses -> rows of `calls`, of those that are found."""
FETCH_WAIT = 0.003
"""Seconds that a stored reply waits for company, so that the database is opened once for many."""


def reply_content(reply: Reply) -> dict[str, Any]:
    """What column `reply` holds; the other tokens and the seconds have columns of their own."""
    content = {
        "text": reply.text,
        "label_probabilities": reply.label_probabilities,
        "probability_method": reply.probability_method,
    }
    # only where they are known, so that a reply without them is stored as it always was
    rare = {"cached_tokens": reply.cached_tokens, "cut": reply.cut}
    return content | {name: value for name, value in rare.items() if value is not None}


def reply_of(row: dict[str, Any]) -> Reply:
    """The reply in a row of `calls`."""
    counts = {name: row[name] for name in ("input_tokens", "output_tokens", "seconds")}
    return Reply(**row["reply"], **counts)


class StoredReplies:
    """Fetches replies by address; requests within a few milliseconds share one fetch."""

    def __init__(self, fetch: Fetch):
        self._fetch = fetch
        self._wanted: dict[str, asyncio.Future[Reply | None]] = {}
        self._fetches: set[asyncio.Task[None]] = set()

    async def get(self, key: str) -> Reply | None:
        """The stored reply; None if it is not found."""
        if key not in self._wanted:
            if not self._wanted:
                task = asyncio.create_task(self._fetch_wanted())
                self._fetches.add(task)
                task.add_done_callback(self._fetches.discard)
            self._wanted[key] = asyncio.get_running_loop().create_future()
        return await asyncio.shield(self._wanted[key])

    async def _fetch_wanted(self) -> None:
        await asyncio.sleep(FETCH_WAIT)
        wanted, self._wanted = self._wanted, {}
        try:
            rows = await self._fetch(list(wanted))
            replies = {key: reply_of(row) for key, row in rows.items()}
        except Exception as error:
            for future in wanted.values():
                future.set_exception(error)
                future.exception()  # looked at, in case nobody waits any more
            return
        for key, future in wanted.items():
            future.set_result(replies.get(key))
