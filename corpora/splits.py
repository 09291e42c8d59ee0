"""Which threads a method may learn from and which it is tested on.

Every split draws from the generator it is given and from nothing else, and its parts share no thread; across
corpora, only once `exclude_overlap` has run.
Threads must carry a label: leave out the others first, with `labelled`.
"""

import html
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from corpora.errors import UsageError
from corpora.thread import ClaimThread

LabelOf = Callable[[ClaimThread], str | None]
Threads = Sequence[ClaimThread]

# Shorter source texts ("Breaking:", a lone link) are alike by accident.
_MIN_FOLDED = 12
# Links as posted, cut to "URL", or taken apart by a tokenizer ("http : / / t . co / a 1 b 2").
_LINK = re.compile(r"https?\s*:\s*/\s*/\s*(?:t\s*\.\s*co\s*/\s*(?:[a-z0-9]\s*){0,10}|\S*)|\burl\b", re.IGNORECASE)
_SHORT_FORMS = {
    "n't": "not",
    "'s": "is",
    "'re": "are",
    "'m": "am",
    "'ll": "will",
    "'ve": "have",
    "'d": "would",
}
_SHORT_FORM = re.compile(rf"({'|'.join(_SHORT_FORMS)})\b")
_HANDLE = re.compile(r"[@＠]\s?\w*")


@dataclass(frozen=True)
class Fold:
    """One division of a corpus."""

    name: str
    shots: list[ClaimThread]
    """Labelled threads to learn from."""
    pool: list[ClaimThread]
    """Threads to learn from without their labels (the environment of the stopping agent)."""
    test: list[ClaimThread]


def labelled(threads: Threads, label_of: LabelOf) -> tuple[list[ClaimThread], int]:
    """The threads that have a label, and how many have none."""
    kept = [thread for thread in threads if label_of(thread) is not None]
    return kept, len(threads) - len(kept)


