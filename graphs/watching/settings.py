"""What one command of `graphs.watch` is asked to do."""

import hashlib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_args

from corpora.errors import UsageError
from corpora.labels import LABEL_SETS
from corpora.thread import Language
from graphs.hows import check_verifier
from graphs.methods import check_policy, checkpoints, known, learns, learns_from_shots

DECIDE, DROP, LEAVE = "decide", "drop", "leave"


@dataclass(frozen=True, kw_only=True)
class WatchSettings:
    """When and how, by what rules a stream is read, and where the lines go."""

    file: str = "-"
    """What is read; "-" is standard input."""
    follow: bool = False
    """Go on reading where the file grows."""
    out: Path | None = None
    """Where the lines go, with a checkpoint beside it; None for standard output, without one."""
    beliefs: bool = False
    """Write a line after every post too."""

    when: str = "eard"
    how: str = "encoder"
    model: str | None = None
    base_url: str | None = None
    network: str = "encoder"
    labels: str = "rumor/non-rumor"
    train_on: str = "sample"
    data_dir: Path | None = None
    shots: int = 50
    pool: int = 100
    """Unlabelled threads that a stopping agent reads while it is trained."""
    seed: int = 0
    prompts: Path | None = None
    concurrency: int = 32
    """Verdicts of chat models, and calls, under way at once."""
    timeout: float = 60.0
    max_cost: float | None = None
    price: tuple[float, float] | None = None

    stale: float = 48.0
    """Hours of the stream's time without a post after which a thread is over."""
    at_stale: str = DECIDE
    at_end: str = DECIDE
    lateness: float = 0.0
    """Seconds of the stream's time that posts are held, to be read in order of time."""
    leap: float = 30.0
    """Days that a single line moves the stream's time by, at most."""
    max_open: int = 100_000
    max_posts: int = 10_000
    """Posts of a thread after which it is decided, whatever the stop policy says."""
    remember: int = 100_000
    """Decided and dropped threads whose ids are remembered."""
    language: Language = "en"
    """Of threads that name none."""
    keep_handles: bool = False
    every: float = 30.0
    """Seconds between two checkpoints."""

    def __post_init__(self) -> None:
        """Check what can be checked without reading anything.

        Raises:
            UsageError: a name is unknown or a number makes no sense.
        """
        how = check_verifier(self.how)
        if len(checkpoints(self.when)) > 1:
            raise UsageError(f"--when {self.when}: a thread of a stream is decided once; name one")
        check_policy(self.when, self.how)
        if self.when == "oracle":
            raise UsageError("--when oracle knows the answers of eval.run's test threads; a stream has none")
        label_set = LABEL_SETS[known(self.labels, LABEL_SETS, "--labels")]
        if how.asks_model and self.model is None:
            raise UsageError(
                f"--how {self.how} asks a chat model: add --model openai:NAME, hf:PATH-OR-NAME or scripted:FILE"
            )
        if not how.asks_model and self.model not in (None, "encoder"):
            raise UsageError(f"--how {self.how} asks no chat model: leave --model out, or add --how direct")
        if how.asks_model and not how.any_labels and not label_set.binary:
            raise UsageError(f"--how {self.how} gives one of two labels, not {self.labels}")
        least = {"shots": 0, "pool": 0, "seed": 0, "concurrency": 1, "max_open": 1, "max_posts": 1, "remember": 0}
        least |= {"stale": 0, "lateness": 0, "leap": 0, "every": 0, "timeout": 0, "max_cost": 0}
        for name, bound in least.items():
            if (value := getattr(self, name)) is not None and not value >= bound:
                raise UsageError(f"--{name.replace('_', '-')} {value}: want at least {bound}")
        choices = {"at_stale": (DECIDE, DROP), "at_end": (DECIDE, LEAVE), "language": get_args(Language)}
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise UsageError(f"--{name.replace('_', '-')} {getattr(self, name)}: want {' or '.join(allowed)}")
        if self.shots == 0 and (learns_from_shots(self.how) or learns(self.when)):
            raise UsageError(f"--when {self.when} --how {self.how} learn from labelled threads: leave --shots 0 out")
        if self.follow and self.file == "-":
            raise UsageError("--follow is for a FILE; standard input is read until it is closed anyway")

    @property
    def checkpoint(self) -> Path | None:
        """Where the state of the watch is kept: beside its lines."""
        return self.out and self.out.with_name(f"{self.out.name}.checkpoint.json")

    @property
    def asks_model(self) -> bool:
        """Whether a chat model is asked for verdicts."""
        return check_verifier(self.how).asks_model

    @property
    def identity(self) -> dict[str, Any]:
        """What decides on the lines: a watch goes on only with the same. Reads all of a trained folder."""
        values = {name: str(value) if isinstance(value, Path) else value for name, value in asdict(self).items()}
        found = {field.name: values[field.name] for field in fields(self) if field.name not in _OPERATIONAL}
        for name, colon, folder in (each.partition(":") for each in (self.when, self.how)):
            if colon and name in ("eard", "jsdrv"):
                found[f"{name}_digest"] = _digest(Path(folder))
        return found


_OPERATIONAL = {
    "file", "follow", "out", "data_dir", "concurrency", "timeout", "max_cost", "price", "every", "at_end",
}  # fmt: skip


def _digest(folder: Path) -> str:
    """Content address of a saved agent's or network's files."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.safetensors")):
        with file.open("rb") as content:
            digest.update(file.name.encode() + hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()[:16]
