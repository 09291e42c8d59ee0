"""All that one training of JSDRV works with: claims, settings, networks, and the folder that it is kept in.

Below DIR/training/ lies a folder for each epoch, epoch-000 for what pre-training left. A step of an epoch reads what
the steps before it wrote and draws its chance from (seed, epoch, step), so a step that was killed is simply taken
again, and one whose result lies there is not.

A tenth of the labelled claims is held out for validation and neither drawn nor learned from.
"""

import asyncio
import gc
import hashlib
import json
import threading
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from agents.jsdrv.annotation import StanceExample, Trainable
from corpora.corpus import fingerprint
from corpora.errors import UsageError
from corpora.splits import stratified
from corpora.thread import ClaimThread, Gold, Veracity
from training.jsdrv import files
from training.jsdrv.networks import Opener
from training.jsdrv.selector import FILE, Embed, Selector
from training.jsdrv.settings import JsdrvSettings
from training.jsdrv.watcher import Nobody, Watcher

VERSION = 1
"""Raised when what a training computes changes, so that a folder of before is not gone on with."""
HELD_OUT = 0.1
CHANCE = ("hold out", "annotate", "select")
"""Steps that draw."""

T = TypeVar("T")


@runtime_checkable
class Closes(Protocol):
    """Networks that hold threads, connections or a GPU's memory."""

    async def close(self) -> None:
        """Give them back."""


