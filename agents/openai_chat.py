"""`openai:NAME`: OpenAI, or any server that speaks its chat completions, through langchain-openai.

langchain_openai's ChatOpenAI builds the client and the request, and knows what each model family wants in it.
The request is then sent by that client directly: `ainvoke` adds a thread hop, a pydantic copy of the answer
and callbacks to every call. Against a stub on loopback with 32 connections, in one run on two cores: bare
`openai` loop 650 calls/s, `ainvoke` 400, `_agenerate` 515, this way 1,000. Retries, Retry-After and timeouts
are the openai client's own. The rule for errors is in agents/models.py.
"""

import asyncio
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import openai
from langchain_core.messages import HumanMessage
from langchain_core.rate_limiters import InMemoryRateLimiter
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from agents.likelihood import from_token_logprobs
from agents.models import (
    FatalModelError,
    Message,
    ModelError,
    ModelSettings,
    Reply,
    estimate_tokens,
    price_of,
)
from agents.replies import shorten
from corpora.errors import UsageError

MAX_REPLY = 500_000
"""Characters of a reply; a server that sends more is broken, and must not fill the disk."""


class OpenAIChat:
    """A model behind an OpenAI-compatible endpoint."""

    def __init__(self, name: str, settings: ModelSettings, *, base_url: str, api_key: str):
        url = urlsplit(base_url)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise UsageError(f"--base-url must be an address such as http://localhost:8000/v1, not {base_url!r}")
        self.name = f"openai:{name}"
        # what is stored beside every call: never the user and password that an address may carry
        self.endpoint = url._replace(netloc=url.netloc.rpartition("@")[2], query="").geturl()
        self.parameters: dict[str, Any] = {
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
            "top_logprobs": settings.top_logprobs,
        }
        self.max_prompt_tokens, self.max_tokens = settings.max_prompt_tokens, settings.max_tokens
        self._price = price_of(settings, base_url)
        # servers other than OpenAI's may not know the newer name of this limit, and ignore it
        own = base_url == "https://api.openai.com/v1"
        limit = {"max_tokens": settings.max_tokens} if own else {"extra_body": {"max_tokens": settings.max_tokens}}
        self.chat = ChatOpenAI(
            model=name,
            base_url=base_url,
            api_key=SecretStr(api_key),
            temperature=settings.temperature,
            timeout=settings.timeout,
            max_retries=settings.max_retries,
            use_responses_api=False,
            http_async_client=openai.DefaultAsyncHttpxClient(),  # the default is shared by event loops
            **limit,
        )
        self._client: openai.AsyncOpenAI = self.chat.root_async_client
        self._body = self.chat._get_request_payload([HumanMessage("")])
        self._body |= self._body.pop("extra_body", {})
        self._logprobs = {"logprobs": True, "top_logprobs": settings.top_logprobs} if settings.top_logprobs else {}
        self._logprobs_accepted = False
        self._reached = False
        self._reaching = asyncio.Lock()
        self._limiter = None
        if rate := settings.requests_per_second:
            self._limiter = InMemoryRateLimiter(
                requests_per_second=rate,
                check_every_n_seconds=min(0.1, 0.5 / rate),
                max_bucket_size=max(1, rate / 2),
            )

    async def complete(self, messages: Sequence[Message], *, labels: tuple[str, ...] = (), sample: int = 0) -> Reply:
        """Ask for one reply; see agents.models.Model."""
        if not self._reached:
            await self._reach()
        if self._limiter is not None:
            await self._limiter.aacquire()
        started = time.perf_counter()
        try:
            answer = await self._post(messages, with_logprobs=bool(labels and self._logprobs))
        except openai.APIError as error:
            raise _translated(error, self.endpoint) from error
        except ValueError as error:  # a body that says it is JSON, and is not
            raise ModelError(f"{self.endpoint} sent no JSON: {error}") from error
        return _read(answer, labels, self.max_tokens, time.perf_counter() - started)

    async def _post(self, messages: Sequence[Message], *, with_logprobs: bool) -> Any:
        """Send one request. An endpoint that refuses logprobs is asked without them, now and from then on."""
        body = self._body | {"messages": messages}
        if not with_logprobs:
            return await self._client.post("/chat/completions", body=body, cast_to=object)
        try:
            answer = await self._client.post("/chat/completions", body=body | self._logprobs, cast_to=object)
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            # some servers do not say what they refuse; once logprobs were accepted, it is something else
            if self._logprobs_accepted and "logprob" not in error.message.lower():
                raise
            answer = await self._client.post("/chat/completions", body=body, cast_to=object)
            self._logprobs = {}
        else:
            self._logprobs_accepted = True
        return answer

    async def _reach(self) -> None:
        """Before the first call, ask once without retries whether anybody is there.

        Raises:
            FatalModelError: nobody listens at the endpoint.
        """
        async with self._reaching:
            if self._reached:
                return
            try:
                await self._client.with_options(max_retries=0).get("/models", cast_to=object)
            except openai.APITimeoutError:
                pass  # slow is not absent: the call itself decides
            except openai.APIConnectionError as error:
                if "Connect" in type(error.__cause__).__name__:  # not: cut while it answered
                    raise FatalModelError(f"cannot connect to {self.endpoint}: {error.__cause__}") from error
            except (openai.OpenAIError, ValueError):
                pass  # any answer at all is an answer
            self._reached = True

    def count_text(self, text: str) -> int:
        """Estimate the tokens of a text."""
        return estimate_tokens(text)

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Estimate the tokens of a prompt: its texts and a few for each message's frame."""
        return sum(estimate_tokens(message["content"]) + 4 for message in messages)

    def cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """USD at the list price, without discounts for cached prompts; None if the price is not known."""
        if self._price is None:
            return None
        return (input_tokens * self._price[0] + output_tokens * self._price[1]) / 1e6

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _translated(error: openai.APIError, endpoint: str) -> ModelError | FatalModelError:
    """The rule for errors (agents/models.py), once the client has given up."""
    if isinstance(error, openai.APIStatusError):
        status = error.status_code
        text = shorten(error.message.removeprefix(f"Error code: {status} - "))
        if status in (401, 403, 404) or error.code == "insufficient_quota":
            return FatalModelError(f"{endpoint} answers {status}: {text}")
        return ModelError(f"{status}: {text}")
    cause = f" ({shorten(repr(error.__cause__))})" if error.__cause__ else ""
    return ModelError(shorten(error.message) + cause)


