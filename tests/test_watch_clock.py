"""The stream's clock: wrong times that must not move it, times that begin late, deadlines, what is kept."""

import json
import time
from typing import Any

import pytest

from agents.stopping.fixed import AfterHours, AfterPosts
from corpora.stream import Malformed, StreamPost
from graphs.watching.order import InOrder
from graphs.watching.settings import WatchSettings
from tests.watching import HOUR, Run, post

DAY = 24 * HOUR


@pytest.mark.parametrize("wrong", [1.7e12, 253402300799.0])  # milliseconds; the year 9999
@pytest.mark.parametrize("lateness", [0.0, 5.0])
async def test_a_time_that_is_yet_to_come_ends_nothing(wrong: float, lateness: float) -> None:
    posts = [post("x", 0, wrong), post("a", 0, 0), post("b", 0, 10), post("a", 1, wrong), post("a", 2, 20)]
    run = await Run(AfterPosts(None), stale=1, lateness=lateness).read(posts)
    assert run.malformed == ["time is in the future", "time is in the future"]
    assert run.decided == {"a": (2, "end"), "b": (1, "end")}
    assert run.threads.clock == 20
    soon = await Run(AfterPosts(None)).read([post("a", 0, time.time() + HOUR)])
    assert not soon.malformed  # another computer's clock, a zone that was not told


@pytest.mark.parametrize("lateness", [0.0, 5.0])
async def test_one_line_moves_the_clock_by_no_month(lateness: float) -> None:
    posts = [post("a", 0, 0), post("b", 0, 10), post("c", 0, 40 * DAY), post("a", 1, 20), post("b", 1, 30)]
    run = await Run(AfterPosts(None), stale=1, lateness=lateness).read(posts)
    assert run.decided == {"a": (2, "end"), "b": (2, "end"), "c": (1, "end")}
    assert run.threads.clock == 30
    (line,) = [line for line in run.lines if line["thread"] == "c"]
    assert line["seconds"] is None  # it is read, and its time is not believed
    strict = await Run(AfterHours(HOUR), stale=1, lateness=lateness).read(posts)
    assert strict.malformed == ["no time, and --when hours:H needs one"]
    assert strict.decided == {"a": (2, "end"), "b": (2, "end")}


@pytest.mark.parametrize("lateness", [0.0, 5.0])
async def test_a_silence_of_a_month_is_believed_with_the_second_line(lateness: float) -> None:
    posts = [post("a", 0, 0), post("b", 0, 40 * DAY), post("b", 1, 40 * DAY + 9), post("b", 2, 90 * DAY)]
    run = await Run(AfterPosts(3), stale=1, lateness=lateness).read(posts[:2], end=False)
    assert run.decided == {}
    again = Run(AfterPosts(3), stale=1, lateness=lateness)
    again.threads.restore(json.loads(json.dumps(run.threads.state())))
    again.order.restore(json.loads(json.dumps(run.order.state())))
    await again.read(posts[2:])
    assert again.decided == {"a": (1, "stale"), "b": (2, "stale")}
    assert [line["seconds"] for line in again.lines] == [0, 9]
    never = await Run(AfterPosts(None), stale=1, leap=float("inf")).read(posts[:2], end=False)
    assert never.decided == {"a": (1, "stale")}


async def test_threads_from_before_the_first_time_are_not_stale_at_once() -> None:
    posts = [post("a", 0), post("b", 0, 1.7e9), post("b", 1, 1.7e9 + HOUR)]
    run = await Run(AfterPosts(None), stale=2).read(posts, end=False)
    assert run.decided == {}
    await run.read([post("b", 2, 1.7e9 + 2 * HOUR + 1)], end=False)
    assert run.decided == {"a": (1, "stale")}


async def test_a_source_without_time_does_not_use_its_thread_up() -> None:
    posts = [post("a", 0), post("a", 0, 5), post("b", 1, 9), post("b", 0), post("b", 0, 8)]
    run = await Run(AfterHours(HOUR)).read(posts)
    assert len(run.malformed) == 2
    assert run.decided == {"a": (1, "end"), "b": (2, "end")}


async def test_a_post_without_id_takes_one_that_is_free() -> None:
    posts = [StreamPost("a", "x", "0"), StreamPost("a", "y", "2", parent="0"), StreamPost("a", "z", parent="0")]
    run = await Run(AfterPosts(None)).read([*posts, StreamPost("a", "w", parent="0")])
    assert run.decided == {"a": (4, "end")}
    assert not run.threads.counts["duplicates"]


async def test_deadlines_of_threads_that_are_over_do_not_pile_up() -> None:
    run = await Run(AfterHours(9999 * HOUR), stale=1).read(
        [post(f"t{n}", 0, n * 2 * HOUR) for n in range(3000)], batch=100, end=False
    )
    assert len(run.threads.open) == 1
    assert len(run.threads._deadlines) < 1500


async def test_a_deadline_of_a_forgotten_thread_holds_no_other_up() -> None:
    posts: list[StreamPost] = [post("a", 0, 0), post("a", 1, 1), post("b", 0, 5 * HOUR), post("a", 0, 9 * HOUR)]
    run = Run(AfterHours(10 * HOUR), remember=0, max_posts=2, stale=float("inf"))
    await run.read(posts[:2], end=False)
    run.lines.clear()
    await run.read([*posts[2:], StreamPost("", time=15 * HOUR + 1)], end=False)
    assert run.decided == {"b": (1, "deadline")}


def test_what_a_line_with_only_a_time_said_is_kept() -> None:
    settings: Any = WatchSettings(when="posts:1", lateness=10)
    order, late = InOrder(settings), post("a", 0, 85.0)
    list(order.push(0, StreamPost("", time=100.0)))
    again = InOrder(settings)
    again.restore(json.loads(json.dumps(order.state())))
    assert list(again.push(1, late)) == list(order.push(1, late))
    with pytest.raises(Malformed):
        list(again.push(2, post("a", 1, 1e15)))
