"""A stream's rules, on hand-made posts: clocks, late and lost posts, what is dropped, what a batch must not change."""

import asyncio
import json
from typing import Any

import pytest

from agents.models import ModelError
from agents.stopping.fixed import AfterHours, AfterPosts, Confident
from agents.verdict import Verdict
from corpora.stream import Malformed, StreamPost, read_post, to_stream
from corpora.thread import ClaimThread, Post
from tests.watching import HOUR, Run, counting, post


async def test_threads_are_decided_one_by_one_and_the_rest_at_the_end() -> None:
    posts = [post("a", 0), post("b", 0), post("a", 1), post("a", 2), post("b", 1), post("c", 0)]
    run = await Run(AfterPosts(2)).read(posts)
    assert run.decided == {"a": (2, "policy"), "b": (2, "policy"), "c": (1, "end")}
    assert run.threads.counts == {"posts": 5, "decided": 3, "after": 1}
    assert run.lines[0]["post"] == "a1"
    left = await Run(AfterPosts(2)).read(posts, end=False)
    assert left.decided == {"a": (2, "policy"), "b": (2, "policy")}
    assert list(left.threads.open) == ["c"]


async def test_clock_strikes_without_a_post_of_its_thread_and_not_in_the_deadlines_own_second() -> None:
    posts = [post("a", 0, 0), post("b", 0, 10), post("a", 1, HOUR), post("b", 1, HOUR + 1)]
    run = await Run(AfterHours(HOUR)).read(posts, end=False)
    assert run.decided == {"a": (2, "deadline")}  # by b's post; a's at the deadline itself was read
    await run.read([StreamPost("", time=HOUR + 11)], end=False)  # a line with nothing but the time
    assert run.decided == {"a": (2, "deadline"), "b": (2, "deadline")}
    # a thread's own clock does where the stream has none
    own = [post("a", 0, seconds=5.0), post("a", 1, seconds=HOUR + 5), post("a", 2, seconds=HOUR + 6)]
    run = await Run(AfterHours(HOUR)).read(own, end=False)
    assert run.decided == {"a": (2, "deadline")}
    run = await Run(AfterHours(HOUR)).read([post("a", 0), post("b", 0, 3), post("b", 1)])
    assert len(run.malformed) == 2 and "needs one" in run.malformed[0]
    assert run.decided == {"b": (1, "end")}


async def test_silent_threads_are_over_and_so_is_the_most_silent_of_too_many() -> None:
    posts = [post("a", 0, 0), post("b", 0, 1), post("a", 1, HOUR), post("c", 0, HOUR + 2)]
    run = await Run(AfterPosts(None), stale=1).read(posts, end=False)
    assert run.decided == {"b": (1, "stale")}
    dropped = await Run(AfterPosts(None), stale=1, at_stale="drop").read([*posts, post("b", 1, HOUR + 3)], end=False)
    assert dropped.decided == {}
    assert dropped.threads.counts["dropped"] == dropped.threads.counts["after"] == 1
    many = await Run(AfterPosts(None), max_open=2).read([post(name, 0) for name in "abc"] + [post("a", 1)], end=False)
    assert many.decided == {"a": (1, "evicted")}
    long = await Run(AfterPosts(None), max_posts=3).read([post("a", n) for n in range(5)], end=False)
    assert long.decided == {"a": (3, "max_posts")}
    assert long.threads.counts["after"] == 2


async def test_ids_of_decided_threads_are_remembered_and_not_for_ever() -> None:
    posts = [post("a", 0), post("b", 0), post("c", 0), post("a", 0), post("c", 0), post("c", 1)]
    run = await Run(AfterPosts(1), remember=2).read(posts[:3], batch=1, end=False)
    assert list(run.threads.gone) == ["b", "c"]
    run.take(posts[4:])
    assert not run.threads.open
    run.take(posts[3:4])  # forgotten: it is a new thread now
    assert list(run.threads.open) == ["a"]


async def test_late_posts_take_their_place_within_the_time_that_posts_are_held() -> None:
    posts = [post("a", 0, 0), post("a", 2, 20), post("a", 1, 10), post("b", 0, 31), post("a", 3, 5)]
    held = await Run(AfterPosts(4), beliefs=True, lateness=10).read(posts)
    read = {line["post"]: line["seconds"] for line in held.lines if line["type"] == "belief" and line["thread"] == "a"}
    assert list(read.items()) == [("a0", 0), ("a1", 10), ("a2", 20), ("a3", 20)]
    assert held.threads.counts["late"] == 1  # later than that: read where it comes, at the last one's time
    plain = await Run(AfterPosts(4), beliefs=True).read(posts)
    read = [line["post"] for line in plain.lines if line["type"] == "belief" and line["thread"] == "a"]
    assert read == ["a0", "a2", "a1", "a3"]
    assert plain.threads.counts["late"] == 2
    replies_first = [post("a", 1, 10), post("a", 2, 5), post("a", 0, 0), post("x", 3)]
    waited = await Run(AfterPosts(None), beliefs=True).read(replies_first)
    assert [line["post"] for line in waited.lines if line["type"] == "belief"] == ["a0", "a2", "a1"]
    assert waited.threads.counts["without_source"] == 1  # x never began


