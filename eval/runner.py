"""One run: every test thread of one seed, many at once, each recorded before it counts as done."""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agents.call_log import CallLog
from agents.debate.stance_scorer import learned_texts
from agents.encoder import Encoder
from agents.models import Model, ModelError
from agents.together import together
from agents.verdict import Verdict, Verifier
from corpora.splits import Fold
from corpora.thread import ClaimThread
from eval import annotations
from eval.metrics import flip_rate
from eval.opening import settings_of
from eval.plan import Plan
from eval.task_options import WITH_STANCES, chat_network, chat_scorer
from graphs.context import Method
from graphs.hows import is_scorer, open_verifier
from graphs.methods import open_policy
from graphs.parts import Parts
from graphs.stances import without
from graphs.stop_then_detect import run_nodes
from training.jsdrv.settings import read_jsdrv
from training.settings import read_settings


class RunStopped(Exception):
    """The run ended early by its own rules; what was judged is kept and the same command continues."""


@dataclass
class Tools:
    """What all seeds of a command share."""

    log: CallLog
    models: dict[str, Model]
    encoder: Encoder | None


@dataclass(frozen=True)
class Job:
    """One thread to judge, and what judges it at each checkpoint."""

    thread: ClaimThread
    fold: Fold
    methods: list[tuple[str | None, Method]]
    """Checkpoint (None for a single stop policy) and method."""


def parts_of(plan: Plan, tools: Tools, fold: Fold, seed: int) -> Parts:
    """What one fold's stop policies and verifiers are made from."""
    config = plan.config
    answers = {thread.id: label for thread in fold.test if (label := plan.label_set.of(thread))}
    return Parts(
        label_set=plan.label_set,
        seed=seed,
        shots=[shot for shot in fold.shots if plan.label_set.of(shot) not in plan.untaught],
        log=tools.log,
        models=tools.models,
        encoder=tools.encoder,
        prompts=config.prompts,
        samples=config.samples,
        how=config.how,
        pool=fold.pool,
        stopper=read_settings(config.stopper),
        debate=replace(config.debate, scorer=scorer if (scorer := config.scorer_model) and is_scorer(scorer) else ""),
        stance_threads=stance_threads(plan, fold),
        network=config.network or "encoder",
        base_url=config.base_url,
        chat=settings_of(config, network) if (network := chat_network(config) or chat_scorer(config)) else None,
        jsdrv=read_jsdrv(config.jsdrv),
        examples=config.examples,
        classes=plan.classes,
        tested=[*(plan.threads if plan.train else fold.test), *plan.held_out],
        data_dir=config.data_dir,
        token_budget=config.token_budget,
        answers=answers if "oracle" in config.checkpoints else {},
    )


def jobs(plan: Plan, tools: Tools, folds: Iterable[Fold], seed: int) -> list[Job]:
    """Everything one seed has to judge, finished or not."""
    names = plan.config.checkpoints
    found = []
    for fold in folds:
        parts = parts_of(plan, tools, fold, seed)
        verifier = open_verifier(parts)
        methods = [(name if len(names) > 1 else None, Method(open_policy(name, parts), verifier)) for name in names]
        found += [Job(thread, fold, methods) for thread in fold.test]
    return found


def stance_threads(plan: Plan, fold: Fold) -> list[ClaimThread]:
    """What one fold's stance classifier learns from: what every fold's does, and the shots. None if there is none."""
    if plan.config.scorer_model != "encoder":
        return []
    shots = without(fold.shots, fold.test)
    return list({thread.id: thread for thread in (*plan.stance_threads, *shots)}.values())


def texts_to_embed(plan: Plan, folds: Sequence[Fold]) -> list[str]:
    """Every text whose vector the run will need."""
    config = plan.config
    names = [name.partition(":") for name in config.checkpoints]
    bounds = [1 if name == "first-post" else int(n) if name == "posts" and n != "all" else None for name, _, n in names]
    end = None if None in bounds or config.sea else max(bound for bound in bounds if bound is not None)
    texts = [post.text for fold in folds for thread in (*fold.shots, *fold.test) for post in thread.posts[:end]]
    if config.scorer_model == "encoder":
        texts += (text for fold in folds for text in learned_texts(stance_threads(plan, fold)))
    return texts


