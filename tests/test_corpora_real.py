"""Counts of real corpora, where $HEARSAY_DATA has those we tested on: samples and re-publications."""

import os

import pytest

from corpora.catalog import load
from corpora.splits import exclude_overlap

pytestmark = pytest.mark.skipif("HEARSAY_DATA" not in os.environ, reason="needs $HEARSAY_DATA")

_LOADED = {}


def corpus(name):
    if name not in _LOADED:
        _LOADED[name] = load(name, environ=os.environ)
    return _LOADED[name]


def counts(name, *keys):
    return tuple(corpus(name).as_read.get(key, 0) for key in keys)


def test_pheme_sample():
    assert counts("pheme", "threads_read", "posts_read") == (987, 987 + 14_984)
    assert corpus("pheme").counts["posts"] == 987 + 14_984
    assert counts("pheme", "N", "T", "F", "U", "rumor", "non-rumor") == (617, 160, 86, 124, 370, 617)
    assert not corpus("pheme").complete
    assert len({thread.event for thread in corpus("pheme").threads}) == 8
    assert all(thread.timed for thread in corpus("pheme").threads)


def test_semeval8():
    threads = corpus("semeval8").threads
    learning = [thread for thread in threads if thread.partition in ("train", "dev")]
    test = [thread for thread in threads if thread.partition == "test"]
    assert (len(learning), sum(len(t.posts) for t in learning)) == (297, 4_519)
    assert (len(test), sum(len(t.posts) for t in test)) == (28, 1_049)
    by_veracity = [sum(t.gold.veracity == label for t in learning) for label in "TFU"]
    assert by_veracity == [137, 62, 98]
    # the JSDRV paper prints D 334, with which its stances do not sum to its 4,519 posts
    assert counts("semeval8", "C", "S", "D", "Q") == (2_907, 910, 344, 358)
    assert sum(counts("semeval8", "C", "S", "D", "Q")) == 4_519
    assert corpus("semeval8").counts["orphan_posts"] == 2
    assert corpus("semeval8").complete


def test_rumoreval_s():
    assert counts("rumoreval-s", "threads_read", "posts_read") == (425, 425 + 6_916)
    assert counts("rumoreval-s", "T", "U", "N", "F") == (145, 106, 100, 74)
    assert sum(counts("rumoreval-s", "S", "D", "Q", "C")) == 6_462
    assert corpus("rumoreval-s").counts["continued_lines"] == 2
    assert corpus("rumoreval-s").counts["posts"] == 425 + 6_916


def test_twitter15():
    assert counts("twitter15", "threads_read", "N", "U", "T", "F") == (1_490, 374, 374, 372, 370)
    read = corpus("twitter15").counts
    assert read["posts_read"] - read["empty_posts"] == read["posts"] == 22_444
    assert sum(len(thread.posts) > 1 for thread in corpus("twitter15").threads) == 1_285


def test_pstance():
    assert counts("p-stance", "threads_read", "train", "dev", "test") == (21_574, 17_224, 2_193, 2_157)
    assert counts("p-stance", "S", "D") == (10_431, 11_143)


def test_the_stand_ins_keep_their_own_names():
    english, chinese = corpus("aclr:covid19-standin"), corpus("aclr:weibo-covid19-standin")
    assert (english.name, chinese.name) == ("covid19-standin", "weibo-covid19-standin")
    assert counts("aclr:covid19-standin", "threads_read", "rumor", "posts_read") == (251, 93, 1_952)
    assert counts("aclr:weibo-covid19-standin", "threads_read", "rumor") == (399, 146)
    assert (english.language, chinese.language) == ("en", "zh")
    assert not english.complete and not chinese.complete


@pytest.mark.parametrize(
    ("name", "other", "shared"),
    [
        ("semeval8", "rumoreval-s", 325),
        ("rumoreval-s", "semeval8", 325),
        ("rumoreval-s", "pheme", 59),
        ("semeval8", "pheme", 46),
        ("twitter15", "rumoreval-s", 94),
        ("twitter15", "pheme", 24),
    ],
)
def test_overlaps(name, other, shared):
    kept, dropped = exclude_overlap(corpus(name).threads, corpus(other).threads)
    assert len(dropped) == shared
    again, none = exclude_overlap(kept, corpus(other).threads)
    assert again == kept and not none
