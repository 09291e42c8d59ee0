"""The selector: which annotated posts and claims are kept, learned by REINFORCE on two levels.

Paper: "Reinforcement Tuning for Detecting Stances and Debunking Rumors Jointly with Large Language Models" (ACL 2024),
section 4.3. Each level has a logistic policy of its own, pi(retain | s) = sigma(W s + b). A state holds three vectors
side by side: of the claim, the mean of the instances kept so far (zeros where there are none), and of the current
instance's explanation. At the level of posts an instance is a post and what was kept so far belongs to its claim; at
the level of claims it is a claim and what was kept so far belongs to the epoch.

The gradient is the printed one, (1/t) sum_i [R_i grad log pi(A_i|S_i) + (1/t') sum_j r_ij grad log pi(a_ij|s_ij)], over
the t claims between two steps, with two departures. A baseline is taken from the rewards (the paper has none). And
r_ij is R_i, the claim's reward with the posts kept at the end: to judge the claim anew after each of its t' posts would
cost t' calls of RV where this costs one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agents.jsdrv.annotation import Annotation
from corpora.errors import UsageError
from corpora.thread import ClaimThread

Floats = NDArray[np.float64]
Embed = Callable[[list[str]], NDArray[np.float32]]
"""Texts to vectors, (n, d); instances of agents.encoder.Encoder are."""

FILE = "selector.safetensors"
_LEVELS = ("post", "claim")
_BETAS, _EPSILON = (0.9, 0.999), 1e-8  # Adam's usual ones
_MEMORY = 0.9
"""What the moving baseline keeps of itself at each claim."""


@dataclass(frozen=True, slots=True)
class Walk:
    """Decisions in the order in which they were taken."""

    states: Floats
    """(n, 3d)."""
    probabilities: Floats
    """Of retaining, (n,)."""
    kept: NDArray[np.bool_]
    """(n,)."""


@dataclass(frozen=True, slots=True)
class Episode:
    """A claim with what was decided about it and its posts."""

    reward: float
    claim: Walk | None
    """One decision; None where nothing was decided (ablation "RVS", or RV abstained)."""
    posts: Walk | None
    """None where nothing was decided (ablation "RSS", or no post was annotated)."""


class Kept:
    """The mean of the instances kept so far."""

    def __init__(self, dimensions: int) -> None:
        self._sum, self._n = np.zeros(dimensions), 0

    @property
    def mean(self) -> Floats:
        """Zeros where there are none."""
        return self._sum / max(self._n, 1)

    def add(self, vector: NDArray[np.floating]) -> None:
        """Keep one more."""
        self._sum, self._n = self._sum + vector, self._n + 1


class Selector:
    """Both policies, their optimizer and the baseline."""

    def __init__(
        self, dimensions: int, *, learning_rate: float = 5e-5, warm_up: float = 0.1, steps: int = 1,
        baseline: str = "leave-one-out",
    ) -> None:  # fmt: skip
        """Start with policies that retain everything, by a hair: the probability of each action is a half.

        Args:
            dimensions: d, of the vectors.
            learning_rate: Adam's step.
            warm_up: Share of the steps in which it grows from 0 in a line.
            steps: How many there will be.
            baseline: "leave-one-out": mean reward of the other claims of the batch; "moving": running mean of all
                rewards so far; "none".
        """
        self.dimensions = dimensions
        self._learning_rate, self._baseline = learning_rate, baseline
        self._growing = warm_up * steps
        # The last entry of each row of weights is b.
        self._weights = {level: np.zeros(3 * dimensions + 1) for level in _LEVELS}
        self._moments = {level: np.zeros((2, 3 * dimensions + 1)) for level in _LEVELS}
        self._done = 0
        self._moving, self._seen = 0.0, 0

    def decide(
        self,
        level: str,
        claims: NDArray[np.floating],
        instances: NDArray[np.floating],
        explanations: NDArray[np.floating],
        rng: np.random.Generator | None,
        kept: Kept | None = None,
    ) -> Walk:
        """Go through instances one by one.

        Args:
            level: "post" or "claim".
            claims: The claim of each instance, (n, d), or one for all, (d,).
            instances: What enters the mean if it is kept, (n, d).
            explanations: (n, d), see `explanation_vectors`.
            rng: Draws the actions; None to retain where the probability is at least a half.
            kept: What was kept before, and takes what is kept now.
        """
        n, d = instances.shape
        kept = Kept(d) if kept is None else kept
        weights, states, actions = self._weights[level], np.zeros((n, 3 * d)), np.zeros(n, dtype=bool)
        states[:, :d], states[:, 2 * d :] = claims, explanations
        logits = states @ weights[:-1] + weights[-1]
        for place in range(n):
            states[place, d : 2 * d] = kept.mean
            logits[place] += states[place, d : 2 * d] @ weights[d : 2 * d]
            p = _sigmoid(logits[place])
            actions[place] = p >= 0.5 if rng is None else rng.random() < p
            if actions[place]:
                kept.add(instances[place])
        return Walk(states, _sigmoid(logits), actions)

    def retain(self, embed: Embed, thread: ClaimThread, annotations: Mapping[int, Annotation]) -> list[int]:
        """The posts to keep where nothing is learned: those more likely retained than not.

        Args:
            embed: Texts to vectors.
            thread: The claim and its posts.
            annotations: Place in `thread.posts` -> stance; those that abstained are never kept.

        Returns:
            Places, in the order of `annotations`.
        """
        places = [place for place, each in annotations.items() if each.label is not None]
        if not places:
            return []
        walk = self.walk_posts(embed, thread, {place: annotations[place] for place in places}, None)
        return [place for place, keep in zip(places, walk.kept, strict=True) if keep]

    def walk_posts(
        self, embed: Embed, thread: ClaimThread, annotations: Mapping[int, Annotation], rng: np.random.Generator | None
    ) -> Walk:
        """Decide about posts of a claim; none of the annotations may have abstained."""
        texts = [thread.posts[place].text for place in annotations]
        vectors = embed([thread.source.text, *texts])
        explained = explanation_vectors(embed, texts, list(annotations.values()))
        return self.decide("post", vectors[0], vectors[1:], explained, rng)

    def gradient(self, batch: Sequence[Episode]) -> dict[str, Floats]:
        """Of the expected reward, by level: W followed by b, (3d + 1,)."""
        gradient = {level: np.zeros(3 * self.dimensions + 1) for level in _LEVELS}
        for episode, baseline in zip(batch, self._baselines([each.reward for each in batch]), strict=True):
            advantage = episode.reward - baseline
            for level, walk in (("claim", episode.claim), ("post", episode.posts)):
                if walk is None or not len(walk.kept):
                    continue
                # The gradient of log pi(a|s) in W s + b is a - p.
                pull = (walk.kept - walk.probabilities) * advantage / len(walk.kept) / len(batch)
                gradient[level][:-1] += pull @ walk.states
                gradient[level][-1] += pull.sum()
        return gradient

    def learn(self, batch: Sequence[Episode]) -> None:
        """Take one step of Adam."""
        gradient = self.gradient(batch)
        self._done += 1
        rate = self._learning_rate * min(1.0, self._done / self._growing if self._growing else 1.0)
        for level in _LEVELS:
            first, second = self._moments[level]
            first += (1 - _BETAS[0]) * (gradient[level] - first)
            second += (1 - _BETAS[1]) * (gradient[level] ** 2 - second)
            unbiased = [moment / (1 - beta**self._done) for moment, beta in zip((first, second), _BETAS, strict=True)]
            self._weights[level] += rate * unbiased[0] / (np.sqrt(unbiased[1]) + _EPSILON)
        for episode in batch:
            self._seen += 1
            self._moving = _MEMORY * self._moving + (1 - _MEMORY) * episode.reward

    def save(self, file: Path) -> None:
        """Write policies, optimizer and baseline."""
        from safetensors.numpy import save

        tensors = {"done seen moving": np.array([self._done, self._seen, self._moving])}
        for level in _LEVELS:
            weights = self._weights[level]
            tensors |= {f"{level}.weight": weights[:-1].copy(), f"{level}.bias": weights[-1:].copy()}
            tensors[f"{level}.moments"] = self._moments[level]
        file.write_bytes(save(tensors))

    def load(self, file: Path) -> "Selector":
        """Take over what another saved; returns itself.

        Raises:
            UsageError: there is none, or of other dimensions.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import load

        try:
            tensors = load(file.read_bytes())
            for level in _LEVELS:
                weights = np.concatenate([tensors[f"{level}.weight"], tensors[f"{level}.bias"]])
                moments = tensors[f"{level}.moments"]
                if weights.shape != (3 * self.dimensions + 1,) or moments.shape != (2, *weights.shape):
                    raise ValueError(f"it is not of {self.dimensions} dimensions")
                if not np.isfinite(weights).all():
                    raise ValueError("some of its weights are no numbers")
                self._weights[level], self._moments[level] = weights, moments.copy()
            done, seen, self._moving = tensors["done seen moving"].tolist()
            self._done, self._seen = int(done), int(seen)
        except (OSError, SafetensorError, KeyError, ValueError) as error:
            raise UsageError(f"{file} is no selector that can be used: {str(error).splitlines()[0]}") from None
        return self

    def _baselines(self, rewards: Sequence[float]) -> list[float]:
        """What each reward is compared with; 0 where there is nothing to compare it with."""
        others = len(rewards) - 1
        if self._baseline == "leave-one-out" and others:
            return [(sum(rewards) - reward) / others for reward in rewards]
        if self._baseline == "moving" and self._seen:
            return [self._moving / (1 - _MEMORY**self._seen)] * len(rewards)
        return [0.0] * len(rewards)


def explanation_vectors(embed: Embed, texts: Sequence[str], annotations: Sequence[Annotation]) -> Floats:
    """The vectors of explanations: the mean of what is explained and what is said of it, (n, d).

    The text's own vector stands alone where nothing is said of it.
    """
    said = [each.explanation or text for text, each in zip(texts, annotations, strict=True)]
    vectors = np.asarray(embed([*texts, *said]), dtype=np.float64)
    return np.asarray((vectors[: len(texts)] + vectors[len(texts) :]) / 2)


def _sigmoid(x: Floats | float) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -60, 60))), dtype=np.float64)
