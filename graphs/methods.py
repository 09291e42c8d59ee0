"""The one table of names: every *when*, every *how*, and the published methods that are pairs of them.

Adding one is a file in `agents/stopping/` or `agents/verifiers/` (or `graphs/`, if it is a machine) and a line here.
What a name needs is imported when it is opened, so that listing names costs nothing.
"""

import asyncio
import difflib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from agents.verdict import StopPolicy, Verifier
from corpora.errors import UsageError
from corpora.labels import LABEL_SETS, LabelSet
from corpora.thread import ClaimThread

if TYPE_CHECKING:
    from agents.call_log import CallLog
    from agents.encoder import Encoder
    from agents.models import Model


@dataclass(frozen=True)
class Pair:
    """A published method: when it decides and how."""

    when: str
    how: str
    about: str
    split: str = "few-shot"
    """How its paper divides a corpus (see eval.config.SPLITS)."""


METHODS = {
    "encoder": Pair("posts:1,all", "encoder", "sentence vectors + logistic regression; needs no model"),
    "first-post": Pair("first-post", "direct", "one question on the source post (EARD, Table 1)"),
    "preset-hours": Pair("hours:1,6,12,24,36", "direct", "one question at preset times (EARD, section 4)"),
    "vanilla": Pair("all-posts", "vanilla", "one question on 40 random comments (S2MAD, Table 1)", "all"),
}


@dataclass(frozen=True)
class Parts:
    """What verifiers are made from; each takes what it needs."""

    label_set: LabelSet
    seed: int = 0
    shots: Sequence[ClaimThread] = ()
    """Labelled threads to learn from."""
    log: "CallLog | None" = None
    models: "Mapping[str, Model]" = field(default_factory=dict)
    """Role -> model; "" is the one for every role that names none."""
    encoder: "Encoder | None" = None
    prompts: Path | None = None
    samples: int = 1

    def model(self, role: str) -> "Model":
        """The model that speaks in a role."""
        return self.models.get(role) or self.models[""]


def _encoder(parts: Parts) -> Verifier:
    from agents.verifiers.encoder import encoder_verifier

    assert parts.encoder is not None
    labels = [parts.label_set.of(shot) for shot in parts.shots]
    return encoder_verifier(parts.encoder, parts.shots, [label for label in labels if label])


def _direct(parts: Parts) -> Verifier:
    from agents.verifiers.direct import direct

    assert parts.log is not None
    return direct(parts.log, parts.model("detector"), parts.prompts, parts.label_set, samples=parts.samples)


def _vanilla(parts: Parts) -> Verifier:
    from agents.verifiers.vanilla import vanilla

    assert parts.log is not None
    model = parts.model("detector")
    return vanilla(parts.log, model, parts.prompts, parts.label_set, seed=parts.seed, samples=parts.samples)


@dataclass(frozen=True)
class How:
    """A verifier's entry in the table."""

    open: Callable[[Parts], Verifier]
    about: str
    asks_model: bool = True
    """Whether it calls a chat model."""
    reads_vectors: bool = False
    """Whether it needs the sentence encoder, and labelled shots to fit on."""
    prompts: tuple[str, ...] = ()
    """Names of the prompts it shows."""


HOW = {
    "encoder": How(_encoder, "MiniLM vectors + logistic regression on the shots", asks_model=False, reads_vectors=True),
    "direct": How(_direct, "one Yes/No question on the posts read (EARD)", prompts=("direct",)),
    "vanilla": How(_vanilla, "one Fake/Real question on 40 random comments (S2MAD)", prompts=("vanilla",)),
}


def _after_posts(argument: str) -> StopPolicy:
    from agents.stopping.fixed import after_posts

    return after_posts(argument)


def _after_hours(argument: str) -> StopPolicy:
    from agents.stopping.fixed import after_hours

    return after_hours(argument)


WHEN: dict[str, Callable[[str], StopPolicy]] = {
    "first-post": lambda _: _after_posts("1"),
    "all-posts": lambda _: _after_posts("all"),
    "posts": _after_posts,
    "hours": _after_hours,
}
"""Name, or name before a colon -> the policy for what stands after it."""


