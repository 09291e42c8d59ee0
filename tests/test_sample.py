"""The bundled corpus keeps what its page promises."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from corpora.catalog import load

LINES = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "corpora/sample/threads.jsonl").read_text("utf-8").splitlines()
]


def test_size_languages_and_events() -> None:
    languages = Counter(line["language"] for line in LINES)
    assert languages["en"] >= 90
    assert languages["zh"] >= 30
    assert len({line["event"] for line in LINES}) >= 8
    assert len({line["id"] for line in LINES}) == len(LINES)


def test_every_event_is_balanced_and_every_post_has_a_stance() -> None:
    for event in {line["event"] for line in LINES}:
        labels = Counter(line["veracity"] for line in LINES if line["event"] == event)
        assert labels == {"N": 6, "T": 2, "F": 2, "U": 2}, event
    for line in LINES:
        assert line["rumor"] == ("non-rumor" if line["veracity"] == "N" else "rumor")
        assert {post["stance"] for post in line["posts"]} <= set("SDQC")
        assert line["posts"][0]["stance"] == "S"


def test_threads_are_whole_conversations() -> None:
    nested = 0
    for line in LINES:
        posts = line["posts"]
        assert 5 <= len(posts) <= 25, line["id"]
        ids = [post["id"] for post in posts]
        assert posts[0]["parent"] is None
        assert all(post["parent"] in ids[:place] for place, post in enumerate(posts) if place)
        times = [post["seconds"] for post in posts]
        assert times == sorted(times)
        assert times[0] == 0
        nested += any(post["parent"] != ids[0] for post in posts[1:])
    assert nested > len(LINES) * 0.9


def test_nothing_is_said_twice_and_no_link_leads_anywhere() -> None:
    texts = Counter(post["text"].casefold() for line in LINES for post in line["posts"] if len(post["text"]) > 20)
    assert [text for text, count in texts.items() if count > 1] == []
    for text in texts:
        assert re.search(r"https?://(?![\w.-]+\.example\b)", text) is None, text


def test_waiting_pays_by_design() -> None:
    silent = [line for line in LINES if not line["design"]["source_tells"]]
    assert len(silent) >= len(LINES) / 2
    places = [line["design"]["settled_by"] / len(line["posts"]) for line in silent]
    assert sum(place < 1 / 3 for place in places) >= len(LINES) / 8
    assert sum(place >= 2 / 3 for place in places) >= len(LINES) / 8
    assert sum(line["design"]["misleads_first"] for line in LINES) >= 16


@pytest.mark.parametrize("keep_handles", [False, True])
def test_it_loads_whole_and_without_repair(keep_handles: bool) -> None:
    corpus = load("sample", keep_handles=keep_handles, environ={})
    assert len(corpus.threads) == len(LINES)
    assert corpus.counts["posts"] == corpus.counts["posts_read"] == sum(len(line["posts"]) for line in LINES)
    assert set(corpus.counts) == {"threads_read", "posts_read", "threads", "posts"}
