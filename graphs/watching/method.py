"""The method of a watch: its parts opened, what it lacks trained."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich.console import Console

from agents.budget import Budget
from agents.call_log import CallLog
from agents.encoder import Encoder
from agents.models import Model, ModelSettings, open_model
from agents.verdict import StopPolicy, Verifier
from corpora.labels import LABEL_SETS
from graphs.methods import check_policy, how_of, open_policy, open_verifier
from graphs.parts import Parts
from graphs.prepare import train_missing, with_threads
from graphs.watching.settings import WatchSettings

if TYPE_CHECKING:
    from graphs.stoppers import Judged


@dataclass(frozen=True)
class Opened:
    """A method at work, and what it works with."""

    policy: StopPolicy
    verifier: Verifier
    encoder: Encoder | None
    log: CallLog
    models: dict[str, Model]


def open_method(settings: WatchSettings, runner: asyncio.Runner, console: Console) -> Opened:
    """Open stop policy and verifier; an agent or network that is not there yet is trained first.

    Args:
        settings: Which.
        runner: The event loop that the stream will be read in: a model's client serves one.
        console: Where training shows how far it is.

    Raises:
        UsageError: what is needed is not there.
    """
    how, models = how_of(settings.how), {}
    if how.asks_model:
        asked = ModelSettings(
            settings.model or "",
            base_url=settings.base_url,
            temperature=how.temperature,
            timeout=settings.timeout,
            price=settings.price,
        )
        models = {"": open_model(asked, os.environ)}
    log = CallLog(budget=Budget(settings.max_cost), models=models.values(), at_once=settings.concurrency)
    parts = Parts(
        LABEL_SETS[settings.labels],
        settings.seed,
        log=log,
        models=models,
        prompts=settings.prompts,
        how=settings.how,
        network=settings.network,
        base_url=settings.base_url,
        data_dir=settings.data_dir,
    )
    if how.reads_vectors or check_policy(settings.when).reads_vectors:
        from corpora.locate import cache_dir

        parts = replace(parts, encoder=Encoder(cache=cache_dir(os.environ)))
    parts = with_threads(parts, settings.when, settings.train_on, shots=settings.shots, pool=settings.pool)

    def label(done: Callable[[int], None], failures: list[str]) -> "Judged":
        from graphs.stoppers import label_shots

        return runner.run(label_shots(parts, concurrency=settings.concurrency, progress=done, failures=failures))

    train_missing(parts, settings.when, settings.train_on, label, console)
    with console.status("opening the method"):  # baselines are trained here
        return Opened(open_policy(settings.when, parts), open_verifier(parts), parts.encoder, log, models)
