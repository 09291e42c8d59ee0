"""What stop policies and verifiers are made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agents.debate.settings import DebateSettings
from corpora.labels import LabelSet
from corpora.thread import ClaimThread

if TYPE_CHECKING:
    from agents.call_log import CallLog
    from agents.encoder import Encoder
    from agents.models import Model, ModelSettings
    from training.jsdrv.settings import JsdrvSettings
    from training.recurrent import Baseline
    from training.settings import Settings


@dataclass(frozen=True)
class Parts:
    """All that one fold of a run offers; each stop policy and verifier takes what it needs."""

    label_set: LabelSet
    seed: int = 0
    shots: Sequence[ClaimThread] = ()
    """Labelled threads to learn from."""
    log: "CallLog | None" = None
    models: "Mapping[str, Model]" = field(default_factory=dict)
    """Role -> model; "" is the one for every role that names none."""
    encoder: "Encoder | None" = None
    prompts: Path | None = None
    samples: int = 1
    how: str = "encoder"
    """Name of the verifier, with what stands after its colon."""
    pool: Sequence[ClaimThread] = ()
    """Unlabelled threads to learn from."""
    stopper: "Settings | None" = None
    """What a stopping agent is trained with; None for the defaults."""
    debate: DebateSettings = field(default_factory=DebateSettings)
    """How S2MAD debates."""
    stance_threads: Sequence[ClaimThread] = ()
    """Threads with stance labels, none of them tested, for a scorer that learns."""
    network: str = "encoder"
    """What JSDRV's networks are: "encoder", hf:PATH-OR-NAME or openai:NAME."""
    base_url: str | None = None
    """Where they answer, if that is a server."""
    chat: "ModelSettings | None" = None
    """What they are opened with where they are an API's; None for the defaults."""
    jsdrv: "JsdrvSettings | None" = None
    """What they are trained with; None for the defaults."""
    examples: int = 0
    """Shots that a prompt for stances and veracity shows."""
    classes: Sequence[str] = ()
    """Those of the label set's classes that the tested corpus has; empty for all of them."""
    tested: Sequence[ClaimThread] = ()
    """Threads that nothing may learn from."""
    data_dir: Path | None = None
    """Where corpora lie that networks are pre-trained on."""
    token_budget: int | None = None
    """Tokens a thread that a control may spend; None for its own default."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """Thread id -> true label, for the oracle and nobody else."""
    trained: "dict[str, Baseline]" = field(default_factory=dict)
    """Baselines that were trained for these parts: their stop policy and their verifier are one network."""

    @property
    def task(self) -> LabelSet:
        """The label set without classes that the tested corpus has not: SemEval-8 has no N."""
        kept = {veracity: label for veracity, label in self.label_set.from_veracity.items() if label in self.classes}
        if not self.classes or not kept:
            return self.label_set
        labels = tuple(label for label in self.label_set.labels if label in self.classes)
        return replace(self.label_set, labels=labels, from_veracity=kept)

    @property
    def labels(self) -> list[str]:
        """The label of each shot."""
        return [label for shot in self.shots if (label := self.label_set.of(shot))]

    def learning_from(self, shots: Sequence[ClaimThread]) -> "Parts":
        """The same, with other shots and nothing trained yet."""
        return replace(self, shots=shots, trained={})

    def model(self, role: str) -> "Model":
        """The model that speaks in a role."""
        return self.models.get(role) or self.models[""]
