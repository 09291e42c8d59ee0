"""From a configuration to a plan: the corpora are read, what may not be used is left out, and leaks are counted."""

import os
from pathlib import Path

from agents.debate.stance_scorer import enough, labelled_comments
from agents.stopping.learned import read_about
from corpora.catalog import LoadedCorpus, load
from corpora.errors import UsageError
from corpora.splits import exclude_overlap
from corpora.thread import ClaimThread
from eval import divide as dividing
from eval.attacks import ALL
from eval.config import RunConfig
from eval.plan import Plan
from eval.task_options import trained_folders
from graphs import saved_networks
from graphs.stances import found, without


def make_plan(config: RunConfig) -> Plan:
    """Read the corpora and check that the configuration fits them.

    Raises:
        UsageError: a corpus is missing, has no such labels, or is too small.
    """
    if config.attack == ALL:
        raise UsageError(f"--attack {ALL} sets runs side by side, and only eval.run does that: name one attack")
    corpus = _load(config, config.dataset)
    label_set = dividing.label_set_of(config, corpus)
    counts = dict(corpus.counts)
    threads, held_out = dividing.eligible(config, corpus, label_set, counts), list[ClaimThread]()
    if config.holdout:
        threads, held_out = dividing.hold_out(threads, config.holdout)
        counts["threads_held_out_for_tuning"] = len(held_out)
        if config.tune:
            threads, held_out = held_out, threads
    train = _load(config, config.train_on) if config.train_on and config.train_on != config.dataset else None
    learned = threads
    if train is not None:
        if label_set.name not in train.label_sets:
            raise UsageError(
                f"--train-on {train.name} has no labels {label_set.name}: it has {dividing.names_of(train)}"
            )
        learned = [thread for thread in train.threads if label_set.of(thread) is not None]
    for name in dividing.corpora_named(config.exclude_overlap or ""):
        other = _load(config, name)
        learned, dropped = exclude_overlap(learned, other.threads)
        counts[f"training_threads_also_in_{other.name}_left_out"] = len(dropped)
        threads = threads if train is not None else learned
    if train is not None:
        counts["training_threads"] = len(learned)
    if train is not None and (leaking := len(exclude_overlap(threads, learned)[1])):
        counts["test_threads_also_in_training_corpus"] = leaking
    name, _, folder = config.when.partition(":")
    if name == "eard" and folder:
        seen = set(read_about(Path(folder)).get("threads_seen", ()))
        if known_before := sum(thread.id in seen for thread in threads):
            counts["test_threads_that_the_stop_policy_learned_from"] = known_before
    trained_on = {each for folder in trained_folders(config) for each in saved_networks.threads_seen(folder)}
    if known_before := sum(thread.id in trained_on for thread in threads):
        counts["test_threads_that_the_networks_learned_from"] = known_before
    if config.task != "stance" and len({label_set.of(thread) for thread in threads}) < 2:
        raise UsageError(f"{corpus.name} has fewer than two classes of {label_set.name} left: nothing to tell apart")
    stances = _stance_threads(config, [*threads, *held_out], counts) if config.scorer_model == "encoder" else []
    return Plan(config, corpus, label_set, threads, train, learned, counts, stance_threads=stances, held_out=held_out)


def _load(config: RunConfig, name: str) -> LoadedCorpus:
    return load(name, data_dir=config.data_dir, keep_handles=config.keep_handles, environ=os.environ)


def _stance_threads(config: RunConfig, reserved: list[ClaimThread], counts: dict[str, int]) -> list[ClaimThread]:
    """What a stance classifier learns from: every corpus with stances that is here, but for the reserved threads.

    Raises:
        UsageError: that leaves nothing to learn from, nor will shots.
    """
    learned: list[ClaimThread] = []
    left_out = 0
    for corpus in found(os.environ, config.data_dir):
        kept = without(corpus.threads, reserved)
        counts[f"stance_comments_of_{corpus.name}"] = len(labelled_comments(kept))
        left_out += len(corpus.threads) - len(kept)
        learned += kept
    counts["stance_threads_left_out_as_tested"] = left_out
    if config.split == "all":
        enough(learned)  # there will be no shots to learn from as well
    return learned
