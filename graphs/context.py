"""What a graph is run with: a method that a batch brings, or a description that a caller gives."""

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as checked_dataclass

from agents.verdict import StopPolicy, Verifier
from corpora.errors import UsageError
from corpora.labels import LABEL_SETS
from graphs.checked import Optional, checked
from graphs.methods import (
    HOW,
    WHEN,
    When,
    check_policy,
    check_verifier,
    checkpoints,
    how_of,
    known,
    learns,
    learns_from_shots,
    names,
    open_policy,
    open_verifier,
)
from graphs.open_once import TRAINING, OpenOnce, encoder, standing
from graphs.parts import Parts
from graphs.prepare import Told, train_missing, with_threads
from graphs.telling import Telling

if TYPE_CHECKING:
    from agents.models import Model
    from graphs.stoppers import Judged


@dataclass(frozen=True)
class Method:
    """A stop policy and a verifier, ready to run."""

    policy: StopPolicy
    verifier: Verifier
    name: str = "the stop policy"
    """What the policy is called, for traces."""
    means: str = When.means
    """What is the case where it stops."""


@checked_dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Context:
    """How a conversation is judged; what a caller of the graphs may set, all of it optional."""

    when: Annotated[
        str,
        Field(
            description=f"Stop policy: {names(WHEN, without='oracle')}",
            examples=["all-posts", "posts:5", "confidence:0.8", "eard"],
        ),
    ] = "all-posts"
    how: Annotated[
        str,
        Field(description=f"Verifier: {names(HOW)}", examples=["encoder", "direct", "s2mad"]),
    ] = "encoder"
    model: Annotated[
        Optional,
        Field(
            description="Chat model of a verifier that asks one: openai:NAME, hf:PATH-OR-NAME, scripted:FILE; "
            "if empty, the one that the server's HEARSAY_MODEL names"
        ),
    ] = None
    network: Annotated[
        str, Field(description="What how jsdrv trains if it is not there: encoder, hf:PATH-OR-NAME or openai:NAME")
    ] = "encoder"
    base_url: Annotated[
        Optional,
        Field(description="Address of an OpenAI-compatible server; if empty, what OPENAI_BASE_URL says, or OpenAI"),
    ] = None
    labels: Annotated[
        str, Field(description="What is asked: the set of labels", json_schema_extra={"enum": [*LABEL_SETS]})
    ] = "rumor/non-rumor"
    train_on: Annotated[str, Field(description="Corpus that encoder, agents and baselines learn from")] = "sample"
    shots: Annotated[int, Field(description="How many of its threads", ge=0)] = 50
    seed: Annotated[int, Field(description="Which of them, and which comments vanilla draws", ge=0)] = 0

    _checked = checked()


async def method_of(context: "Context | Method | None") -> Method:
    """The method a graph runs: a batch brings one, other callers describe it, None means the defaults.

    Raises:
        UsageError: it cannot be what is described.
    """
    if isinstance(context, Method):
        return context
    given = context or Context()
    given = replace(given, model=given.model or usual_model())
    key = given, await standing(given.when, given.how, given.model, given.network, given.train_on)
    with _telling.heard(key):
        return await _methods(key)


def usual_model() -> str | None:
    """The chat model that is meant where a caller names none, as MCP and A2A clients never do."""
    return os.environ.get("HEARSAY_MODEL") or None


def _open(context: Context, tell: Callable[[str], None]) -> Method:
    how, when = check_verifier(context.how), check_policy(context.when, context.how)
    if len(checkpoints(context.when)) > 1:
        raise UsageError(f"when {context.when}: a graph stops once; lists of checkpoints are for eval.run")
    label_set = LABEL_SETS[known(context.labels, LABEL_SETS, "labels")]
    if how.asks_model and context.model is None:
        raise UsageError(f"how {context.how} asks a chat model: set model, such as openai:gpt-4o-mini")
    from agents.call_log import CallLog

    parts = Parts(label_set, context.seed, (), CallLog(), _models(context), how=context.how)
    parts = replace(parts, network=context.network, base_url=context.base_url)
    if how.reads_vectors or when.reads_vectors:
        parts = replace(parts, encoder=encoder())
    parts = with_threads(parts, context.when, context.train_on, shots=context.shots)
    if not (learns(context.when) or (learns_from_shots(context.how) and context.how != "encoder")):
        return _opened(context, parts)
    from rich.console import Console

    method, began = f"when {context.when}, how {context.how}", time.monotonic()
    console = Console(file=Told(tell), force_terminal=False, width=500)
    tell(f"{method}: learns from {len(parts.shots)} threads of {context.train_on}, where it has not before")
    with TRAINING:
        train_missing(parts, context.when, context.train_on, partial(_label, context, parts), console)
        opened = _opened(context, parts)
    tell(f"{method}: ready after {time.monotonic() - began:.0f} s")
    return opened


def _opened(context: Context, parts: Parts) -> Method:
    policy, means = open_policy(context.when, parts), check_policy(context.when).means
    return Method(policy, open_verifier(parts), context.when, means)


_telling = Telling()
_methods = OpenOnce[tuple[Context, Any], Method](lambda key: _open(key[0], partial(_telling.tell, key)))


def _models(context: Context) -> "dict[str, Model]":
    how = how_of(context.how)
    if not how.asks_model or context.model is None:
        return {}
    from agents.models import ModelSettings
    from graphs.local_models import model_of

    return {"": model_of(ModelSettings(context.model, base_url=context.base_url, temperature=how.temperature))}


def _label(context: Context, parts: Parts, done: Callable[[int], None], failures: list[str]) -> "Judged":
    """What the verifier says of the shots."""
    from agents.call_log import CallLog
    from graphs.stoppers import label_shots

    async def judged() -> "Judged":
        # A client belongs to the event loop in which it first answered; this one ends here, and so does the client.
        models = _models(context)
        asked = replace(parts, models=models, log=CallLog())
        found = await label_shots(asked, progress=done, failures=failures)
        for model in models.values():
            await model.close()
        return found

    return asyncio.run(judged())
