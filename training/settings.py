"""What the stopping agent is trained with: the paper's Table 3, and the released code's differences as options."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from types import MappingProxyType
from typing import Any

from corpora.errors import UsageError

CHOICES = {
    "reward": ("neg-log-d", "logit"),
    "state": ("posts", "verdicts"),
    "learn_from": ("labels", "stability"),
}

MEANING = {
    "steps": "environment steps in all",
    "iteration": "steps between two updates of the agent, over all environments",
    "environments": "threads read side by side; the paper reads one",
    "minibatches": "parts an iteration is cut into; 50 gives minibatches of 4 pairs",
    "decay": "let the agent's learning rate fall to 0 in a line",
    "hidden": "width of the two hidden layers of policy and value network",
    "alpha": "weight of CE",
    "beta": "weight of EAE",
    "gamma": "weight of ME",
    "reward": "neg-log-d: -log D; logit: log(1 - D) - log D",
    "experts": "those that are shown; or shuffled (dealt to the wrong threads), or none: the audits",
    "min_posts": "labelled threads shorter than this show nothing",
    "max_posts": "prefixes labelled of a thread at most; 0 for all",
    "eae_only_if_apart": "EAE shows only threads in which it stops elsewhere than CE",
    "states_after_stop": "trajectories end so many states after the stop; -1: with the thread",
    "state": "posts: their vectors; verdicts: how sure and how steady the verifier was",
    "learn_from": "labels: the shots' gold; stability: the pool, the verifier's own last label as gold",
    "early_rate": "mean ER on the pool that the stop's threshold is set for; 0: threshold a half",
    "disc_epochs": "of the discriminator, an iteration",
    "disc_batch": "pairs of the agent, and of each expert",
    "gradient_penalty": "weight; the paper has none",
}
"""Of the settings whose names do not say it all; for --help."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Defaults are EARD's Table 3 and section 5.1.3, but for `environments`; see MEANING and docs/eard.md."""

    steps: int = 200_000
    iteration: int = 200
    environments: int = 20
    ppo_epochs: int = 4
    minibatches: int = 4
    discount: float = 0.99
    gae_lambda: float = 0.97
    learning_rate: float = 3e-4
    decay: bool = False
    clip: float = 0.1
    entropy: float = 0.01
    hidden: int = 64
    alpha: float = 0.7
    beta: float = 0.15
    gamma: float = 0.15
    disc_epochs: int = 5
    disc_batch: int = 64
    disc_hidden: int = 64
    disc_lr: float = 3e-4
    gradient_penalty: float = 0.0
    reward: str = "neg-log-d"
    experts: str = "ce,eae,me"
    min_posts: int = 1
    max_posts: int = 0
    eae_only_if_apart: bool = False
    states_after_stop: int = -1
    state: str = "posts"
    learn_from: str = "labels"
    early_rate: float = 0.0

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            UsageError: one of them makes no sense.
        """
        may_be_zero = {
            "alpha", "beta", "gamma", "entropy", "gradient_penalty", "discount", "gae_lambda", "max_posts",
            "decay", "eae_only_if_apart", "states_after_stop", "early_rate",
        }  # fmt: skip
        for name, value in asdict(self).items():
            if not isinstance(value, str) and name not in may_be_zero and not value > 0:
                raise UsageError(f"stopper setting {name} must be above 0, not {value}")
        if self.gradient_penalty < 0 or self.max_posts < 0 or self.states_after_stop < -1 or self.entropy < 0:
            raise UsageError("stopper settings entropy, gradient_penalty and max_posts must not be negative")
        for name in ("alpha", "beta", "gamma", "discount", "gae_lambda", "early_rate"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"stopper setting {name} must be between 0 and 1, not {getattr(self, name)}")
        if not self.alpha + self.beta > self.gamma:
            raise UsageError("stopper settings alpha + beta must be above gamma, or no expert is worth following")
        for name in ("environments", "minibatches"):
            if self.iteration % getattr(self, name):
                raise UsageError(f"stopper setting {name}={getattr(self, name)} must divide iteration={self.iteration}")
        if self.minibatches == self.iteration:
            raise UsageError("stopper setting minibatches: each needs two steps or more")
        if self.steps < self.iteration:
            raise UsageError(f"stopper setting steps={self.steps} is less than one iteration of {self.iteration}")
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise UsageError(f"stopper setting {name}={getattr(self, name)}: want {' or '.join(choices)}")
        if self.state == "verdicts" and self.learn_from == "labels":
            raise UsageError("stopper setting state=verdicts needs learn_from=stability")
        if self.experts not in ("shuffled", "none") and not set(self.experts.split(",")) <= {"ce", "eae", "me"}:
            raise UsageError(
                f"stopper setting experts={self.experts}: want a list of ce, eae, me; or shuffled; or none"
            )


def content_of(settings: Settings) -> dict[str, Any]:
    """What an agent's address holds of its settings."""
    # agents that fell in stairs, before the rate fell at every update, are not taken for those of now
    return asdict(settings) | ({"decay": "every update"} if settings.decay else {})


