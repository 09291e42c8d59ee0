"""What a graph is run with: a method that a batch brings, or a description that a caller gives."""

import asyncio
import os
import threading
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from agents.verdict import StopPolicy, Verifier
from corpora.errors import UsageError
from corpora.labels import LABEL_SETS, LabelSet
from graphs.methods import (
    check_policy,
    check_verifier,
    checkpoints,
    how_of,
    known,
    learns,
    learns_from_shots,
    open_policy,
    open_verifier,
)
from graphs.parts import Parts

if TYPE_CHECKING:
    from agents.models import Model


ONCE_FOR_EARD = (
    "when eard is taught by a verifier that has not seen the shots, and JSDRV learns from just these: train its "
    "networks once, and name their folder, as in how jsdrv:DIR"
)


@dataclass(frozen=True)
class Method:
    """A stop policy and a verifier, ready to run."""

    policy: StopPolicy
    verifier: Verifier


@dataclass(frozen=True, kw_only=True)
class Context:
    """How a conversation is judged; what a caller of the graphs may set, all of it optional."""

    when: Annotated[
        str,
        Field(
            description="Stop policy: first-post, all-posts, posts:N, hours:H, confidence:T, eard, eard:DIR, ced, ..."
        ),
    ] = "all-posts"
    how: Annotated[str, Field(description="Verifier: encoder, direct, vanilla, s2mad, jsdrv, jsdrv:DIR, ...")] = (
        "encoder"
    )
    model: Annotated[
        str | None,
        Field(description="Chat model of direct, vanilla and s2mad: openai:NAME, hf:PATH-OR-NAME, scripted:FILE"),
    ] = None
    network: Annotated[
        str, Field(description="What how jsdrv trains if it is not there: encoder, hf:PATH-OR-NAME or openai:NAME")
    ] = "encoder"
    base_url: Annotated[str | None, Field(description="Address of an OpenAI-compatible server")] = None
    labels: Annotated[str, Field(description="Label set: rumor/non-rumor, false/non-rumor, false/true, veracity")] = (
        "rumor/non-rumor"
    )
    train_on: Annotated[str, Field(description="Corpus that encoder, agents and baselines learn from")] = "sample"
    shots: Annotated[int, Field(description="How many of its threads", ge=0)] = 100
    seed: Annotated[int, Field(description="Which of them, and which comments vanilla draws")] = 0


async def method_of(context: "Context | Method | None") -> Method:
    """The method a graph runs: a batch brings one, other callers describe it, None means the defaults."""
    if isinstance(context, Method):
        return context
    # Opening reads files, fits and trains, which an event loop must not wait for.
    return await asyncio.to_thread(_open_once, context or Context())


_one_at_a_time = threading.Lock()


def _open_once(context: Context) -> Method:
    with _one_at_a_time:  # two first requests must not both label and train
        return _open(context)


@lru_cache(maxsize=8)
def _open(context: Context) -> Method:
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
        from agents.encoder import Encoder
        from corpora.locate import cache_dir

        parts = replace(parts, encoder=Encoder(cache=cache_dir(os.environ)))
    if learns_from_shots(context.how) or learns(context.when) or context.when.startswith("random"):
        parts = replace(parts, **_training_threads(context, label_set))
    if context.how == "jsdrv":
        _train_networks(context, parts)
    if context.when == "eard":
        _train(context, parts)
    return Method(open_policy(context.when, parts), open_verifier(parts))


def _training_threads(context: Context, label_set: LabelSet) -> dict[str, Any]:
    import numpy as np

    from corpora.catalog import load
    from corpora.splits import few_shot

    threads = [thread for thread in load(context.train_on, environ=os.environ).threads if label_set.of(thread)]
    pool = 100 if learns(context.when) else len(threads) if context.how == "jsdrv" else 0
    (fold,) = few_shot(threads, label_set.of, shots=context.shots, pool=pool, rng=np.random.default_rng(context.seed))
    return {"shots": fold.shots, "pool": fold.pool}


def _models(context: Context) -> "dict[str, Model]":
    how = how_of(context.how)
    if not how.asks_model or context.model is None:
        return {}
    from agents.models import ModelSettings, open_model

    return {"": open_model(ModelSettings(context.model, base_url=context.base_url, temperature=how.temperature))}


def _train_networks(context: Context, parts: Parts) -> None:
    """Train JSDRV's networks if they are not there: minutes, once."""
    from graphs import jsdrv_networks

    if context.when == "eard":
        raise UsageError(ONCE_FOR_EARD)
    if jsdrv_networks.missing(parts):
        jsdrv_networks.train(parts, None)


def _train(context: Context, parts: Parts) -> None:
    """Train the stopping agent if it is not there: a minute, once."""
    from agents.call_log import CallLog
    from graphs.stoppers import Judged, folder, label_shots, missing, needed_texts, task_of
    from training.workers import train_all

    if not missing(parts):
        return
    if not parts.pool:
        raise UsageError(f"{context.train_on} has no unlabelled threads left for the stopping agent: set fewer shots")
    assert parts.encoder is not None
    parts.encoder.warm(needed_texts(parts))

    async def judged() -> Judged:
        # A client belongs to the event loop in which it first answered; this one ends here, and so does the client.
        models = _models(context)
        failures: list[str] = []
        found = await label_shots(replace(parts, models=models, log=CallLog()), failures=failures)
        for model in models.values():
            await model.close()
        if failures:
            raise UsageError(f"the model could not be asked while the stopping agent was prepared: {failures[0]}")
        return found

    train_all({folder(parts): task_of(parts, asyncio.run(judged()))})