def few_shot(threads: Threads, label_of: LabelOf, *, shots: int, pool: int, rng: np.random.Generator) -> list[Fold]:
    """K labelled threads, stratified by label; an unlabelled pool; the rest as the test set.

    Args:
        threads: Labelled threads.
        label_of: A thread's class.
        shots: K; every class gets at least one where K allows.
        pool: At most so many, and at most a third of what the shots leave.
        rng: Draws shots and pool.

    Raises:
        UsageError: there are not more threads than shots.
    """
    chosen = stratified(threads, label_of, shots, rng)
    rest = _without(threads, chosen)
    environment = _draw(rest, min(pool, len(rest) // 3), rng)
    return [Fold("few-shot", chosen, environment, _without(rest, environment))]


def event_wise(threads: Threads, label_of: LabelOf, *, shots: int, pool: int, rng: np.random.Generator) -> list[Fold]:
    """One fold an event: tested on all of it, with shots and pool from the other events.

    Raises:
        UsageError: fewer than two events, or some event leaves too few other threads for the shots.
    """
    events = sorted({thread.event for thread in threads if thread.event is not None})
    if len(events) < 2:
        raise UsageError("an event-wise split needs a corpus with two or more events; use --split few-shot")
    folds = []
    for event in events:
        test = [thread for thread in threads if thread.event == event]
        others = [thread for thread in threads if thread.event != event]
        chosen = stratified(others, label_of, shots, rng)
        rest = _without(others, chosen)
        folds.append(Fold(event, chosen, _draw(rest, min(pool, len(rest)), rng), test))
    return folds


def cross_corpus(
    train_threads: Threads,
    test_threads: Threads,
    label_of: LabelOf,
    *,
    shots: int,
    pool: int,
    rng: np.random.Generator,
) -> list[Fold]:
    """Shots and pool from one corpus, all of another as the test set (see `exclude_overlap`)."""
    chosen = stratified(train_threads, label_of, shots, rng)
    rest = _without(train_threads, chosen)
    return [Fold("cross-corpus", chosen, _draw(rest, min(pool, len(rest)), rng), list(test_threads))]


def official(threads: Threads, label_of: LabelOf, *, shots: int, pool: int, rng: np.random.Generator) -> list[Fold]:
    """The publisher's partitions: tested on "test", shots and pool from "train" (all of it if smaller).

    "dev" is left for tuning. Threads without a partition are in neither.

    Raises:
        UsageError: the corpus has no train or no test partition.
    """
    parts = {name: [thread for thread in threads if thread.partition == name] for name in ("train", "test")}
    missing = [name for name, part in parts.items() if not part]
    if missing:
        raise UsageError(f"no thread of partition {' or '.join(missing)}: the corpus has no official split")
    train = parts["train"]
    chosen = train if shots >= len(train) else stratified(train, label_of, shots, rng)
    rest = _without(train, chosen)
    return [Fold("official", chosen, _draw(rest, min(pool, len(rest)), rng), parts["test"])]


def whole(threads: Threads) -> list[Fold]:
    """Everything as the test set: for methods that learn from nothing."""
    return [Fold("whole", [], [], list(threads))]


def stratified(threads: Threads, label_of: LabelOf, n: int, rng: np.random.Generator) -> list[ClaimThread]:
    """Draw n threads in the proportions of their labels, at least one of each where n allows.

    Seats go to the classes by largest remainder; the threads keep the corpus' order.

    Raises:
        UsageError: there are not more than n threads.
        ValueError: a thread has no label.
    """
    by_label: dict[str, list[ClaimThread]] = {}
    for thread in threads:
        label = label_of(thread)
        if label is None:
            raise ValueError(f"thread {thread.id} has no label: leave such threads out before splitting")
        by_label.setdefault(label, []).append(thread)
    if n >= len(threads) and n > 0:
        raise UsageError(f"{n} shots need more than {n} labelled threads; there are {len(threads)}")
    seats = _seats({label: len(members) for label, members in sorted(by_label.items())}, n)
    chosen = [thread for label, k in seats.items() for thread in _draw(by_label[label], k, rng)]
    return _without(threads, _without(threads, chosen))


def _seats(sizes: dict[str, int], n: int) -> dict[str, int]:
    """How many of n each class gets."""
    minimum = 1 if n >= len(sizes) else 0
    total = sum(sizes.values())
    quotas = {label: n * size / total for label, size in sizes.items()} if total else {}
    seats = {label: max(int(quota), minimum) for label, quota in quotas.items()}
    # at most one step a class: what rounding down left over, or what the minimum took too much
    while sum(seats.values()) < n:
        label = max(seats, key=lambda name: (seats[name] < sizes[name], quotas[name] - seats[name]))
        seats[label] += 1
    while sum(seats.values()) > n:
        label = max(seats, key=lambda name: (seats[name] > minimum, seats[name] - quotas[name]))
        seats[label] -= 1
    return seats


def _draw(threads: Threads, n: int, rng: np.random.Generator) -> list[ClaimThread]:
    """N of the threads, in their order."""
    return [threads[i] for i in sorted(rng.choice(len(threads), size=n, replace=False))] if n else []


def _without(threads: Threads, others: Threads) -> list[ClaimThread]:
    ids = {thread.id for thread in others}
    return [thread for thread in threads if thread.id not in ids]


def exclude_overlap(threads: Threads, other: Threads) -> tuple[list[ClaimThread], list[ClaimThread]]:
    """Divide threads into those that another corpus does not have, and those it has.

    Two threads are the same if their ids are, or their source texts are once case, spaces, handles, links,
    HTML entities and punctuation are gone and short forms (don't) written out.

    Returns:
        (kept, dropped), each in the order of `threads`.
    """
    ids = {thread.id for thread in other}
    texts = {text for thread in other if len(text := folded(thread.source.text)) >= _MIN_FOLDED}
    kept: list[ClaimThread] = []
    dropped: list[ClaimThread] = []
    for thread in threads:
        shared = thread.id in ids or folded(thread.source.text) in texts
        (dropped if shared else kept).append(thread)
    return kept, dropped


def folded(text: str) -> str:
    """A text reduced to what re-publishers leave alone: letters and digits, in lower case."""
    text = " ".join(text.split())  # before patterns that look for spaces: a post may be a million of them
    text = html.unescape(re.sub(r"&\s*(\w+)\s*;", r"&\1;", text))
    text = _HANDLE.sub("", _LINK.sub("", text))
    text = unicodedata.normalize("NFKC", text).casefold()
    text = re.sub(r"\s*['\u2019]\s*", "'", text)
    text = _SHORT_FORM.sub(lambda found: _SHORT_FORMS[found[1]], text)
    return "".join(character for character in text if character.isalnum())
