"""One role of a local model that has LoRA adapters: the base is in memory once, whatever number of roles it serves."""

from collections.abc import Sequence
from contextlib import AbstractContextManager

from agents.local_chat import LocalChat
from agents.models import Message, Reply


class AdapterChat:
    """A loaded model with one of its adapters: another role of the same weights in memory."""

    endpoint = LocalChat.endpoint

    def __init__(self, base: LocalChat, adapter: str):
        self.base, self.adapter = base, adapter
        self.name, self.max_tokens, self.max_prompt_tokens = base.name, base.max_tokens, base.max_prompt_tokens
        self.parameters = dict(base.parameters)

    def trained(self, digest: str | None) -> None:
        """Tell calls of these weights from calls of others; None: the adapter has learned nothing, and is the base."""
        self.parameters = dict(self.base.parameters) | ({"adapter": digest} if digest else {})

    async def complete(self, messages: Sequence[Message], *, labels: tuple[str, ...] = (), sample: int = 0) -> Reply:
        """Ask for one reply; see agents.models.Model."""
        adapter = self.adapter if "adapter" in self.parameters else None
        return await self.base.complete(messages, labels=labels, sample=sample, adapter=adapter)

    def keep_prefixes(self, conversations: int) -> AbstractContextManager[None]:
        """See LocalChat.keep_prefixes."""
        return self.base.keep_prefixes(conversations)

    def count_text(self, text: str) -> int:
        """Tokens of a text."""
        return self.base.count_text(text)

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Tokens of a prompt."""
        return self.base.count_tokens(messages)

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """Nothing."""
        return self.base.cost(input_tokens, output_tokens)

    async def close(self) -> None:
        """Let the base's worker thread end."""
        await self.base.close()
