"""Labelling every prefix of PHEME-shaped threads in process: what is kept is not read again, beside reading it all.

The threads are made up; their lengths and the lengths of their posts follow PHEME's (a mean of 16 posts of 21
words). The model is a Llama with random weights, built here, and big enough that its arithmetic takes the time.
"""

import asyncio
import random
import time
from pathlib import Path

import numpy as np

import prompts
from agents.call_log import CallLog
from agents.models import Model, ModelSettings, open_model
from agents.replies import show_posts
from agents.totals import Totals
from agents.verifiers.direct import direct
from benchmarks.table import Row
from corpora.labels import LABEL_SETS
from corpora.thread import ClaimThread, Post
from tests.tiny_llama import build
from training.prefix_labels import Labels, label_threads

VOCABULARY = 6_000
SIZE = {"hidden_size": 384, "intermediate_size": 1_024, "num_hidden_layers": 6, "num_attention_heads": 6}
POSTS = ([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0], [1, 1, 5, 13, 20, 31, 45, 66])
"""PHEME's quantiles of the number of posts; the longest of its threads are longer."""


def pheme_shaped(n: int, seed: int = 0) -> list[ClaimThread]:
    """Make up n threads."""
    rng = random.Random(seed)
    letters = ["".join(rng.choices("bcdfghklmnprst", k=1) + rng.choices("aeiou", k=1)) for _ in range(200)]
    words = ["".join(rng.choices(letters, k=rng.choice([1, 1, 2, 2, 3]))) for _ in range(4_000)]

    def thread(number: int) -> ClaimThread:
        length = round(np.interp((number + 0.5) / n, *POSTS))
        posts = []
        for place in range(length):
            text = " ".join(rng.choices(words, k=max(3, round(rng.gauss(21, 9)))))
            parent = None if place == 0 else f"{rng.choice([0, rng.randrange(place)])}"
            posts.append(Post(str(place), text, 90.0 * place, f"{rng.choice(words)}{rng.randrange(100)}", parent))
        return ClaimThread(f"thread {number}", tuple(posts))

    return rng.sample([thread(number) for number in range(n)], n)


async def labelled(folder: Path, threads: list[ClaimThread], keep: bool) -> tuple[dict[str, Labels], Totals, float]:
    """Label every prefix, each way with a model opened for it; labels, totals and seconds."""
    model: Model = open_model(ModelSettings(f"hf:{folder}", max_tokens=8), {})
    log = CallLog()
    verifier = direct(log, model, None, LABEL_SETS["rumor/non-rumor"])
    await label_threads(verifier, pheme_shaped(1, seed=1), max_posts=1)  # the first pass of a network is slow
    log.totals = Totals()
    started = time.perf_counter()
    labels = await label_threads(verifier, threads, models=[model] if keep else [])
    seconds = time.perf_counter() - started
    await model.close()
    return labels, log.totals, seconds


def kept_against_naive(folder: Path, n_threads: int) -> list[Row]:
    """Both ways on the same threads, one after the other; naive is in padded batches of 16 whole prompts."""
    threads = pheme_shaped(n_threads)
    prompt = prompts.load("direct", "en")
    shown = [prompt.render(posts=show_posts(thread)) for thread in pheme_shaped(200, seed=1)]
    corpus = [message["content"] for messages in shown for message in messages]
    model = build(folder / "llama", positions=8_192, corpus=corpus, vocabulary=VOCABULARY, **SIZE)
    naive, naive_totals, naive_seconds = asyncio.run(labelled(model, threads, keep=False))
    kept, totals, seconds = asyncio.run(labelled(model, threads, keep=True))
    pairs = [pair for thread in threads for pair in zip(naive[thread.id], kept[thread.id], strict=True)]
    equal = sum(one == other for one, other in pairs)
    before, after = naive_totals.input_tokens, totals.computed_tokens
    return [
        Row(
            f"labels of {len(pairs)} prefixes of {n_threads} threads, hf:, tokens read: naive / kept",
            f"{before / after:.1f} × ({before:,} / {after:,})",
            "≥ 6",
        ),
        Row(
            "  seconds: naive, in batches of 16 / kept",
            f"{naive_seconds / seconds:.1f} × ({naive_seconds:.1f} / {seconds:.1f})",
            "≥ 4",
        ),
        Row("  equal labels", f"{equal} of {len(pairs)}", "all"),
    ]
