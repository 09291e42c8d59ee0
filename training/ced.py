"""CED: stop at the first post after which the prediction is confident enough.

Paper: Song, Yang, Chen, Tu, Liu, Sun, "CED: Credible Early Detection of Social Media Rumors" (TKDE 2019,
arXiv 1811.04175); released code: thunlp/CED, whose plain model (a GRU, no separate reading of the source) this is.

A GRU predicts after every post. The credible detection point n_f is the first post at which the predicted class has a
probability above alpha (the last post if none has); what stands there is the verdict. Training maximises, for each
thread of n posts with gold label y,
    mean of log p_i(y) over i = n_f..n  -  lambda_0 * mean over the same i of max(0, log alpha - log p_i(y)),
the likelihood and the difference term: from the point on, predictions shall be right and stay above the threshold.

Deviations:
- One post a step. The paper puts ten reposts into one, which the threads here (16 posts on average) do not have.
- The third term of the objective, -lambda_1 log(n_f / n), has no gradient, as n_f is a place found by comparison: the
  released code adds a constant. It is left out.
- The difference term is written for one probability, and of non-rumors pushes it below 1 - alpha. Here it pushes each
  class's own probability above alpha, so that there may be any number of classes. (The released code subtracts the
  cross-entropy where the formula has the log-probability, which turns the term round; here it is as printed.)
- Each class weighs the same in the loss: the paper's corpora are half rumors, a few-shot sample of PHEME is an eighth.
- 300 updates, after which all of 50 shots are judged right at their points. The paper's ten epochs of 5,435 threads
  are 10,870, of which a validation set picks one; few shots cannot spare any.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from agents.encoder import Encoder
from corpora.errors import UsageError
from corpora.thread import ClaimThread
from training.recurrent import Baseline, Padded, Reader, balanced, classes_of, method, pad, read_along, seeded


@dataclass(frozen=True, slots=True)
class CedSettings:
    """As in the paper and its released code, but for `updates` and `longest`."""

    threshold: float = 0.975
    """alpha, of training and of stopping (the released code asks the same of two classes as a difference of 0.95)."""
    difference: float = 0.05
    """lambda_0"""
    hidden: int = 200
    batch: int = 5
    """Threads in an update."""
    updates: int = 300
    learning_rate: float = 1e-3
    """Of RMSProp."""
    l2: float = 0.002
    """On the output layer."""
    longest: int = 300
    """Posts read of a shot; at work all are."""


def ced(
    encoder: Encoder,
    shots: Sequence[ClaimThread],
    labels: Sequence[str],
    seed: int,
    settings: CedSettings | None = None,
) -> Baseline:
    """Train on the labelled shots.

    Raises:
        UsageError: fewer than two classes, or a threshold that is no probability.
    """
    settings = settings or CedSettings()
    if not 0 < settings.threshold < 1:
        raise UsageError(f"ced:{settings.threshold}: want a probability between 0 and 1 (ced:0.975)")
    classes, gold = classes_of(labels)
    threads = pad(encoder, shots, settings.longest)
    with seeded(seed):
        reader = Reader(threads.vectors.shape[-1], settings.hidden, len(classes))
        _train(reader, threads, gold, settings)
    reader.requires_grad_(False)

    def stop(state: Tensor) -> float:
        return float(torch.softmax(reader.classify(state), dim=-1).max() > settings.threshold)

    return method(encoder, read_along(reader, encoder), stop, reader.classify, classes)


def _train(reader: Reader, threads: Padded, gold: Tensor, settings: CedSettings) -> None:
    optimizer = torch.optim.RMSprop(reader.parameters(), lr=settings.learning_rate)
    weights = balanced(gold)
    order = torch.empty(0, dtype=torch.long)
    for _ in range(settings.updates):
        if not len(order):
            order = torch.randperm(len(gold))
        chosen, order = order[: settings.batch], order[settings.batch :]
        batch = threads.only(chosen)
        log_p = torch.log_softmax(reader.classify(reader(batch.vectors)), dim=-1)
        per_thread = loss(log_p, batch.there, gold[chosen], settings.threshold, settings.difference)
        size = sum((parameter**2).sum() for parameter in reader.classify.parameters()) / 2
        optimizer.zero_grad()
        torch.autograd.backward((weights[chosen] * per_thread).sum() + settings.l2 * size)
        optimizer.step()


def loss(log_p: Tensor, there: Tensor, gold: Tensor, threshold: float, difference: float) -> Tensor:
    """What an update brings down, for each thread (threads,).

    Args:
        log_p: Log-probabilities after each post, (threads, posts, classes).
        there: Where a post is, (threads, posts).
        gold: Classes, (threads,).
        threshold: alpha
        difference: lambda_0
    """
    right = log_p.gather(2, gold[:, None, None].expand(-1, log_p.shape[1], 1)).squeeze(2)
    short_of = torch.clamp(torch.tensor(threshold).log() - right, min=0)
    counted = from_credible_point(log_p.detach(), there, threshold)
    return ((difference * short_of - right) * counted).sum(1) / counted.sum(1)


def from_credible_point(log_p: Tensor, there: Tensor, threshold: float) -> Tensor:
    """True from each thread's credible detection point to its end, (threads, posts)."""
    credible = (log_p.max(dim=2).values.exp() > threshold) & there
    last = functional.one_hot(there.sum(1) - 1, there.shape[1]).bool()
    return ((credible | last).cumsum(1) > 0) & there
