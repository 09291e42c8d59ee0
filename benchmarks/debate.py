"""S2MAD: threads a second beside inspect_ai, what its own work adds to the calls' time, and how replies are read.

**Threads a second** are of whole processes on one loopback stub, start-up included: `eval.run --method s2mad` and
`inspect_debate.py` make the same calls (the stub counts them), 32 at a time.

**The share of the orchestration** is 1 - ideal / wall. Ideal is the debate's critical path at 50 ms a call: all
scores and the claim's kind at once (--concurrency 41), two opinions at once, M rounds, the judge where there is one;
4 or 5 steps. The wall time is of one thread after another, so that no thread's work hides behind another's waiting,
and every call is recorded as in a run. What is not ours is kept out: an earlier pass has written down the model's
replies, and loaded what is loaded once; the call log remembers nothing of it. Told beside the share, and parts of it:
what asyncio takes for the same sleeps alone, and the processor's time on the event loop, which other programs do not
lengthen. All are medians over threads.
"""

import asyncio
import importlib.util
import json
import random
import string
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import count, islice
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from agents.call_log import CallLog
from agents.debate.debate import Debate
from agents.debate.readings import read_citations, read_score, read_scores
from agents.debate.settings import DebateSettings
from agents.models import Reply
from agents.replies import FAKE_REAL, YES_NO, read_label, show_posts
from benchmarks.table import Row
from benchmarks.throughput import timed
from corpora.catalog import load
from corpora.labels import LABEL_SETS
from corpora.thread import ClaimThread
from eval.store import Writer
from graphs.debate import graph
from graphs.debate_verifier import run_nodes
from tests.debate_script import Speaker, case_of, reply, score_of, write_threads
from tests.made_up import asked, stub_process

COMMENTS = 40
"""A thread."""
SECONDS = 0.05
"""A call."""


def write_corpus(path: Path, threads: int) -> Path:
    """Threads of 40 comments, half of which the judge decides; every reply to them can be read."""
    words = ("Source?", "so sad", "a colleague said so", "confirmed", "noted")
    texts = []
    for number in range(threads):
        sources = (f"the bridge at milestone {number}-{tries} is closed" for tries in count())
        source = next(text for text in sources if case_of(text) == ("agree", "dispute")[number % 2] and _clear(text))
        comments = (f"{words[n % len(words)]} {number}-{n}" for n in count())
        texts.append(("en", [source, *islice((text for text in comments if score_of(text) is not None), COMMENTS)]))
    return write_threads(path, texts)


def _clear(source: str) -> bool:
    """Whether the scripted debater says what kind of claim it is."""
    line = f"---- {'0' * 16} begins ----\n[1] a: {source}\n---- {'0' * 16} ends ----"
    question = f"{line}\nDoes the claim only express a personal opinion?"
    return reply({"messages": [{"role": "user", "content": question}]}) == "No"


def against_inspect(folder: Path, threads: int, samples: int) -> list[Row]:
    """Whole processes, one after the other, on one stub."""
    corpus = write_corpus(folder / "debates.jsonl", threads)
    ours = [sys.executable, "-m", "eval.run", "--method", "s2mad", "--seeds", "1", "--dataset", f"jsonl:{corpus}"]
    with stub_process([], "--script", "tests.debate_script:reply") as url:
        ours += ["--model", "openai:x", "--base-url", url, "--db", "debates.duckdb"]
        own = threads / timed(ours, folder)
        calls = asked(url)["count"]
        rows = [
            Row(
                f"S2MAD, {COMMENTS} comments, M = 2, on a loopback stub",
                f"{own:.1f} threads/s ({own * calls / threads:,.0f} calls/s)",
                "",
            )
        ]
        if importlib.util.find_spec("inspect_ai") is None:
            return [*rows, Row("  / inspect_ai", "not installed (make bench installs it)", "≥ 3")]
        chosen = load(f"jsonl:{corpus}", environ={}).threads[:samples]
        (folder / "debates.json").write_text(json.dumps([_shown(thread) for thread in chosen]))
        script = str(Path(__file__).parent / "inspect_debate.py")
        peer = samples / timed([sys.executable, script, "debates.json", url, str(folder / "debate_logs")], folder)
        theirs = asked(url)["count"] - calls
    # even numbers of threads: one in two has a judge
    assert theirs * threads == calls * samples, f"{calls} calls for {threads} threads, {theirs} for {samples}"
    return [*rows, Row("  / inspect_ai, the same calls", f"{own / peer:.1f} × ({peer:.1f} threads/s)", "≥ 3")]


def _shown(thread: ClaimThread) -> dict[str, Any]:
    lines = [show_posts(thread, [index]) for index in range(len(thread.posts))]
    target = "Fake" if LABEL_SETS["rumor/non-rumor"].of(thread) == "rumor" else "Real"
    return {"source": lines[0], "comments": lines[1:], "target": target}


class Remembering(Speaker):
    """Replies at once on its first sight of a prompt, from then on after SECONDS."""

    def __init__(self) -> None:
        super().__init__()
        self.replies: dict[tuple[str, ...], Reply] = {}

    async def complete(self, messages: Any, *, labels: tuple[str, ...] = (), sample: int = 0) -> Reply:
        """Look the reply up, and wait."""
        key = tuple(message["content"] for message in messages)
        if key in self.replies:
            await asyncio.sleep(SECONDS)
        else:
            self.replies[key] = await super().complete(messages)
        return self.replies[key]


