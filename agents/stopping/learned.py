"""The learned stop policy of EARD at work: a network of two hidden layers over a running sum of post vectors.

Training is in `training/`; this is what reads its result. A policy is a folder: `policy.safetensors` (weights, the
states' mean and deviation, the vector of "Continue.") and `policy.json` (how it came about). Nothing in it is code.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.batches import CLOSE
from agents.encoder import Encoder
from agents.stopping.running import Running
from agents.verdict import StopPolicy
from corpora.errors import UsageError
from corpora.thread import ClaimThread, Post

CLIP = 10.0
"""Scaled states are cut at this many deviations."""
WORDS = ("Continue.", "Stop.")
"""What an action is called in the state that follows it."""
WEIGHTS, ABOUT = "policy.safetensors", "policy.json"
LAYERS = ("hidden1", "hidden2", "action")

Floats = NDArray[np.float32]


class Network:
    """A state in, the probability of STOP out: two hidden layers, tanh."""

    def __init__(self, tensors: dict[str, Floats]) -> None:
        """Take the tensors of a saved policy.

        Raises:
            UsageError: they do not fit each other.
        """
        self.tensors = tensors
        self._threshold = tensors["threshold"].item() if "threshold" in tensors else 0.5
        """Probability that counts as STOP; calibrated, or a half."""
        try:
            self.dimensions = tensors["hidden1.weight"].shape[1]
            fits = all(tensors[name].shape == (self.dimensions,) for name in ("mean", "deviation", "continue"))
            for layer in LAYERS:
                fits = fits and tensors[f"{layer}.weight"].shape[0] == tensors[f"{layer}.bias"].shape[0]
        except (KeyError, IndexError) as error:
            raise UsageError(f"not a stop policy: tensor {error} is missing") from None
        if not fits or tensors["action.weight"].shape[0] != len(WORDS):
            raise UsageError("not a stop policy: its tensors do not fit each other")

    def probability(self, state: Floats) -> float:
        """Probability of STOP in a state (d,) before scaling, bent so that the threshold lies at a half."""
        read = self.tensors
        x = np.clip((state - read["mean"]) / read["deviation"], -CLIP, CLIP)
        for layer in LAYERS[:-1]:
            x = np.tanh(read[f"{layer}.weight"] @ x + read[f"{layer}.bias"])
        go_on, stop = read["action.weight"] @ x + read["action.bias"]
        return self._bent(float(1 / (1 + np.exp(np.clip(go_on - stop, -500, 500)))))

    def probabilities(self, states: Floats) -> list[float]:
        """The same of many states (n, d) at once, by one product for each layer."""
        read = self.tensors
        x = np.clip((states - read["mean"]) / read["deviation"], -CLIP, CLIP)
        for layer in LAYERS[:-1]:
            x = np.tanh(x @ read[f"{layer}.weight"].T + read[f"{layer}.bias"])
        go_on, stop = (x @ read["action.weight"].T + read["action.bias"]).T
        found = [self._bent(p) for p in (1 / (1 + np.exp(np.clip(go_on - stop, -500, 500)))).tolist()]
        return [self.probability(state) if abs(p - 0.5) < CLOSE else p for p, state in zip(found, states, strict=True)]

    def _bent(self, p: float) -> float:
        threshold = self._threshold
        if p < threshold:
            return 0.5 * p / threshold
        return 0.5 + 0.5 * (p - threshold) / (1 - threshold) if threshold < 1 else 1.0


class LearnedPolicy:
    """Stop where the network is surer of STOP than of CONTINUE."""

    deadline = None

    def __init__(self, network: Network, encoder: Encoder) -> None:
        self._encoder, self._network = encoder, network
        self._sum = Running(self._add)

    async def __call__(self, prefix: ClaimThread) -> float:
        """Probability of STOP after the last post of the prefix."""
        await self._encoder.ready([post.text for post in prefix.posts])
        total = self._sum(prefix)
        # Whoever still reads has said "Continue." before each post but the first.
        said = 0 if len(prefix.posts) == 1 else self._network.tensors["continue"]
        return self._network.probability(total + said)

    async def batch(self, prefixes: Sequence[ClaimThread]) -> list[float]:
        """Probabilities of STOP after the last post of each prefix: their texts in one call, one product a layer."""
        await self._encoder.ready([post.text for prefix in prefixes for post in self._sum.left(prefix)[1]])
        totals = np.stack([self._sum(prefix) for prefix in prefixes])
        totals[[len(prefix.posts) > 1 for prefix in prefixes]] += self._network.tensors["continue"]
        return self._network.probabilities(totals)

    def _add(self, total: Floats | None, post: Post) -> Floats:
        (vector,) = self._encoder([post.text])
        if len(vector) != self._network.dimensions:
            raise UsageError(f"the policy reads vectors of {self._network.dimensions} numbers, not of {len(vector)}")
        summed: Floats = vector if total is None else total + vector
        return summed


def save(folder: Path, tensors: dict[str, Floats], about: dict[str, Any]) -> None:
    """Write a policy; a kill leaves the old one or none, never half of one."""
    from safetensors.numpy import save as dump

    folder.mkdir(parents=True, exist_ok=True)
    for name, content in ((WEIGHTS, dump(tensors)), (ABOUT, json.dumps(about, indent=1).encode())):
        part = folder / f".{name}.part"
        part.write_bytes(content)
        part.replace(folder / name)


def saved(folder: Path) -> bool:
    """Whether a finished policy lies there."""
    return (folder / ABOUT).is_file() and (folder / WEIGHTS).is_file()


def read_about(folder: Path) -> dict[str, Any]:
    """How a policy came about.

    Raises:
        UsageError: there is none, or it cannot be read.
    """
    try:
        about = json.loads((folder / ABOUT).read_text("utf-8"))
        if not isinstance(about, dict) or not isinstance(about.get("encoder"), str):
            raise ValueError("it names no encoder")
        return about
    except FileNotFoundError:
        raise UsageError(f"no stop policy in {folder}: python -m training.stopper --out {folder} trains one") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the stop policy in {folder}: {error}") from None


def read_network(folder: Path) -> Network:
    """Load a policy's network.

    Raises:
        UsageError: there is none, or it is damaged.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return Network(load((folder / WEIGHTS).read_bytes()))
    except (OSError, SafetensorError) as error:
        raise UsageError(f"cannot read the stop policy in {folder}: {error}") from None


def learned(folder: Path, encoder: Encoder) -> StopPolicy:
    """Load a policy that reads posts.

    Raises:
        UsageError: there is none, it is damaged, or it reads another encoder's vectors.
    """
    about = read_about(folder)
    if about["encoder"] != encoder.name:
        raise UsageError(f"the stop policy in {folder} reads vectors of {about['encoder']}, not of {encoder.name}")
    return LearnedPolicy(read_network(folder), encoder)


def digest(folder: Path) -> str:
    """Content address of a policy: what a run that uses it is known by.

    Raises:
        UsageError: there is none.
    """
    read_about(folder)
    try:
        return hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise UsageError(f"cannot read the stop policy in {folder}: {error}") from None
