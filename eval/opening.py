"""What the runs of one command share: an event loop, the chat models opened in it, and one bill."""

import asyncio
import gc
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from agents.budget import Budget
from agents.models import Model, ModelSettings, open_model
from eval.config import RunConfig
from eval.database import made
from eval.plan import Plan
from eval.read import known_call_keys
from eval.store import recover
from eval.task_options import chat_network


class Shared:
    """A context manager, which closes at its end what was opened in it."""

    def __init__(self, max_cost: float | None = None, *, asks: bool = True) -> None:
        """Share what one or more runs need.

        Args:
            max_cost: USD that they may spend together; None for no limit.
            asks: Whether the models will be asked anything; a dry run needs no key.
        """
        self._environ = os.environ if asks else {"OPENAI_API_KEY": "none", **os.environ}
        self.budget = Budget(max_cost)
        self.loop = asyncio.Runner()
        self._opened: dict[ModelSettings, Model] = {}

    def __enter__(self) -> "Shared":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self.loop:
            self.loop.run(_close(self._opened.values()))

    def models(self, plan: Plan) -> dict[str, Model]:
        """The chat model of each role, if the method asks one; the plan learns where they answer.

        Equal settings are one model, in all roles and runs. A local one that this run does not ask is let go first:
        memory may not hold two.
        """
        wanted = {role: settings_of(plan.config, name) for role, name in plan.config.models.items()}
        if left := [each for each in self._opened if each.model.startswith("hf:") and each not in wanted.values()]:
            self.loop.run(_close([self._opened.pop(each) for each in left]))
            gc.collect()
        for settings in wanted.values():
            if settings not in self._opened:
                self._opened[settings] = open_model(settings, self._environ)
        models = {role: self._opened[settings] for role, settings in wanted.items()}
        if models:
            plan.endpoint = models[""].endpoint
        elif (network := chat_network(plan.config) or "").startswith("openai:"):
            # JSDRV's networks ask it in their own way; but where it answers is part of the run, and a key must be there
            plan.endpoint = open_model(settings_of(plan.config, network), self._environ).endpoint
        return models


async def _close(models: Iterable[Model]) -> None:
    """Close models; what an interrupted run was still asking of them ends first."""
    asking = asyncio.all_tasks() - {asyncio.current_task()}
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    for model in models:
        await model.close()


def known_keys(db: Path, asks: bool) -> set[str]:
    """Addresses of all calls that were ever answered; none where no model is asked."""
    if not asks or not made(db):
        return set()
    recover(db)  # what a killed run left in its journal is known too
    return known_call_keys(db)


def settings_of(config: RunConfig, name: str) -> ModelSettings:
    """What a chat model is opened with."""
    return ModelSettings(
        name,
        base_url=config.base_url,
        temperature=config.temperature,
        max_tokens=config.max_tokens,
        timeout=config.timeout,
        max_retries=config.max_retries,
        requests_per_second=config.requests_per_second,
        price=config.price,
    )
