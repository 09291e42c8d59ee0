"""ERD: a deep Q-network that learns when a rumor detector should be asked.

Paper: Zhou, Shu, Li, Lau, "Early Rumour Detection" (NAACL 2019); released code: DeepBrainAI/ERD.

The detection module (RDM) is a GRU that reads posts and classifies from its last state. The checkpoint module (CM)
looks at that state after each post and stops or continues. Reward: log M for stopping where the RDM is right, M being
the number of right stops so far; -P for stopping where it is wrong; -epsilon for continuing. After the last post it
stops whatever it says. Both modules are trained in turns: the RDM on the posts up to where the CM stops.

P is so much larger than epsilon that a CM that sees the RDM err learns to wait. From 50 shots, the EARD paper reports,
it learns never to stop early (early rate 1.000 on all corpora); here, to stop seldom, how seldom changing by the seed.

Deviations:
- A step is one post (the released code joins two), and its vector is the frozen sentence encoder's (the paper: a
  max-pooling of word vectors, learned along).
- The DQN is stable-baselines3's, with a target network, which the released code does not have. Its Huber loss would
  take something near the median of a state's rewards and hardly notice a rare -P; so the environment pays in units of
  P, where errors stay about 1 or less and that loss is the squared error of the code.
- The turns are fewer and shorter (see ErdSettings; the released code: up to 20 turns of 50,000 steps), and they end
  with the CM, so that it is used on the states it was trained on.
- Each class weighs the same in the RDM's loss: 50 shots of PHEME hold six false rumors.
- The released code rewards a right stop with 1 + 0.2 log M. Here it is the paper's log M, with the code's P and
  epsilon.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3 import DQN
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import Tensor
from torch.nn import functional

from agents.encoder import Encoder
from corpora.thread import ClaimThread
from training.recurrent import Baseline, Padded, Reader, balanced, classes_of, method, pad, read_along, seeded

CONTINUE, STOP = 0, 1

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ErdSettings:
    """The released code's, but for those marked *."""

    hidden: int = 100
    dropout: float = 0.5
    """Of the post vectors and of the classified state, in training."""
    l2: float = 0.1
    """On the RDM's output layer."""
    detector_rate: float = 1e-3
    """* Adam's, of the RDM; 0.01 in the code."""
    detector_updates: int = 500
    """* At most, on all shots at once; in the code 2,000, and 500 in later turns."""
    accurate: tuple[float, float] = (0.8, 0.9)
    """Share of the shots that are right when the RDM's training ends: in its first turn, in later ones."""
    turns: int = 3
    """* Of the CM, each after one of the RDM."""
    steps: int = 15_000
    """* Posts that the CM reads in a turn."""
    readers: int = 10
    """* Threads read side by side, an update of the CM for every post of all; 50 in the code."""
    observe: int = 1_000
    """* Posts read at random before the first update of a turn."""
    checkpoint_hidden: int = 64
    checkpoint_rate: float = 1e-3
    batch: int = 50
    memory: int = 80_000
    exploration: float = 0.01
    discount: float = 0.99
    target_interval: int = 1_000
    """* Posts between copies to the target network, which the code does not have."""
    penalty: float = 100.0
    """P"""
    waiting: float = 0.01
    """epsilon"""
    longest: int = 100
    """Posts read of a shot; at work all are."""


def reward(stop: bool, right: bool, right_stops: int, settings: ErdSettings) -> float:
    """What the CM gets for one decision; `right_stops` is M, and counts this one if it is right."""
    if not stop:
        return -settings.waiting
    return math.log(right_stops) if right else -settings.penalty


@dataclass
class World:
    """What the RDM makes of the shots; shared by all readers."""

    states: list[Floats]
    """For each shot, its state after each post, (posts, hidden)."""
    right: list[NDArray[np.bool_]]
    """For each shot, whether the RDM's class is the gold one after each post, (posts,)."""
    right_stops: int = 0
    """M"""


