"""What a verifier says of every prefix of a thread: the ground on which expert trajectories are made.

A thread's prefixes are judged in order, one after the other, and several threads side by side. So each prompt
begins like the one before it: a server with prefix caching reads only what is new, and so does a model in this
process (agents/prefix_cache.py). All calls go through the verifier's call log, which counts what that saved:
`log.totals.prompt_tokens()`.

A verifier that was fitted on the labelled shots is right on them; `out_of_fold` asks, for each shot, one that
was fitted on others.
"""

import asyncio
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack

from agents.models import KeepsPrefixes, Model, ModelError
from agents.verdict import Verdict, Verifier
from corpora.errors import UsageError
from corpora.thread import ClaimThread

Labels = list[str | None]
"""One a prefix, the shortest first; None where the verifier abstained or could not be asked."""
Fit = Callable[[list[ClaimThread], list[str]], Verifier]
"""Makes a verifier from labelled threads."""
FOLDS = 5
"""That shots are dealt into; as many as the largest class has shots, if that is fewer."""


async def label_prefixes(
    verifier: Verifier, thread: ClaimThread, max_posts: int | None = None, *, failures: list[str] | None = None
) -> Labels:
    """Label a thread's prefixes, in order.

    Args:
        verifier: who judges.
        thread: whose prefixes.
        max_posts: longest prefix; None for the whole thread.
        failures: takes a line for each prefix of which the model could not be asked; the call log counts
            them too.

    Raises:
        UsageError: no call can succeed (FatalModelError), or the budget is spent.
    """
    labels: Labels = []
    end = len(thread.posts) if max_posts is None else min(max_posts, len(thread.posts))
    for n in range(1, end + 1):
        try:
            verdict = await verifier(thread.prefix(n))
        except ModelError as error:
            verdict = Verdict.failed(str(error))
        if verdict.outcome == "failed" and failures is not None:
            failures.append(f"thread {thread.id}, {n} posts: {verdict.reason}")
        labels.append(verdict.label)
    return labels


async def label_threads(
    verifier: Verifier,
    threads: Sequence[ClaimThread],
    *,
    models: Iterable[Model] = (),
    concurrency: int = 32,
    max_posts: int | None = None,
    progress: Callable[[int], None] | None = None,
    failures: list[str] | None = None,
) -> dict[str, Labels]:
    """Label the prefixes of several threads side by side.

    Args:
        verifier: who judges.
        threads: whose prefixes.
        models: the chat models that the verifier asks; those in this process keep what they read, meanwhile.
        concurrency: threads side by side.
        max_posts: longest prefix; None for whole threads.
        progress: told the number of threads that are labelled, each time it grows.
        failures: as for label_prefixes.

    Returns:
        Thread id -> labels, in the order of `threads`.

    Raises:
        UsageError: no call can succeed, or the budget is spent; threads under way are labelled to their end
            first, since what they ask is remembered.
    """
    waiting = iter(threads)
    labels: dict[str, Labels] = {}
    stopped = False

    async def work() -> None:
        nonlocal stopped
        for thread in waiting:
            if stopped:
                return
            try:
                labels[thread.id] = await label_prefixes(verifier, thread, max_posts, failures=failures)
            except Exception:
                stopped = True
                raise
            if progress is not None:
                progress(len(labels))
            await asyncio.sleep(0)  # a verifier that never waits must not keep out whoever else runs here

    with ExitStack() as stack:
        for model in models:
            if isinstance(model, KeepsPrefixes):
                # twice as many: a thread cut short (agents/replies.py) leaves what it no longer continues
                stack.enter_context(model.keep_prefixes(2 * concurrency))
        workers = (work() for _ in range(min(concurrency, len(threads))))
        ends = await asyncio.gather(*workers, return_exceptions=True)
    for end in ends:
        if end is not None:
            raise end
    return {thread.id: labels[thread.id] for thread in threads}


async def out_of_fold(
    fit: Fit,
    shots: Sequence[ClaimThread],
    labels: Sequence[str],
    *,
    seed: int = 0,
    max_posts: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> dict[str, Labels]:
    """Label the prefixes of labelled threads by verifiers that have not seen them.

    The shots are dealt into folds, each with its share of every class; those of a fold are judged by a verifier
    fitted on the rest. A class of one shot cannot be learned from the rest: of more than two classes, the
    verifier is never right on that shot; of two, there is nothing left to fit, and all its labels are None.

    Args:
        fit: makes a verifier from labelled threads.
        shots: the labelled threads.
        labels: label of each.
        seed: of the dealing.
        max_posts: longest prefix; None for whole threads.
        progress: told the number of shots that are labelled, after each fold.

    Returns:
        Thread id -> labels, in the order of `shots`.

    Raises:
        UsageError: the shots are of fewer than two classes.
    """
    if len(set(labels)) < 2:
        raise UsageError("out-of-fold labels need labelled threads of at least two classes: use --shots 10 or more")
    found: dict[str, Labels] = {}
    for held in _folds(labels, seed):
        out = set(held)
        rest = [n for n in range(len(shots)) if n not in out]
        threads = [shots[n] for n in held]
        if len({labels[n] for n in rest}) < 2:
            found |= {thread.id: [None] * min(len(thread.posts), max_posts or len(thread.posts)) for thread in threads}
        else:
            verifier = fit([shots[n] for n in rest], [labels[n] for n in rest])
            found |= await label_threads(verifier, threads, max_posts=max_posts)
        if progress is not None:
            progress(len(found))
    return {shot.id: found[shot.id] for shot in shots}


def _folds(labels: Sequence[str], seed: int) -> Iterator[list[int]]:
    """Deal the indices of labels into folds, with the classes spread evenly."""
    from sklearn.model_selection import StratifiedKFold

    largest = max(Counter(labels).values())
    if largest < 2:  # all classes are of one shot: each is held out alone
        yield from ([n] for n in range(len(labels)))
        return
    splitter = StratifiedKFold(min(FOLDS, largest), shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class with fewer shots than folds is spread all the same
        yield from (list(map(int, held)) for _, held in splitter.split(list(labels), list(labels)))
