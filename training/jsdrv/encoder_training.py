"""Training of the encoder networks (agents/jsdrv/encoder_networks.py): AdamW on the towers and heads.

A corpus that has only some of the classes (P-Stance: favour and against) teaches those: the others' scores are left out
of its loss.
"""

import hashlib
import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import nn

from agents.encoder import EMBEDDED, Encoder
from agents.jsdrv.annotation import STANCES, VERACITIES, Progress, StanceExample, VeracityExample
from agents.jsdrv.encoder_networks import EncoderNetworks, read_about
from agents.jsdrv.stem import stem_of
from corpora.thread import ClaimThread
from training.jsdrv.proportions import KNOWN, offsets

if TYPE_CHECKING:
    from torch import Tensor

VERSION = 1
"""Raised when what pre-training computes changes, so that the cache of before is not used."""
BATCH = 32
SHUFFLED_TOGETHER = 8
"""Batches whose examples are sorted by length among themselves: little padding, and yet enough chance."""
HEAD_LR = 1e-3
WARM_UP = 0.1
WEIGHT_DECAY = 0.01
STANCE_LR, STANCE_PASSES = 2e-4, 3
AUXILIARY_LR, AUXILIARY_PASSES = 1e-4, 1
"""Of a corpus that lacks some of the classes."""
VERACITY_LR, VERACITY_PASSES = 2e-4, 5
STANCE_TUNING_LR, STANCE_TUNING_PASSES = 5e-5, 1
VERACITY_TUNING_LR, VERACITY_TUNING_PASSES = 1e-4, 2
ALIGNED_ON = 800
"""Posts without labels that offsets are found on."""


