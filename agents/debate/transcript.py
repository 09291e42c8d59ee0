"""What is kept of a debate: plain values, for checkpoints, the database and people."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NotRequired

from typing_extensions import TypedDict


@dataclass(frozen=True, slots=True)
class Scored:
    """What a scorer made of one comment."""

    score: float | None
    """In [-1, 1]: above 0 it supports that the claim is real, below it opposes; None where no reply could be read."""
    quote: str = ""
    """Some of its words that show its stance."""


class Turn(TypedDict):
    """What one speaker said."""

    speaker: str
    """"p" (sees supporting comments), "n" (sees opposing ones), "judge", or "agent" (alone, without a debate)."""
    round: int
    """0 for initial opinions; the judge speaks in the last round."""
    label: str | None
    """A name of the label set; None where no reply could be read."""
    text: str
    cites: list[str]
    """Ids of the posts that the argument names, in the order of the thread."""
    unknown: int
    """Posts it names that do not exist."""
    calls: int
    """Questions it took: 2 where the first reply could not be read."""
    cut: NotRequired[int]
    """The longest reply in tokens, where this one was cut off there: it has a label only if it begins with one."""


class Transcript(TypedDict):
    """A debate from its evidence to its end."""

    subjective: bool | None
    """Whether the claim only expresses an opinion; None where nobody asked, or the answer could not be read."""
    scores: dict[str, float | None]
    """Comment id -> score in [-1, 1]; None where no reply could be read. 0 is "against common sense"."""
    p: list[str]
    """Ids of the comments that debater p saw."""
    n: list[str]
    turns: list[Turn]
    """In the order of rounds, p before n."""
    flips: dict[str, int]
    """Debater -> how often the label changed from one turn to the next that has one."""
    calls: int
    """Questions asked of chat models, remembered answers included."""


def flips(turns: Sequence[Turn], speaker: str) -> int:
    """Count how often a speaker changed sides; a turn without a label is passed over."""
    said = [turn["label"] for turn in turns if turn["speaker"] == speaker and turn["label"]]
    return sum(before != after for before, after in pairwise(said))
