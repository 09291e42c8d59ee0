"""What one command of `eval.run` is asked to do, and what of it decides the result."""

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, get_args

from agents.debate.settings import DebateSettings
from corpora.errors import UsageError
from corpora.thread import Language
from eval import task_options
from eval.attacks import ALL, attack_named
from graphs.hows import check_verifier, how_of, is_scorer, known
from graphs.methods import check_policy, checkpoints, learns
from training.settings import read_settings

SPLITS = {
    "few-shot": "shots, a pool of unlabelled threads, and the rest as test, drawn anew for each seed",
    "events": "each event judged with shots from the other events",
    "official": "shots from the publisher's train part, its test part as test",
    "all": "every thread is a test thread and nothing is learned (zero-shot)",
}


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Everything that was in force; precedence: command line, then --config file, then these defaults."""

    dataset: str = "sample"
    """Corpus by name, or FORMAT:PATH (aclr, eard, jsonl)."""
    data_dir: Path | None = None
    keep_handles: bool = False
    language: str | None = None
    """Keep threads of one language, "en" or "zh"."""
    labels: str | None = None
    """Label set; None for the corpus's own."""
    task: str | None = None
    """What is scored, one of eval.task_options.TASKS; None for the label alone."""
    split: str = "few-shot"
    train_on: str | None = None
    """Corpus that the shots come from; None for the tested one."""
    exclude_overlap: str | None = None
    """Corpora, with commas, whose threads are left out of training (and of the tested corpus, where that trains)."""
    limit: int | None = None
    """At most so many test threads a seed."""
    shots: int = 50
    pool: int = 100
    """Unlabelled threads set aside for methods that need an environment."""
    seeds_share: float | None = None
    """Share of the threads to learn from that are shots, all others being the pool; None for `shots` and `pool`."""
    holdout: float | None = None
    """Share of the threads that is neither tested nor learned from, but left for tuning."""
    tune: bool = False
    """Use the threads left for tuning, and no others."""
    seeds: int = 5
    method: str | None = None
    when: str = "eard"
    how: str = "encoder"
    model: str | None = None
    base_url: str | None = None
    temperature: float = 0.0
    max_tokens: int = 512
    samples: int = 1
    """Answers a question where the endpoint gives no logprobs."""
    prompts: Path | None = None
    stopper: tuple[str, ...] = ()
    """Settings of the stopping agent that are not the defaults, as NAME=VALUE (see training.settings)."""
    network: str | None = None
    """What the networks are that --how jsdrv trains; None for the encoder."""
    jsdrv: tuple[str, ...] = ()
    """Settings of JSDRV that are not the defaults, as NAME=VALUE (see training.jsdrv.settings)."""
    examples: int = 0
    """Shots that the prompts of single-task and multi-task show."""
    debate: DebateSettings = field(default_factory=DebateSettings)
    """How --how s2mad debates; its fields are options of their own (--k, --rounds, ...)."""
    scorer_model: str | None = None
    """Who scores comments, "encoder" and "jsdrv:DIR" included; None for `model`, as in the other roles."""
    debater_model: str | None = None
    judge_model: str | None = None
    token_budget: int | None = None
    """Tokens a thread for self-consistency and self-correction; None for their own default."""
    controls: bool = False
    """Add S2MAD's controls, at its own token budget."""
    attack: str | None = None
    """Put one of eval.attacks into every test thread; "all" compares every attack with none."""
    sea: bool = False
    """Go on labelling after the stop, for HEARD's metric of stability."""
    concurrency: int = 32
    timeout: float = 60.0
    max_retries: int = 5
    requests_per_second: float | None = None
    price: tuple[float, float] | None = None
    max_cost: float | None = None
    fail_on_error: float = 0.05
    db: Path = Path("hearsay.duckdb")
    fresh: bool = False
    dry_run: bool = False
    report: Path | None = None
    """Write a page (eval.report) of what was run."""

    def __post_init__(self) -> None:
        """Check what can be checked without reading anything.

        Raises:
            UsageError: a name is unknown or a number makes no sense.
        """
        how = check_verifier(self.how)
        known(self.split, SPLITS, "--split")
        for checkpoint in self.checkpoints:
            check_policy(checkpoint, self.how)
        read_settings(self.stopper)
        if self.stopper and self.when != "eard":
            raise UsageError(f"--stopper sets up the agent that --when eard trains, not --when {self.when}")
        at_least = {
            "shots": 0,
            "pool": 0,
            "seeds": 1,
            "samples": 1,
            "concurrency": 1,
            "limit": 1,
            "max_tokens": 1,
            "token_budget": 1,
        }
        for name, least in at_least.items():
            if (value := getattr(self, name)) is not None and value < least:
                raise UsageError(f"--{name.replace('_', '-')} {value}: want at least {least}")
        if self.train_on and self.split != "few-shot":
            raise UsageError(f"--train-on {self.train_on} is a split of its own: leave --split {self.split} out")
        if self.language not in (None, *get_args(Language)):
            raise UsageError(f"--language {self.language}: want {' or '.join(get_args(Language))}")
        if not 0 <= self.fail_on_error <= 1:
            raise UsageError(f"--fail-on-error {self.fail_on_error}: want a share between 0 and 1")
        for name in ("scorer_model", "debater_model", "judge_model"):
            if getattr(self, name) and self.how != "s2mad":
                raise UsageError(f"--{name.replace('_', '-')} is a role in --how s2mad, not in {self.how}")
            given = getattr(self, name)
            if given and is_scorer(given) and name != "scorer_model":
                raise UsageError(f"--{name.replace('_', '-')} {given}: only --scorer-model may be; name a chat model")
        if self.scorer_model and self.scorer_model.startswith("jsdrv:"):
            check_verifier(self.scorer_model)
        if self.token_budget is not None and not self.how.startswith("self-"):
            raise UsageError(f"--token-budget is for self-consistency and self-correction, not for {self.how}")
        if self.max_cost is not None and self.max_cost < 0:
            raise UsageError(f"--max-cost {self.max_cost}: want 0 or more")
        networks = task_options.chat_network(self) or ""
        sampled = self.how in ("direct", "vanilla", "single-task") or networks.startswith(("openai", "scripted"))
        if self.samples > 1 and not sampled:
            raise UsageError(
                f"--samples {self.samples} is of --how direct, vanilla or single-task, and of JSDRV's networks of an "
                f"API (--network openai:NAME), not of {self.how}"
            )
        if self.controls and (self.how != "s2mad" or self.debate.ablate):
            raise UsageError("--controls are of the whole debate: use --method s2mad without --ablate")
        if self.controls and self.when == "eard":
            raise UsageError(
                "--controls would each train a stopping agent of their own: save one and use --when eard:DIR"
            )
        if self.attack not in (None, ALL):
            attack_named(self.attack, "--attack")
        if self.attack and self.controls:
            raise UsageError("--attack and --controls are two comparisons: ask for one at a time")
        if self.attack == ALL and self.report:
            raise UsageError("--report shows a few runs side by side: name one --attack, or use eval.report afterwards")
        if how.asks_model and self.model is None:
            raise UsageError(
                f"--how {self.how} asks a chat model: add --model openai:NAME, hf:PATH-OR-NAME or scripted:FILE"
            )
        if not how.asks_model and self.model not in (None, "encoder"):
            raise UsageError(f"--how {self.how} asks no chat model: leave --model out, or add --how direct")
        if how.learns and ":" not in self.how and (self.split == "all" or self.shots == 0):
            raise UsageError(
                f"--how {self.how} learns from labelled threads: it needs --shots and a split that has some"
            )
        task_options.check(self)
        if self.when == "eard" and self.pool == 0:
            raise UsageError("--when eard reads unlabelled threads while it learns: leave --pool 0 out")
        if any(map(learns, self.checkpoints)) and (self.split == "all" or self.shots == 0):
            raise UsageError(
                f"--when {self.when} learns from labelled threads: it needs --shots and a split that has some"
            )

    @property
    def checkpoints(self) -> list[str]:
        """The single stop policies of --when."""
        return checkpoints(self.when)

    @property
    def models(self) -> dict[str, str]:
        """Role -> model string; "" is who speaks in every role that names none. No chat model: empty."""
        if not how_of(self.how).asks_model or self.model is None:
            return {}
        named = {"scorer": self.scorer_model, "debater": self.debater_model, "judge": self.judge_model}
        return {"": self.model} | {role: name for role, name in named.items() if name and not is_scorer(name)}

    @property
    def reads_vectors(self) -> bool:
        """Whether anything in it needs the sentence encoder."""
        if self.scorer_model and is_scorer(self.scorer_model):
            return True
        return how_of(self.how).reads_vectors or any(check_policy(when).reads_vectors for when in self.checkpoints)

    @property
    def embedded(self) -> bool:
        """Whether everything is computed here by the sentence encoder, without a chat model."""
        how = how_of(self.how)
        return how.reads_vectors and not how.asks_model and task_options.chat_network(self) is None


