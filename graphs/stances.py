"""What a stance classifier may learn from: the corpora on this machine that have stance labels."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from corpora.catalog import LoadedCorpus, load, whereabouts
from corpora.splits import exclude_overlap
from corpora.thread import ClaimThread

LEARNED = ("sample", "semeval8", "p-stance")
"""Bundled; and where somebody has put them."""


def found(environ: Mapping[str, str], data_dir: Path | None = None) -> list[LoadedCorpus]:
    """Read those of the corpora that are here.

    Args:
        environ: For $HEARSAY_DATA and $XDG_CACHE_HOME.
        data_dir: Where to look first.

    Raises:
        UsageError: one is there, but its files cannot be right.
    """
    there = [name for name in LEARNED if whereabouts(name, data_dir=data_dir, environ=environ)]
    return [load(name, data_dir=data_dir, environ=environ) for name in there]


def stance_corpora(environ: Mapping[str, str]) -> list[ClaimThread]:
    """All their threads, of whatever corpus; see `found`."""
    return [thread for corpus in found(environ) for thread in corpus.threads]


def without(threads: Sequence[ClaimThread], tested: Sequence[ClaimThread]) -> list[ClaimThread]:
    """The threads that nobody is tested on, by id and by source text."""
    return exclude_overlap(threads, tested)[0]
