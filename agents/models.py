"""Chat models behind one string: `openai:NAME`, `hf:PATH-OR-NAME`, `scripted:FILE`.

This is the one place that knows which providers there are and what environment variables they read
(OPENAI_API_KEY, OPENAI_BASE_URL). Each client is a file of its own and is imported when it is asked for.

Which errors are retried, for `openai:` (the openai client does it, with back-off, waiting as long as
Retry-After says):
  - retried, at most `max_retries` times: 408, 409, 429, 5xx, timeouts, cut connections; after that a
    ModelError;
  - fatal for the run (FatalModelError, one line): at once 401, 403, 404 (unknown model), no key and no
    connection at the first call; after the retries a 429 that says the account has no quota left;
  - anything else (another 4xx, an HTTP body that is not a chat completion) fails this call: ModelError.
An empty or unreadable *text* is no error here: it is the model's answer, and a verifier abstains on it.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from corpora.errors import PublicError, UsageError

Message = dict[str, str]
"""{"role": "system" | "user" | "assistant", "content": text}."""


class ModelError(PublicError):
    """This call failed for good; other calls may not."""


class FatalModelError(UsageError):
    """No call can succeed until the user changes something."""


class BudgetExceeded(UsageError):
    """The next call could cost more than what is left of --max-cost; it was not made."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered."""

    text: str
    label_probabilities: dict[str, float] | None = None
    """Label word -> probability, summing to 1; None where the model gives no ground for any."""
    probability_method: str | None = None
    """Where they come from: "logprobs", "log-likelihood", "scripted"."""
    input_tokens: int | None = None
    """None where the endpoint does not say."""
    output_tokens: int | None = None
    seconds: float = 0.0
    cached_tokens: int | None = None
    """Those of the input tokens that the model had read before and did not read anew; None where nobody says."""
    cut: int | None = None
    """The longest reply in tokens, where this one was cut off there; None where it came to its own end."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """All that a chat model is opened with."""

    model: str
    """`openai:NAME`, `hf:PATH-OR-NAME` or `scripted:FILE`."""
    base_url: str | None = None
    """Address of an OpenAI-compatible server; None for OPENAI_BASE_URL or OpenAI itself."""
    temperature: float | None = 0.0
    """None leaves it to the endpoint (some reasoning models refuse any value)."""
    max_tokens: int = 512
    """Longest reply."""
    timeout: float = 60.0
    """Seconds for one attempt."""
    max_retries: int = 5
    requests_per_second: float | None = None
    """Rate limit on new calls; None for none."""
    price: tuple[float, float] | None = None
    """USD per million input and output tokens; None takes the price list, where the model is on it."""
    top_logprobs: int = 5
    """How many alternatives to ask for where a label is wanted; 0 asks for no logprobs."""
    max_prompt_tokens: int = 12_000
    """Longer conversations are shown in part (see agents/replies.py); a local model's own limit may be
    lower."""
    batch_size: int = 16
    """Prompts that a local model reads at once."""

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            UsageError: one of them makes no sense.
        """
        positive = {"max_tokens": self.max_tokens, "timeout": self.timeout, "batch_size": self.batch_size}
        positive |= {"max_prompt_tokens": self.max_prompt_tokens}
        if self.requests_per_second is not None:
            positive["requests_per_second"] = self.requests_per_second
        for name, value in positive.items():
            if not value > 0:
                raise UsageError(f"{name} must be above 0, not {value}")
        if self.temperature is not None and not 0 <= self.temperature <= 2:
            raise UsageError(f"temperature must be between 0 and 2, not {self.temperature}")
        if self.max_retries < 0:
            raise UsageError(f"max_retries must not be negative, and is {self.max_retries}")
        if not 0 <= self.top_logprobs <= 20:
            raise UsageError(f"top_logprobs must be between 0 and 20, not {self.top_logprobs}")
        if self.price is not None and (len(self.price) != 2 or not all(p >= 0 for p in self.price)):
            raise UsageError("a price is two numbers, USD per million input and output tokens")