# What is asked of the machine and not of the method: changing it continues the same run. (The endpoint behind
# --base-url is part of the run's address as such, without a password.)
_OPERATIONAL = {
    "data_dir", "concurrency", "timeout", "max_retries", "requests_per_second", "price", "max_cost",
    "fail_on_error", "db", "fresh", "dry_run", "report", "seeds", "prompts", "method", "base_url", "controls",
}  # fmt: skip


def identity(config: RunConfig) -> dict[str, Any]:
    """The part of the configuration that decides what is computed; prompts count by their content, elsewhere.

    Options that are off are left out, so that an option added later does not orphan the runs made before it.
    """
    values = {field.name: getattr(config, field.name) for field in fields(config) if field.name not in _OPERATIONAL}
    if values["network"] == "encoder":
        values["network"] = None
    if read_settings(config.stopper).decay:  # runs of agents of before, whose rate fell in stairs, are not theirs
        values["stopper"] = (*config.stopper, "every update")
    values["debate"] = changed if (changed := _changed(config.debate)) else None
    return {name: value for name, value in values.items() if value not in (None, False, ())}


def _changed(settings: DebateSettings) -> dict[str, Any]:
    """The settings that are not the defaults."""
    standard, given = asdict(DebateSettings()), asdict(settings)
    return {name: value for name, value in given.items() if value != standard[name]}


def as_json(config: RunConfig) -> dict[str, Any]:
    """The configuration as stored with the run."""
    values = {
        field.name: str(value) if isinstance(value := getattr(config, field.name), Path) else value
        for field in fields(config)
        if field.name not in ("fresh", "dry_run", "report")
    }
    return {**values, "debate": _changed(config.debate)}