RELEASED: dict[str, Any] = {
    "environments": 1,
    "decay": True,
    "disc_hidden": 100,
    "disc_lr": 1e-4,
    "gradient_penalty": 10.0,
    "reward": "logit",
    "min_posts": 3,
    "max_posts": 500,
    "eae_only_if_apart": True,
}
"""Where the authors' released code differs from the paper, as far as options here can follow it."""

STEADY: dict[str, Any] = {"state": "verdicts", "learn_from": "stability", "early_rate": 0.3, "steps": 50_000}
"""Our variant: stop where the verifier's verdict is taken to be its last (see docs/eard.md)."""

PRESETS: dict[str, dict[str, Any]] = {"paper": {}, "released": RELEASED, "steady": STEADY}


def read_settings(words: Iterable[str]) -> Settings:
    """Settings from `name=value` words; the words `paper`, `released` and `steady` are `PRESETS`.

    Raises:
        UsageError: no such setting, or not such a value.
    """
    return Settings(**read_words(Settings, words, "stopper setting", PRESETS))


def read_words(
    form: type[Any], words: Iterable[str], what: str, presets: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
) -> dict[str, Any]:
    """Values for a dataclass of settings from `name=value` words.

    Args:
        form: The dataclass; every field has a default of its type.
        words: As they stand in a command line.
        what: How an error begins.
        presets: Words that stand for several values; what is given beside them goes before.

    Raises:
        UsageError: no such setting, or not such a value.
    """
    kinds = {field.name: type(field.default) for field in fields(form)}
    values: dict[str, Any] = {}
    for word in words:
        if word in presets:
            values = {**presets[word], **values}
            continue
        name, equals, text = word.partition("=")
        name = name.replace("-", "_")
        if not equals or name not in kinds:
            known = f"NAME=VALUE with a name of {', '.join(kinds)}"
            raise UsageError(f"{what} {word}: want {'; or '.join([known, ', '.join(presets)]) if presets else known}")
        values[name] = value_of(kinds[name], text, f"{what} {word}")
    return values


def value_of(kind: type, text: str, what: str) -> Any:
    """A setting's value from a command line.

    Args:
        kind: bool, int, float or str.
        text: What stands after "=".
        what: How an error begins.

    Raises:
        UsageError: the text is no such value.
    """
    if kind is bool:
        if text.lower() not in ("true", "false", "1", "0", "yes", "no"):
            raise UsageError(f"{what}: want true or false")
        return text.lower() in ("true", "1", "yes")
    try:
        # 2e5 steps is a whole number too
        return int(float(text)) if kind is int and float(text) == int(float(text)) else kind(text)
    except (ValueError, OverflowError):
        raise UsageError(f"{what}: {text} is not a {'whole number' if kind is int else 'number'}") from None
