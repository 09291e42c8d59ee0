"""The studies of EARD: which runs each of them sets side by side. Runs are ordinary ones, and studies share them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from corpora.errors import UsageError
from eval.config import RunConfig
from graphs.methods import HOW

Kind = Literal["agent", "audit", "baseline", "debate", "jsdrv", "rule"]

BASELINES = {"CED": "ced", "ERD": "erd", "HEARD": "heard"}
VARIANTS: dict[str, tuple[str, ...]] = {"EARD": (), "EARD, steady": ("steady",)}
"""Each with its own row and its own audits in the table: name -> settings of the agent, as --stopper takes them."""
HOURS = (1.0, 6.0, 12.0, 24.0, 36.0)
SHOTS = (10, 20, 30, 40, 50)
ALPHAS = (0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
TRAIN_ON = ("pheme", "twitter15")
THRESHOLDS = (0.6, 0.7, 0.8, 0.9)
THRESHOLD = 0.7
"""Where a study has room for one."""
SHUFFLED, NONE = "shuffled experts", "no experts"

_PAPER_ALPHA = 0.7  # Table 3's, and so the agent's own default: the same run with or without its being named
_OF_MODEL = (
    "model", "base_url", "temperature", "max_tokens", "samples", "prompts", "debate", "scorer_model", "debater_model",
    "judge_model", "token_budget", "network", "jsdrv", "examples",
)  # fmt: skip
_OF_AGENT = {"alpha", "beta", "gamma"}


@dataclass(frozen=True)
class Row:
    """One row of a study: a run, or one checkpoint of one."""

    label: str
    config: RunConfig
    kind: Kind
    system: str
    """What it is a point or a bar of; rows of one system are drawn as one."""
    checkpoint: str | None = None
    x: float | None = None
    """What the study varies, where that is a number."""
    group: str = ""
    """Where the shots come from, in the study across corpora; the model, in that of the debate; in JSDRV's, whether
    threads of the tested corpus are left out of them."""
    of: str = ""
    """An audit's agent. A random stop waits for that row, since it is to have the same ER."""
    random: bool = False


def varied(name: str) -> UsageError:
    """What is said of an option that is not the user's in a study."""
    return UsageError(f"--{name} is what a study varies: leave it out")


def plain(base: RunConfig, when: str) -> RunConfig:
    """A stop policy that is not the agent, with the base's verifier."""
    return replace(base, when=when, stopper=())


def of_no_model(base: RunConfig, **changes: Any) -> RunConfig:
    """The same, with changes, without a chat model and all that is asked of one."""
    standard = RunConfig()
    defaults = {field: getattr(standard, field) for field in _OF_MODEL}
    return replace(base, **{**defaults, **changes})


def published(base: RunConfig, name: str) -> RunConfig:
    """A baseline with the classifier that is its own: nothing of the base's verifier or model applies to it."""
    return of_no_model(base, when=name, how=name, stopper=())


def agent(base: RunConfig, settings: Sequence[str] = ()) -> RunConfig:
    """The learned stop policy with the base's verifier; a row's settings go before the command line's."""
    names = [each.partition("=")[0] for each in settings]
    given = [each for each in base.stopper if each.partition("=")[0] not in names]
    return replace(base, when="eard", stopper=(*given, *settings))


def _ends(base: RunConfig, x: float | None = None, group: str = "", suffix: str = "") -> list[Row]:
    """First post and all posts: two checkpoints of the run that is `eval.run`'s plainest."""
    config = plain(base, "posts:1,all")
    names = {"first post": "posts:1", "all posts": "posts:all"}
    return [Row(name + suffix, config, "rule", name, checkpoint, x, group) for name, checkpoint in names.items()]


def _baselines(base: RunConfig, group: str = "", suffix: str = "") -> list[Row]:
    return [
        Row(system + suffix, published(base, name), "baseline", system, group=group)
        for system, name in BASELINES.items()
    ]


def _clock(base: RunConfig, hours: Sequence[float]) -> list[Row]:
    config = plain(base, f"hours:{','.join(f'{hour:g}' for hour in hours)}")
    several = len(hours) > 1
    return [
        Row(f"{hour:g} h", config, "rule", "preset hours", f"hours:{hour:g}" if several else None, hour)
        for hour in hours
    ]


