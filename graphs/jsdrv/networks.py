"""JSDRV's networks for `eval.run`: where those of a run are kept, training those that are missing, opening any.

Networks are known by all that they learned from (seeds with labels, unlabelled claims, stance corpora, settings), so
those that stand are found again by any command, and any change of these makes others.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agents.debate.scoring import StanceScorer
from agents.encoder import Encoder
from agents.jsdrv.annotation import Networks
from agents.models import ModelSettings
from corpora.catalog import load
from corpora.corpus import fingerprint
from corpora.errors import UsageError
from corpora.locate import cache_dir
from corpora.splits import exclude_overlap
from corpora.thread import ClaimThread
from graphs import saved_networks
from graphs.jsdrv.corpora import read_stances, stances_here
from graphs.jsdrv.training import train as train_in
from graphs.parts import Parts
from training.jsdrv.cycle import VERSION, Nobody, Watcher
from training.jsdrv.networks import open_networks, opener, prompts_shown
from training.jsdrv.selector import FILE, Embed, Selector
from training.jsdrv.settings import JsdrvSettings


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
    networks = open_networks(
        kind,
        directory / saved_networks.NETWORKS,
        seed=parts.seed,
        log=parts.log,
        base_url=parts.base_url,
        prompts=parts.prompts,
        encoder=embed,
        chat=parts.chat,
    )
    ablated = (about.get("settings") or {}).get("ablate") == "RSS"
    selector = None if ablated else Selector(int(about["dimensions"])).load(directory / FILE)
    return networks, selector, embed


def scorer_of(directory: Path, parts: Parts) -> StanceScorer:
    """SD as S2MAD's scorer: P(S) - P(D) of each comment, in [-1, 1]; 0 where SD gives no probabilities.

    Raises:
        UsageError: the folder holds no networks.
    """
    networks, _, _ = open_folder(directory, parts)

    async def score(thread: ClaimThread, numbers: Sequence[int]) -> list[float]:
        said = await networks.stances(thread, numbers)
        return [(each.probabilities or {}).get("S", 0.0) - (each.probabilities or {}).get("D", 0.0) for each in said]

    return score


def _embed(parts: Parts) -> Encoder:
    return parts.encoder or Encoder(cache=cache_dir(os.environ))


def _settings(parts: Parts) -> JsdrvSettings:
    return parts.jsdrv or JsdrvSettings()


def _changed(settings: JsdrvSettings) -> dict[str, Any]:
    """Those that are not the defaults, so that a setting added later orphans no networks of before."""
    standard = asdict(JsdrvSettings())
    return {name: value for name, value in asdict(settings).items() if value != standard[name]}


def _left_out(parts: Parts) -> list[str]:
    """Threads of the bundled stance corpus that are tested, and so not learned from."""
    bundled = load("sample", environ=os.environ).threads if parts.tested else []
    return [thread.id for thread in exclude_overlap(bundled, parts.tested)[1]]


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
    return {
        name: value
        for name in ("temperature", "max_tokens")
        if (value := getattr(parts.chat, name)) != getattr(standard, name)
    }
