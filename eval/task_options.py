"""What is asked of stances and veracity, and of JSDRV: the options, and which of them go together."""

from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import UsageError
from graphs.hows import HOW, how_of
from training.jsdrv.networks import check_kind
from training.jsdrv.settings import read_jsdrv

if TYPE_CHECKING:
    from eval.config import RunConfig

TASKS = {
    "stance": "the stance of every post (S D Q C); labels of threads are stored, but not scored",
    "veracity": "the veracity of every claim: --labels veracity (N T F U)",
    "joint": "both",
}
"""Task of JSDRV -> what is scored."""
WITH_STANCES = ("stance", "joint")
"""Tasks that score stances."""
PROMPTED = ("single-task", "multi-task")
CHAT_PROMPTS = ("stance", "veracity")
"""Names of the prompts that JSDRV's networks show where they are a chat model's."""


def trained_folders(config: "RunConfig") -> list[Path]:
    """Folders of JSDRV's networks that a run uses: those of --how, and of --scorer-model."""
    named = (each for each in (config.how, config.scorer_model or "") if each.startswith("jsdrv:"))
    return [Path(each.partition(":")[2]) for each in named]


def chat_network(config: "RunConfig") -> str | None:
    """The chat model that JSDRV's networks are, if they are one's; "hf" or "openai" where a folder tells no more."""
    return _chat_model(config.how, config.network)


def chat_scorer(config: "RunConfig") -> str | None:
    """The same of the networks that --scorer-model names."""
    return _chat_model(config.scorer_model or "", None)


def _chat_model(name: str, network: str | None) -> str | None:
    if name.startswith("jsdrv:"):
        from graphs.saved_networks import kind

        network = kind(Path(name.partition(":")[2]))
    return None if network is None or network.partition(":")[0] == "encoder" else network


def check(config: "RunConfig") -> None:
    """Check what can be checked without reading a corpus.

    Raises:
        UsageError: an option makes no sense, or not with the others.
    """
    how = config.how
    if config.task is not None and config.task not in TASKS:
        raise UsageError(f"--task {config.task}: want {', '.join(TASKS)}")
    if config.task == "veracity" and config.labels not in (None, "veracity"):
        raise UsageError(f"--task veracity is --labels veracity, not {config.labels}: leave one of them out")
    if config.task in WITH_STANCES and not how_of(how).gives_stances:
        those = ", ".join(name for name, entry in HOW.items() if entry.gives_stances)
        raise UsageError(f"--how {how} gives no stances for --task {config.task}: use one of {those}")
    for name in ("seeds_share", "holdout"):
        share = getattr(config, name)
        if share is not None and not (0 < share <= 1 if name == "seeds_share" else 0 < share < 1):
            raise UsageError(f"--{name.replace('_', '-')} {share:g}: want a share, such as 0.5")
    if config.tune and config.holdout is None:
        raise UsageError("--tune uses the threads that --holdout leaves out: add --holdout 0.2")
    if config.seeds_share is not None and config.split == "all":
        raise UsageError("--seeds-share divides the threads to learn from, and --split all learns from none")
    read_jsdrv(config.jsdrv)
    for name, given in (("network", config.network), ("jsdrv", config.jsdrv)):
        if given and how != "jsdrv":
            raise UsageError(f"--{name} is for networks that --how jsdrv trains, not for --how {how}")
    if config.network:
        check_kind(config.network)
    if config.examples < 0:
        raise UsageError(f"--examples {config.examples}: want at least 0")
    if config.examples and how not in PROMPTED:
        raise UsageError(f"--examples are shown by --how {' and '.join(PROMPTED)}, not by {how}")
    if config.examples and (config.split == "all" or config.shots == 0):
        raise UsageError("--examples are shots: they need --shots and a split that has some")
    if config.when == "eard" and (how == "jsdrv" or config.examples):
        # its experts would be verdicts on the very threads that the verifier has seen the labels of
        raise UsageError(
            "--when eard is taught by a verifier that has not seen the shots: "
            + ("leave --examples out" if config.examples else "train JSDRV's networks once and use --how jsdrv:DIR")
        )
