"""The world of the stopping agent: it reads unlabelled threads post by post and answers CONTINUE or STOP.

State (EARD, section 4.1): the sum of the vectors of the posts read, plus the vector of the previous action's word
("Continue." or "Stop.", from the second post on). All sums are made once, before training, so a step is an addition.

STOP does not end an episode: a thread runs to its last post, as the experts' trajectories do. An episode's length is
then the thread's and not the policy's doing, so `imitation`'s `allow_variable_horizon=True` leaks no reward here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from agents.stopping.learned import CLIP, WORDS
from training.experts import Stop

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Normaliser:
    """Mean and deviation of the states the agent learns in; the same ones at inference.

    They are what a running mean and variance come to after a warm-up over every thread of the environment, whose
    states, unlike those of most environments, can all be listed.
    """

    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, states: "States") -> "Normaliser":
        """Measure every state, after either action."""
        seen = np.concatenate([states.raw(np.arange(len(states.sums)), np.full(len(states.sums), a)) for a in (0, 1)])
        return cls(seen.mean(axis=0), np.sqrt(seen.var(axis=0) + 1e-8))

    def __call__(self, states: Floats) -> Floats:
        """Scale states of shape (..., d)."""
        scaled: Floats = np.clip((states - self.mean) / self.deviation, -CLIP, CLIP).astype(np.float32, copy=False)
        return scaled


class States:
    """All states of some threads: row `starts[i] + t` is what is known after post t (from 0) of thread i."""

    def __init__(self, vectors: Sequence[Floats], words: Floats) -> None:
        """Sum up.

        Args:
            vectors: For each thread its posts' vectors, (posts, d).
            words: Vectors of the actions' words, (2, d): Continue, Stop.
        """
        self.sums: Floats = np.concatenate([np.cumsum(posts, axis=0, dtype=np.float32) for posts in vectors])
        self.lengths = np.array([len(posts) for posts in vectors])
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)[:-1]])
        self.words = words
        self._first = np.zeros(len(self.sums), dtype=bool)
        self._first[self.starts] = True

    def raw(self, rows: NDArray[np.int64], previous: NDArray[np.int64]) -> Floats:
        """States before scaling, (n, d): of rows (n,), after actions (n,); those before a first post do not count."""
        said = np.where(self._first[rows][:, None], np.float32(0), self.words[previous])
        return np.asarray(self.sums[rows] + said, dtype=np.float32)

    def demonstrated(self, stops: Sequence[Stop]) -> tuple[Floats, NDArray[np.int64]]:
        """An expert's states (pairs, d) before scaling, and its actions in them (pairs,)."""
        if not stops:
            return np.zeros((0, self.sums.shape[1]), dtype=np.float32), np.zeros(0, dtype=np.int64)
        rows = np.concatenate([self.starts[stop.thread] + np.arange(stop.length) for stop in stops])
        actions = np.concatenate([(np.arange(stop.length) >= stop.at).astype(np.int64) for stop in stops])
        before = np.concatenate([(np.arange(stop.length) > stop.at).astype(np.int64) for stop in stops])
        return self.raw(rows, before), actions


class StoppingEnv(gymnasium.Env[Floats, np.int64]):
    """One reader: each episode is a thread drawn at random; the reward is 0, imitation supplies its own."""

    def __init__(self, states: States, normalise: Normaliser) -> None:
        """Prepare every state.

        Args:
            states: Of the unlabelled threads.
            normalise: Made from the same states.
        """
        d = states.sums.shape[1]
        self.observation_space = gymnasium.spaces.Box(-CLIP, CLIP, (d,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(len(WORDS))
        self._states, self._normalise = states, normalise
        self._row = self._end = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        """Open a thread drawn at random."""
        super().reset(seed=seed)
        thread = int(self.np_random.integers(len(self._states.lengths)))
        self._row = int(self._states.starts[thread])
        self._end = self._row + int(self._states.lengths[thread]) - 1
        return self._normalise(self._states.sums[self._row]), {}

    def step(self, action: np.int64) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Read the next post, whatever the action; after the last one the episode is over."""
        over = self._row == self._end
        if not over:
            self._row += 1
        state = self._normalise(self._states.sums[self._row] + self._states.words[int(action)])
        return state, 0.0, over, False, {}