async def judge(plan: Plan, job: Job) -> dict[str, list[dict[str, Any]]]:
    """Judge one thread at every checkpoint: the rows of `predictions`, `annotations` and `steps`.

    With --sea, every prefix after the stop is labelled too, which is no part of the thread's `seconds`. If the model
    cannot be asked for one of them, the thread counts as failed, and the same command asks again.
    """
    predictions: list[dict[str, Any]] = []
    stances: list[dict[str, Any]] = []
    scored = plan.config.task in WITH_STANCES
    steps: dict[int, dict[str, Any]] = {}
    labels: dict[int, str | None] = {}  # posts read -> label, whichever checkpoint asked for it
    for checkpoint, method in job.methods:
        started = time.perf_counter()
        try:
            state = await run_nodes(job.thread, method)
            seconds = time.perf_counter() - started
            verdict, read, taken = Verdict(**(state["verdict"] or {})), state["read"], state["steps"]
            labels[read] = verdict.label
            flips = await _flip_rate(job.thread, method.verifier, read, labels) if plan.config.sea else None
        except ModelError as error:
            seconds = time.perf_counter() - started
            verdict, read, taken, flips = Verdict.failed(str(error)), None, [], None
        probabilities = verdict.probabilities
        if probabilities is not None:
            probabilities = {**probabilities, "method": verdict.probability_method}  # type: ignore[dict-item]
        at = {"checkpoint": checkpoint, "fold": job.fold.name}
        stances += annotations.rows_of(job.thread, verdict, read, scored=scored, **at)
        predictions.append(
            {
                "thread_id": job.thread.id,
                **at,
                "gold": plan.label_set.of(job.thread),
                "label": verdict.label,
                "probabilities": probabilities,
                "outcome": verdict.outcome,
                "reason": verdict.reason,
                "stop_index": read,
                "n_posts": len(job.thread.posts),
                "seconds_to_stop": job.thread.posts[read - 1].seconds if read else None,
                "rationale": verdict.rationale,
                "seconds": seconds,
                "flip_rate": flips,
                "debate": _debate(job.thread, verdict),
            }
        )
        # Checkpoints read the same posts: a step is one row, of the checkpoint that read furthest.
        for step in taken:
            steps[step["step"]] = {
                "thread_id": job.thread.id,
                "step": step["step"],
                "action": step["action"],
                "stop_probability": step["stop_probability"],
                "label": None,
            }
    # No steps: every checkpoint failed.
    after = {"thread_id": job.thread.id, "action": "after", "stop_probability": None}
    for number in sorted(labels) if steps else ():
        steps.setdefault(number, {**after, "step": number})["label"] = labels[number]
    return {"predictions": predictions, "steps": list(steps.values())} | ({"annotations": stances} if stances else {})


def _debate(thread: ClaimThread, verdict: Verdict) -> dict[str, Any] | None:
    """A debate's transcript, and what annotators say of the comments it scored: supporting or denying."""
    if verdict.debate is None:
        return None
    stances = {post: thread.gold.stances.get(post) for post in verdict.debate["scores"]}
    return {**verdict.debate, "gold": {post: stance for post, stance in stances.items() if stance in ("S", "D")}}


async def _flip_rate(thread: ClaimThread, verifier: Verifier, read: int, labels: dict[int, str | None]) -> float:
    """Label the prefixes after a stop, those that `labels` does not have yet, and measure how often the label changes.

    Raises:
        ModelError: the model cannot be asked.
    """
    later = range(read + 1, len(thread.posts) + 1)
    for n in later:
        if n not in labels:
            labels[n] = (await verifier(thread.prefix(n))).label
    return flip_rate([labels[n] for n in (read, *later)])


async def run_jobs(
    plan: Plan,
    todo: list[Job],
    record: Callable[[dict[str, list[dict[str, Any]]]], None],
    allowed_failures: float,
) -> None:
    """Judge the threads, `concurrency` at a time.

    Args:
        plan: What is judged.
        todo: What is left to judge.
        record: Called with each thread's rows.
        allowed_failures: How many threads may fail before the run stops.

    Raises:
        RunStopped: more threads failed than may.
        UsageError: nothing can go on: no such model, no disk space, budget spent.
    """
    waiting = iter(todo)
    failed: list[str] = []
    stopped = False

    async def work() -> None:
        nonlocal stopped
        for job in waiting:
            if stopped:
                return
            try:
                rows = await judge(plan, job)
                record(rows)
                reasons = [row["reason"] for row in rows["predictions"] if row["outcome"] == "failed"]
                failed.extend(reasons[:1])  # a thread counts once, at whichever checkpoint it failed
                if len(failed) > allowed_failures:
                    raise RunStopped(
                        f"{len(failed)} threads failed, more than --fail-on-error allows; the last: {failed[-1]}"
                    )
            except Exception:
                stopped = True
                raise
            # A model that answers at once never waits: let the progress bar and Ctrl-C have their turn.
            await asyncio.sleep(0)

    # When one stops the run the others still finish their threads.
    await together(*(work() for _ in range(min(plan.config.concurrency, len(todo)))))


def unfinished(all_jobs: list[Job], done: set[tuple[str | None, str]]) -> list[Job]:
    """What is left to judge, given (fold, thread id) of what is finished."""
    return [job for job in all_jobs if (job.fold.name, job.thread.id) not in done]
