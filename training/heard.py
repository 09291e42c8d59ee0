"""HEARD: read until the expected number of future changes of mind has vanished.

Paper: Zeng and Gao, "Early Rumor Detection Using Neural Hawkes Process with a New Benchmark Dataset" (NAACL 2022,
arXiv 2306.02597; code znhy1024/HEARD). A recurrent detector predicts after every post. A prediction that differs from
the one before is an *inversion*. A neural Hawkes process (`training/hawkes.py`) reads, post by post, how many
inversions there have been, and says how many more are to be expected in the coming hours: dN. The first post with dN <
1 is the detection point: from there on the prediction is taken to be stable. Detector and process are trained
together. As in the released code the first post is never a detection point, whatever dN is there.

Time. The unit is the hour (the code's `interval`); the horizon is 5.2, what the largest of the code's 100 draws from
Exp(1) is on average. Between posts without times one unit passes: an untimed thread runs on its post index, and its
horizon is some five posts. In training these units are drawn from Exp(1) at every update: inversions happen at posts,
and if posts came on the stroke of every unit, all that the process would learn is to expect inversions on the stroke,
with an intensity that goes on rising where no stroke is left to hold it down.

The stop probability is 2 ** (-dN / threshold). With dN inversions expected, exp(-dN) is about the chance that none
comes; base 2 puts 0.5 where the paper decides.

With vectors that stay as they are, a detector of 50 shots changes its mind in one thread of eight, half of the times
at the second post. So dN is below 1 from there on, and HEARD reads two posts of nearly every thread.

Deviations:
- Vectors of our sentence encoder instead of tf-idf; every post is a step (the code merges ten of BEARD's); the detector
  is a GRU instead of an LSTM. Each class weighs the same in its loss, as in our other baselines.
- The process is trained by its log-likelihood, from the source post until a horizon after the last one (a thread that
  is over has no more inversions). The released code instead adds up the errors of the next post's time, of whether it
  inverts, and of dN against the inversions that remain; its lateness term has no gradient, and is left out.
- Every post is trained on, not only those before the current detection point.
- dN by quadrature at fixed times instead of random ones, so that a prefix has one answer.
- No validation set: 50 shots have none to spare, so training takes a fixed number of steps.
- More than two classes work alike: an inversion is any change of label.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from agents.encoder import Encoder
from agents.stopping.running import Running
from corpora.thread import ClaimThread, Post
from training.hawkes import Cell, Hawkes
from training.recurrent import Baseline, Reader, balanced, classes_of, method, pad, seeded


@dataclass(frozen=True)
class HeardSettings:
    """Numbers of the paper's code where it has them."""

    hidden: int = 128
    """Of the detector."""
    process_hidden: int = 64
    """Of the continuous-time LSTM."""
    dropout: float = 0.3
    """Before the detector's output."""
    weight_decay: float = 1e-4
    learning_rate: float = 3e-3
    """The code's is 2e-4, for several times as many steps."""
    updates: int = 100
    """Each on all shots."""
    longest: int = 50
    """Posts of a shot that are learned from; the code's 100 are of ten posts each."""
    unit: float = 3600.0
    """Seconds in a unit of time."""
    horizon: float = 5.2
    """Units ahead that inversions are expected in."""
    threshold: float = 1.0
    """Expected inversions up to which it stops."""


def inversions(labels: Tensor) -> Tensor:
    """1.0 where a label (threads, posts) differs from the one before, else 0.0."""
    changed = (labels[:, 1:] != labels[:, :-1]).float()
    return functional.pad(changed, (1, 0))


def gap(before: float | None, seconds: float | None, unit: float) -> float:
    """Units of time between two posts: one where either has no time."""
    return 1.0 if before is None or seconds is None else max(0.0, seconds - before) / unit


class _State(NamedTuple):
    """What is known of a prefix."""

    posts: int
    seconds: float | None
    hidden: Tensor
    label: int
    inversions: int
    cell: Cell