class Cycle:
    """One training."""

    def __init__(
        self,
        networks: Opener,
        labelled: Sequence[ClaimThread],
        unlabelled: Sequence[ClaimThread],
        out: Path,
        settings: JsdrvSettings,
        embed: Embed,
        seed: int,
        *,
        stance_examples: Sequence[Sequence[StanceExample]] = (),
        about: Mapping[str, Any] | None = None,
        review: bool = False,
        watcher: Watcher | None = None,
    ) -> None:
        """Hold out the validation claims, and hide all gold labels but those of the seeds.

        Args:
            networks: Opens SD and RV.
            labelled: Claims with a veracity: the seeds.
            unlabelled: Claims whose veracity, if they have one, is not looked at.
            out: The folder.
            settings: Of the training.
            embed: Texts to vectors, for the selector.
            seed: Of all chance.
            stance_examples: What SD is pre-trained on, a corpus after the other.
            about: What else decides the outcome or should be said of it, as plain values.
            review: Whether a person sees what was kept before it is learned.
            watcher: Is told how far it is.

        Raises:
            UsageError: no claim is labelled.
        """
        if not labelled:
            raise UsageError("JSDRV learns from labelled claims and there is none: choose another corpus or more seeds")
        if any(thread.gold.veracity is None for thread in labelled):
            raise UsageError("JSDRV learns veracity (N, T, F, U), which these claims lack: choose another corpus")
        self.out, self.place = out, out / "training"
        self.settings, self.embed, self.seed, self.review = settings, embed, seed, review
        self.watcher: Watcher = watcher or Nobody()
        self.request = {
            "version": VERSION,
            "seed": seed,
            "settings": asdict(settings),
            "encoder": getattr(embed, "name", None),
            "labelled": fingerprint(labelled),
            "unlabelled": fingerprint(unlabelled),
            "stance_examples": [_digest(corpus) for corpus in stance_examples if corpus],
            **(about or {}),
        }
        everything = [*labelled, *unlabelled]
        self.threads = {thread.id: replace(thread, gold=Gold()) for thread in everything}
        self.veracities: dict[str, Veracity] = {
            thread.id: thread.gold.veracity for thread in labelled if thread.gold.veracity
        }
        held = round(HELD_OUT * len(labelled))
        chosen = (
            stratified(labelled, lambda thread: thread.gold.veracity, held, self.rng(0, "hold out")) if held else []
        )
        self.validation = [thread.id for thread in chosen]
        self.seeds = [thread.id for thread in labelled if thread.id not in set(self.validation)]
        self.unlabelled = [thread.id for thread in unlabelled]
        self.stance_corpora = [list(corpus) for corpus in stance_examples if corpus]
        self.gold_stances = {
            (thread.id, number): stance
            for thread in everything
            if settings.supervised and thread.id not in self.validation
            for number, post in enumerate(thread.posts)
            if (stance := thread.gold.stances.get(post.id))
        }
        self._opener = networks
        self._held: tuple[int, Trainable] | None = None
        self._taken: Trainable | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return (self.out / "about.json").is_file()

    def own(self) -> None:
        """Write down whose folder it is.

        Raises:
            UsageError: it is that of a training with other settings, or no folder.
        """
        file, wanted = self.place / "request.json", _flat(json.loads(json.dumps(self.request)))
        try:
            found = files.get_json(file)
            if found is None and (self.finished or (self.out / "networks").exists()):
                raise UsageError(f"{self.out} holds networks of another training: choose another --out")
            if found is None:
                files.put_json(file, self.request)
                return
            known = _flat(found)
        except (OSError, ValueError, AttributeError) as error:
            raise UsageError(f"--out {self.out} cannot be used: {error}") from None
        other = sorted(name for name in known.keys() | wanted.keys() if known.get(name) != wanted.get(name))
        if other:
            shown = ", ".join(other[:4]) + (" ..." if len(other) > 4 else "")
            raise UsageError(f"{self.out} holds a training with other settings ({shown}): choose another --out")

    def folder(self, epoch: int) -> Path:
        """Where an epoch is kept."""
        return self.place / f"epoch-{epoch:03d}"

    def read(self, epoch: int, name: str) -> Any:
        """What a step of an epoch wrote; None if it has not been taken."""
        return files.get_json(self.folder(epoch) / f"{name}.json")

    def write(self, epoch: int, name: str, content: Any) -> Any:
        """Write what a step of an epoch found; returns it."""
        files.put_json(self.folder(epoch) / f"{name}.json", content)
        return content

    def rng(self, epoch: int, step: str) -> np.random.Generator:
        """The chance of one step."""
        return np.random.default_rng([self.seed, epoch, CHANCE.index(step)])

    def networks(self, epoch: int) -> Trainable:
        """The networks as an epoch left them; to be asked, not trained."""
        source = int(self.read(epoch, "training")["networks"])
        if self._held is None or self._held[0] != source:
            self._let_go()  # two pairs of large models may not fit beside each other
            seed = int(np.random.SeedSequence([self.seed, source]).generate_state(1)[0] >> 1)
            self._held = (source, self._opener(self.folder(source) / "networks", seed))
        return self._held[1]

    def take_networks(self, epoch: int | None) -> Trainable:
        """The same, to be trained; None for new ones. What they become is read from disk by whoever asks next."""
        if epoch is None:
            self._let_go()
        networks = self._opener(None, self.seed) if epoch is None else self.networks(epoch)
        self._held, self._taken = None, networks
        return networks

    def selector(self, epoch: int | None) -> Selector:
        """The selector as an epoch left it; None for a new one."""
        settings = self.settings
        every = len(self.seeds) + len(self.unlabelled)
        claims = every if settings.ablate == "epRV" else min(settings.claims, every)
        selector = Selector(
            self.embed([self.threads[self.seeds[0]].source.text]).shape[1],
            learning_rate=settings.selector_lr,
            warm_up=settings.warm_up,
            steps=settings.epochs * -(-claims // settings.selector_batch),
            baseline=settings.baseline,
        )
        return selector if epoch is None else selector.load(self.folder(epoch) / FILE)

    @property
    def posts(self) -> int:
        """Posts annotated of a claim; 0 for all."""
        return 0 if self.settings.ablate == "epSD" else self.settings.posts

    def first_posts(self, thread: ClaimThread) -> list[int]:
        """The places of the replies that are read where nothing is drawn: the earliest."""
        return list(range(1, len(thread.posts)))[: self.posts or None]

    def run(self, asking: Coroutine[Any, Any, T]) -> T:
        """Wait for the networks. All of it happens in one event loop: a client belongs to the one it began in."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, daemon=True, name="networks").start()
        future = asyncio.run_coroutine_threadsafe(asking, self._loop)
        try:
            return future.result()
        except BaseException:  # a person's Ctrl-C: nothing more shall be asked
            future.cancel()
            raise

    def _let_go(self) -> None:
        """Close the networks that are open; what nobody else holds of them is out of memory then."""
        for networks in (self._held[1] if self._held else None, self._taken):
            if isinstance(networks, Closes):
                self.run(networks.close())
        if self._held is not None or self._taken is not None:
            networks = self._held = self._taken = None
            gc.collect()  # models are full of cycles, and on a GPU nobody counts what they hold

    def close(self) -> None:
        """Let the networks go."""
        self._let_go()
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = None


def _digest(examples: Sequence[StanceExample]) -> str:
    shown = [(each.thread.id, each.thread.posts[each.number].text, each.label) for each in examples]
    return hashlib.sha256(repr(shown).encode("utf-8", "surrogatepass")).hexdigest()


def _flat(request: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in request.items() if name != "settings"} | dict(request["settings"])
