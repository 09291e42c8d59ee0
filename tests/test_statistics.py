"""Intervals and tests against naive versions of themselves and against known values."""

import time

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import f1_score

from eval import statistics
from eval.metrics import macro_f1
from eval.statistics import (
    confusions,
    holm,
    mcnemar,
    mean_intervals,
    of_differences,
    paired_difference,
    percentiles,
    resample,
)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def invent(rng: np.random.Generator, runs: int, n: int, k: int = 2, right: float = 0.7) -> np.ndarray:
    """(runs, n) cells of runs that are right on a share of the threads."""
    gold = rng.integers(k, size=n)
    given = np.where(rng.random((runs, n)) < right, gold, rng.integers(k + 1, size=(runs, n)))
    return gold * (k + 1) + given


def test_bootstrap_agrees_with_the_naive_one(rng: np.random.Generator) -> None:
    lined = invent(rng, 1, 150, k=3)
    low, high = percentiles(macro_f1(resample(lined, 3, rng, 4000))[:, 0])
    naive = []
    for _ in range(1000):
        drawn = lined[0][rng.integers(150, size=150)]
        naive.append(f1_score(drawn // 4, drawn % 4, labels=[0, 1, 2], average="macro", zero_division=np.nan))
    assert (low, high) == pytest.approx(tuple(np.quantile(naive, (0.025, 0.975))), abs=0.012)


def test_bootstrap_over_seeds_draws_threads_not_judgements(rng: np.random.Generator) -> None:
    lined = invent(rng, 3, 80)
    lined[0, :20] = lined[2, 60:] = -1  # test sets overlap, but are not the same
    naive = []
    for _ in range(2000):
        drawn = lined[:, rng.integers(80, size=80)]
        naive.append(macro_f1(confusions(drawn, 2)).mean())
    low, high = percentiles(macro_f1(resample(lined, 2, rng, 4000)).mean(axis=1))
    assert (low, high) == pytest.approx(tuple(np.quantile(naive, (0.025, 0.975))), abs=0.012)


def test_bootstrap_covers_the_truth_about_as_often_as_it_says(rng: np.random.Generator) -> None:
    covered = 0
    for _ in range(300):
        draws = resample(invent(rng, 1, 100, right=0.55), 2, rng, 300)
        low, high = percentiles((draws[..., 0, 0] + draws[..., 1, 1])[:, 0] / 100)
        covered += low <= 0.55 + 0.45 / 3 <= high
    assert 0.88 <= covered / 300 <= 0.99


def test_bootstrap_takes_milliseconds(rng: np.random.Generator) -> None:
    lined = invent(rng, 1, 100_000)
    started = time.process_time()  # not the clock: these machines are shared
    resample(lined, 2, rng)
    assert time.process_time() - started < 0.5


def test_mean_interval_agrees_with_the_naive_one_and_with_theory(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = rng.exponential(size=(1, 2, 400))
    values[0, 0, :100] = np.nan
    naive = [np.nanmean(values[0][:, rng.integers(400, size=400)], axis=1).mean() for _ in range(3000)]
    expected = tuple(np.quantile(naive, (0.025, 0.975)))
    (bootstrap,) = mean_intervals(values, rng)
    assert bootstrap == pytest.approx(expected, abs=0.02)
    monkeypatch.setattr(statistics, "_NORMAL_FROM", 1)
    (normal,) = mean_intervals(values, rng)
    assert normal == pytest.approx(expected, abs=0.02)
    assert mean_intervals(np.full((1, 1, 5), np.nan), rng) == [(None, None)]


def test_mean_interval_without_values(rng: np.random.Generator) -> None:
    assert mean_intervals(np.full((2, 1, 5), np.nan), rng) == [(None, None)] * 2


def test_mcnemar_is_the_exact_binomial_test() -> None:
    first, second = np.array([1.0] * 10 + [0] * 3 + [1] * 7), np.array([0.0] * 10 + [1] * 3 + [1] * 7)
    assert mcnemar(first, second) == (10, 3, pytest.approx(binomtest(3, 13).pvalue))
    assert mcnemar(first, first) == (0, 0, 1.0)


def test_several_seeds_make_one_observation_a_thread() -> None:
    first, second = np.array([5.0] * 8 + [3]), np.array([0.0] * 8 + [3])
    wins, losses, p = mcnemar(first, second)
    assert (wins, losses) == (8, 0) and p == pytest.approx(2 * 0.5**8)


def test_paired_difference(rng: np.random.Generator) -> None:
    gold = rng.integers(2, size=(1, 400)) * 3
    better, worse = gold + gold // 3, gold + rng.integers(2, size=(1, 400))
    difference, low, high, p = paired_difference(worse, better, 2, macro_f1, rng)
    assert difference == pytest.approx(float(1 - macro_f1(confusions(worse, 2))[0]))
    assert 0 < low < difference < high and p < 0.001
    assert paired_difference(worse, worse, 2, macro_f1, rng) == (0.0, 0.0, 0.0, 1.0)
    _, low, high, p = paired_difference(better, worse, 2, macro_f1, rng)
    assert high < 0 and p < 0.001


def test_undefined_differences_are_no_evidence() -> None:
    assert of_differences(np.full(100, np.nan)) == (None, None, 1.0)
    some = of_differences(np.array([0.5, np.nan, 0.5, np.nan, -0.5]))
    assert some == of_differences(np.array([0.5, 0.5, -0.5]))


def test_pairing_narrows_the_interval(rng: np.random.Generator) -> None:
    first = invent(rng, 1, 300)
    second = np.where(rng.random((1, 300)) < 0.9, first, invent(rng, 1, 300))
    second = first // 3 * 3 + second % 3
    _, low, high, _ = paired_difference(first, second, 2, macro_f1, rng)
    apart = macro_f1(resample(first, 2, rng))[:, 0] - macro_f1(resample(second, 2, rng))[:, 0]
    assert high - low < 0.8 * (np.quantile(apart, 0.975) - np.quantile(apart, 0.025))


def test_false_alarms_are_as_rare_as_promised(rng: np.random.Generator) -> None:
    alarms = 0
    for _ in range(200):
        lined = invent(rng, 2, 120)
        alarms += paired_difference(lined[:1], lined[1:], 2, macro_f1, rng, draws=400)[3] < 0.05
    assert alarms / 200 < 0.11


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
