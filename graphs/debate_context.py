"""Who debates: what a batch brings, or a description that a caller of the graph gives."""

import os
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from agents.debate.debate import Debate
from agents.debate.scoring import StanceScorer
from agents.debate.settings import DebateSettings
from corpora.errors import UsageError
from corpora.labels import LABEL_SETS
from graphs.checked import Optional, checked
from graphs.context import usual_model
from graphs.hows import is_scorer, known
from graphs.open_once import OpenOnce, encoder, standing
from graphs.parts import Parts


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class DebateContext:
    """How a debate is held; what a caller of the graph may set, all of it optional but a model."""

    model: Annotated[
        Optional,
        Field(
            description="Who speaks in every role that names none: openai:NAME, hf:PATH-OR-NAME, scripted:FILE; "
            "if empty, the one that the server's HEARSAY_MODEL names"
        ),
    ] = None
    scorer_model: Annotated[
        Optional,
        Field(
            description="Who scores comments: a chat model, encoder for a stance classifier, or jsdrv:DIR for JSDRV's"
        ),
    ] = None
    debater_model: Annotated[Optional, Field(description="Who argues")] = None
    judge_model: Annotated[Optional, Field(description="Who judges where the debaters disagree")] = None
    base_url: Annotated[
        Optional,
        Field(description="Address of an OpenAI-compatible server; if empty, what OPENAI_BASE_URL says, or OpenAI"),
    ] = None
    temperature: Annotated[float, Field(description="Of every chat model", ge=0, le=2)] = 0.2
    labels: Annotated[
        str,
        Field(
            description="What is asked: the set of labels",
            json_schema_extra={"enum": [name for name, each in LABEL_SETS.items() if each.binary]},
        ),
    ] = "rumor/non-rumor"
    seed: Annotated[int, Field(description="Another seed draws other replies")] = 0
    k: Annotated[int, Field(description="Comments on each side at most", ge=1)] = 10
    rounds: Annotated[int, Field(description="How often each debater answers the other", ge=0, le=5)] = 2
    ablate: Annotated[Optional, Field(description="Leave out a part: stance, debate, subjective, non-subjective")] = (
        None
    )
    gate: Annotated[bool, Field(description="Debate only where the two initial opinions differ")] = False
    quarantine: Annotated[bool, Field(description="Debaters see only what the scorer made of the comments")] = False
    score_batch: Annotated[int, Field(description="Comments scored in one call", ge=1)] = 1

    _checked = checked()


async def debate_of(context: "DebateContext | Debate | None") -> Debate:
    """The debate a graph holds: a batch brings one, other callers describe it.

    Raises:
        UsageError: the description has no model, or cannot be met.
    """
    if isinstance(context, Debate):
        return context
    given = context or DebateContext()
    given = replace(given, model=given.model or usual_model())
    files = await standing(given.model, given.scorer_model, given.debater_model, given.judge_model)
    return await _debates((given, files))


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
        from graphs.jsdrv.networks import scorer_of

        scorer = scorer_of(Path(parts.debate.scorer.partition(":")[2]), parts)
    models = {role: parts.model(role) for role in ("scorer", "debater", "judge")}
    return Debate(
        parts.log, models, parts.prompts, parts.label_set, parts.debate, seed=parts.seed, stance_scorer=scorer
    )


def _open(context: DebateContext) -> Debate:
    if context.model is None:
        raise UsageError("a debate asks a chat model: set model, such as openai:gpt-4o-mini")
    from agents.call_log import CallLog
    from agents.models import ModelSettings
    from graphs.local_models import model_of

    names = {"": context.model, "scorer": context.scorer_model}
    names |= {"debater": context.debater_model, "judge": context.judge_model}
    for role, name in names.items():
        if name and is_scorer(name) and role != "scorer":
            field = f"{role}_model" if role else "model"
            raise UsageError(f"{field} {name}: only scorer_model may be; name a chat model")
    models = {
        role: model_of(ModelSettings(name, base_url=context.base_url, temperature=context.temperature))
        for role, name in names.items()
        if name and not is_scorer(name)
    }
    given = {field.name: getattr(context, field.name) for field in fields(DebateSettings) if field.name != "scorer"}
    scorer = context.scorer_model if context.scorer_model and is_scorer(context.scorer_model) else ""
    settings = DebateSettings(**given, scorer=scorer)
    labels = LABEL_SETS[known(context.labels, LABEL_SETS, "labels")]
    parts = Parts(labels, context.seed, (), CallLog(), models, debate=settings)
    if settings.scorer:
        parts = replace(parts, encoder=encoder())
    if settings.scorer == "encoder":
        from graphs.stances import stance_corpora

        parts = replace(parts, stance_threads=stance_corpora(os.environ))
    return make_debate(parts)


_debates = OpenOnce[tuple[DebateContext, Any], Debate](lambda key: _open(key[0]))