def _confidence(base: RunConfig) -> list[Row]:
    """The rule to beat, at all thresholds; none where the verifier gives no probabilities."""
    if not HOW[base.how].gives_probabilities:
        return []
    config = plain(base, f"confidence:{','.join(map(str, THRESHOLDS))}")
    return [
        Row(f"confidence {value:g}", config, "rule", "confidence", f"confidence:{value}", value) for value in THRESHOLDS
    ]


def _sure(base: RunConfig, x: float | None = None, group: str = "", suffix: str = "") -> list[Row]:
    """The rule to beat, at one threshold; none where the verifier gives no probabilities."""
    if not HOW[base.how].gives_probabilities:
        return []
    config = plain(base, f"confidence:{THRESHOLD}")
    return [Row(f"confidence {THRESHOLD}{suffix}", config, "rule", "confidence", x=x, group=group)]


def table(base: RunConfig, variants: Mapping[str, Sequence[str]], hours: Sequence[float]) -> list[Row]:
    """Baselines, the agent and what audits it.

    Args:
        base: What all rows have in common.
        variants: Agents by name, each with its settings.
        hours: Preset hours; empty for a corpus without times.
    """
    rows = [*_ends(base), *(_clock(base, hours) if hours else ()), *_confidence(base), *_baselines(base)]
    for name, settings in variants.items():
        rows.append(Row(name, agent(base, settings), "agent", name))
    for name, settings in variants.items():
        for audit, experts in ((SHUFFLED, "shuffled"), (NONE, "none")):
            others = [each for each in settings if not each.startswith("experts=")]
            config = agent(base, [*others, f"experts={experts}"])
            rows.append(Row(f"{name}, {audit}", config, "audit", audit, of=name))
        rows.append(Row(f"random stop at the ER of {name}", base, "audit", "random stop", of=name, random=True))
    return [*rows, Row("oracle (EAE with the true label)", plain(base, "oracle"), "audit", "oracle")]


def shots(base: RunConfig, numbers: Sequence[int]) -> list[Row]:
    """The agent and both ends of reading by how many labelled threads there are."""
    rows = []
    for number in numbers:
        few = replace(base, shots=number)
        rows.append(Row(f"EARD, {number} shots", agent(few), "agent", "EARD", x=float(number)))
        rows += [
            *_ends(few, float(number), suffix=f", {number} shots"),
            *_sure(few, number, suffix=f", {number} shots"),
        ]
    return sorted(rows, key=lambda row: (row.kind, row.system))  # the agent's rows first, each system's together


def alpha(base: RunConfig, alphas: Sequence[float]) -> list[Row]:
    """The agent by the weight of CE, EAE and ME sharing the rest; baselines to set it against.

    Raises:
        UsageError: a weight is not between 0 and 1.
    """
    rows = [*_ends(base), *_confidence(base), *_baselines(base)]
    kept = tuple(each for each in base.stopper if each.partition("=")[0] not in _OF_AGENT)
    for value in alphas:
        if not 0 <= value <= 1:
            raise UsageError(f"--alphas {value:g}: want weights between 0 and 1")
        rest = f"{(1 - value) / 2:.6g}"
        weights = () if value == _PAPER_ALPHA else (f"alpha={value:g}", f"beta={rest}", f"gamma={rest}")
        config = agent(replace(base, stopper=kept), weights)
        rows.append(Row(f"EARD, α = {value:g}", config, "agent", "EARD", x=value))
    return rows


def cross(base: RunConfig, corpora: Sequence[str]) -> list[Row]:
    """The agent and all baselines by where the shots come from: the tested corpus itself, and others.

    Threads that the tested corpus has too are left out of the others.
    """
    rows = []
    for corpus in dict.fromkeys((base.dataset, *corpora)):
        there, suffix = base, ", trained on itself"
        if corpus != base.dataset:
            overlap = base.exclude_overlap or base.dataset
            there, suffix = replace(base, train_on=corpus, exclude_overlap=overlap), f", trained on {corpus}"
        rows.append(Row(f"EARD{suffix}", agent(there), "agent", "EARD", group=corpus))
        rows += [*_baselines(there, corpus, suffix), *_ends(there, group=corpus, suffix=suffix)]
        rows += _sure(there, group=corpus, suffix=suffix)
    return rows


def hours(base: RunConfig, when: Sequence[float]) -> list[Row]:
    """Preset hours, and the agent that stops when it wants."""
    return [*_clock(base, when), *_ends(base), *_sure(base), Row("EARD", agent(base), "agent", "EARD")]
