"""JSDRV's networks as a sentence encoder (the paper's JSDRV-Bert): no chat model, two CPU cores are enough.

SD reads a post and gives its stance; RV reads the claim, the mean vector of the kept posts and the mean of their stance
distributions, and gives the claim's veracity. An explanation is the label's description: an encoder has no other words.

SD does not read the claim: with it a network fits the conversations that it learned from a little better and others far
worse (as in agents/debate/stance_scorer.py). The source post supports its own claim; how surely is what the bundled
corpus says. docs/jsdrv.md has the figures behind both.

Learned on one corpus, SD finds the classes of another in wrong proportions. `offsets` are added to its scores so that
over conversations without labels the proportions come out as expected (see training/jsdrv/proportions.py).
"""

import asyncio
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from agents.encoder import Encoder
from agents.jsdrv.annotation import STANCES, VERACITIES, Annotation, Kept
from agents.jsdrv.stem import Stem, Tower
from corpora.errors import UsageError
from corpora.thread import ClaimThread

if TYPE_CHECKING:
    from torch import Tensor

METHOD = "classifier"
FILE, ABOUT = "networks.safetensors", "networks.json"
STANCE_WORDS = {
    "S": "This post supports the claim.",
    "D": "This post denies the claim.",
    "Q": "This post questions the claim.",
    "C": "This post only comments on the claim.",
}
VERACITY_WORDS = {
    "N": "This is not a rumor.",
    "T": "This rumor is true.",
    "F": "This rumor is false.",
    "U": "This rumor is unverified.",
}
# All 192 source posts of the bundled corpus support their claims; Laplace's rule for what that leaves open.
SOURCE = {"S": 193 / 196, "D": 1 / 196, "Q": 1 / 196, "C": 1 / 196}
DROPOUT = 0.1
POSTS_SCALE = 6.0
"""Length of the mean vector of kept posts: about that of a tower's vectors, or a head would hardly see it."""


class StanceNetwork(nn.Module):
    """SD: states of a post in, log-probabilities of STANCES out."""

    def __init__(self, stem: Stem) -> None:
        super().__init__()
        self.tower = Tower(stem)
        self.drop = nn.Dropout(DROPOUT)
        self.head = nn.Linear(stem.size, len(STANCES))
        self.offsets: Tensor
        self.register_buffer("offsets", torch.zeros(len(STANCES)))

    def forward(self, states: "Tensor", mask: "Tensor") -> "Tensor":
        """Scores without offsets: (posts, tokens, d) -> (posts, 4)."""
        scores: Tensor = self.head(self.drop(self.tower(states, mask)))
        return scores


class VeracityNetwork(nn.Module):
    """RV: states of a claim and what is known of its kept posts in, scores of VERACITIES out."""

    def __init__(self, stem: Stem, vector: int) -> None:
        super().__init__()
        self.tower = Tower(stem)
        self.drop = nn.Dropout(DROPOUT)
        self.head = nn.Linear(stem.size + vector + len(STANCES), len(VERACITIES))

    def forward(self, states: "Tensor", mask: "Tensor", posts: "Tensor") -> "Tensor":
        """(claims, tokens, d) and (claims, vector + 4) -> (claims, 4)."""
        scores: Tensor = self.head(torch.cat([self.drop(self.tower(states, mask)), posts], dim=1))
        return scores


