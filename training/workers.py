"""Agents trained side by side, a process of one thread each; a kill costs a few seconds of training.

Each works in its own folder, under a lock: two commands that want the same agent train it once.
"""

import fcntl
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from multiprocessing.context import BaseContext
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from typing import Any

from agents.stopping import learned
from corpora.errors import UsageError
from training.task import PROGRESS, Task

Report = Callable[[dict[Path, dict[str, float]]], None]
"""Takes where each training stands (see `Trainer.statistics`)."""

LOOK = 0.1
"""Seconds between two looks at how far the workers are."""

A_CORE = 3
"""Workers a core: five agents on two cores end together, rather than in rounds of two, two and one."""

_stop: Any = None


def train_all(tasks: Mapping[Path, Task], report: Report | None = None, workers: int | None = None) -> None:
    """Train every agent whose folder has none; returns when all are there.

    Args:
        tasks: Folder -> what its agent learns from.
        report: Called now and then.
        workers: Processes at most; None for `A_CORE` a core.

    Raises:
        UsageError: one of the tasks has nothing to imitate, its folder is another's, or a process was killed.
    """
    todo = {folder: task for folder, task in tasks.items() if not learned.saved(folder)}
    if not todo:
        return
    workers = min(len(todo), workers or A_CORE * _cores())
    context = _context()
    stop = context.Event()
    with ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(stop,)) as pool:
        futures = [pool.submit(_train, task, folder) for folder, task in todo.items()]
        try:
            watch(futures, lambda: report({folder: _read(folder) for folder in todo}) if report else None)
        except BrokenProcessPool:
            raise UsageError(
                "a training process was killed (out of memory?): what was trained is kept, the same command continues"
            ) from None
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def watch(futures: Sequence[Future[None]], look: Callable[[], None]) -> None:
    """Wait until all are done, or one has failed; a signal may end it at any moment.

    A signal's exception may come between a lock and the block that frees it, and `concurrent.futures.wait` then tries
    to free what it does not hold. So here the waiting thread takes no lock.

    Args:
        futures: What is waited for.
        look: Called now and then.
    """
    ended: list[Future[None]] = []
    for future in futures:
        future.add_done_callback(ended.append)
    seen = 0
    while seen < len(futures):
        time.sleep(LOOK)
        look()
        for future in ended[seen:]:
            future.result()
            seen += 1


def _context() -> BaseContext:
    """How workers are started: never as copies of this process, whose threads may hold locks that nobody would free.

    On Linux they are copies of a server in which nothing runs, and which imports the libraries once for all: some seven
    seconds of a core each. Elsewhere a copy of a process with such libraries may crash: each begins anew.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["training.preloaded"])
    # A Ctrl-C is for all processes of a terminal, and the server is deaf to it only once the libraries are imported.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return context


def _cores() -> int:
    """Cores that this process may use; not every system says so."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _begin(stop: Any) -> None:
    """Prepare a worker."""
    global _stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is asked, and asks us
    threading.Thread(target=_outlive_nobody, daemon=True).start()
    _stop = stop
    import_module("training.preloaded")  # there already, where there is a server
    import torch

    torch.set_num_threads(1)
    torch.distributions.Distribution.set_default_validate_args(False)  # 4 % of the time, to find what tests would


def _outlive_nobody() -> None:
    """End with a parent that was killed; what was trained is on disk."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _train(task: Task, folder: Path) -> None:
    """Train one agent, in a worker, until it is done or nobody waits for it."""
    from training.trainer import Trainer

    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if _stop.is_set():
                    return
                time.sleep(LOOK)
        if learned.saved(folder):
            return
        trainer = Trainer(task, folder)
        while not trainer.finished:
            if _stop.is_set():
                return
            _write(folder, trainer.advance())
        trainer.write_policy()


def _write(folder: Path, statistics: dict[str, float]) -> None:
    part = folder / f".{PROGRESS}.part"
    part.write_text(json.dumps(statistics))
    part.replace(folder / PROGRESS)


def _read(folder: Path) -> dict[str, float]:
    try:
        found: dict[str, float] = json.loads((folder / PROGRESS).read_text())
        return found
    except (OSError, ValueError):
        return {}
