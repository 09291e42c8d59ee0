"""The questions a corpus can be asked: which gold labels become which classes."""

from dataclasses import dataclass

from corpora.thread import ClaimThread, Gold


@dataclass(frozen=True, slots=True)
class LabelSet:
    """The classes of one task, and where they come from in a thread's gold labels."""

    name: str
    labels: tuple[str, ...]
    """In report order; of a binary task the first is the positive class (what "Yes, it is a rumor" means)."""
    from_veracity: dict[str, str]
    """Veracity -> class; a veracity that is not listed leaves the thread out of the task."""

    @property
    def binary(self) -> bool:
        """Whether a Yes/No question can answer it."""
        return len(self.labels) == 2

    def of(self, thread: ClaimThread) -> str | None:
        """The thread's class, None if it has none in this task."""
        return self.of_gold(thread.gold)

    def of_gold(self, gold: Gold) -> str | None:
        """The class of these gold labels, None if they have none in this task."""
        if self.name == "rumor/non-rumor" and gold.rumor is not None:
            return gold.rumor
        return None if gold.veracity is None else self.from_veracity.get(gold.veracity)


LABEL_SETS = {
    label_set.name: label_set
    for label_set in (
        LabelSet(
            "rumor/non-rumor",
            ("rumor", "non-rumor"),
            {"N": "non-rumor", "T": "rumor", "F": "rumor", "U": "rumor"},
        ),
        LabelSet("false/non-rumor", ("false", "non-rumor"), {"F": "false", "N": "non-rumor"}),
        # claims that turned out false or true: what "Fake or Real" asks where every thread is a rumor
        LabelSet("false/true", ("false", "true"), {"F": "false", "T": "true"}),
        LabelSet("veracity", ("N", "T", "F", "U"), {"N": "N", "T": "T", "F": "F", "U": "U"}),
    )
}
