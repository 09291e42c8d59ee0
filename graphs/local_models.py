"""The chat models of what callers describe; a local one is loaded once, however many descriptions name it."""

import asyncio
import threading
from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from graphs.open_once import on_disk

if TYPE_CHECKING:
    from agents.local_chat import LocalChat
    from agents.models import Message, Model, ModelSettings, Reply


class Shared:
    """A local model that answers in an event loop of its own, since it serves only one, and is asked from several."""

    def __init__(self, model: "LocalChat") -> None:
        self._model = model
        self.name, self.endpoint, self.parameters = model.name, model.endpoint, model.parameters
        self.max_prompt_tokens, self.max_tokens = model.max_prompt_tokens, model.max_tokens
        self.count_text, self.count_tokens, self.cost = model.count_text, model.count_tokens, model.cost

    async def complete(
        self, messages: "Sequence[Message]", *, labels: tuple[str, ...] = (), sample: int = 0
    ) -> "Reply":
        """Ask for one reply; see agents.models.Model."""
        asking = self._model.complete(messages, labels=labels, sample=sample)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asking, _loop()))

    def keep_prefixes(self, conversations: int) -> AbstractContextManager[None]:
        """See agents.models.KeepsPrefixes."""
        return self._model.keep_prefixes(conversations)

    async def close(self) -> None:
        """Nothing: others may be asking. Memory and thread are free when nobody holds the model any longer."""


def model_of(settings: "ModelSettings") -> "Model":
    """The chat model that settings name: a client of the caller's own, or the local model that all share.

    Raises:
        UsageError: as agents.models.open_model.
    """
    from agents.models import open_model

    if not settings.model.startswith("hf:"):
        return open_model(settings)
    key = (replace(settings, base_url=None), on_disk(settings.model))
    with _loading:
        shared = _loaded.get(key)
        if shared is None:
            local: LocalChat = open_model(settings)  # type: ignore[assignment]
            shared = _loaded[key] = Shared(local)
        return shared


_loading = threading.Lock()
_loaded: "WeakValueDictionary[Hashable, Shared]" = WeakValueDictionary()
"""Held by what was opened with them, and by nothing else."""


@lru_cache(maxsize=1)
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="local models", daemon=True).start()
    return loop
