"""What JSDRV's networks say of a post or a claim, what they learn from, and the shape they all have.

Paper: "Reinforcement Tuning for Detecting Stances and Debunking Rumors Jointly with Large Language Models" (ACL 2024),
sections 4.1 and 4.2. SD gives the stance of each post towards its thread's claim, RV the veracity of a claim given the
posts that were kept and their stances; each with an explanation.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, get_args, runtime_checkable

from corpora.thread import ClaimThread, Stance, Veracity

STANCES: tuple[Stance, ...] = get_args(Stance)
VERACITIES: tuple[Veracity, ...] = get_args(Veracity)


@dataclass(frozen=True, slots=True)
class Annotation:
    """A label for one post (stance) or one claim (veracity), with its grounds."""

    label: str | None
    """One of STANCES or VERACITIES; None if the network abstained."""
    probabilities: dict[str, float] | None = None
    """Label -> probability, summing to 1; None where the model gives no ground for any."""
    explanation: str = ""
    """Why: the model's words, or the description of the label where the network has no words."""
    method: str | None = None
    """Where the probabilities come from: "classifier", "logprobs", "log-likelihood", "samples:N"."""
    reason: str | None = None
    """Why it abstained."""


Kept = Mapping[int, Annotation]
"""Place in `thread.posts` -> stance of a post that the selector retained."""


class StanceExample(NamedTuple):
    """A post to learn from."""

    thread: ClaimThread
    number: int
    """Its place in `thread.posts`."""
    label: Stance
    explanation: str = ""
    """Why, where a network said so."""


class VeracityExample(NamedTuple):
    """A claim to learn from."""

    thread: ClaimThread
    kept: Kept
    """The posts that it shall be judged by; annotations without a label where only their texts are known."""
    label: Veracity
    explanation: str = ""
    """Why, where RV said so of a label of its own."""


class Networks(Protocol):
    """SD and RV."""

    name: str

    async def stances(self, thread: ClaimThread, numbers: Sequence[int]) -> list[Annotation]:
        """Annotate posts, given by their places in `thread.posts` (0 is the source).

        Raises:
            ModelError: the model cannot be asked.
        """
        ...

    async def veracity(self, thread: ClaimThread, kept: Kept) -> Annotation:
        """Judge the claim by the posts that were kept.

        Raises:
            ModelError: the model cannot be asked.
        """
        ...


Progress = Callable[[int, int], None]
"""Takes how many examples were learned from, of how many."""


@runtime_checkable
class Trainable(Networks, Protocol):
    """Networks that can learn; each call returns the mean loss of every pass over the examples."""

    def pretrain_stances(self, examples: Sequence[StanceExample], progress: Progress | None = None) -> list[float]:
        """Learn stances from a corpus that has them (P-Stance)."""
        ...

    def pretrain_veracity(self, examples: Sequence[VeracityExample], progress: Progress | None = None) -> list[float]:
        """Learn veracity from the labelled claims and their posts, whose stances nobody knows."""
        ...

    def fine_tune_stances(self, examples: Sequence[StanceExample], progress: Progress | None = None) -> list[float]:
        """Learn from the posts that were kept, labelled by SD itself."""
        ...

    def fine_tune_veracity(self, examples: Sequence[VeracityExample], progress: Progress | None = None) -> list[float]:
        """Learn from the claims that were kept, labelled by people or by RV itself."""
        ...

    def save(self, folder: Path) -> None:
        """Write what was learned: safetensors, and `networks.json` that says of what kind it is."""
        ...
