"""What the stopping agent is trained with: the paper's Table 3, and the released code's differences as options."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

from corpora.errors import UsageError

REWARDS = ("neg-log-d", "logit")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Defaults are EARD's Table 3 and section 5.1.3; a string after a field says what is not plain from its name."""

    steps: int = 200_000
    """Environment steps in all."""
    iteration: int = 200
    """Steps between two updates of the agent, over all environments."""
    environments: int = 20
    """Threads read side by side; the paper reads one."""
    ppo_epochs: int = 4
    minibatches: int = 4
    """Parts an iteration is cut into; 50 gives minibatches of 4 pairs (see docs/eard.md)."""
    discount: float = 0.99
    gae_lambda: float = 0.97
    learning_rate: float = 3e-4
    decay: bool = False
    """Let the agent's learning rate fall to 0 in a line."""
    clip: float = 0.1
    entropy: float = 0.01
    hidden: int = 64
    """Width of the two hidden layers of policy and value network."""
    alpha: float = 0.7
    """Weight of CE."""
    beta: float = 0.15
    """Weight of EAE."""
    gamma: float = 0.15
    """Weight of ME."""
    disc_epochs: int = 5
    disc_batch: int = 64
    disc_hidden: int = 64
    disc_lr: float = 3e-4
    gradient_penalty: float = 0.0
    reward: str = "neg-log-d"
    """neg-log-d: -log D; logit: log(1 - D) - log D."""
    experts: str = "ce,eae,me"
    """Those that are shown; or `shuffled` (stops dealt to the wrong threads) or `none`: the audits."""
    min_posts: int = 1
    """Labelled threads shorter than this show nothing."""
    max_posts: int = 0
    """Prefixes labelled of a thread at most; 0 for all."""
    eae_only_if_apart: bool = False
    """EAE shows only threads in which it stops elsewhere than CE."""
    states_after_stop: int = -1
    """Experts' trajectories end so many states after the stop; -1 for the thread's end."""

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            UsageError: one of them makes no sense.
        """
        may_be_zero = {
            "alpha", "beta", "gamma", "entropy", "gradient_penalty", "discount", "gae_lambda", "max_posts",
            "decay", "eae_only_if_apart", "states_after_stop",
        }  # fmt: skip
        for name, value in asdict(self).items():
            if not isinstance(value, str) and name not in may_be_zero and not value > 0:
                raise UsageError(f"stopper setting {name} must be above 0, not {value}")
        for name in ("alpha", "beta", "gamma", "discount", "gae_lambda"):
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
        if self.reward not in REWARDS:
            raise UsageError(f"stopper setting reward={self.reward}: want {' or '.join(REWARDS)}")
        if self.experts not in ("shuffled", "none") and not set(self.experts.split(",")) <= {"ce", "eae", "me"}:
            raise UsageError(
                f"stopper setting experts={self.experts}: want a list of ce, eae, me; or shuffled; or none"
            )


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


def read_settings(words: Iterable[str]) -> Settings:
    """Settings from `name=value` words; the word `released` stands for all of `RELEASED`.

    Raises:
        UsageError: no such setting, or not such a value.
    """
    kinds = {field.name: type(field.default) for field in fields(Settings)}
    values: dict[str, Any] = {}
    for word in words:
        if word == "released":
            values = RELEASED | values
            continue
        name, equals, text = word.partition("=")
        name = name.replace("-", "_")
        if not equals or name not in kinds:
            raise UsageError(f"--stopper {word}: want NAME=VALUE with a name of {', '.join(kinds)}; or released")
        values[name] = _value(kinds[name], text, word)
    return Settings(**values)


def _value(kind: type, text: str, word: str) -> Any:
    if kind is bool:
        if text.lower() not in ("true", "false", "1", "0", "yes", "no"):
            raise UsageError(f"--stopper {word}: want true or false")
        return text.lower() in ("true", "1", "yes")
    try:
        # 2e5 steps is a whole number too
        return int(float(text)) if kind is int and float(text) == int(float(text)) else kind(text)
    except (ValueError, OverflowError):
        raise UsageError(f"--stopper {word}: {text} is not a {'whole number' if kind is int else 'number'}") from None


def apart(settings: Settings) -> dict[str, Any]:
    """The settings that are not the defaults."""
    return {
        field.name: value for field in fields(settings) if (value := getattr(settings, field.name)) != field.default
    }
