"""The main command: judge a corpus with a method over several seeds, and print what it is worth."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import UsageError, one_line_errors
from eval.config import RunConfig, read_config
from graphs.methods import HOW

if TYPE_CHECKING:
    from rich.console import Console

    from eval.plan import Plan
    from eval.progress import RunProgress
    from eval.runner import Job


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code (0 done, 1 stopped early, 2 the user's mistake, 130 Ctrl-C)."""
    with one_line_errors():
        config = read_config(arguments)
        # Ending by SIGTERM is ending by Ctrl-C: nothing is lost, and the table so far is printed.
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
        return _run(config)


def _run(config: RunConfig) -> int:
    from rich.console import Console

    from eval.plan import make_plan

    console, notes = Console(), Console(stderr=True)
    if config.embedded:
        notes.print("Running the embedded encoder: offline, no key, no GPU (name a chat model with --model).")
    models = _open_models(config)
    plan = make_plan(config, models[""].endpoint if models else None)
    if config.dry_run:
        return _dry_run(plan, models, console)
    return _Session(plan, models, console, notes).run()


def _open_models(config: RunConfig) -> dict[str, Any]:
    if not HOW[config.how].asks_model or config.model is None:
        return {}
    from agents.models import ModelSettings, open_model

    settings = ModelSettings(
        config.model,
        base_url=config.base_url,
        temperature=config.temperature,
        max_tokens=config.max_tokens,
        timeout=config.timeout,
        max_retries=config.max_retries,
        requests_per_second=config.requests_per_second,
        price=config.price,
    )
    return {"": open_model(settings)}


class _Session:
    """One command's work on its seeds."""

    def __init__(self, plan: "Plan", models: dict[str, Any], console: "Console", notes: "Console") -> None:
        from agents.call_log import CallLog
        from agents.encoder import Encoder
        from corpora.locate import cache_dir
        from eval.runner import Tools

        self.plan, self.config, self.console, self.notes = plan, plan.config, console, notes
        self.record: Callable[[dict[str, Any]], None] = lambda _: None
        log = CallLog(
            known=_known_keys(self.config.db) if models else None,
            fetch=_fetcher(self.config.db),
            record=lambda row: self.record(row),
            max_cost=self.config.max_cost,
            models=models.values(),
        )
        encoder = Encoder(cache=cache_dir(os.environ)) if HOW[self.config.how].reads_vectors else None
        self.tools: Tools = Tools(log, models, encoder)
        self.attempt = _attempt(plan) if self.config.fresh else _latest_attempt(plan)

    def run(self) -> int:
        """Work off the seeds, and print the table whatever happens."""
        from eval.progress import RunProgress
        from eval.runner import RunStopped

        code = 0
        try:
            with RunProgress(self.notes, self.tools.log.totals) as progress, asyncio.Runner() as loop:
                for seed in range(self.config.seeds):
                    self._seed(seed, progress, loop)
                for model in self.tools.models.values():
                    loop.run(model.close())
        except KeyboardInterrupt:
            self.notes.print("Interrupted. What was judged is kept; the same command continues.")
            code = 130
        except RunStopped as stop:
            self.notes.print(f"Stopped: {stop}. What was judged is kept; the same command continues.", markup=False)
            code = 1
        except UsageError as error:
            # The table so far comes first, so that the last line says what is wrong.
            self._table()
            raise error
        self._table()
        return code

    def _seed(self, seed: int, progress: "RunProgress", loop: asyncio.Runner) -> None:
        """Start, continue or skip one seed's run."""
        from eval.read import finished_threads, read_run
        from eval.runner import jobs, texts_to_embed, unfinished
        from eval.store import Writer

        folds = self.plan.folds(seed)
        row = self.plan.run_row(seed, sum(len(fold.test) for fold in folds), self.attempt)
        stored = read_run(self.config.db, row["run_id"])
        if stored and stored["status"] == "finished":
            progress.note(f"seed {seed}: finished before ({row['run_id']}); --fresh judges it again")
            progress.add(row["n_threads"], row["n_threads"])
            return
        with Writer(self.config.db, row) as writer:
            writer.forget_failed()
            done = finished_threads(self.config.db, row["run_id"])
            progress.add(row["n_threads"], len(done))
            if self.tools.encoder:
                progress.embed(self.tools.encoder, texts_to_embed(self.config, folds))
            todo = unfinished(jobs(self.plan, self.tools, folds, seed), done)
            self._judge(writer, todo, row, progress, loop)

    def _judge(
        self,
        writer: Any,
        todo: "list[Job]",
        row: dict[str, Any],
        progress: "RunProgress",
        loop: asyncio.Runner,
    ) -> None:
        from eval.runner import run_jobs

        def record(rows: dict[str, list[dict[str, Any]]]) -> None:
            writer.add(**rows)
            progress.judged(rows["predictions"])

        self.record = lambda call: writer.add(calls=[call])
        try:
            loop.run(run_jobs(self.plan, todo, record, self.config.fail_on_error * row["n_threads"]))
        except KeyboardInterrupt:
            writer.finish("interrupted")
            raise
        except Exception:
            writer.finish("failed")
            raise
        self._measure(writer, row)
        writer.finish("finished")

    def _measure(self, writer: Any, row: dict[str, Any]) -> None:
        """Store the run's metrics."""
        from eval.database import connect
        from eval.read import find_runs
        from eval.report import collect

        writer.flush()
        with connect(self.config.db, read_only=True) as connection:
            report = collect(connection, find_runs(connection, row["run_id"]))
        metrics = [
            estimate.row(checkpoint) for checkpoint, values in report.values.items() for estimate in values.values()
        ]
        writer.replace_metrics(metrics)

    def _table(self) -> None:
        from eval.database import connect
        from eval.read import find_runs
        from eval.report import collect, show

        config_id = self.plan.run_row(0, 0, self.attempt)["config_id"]
        try:
            with connect(self.config.db, read_only=True) as connection:
                runs = [run for run in find_runs(connection, config_id) if run["seed"] < self.config.seeds]
                report = collect(connection, runs)
        except UsageError:
            return  # nothing was stored yet
        show(report, self.console)
        self.console.print(f"stored in {self.config.db} as {config_id}: python -m eval.show {config_id}", style="dim")


