"""What the recurrent baselines share: a GRU over post vectors, read post by post, and how it becomes a method.

They were published with word vectors of their own; here all of them read the sentence encoder's vectors of the same
posts, so that a comparison is one of methods and not of embeddings.
"""

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from agents.encoder import Encoder
from agents.stopping.running import Running
from agents.verdict import StopPolicy, Verdict, Verifier
from corpora.errors import UsageError
from corpora.thread import ClaimThread, Post

S = TypeVar("S")

_global_generators = threading.Lock()


@dataclass(frozen=True)
class Baseline:
    """A trained method: when it stops, and what it then says."""

    policy: StopPolicy
    verifier: Verifier


class Padded(NamedTuple):
    """Conversations of different lengths as one batch."""

    vectors: Tensor
    """(threads, longest, d); zeros after a thread's end."""
    there: Tensor
    """(threads, longest), True where a post is."""
    lengths: Tensor
    """(threads,)"""

    def only(self, threads: Tensor) -> "Padded":
        """Some of the threads, by index, no longer than the longest of them."""
        lengths = self.lengths[threads]
        longest = int(lengths.max())
        return Padded(self.vectors[threads, :longest], self.there[threads, :longest], lengths)


def pad(encoder: Encoder, threads: Sequence[ClaimThread], longest: int | None = None) -> Padded:
    """The first `longest` posts of each thread (None: all) as vectors."""
    rows = [torch.from_numpy(encoder([post.text for post in thread.posts[:longest]])) for thread in threads]
    lengths = torch.tensor([len(row) for row in rows])
    vectors = nn.utils.rnn.pad_sequence(rows, batch_first=True)
    return Padded(vectors, torch.arange(vectors.shape[1]) < lengths[:, None], lengths)


class Reader(nn.Module):
    """A GRU over a conversation's post vectors, and after each post what it takes the conversation for."""

    def __init__(self, dimensions: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.gru = nn.GRU(dimensions, hidden, batch_first=True)
        self.classify = nn.Linear(hidden, classes)

    def forward(self, vectors: Tensor) -> Tensor:
        """Hidden states (threads, posts, hidden) of vectors (threads, posts, d); `classify` makes logits of them."""
        states: Tensor = self.gru(vectors)[0]
        return states

    @torch.no_grad()
    def step(self, state: Tensor | None, vector: Tensor) -> Tensor:
        """The state (hidden,) after one more post: equal to what `forward` gives at that post."""
        before = None if state is None else state[None]
        return self.gru(vector[None], before)[1][0]  # type: ignore[no-any-return]


def read_along(reader: Reader, encoder: Encoder) -> Running[Tensor]:
    """The reader's hidden state (hidden,) of any prefix, at the cost of its new posts."""

    def step(state: Tensor | None, post: Post) -> Tensor:
        return reader.step(state, torch.from_numpy(encoder([post.text])[0]))

    return Running(step)


def method(
    encoder: Encoder,
    state_of: Callable[[ClaimThread], S],
    stop: Callable[[S], float],
    logits: Callable[[S], Tensor],
    classes: Sequence[str],
) -> Baseline:
    """A policy and a verifier that share one reading of the prefix.

    Args:
        encoder: Made ready for a prefix before its state is asked for.
        state_of: The state of a prefix, such as `read_along(reader, encoder)`.
        stop: State -> probability of stopping here.
        logits: State -> logits (classes,).
        classes: Their labels, in the order of the logits.
    """
    return Baseline(_Policy(encoder, state_of, stop), _Judge(encoder, state_of, logits, tuple(classes)))


@dataclass(frozen=True)
class _Policy(Generic[S]):
    encoder: Encoder
    state_of: Callable[[ClaimThread], S]
    stop: Callable[[S], float]
    deadline: float | None = None

    async def __call__(self, prefix: ClaimThread) -> float:
        await self.encoder.ready([post.text for post in prefix.posts])
        return self.stop(self.state_of(prefix))


@dataclass(frozen=True)
class _Judge(Generic[S]):
    encoder: Encoder
    state_of: Callable[[ClaimThread], S]
    logits: Callable[[S], Tensor]
    classes: tuple[str, ...]

    async def __call__(self, prefix: ClaimThread) -> Verdict:
        await self.encoder.ready([post.text for post in prefix.posts])
        return verdict(self.classes, self.logits(self.state_of(prefix)))


def verdict(classes: Sequence[str], logits: Tensor) -> Verdict:
    """The likeliest class by a softmax of logits (classes,)."""
    # In double precision, so that the probabilities sum to 1 as closely as a reader of the store expects.
    row = torch.softmax(logits.detach().double(), dim=-1).tolist()
    probabilities = dict(zip(classes, row, strict=True))
    return Verdict(max(probabilities, key=probabilities.__getitem__), probabilities, "classifier")


def classes_of(labels: Sequence[str]) -> tuple[list[str], Tensor]:
    """The labels that occur, sorted, and each label's place among them (shots,).

    Raises:
        UsageError: fewer than two.
    """
    classes = sorted(set(labels))
    if len(classes) < 2:
        raise UsageError("a baseline learns from labelled threads of at least two classes: use --shots 10 or more")
    return classes, torch.tensor([classes.index(label) for label in labels])


def balanced(gold: Tensor) -> Tensor:
    """Weights (shots,) that make every class count the same, 1 on average, of class indices (shots,)."""
    counts = torch.bincount(gold).float()
    return (len(gold) / len(counts) / counts)[gold]


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """The global CPU generators of torch, numpy and random, seeded here and left as they were.

    They belong to the process: one training at a time, or two in threads would draw from each other's numbers.
    """
    with _global_generators, torch.random.fork_rng(devices=[]):
        numpy_state, python_state, threads = np.random.get_state(), random.getstate(), torch.get_num_threads()
        # not torch.manual_seed, which would seed the GPUs too, whose state is not put back
        torch.default_generator.manual_seed(seed)
        np.random.seed(seed)
        random.seed(seed)
        torch.set_num_threads(1)  # networks this small only wait for a second one
        try:
            yield
        finally:
            torch.set_num_threads(threads)
            np.random.set_state(numpy_state)
            random.setstate(python_state)
