"""What the training graph is run with: a training that a command has set up, or a description that a caller gives."""

import fcntl
import hashlib
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from graphs.checked import Optional, checked
from graphs.open_once import TRAINING, on_disk
from training.jsdrv.cycle import Cycle
from training.jsdrv.networks import opener, prompts_shown
from training.jsdrv.settings import read_jsdrv
from training.jsdrv.watcher import Watcher


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class TrainingContext:
    """What JSDRV is trained on and how; what a caller of the graph may set, all of it optional."""

    dataset: Annotated[str, Field(description="Corpus of the labelled and the unlabelled claims")] = "sample"
    data_dir: Annotated[Optional, Field(description="Where corpora lie")] = None
    seeds_share: Annotated[float, Field(description="Share of the labelled claims that are seeds", gt=0, le=1)] = 0.5
    exclude_overlap: Annotated[
        str, Field(description="Corpora, separated by spaces, whose claims are left out: what will be tested on")
    ] = ""
    network: Annotated[
        str, Field(description="The two networks: encoder, hf:PATH-OR-NAME, openai:NAME, scripted:FILE")
    ] = "encoder"
    base_url: Annotated[Optional, Field(description="Address of an OpenAI-compatible server")] = None
    prompts: Annotated[Optional, Field(description="Folder of prompt files that replace ours by name")] = None
    out: Annotated[
        Optional, Field(description="Folder of the training; a place in the cache for each set of answers here")
    ] = None
    review: Annotated[bool, Field(description="Wait for a person before anything is learned")] = False
    seed: Annotated[int, Field(description="Of all chance", ge=0)] = 0
    settings: Annotated[
        str, Field(description="Settings NAME=VALUE, separated by spaces, such as: epochs=3 claims=50 ablate=RSS")
    ] = ""

    _checked = checked()


def cycle_of(context: "TrainingContext | Cycle | None") -> Cycle:
    """The training that a graph runs: a command brings one, other callers describe it, None means the defaults.

    Raises:
        UsageError: it cannot be what is described.
    """
    if isinstance(context, Cycle):
        return context
    given = context or TrainingContext()
    files = on_disk(given.dataset, *given.exclude_overlap.split(), given.network)
    with _one_at_a_time:  # two first requests must not both read the corpora
        return _open(given, files)


@contextmanager
def held(context: "TrainingContext | Cycle | None") -> Iterator[Cycle]:
    """The training that a node works on; of those that callers describe, no other run or command works on it meanwhile.

    A second run of the same training waits, and then finds what the first one did. A command that brings its training
    holds the folder itself.
    """
    cycle = cycle_of(context)
    if cycle is context:
        yield cycle
        return
    with (cycle.place / ".lock").open("w") as lock:
        # The folder first: a command may hold it for an hour, and nobody else's training waits for that. Whoever holds
        # TRAINING waits for folders of its own only, since Cycle.own lets one training into each.
        fcntl.flock(lock, fcntl.LOCK_EX)
        with TRAINING:
            yield cycle


def open_cycle(context: TrainingContext, watcher: Watcher | None = None) -> Cycle:
    """Read the corpora and make ready; the folder is not touched yet.

    Raises:
        UsageError: a name or a value is wrong, or a corpus is missing.
    """
    from agents.encoder import Encoder
    from corpora.locate import cache_dir
    from graphs.jsdrv.corpora import read_claims

    settings = read_jsdrv(context.settings.split())
    prompts = Path(context.prompts) if context.prompts else None
    encoder = Encoder(cache=cache_dir(os.environ))
    networks = opener(context.network, base_url=context.base_url, prompts=prompts, encoder=encoder, settings=settings)
    claims = read_claims(
        context.dataset,
        settings,
        seeds_share=context.seeds_share,
        without=context.exclude_overlap.split(),
        seed=context.seed,
        data_dir=Path(context.data_dir) if context.data_dir else None,
        environ=os.environ,
    )
    if watcher:
        for note in claims.notes:
            watcher.say(note)
    return Cycle(
        networks,
        claims.labelled,
        claims.unlabelled,
        _out(context),
        settings,
        encoder,
        context.seed,
        stance_examples=claims.stances,
        about={**claims.about, "network": context.network, "prompts": prompts_shown(context.network, prompts)},
        review=context.review,
        watcher=watcher,
    )


_one_at_a_time = threading.Lock()


@lru_cache(maxsize=2)
def _open(context: TrainingContext, _: Any) -> Cycle:
    cycle = open_cycle(context)
    cycle.own()
    return cycle


def _out(context: TrainingContext) -> Path:
    """The folder named, or one in the cache that belongs to just this description."""
    if context.out:
        return Path(context.out)
    from corpora.locate import cache_dir

    known = {name: value for name, value in asdict(context).items() if name not in ("base_url", "review", "data_dir")}
    address = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16]
    return cache_dir(os.environ) / "jsdrv" / address
