"""Steps a second of training the stopping agent, beside `imitation`'s GAIL used plainly on the same threads.

1,024 dimensions (bertweet-large's) and Table 3's settings; vectors are random, since speed does not depend on them.
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["TQDM_DISABLE"] = "1"

import numpy as np
from imitation.algorithms.adversarial.gail import GAIL
from imitation.data.types import Transitions
from imitation.rewards.reward_nets import BasicRewardNet
from imitation.util import logger
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import nn

from benchmarks.table import Row
from training.experts import EXPERTS, demonstrations
from training.settings import Settings
from training.stopping_env import Normaliser, States, StoppingEnv
from training.task import Task
from training.trainer import CHUNK, Trainer

DIMENSIONS = 1024
STEPS = CHUNK * 200


def random_task(dimensions: int, settings: Settings) -> Task:
    """Fifty labelled and a hundred unlabelled threads of 1 to 40 posts, whose labels flip now and then."""
    rng = np.random.default_rng(0)

    def vectors() -> np.ndarray[Any, np.dtype[np.float32]]:
        return rng.normal(size=(int(rng.integers(1, 41)), dimensions)).astype(np.float32)

    pool, shots = [vectors() for _ in range(100)], [vectors() for _ in range(50)]
    predicted: list[list[str | None]] = [["no" if flip else "yes" for flip in rng.random(len(v)) < 0.3] for v in shots]
    words = rng.normal(size=(2, dimensions)).astype(np.float32)
    return Task(pool, shots, predicted, ["yes"] * 50, words, 0, settings, {"encoder": "none"})


def ours(task: Task, folder: Path) -> Callable[[], object]:
    """A chunk of our training, state on disk included."""
    return Trainer(task, folder).advance


def plain(task: Task, environments: int, folder: Path) -> Callable[[], object]:
    """As many steps of the library's own GAIL on CE's pairs alone; its defaults where Table 3 says nothing."""
    s = task.settings
    pool, shots = States(task.pool, task.words), States(task.shots, task.words)
    normalise = Normaliser.of(pool)
    states, actions = shots.demonstrated(demonstrations(task.predicted, task.gold)[EXPERTS[0]])
    obs = normalise(states)
    pairs = Transitions(obs, actions, np.array([{}] * len(obs)), obs, np.zeros(len(obs), dtype=bool))
    venv = DummyVecEnv([lambda: StoppingEnv(pool, normalise) for _ in range(environments)])
    agent = PPO(
        "MlpPolicy", venv, n_steps=s.iteration // environments, batch_size=s.iteration // s.minibatches,
        n_epochs=s.ppo_epochs, learning_rate=s.learning_rate, gae_lambda=s.gae_lambda, clip_range=s.clip,
        ent_coef=s.entropy, policy_kwargs={"net_arch": [s.hidden, s.hidden], "activation_fn": nn.Tanh}, device="cpu",
    )  # fmt: skip
    trainer = GAIL(
        demonstrations=pairs, demo_batch_size=s.disc_batch, venv=venv, gen_algo=agent,
        reward_net=BasicRewardNet(venv.observation_space, venv.action_space, hid_sizes=(64, 64), activation=nn.Tanh),
        n_disc_updates_per_round=s.disc_epochs * (s.iteration // s.disc_batch),
        disc_opt_kwargs={"lr": s.disc_lr}, custom_logger=logger.configure(folder, []), allow_variable_horizon=True,
    )  # fmt: skip
    return lambda: trainer.train(STEPS)


def speed(run: Callable[[], object]) -> float:
    """Steps a second, the better of two goes: the first one warms up."""
    times = []
    for _ in range(2):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return STEPS / min(times)


def training_speed() -> list[Row]:
    """All of it, one after the other."""
    task = random_task(DIMENSIONS, Settings(steps=4 * STEPS))
    literal = random_task(DIMENSIONS, Settings(steps=4 * STEPS, minibatches=50))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        own = speed(ours(task, folder / "ours"))
        small = speed(ours(literal, folder / "small"))
        one, many = speed(plain(task, 1, folder / "one")), speed(plain(task, 20, folder / "many"))
    return [
        Row(f"training the stopping agent, {DIMENSIONS:,} dimensions, Table 3", f"{own:,.0f} steps/s", "≥ 2,500"),
        Row("  / imitation's GAIL, one environment", f"{own / one:.1f} × ({one:,.0f} steps/s)", ""),
        Row("  / imitation's GAIL, 20 environments", f"{own / many:.1f} × ({many:,.0f} steps/s)", ""),
        Row("  with minibatches of 4 pairs (minibatches=50)", f"{small:,.0f} steps/s", ""),
    ]
