"""One command's work: every seed started, continued or skipped, and the table at the end whatever happens."""

import asyncio
import gc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from agents.call_log import CallLog
from agents.encoder import Encoder
from agents.models import Model
from agents.totals import Totals
from corpora.errors import UsageError
from corpora.locate import cache_dir
from corpora.splits import Fold
from eval.config import RunConfig
from eval.database import connect
from eval.opening import Shared, known_keys
from eval.plan import Plan
from eval.planning import make_plan
from eval.prepare import tasks_of, train_networks
from eval.progress import RunProgress
from eval.read import EXPERTS, fetch_calls, find_runs, finished_threads, read_run
from eval.results import Results, collect, show
from eval.runner import Job, RunStopped, Tools, jobs, run_jobs, texts_to_embed, unfinished
from eval.store import Writer
from eval.task_options import chat_network
from eval.titles import remarks
from training.task import Task
from training.workers import train_all


def run(config: RunConfig) -> int:
    """Judge, and print the table; returns the exit code."""
    notes = Console(stderr=True)
    if config.embedded:
        notes.print("Running the embedded encoder: offline, no key, no GPU (name a chat model with --model).")
    plan = make_plan(config)
    for text in remarks(plan):
        notes.print(text, markup=False)
    with Shared(config.max_cost) as shared:
        return run_plan(plan, shared)


def run_plan(plan: Plan, shared: Shared, shown: Callable[[Results], None] | None = None) -> int:
    """Judge a corpus that was read before.

    Args:
        plan: What is judged.
        shared: What it asks, and with whose money.
        shown: Takes what was measured, where somebody has a table of their own; else it is printed.

    Returns:
        The exit code (see eval.run.main).
    """
    gc.freeze()  # the corpus stays to the end: the collector need not walk it again and again
    try:
        return _Session(plan, shared, Console(), Console(stderr=True), shown).run()
    finally:
        gc.unfreeze()


def continues(config: RunConfig) -> str:
    """How to go on with what was interrupted."""
    return f"What was judged is kept; the same command{' without --fresh' if config.fresh else ''} continues."


def present(report: Results, config: RunConfig, console: Console) -> None:
    """Print a run's table, and where it is stored."""
    show(report, console)
    run = report.runs[0]
    where = f"stored in {config.db} as {run['config_id']}: python -m eval.show {run['config_id']}"
    console.print(where, style="dim")
    if config.when == "eard":
        again = f"--dataset {config.dataset} --labels {run['config']['labels']}"
        console.print(f"beside baselines and chance: python -m eval.study table {again}", style="dim")


def write_page(found: Sequence[Results], config: RunConfig, notes: Console) -> None:
    """Write the page that --report asks for, of all that was run."""
    if config.report:
        from eval.report import write

        names = [report.runs[0]["config_id"] for report in found]
        write(names, config.report, config.db, notes, data_dir=config.data_dir)


