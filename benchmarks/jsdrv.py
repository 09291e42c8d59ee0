"""One epoch of JSDRV on the bundled corpus, step by step, and claims annotated a second with states kept and not.

The peer is the same encoder read whole for every post, as sentence-transformers does it: what annotating costs that
keeps nothing of the frozen layers.
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from agents.encoder import Encoder
from agents.jsdrv.stem import stem_of
from benchmarks.table import Row
from corpora.catalog import load
from corpora.splits import few_shot
from graphs.jsdrv.corpora import VERACITY
from training.jsdrv import annotating, learning, selecting, validating
from training.jsdrv.cycle import Cycle
from training.jsdrv.encoder_training import EncoderTrainer
from training.jsdrv.settings import JsdrvSettings


def timed(work: Callable[[], object]) -> float:
    """Seconds that something takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def epoch(folder: Path, claims: int) -> list[Row]:
    """Pre-training apart, one epoch of `claims` claims with 6 posts each."""
    import numpy as np

    threads = [thread for thread in load("sample", environ={}).threads if thread.language == "en"]
    (fold,) = few_shot(threads, VERACITY.of, shots=60, pool=20, rng=np.random.default_rng(0))
    encoder = Encoder(cache=None)
    encoder.warm(post.text for thread in threads for post in thread.posts)

    def networks(place: Path | None, seed: int) -> EncoderTrainer:
        return EncoderTrainer(seed=seed, folder=place, encoder=encoder)

    settings = JsdrvSettings(claims=claims, epochs=1)
    cycle = Cycle(networks, fold.shots, [*fold.pool, *fold.test], folder / "jsdrv", settings, encoder, 0)
    learning.pretrain(cycle)
    validating.validate(cycle, 0)
    stem_of().forget()
    annotate = partial(annotating.annotate, cycle, 1)
    cold = timed(annotate)
    (cycle.folder(1) / "annotations.json").unlink()
    steps = {"annotate": timed(annotate)}
    steps["select"] = timed(partial(selecting.select, cycle, 1, 0))
    steps["fine-tune"] = timed(partial(learning.fine_tune, cycle, 1))
    steps["validate"] = timed(partial(validating.validate, cycle, 1))
    posts = [
        cycle.threads[row["id"]].posts[post["number"]].text
        for row in cycle.read(1, "annotations")
        for post in row["posts"]
    ]
    plain = Encoder(cache=None)
    plain(["loads the model"])
    whole = timed(partial(plain.warm, posts))
    total = sum(steps.values())
    shares = ", ".join(f"{name} {seconds:.1f} s ({seconds / total:.0%})" for name, seconds in steps.items())
    return [
        Row(f"one epoch of JSDRV, encoder, {claims} claims and {len(posts)} posts", f"{total:.1f} s: {shares}", ""),
        Row("  claims annotated a second, states kept", f"{claims / steps['annotate']:.0f}", ""),
        Row("  … states computed anew", f"{claims / cold:.0f} ({cold / steps['annotate']:.1f} × the time)", ""),
        Row("  … posts read whole by sentence-transformers, no verdicts", f"{claims / whole:.0f}", ""),
    ]
