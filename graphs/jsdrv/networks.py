"""JSDRV's networks for `eval.run`: where those of a run are kept, training those that are missing, opening any.

Networks are known by all that they learned from (seeds with labels, unlabelled claims, stance corpora, settings), so
those that stand are found again by any command, and any change of these makes others.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from agents.debate.scoring import StanceScorer
from agents.encoder import Encoder
from agents.jsdrv.annotation import STANCES, Annotation, Networks
from agents.models import ModelSettings
from corpora.catalog import load, whereabouts
from corpora.corpus import fingerprint
from corpora.errors import UsageError
from corpora.locate import cache_dir
from corpora.splits import exclude_overlap
from corpora.thread import ClaimThread
from graphs import saved_networks
from graphs.jsdrv.corpora import read_stances, stances_here
from graphs.jsdrv.training import train as train_in
from graphs.parts import Parts
from training.jsdrv import rewards
from training.jsdrv.cycle import VERSION
from training.jsdrv.networks import open_networks, opener, prompts_shown
from training.jsdrv.selector import FILE, Embed, Selector
from training.jsdrv.settings import JsdrvSettings
from training.jsdrv.watcher import Nobody, Watcher


def folder(parts: Parts) -> Path:
    """Where the networks that learn from these parts are kept: below the user's cache."""
    content = json.dumps(_origin(parts), sort_keys=True, default=str)
    return cache_dir(os.environ) / "jsdrv" / hashlib.sha256(content.encode()).hexdigest()[:16]


def missing(parts: Parts) -> bool:
    """Whether those networks have yet to be trained, or their training to be ended."""
    return not (folder(parts) / saved_networks.ABOUT).is_file()


def train(parts: Parts, progress: Watcher | None = None) -> None:
    """Train them, from where an earlier command was interrupted.

    Args:
        parts: Shots are the seeds, the pool is the unlabelled claims. The call log must be one that nobody uses at the
            same time: the training asks from an event loop of its own.
        progress: Is told how far it is.

    Raises:
        UsageError: nothing is labelled, or a model cannot be asked.
    """
    settings, watcher = _settings(parts), progress or Nobody()
    threads = [*parts.shots, *parts.pool]
    languages = {str(thread.language) for thread in threads}
    stances, notes = read_stances(
        settings, languages, without=parts.tested, seed=parts.seed, data_dir=parts.data_dir, environ=os.environ
    )
    for note in notes:
        watcher.say(note)
    networks = opener(
        parts.network,
        log=parts.log,
        base_url=parts.base_url,
        prompts=parts.prompts,
        encoder=_embed(parts),
        settings=settings,
        chat=parts.chat,
        samples=parts.samples,
    )
    train_in(
        networks, parts.shots, parts.pool, folder(parts), settings, _embed(parts), parts.seed, watcher, stances,
        about={"network": parts.network, "prompts": prompts_shown(parts.network, parts.prompts)},
    )  # fmt: skip


def open_folder(directory: Path, parts: Parts) -> tuple[Networks, Selector | None, Embed]:
    """Open finished networks.

    Returns:
        Both networks, the selector (None where it was ablated), and what it sees posts with.

    Raises:
        UsageError: there are none in the folder, or they cannot be opened.
    """
    about = saved_networks.read_about(directory)
    embed, kind = _embed(parts), str(about.get("network") or "encoder")
    if prompts_shown(kind, parts.prompts) != about.get("prompts"):
        raise UsageError(f"{directory} was trained with other prompts: give --prompts the same")
    if about.get("encoder") not in (None, embed.name):
        raise UsageError(f"{directory} was trained with the encoder {about['encoder']}, not with {embed.name}")
    networks = open_networks(
        kind,
        directory / saved_networks.NETWORKS,
        seed=parts.seed,
        log=parts.log,
        base_url=parts.base_url,
        prompts=parts.prompts,
        encoder=embed,
        chat=parts.chat,
        samples=parts.samples,
    )
    if about["settings"].get("ablate") == "RSS":
        return networks, None, embed
    return networks, Selector(embed(["a"]).shape[1]).load(directory / FILE), embed


def scorer_of(directory: Path, parts: Parts) -> StanceScorer:
    """SD as S2MAD's scorer: P(S) - P(D) of each comment, in [-1, 1]; a label without probabilities is sure.

    Where SD abstains there is no score.

    Raises:
        UsageError: the folder holds no networks.
    """
    networks, _, _ = open_folder(directory, parts)

    async def score(thread: ClaimThread, numbers: Sequence[int]) -> list[float | None]:
        return [_score(said) for said in await networks.stances(thread, numbers)]

    return score


def _score(said: Annotation) -> float | None:
    odds = rewards.distribution(said, STANCES)
    return None if odds is None else float(odds[STANCES.index("S")] - odds[STANCES.index("D")])


def _embed(parts: Parts) -> Encoder:
    return parts.encoder or Encoder(cache=cache_dir(os.environ))


def _settings(parts: Parts) -> JsdrvSettings:
    return parts.jsdrv or JsdrvSettings()


def _changed(settings: JsdrvSettings) -> dict[str, Any]:
    """Those that are not the defaults, so that a setting added later orphans no networks of before."""
    standard = asdict(JsdrvSettings())
    return {name: value for name, value in asdict(settings).items() if value != standard[name]}


def _left_out(parts: Parts) -> list[str]:
    """Threads of the stance corpora that are tested, and so not learned from.

    The bundled corpus is among these even where nothing is learned from it: addresses of before depend on it.
    """
    if not parts.tested:
        return []
    names = dict.fromkeys(("sample", *stances_here(_settings(parts), parts.data_dir, os.environ)))
    paths = [whereabouts(name, data_dir=parts.data_dir, environ=os.environ) for name in names]
    corpora = [_threads(name, str(path), parts.data_dir) for name, path in zip(names, paths, strict=True)]
    return [thread.id for threads in corpora for thread in exclude_overlap(threads, parts.tested)[1]]


@lru_cache(maxsize=2)
def _threads(name: str, _: str, data_dir: Path | None) -> list[ClaimThread]:
    """The threads of a stance corpus, read once wherever it lies: addresses are asked for many times in a run."""
    return load(name, data_dir=data_dir, environ=os.environ).threads


def _origin(parts: Parts) -> dict[str, Any]:
    settings = _settings(parts)
    return {
        "version": VERSION,
        "labelled": fingerprint(list(parts.shots)),
        "unlabelled": fingerprint(list(parts.pool)),
        "stances_left_out": _left_out(parts),
        "stances": stances_here(settings, parts.data_dir, os.environ),
        "network": parts.network,
        "base_url": parts.base_url,
        "prompts": prompts_shown(parts.network, parts.prompts),
        "encoder": _embed(parts).name,
        "seed": parts.seed,
        "settings": _changed(settings),
        **_asked(parts),
    }


def _asked(parts: Parts) -> dict[str, Any]:
    """What of an API's settings decides its answers, where it is not the default."""
    if parts.chat is None or parts.network.partition(":")[0] not in ("openai", "scripted"):
        return {}
    standard = ModelSettings("")
    asked = {
        name: value
        for name in ("temperature", "max_tokens")
        if (value := getattr(parts.chat, name)) != getattr(standard, name)
    }
    return asked | ({"samples": parts.samples} if parts.samples > 1 else {})