class _Session:
    """One command's work on its seeds."""

    def __init__(
        self,
        plan: Plan,
        shared: Shared,
        console: Console,
        notes: Console,
        shown: Callable[[Results], None] | None,
    ) -> None:
        self.plan, self.config, self.console, self.notes, self.shown = plan, plan.config, console, notes, shown
        self.record: Callable[[dict[str, Any]], None] = lambda _: None
        """Where the call log's rows go: to the run under way."""
        self.loop, models = shared.loop, shared.models(plan)
        self.known = known_keys(self.config.db, bool(models) or chat_network(self.config) is not None)
        encoder = Encoder(cache=cache_dir(os.environ)) if self.config.reads_vectors else None
        self.tools = Tools(self._log(shared, models), models, encoder)
        # JSDRV's networks are trained in an event loop of their own, and a log serves one
        self.trainers = Tools(self._log(shared, models, self.tools.log.totals), models, encoder)
        self.attempt = self._attempt()

    def _log(self, shared: Shared, models: dict[str, Model], totals: Totals | None = None) -> CallLog:
        log = CallLog(
            known=self.known,
            fetch=self._fetch,
            record=lambda row: self.record(row),
            budget=shared.budget,
            models=models.values(),
            at_once=self.config.concurrency,
        )
        log.totals = totals or log.totals
        return log

    def run(self) -> int:
        """Work off the seeds."""
        code = 0
        try:
            with RunProgress(self.notes, self.tools.log.totals) as progress:
                if self.config.how == "jsdrv":
                    self._unfinished(partial(train_networks, self.plan, self.trainers, progress))
                if self.config.when == "eard":
                    self._prepare(progress)
                for seed in range(self.config.seeds):
                    self._seed(seed, progress)
        except KeyboardInterrupt:
            self.notes.print(f"Interrupted. {continues(self.config)}")
            code = 130
        except RunStopped as stop:
            self.notes.print(f"Stopped: {stop}. {continues(self.config)}", markup=False)
            code = 1
        except UsageError:
            # The table so far comes first, so that the last line says what is wrong.
            self._table()
            raise
        with suppress(KeyboardInterrupt):  # whoever is in a hurry does without the table
            self._table()
        totals = self.tools.log.totals
        if self.tools.models and (self.config.when == "eard" or totals.naive_tokens > totals.computed_tokens):
            self.notes.print(totals.prompt_tokens(), markup=False, highlight=False, soft_wrap=True)
        return code

    def _prepare(self, progress: RunProgress) -> None:
        """Train the stopping agents that are missing, all seeds' side by side."""
        tasks: dict[Path, Task] = {}

        def label(folds: list[Fold], seed: int) -> None:
            tasks.update(tasks_of(self.plan, self.tools, folds, seed, progress, self.loop))

        self._unfinished(label)
        if tasks:
            with progress.training(tasks) as report:
                train_all(tasks, report)

    def _unfinished(self, prepare: Callable[[list[Fold], int], object]) -> None:
        """Prepare each seed that is not finished."""
        for seed in range(self.config.seeds):
            folds = self.plan.folds(seed)
            row = self.plan.run_row(seed, sum(len(fold.test) for fold in folds), self.attempt)
            stored = read_run(self.config.db, row["run_id"])
            if stored and stored["status"] == "finished":
                continue
            # The calls belong to the seed's run; and a database that cannot be written shows before hours of training.
            with self._writing(row) as writer:
                self.record = lambda call, writer=writer: writer.add(calls=[{**call, "role": EXPERTS}])  # type: ignore[misc]
                prepare(folds, seed)
                writer.finish("interrupted")  # what it is until it is judged

    @contextmanager
    def _writing(self, row: dict[str, Any]) -> Iterator[Writer]:
        """A run's writer; however the block fails, the run says so."""
        with Writer(self.config.db, row) as writer:
            try:
                yield writer
            except BaseException as error:
                with suppress(UsageError):  # if this cannot be stored, that is what went wrong in the first place
                    writer.finish("interrupted" if isinstance(error, KeyboardInterrupt) else "failed")
                raise

    def _seed(self, seed: int, progress: RunProgress) -> None:
        """Start, continue or skip one seed's run."""
        folds = self.plan.folds(seed)
        row = self.plan.run_row(seed, sum(len(fold.test) for fold in folds), self.attempt)
        run_id, n_threads = row["run_id"], row["n_threads"]
        stored = read_run(self.config.db, run_id)
        if stored and stored["status"] == "finished":
            if not self.shown:
                progress.note(f"seed {seed}: finished before ({run_id}); --fresh judges it again")
            progress.begin_seed(seed, self.config.seeds, n_threads, n_threads)
            return
        with self._writing(row) as writer:
            writer.forget_failed()
            done = finished_threads(self.config.db, run_id)
            progress.begin_seed(seed, self.config.seeds, n_threads, len(done))
            if self.tools.encoder:
                progress.embed(self.tools.encoder, texts_to_embed(self.plan, folds))
            todo = unfinished(jobs(self.plan, self.tools, folds, seed), done)
            self._judge(writer, todo, n_threads, progress)
            self._measure(writer)
            writer.finish("finished")

    def _judge(self, writer: Writer, todo: list[Job], n_threads: int, progress: RunProgress) -> None:
        """Judge what is left, every call and every thread recorded as it is done."""

        def record(rows: dict[str, list[dict[str, Any]]]) -> None:
            writer.add(**rows)
            progress.judged(rows["predictions"])

        self.record = lambda call: writer.add(calls=[call])
        self.loop.run(run_jobs(self.plan, todo, record, self.config.fail_on_error * n_threads))

    def _measure(self, writer: Writer) -> None:
        """Store the run's metrics."""
        writer.flush()
        with connect(self.config.db, read_only=True) as connection:
            report = collect(connection, find_runs(connection, writer.run_id))
        writer.replace_metrics(
            [estimate.row(checkpoint) for checkpoint, values in report.values.items() for estimate in values.values()]
        )

    def _table(self) -> None:
        """Print what was judged so far, by this command or before."""
        config_id = self.plan.run_row(0, 0, self.attempt)["config_id"]
        try:
            with connect(self.config.db, read_only=True) as connection:
                runs = [run for run in find_runs(connection, config_id) if run["seed"] < self.config.seeds]
                report = collect(connection, runs, self.config.seeds)
        except UsageError:
            return  # nothing was stored yet
        if self.shown:
            self.shown(report)
        else:
            present(report, self.config, self.console)
            write_page([report], self.config, self.notes)

    def _attempt(self) -> int:
        """The attempt to work on: the newest that the database knows, or with --fresh the one after it."""

        def known(attempt: int) -> bool:
            return read_run(self.config.db, self.plan.run_row(0, 0, attempt)["run_id"]) is not None

        attempt = 0
        while known(attempt + 1):
            attempt += 1
        return attempt + 1 if self.config.fresh and known(attempt) else attempt

    async def _fetch(self, keys: list[str]) -> dict[str, dict[str, Any]]:
        return await asyncio.to_thread(fetch_calls, self.config.db, keys)