class Model(Protocol):
    """A chat model, asked for one reply at a time; use one instance in one event loop."""

    name: str
    endpoint: str
    parameters: dict[str, Any]
    """All else that decides what is answered; part of the call's content address."""
    max_prompt_tokens: int
    max_tokens: int

    async def complete(self, messages: Sequence[Message], *, labels: tuple[str, ...] = (), sample: int = 0) -> Reply:
        """Ask for one reply.

        Args:
            messages: the conversation so far; the last message is the user's.
            labels: words of which the answer must be one. A local model then answers with the likeliest, with
                probabilities and without generating; an API is asked for token logprobs.
            sample: which of several samples of the same prompt this is.

        Raises:
            ModelError: this call failed for good.
            FatalModelError: every call would fail.
        """
        ...

    def count_text(self, text: str) -> int:
        """Tokens of a text: exact for a local model, an estimate else."""
        ...

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Tokens of a prompt: exact for a local model, an estimate else."""
        ...

    def cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """USD for these tokens; None if the price is not known."""
        ...

    async def close(self) -> None:
        """Give connections and threads back."""
        ...


@runtime_checkable
class KeepsPrefixes(Protocol):
    """A model in this process that can keep what it has read, so that growing prompts cost only what is new."""

    def keep_prefixes(self, conversations: int) -> AbstractContextManager[None]:
        """Within the block, keep what was read of the last so many conversations; let go of it afterwards."""
        ...


PRICES: dict[str, tuple[float, float]] = {
    "gpt-3.5-turbo": (0.50, 1.50),
    "gpt-4o": (2.50, 10.00),
    "gpt-4o-mini": (0.15, 0.60),
    "gpt-4.1": (2.00, 8.00),
    "gpt-4.1-mini": (0.40, 1.60),
    "gpt-4.1-nano": (0.10, 0.40),
    "gpt-5": (1.25, 10.00),
    "gpt-5-mini": (0.25, 2.00),
    "gpt-5-nano": (0.05, 0.40),
    "o3": (2.00, 8.00),
    "o4-mini": (1.10, 4.40),
}
"""OpenAI's list prices of September 2025, USD per million (input, output) tokens; prices move: see
ModelSettings.price."""

OPENAI = "https://api.openai.com/v1"


def price_of(settings: ModelSettings, endpoint: str) -> tuple[float, float] | None:
    """Find the price of an `openai:` model: the settings' own, or the list's where OpenAI itself is asked."""
    if settings.price is not None or endpoint != OPENAI:
        return settings.price
    name = settings.model.partition(":")[2]
    return PRICES.get(re.sub(r"-\d{4}-\d{2}-\d{2}$", "", name))  # a dated snapshot costs what its model costs


def estimate_tokens(text: str) -> int:
    """Estimate tokens without a tokenizer: four ASCII characters, or one other, are about one token."""
    ascii_characters = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return (ascii_characters + 3) // 4 + len(text) - ascii_characters


def canonical(value: Any) -> str:
    """JSON with one spelling for equal values."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def open_model(settings: ModelSettings, environ: Mapping[str, str] = os.environ) -> Model:
    """Open the chat model that a model string names; a local model is loaded here, which takes a while.

    Raises:
        UsageError: the string names no chat model, or the model's file or folder is not usable.
        FatalModelError: the API key is missing.
    """
    provider, _, name = settings.model.partition(":")
    if name and provider == "openai":
        from agents.openai_chat import OpenAIChat

        base_url = settings.base_url or environ.get("OPENAI_BASE_URL") or OPENAI
        key = environ.get("OPENAI_API_KEY")
        if not key and base_url == OPENAI:
            raise FatalModelError("set OPENAI_API_KEY, or give --base-url for a server that needs no key")
        return OpenAIChat(name, settings, base_url=base_url.rstrip("/"), api_key=key or "none")
    if name and provider == "hf":
        from agents.local_chat import LocalChat

        return LocalChat(name, settings)
    if name and provider == "scripted":
        from agents.scripted_chat import ScriptedChat

        return ScriptedChat(name, settings)
    if settings.model == "encoder":
        raise UsageError("encoder is no chat model; it is a verifier: --how encoder")
    hint = f" (did you mean openai:{settings.model}?)" if ":" not in settings.model else ""
    raise UsageError(f"no such model: {settings.model!r}{hint}; use openai:NAME, hf:PATH-OR-NAME or scripted:FILE")
