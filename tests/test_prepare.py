"""What a method learns from is the same, whoever opens it."""

from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from corpora.catalog import load
from corpora.errors import UsageError
from corpora.labels import LABEL_SETS
from eval.config import RunConfig
from eval.planning import make_plan
from graphs.context import Context, method_of
from graphs.parts import Parts
from graphs.prepare import train_missing, with_threads
from graphs.watching import method as watching
from graphs.watching.settings import WatchSettings

PARTS = Parts(LABEL_SETS["rumor/non-rumor"], seed=3, how="direct")


def ids(threads: Any) -> list[str]:
    return [thread.id for thread in threads]


@pytest.mark.parametrize("when", ["eard", "ced", "random:0.5"])
def test_threads_are_those_of_a_run(when: str) -> None:
    parts = with_threads(PARTS, when, "sample", shots=20)
    (fold,) = make_plan(RunConfig(shots=20, when="eard")).folds(3)
    assert (ids(parts.shots), ids(parts.pool)) == (ids(fold.shots), ids(fold.pool))
    assert parts.classes == ["rumor", "non-rumor"]


def test_networks_learn_from_one_pool_whatever_says_when() -> None:
    pools = {
        when: ids(with_threads(replace(PARTS, how="jsdrv"), when, "sample", shots=4, pool=7).pool)
        for when in ("ced", "all-posts")
    }
    assert pools["ced"] == pools["all-posts"] and len(pools["ced"]) > 7
    assert with_threads(PARTS, "posts:3", "sample", shots=4) is PARTS


def test_a_corpus_without_such_labels_and_one_without_further_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = load("sample", environ={})
    monkeypatch.setattr("corpora.catalog.load", lambda *_, **__: replace(sample, label_sets=("veracity",)))
    with pytest.raises(UsageError, match="sample has no labels rumor/non-rumor to learn from: it has veracity"):
        with_threads(PARTS, "eard", "sample", shots=4)
    with pytest.raises(UsageError, match="name their folder"):
        train_missing(replace(PARTS, how="jsdrv"), "eard", "sample", pytest.fail, Console(quiet=True))


async def test_the_graphs_and_a_watch_learn_from_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[list[str], list[str], list[str]]] = []

    class Enough(Exception):
        pass

    def opened(_: str, parts: Parts) -> None:
        seen.append((ids(parts.shots), ids(parts.pool), list(parts.classes)))
        raise Enough

    monkeypatch.setattr("graphs.context.open_policy", opened)
    monkeypatch.setattr(watching, "open_policy", opened)
    with pytest.raises(Enough):
        await method_of(Context(when="random:0.4", how="encoder", shots=21, seed=5))
    settings = WatchSettings(when="random:0.4", shots=21, seed=5)
    with pytest.raises(Enough):
        watching.open_method(settings, pytest.fail, Console(quiet=True))  # type: ignore[arg-type]
    assert len(seen) == 2 and seen[0] == seen[1] and seen[0][1]
