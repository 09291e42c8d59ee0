"""The claims that JSDRV is trained on, and the posts that SD is pre-trained on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from agents.jsdrv.annotation import StanceExample
from corpora.catalog import load, whereabouts
from corpora.errors import UsageError
from corpora.labels import LABEL_SETS
from corpora.splits import exclude_overlap, stratified
from corpora.thread import ClaimThread
from training.jsdrv.settings import JsdrvSettings

VERACITY = LABEL_SETS["veracity"]


@dataclass(frozen=True)
class Claims:
    """What a training reads."""

    labelled: list[ClaimThread]
    unlabelled: list[ClaimThread]
    stances: list[list[StanceExample]]
    """Of each stance corpus."""
    about: dict[str, Any]
    """What decided on them."""
    notes: list[str] = field(default_factory=list)
    """What a person should know of it."""


def read_claims(
    dataset: str,
    settings: JsdrvSettings,
    *,
    seeds_share: float = 0.5,
    without: Sequence[str] = (),
    seed: int = 0,
    data_dir: Path | None = None,
    environ: Mapping[str, str],
) -> Claims:
    """Read a corpus and divide its claims into seeds and others.

    Args:
        dataset: Name of the corpus, or FORMAT:PATH.
        settings: Say which stance corpora SD is pre-trained on.
        seeds_share: Share of the claims with a veracity that keep it; the others, and those without, are unlabelled.
        without: Corpora whose claims are left out, because somebody will be tested on them.
        seed: Draws the seeds.
        data_dir: Where to look for corpora first.
        environ: For $HEARSAY_DATA and $XDG_CACHE_HOME.

    Raises:
        UsageError: a corpus is missing, or too few of its claims have a veracity.
    """
    if not 0 < seeds_share <= 1:
        raise UsageError(f"a share of seeds {seeds_share} makes no sense: want more than 0 and at most 1")
    corpus = load(dataset, data_dir=data_dir, environ=environ)
    excluded = [thread for name in without for thread in load(name, data_dir=data_dir, environ=environ).threads]
    threads, dropped = exclude_overlap(corpus.threads, excluded)
    known = [thread for thread in threads if VERACITY.of(thread)]
    n = max(round(seeds_share * len(known)), 1)
    if len(known) < 2:
        raise UsageError(f"{corpus.name} has {len(known)} claims with a veracity (N, T, F, U): choose another corpus")
    rng = np.random.default_rng(seed)
    seeds = known if n >= len(known) else stratified(known, VERACITY.of, n, rng)
    ids = {thread.id for thread in seeds}
    others = [thread for thread in threads if thread.id not in ids]
    stances, notes = read_stances(
        settings, {thread.language for thread in threads}, without=excluded, seed=seed, data_dir=data_dir,
        environ=environ,
    )  # fmt: skip
    if dropped:
        notes.insert(
            0, f"{len(dropped)} claims of {corpus.name} are left out, which are also in {' or '.join(without)}"
        )
    if shared := {thread.id for posts in stances for thread, *_ in posts} & {thread.id for thread in threads}:
        notes.append(f"SD is pre-trained on stances of {len(shared)} of these claims: {corpus.name} has its own")
    about = {
        "dataset": corpus.name,
        "corpus_fingerprint": corpus.fingerprint,
        "seeds_share": seeds_share,
        "exclude_overlap": list(without),
    }
    return Claims(seeds, others, stances, about, notes)


def stances_here(settings: JsdrvSettings, data_dir: Path | None, environ: Mapping[str, str]) -> list[str]:
    """The stance corpora that SD is pre-trained on, as far as they are on this machine."""
    names = sorted(settings.stances.split(","))  # which is the order promised
    return [name for name in names if whereabouts(name, data_dir=data_dir, environ=environ)]


def read_stances(
    settings: JsdrvSettings,
    languages: set[str],
    *,
    without: Sequence[ClaimThread] = (),
    seed: int = 0,
    data_dir: Path | None = None,
    environ: Mapping[str, str],
) -> tuple[list[list[StanceExample]], list[str]]:
    """The posts that SD is pre-trained on.

    Args:
        settings: Which corpora, and how many posts of P-Stance.
        languages: Threads in others are left out.
        without: Threads whose like is left out, because somebody will be tested on them.
        seed: Draws posts of P-Stance.
        data_dir: Where to look for corpora first.
        environ: For $HEARSAY_DATA and $XDG_CACHE_HOME.

    Returns:
        The posts of each corpus, one with all classes last; and what a person should know.
    """
    found: list[list[StanceExample]] = []
    notes: list[str] = []
    for name in sorted(settings.stances.split(",")):  # which is the order promised
        if whereabouts(name, data_dir=data_dir, environ=environ) is None:
            notes.append(f"{name} is not here: SD is pre-trained without it (python -m corpora fetch {name})")
            continue
        read = [
            thread for thread in load(name, data_dir=data_dir, environ=environ).threads if thread.language in languages
        ]
        threads, dropped = exclude_overlap(read, without)
        if dropped:
            notes.append(f"{len(dropped)} threads of {name} are left out: they are tested on")
        posts = [
            StanceExample(thread, number, stance)
            for thread in threads
            for number, post in enumerate(thread.posts)
            if (stance := thread.gold.stances.get(post.id))
        ]
        if name == "p-stance" and len(posts) > settings.pretraining_posts:
            drawn = np.random.default_rng(seed).choice(len(posts), settings.pretraining_posts, replace=False)
            posts = [posts[place] for place in sorted(drawn.tolist())]
        found.append(posts)
    return found, notes
