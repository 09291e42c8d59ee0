"""The call log: every question to a chat model goes through here, and equal ones are asked once, ever.

A call's address is the SHA-256 of the canonical JSON of [model name, endpoint, parameters, messages, labels,
sample].
  - Equal calls in flight share one request (single-flight); if it fails, all who wait get that error, and if
    one of them is cancelled the others still get the reply.
  - Replies stored by earlier runs (`known`) come back through `fetch`, many keys at a time.
  - Each use is recorded before its asker goes on, so a killed run loses nothing that was decided on.
  - A failed call is recorded with its error and never served as a reply.
A use served without a new request is recorded with cached = true: its tokens tell what the method reads, its
cost is 0.
"""

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from agents.budget import Budget
from agents.models import FatalModelError, Message, Model, ModelError, Reply, canonical
from agents.stored_replies import Fetch, StoredReplies, reply_content
from agents.totals import Totals

REMEMBERED = 100_000
"""Replies kept in memory."""
LABEL_TOKENS = 4
"""Output tokens that --dry-run expects of a one-word answer."""


@dataclass(frozen=True, slots=True)
class _Question:
    """One use of the log, and where it is accounted for."""

    key: str
    model: Model
    messages: Sequence[Message]
    labels: tuple[str, ...]
    sample: int
    role: str
    thread_id: str
    prompt_sha256: str


def address(model: Model, messages: Sequence[Message], labels: tuple[str, ...] = (), sample: int = 0) -> str:
    """The content address of a call: 64 hexadecimal digits."""
    content = [model.name, model.endpoint, model.parameters, messages, labels, sample]
    return hashlib.sha256(canonical(content).encode("utf-8", "surrogatepass")).hexdigest()


