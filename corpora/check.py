"""What `check` and `list` print of a corpus."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from corpora.catalog import CORPORA, LoadedCorpus, whereabouts
from corpora.clean import RULES, printable
from corpora.splits import exclude_overlap
from corpora.thread import ClaimThread

_NAMES = {"threads_read": "threads", "posts_read": "posts (with source)"}
_LABELS = ("rumor", "non-rumor", "N", "T", "F", "U")
_STANCES = ("S", "D", "Q", "C")


def print_list(console: Console, data_dir: Path | None, environ: Mapping[str, str]) -> None:
    """Every corpus of the catalog: what it is, its licence, and where it was found."""
    table = _table("corpus", "what it is", "labels", "found")
    for name, corpus in CORPORA.items():
        path = whereabouts(name, data_dir=data_dir, environ=environ)
        found = plain(path, 300) if path is not None and path.exists() else Text("not here", "dim")
        labels = (*corpus.label_sets, "stance")[0]
        table.add_row(name, f"{corpus.title}; {corpus.paper}\nlicence: {corpus.licence}", labels, found)
    console.print(table)
    console.print("any path: aclr:PATH, eard:PATH, jsonl:PATH", highlight=False)


def print_check(console: Console, corpus: LoadedCorpus, others: list[LoadedCorpus]) -> None:
    """Licence, counts beside the published ones, distributions, what cleaning did, the fingerprint, overlaps."""
    console.rule(plain(corpus.name), align="left")
    console.print(plain(f"read from {corpus.path}", 300), soft_wrap=True)
    if corpus.name in CORPORA:
        console.print(f"licence: {CORPORA[corpus.name].licence}", highlight=False)
    console.print(_counts(corpus))
    console.print(_verdict(corpus), highlight=False, soft_wrap=True)
    for field in ("event", "partition"):
        table = _by(field, corpus.threads)
        if table is not None:
            console.print(table)
    console.print(_shape(corpus.threads), highlight=False, soft_wrap=True)
    changes = {rule: n for rule, n in corpus.counts.items() if rule in RULES}
    if changes:
        table = _table("cleaning", "count")
        for rule, n in changes.items():
            table.add_row(RULES[rule], f"{n:,}")
        console.print(table)
    else:
        console.print("cleaning: nothing dropped, nothing changed", highlight=False)
    kept = f"kept: {corpus.counts['threads']:,} threads, {corpus.counts['posts']:,} posts"
    console.print(kept, highlight=False)
    for other in others:
        kept_threads, dropped = exclude_overlap(corpus.threads, other.threads)
        line = f"overlap with {other.name}: {len(dropped):,} of {len(kept_threads) + len(dropped):,} threads"
        console.print(plain(f"{line}, by id or source text", 300))
    console.print(f"fingerprint: {corpus.fingerprint}", highlight=False, soft_wrap=True)


def plain(value: object, limit: int = 120) -> Text:
    """Foreign text for the terminal: no control characters, no markup."""
    return Text(printable(value, limit))


def _counts(corpus: LoadedCorpus) -> Table:
    """Read and published counts side by side."""
    table = _table("", "read", "published", "")
    order = ["threads_read", "posts_read", *_LABELS, *_STANCES, "train", "dev", "test"]
    for key in order:
        read, published = corpus.as_read.get(key, 0), corpus.published.get(key)
        if read or published is not None:
            differs = published is not None and published != read
            table.add_row(
                _NAMES.get(key, key),
                f"{read:,}",
                "" if published is None else f"{published:,}",
                f"{read - published:+,}" if differs and published is not None else "",
            )
    return table


def _verdict(corpus: LoadedCorpus) -> str:
    entry = CORPORA.get(corpus.name)
    note = f" {entry.note}" if entry is not None and entry.note else ""
    if not corpus.published:
        return f"No published counts to compare with.{note}"
    if corpus.complete:
        return f"Counts equal the published ones.{note}"
    if corpus.agrees:
        return f"Threads are as many as published, which alone does not tell that it is that corpus.{note}"
    return f"Counts differ from the published ones: a sample or a variant, to be named as such.{note}"


def _by(field: str, threads: list[ClaimThread]) -> Table | None:
    """Threads, posts, labels and stances by "event" or "partition"; None where there are none."""
    groups: dict[str, Counter[str]] = {}
    for thread in threads:
        group = getattr(thread, field)
        if group is not None:
            counts = groups.setdefault(group, Counter())
            counts.update(["threads", thread.gold.rumor or "", thread.gold.veracity or ""])
            counts.update(thread.gold.stances.values())
            counts["posts"] += len(thread.posts)
    if not groups:
        return None
    keys = [key for key in ("threads", "posts", *_LABELS, *_STANCES) if any(counts[key] for counts in groups.values())]
    table = _table(f"by {field} (kept)", *keys)
    for group, counts in sorted(groups.items()):
        table.add_row(plain(group, 40), *(f"{counts[key]:,}" for key in keys))
    return table


def _shape(threads: list[ClaimThread]) -> str:
    """Whether there are times, trees and languages, and how long the threads are."""
    n = len(threads)
    timed = sum(thread.timed for thread in threads)
    trees = sum(any(post.parent not in (None, thread.source.id) for post in thread.posts) for thread in threads)
    replied = sum(len(thread.posts) > 1 for thread in threads)
    lengths = sorted(len(thread.posts) for thread in threads) or [0]
    languages = ", ".join(f"{k} {v:,}" for k, v in sorted(Counter(t.language for t in threads).items()))
    return (
        f"times in {timed:,} of {n:,} threads; replies in {replied:,}; replies to replies in {trees:,}; "
        f"posts a thread: median {lengths[len(lengths) // 2]}, at most {lengths[-1]:,}; language: {languages}"
    )


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        right = column in ("read", "published", "count", "threads", "posts", *_LABELS, *_STANCES)
        table.add_column(column, justify="right" if right else "left", overflow="fold")
    return table
