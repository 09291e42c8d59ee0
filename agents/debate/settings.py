"""How a debate is held: the options of S2MAD (sections 3 and 4), and our own."""

from dataclasses import dataclass

from corpora.errors import UsageError

ABLATIONS = {
    "stance": "40 random comments, half to each debater, in place of supporting and opposing ones",
    "debate": "one agent on both kinds of comments, no second opinion",
    "subjective": "every claim is argued as one of facts",
    "non-subjective": "every claim is argued as an opinion",
}
"""What --ablate takes away (Table 2 of the paper)."""
MAX_ROUNDS = 5


@dataclass(frozen=True, kw_only=True)
class DebateSettings:
    """The settings of one debate; the defaults are the paper's where it names any.

    Raises:
        UsageError: a value makes no sense.
    """

    k: int = 10
    """Comments on each side at most (the paper gives no number)."""
    rounds: int = 2
    """M: how often each debater answers the other."""
    ablate: str | None = None
    """One of ABLATIONS."""
    gate: bool = False
    """Debate only where the two initial opinions differ."""
    quarantine: bool = False
    """Debaters see no comment, but what the scorer made of it: number, stance, score and a short quotation."""
    score_batch: int = 1
    """Comments scored in one call."""
    scorer: str = ""
    """"" for the chat model in the role "scorer", "encoder" for the stance classifier."""

    def __post_init__(self) -> None:
        """Check the values."""
        if self.k < 1:
            raise UsageError(f"--k {self.k}: want at least 1 comment a side")
        if not 0 <= self.rounds <= MAX_ROUNDS:
            raise UsageError(f"--rounds {self.rounds}: want 0 to {MAX_ROUNDS}")
        if self.ablate is not None and self.ablate not in ABLATIONS:
            raise UsageError(f"--ablate {self.ablate}: want one of {', '.join(ABLATIONS)}")
        if self.ablate == "stance" and self.quarantine:
            raise UsageError("--ablate stance scores no comment, so --quarantine would leave debaters none: drop one")
        if self.score_batch < 1:
            raise UsageError(f"--score-batch {self.score_batch}: want at least 1")