class CallLog:
    """Asks models, remembers what they said, and counts. One instance serves one event loop."""

    def __init__(
        self,
        *,
        known: set[str] | None = None,
        fetch: Fetch | None = None,
        record: Callable[[dict[str, Any]], None] | None = None,
        budget: Budget | None = None,
        dry_run: bool = False,
        run_id: str = "",
        models: Iterable[Model] = (),
        at_once: int = 32,
    ):
        """Start a log.

        Args:
            known: addresses of calls whose replies `fetch` can bring.
            fetch: addresses -> rows of the `calls` table, those that it finds.
            record: takes one row of the `calls` table, as a dict of its columns; called once a use.
            budget: USD that this log may spend, with others where they share it; a call that might go over it is
                refused before it is made. None: no limit.
            dry_run: count calls, tokens and cost, and answer with an empty text; nothing is asked or
                recorded.
            run_id: what the rows are recorded under.
            models: the models that will be asked, where known: checked for a price if there is a limit.
            at_once: new calls under way at most; a debate asks many for one thread.

        Raises:
            UsageError: there is a limit and a model's price is not known.
        """
        self.known = known if known is not None else set()
        self.totals = Totals()
        self.run_id, self.dry_run = run_id, dry_run
        self._stored = StoredReplies(fetch) if fetch else None
        self._record = record
        self._replies: dict[str, Reply] = {}
        self._flights: dict[str, asyncio.Future[Reply | None]] = {}
        self._budget = budget or Budget(None)
        self._slots = asyncio.Semaphore(at_once)
        self._fatal: FatalModelError | None = None
        for model in models:
            self._budget.most(model, [])

    async def ask(
        self,
        model: Model,
        messages: Sequence[Message],
        *,
        role: str,
        thread_id: str,
        prompt_sha256: str,
        labels: tuple[str, ...] = (),
        sample: int = 0,
    ) -> Reply:
        """Return the model's reply: remembered, stored, in flight, or asked for now.

        Raises:
            ModelError: this call failed for good.
            FatalModelError: no call can succeed.
            BudgetExceeded: the call might cost more than is left.
        """
        key = address(model, messages, labels, sample)
        question = _Question(key, model, messages, labels, sample, role, thread_id, prompt_sha256)
        if self.dry_run:
            return self._count(question)
        reply = self._replies.get(key)
        if reply is None and self._stored and key in self.known and key not in self._flights:
            reply = await self._stored.get(key)
            if reply is not None:
                self._remember(key, reply)
        while reply is None:
            flight = self._flights.get(key)
            if flight is None and self._flights and not self._budget.fits(self._budget.most(model, messages)):
                # the calls under way will give back what they do not use of their reservations
                await asyncio.wait(self._flights.values(), return_when=asyncio.FIRST_COMPLETED)
                reply = self._replies.get(key)
                continue
            if flight is None:
                return await self._call(question)
            try:
                reply = await asyncio.shield(flight)
            except (ModelError, FatalModelError) as error:
                self._use(question, None, cached=True, error=str(error))
                raise
        self._use(question, reply, cached=True)
        return reply

    async def _call(self, question: _Question) -> Reply:
        """Make a new call; it runs in the task of who asks first, and others wait for its future."""
        model, key = question.model, question.key
        reserved = self._budget.most(model, question.messages)
        self._budget.reserve(reserved)
        flight: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()
        self._flights[key] = flight
        started = time.perf_counter()
        self.totals.calls += 1
        try:
            async with self._slots:
                if self._fatal:
                    raise self._fatal  # a debate's other calls, which waited for their turn, need not fail one by one
                started = time.perf_counter()
                reply = await model.complete(question.messages, labels=question.labels, sample=question.sample)
        except (ModelError, FatalModelError) as error:
            if isinstance(error, FatalModelError):
                self._fatal = error
            flight.set_exception(error)
            flight.exception()  # looked at, in case nobody waits
            self.totals.failed += 1
            self._use(question, None, cached=False, error=str(error), seconds=time.perf_counter() - started)
            raise
        except BaseException:
            flight.set_result(None)  # cancelled: whoever waits asks again
            raise
        finally:
            del self._flights[key]
            self._budget.release(reserved)
            if not self._flights:
                self._fatal = None  # whoever asks from now on may find it put right
        self._remember(key, reply)
        flight.set_result(reply)
        cost = self._use(question, reply, cached=False)
        # an endpoint that tells no tokens must not spend for nothing: what it may have cost at most counts
        self._budget.spent += reserved if cost is None else cost
        return reply

    def _remember(self, key: str, reply: Reply) -> None:
        """Keep a reply in memory, and let the oldest go where there are too many: a server's log has no end."""
        self._replies[key] = reply
        if len(self._replies) > REMEMBERED:
            oldest = next(iter(self._replies))
            del self._replies[oldest]
            if self._stored:
                self.known.add(oldest)  # it is stored, if anything is

    def _count(self, question: _Question) -> Reply:
        """A dry run's use of the log."""
        input_tokens = question.model.count_tokens(question.messages)
        if question.key in self._replies or question.key in self.known:
            self.totals.cached += 1
            self.totals.remembered_tokens += input_tokens
            return Reply("")
        self._replies[question.key] = reply = Reply("")
        output_tokens = LABEL_TOKENS if question.labels else question.model.max_tokens
        self.totals.calls += 1
        self._add(question.model, input_tokens, output_tokens)
        return reply

    def _add(self, model: Model, input_tokens: int | None, output_tokens: int | None) -> float | None:
        """Add a new call's tokens to the totals; return its cost, None if that is not known."""
        known = input_tokens is not None and output_tokens is not None
        cost = model.cost(input_tokens or 0, output_tokens or 0) if known else None
        self.totals.input_tokens += input_tokens or 0
        self.totals.output_tokens += output_tokens or 0
        self.totals.cost += cost or 0.0
        self.totals.unpriced += cost is None
        return cost

    def _use(
        self,
        question: _Question,
        reply: Reply | None,
        *,
        cached: bool,
        error: str | None = None,
        seconds: float = 0.0,
    ) -> float | None:
        """Count and record one use; return its cost, None if that is not known."""
        cost: float | None = 0.0
        if cached:
            self.totals.cached += error is None
            self.totals.remembered_tokens += (reply and reply.input_tokens) or 0
        elif reply is not None:
            cost = self._add(question.model, reply.input_tokens, reply.output_tokens)
            self.totals.cached_tokens += min(reply.cached_tokens or 0, reply.input_tokens or 0)
            seconds = reply.seconds
        if self._record is None:
            return cost
        self._record(
            {
                "run_id": self.run_id,
                "thread_id": question.thread_id,
                "key": question.key,
                "cached": cached,
                "role": question.role,
                "model": question.model.name,
                "endpoint": question.model.endpoint,
                "parameters": question.model.parameters,
                "prompt_sha256": question.prompt_sha256,
                "request": None if cached else list(question.messages),
                "reply": None if cached or reply is None else reply_content(reply),
                "input_tokens": reply and reply.input_tokens,
                "output_tokens": reply and reply.output_tokens,
                "cost": cost,
                "seconds": seconds,
                "created": datetime.now(UTC).isoformat(),
                "error": error,
            }
        )
        return cost