def _known_keys(db: Path) -> set[str]:
    from eval.read import known_call_keys
    from eval.store import recover

    if not db.exists():
        return set()
    recover(db)  # what a killed run left in its journal is known too
    return known_call_keys(db)


def _fetcher(db: Path) -> Any:
    from eval.read import fetch_calls

    async def fetch(keys: list[str]) -> dict[str, dict[str, Any]]:
        return await asyncio.to_thread(fetch_calls, db, keys)

    return fetch


def _latest_attempt(plan: "Plan") -> int:
    """The newest attempt that the database knows, 0 if none."""
    from eval.read import read_run

    attempt = 0
    while read_run(plan.config.db, plan.run_row(0, 0, attempt + 1)["run_id"]):
        attempt += 1
    return attempt


def _attempt(plan: "Plan") -> int:
    """A new attempt, for --fresh."""
    from eval.read import read_run

    latest = _latest_attempt(plan)
    return latest + 1 if read_run(plan.config.db, plan.run_row(0, 0, latest)["run_id"]) else latest


def _dry_run(plan: "Plan", models: dict[str, Any], console: "Console") -> int:
    """Count what a run would ask, and ask nothing."""
    from agents.call_log import CallLog
    from eval.runner import Tools, jobs, run_jobs

    log = CallLog(known=_known_keys(plan.config.db) if models else None, dry_run=True)
    threads = 0
    for seed in range(plan.config.seeds):
        folds = plan.folds(seed)
        threads += sum(len(fold.test) for fold in folds)
        if models:
            todo = jobs(plan, Tools(log, models, None), folds, seed)
            asyncio.run(run_jobs(plan, todo, lambda _: None, len(todo)))
    totals = log.totals
    cost = "no price known (give --price IN OUT)" if totals.unpriced else f"about {totals.cost:.4f} USD"
    console.print(f"{plan.corpus.name}: {plan.config.seeds} seeds, {threads} threads to judge")
    console.print(
        f"new calls {totals.calls:,} (answered before {totals.cached:,}); "
        f"about {totals.input_tokens:,} tokens in and {totals.output_tokens:,} out; {cost}",
        soft_wrap=True,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