class CheckpointEnv(gymnasium.Env[Floats, np.int64]):
    """One reader: each episode is a shot drawn at random, and ends where it stops or at the last post.

    Rewards are in units of P.
    """

    def __init__(self, world: World, settings: ErdSettings) -> None:
        """Share a world with other readers; its states may be replaced between episodes."""
        self.observation_space = gymnasium.spaces.Box(-1, 1, world.states[0].shape[1:], np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
        self._world, self._settings = world, settings
        self._shot = self._post = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        """Open a shot; a seed begins the draws and the count of right stops anew."""
        super().reset(seed=seed)
        if seed is not None:
            self._world.right_stops = 0
        self._shot, self._post = int(self.np_random.integers(len(self._world.states))), 0
        return self._world.states[self._shot][0], {}

    def step(self, action: np.int64) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Stop here, or read the next post; there is none after the last, where either action stops."""
        states, right = self._world.states[self._shot], bool(self._world.right[self._shot][self._post])
        stop = bool(action == STOP) or self._post == len(states) - 1
        self._world.right_stops += stop and right
        earned = reward(stop, right, self._world.right_stops, self._settings)
        self._post += not stop
        return states[self._post], earned / self._settings.penalty, stop, False, {}


def erd(
    encoder: Encoder,
    shots: Sequence[ClaimThread],
    labels: Sequence[str],
    seed: int,
    settings: ErdSettings | None = None,
) -> Baseline:
    """Train on the labelled shots.

    Raises:
        UsageError: fewer than two classes.
    """
    settings = settings or ErdSettings()
    classes, gold = classes_of(labels)
    threads = pad(encoder, shots, settings.longest)
    with seeded(seed):
        reader = Reader(threads.vectors.shape[-1], settings.hidden, len(classes))
        optimizer = torch.optim.Adam(reader.parameters(), settings.detector_rate)
        world, model = World([], []), None
        read = threads.lengths
        for turn in range(settings.turns):
            _train_detector(reader, optimizer, threads, read, gold, settings.accurate[turn > 0], settings)
            _look_again(world, reader, threads, gold)
            model = model or _checkpoint(world, seed, settings)
            assert model.replay_buffer is not None
            model.replay_buffer.reset()
            model.learn(settings.steps)
            read = torch.tensor([_stops_at(model, states) for states in world.states])
    assert model is not None
    reader.requires_grad_(False)
    network = model.q_net.requires_grad_(False).eval()

    def stop(state: Tensor) -> float:
        values = network(state[None])[0] * settings.penalty  # in the reward's own units
        return float(torch.softmax(values, dim=-1)[STOP])

    return method(encoder, read_along(reader, encoder), stop, reader.classify, classes)


def _train_detector(
    reader: Reader,
    optimizer: torch.optim.Optimizer,
    threads: Padded,
    read: Tensor,
    gold: Tensor,
    accurate: float,
    settings: ErdSettings,
) -> None:
    """Fit the RDM to the first `read` posts of each shot (shots,)."""
    weights = balanced(gold)
    for _ in range(settings.detector_updates):
        states = reader(functional.dropout(threads.vectors, settings.dropout))
        logits = reader.classify(functional.dropout(states[torch.arange(len(read)), read - 1], settings.dropout))
        size = sum((parameter**2).sum() for parameter in reader.classify.parameters()) / 2
        optimizer.zero_grad()
        error = functional.cross_entropy(logits, gold, reduction="none")
        torch.autograd.backward((weights * error).mean() + settings.l2 * size)
        optimizer.step()
        if (weights * (logits.argmax(1) == gold)).mean() > accurate:
            break


@torch.no_grad()
def _look_again(world: World, reader: Reader, threads: Padded, gold: Tensor) -> None:
    states = reader(threads.vectors)
    right = reader.classify(states).argmax(2) == gold[:, None]
    ends = threads.lengths.tolist()
    world.states = [row[:end].numpy() for row, end in zip(states, ends, strict=True)]
    world.right = [row[:end].numpy() for row, end in zip(right, ends, strict=True)]


def _checkpoint(world: World, seed: int, settings: ErdSettings) -> DQN:
    """The CM before its first turn."""
    readers = DummyVecEnv([lambda: CheckpointEnv(world, settings) for _ in range(settings.readers)])
    model = DQN(
        "MlpPolicy",
        readers,
        learning_rate=settings.checkpoint_rate,
        buffer_size=settings.memory,
        learning_starts=settings.observe,
        batch_size=settings.batch,
        gamma=settings.discount,
        train_freq=1,
        target_update_interval=settings.target_interval,
        exploration_initial_eps=settings.exploration,
        exploration_final_eps=settings.exploration,
        policy_kwargs={"net_arch": [settings.checkpoint_hidden]},
        device="cpu",
    )
    # Given the seed, it would seed the process's GPUs too; it draws from the generators seeded around it instead.
    model.action_space.seed(seed)
    readers.seed(seed)
    # Its own would make a folder under the temporary one.
    model.set_logger(Logger(folder=None, output_formats=[]))
    return model


@torch.no_grad()
def _stops_at(model: DQN, states: Floats) -> int:
    """How many posts the CM reads of a shot whose states are (posts, hidden)."""
    values = model.q_net(torch.from_numpy(states))
    stops = torch.nonzero(values[:, STOP] > values[:, CONTINUE])
    return int(stops[0]) + 1 if len(stops) else len(states)