def _read(answer: Any, labels: tuple[str, ...], max_tokens: int, seconds: float) -> Reply:
    """Take the reply out of a chat completion, which may be anything.

    Raises:
        ModelError: it is no chat completion.
    """
    try:
        choice = answer["choices"][0]
        content = choice["message"].get("content")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ModelError(f"no chat completion: {shorten(str(answer))}") from None
    if isinstance(content, list):  # content parts, as some servers send them
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    if isinstance(content, str) and len(content) > MAX_REPLY:
        raise ModelError(f"a reply of {len(content):,} characters; {MAX_REPLY:,} are the most that is read")
    usage = answer.get("usage")
    cut = choice.get("finish_reason") == "length"
    probabilities = None
    # of a reply that was cut, the label that counts may not be the one whose token would be looked at
    if labels and not cut and isinstance(logprobs := choice.get("logprobs"), dict):
        probabilities = from_token_logprobs(logprobs.get("content"), labels)
    return Reply(
        text=_sound(content),
        label_probabilities=probabilities,
        probability_method="logprobs" if probabilities else None,
        input_tokens=_count(usage, "prompt_tokens"),
        output_tokens=_count(usage, "completion_tokens"),
        seconds=seconds,
        cached_tokens=_count(usage.get("prompt_tokens_details"), "cached_tokens") if isinstance(usage, dict) else None,
        cut=max_tokens if cut else None,
    )


def _sound(text: Any) -> str:
    """Text that can be stored: JSON may carry half a surrogate pair, UTF-8 may not."""
    return text.encode("utf-8", "replace").decode("utf-8") if isinstance(text, str) else ""


def _count(usage: Any, name: str) -> int | None:
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and value >= 0 else None
