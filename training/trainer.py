"""One stopping agent in training: the environment, the networks, and a state on disk that a kill cannot spoil.

Training goes in chunks. Each begins with fresh episodes and with generators seeded from (seed, chunk), so weights,
optimizers and the number of the chunk are all there is to save, and a resumed training ends in the same weights as
one that was never interrupted.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import f1_score
from stable_baselines3 import PPO
from stable_baselines3.common.utils import set_random_seed
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import nn

from agents.stopping import learned
from corpora.errors import UsageError
from training.experts import EXPERTS, Stop, demonstrations, shuffled
from training.gail import Pairs, ThreeExpertGAIL
from training.stopping_env import Normaliser, States, StoppingEnv
from training.task import PROGRESS, Task

CHUNK = 50
"""Iterations between two states on disk: some three seconds."""
STATE = "training.safetensors"


class Trainer:
    """Trains one agent, in this process, on one core."""

    def __init__(self, task: Task, folder: Path) -> None:
        """Set up, continuing what lies in the folder.

        Raises:
            UsageError: there is nothing to imitate, or the folder holds another training.
        """
        settings = task.settings
        self.task, self.folder = task, folder
        self.done = 0
        """Iterations."""
        self._pool = pool = States(task.pool, task.words)
        self.normalise = Normaliser.of(pool)
        self._shots = States(task.shots, task.words)
        experts = self._demonstrations()
        self.shown = {name: len(states) for name, (states, _) in experts.items()}
        """Pairs of each expert."""
        set_random_seed(task.seed)
        venv = DummyVecEnv([lambda: StoppingEnv(pool, self.normalise) for _ in range(settings.environments)])
        self._agent = PPO(
            "MlpPolicy",
            venv,
            n_steps=settings.iteration // settings.environments,
            batch_size=settings.iteration // settings.minibatches,
            n_epochs=settings.ppo_epochs,
            learning_rate=self._learning_rate,
            gamma=settings.discount,
            gae_lambda=settings.gae_lambda,
            clip_range=settings.clip,
            ent_coef=settings.entropy,
            policy_kwargs={
                "net_arch": [settings.hidden, settings.hidden],
                "activation_fn": nn.Tanh,
                "optimizer_kwargs": {"eps": 1e-5, "fused": True},
            },
            device="cpu",
        )
        self._gail = ThreeExpertGAIL(venv, self._agent, experts, settings)
        self._parts = {
            "policy": (self._agent.policy, self._agent.policy.optimizer),
            "discriminator": self._gail.discriminator,
        }
        if (folder / STATE).is_file():
            self._load()
        _settle(self._agent.policy)
        _settle(self._gail.discriminator[0])

    @property
    def finished(self) -> bool:
        """Whether all steps are done."""
        return self.done >= self.task.settings.steps // self.task.settings.iteration

    def advance(self) -> dict[str, float]:
        """Train one chunk and save it; returns where the training stands."""
        settings = self.task.settings
        rounds = min(CHUNK, settings.steps // settings.iteration - self.done)
        seed = int(np.random.SeedSequence([self.task.seed, self.done]).generate_state(1)[0] >> 1)
        set_random_seed(seed)
        self._agent.env.seed(seed)  # type: ignore[union-attr]
        self._agent._last_obs = None  # the library's sign for: begin with fresh episodes
        self._gail.train(rounds * settings.iteration, callback=self._count)
        self._save()
        return self.statistics()

    def statistics(self) -> dict[str, float]:
        """Steps done, what the discriminator makes of the pairs, and what the agent would do on the shots."""
        stops = self.stops()
        reached = [labels[stop] for labels, stop in zip(self.task.predicted, stops, strict=True)]
        return {
            "steps": float(self.done * self.task.settings.iteration),
            **self._gail.statistics(),
            "shots_early_rate": float(np.mean((stops + 1) / self._shots.lengths)),
            "shots_macro_f1": float(
                f1_score(
                    self.task.gold,
                    [label or "abstained" for label in reached],
                    average="macro",
                    labels=sorted(set(self.task.gold)),
                    zero_division=0,
                )
            ),
        }

    def stops(self) -> NDArray[np.int64]:
        """Where the agent would stop reading each of the labelled threads, from 0."""
        return _first(self._shots, self._probabilities(self._shots), self.threshold())

    def threshold(self) -> float:
        """The probability that counts as STOP: a half, or what makes the mean ER on the pool the one asked for.

        No label has a part in that. Of all thresholds that stop no later than asked, it is the one nearest to it.
        """
        wanted = self.task.settings.early_rate
        if not wanted:
            return 0.5
        seen = self._probabilities(self._pool)
        low, high = 0, len(levels := np.unique(seen)) - 1
        while low < high:  # the mean ER grows with the threshold
            middle = (low + high + 1) // 2
            rates = (_first(self._pool, seen, levels[middle]) + 1) / self._pool.lengths
            low, high = (middle, high) if rates.mean() <= wanted else (low, middle - 1)
        return float(np.clip(levels[low], 1e-6, 1 - 1e-6))

    def _probabilities(self, threads: States) -> NDArray[np.float32]:
        """Of STOP, in every state of threads that were read so far."""
        rows = np.arange(len(threads.sums))
        with torch.inference_mode():
            states = torch.from_numpy(self.normalise(threads.raw(rows, np.zeros_like(rows))))
            seen = self._agent.policy.get_distribution(states).distribution.probs[:, 1]  # type: ignore[union-attr]
        return np.asarray(seen.numpy())

    def write_policy(self) -> None:
        """Leave the policy in the folder, and take the training state away."""
        weights = self._agent.policy.state_dict()
        names = {
            "hidden1": "mlp_extractor.policy_net.0",
            "hidden2": "mlp_extractor.policy_net.2",
            "action": "action_net",
        }
        tensors = {f"{ours}.{part}": weights[f"{theirs}.{part}"].numpy() for ours, theirs in names.items()
                   for part in ("weight", "bias")}  # fmt: skip
        tensors |= {"mean": self.normalise.mean, "deviation": self.normalise.deviation, "continue": self.task.words[0]}
        tensors["threshold"] = np.array(self.threshold())
        about = {
            **self.task.about,
            "seed": self.task.seed,
            "settings": asdict(self.task.settings),
            "threads": {"shots": len(self.task.shots), "pool": len(self.task.pool)},
            "expert_pairs": self.shown,
            "result": self.statistics(),
        }
        learned.save(self.folder, {name: np.ascontiguousarray(t, np.float32) for name, t in tensors.items()}, about)
        for name in (STATE, PROGRESS):
            (self.folder / name).unlink(missing_ok=True)

    def _demonstrations(self) -> dict[Any, Pairs]:
        settings, task = self.task.settings, self.task
        threads, predicted, gold = self._shots, task.predicted, task.gold
        if settings.learn_from == "stability":
            # What the verifier will have said at the end is known of unlabelled threads too, and is gold here.
            threads, predicted = self._pool, task.pool_predicted
            gold = [labels[-1] or "" for labels in predicted]
        shown = demonstrations(
            predicted,
            gold,
            min_posts=settings.min_posts,
            eae_only_if_apart=settings.eae_only_if_apart,
            states_after_stop=None if settings.states_after_stop < 0 else settings.states_after_stop,
        )
        if settings.experts == "shuffled":
            shown = shuffled(shown, threads.lengths.tolist(), np.random.default_rng(task.seed))
        elif settings.experts == "none":
            shown = {}
        else:
            shown = {name: stops for name, stops in shown.items() if name in settings.experts.split(",")}
        if settings.experts != "none" and not (shown.get("ce") or shown.get("eae")):
            raise UsageError(
                "the verifier is right on no prefix of any shot, so no expert can be shown to the stopping agent: "
                "use more --shots, or another --how"
            )
        pairs = {}
        for name in EXPERTS:
            stops: Sequence[Stop] = shown.get(name, ())
            states, actions = threads.demonstrated(stops)
            pairs[name] = (self.normalise(states), actions)
        return pairs

    def _count(self, _: int) -> None:
        self.done += 1

    def _learning_rate(self, _: float) -> float:
        settings = self.task.settings
        left = 1 - self.done * settings.iteration / settings.steps if settings.decay else 1.0
        return settings.learning_rate * left

    def _save(self) -> None:
        from safetensors.torch import save

        tensors = {"done": torch.tensor(self.done)}
        for part, (network, optimizer) in self._parts.items():
            tensors |= {f"{part}.{name}": tensor for name, tensor in network.state_dict().items()}
            for n, moments in optimizer.state_dict()["state"].items():
                tensors |= {f"{part}.optimizer.{n}.{name}": tensor for name, tensor in moments.items()}
        self.folder.mkdir(parents=True, exist_ok=True)
        part_file = self.folder / f".{STATE}.part"
        part_file.write_bytes(save({name: tensor.contiguous() for name, tensor in tensors.items()}))
        part_file.replace(self.folder / STATE)

    def _load(self) -> None:
        from safetensors import SafetensorError
        from safetensors.torch import load

        try:
            tensors = load((self.folder / STATE).read_bytes())
            for part, (network, optimizer) in self._parts.items():
                mine = {name.removeprefix(f"{part}."): t for name, t in tensors.items() if name.startswith(f"{part}.")}
                moments: dict[int, dict[str, Any]] = {}
                for name in [name for name in mine if name.startswith("optimizer.")]:
                    _, n, kind = name.split(".")
                    moments.setdefault(int(n), {})[kind] = mine.pop(name)
                network.load_state_dict(mine)
                optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
            self.done = int(tensors["done"])
        except (SafetensorError, KeyError, ValueError, RuntimeError) as error:
            raise UsageError(
                f"{self.folder} holds another training's state ({str(error).splitlines()[0]}): choose another folder, "
                "or empty it"
            ) from None


def _settle(network: nn.Module) -> None:
    """Answer once what the libraries ask of a network thousands of times, a tenth of all time: nothing of it changes.

    Its layers are the same in training and evaluation, and its parameters stay the tensors that they are.
    """
    parameters = list(network.parameters())
    network.train = lambda mode=True: network  # type: ignore[method-assign]
    network.parameters = lambda recurse=True: iter(parameters)  # type: ignore[method-assign]


def _first(threads: States, seen: NDArray[np.float32], threshold: float) -> NDArray[np.int64]:
    """The first state of each thread with a probability from the threshold on, or its last, from 0."""
    stop = seen >= threshold
    stop[threads.starts + threads.lengths - 1] = True
    return np.array(
        [np.argmax(stop[start : start + n]) for start, n in zip(threads.starts, threads.lengths, strict=True)]
    )
