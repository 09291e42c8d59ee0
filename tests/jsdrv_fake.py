"""Networks for tests of JSDRV's training: what they say is decided by chance and by all that they were taught."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from agents.jsdrv.annotation import STANCES, VERACITIES, Annotation, Kept, StanceExample, VeracityExample
from agents.models import ModelError
from corpora.thread import ClaimThread, Gold, Post
from graphs.jsdrv.training import check, train
from training.jsdrv.cycle import Cycle
from training.jsdrv.settings import read_jsdrv

SMALL = ("epochs=2", "claims=10", "posts=3", "selector_lr=0.01")


def chance(text: str) -> np.random.Generator:
    return np.random.default_rng(list(hashlib.sha256(text.encode()).digest()))


def embed(texts: list[str]) -> np.ndarray:
    return np.stack([chance(text).normal(size=4) for text in texts]).astype(np.float32)


def odds(text: str, labels: Sequence[str]) -> dict[str, float]:
    return dict(zip(labels, map(float, chance(text).dirichlet([0.5] * 4)), strict=True))


class Fake:
    """Networks that say what chance and all that they were taught decide."""

    name = "fake"
    taught: ClassVar[list[tuple[str, Any]]] = []
    """In this process, by all of them."""
    fails: ClassVar[set[str]] = set()
    """Claims of which the model cannot be asked."""

    def __init__(self, folder: Path | None, seed: int) -> None:
        about = json.loads((folder / "networks.json").read_text()) if folder else {"learned": f"seed {seed}"}
        self.learned: str = about["learned"]

    async def stances(self, thread: ClaimThread, numbers: Sequence[int]) -> list[Annotation]:
        assert thread.gold == Gold(), "no gold label may be shown to the networks"
        if thread.id in self.fails:
            raise ModelError("too long")
        said = []
        for number in numbers:
            text = thread.posts[number].text
            found = odds(self.learned + text, STANCES)
            best = max(found, key=found.get)
            said.append(Annotation(None, reason="hm") if "mumble" in text else Annotation(best, found, f"{best} it"))
        return said

    async def veracity(self, thread: ClaimThread, kept: Kept) -> Annotation:
        assert thread.gold == Gold()
        assert list(kept) == sorted(kept)
        if "riddle" in thread.source.text:
            return Annotation(None, reason="hm")
        found = odds(self.learned + thread.source.text + str([kept[n].label for n in kept]), VERACITIES)
        return Annotation(max(found, key=found.get), found, "because")

    def _learn(self, what: str, examples: Sequence[Any], progress: Any) -> list[float]:
        shown = [(each[0].id, each[1] if what.endswith("stances") else sorted(each[1]), each[2]) for each in examples]
        self.taught.append((what, examples))
        self.learned = hashlib.sha256(f"{self.learned}{what}{shown}".encode()).hexdigest()
        progress(len(examples), len(examples))
        return [1.0, 0.5]

    def pretrain_stances(self, examples: Sequence[StanceExample], progress: Any = None) -> list[float]:
        return self._learn("pretrain stances", examples, progress)

    def pretrain_veracity(self, examples: Sequence[VeracityExample], progress: Any = None) -> list[float]:
        return self._learn("pretrain veracity", examples, progress)

    def fine_tune_stances(self, examples: Sequence[StanceExample], progress: Any = None) -> list[float]:
        return self._learn("stances", examples, progress)

    def fine_tune_veracity(self, examples: Sequence[VeracityExample], progress: Any = None) -> list[float]:
        return self._learn("veracity", examples, progress)

    def save(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "networks.json").write_text(json.dumps({"kind": "fake", "learned": self.learned}))


def claims(n: int, name: str) -> list[ClaimThread]:
    found = []
    for k in range(n):
        texts = [f"{name} claim {k}", *(f"{name} {k} reply {j}" for j in range(5))]
        texts[2] += " mumble" if k % 3 == 0 else ""
        texts[0] += " riddle" if k == n - 1 else ""
        posts = tuple(Post(f"p{j}", text, None, "a", "p0" if j else None) for j, text in enumerate(texts))
        gold = Gold(veracity=VERACITIES[k % 4], stances={"p1": "Q", "p3": "Q"})
        found.append(ClaimThread(f"{name}{k}", posts, gold))
    return found


STANCE_CORPUS = [StanceExample(claims(1, "stance")[0], 1, "S")]


def cycle(out: Path, *words: str, **more: Any) -> Cycle:
    settings = read_jsdrv((*SMALL, *words))
    known, others = claims(20, "known"), claims(12, "other")
    made = Cycle(Fake, known, others, out, settings, embed, 1, stance_examples=[STANCE_CORPUS], **more)
    made.own()
    return made


def trained(out: Path, *words: str, watcher: Any = None) -> dict[str, Any]:
    Fake.taught.clear()
    settings = read_jsdrv((*SMALL, *words))
    train(Fake, claims(20, "known"), claims(12, "other"), out, settings, embed, 1, watcher, [STANCE_CORPUS])
    return check(out)


def epoch(out: Path, number: int, name: str) -> Any:
    return json.loads((out / "training" / f"epoch-{number:03d}" / f"{name}.json").read_text())


def tree(out: Path) -> dict[str, bytes]:
    files = [path for path in sorted(out.rglob("*")) if path.is_file() and "checkpoints" not in path.name]
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in files}
