"""Splits: disjoint, seeded, stratified; overlaps found under a re-publisher's changes."""

from collections import Counter

import numpy as np
import pytest

from corpora import splits
from corpora.errors import UsageError
from corpora.labels import LABEL_SETS
from corpora.thread import ClaimThread, Gold, Post

label_of = LABEL_SETS["rumor/non-rumor"].of


def thread(number, rumor="rumor", event="flood", partition=None, text=None):
    text = text or f"claim number {number} about the old bridge"
    return ClaimThread(f"t{number}", (Post("s", text, 0.0, "", None),), Gold(rumor), event, partition)


def corpus(rumors=30, others=60):
    events = ("flood", "fire", "vote")
    return [thread(i, "rumor" if i < rumors else "non-rumor", events[i % 3]) for i in range(rumors + others)]


def parts(fold):
    return [{t.id for t in part} for part in (fold.shots, fold.pool, fold.test)]


def rng(seed=0):
    return np.random.default_rng(seed)


def assert_disjoint(fold):
    shots, pool, test = parts(fold)
    assert not shots & pool and not shots & test and not pool & test


def test_few_shot_is_disjoint_complete_stratified_and_bounded():
    threads = corpus()
    (fold,) = splits.few_shot(threads, label_of, shots=9, pool=100, rng=rng())
    assert_disjoint(fold)
    assert set.union(*parts(fold)) == {t.id for t in threads}
    assert Counter(map(label_of, fold.shots)) == {"rumor": 3, "non-rumor": 6}
    assert len(fold.pool) == (90 - 9) // 3


def test_the_seed_decides_and_nothing_else():
    threads = corpus()

    def drawn(seed):
        return parts(splits.few_shot(threads, label_of, shots=9, pool=20, rng=rng(seed))[0])

    np.random.seed(1)  # the global generator must not matter
    first = drawn(7)
    np.random.seed(2)
    assert drawn(7) == first
    assert drawn(8) != first


@pytest.mark.parametrize("shots", range(0, 12))
def test_every_class_gets_a_shot_where_shots_allow(shots):
    threads = [thread(i, "rumor" if i == 0 else "non-rumor") for i in range(40)]
    chosen = splits.stratified(threads, label_of, shots, rng())
    assert len(chosen) == shots
    assert len(set(map(label_of, chosen))) == min(shots, 2)


def test_too_few_threads_for_the_shots_is_the_users_mistake():
    with pytest.raises(UsageError, match="there are 5"):
        splits.few_shot(corpus(2, 3), label_of, shots=5, pool=1, rng=rng())


def test_unlabelled_threads_are_left_out_first():
    threads = [*corpus(2, 2), thread(9, None)]
    kept, left_out = splits.labelled(threads, label_of)
    assert (len(kept), left_out) == (4, 1)
    with pytest.raises(ValueError, match="t9"):
        splits.few_shot(threads, label_of, shots=2, pool=1, rng=rng())


def test_event_wise_tests_each_event_on_the_others():
    threads = corpus()
    folds = splits.event_wise(threads, label_of, shots=6, pool=10, rng=rng())
    assert [fold.name for fold in folds] == ["fire", "flood", "vote"]
    for fold in folds:
        assert_disjoint(fold)
        assert {t.event for t in fold.test} == {fold.name}
        assert fold.name not in {t.event for t in fold.shots + fold.pool}
        assert (len(fold.shots), len(fold.pool)) == (6, 10)
    assert sum(len(fold.test) for fold in folds) == len(threads)
    with pytest.raises(UsageError, match="two or more events"):
        splits.event_wise([thread(i) for i in range(9)], label_of, shots=2, pool=0, rng=rng())


def test_cross_corpus_tests_on_all_of_the_other():
    train, test = corpus(), [thread(f"x{i}") for i in range(5)]
    (fold,) = splits.cross_corpus(train, test, label_of, shots=10, pool=8, rng=rng())
    assert fold.test == test
    assert_disjoint(fold)
    assert (len(fold.shots), len(fold.pool)) == (10, 8)


def test_official_keeps_the_publishers_partitions():
    names = ["train"] * 6 + ["dev"] * 2 + ["test"] * 3
    threads = [thread(i, "rumor" if i % 2 else "non-rumor", partition=name) for i, name in enumerate(names)]
    (fold,) = splits.official(threads, label_of, shots=4, pool=100, rng=rng())
    assert (len(fold.shots), len(fold.pool), len(fold.test)) == (4, 2, 3)
    (fold,) = splits.official(threads, label_of, shots=50, pool=100, rng=rng())
    assert (len(fold.shots), len(fold.pool)) == (6, 0)
    with pytest.raises(UsageError, match="no thread of partition test"):
        splits.official(threads[:6], label_of, shots=1, pool=1, rng=rng())


def test_whole_learns_from_nothing():
    threads = corpus(1, 1)
    assert splits.whole(threads) == [splits.Fold("whole", [], [], threads)]


@pytest.mark.parametrize(
    "republished",
    [
        "breaking :  it ' s true ,  the old bridge at northford has fallen http :  /  / t . co / ab 1 2 c",
        "Breaking: It is true, the OLD bridge at Northford has fallen! URL",
        "“Breaking: it’s true, the old bridge at Northford has fallen” @someone https://t.co/zzzzzzzzzz",
    ],
)
def test_overlap_is_found_by_id_and_by_source_text(republished):
    original = "Breaking: it's true, the old bridge at Northford has fallen https://t.co/0123456789"
    threads = [thread(1, text=original), thread(2), thread(3, text="Breaking: URL")]
    other = [
        thread(7, text=republished),
        thread(2, text="something else altogether"),
        thread(8, text="Breaking!"),
    ]
    kept, dropped = splits.exclude_overlap(threads, other)
    assert [t.id for t in kept] == ["t3"]  # too short to be the same by its text
    assert [t.id for t in dropped] == ["t1", "t2"]


@pytest.mark.parametrize("hostile", [" " * 200_000, "' " * 100_000, "http" * 50_000, "@" * 200_000, "& " * 100_000])
def test_no_text_makes_folding_slow(hostile):
    splits.folded(hostile)