def heard(
    encoder: Encoder,
    shots: Sequence[ClaimThread],
    labels: Sequence[str],
    seed: int,
    settings: HeardSettings | None = None,
) -> Baseline:
    """Train on labelled shots.

    Args:
        encoder: Vectors of posts.
        shots: Whole threads.
        labels: Their labels.
        seed: Of the weights and of dropout.
        settings: None for the defaults.

    Raises:
        UsageError: the shots hold fewer than two classes.
    """
    settings = settings or HeardSettings()
    reader, hawkes, classes = fit(encoder, shots, labels, seed, settings)
    rest = torch.tensor([settings.horizon])

    def step(state: _State | None, post: Post) -> _State:
        hidden = reader.step(state.hidden if state else None, torch.from_numpy(encoder([post.text])[0]))
        label = int(reader.classify(hidden).argmax())
        if state is None:
            return _State(1, post.seconds, hidden, label, 0, hawkes.step(None, 0.0, 0))
        count = state.inversions + (label != state.label)
        cell = hawkes.step(state.cell, gap(state.seconds, post.seconds, settings.unit), count)
        return _State(state.posts + 1, post.seconds, hidden, label, count, cell)

    def stop(state: _State) -> float:
        if state.posts == 1:
            return 0.0
        return float(2.0 ** (-float(hawkes.expected(state.cell, rest)) / settings.threshold))

    return method(encoder, Running(step), stop, lambda state: reader.classify(state.hidden), classes)


def fit(
    encoder: Encoder, shots: Sequence[ClaimThread], labels: Sequence[str], seed: int, settings: HeardSettings
) -> tuple[Reader, Hawkes, list[str]]:
    """The trained detector and process, and the classes in the detector's order.

    An inversion is a discrete thing, through which no gradient flows from the process to the detector. So the two
    losses can simply be added: no weight between them would change anything.
    """
    classes, gold = classes_of(labels)
    posts = pad(encoder, shots, settings.longest)
    gaps, known, tail = _times(shots, posts.there, settings)
    targets = gold[:, None].expand(posts.there.shape)[posts.there]
    # a thread weighs the same long or short, and so does a class, often or seldom
    weights = (balanced(gold)[:, None] * posts.there / posts.lengths[:, None])[posts.there] / len(shots)
    with seeded(seed):
        reader = Reader(posts.vectors.shape[-1], settings.hidden, len(classes))
        hawkes = Hawkes(settings.process_hidden)
        parameters = [*reader.parameters(), *hawkes.parameters()]
        adam = torch.optim.Adam(parameters, settings.learning_rate, weight_decay=settings.weight_decay)
        for _ in range(settings.updates):
            logits = reader.classify(functional.dropout(reader(posts.vectors), settings.dropout))
            detection = (functional.cross_entropy(logits[posts.there], targets, reduction="none") * weights).sum()
            inverted = inversions(logits.argmax(dim=-1)) * posts.there
            waits = torch.where(known, gaps, torch.empty(gaps.shape).exponential_())
            process = -hawkes.log_likelihood(inverted, waits, silences(waits, posts.lengths, tail), posts.there).mean()
            adam.zero_grad()
            torch.autograd.backward(detection + process)
            adam.step()
    reader.requires_grad_(False)
    hawkes.requires_grad_(False)
    return reader, hawkes, classes


def silences(gaps: Tensor, lengths: Tensor, tail: Tensor) -> Tensor:
    """Time after each post (threads, posts): until the next, or after a thread's last post its tail (threads,)."""
    return functional.pad(gaps[:, 1:], (0, 1)).scatter(1, lengths[:, None] - 1, tail[:, None])


def _times(shots: Sequence[ClaimThread], there: Tensor, settings: HeardSettings) -> tuple[Tensor, Tensor, Tensor]:
    """Time before each post and whether it is known, both (threads, posts), and how long nothing came after (threads,).

    A thread that was cut off goes on after its last post, how is not known: its tail is 0.
    """
    gaps, known = torch.zeros(there.shape), torch.ones_like(there)
    for row, thread in enumerate(shots):
        times = [post.seconds for post in thread.posts[: settings.longest]]
        gaps[row, 1 : len(times)] = torch.tensor([gap(*pair, settings.unit) for pair in pairwise(times)])
        known[row, 1 : len(times)] = torch.tensor([None not in pair for pair in pairwise(times)], dtype=torch.bool)
    ended = torch.tensor([len(thread.posts) <= settings.longest for thread in shots])
    return gaps, known, ended * settings.horizon
