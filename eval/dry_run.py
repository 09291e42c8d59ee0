"""What a run would ask, without asking it."""

from collections.abc import Mapping
from dataclasses import replace

from rich.console import Console

from agents.call_log import CallLog
from agents.encoder import Encoder
from corpora.errors import UsageError
from eval.config import RunConfig
from eval.opening import Shared, known_keys
from eval.planning import make_plan
from eval.runner import Tools, jobs, parts_of, run_jobs
from eval.task_options import chat_network, chat_scorer
from graphs.methods import check_policy
from graphs.stoppers import label_shots


def dry_run(config: RunConfig) -> int:
    """Count what a run would ask, and ask nothing.

    Raises:
        UsageError: nobody can tell beforehand.
    """
    with Shared(asks=False) as shared:
        _count(config, shared)
    return 0


def dry_run_several(configs: Mapping[str, RunConfig]) -> int:
    """Count what each of several runs would ask: name -> configuration."""
    with Shared(asks=False) as shared:
        for name, config in configs.items():
            Console(stderr=True).print(name, markup=False, highlight=False)
            _count(config, shared)
    return 0


def _count(config: RunConfig, shared: Shared) -> None:
    if network := chat_network(config):
        raise UsageError(
            f"--dry-run cannot tell what {network} will be asked: what JSDRV's selector keeps decides that"
        )
    if scorer := chat_scorer(config):
        raise UsageError(f"--dry-run cannot tell what {scorer} will be asked as a scorer: leave --scorer-model out")
    plan = make_plan(config)
    models = shared.models(plan)
    log = CallLog(known=known_keys(config.db, bool(models)), dry_run=True)
    tools, threads = Tools(log, models, Encoder(cache=None)), 0  # the encoder is there, and is given no text
    # A learned policy cannot be opened before it is trained: whole threads are the most that it reads.
    most = replace(config, when="first-post" if config.sea else "all-posts", stopper=())
    learned = any(check_policy(when).reads_vectors for when in config.checkpoints)
    judged = replace(plan, config=most) if learned else plan
    for seed in range(config.seeds):
        folds = plan.folds(seed)
        threads += sum(len(fold.test) for fold in folds)
        if models:
            if config.when == "eard":
                for fold in folds:
                    shared.loop.run(label_shots(parts_of(plan, tools, fold, seed)))
            todo = jobs(judged, tools, folds, seed)
            shared.loop.run(run_jobs(plan, todo, lambda _: None, len(todo)))
    totals, console = log.totals, Console()
    cost = "no price known (give --price IN OUT)" if totals.unpriced else f"about {totals.cost:.4f} USD"
    console.print(f"{plan.corpus.name}: {config.seeds} seeds, {threads} threads to judge")
    console.print(
        f"new calls {totals.calls:,} (answered before: {totals.cached:,}); "
        f"about {totals.input_tokens:,} tokens in and {totals.output_tokens:,} out; {cost}",
        soft_wrap=True,
    )