def checkpoints(when: str) -> list[str]:
    """Split a list of stop policies (`hours:1,6,12`) into single ones (`hours:1`, `hours:6`, `hours:12`)."""
    name, colon, arguments = when.partition(":")
    return [f"{name}:{argument.strip()}" for argument in arguments.split(",")] if colon else [when]


def open_policy(when: str) -> StopPolicy:
    """The stop policy of one name.

    Raises:
        UsageError: no such policy, or not such an argument.
    """
    name, colon, argument = when.partition(":")
    known(name, WHEN, "--when")
    if bool(colon) != (name in ("posts", "hours")):
        raise UsageError(f"--when {when}: want first-post, all-posts, posts:N or hours:H, or lists of N and H")
    return WHEN[name](argument)


def known(name: str, table: Iterable[str], what: str) -> str:
    """The name itself, if the table has it.

    Raises:
        UsageError: it has not; the nearest name is suggested.
    """
    names = sorted(table)
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, 1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise UsageError(f"{what} {name} is unknown; {hint}There are: {', '.join(names)}")


@dataclass(frozen=True)
class Method:
    """A stop policy and a verifier, ready to run."""

    policy: StopPolicy
    verifier: Verifier


@dataclass(frozen=True, kw_only=True)
class Context:
    """How a conversation is judged; what a caller of the graphs may set, all of it optional."""

    when: Annotated[str, Field(description="Stop policy: first-post, all-posts, posts:N, hours:H")] = "all-posts"
    how: Annotated[str, Field(description="Verifier: encoder, direct, vanilla")] = "encoder"
    model: Annotated[
        str | None,
        Field(description="Chat model of direct and vanilla: openai:NAME, hf:PATH-OR-NAME, scripted:FILE"),
    ] = None
    base_url: Annotated[str | None, Field(description="Address of an OpenAI-compatible server")] = None
    labels: Annotated[str, Field(description="Label set: rumor/non-rumor, false/non-rumor, veracity")] = (
        "rumor/non-rumor"
    )
    train_on: Annotated[str, Field(description="Corpus that the encoder learns from")] = "sample"
    shots: Annotated[int, Field(description="How many of its threads", ge=0)] = 100
    seed: Annotated[int, Field(description="Which of them, and which comments vanilla draws")] = 0


async def method_of(context: "Context | Method | None") -> Method:
    """The method a graph runs: a batch brings one, other callers describe it, None means the defaults."""
    if isinstance(context, Method):
        return context
    # Opening reads files and fits a classifier, which an event loop must not wait for.
    return await asyncio.to_thread(_open, context or Context())


@lru_cache(maxsize=8)
def _open(context: Context) -> Method:
    how = HOW[known(context.how, HOW, "how")]
    if len(checkpoints(context.when)) > 1:
        raise UsageError(f"when {context.when}: a graph stops once; lists of checkpoints are for eval.run")
    label_set = LABEL_SETS[known(context.labels, LABEL_SETS, "labels")]
    policy = open_policy(context.when)
    models: dict[str, Model] = {}
    if how.asks_model:
        from agents.models import ModelSettings, open_model

        if context.model is None:
            raise UsageError(f"how {context.how} asks a chat model: set model, such as openai:gpt-4o-mini")
        models[""] = open_model(ModelSettings(context.model, base_url=context.base_url))
    shots: Sequence[ClaimThread] = ()
    encoder = None
    if how.reads_vectors:
        import numpy as np

        from agents.encoder import Encoder
        from corpora.catalog import load
        from corpora.locate import cache_dir
        from corpora.splits import few_shot

        encoder = Encoder(cache=cache_dir(os.environ))
        threads = [thread for thread in load(context.train_on, environ=os.environ).threads if label_set.of(thread)]
        (fold,) = few_shot(threads, label_set.of, shots=context.shots, pool=0, rng=np.random.default_rng(context.seed))
        shots = fold.shots
    from agents.call_log import CallLog

    parts = Parts(label_set, context.seed, shots, CallLog(), models, encoder)
    return Method(policy, how.open(parts))