async def through_graph(thread: ClaimThread, debate: Debate) -> dict[str, Any]:
    """One debate in the compiled graph, as Studio and callers run it; without a checkpointer."""
    names = ("id", "text", "seconds", "author", "parent")
    posts = [{name: getattr(post, name) for name in names} for post in thread.posts]
    found = await graph.ainvoke({"id": thread.id, "posts": posts, "language": thread.language}, context=debate)
    verdict: dict[str, Any] = found["verdict"]
    return verdict


async def in_batch(thread: ClaimThread, debate: Debate) -> dict[str, Any]:
    """One debate as eval.run holds it."""
    return (await run_nodes(thread, debate))["verdict"] or {}


class Shares(NamedTuple):
    """Medians over threads."""

    own: float
    """1 - ideal / wall."""
    sleeps: float
    """The same of the sleeps alone."""
    wall: float
    """Seconds a thread beyond the ideal."""
    work: float
    """Seconds of the processor."""


async def shares(
    hold: Callable[[ClaimThread, Debate], Awaitable[dict[str, Any]]], threads: Sequence[ClaimThread], writer: Writer
) -> Shares:
    """Hold debates, one after the other, and see what time they took beyond the calls' own."""
    model = Remembering()
    roles = dict.fromkeys(("scorer", "debater", "judge"), model)
    found = []
    for measured in (False, True):
        log = CallLog(record=lambda call: writer.add(calls=[call]), at_once=COMMENTS + 1)
        debate = Debate(log, roles, None, LABEL_SETS["rumor/non-rumor"], DebateSettings())
        for thread in threads:
            started, worked = time.perf_counter(), time.thread_time()
            verdict = await hold(thread, debate)
            wall, work = time.perf_counter() - started, time.thread_time() - worked
            if not measured:
                continue
            steps = steps_of(verdict["debate"])
            ideal, started = SECONDS * len(steps), time.perf_counter()
            for at_once in steps:
                await asyncio.gather(*(asyncio.sleep(SECONDS) for _ in range(at_once)))
            bare = time.perf_counter() - started
            found.append(Shares(1 - ideal / wall, 1 - ideal / bare, wall - ideal, work))
    return Shares(*(median(column) for column in zip(*found, strict=True)))


def steps_of(debate: dict[str, Any]) -> list[int]:
    """How many calls a debate makes at once, step by step."""
    turns = debate["turns"]
    assert debate["calls"] == COMMENTS + 1 + len(turns), "a reply could not be read"
    speakers = [turn["speaker"] for turn in turns]
    return [COMMENTS + 1] + [2] * speakers.count("p") + [1] * speakers.count("judge")


def orchestration(folder: Path, threads: int) -> list[Row]:
    """Both ways."""
    found = load(f"jsonl:{write_corpus(folder / 'slow.jsonl', threads)}", environ={}).threads
    rows = []
    for name, hold in (("the graph", through_graph), ("a batch", in_batch)):
        with Writer(folder / "slow.duckdb", {"run_id": "slow", "seed": 0}) as writer:
            each = asyncio.run(shares(hold, found, writer))
        took = f"{1e3 * each.wall:.0f} ms a thread, {1e3 * each.work:.0f} of the processor"
        result = f"{each.own:.1%} ({took}; sleeps alone {each.sleeps:.1%})"
        rows.append(Row(f"S2MAD's own share of the time at {1e3 * SECONDS:.0f} ms a call, {name}", result, "< 5 %"))
    return rows


_PIECES = (
    *string.printable, *"是否谣言真实不。，：“”「」—–−₀１０²½\u200b\ud800\x00",
    "Fake", "Real", "Yes", "No", "not ", "谣言", "真实", "<think>", "</think>", "---- ", " begins ----\n", "\n\n",
    '{"Reason": "', '", "Score": ', '"Score"', "Score: ", "score=", "}", "```json\n", "```", "[[", "]]", "{{", "\\",
    "[3]", "[3, 7]", "[999999999]", "1e400", "NaN", "Infinity", "-1.0", "0.7", "-0", "0,5", "7", "null", "true",
    "\\u0000",
)  # fmt: skip


def random_texts(rng: random.Random, n: int) -> list[str]:
    """Strings of pieces that replies are made of, put together anyhow."""
    return ["".join(rng.choices(_PIECES, k=rng.randrange(40))) for _ in range(n)]


def readings(texts: int) -> Row:
    """All readers of replies on random strings: none may raise, and all that is read is in range."""
    rng, seconds, numbers = random.Random(0), 0.0, range(1, 42)
    left = texts
    while left > 0:
        some = random_texts(rng, min(left, 10_000))
        left -= len(some)
        started = time.perf_counter()
        for text in some:
            read_all(text, numbers)
        seconds += time.perf_counter() - started
    return Row(
        f"reading {texts:,} random strings, each by every reader", f"none fails, {texts / seconds:,.0f} strings/s", ""
    )


def read_all(text: str, numbers: Sequence[int]) -> None:
    """Read one string in every way, and look at what was read."""
    scores: Iterable[float | None] = (read_score(text), *read_scores(text, numbers[:5]).values())
    assert all(score is None or -1 <= score <= 1 for score in scores), text
    for words in (*FAKE_REAL.values(), *YES_NO.values()):
        assert read_label(text, words) in (None, *words), text
    cited, unknown = read_citations(text, numbers)
    assert cited == sorted(set(cited)) and set(cited) <= set(numbers) and unknown >= 0, text
