"""Generative adversarial imitation of three experts: objective (3) of EARD on `imitation`'s GAIL and SB3's PPO.

With D the probability that a (state, action) pair is the agent's, and l the discriminator's logit (high for experts,
so that 1 - D = sigmoid(l)), the discriminator maximises

    (a + b - c) E_agent[log D] + a E_ce[log(1 - D)] + b E_eae[log(1 - D)] - c E_me[log(1 - D)]

and the agent's reward is -log D = softplus(l). `imitation` supplies the loop, the buffers and the reward wrapper;
only the discriminator's step differs. An expert that shows nothing drops out on both sides, with its weight.
"""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from imitation.algorithms.adversarial.gail import GAIL
from imitation.data.types import dataclass_quick_asdict
from imitation.rewards.reward_nets import BasicRewardNet, RewardNet
from imitation.util.logger import HierarchicalLogger
from numpy.typing import NDArray
from stable_baselines3 import PPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor, nn
from torch.nn.functional import logsigmoid, one_hot

from corpora.errors import UsageError
from training.experts import EXPERTS, Expert
from training.settings import Settings

Pairs = tuple[NDArray[np.float32], NDArray[np.int64]]
"""Scaled states (pairs, d) and the actions taken in them (pairs,)."""


class ThreeExpertGAIL(GAIL):
    """GAIL whose discriminator is shown CE and EAE as examples, and ME as a warning."""

    def __init__(self, venv: VecEnv, agent: PPO, experts: Mapping[Expert, Pairs], settings: Settings) -> None:
        """Set up.

        Args:
            venv: Environments that the agent acts in.
            agent: PPO, made for them.
            experts: What each expert shows. With none at all the discriminator only learns where the agent goes.
            settings: Weights and sizes.
        """
        weights = dict(zip(EXPERTS, (settings.alpha, settings.beta, -settings.gamma), strict=True))
        self._experts = [
            (name, weights[name], torch.from_numpy(states), one_hot(torch.from_numpy(actions), 2).float())
            for name, (states, actions) in experts.items()
            if len(states) and weights[name]
        ]
        self._agent_weight = sum(weight for _, weight, *_ in self._experts) if self._experts else sum(weights.values())
        if self._agent_weight <= 0:
            raise UsageError("the experts that show anything weigh no more than ME: lower the stopper setting gamma")
        self._settings = settings
        self._last: tuple[Tensor, Tensor] | None = None
        super().__init__(
            demonstrations=None,  # type: ignore[arg-type]  # the experts have a loader each
            demo_batch_size=settings.disc_batch,
            venv=venv,
            gen_algo=agent,
            reward_net=BasicRewardNet(
                venv.observation_space,
                venv.action_space,
                hid_sizes=(settings.disc_hidden, settings.disc_hidden),
                activation=nn.Tanh,
            ),
            n_disc_updates_per_round=settings.disc_epochs * max(1, settings.iteration // settings.disc_batch),
            disc_opt_kwargs={"lr": settings.disc_lr, "fused": True},
            custom_logger=_Silent(),
            allow_variable_horizon=True,  # lengths are the threads', not the policy's: see training/stopping_env.py
        )

    @property
    def reward_train(self) -> RewardNet:
        """The agent's reward: -log D, or the logit itself."""
        return self._reward_net if self._settings.reward == "logit" else super().reward_train

    @property
    def discriminator(self) -> tuple[nn.Module, torch.optim.Optimizer]:
        """The network that tells agent from expert, and what trains it."""
        return self._reward_net, self._disc_opt

    def train_disc(self, *, expert_samples: Any = None, gen_samples: Any = None) -> Mapping[str, float]:
        """Take one step on objective (3) with a batch of the agent's pairs and one of each expert's."""
        size = self.demo_batch_size
        drawn = dataclass_quick_asdict(self._gen_replay_buffer.sample(size))
        states = [torch.tensor(drawn["obs"])]
        actions = [one_hot(torch.tensor(drawn["acts"]).long(), 2).float()]
        for _, _, shown, answers in self._experts:
            # Drawn with replacement: an expert may have fewer pairs than a batch.
            chosen = torch.randint(len(shown), (size,))
            states.append(shown[chosen])
            actions.append(answers[chosen])
        pairs = torch.cat(states), torch.cat(actions)
        logits = self._reward_net(*pairs, pairs[0], None).view(len(states), size)
        objective = self._agent_weight * logsigmoid(-logits[0]).mean()
        for (_, weight, *_), logit in zip(self._experts, logits[1:], strict=True):
            objective = objective + weight * logsigmoid(logit).mean()
        loss = -objective
        if self._settings.gradient_penalty:
            loss = loss + self._settings.gradient_penalty * self._steepness(states, actions)
        self._disc_opt.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._disc_opt.step()
        self._disc_step += 1
        self._last = loss.detach(), logits.detach()
        return {}

    def _steepness(self, states: list[Tensor], actions: list[Tensor]) -> Tensor:
        """Mean squared distance of the gradient's norm from 1, between the agent's pairs and each expert's.

        All count alike and positive. The released code subtracts ME's, which pays for steepness without bound.
        """
        agent = torch.cat([states[0], actions[0]], dim=1).repeat(len(states) - 1, 1)
        expert = torch.cat([torch.cat(states[1:]), torch.cat(actions[1:])], dim=1)
        share = torch.rand(len(agent), 1)
        between = (share * expert + (1 - share) * agent).requires_grad_()
        seen, done = between[:, :-2], between[:, -2:]
        (slope,) = torch.autograd.grad(self._reward_net(seen, done, seen, None).sum(), between, create_graph=True)
        penalty: Tensor = (slope.norm(dim=1) - 1).square().mean()
        return penalty

    def statistics(self) -> dict[str, float]:
        """What the discriminator made of its last batch: loss, and the share of pairs it took for an expert's."""
        if self._last is None:
            return {}
        loss, logits = self._last
        names = ["agent", *(name for name, *_ in self._experts)]
        shares = (logits > 0).float().mean(dim=1).tolist()
        return {"loss": float(loss), **{f"taken_for_expert_{name}": s for name, s in zip(names, shares, strict=True)}}


class _Silent(HierarchicalLogger):
    """Keeps no files: the library's own logger opens some for every run, under the temporary folder."""

    def __init__(self) -> None:
        super().__init__(Logger(folder="", output_formats=[]), format_strs=[])

    def accumulate_means(self, name: str) -> Any:
        """Nothing is written, so nothing is gathered."""
        return nullcontext()
