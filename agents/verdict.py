"""What a verifier returns, and the two shapes every method is made of: when (StopPolicy) and how (Verifier)."""

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from corpora.thread import ClaimThread

Outcome = Literal["verdict", "abstained", "failed"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judgement of the posts seen so far. Made of plain values, so that a graph's checkpoint can hold it."""

    label: str | None
    """One of the label set's names; None if abstained or failed."""
    probabilities: dict[str, float] | None = None
    """Label -> probability, summing to 1; None where the model gives no ground for any."""
    probability_method: str | None = None
    """Where they come from: "logprobs", "log-likelihood", "samples:N", "classifier"."""
    outcome: Outcome = "verdict"
    reason: str | None = None
    """Why it abstained or failed."""
    rationale: str | None = None
    stances: dict[str, str] = field(default_factory=dict)
    """Post id -> stance, where the verifier used any."""
    debate: dict[str, Any] | None = None
    """A debate's transcript (see agents/debate/transcript.py), where there was one."""
    annotations: list[dict[str, Any]] | None = None
    """A row per post whose stance was detected, where the verifier gives stances: "post" (id), "label" (None where it
    abstained), "probabilities", "explanation", "reason" and "kept" (None where nothing is selected)."""

    @classmethod
    def abstained(cls, reason: str, rationale: str | None = None) -> "Verdict":
        """The model answered, but not with a label."""
        return cls(None, outcome="abstained", reason=reason, rationale=rationale)

    @classmethod
    def failed(cls, reason: str) -> "Verdict":
        """The model could not be asked."""
        return cls(None, outcome="failed", reason=reason)


class Verifier(Protocol):
    """How to decide: the posts seen so far in, a verdict out."""

    async def __call__(self, prefix: ClaimThread) -> Verdict:
        """Judge a prefix. Raises ModelError when the model cannot be asked."""
        ...


class StopPolicy(Protocol):
    """When to decide: the posts seen so far in, the probability of stopping here out.

    It is a function of the prefix alone, so that a graph can be resumed at any post; what costs time
    (embeddings, verdicts) is cached by text below it.
    """

    @property
    def deadline(self) -> float | None:
        """Seconds after the source post at which a clock stops the reading between two posts, if any."""
        ...

    async def __call__(self, prefix: ClaimThread) -> float:
        """Probability in [0, 1] that enough has been heard; the reader stops from 0.5 on."""
        ...
