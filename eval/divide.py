"""Which threads of a corpus a run tests, keeps for tuning, and learns from."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from corpora.catalog import FORMATS, LoadedCorpus
from corpora.errors import UsageError
from corpora.labels import LABEL_SETS, LabelSet
from corpora.splits import Fold, LabelOf, stratified
from corpora.thread import ClaimThread
from eval.config import RunConfig
from eval.task_options import WITH_STANCES
from graphs.hows import how_of, known


def names_of(corpus: LoadedCorpus) -> str:
    """The label sets of a corpus, for a message."""
    return ", ".join(corpus.label_sets) or "stance labels only"


def label_set_of(config: RunConfig, corpus: LoadedCorpus) -> LabelSet:
    """The label set asked for, or the task's, or the corpus's own, if corpus and verifier can do with it.

    Raises:
        UsageError: they cannot.
    """
    name = config.labels or ("veracity" if config.task in ("veracity", "joint") else corpus.label_set)
    if config.task == "stance" and not corpus.label_sets:
        return LABEL_SETS["veracity"]  # of which no thread has one
    if name is None:
        raise UsageError(f"{corpus.name} has {names_of(corpus)}: there is no rumor label to judge by")
    if known(name, LABEL_SETS, "--labels") not in corpus.label_sets:
        raise UsageError(f"{corpus.name} has no labels {name}: it has {names_of(corpus)}")
    how = how_of(config.how)
    if how.asks_model and not how.any_labels and not LABEL_SETS[name].binary:
        two = " or ".join(each for each in corpus.label_sets if LABEL_SETS[each].binary)
        raise UsageError(f"--how {config.how} gives one of two labels, not {name}: add --labels {two}")
    return LABEL_SETS[name]


def eligible(config: RunConfig, corpus: LoadedCorpus, label_set: LabelSet, counts: dict[str, int]) -> list[ClaimThread]:
    """The threads that can be tested; those that cannot are counted, by reason.

    Raises:
        UsageError: none of them can.
    """
    by_clock = any(checkpoint.startswith("hours:") for checkpoint in config.checkpoints)
    if by_clock and not any(thread.timed for thread in corpus.threads):
        raise UsageError(f"{corpus.name} has no times, so hours mean nothing in it: use --when posts:N")
    if config.task in WITH_STANCES and not any(thread.gold.stances for thread in corpus.threads):
        raise UsageError(f"{corpus.name} has no stance labels, and --task {config.task} scores stances")
    kept = []
    for thread in corpus.threads:
        # where nothing is drawn by label, and no label scored, a thread need not have one
        if label_set.of(thread) is None and not (
            config.task == "stance" and (config.split == "all" or config.train_on not in (None, config.dataset))
        ):
            reason = "threads_without_label"
        elif config.task == "stance" and not thread.gold.stances:
            reason = "threads_without_stances"
        elif config.language not in (None, thread.language):
            reason = "threads_in_another_language"
        elif by_clock and not thread.timed:
            reason = "threads_without_times"
        else:
            kept.append(thread)
            continue
        counts[reason] = counts.get(reason, 0) + 1
    return kept


def corpora_named(text: str) -> list[str]:
    """Corpora from one option: names with commas between them, or one FORMAT:PATH, whose commas are its own."""
    if text.partition(":")[0] in FORMATS:
        return [text]
    return [name.strip() for name in text.split(",") if name.strip()]


def hold_out(threads: Sequence[ClaimThread], share: float) -> tuple[list[ClaimThread], list[ClaimThread]]:
    """Leave about a share of threads out: by their ids, so that every seed, task and corpus leaves out the same ones.

    Returns:
        (kept, held out), each in the order of `threads`.
    """
    parts: tuple[list[ClaimThread], list[ClaimThread]] = [], []
    for thread in threads:
        number = int.from_bytes(hashlib.sha256(thread.id.encode("utf-8", "surrogatepass")).digest()[:8])
        parts[number < share * 2**64].append(thread)
    return parts


def by_share(
    divided: Iterable[tuple[str, Sequence[ClaimThread], Sequence[ClaimThread]]],
    label_of: LabelOf,
    share: float,
    rng: np.random.Generator,
) -> list[Fold]:
    """Shots in proportion to what there is to learn from; all the rest of that is the pool.

    Args:
        divided: Name, threads to learn from and test threads of each fold.
        label_of: A thread's class.
        share: How many of the threads to learn from are shots.
        rng: Draws them, stratified by class.

    Raises:
        UsageError: there is nothing to learn from.
    """
    folds = []
    for name, learned, test in divided:
        if not learned:
            raise UsageError("--seeds-share is a share of the threads to learn from, and there are none")
        number = max(1, round(share * len(learned)))
        shots = list(learned) if number == len(learned) else stratified(learned, label_of, number, rng)
        chosen = {thread.id for thread in shots}
        folds.append(Fold(name, shots, [thread for thread in learned if thread.id not in chosen], list(test)))
    return folds


def learned_and_tested(
    split: str, threads: Sequence[ClaimThread], label_of: LabelOf, rng: np.random.Generator
) -> list[tuple[str, list[ClaimThread], list[ClaimThread]]]:
    """What `by_share` divides, within one corpus: as its split does, few-shot by halves.

    Raises:
        UsageError: the corpus has no such split.
    """
    if split == "events":
        events = sorted({thread.event for thread in threads if thread.event is not None})
        if len(events) < 2:
            raise UsageError("an event-wise split needs a corpus with two or more events; use --split few-shot")
        own = {event: [thread for thread in threads if thread.event == event] for event in events}
        return [(event, [t for t in threads if t.event != event], own[event]) for event in events]
    if split == "official":
        parts = {name: [thread for thread in threads if thread.partition == name] for name in ("train", "test")}
        if missing := [name for name, part in parts.items() if not part]:
            raise UsageError(f"no thread of partition {' or '.join(missing)}: the corpus has no official split")
        return [("official", parts["train"], parts["test"])]
    learned = stratified(threads, label_of, len(threads) // 2, rng)
    chosen = {thread.id for thread in learned}
    return [("few-shot", learned, [thread for thread in threads if thread.id not in chosen])]


def limited(folds: list[Fold], limit: int, rng: np.random.Generator) -> list[Fold]:
    """Keep `limit` of all test threads, drawn at random, each in its fold."""
    places = [(fold, thread) for fold in folds for thread in fold.test]
    if len(places) <= limit:
        return folds
    kept = {id(places[index][1]) for index in rng.choice(len(places), limit, replace=False)}
    return [replace(fold, test=[thread for thread in fold.test if id(thread) in kept]) for fold in folds]
