"""Who debates: what a batch brings, or a description that a caller of the graph gives."""

import asyncio
import os
import threading
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from agents.debate.debate import Debate
from agents.debate.scoring import StanceScorer
from agents.debate.settings import DebateSettings
from corpora.errors import UsageError
from corpora.labels import LABEL_SETS
from graphs.hows import is_scorer, known
from graphs.parts import Parts


@dataclass(frozen=True, kw_only=True)
class DebateContext:
    """How a debate is held; what a caller of the graph may set, all of it optional but a model."""

    model: Annotated[
        str | None,
        Field(description="Who speaks in every role that names none: openai:NAME, hf:PATH-OR-NAME, scripted:FILE"),
    ] = None
    scorer_model: Annotated[
        str | None,
        Field(
            description="Who scores comments: a chat model, encoder for a stance classifier, or jsdrv:DIR for JSDRV's"
        ),
    ] = None
    debater_model: Annotated[str | None, Field(description="Who argues")] = None
    judge_model: Annotated[str | None, Field(description="Who judges where the debaters disagree")] = None
    base_url: Annotated[str | None, Field(description="Address of an OpenAI-compatible server")] = None
    temperature: Annotated[float, Field(description="Of every chat model", ge=0, le=2)] = 0.2
    labels: Annotated[str, Field(description="Label set: rumor/non-rumor, false/non-rumor, false/true")] = (
        "rumor/non-rumor"
    )
    seed: Annotated[int, Field(description="Another seed draws other replies")] = 0
    k: Annotated[int, Field(description="Comments on each side at most", ge=1)] = 10
    rounds: Annotated[int, Field(description="How often each debater answers the other", ge=0, le=5)] = 2
    ablate: Annotated[str | None, Field(description="Leave out a part: stance, debate, subjective, non-subjective")] = (
        None
    )
    gate: Annotated[bool, Field(description="Debate only where the two initial opinions differ")] = False
    quarantine: Annotated[bool, Field(description="Debaters see only what the scorer made of the comments")] = False
    score_batch: Annotated[int, Field(description="Comments scored in one call", ge=1)] = 1


async def debate_of(context: "DebateContext | Debate | None") -> Debate:
    """The debate a graph holds: a batch brings one, other callers describe it.

    Raises:
        UsageError: the description has no model, or cannot be met.
    """
    if isinstance(context, Debate):
        return context
    # Opening reads files and may fit a classifier, which an event loop must not wait for.
    return await asyncio.to_thread(_open_once, context or DebateContext())


def make_debate(parts: Parts) -> Debate:
    """The debate of a run.

    Raises:
        UsageError: the label set is not binary, a prompt file is not usable, or the scorer has nothing to learn from.
    """
    assert parts.log is not None
    scorer: StanceScorer | None = None
    if parts.debate.scorer == "encoder":
        from agents.debate.stance_scorer import stance_scorer

        assert parts.encoder is not None
        scorer = stance_scorer(parts.encoder, parts.stance_threads)
    elif parts.debate.scorer:
        from graphs.jsdrv_networks import scorer_of

        scorer = scorer_of(Path(parts.debate.scorer.partition(":")[2]), parts)
    models = {role: parts.model(role) for role in ("scorer", "debater", "judge")}
    return Debate(
        parts.log, models, parts.prompts, parts.label_set, parts.debate, seed=parts.seed, stance_scorer=scorer
    )


_one_at_a_time = threading.Lock()


def _open_once(context: DebateContext) -> Debate:
    with _one_at_a_time:  # two first requests must not both load a model
        return _open(context)


@lru_cache(maxsize=8)
def _open(context: DebateContext) -> Debate:
    if context.model is None:
        raise UsageError("a debate asks a chat model: set model, such as openai:gpt-4o-mini")
    from agents.call_log import CallLog
    from agents.models import ModelSettings, open_model

    names = {"": context.model, "scorer": context.scorer_model}
    names |= {"debater": context.debater_model, "judge": context.judge_model}
    for role, name in names.items():
        if name and is_scorer(name) and role != "scorer":
            field = f"{role}_model" if role else "model"
            raise UsageError(f"{field} {name}: only scorer_model may be; name a chat model")
    models = {
        role: open_model(ModelSettings(name, base_url=context.base_url, temperature=context.temperature))
        for role, name in names.items()
        if name and not is_scorer(name)
    }
    given = {field.name: getattr(context, field.name) for field in fields(DebateSettings) if field.name != "scorer"}
    scorer = context.scorer_model if context.scorer_model and is_scorer(context.scorer_model) else ""
    settings = DebateSettings(**given, scorer=scorer)
    labels = LABEL_SETS[known(context.labels, LABEL_SETS, "labels")]
    parts = Parts(labels, context.seed, (), CallLog(), models, debate=settings)
    if settings.scorer:
        from agents.encoder import Encoder
        from corpora.locate import cache_dir

        parts = replace(parts, encoder=Encoder(cache=cache_dir(os.environ)))
    if settings.scorer == "encoder":
        from graphs.stances import stance_corpora

        parts = replace(parts, stance_threads=stance_corpora(os.environ))
    return make_debate(parts)
