"""What a corpus is: as an entry of the catalog, and as loaded."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from corpora.clean import RawThread, Tally
from corpora.thread import ClaimThread

Reader = Callable[[Path, Tally], Iterator[RawThread]]


@dataclass(frozen=True)
class Download:
    """A file at a stable public address."""

    url: str
    path: str
    """Where it goes below the user's cache: a name that `folders` finds."""
    max_bytes: int


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """One entry of the catalog."""

    title: str
    paper: str
    licence: str
    reader: Reader
    folders: tuple[str, ...]
    """Names it may lie under as folder, archive or JSON file; upper and lower case alike."""
    label_sets: tuple[str, ...]
    """The label sets it can be asked for, the default first; none where it has stances only."""
    language: str
    published: dict[str, int]
    """Counts by the papers, under the keys of `LoadedCorpus.as_read`."""
    downloads: tuple[Download, ...] = ()
    steps: str = ""
    """What a person must do where there is no address to fetch from."""
    note: str = ""
    """What to know beside the published counts."""


@dataclass(frozen=True)
class LoadedCorpus:
    """A corpus as methods see it."""

    name: str
    """What results are reported under: a catalog name only for what was loaded by it."""
    threads: list[ClaimThread]
    counts: dict[str, int]
    """threads_read, posts_read, threads, posts, and each rule of `clean.RULES` that applied."""
    as_read: dict[str, int]
    """threads_read, posts_read, and per label, stance and partition, before any cleaning."""
    published: dict[str, int]
    """What the papers say, same keys; empty for what is not in the catalog."""
    fingerprint: str
    """SHA-256 over the threads, whatever they were packed in."""
    label_sets: tuple[str, ...]
    """The label sets it can be asked for, the default first."""
    path: Path
    """Where it was found."""

    @property
    def label_set(self) -> str | None:
        """Name of the default label set; None for a corpus of stances only."""
        return self.label_sets[0] if self.label_sets else None

    @property
    def complete(self) -> bool:
        """Whether it is the published corpus, by its counts, and not a sample or variant of it.

        A number of threads alone is no proof of that: the counts must tell of labels, too.
        """
        return self.agrees and not self.published.keys() <= {"threads_read", "posts_read"}

    @property
    def agrees(self) -> bool:
        """Whether all counts that are published are those read."""
        return bool(self.published) and all(self.as_read.get(key, 0) == n for key, n in self.published.items())

    @property
    def language(self) -> str:
        """The threads' language, "mixed" if there are several (each thread knows its own)."""
        languages = {thread.language for thread in self.threads}
        return languages.pop() if len(languages) == 1 else "mixed"


def fingerprint(threads: Iterable[ClaimThread]) -> str:
    """SHA-256 over everything the threads hold, in order; equal on every machine."""
    digest = hashlib.sha256()
    encode = json.JSONEncoder(check_circular=False).encode
    for thread in threads:
        gold = thread.gold
        fields: list[object] = [thread.id, thread.event, thread.partition, thread.language]
        fields += [gold.rumor, gold.veracity, sorted(gold.stances.items())]
        for post in thread.posts:
            fields += (post.id, post.text, post.seconds, post.author, post.parent)
        digest.update(encode(fields).encode())
    return digest.hexdigest()
