"""What JSDRV is trained with; the paper's values where it gives any."""

from collections.abc import Iterable
from dataclasses import dataclass

from corpora.errors import UsageError
from training.settings import read_words

ABLATIONS = {
    "RSS": "no stance selector: every annotated post is kept",
    "RVS": "no veracity selector: every annotated claim is kept",
    "FTSD": "SD is not fine-tuned on what was kept",
    "FTRV": "RV is not fine-tuned on what was kept",
    "PTSD": "SD is not pre-trained",
    "PTRV": "RV is not pre-trained on the seeds",
    "epSD": "no greedy control of posts: all posts of a claim are annotated",
    "epRV": "no greedy control of claims: all claims are annotated",
}
"""Part of JSDRV -> what its absence means (paper, Table 3)."""

MEANING = {
    "epsilon": "chance that a post or claim is drawn at random (posts) or from the unlabelled (claims)",
    "epochs": "turns of annotate, select, fine-tune at most",
    "claims": "claims annotated in an epoch",
    "posts": "posts annotated of a claim; 0 for all",
    "kappa": "selections in a row with a positive reward that end the training",
    "reward": "centred: the uniform distribution is taken from both before the cosine; raw: as printed",
    "baseline": "what the reward is compared with: leave-one-out, moving, none (the paper's)",
    "selector_lr": "Adam's step for the selector",
    "selector_batch": "claims between two of its steps",
    "warm_up": "share of its steps in which the step grows",
    "ablate": f"leave out a part: {', '.join(ABLATIONS)}",
    "stances": "stance corpora to pre-train on: p-stance, sample, or both with a comma",
    "pretraining_posts": "posts of P-Stance to pre-train SD on",
    "lora_epochs": "of a local model: passes over the examples in each fine-tuning",
    "lora_lr": "of a local model: AdamW's step, falling to 0 in a line",
    "supervised": "learn from the gold stances of the training claims too: the ceiling, not JSDRV",
}


@dataclass(frozen=True)
class JsdrvSettings:
    """Settings of the whole cycle; those of a network are the network's."""

    epsilon: float = 0.3
    epochs: int = 3
    claims: int = 150
    posts: int = 6
    kappa: int = 100
    reward: str = "centred"
    baseline: str = "leave-one-out"
    selector_lr: float = 1e-3
    selector_batch: int = 4
    warm_up: float = 0.1
    ablate: str = ""
    stances: str = "p-stance,sample"
    pretraining_posts: int = 2000
    supervised: bool = False
    lora_epochs: int = 6
    lora_lr: float = 1e-4

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            UsageError: one of them makes no sense.
        """
        for name, least in {
            "epochs": 0,
            "claims": 1,
            "posts": 0,
            "kappa": 1,
            "selector_batch": 1,
            "lora_epochs": 1,
            "pretraining_posts": 0,
        }.items():
            if getattr(self, name) < least:
                raise UsageError(f"JSDRV setting {name}={getattr(self, name)}: want at least {least}")
        for name in ("epsilon", "warm_up"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"JSDRV setting {name}={getattr(self, name)}: want a share between 0 and 1")
        for name in ("selector_lr", "lora_lr"):
            if not 0 < getattr(self, name) < 1:
                raise UsageError(f"JSDRV setting {name}={getattr(self, name)}: want a number between 0 and 1")
        choices = {
            "reward": ("centred", "raw"),
            "baseline": ("leave-one-out", "moving", "none"),
            "ablate": ("", *ABLATIONS),
            "stances": ("p-stance", "sample", "p-stance,sample", "sample,p-stance"),
        }
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise UsageError(
                    f"JSDRV setting {name}={getattr(self, name)}: want {' or '.join(each for each in known if each)}"
                )


def read_jsdrv(words: Iterable[str]) -> JsdrvSettings:
    """Settings from NAME=VALUE words.

    Raises:
        UsageError: no such setting, or not such a value.
    """
    return JsdrvSettings(**read_words(JsdrvSettings, words, "JSDRV setting"))