async def test_what_is_no_post_is_dropped_and_counted() -> None:
    twice = [post("a", 0), post("a", 1), post("a", 1), post("a", 2, text=" \u200b"), post("a", 3, parent="nobody")]
    run = await Run(AfterPosts(None), beliefs=True).read(twice)
    assert run.decided == {"a": (3, "end")}
    assert (run.threads.counts["duplicates"], run.threads.counts["empty"]) == (1, 1)


async def test_posts_are_shown_as_corpora_show_them() -> None:
    seen: list[ClaimThread] = []

    async def verifier(prefix: ClaimThread) -> Verdict:
        seen.append(prefix)
        return await counting(prefix)

    posts = [
        post("a", 0, 100.0, author="Ann", text=" is @Bob there? "),
        post("a", 1, 130.0, author="bob", text="yes @ANN", parent="gone", language="zh"),
        StreamPost("a", "no id", time=131.0),
    ]
    await Run(AfterPosts(3), verifier).read(posts)
    assert seen[0].posts == (
        Post("a0", "is @user2 there?", 0.0, "user1", None),
        Post("a1", "yes @user1", 30.0, "user2", "a0"),
        Post("2", "no id", 31.0, "", "a0"),
    )
    assert seen[0].language == "en"
    await Run(AfterPosts(3), verifier, keep_handles=True).read(posts)
    assert seen[1].posts[0] == Post("a0", "is @Bob there?", 0.0, "Ann", None)


@pytest.mark.parametrize("policy", [AfterPosts(3), AfterHours(HOUR), Confident(counting, 0.75)])
async def test_neither_batches_nor_a_checkpoint_change_a_decision(policy: Any) -> None:
    threads = [
        ClaimThread(
            f"t{n}", tuple(Post(f"t{n}-{k}", f"{n} {k}", k * 300.0 * (n % 3), "", None) for k in range(1 + n % 23))
        )
        for n in range(60)
    ]
    posts = [read_post(json.dumps(record).encode()) for record in to_stream(threads)]
    whole = await Run(policy, stale=2).read(posts)
    assert len(whole.decided) == 60
    for batch in (1, 7):
        assert (await Run(policy, stale=2).read(posts, batch=batch)).decided == whole.decided
    first = await Run(policy, stale=2).read(posts[: len(posts) // 2], end=False)
    second = Run(policy, stale=2)
    second.threads.restore(json.loads(json.dumps(first.threads.state())))
    await second.read(posts[len(posts) // 2 :])
    assert first.decided | second.decided == whole.decided
    assert not first.decided.keys() & second.decided.keys()


async def test_chat_models_are_asked_beside_the_stream_a_few_at_once_and_a_failure_is_told() -> None:
    now = peak = 0

    async def slow(prefix: ClaimThread) -> Verdict:
        nonlocal now, peak
        now, peak = now + 1, max(peak, now + 1)
        await asyncio.sleep(0.001)
        now -= 1
        if prefix.id == "t7":
            raise ModelError("the line is dead")
        return Verdict("rumor")

    run = Run(AfterPosts(1), slow, concurrency=5)
    await run.read([post(f"t{n}", 0) for n in range(100)])
    assert len(run.decided) == 100
    assert peak == 5
    (failed,) = [line for line in run.lines if line["outcome"] == "failed"]
    assert (failed["thread"], failed["label"], failed["reason"]) == ("t7", None, "the line is dead")


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        (b"not json", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b'["a"]', "no JSON object"),
        (b'{"text": "x"}', "no thread"),
        (b'{"thread": {}, "text": "x"}', "thread is no id"),
        (b'{"thread": "a"}', "no text"),
        (b'{"thread": "a", "text": 5}', "no text"),
        (b'{"thread": "a", "text": "x", "time": "soon"}', "time is no time"),
        (b'{"thread": "a", "text": "x", "time": NaN}', "time is no time"),
        (b'{"thread": "a", "text": "x", "seconds": "2026-01-01"}', "seconds is no number"),
        (b'{"thread": "a", "text": "x", "author": 3}', "author is no text"),
        (b'{"thread": "a", "text": "x", "language": "fr"}', "language is not"),
        (b'{"thread": "' + b"a" * 1001 + b'", "text": "x"}', "longer than"),
        (b'{"thread": "a", "text": "' + b"x" * (1 << 20) + b'"}', "longer than"),
    ],
)
def test_malformed_lines_say_why(line: bytes, wrong: str) -> None:
    with pytest.raises(Malformed, match=wrong):
        read_post(line)


def test_posts_in_every_form() -> None:
    full = b'{"thread": 7, "id": 8, "text": "\\ud800", "time": "1970-01-01T00:01:00Z", "parent": null, "author": null}'
    assert read_post(full) == StreamPost("7", "?", "8", 60.0)
    assert read_post(b'\xef\xbb\xbf{"time": 5}') == StreamPost("", time=5.0)
    assert read_post(b'{"thread": "a", "text": "\xff", "x": 1}').text == "\ufffd"