class EncoderTrainer(EncoderNetworks):
    """Encoder networks that learn."""

    def __init__(
        self,
        *,
        seed: int,
        folder: Path | None = None,
        stem: str = EMBEDDED,
        encoder: Encoder | None = None,
        cache: Path | None = None,
    ) -> None:
        """Make new networks, or open saved ones.

        Args:
            seed: Of first weights, of the order of examples, of dropout.
            folder: What `save` wrote; None for new networks.
            stem: The encoder that they begin as; a folder knows its own.
            encoder: Gives sentence vectors; None for one without a cache on disk.
            cache: Where pre-trained networks are kept, for all trainings that begin alike; None for nowhere.

        Raises:
            UsageError: there is no such encoder, or the folder does not hold networks.
        """
        about = read_about(folder) if folder else {}
        super().__init__(stem_of(about["stem"] if folder else stem), encoder or Encoder(cache=None), seed)
        if folder:
            self.load(folder)
        self._seed, self._cache = seed, cache

    def pretrain_stances(self, examples: Sequence[StanceExample], progress: Progress | None = None) -> list[float]:
        """Learn stances; a corpus at a time, the one that has all classes last."""
        whole = {example.label for example in examples} == set(STANCES)
        lr, passes = (STANCE_LR, STANCE_PASSES) if whole else (AUXILIARY_LR, AUXILIARY_PASSES)
        what = [(each.thread.posts[each.number].text, each.label) for each in examples]
        return self._once(self.sd, (what, lr, passes), lambda: self._fit_stances(examples, lr, passes, progress))

    def fine_tune_stances(self, examples: Sequence[StanceExample], progress: Progress | None = None) -> list[float]:
        """Learn from posts that SD labelled."""
        return self._fit_stances(examples, STANCE_TUNING_LR, STANCE_TUNING_PASSES, progress)

    def pretrain_veracity(self, examples: Sequence[VeracityExample], progress: Progress | None = None) -> list[float]:
        """Learn from the seeds."""
        what = [([post.text for post in each.thread.posts], sorted(each.kept), each.label) for each in examples]
        return self._once(
            self.rv,
            (what, VERACITY_LR, VERACITY_PASSES),
            lambda: self._fit_veracity(examples, VERACITY_LR, VERACITY_PASSES, progress),
        )

    def fine_tune_veracity(self, examples: Sequence[VeracityExample], progress: Progress | None = None) -> list[float]:
        """Learn from the claims that were kept."""
        return self._fit_veracity(examples, VERACITY_TUNING_LR, VERACITY_TUNING_PASSES, progress)

    def align(self, threads: Sequence[ClaimThread]) -> None:
        """Find SD's offsets on conversations without labels; their sources are left out, as they are no replies."""
        texts = [post.text for thread in threads for post in thread.posts[1:]]
        if not texts:
            return
        texts = random.Random(self._seed).sample(texts, min(len(texts), ALIGNED_ON))  # noqa: S311
        wanted = np.array([KNOWN[stance] for stance in STANCES])
        found = offsets(self.stance_scores(texts).double().numpy(), wanted)
        self.sd.offsets.copy_(torch.from_numpy(found))

    def _once(self, network: nn.Module, what: Any, fit: Callable[[], list[float]]) -> list[float]:
        """Pre-train, unless a training that began alike has left the outcome in the cache.

        Args:
            network: What is trained.
            what: All that it learns from, as plain values.
            fit: Trains it.
        """
        if self._cache is None:
            return fit()
        begun = hashlib.sha256(save({name: tensor.cpu() for name, tensor in network.state_dict().items()})).hexdigest()
        asked = repr((VERSION, torch.__version__, self.stem.name, self.encoder.name, self._seed, begun, what))
        key = hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        file = self._cache / f"{key}.safetensors"
        try:
            kept = load(file.read_bytes())
            losses: list[float] = kept.pop("losses").tolist()
            network.load_state_dict(kept)
            return losses
        except (OSError, SafetensorError, KeyError, RuntimeError):
            losses = fit()
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()}
        self._cache.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}.part")
        part.write_bytes(save(tensors | {"losses": torch.tensor(losses, dtype=torch.float64)}))
        part.replace(file)
        return losses

    def _fit_stances(
        self, examples: Sequence[StanceExample], lr: float, passes: int, progress: Progress | None
    ) -> list[float]:
        # The source is no reply: what SD says of it is known without its text.
        rows = [(each.thread.posts[each.number].text, each.label) for each in examples if each.number > 0]
        if not rows:
            return []
        self.stem.warm([text for text, _ in rows])
        there = torch.tensor([stance in {label for _, label in rows} for stance in STANCES])
        absent = torch.where(there, 0.0, -torch.inf).to(self.stem.device)

        def loss(batch: Sequence[Any]) -> "Tensor":
            scores = self.sd(*self.stem([text for text, _ in batch])) + self.sd.offsets + absent
            return nn.functional.cross_entropy(scores, self._classes([label for _, label in batch], STANCES))

        return self._fit(self.sd, rows, lambda row: self.stem.length(row[0]), loss, lr, passes, progress)

    def _fit_veracity(
        self, examples: Sequence[VeracityExample], lr: float, passes: int, progress: Progress | None
    ) -> list[float]:
        if not examples:
            return []
        self.stem.warm([each.thread.source.text for each in examples])
        posts = [self.posts_of(each.thread, each.kept) for each in examples]
        rows = [(each.thread.source.text, each.label, row) for each, row in zip(examples, posts, strict=True)]
        # Two thirds of PHEME are no rumors, a quarter of RumorEval-S: what is common shall not count for more.
        counts = Counter(each.label for each in examples)
        weights = torch.tensor([len(rows) / len(counts) / max(1, counts[label]) for label in VERACITIES])
        weights = weights.to(self.stem.device)

        def loss(batch: Sequence[Any]) -> "Tensor":
            scores = self.rv(*self.stem([text for text, _, _ in batch]), torch.cat([row for *_, row in batch]))
            return nn.functional.cross_entropy(scores, self._classes([row[1] for row in batch], VERACITIES), weights)

        return self._fit(self.rv, rows, lambda row: self.stem.length(row[0]), loss, lr, passes, progress)

    def _classes(self, labels: Sequence[str], classes: Sequence[str]) -> "Tensor":
        return torch.tensor([classes.index(label) for label in labels], device=self.stem.device)

    def _fit(
        self,
        network: nn.Module,
        rows: Sequence[Any],
        length: Callable[[Any], int],
        loss_of: Callable[[Sequence[Any]], "Tensor"],
        lr: float,
        passes: int,
        progress: Progress | None,
    ) -> list[float]:
        """Go over the rows some times; the mean loss of each pass."""
        head = list(network.head.parameters())  # type: ignore[union-attr]
        tower = list(network.tower.parameters())  # type: ignore[union-attr]
        optimizer = torch.optim.AdamW(
            [{"params": tower, "lr": lr}, {"params": head, "lr": HEAD_LR}],
            weight_decay=WEIGHT_DECAY,
        )
        total = passes * -(-len(rows) // BATCH)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: min(1.0, (step + 1) / max(1.0, WARM_UP * total)) * max(0.0, 1 - step / total)
        )
        losses, done = [], 0
        rng = random.Random(self._seed)  # noqa: S311 - no secret
        network.train()
        with torch.random.fork_rng([]):
            torch.manual_seed(self._seed)
            for _ in range(passes):
                summed = 0.0
                for batch in _batches(rows, length, rng):
                    loss = loss_of(batch)
                    optimizer.zero_grad()
                    loss.backward()  # type: ignore[no-untyped-call]
                    optimizer.step()
                    schedule.step()
                    summed += loss.item() * len(batch)
                    done += len(batch)
                    if progress:
                        progress(done, passes * len(rows))
                losses.append(summed / len(rows))
        network.eval()
        return losses


def _batches(rows: Sequence[Any], length: Callable[[Any], int], rng: random.Random) -> list[list[Any]]:
    """The rows in a new order, in batches of like length."""
    shuffled = rng.sample(list(rows), len(rows))
    batches = []
    for start in range(0, len(shuffled), BATCH * SHUFFLED_TOGETHER):
        block = sorted(shuffled[start : start + BATCH * SHUFFLED_TOGETHER], key=length)
        batches += [block[place : place + BATCH] for place in range(0, len(block), BATCH)]
    return rng.sample(batches, len(batches))
