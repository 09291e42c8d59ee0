"""Several things at once, none of them left behind."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def together(*coroutines: Coroutine[Any, Any, T]) -> list[T]:
    """Await all of them at once; if some fail, the first failure is raised when all are over.

    What is under way has been paid for, and so is waited for; left behind, it would be booked to whatever runs next.
    """
    ends = await asyncio.gather(*coroutines, return_exceptions=True)
    for end in ends:
        if isinstance(end, BaseException):
            raise end
    return ends  # type: ignore[return-value]