class EncoderNetworks:
    """SD and RV on one stem."""

    def __init__(self, stem: Stem, encoder: Encoder, seed: int = 0) -> None:
        """Make new networks.

        Args:
            stem: What they have in common.
            encoder: Gives the vectors of kept posts.
            seed: Of the heads' first weights.
        """
        self.stem, self.encoder = stem, encoder
        self.name = "encoder" if stem.name == encoder.name else stem.name
        self.vector = encoder(["a"]).shape[1]
        with torch.random.fork_rng([]):
            torch.manual_seed(seed)
            self.sd = StanceNetwork(stem).to(stem.device).eval()
            self.rv = VeracityNetwork(stem, self.vector).to(stem.device).eval()
        self._lock = threading.Lock()

    async def stances(self, thread: ClaimThread, numbers: Sequence[int]) -> list[Annotation]:
        """Annotate posts; see Networks."""
        return await asyncio.to_thread(self._stances, thread, numbers)

    def _stances(self, thread: ClaimThread, numbers: Sequence[int]) -> list[Annotation]:
        texts = [thread.posts[number].text for number in numbers]
        with self._lock:
            rows = self.stance_scores(texts).add(self.sd.offsets.cpu()).softmax(1).tolist() if texts else []
        return [
            _annotation(SOURCE if number == 0 else dict(zip(STANCES, row, strict=True)), STANCE_WORDS)
            for number, row in zip(numbers, rows, strict=True)
        ]

    async def veracity(self, thread: ClaimThread, kept: Kept) -> Annotation:
        """Judge a claim; see Networks."""
        return await asyncio.to_thread(self._veracity, thread, kept)

    def _veracity(self, thread: ClaimThread, kept: Kept) -> Annotation:
        with self._lock:
            posts = self.posts_of(thread, kept)
            with torch.inference_mode():
                (row,) = self.rv(*self.stem([thread.source.text]), posts).softmax(1).tolist()
        return _annotation(dict(zip(VERACITIES, row, strict=True)), VERACITY_WORDS)

    @torch.inference_mode()
    def stance_scores(self, texts: Sequence[str]) -> "Tensor":
        """SD's scores without offsets, for texts: (texts, 4), on the CPU."""
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        scores = torch.empty(len(texts), len(STANCES))
        self.stem.warm(texts)
        for start in range(0, len(order), 64):
            places = order[start : start + 64]
            scores[places] = self.sd(*self.stem([texts[place] for place in places])).cpu()
        return scores

    def posts_of(self, thread: ClaimThread, kept: Kept) -> "Tensor":
        """What RV knows of kept posts: (1, vector + 4); their mean vector, scaled, and their mean stances.

        Zeros where no post is kept, or, in pre-training, where no stance is known.
        """
        posts = torch.zeros(1, self.vector + len(STANCES))
        replies = [number for number in kept if number > 0]  # the source's text is read as the claim
        if replies:
            mean = torch.from_numpy(self.encoder([thread.posts[number].text for number in replies]).mean(axis=0))
            posts[0, : self.vector] = POSTS_SCALE * mean / (mean.norm() or 1.0)
        known = [each.probabilities for number, each in kept.items() if number > 0 and each.probabilities]
        for place, stance in enumerate(STANCES, start=self.vector):
            posts[0, place] = POSTS_SCALE * sum(each[stance] for each in known) / max(1, len(known))
        return posts.to(self.stem.device)

    def save(self, folder: Path) -> None:
        """Write both networks; the stem stays where it came from."""
        from safetensors.torch import save_file

        folder.mkdir(parents=True, exist_ok=True)
        tensors = {f"sd.{name}": tensor for name, tensor in self.sd.state_dict().items()}
        tensors |= {f"rv.{name}": tensor for name, tensor in self.rv.state_dict().items()}
        save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, folder / FILE)
        about = {"kind": "encoder", "stem": self.stem.name, "encoder": self.encoder.name}
        (folder / ABOUT).write_text(json.dumps(about))

    def load(self, folder: Path) -> None:
        """Read what `save` wrote.

        Raises:
            UsageError: the files are missing, damaged or of another encoder.
        """
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            tensors = load_file(folder / FILE)
            if not all(bool(tensor.isfinite().all()) for tensor in tensors.values()):
                raise RuntimeError("some of their weights are no numbers")
            for prefix, network in (("sd.", self.sd), ("rv.", self.rv)):
                network.load_state_dict({n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)})
        except (OSError, SafetensorError, RuntimeError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise UsageError(f"{folder} holds no networks of {self.stem.name}: {reason}") from None


def read_about(folder: Path) -> dict[str, Any]:
    """What `save` wrote beside the tensors.

    Raises:
        UsageError: there is nothing, or nothing that can be read.
    """
    try:
        found = json.loads((folder / ABOUT).read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{folder} holds no networks: {error}") from None
    if not isinstance(found, dict) or not isinstance(found.get("stem"), str):
        raise UsageError(f"{folder / ABOUT} is not what encoder networks write: it names no stem")
    return found


def _annotation(probabilities: dict[str, float], words: dict[str, str]) -> Annotation:
    label = max(probabilities, key=probabilities.__getitem__)
    return Annotation(label, probabilities, words[label], METHOD)
