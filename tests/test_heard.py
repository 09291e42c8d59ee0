"""HEARD: the process of inversions against what is worked out by hand, and the method on planted threads."""

import asyncio
import hashlib
import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from corpora.errors import UsageError
from corpora.thread import ClaimThread, Post
from training.hawkes import Cell, Hawkes
from training.heard import HeardSettings, fit, gap, heard, inversions, silences
from training.recurrent import Baseline, seeded

QUICK = HeardSettings(hidden=16, process_hidden=8, updates=15)


class Planted:
    """An encoder whose vectors are known: one of a text's own."""

    def __call__(self, texts: list[str]) -> np.ndarray:
        rows = []
        for text in texts:
            noise = np.random.default_rng(int(hashlib.sha256(text.encode()).hexdigest()[:8], 16))
            row = noise.normal(size=16)
            rows.append(row / np.linalg.norm(row))
        return np.array(rows, dtype=np.float32)

    def holds(self, texts: object) -> bool:
        return True

    async def ready(self, texts: list[str]) -> None:
        """Nothing to wait for."""


def thread(name: str, texts: Sequence[str], seconds: Sequence[float | None] | None = None) -> ClaimThread:
    times = seconds or [600.0 * i for i in range(len(texts))]
    posts = zip(texts, times, strict=True)
    return ClaimThread(name, tuple(Post(f"{name}-{i}", text, at, "a", None) for i, (text, at) in enumerate(posts)))


def planted(labels: Sequence[str], n: int, name: str = "shot", posts: int = 6) -> tuple[list[ClaimThread], list[str]]:
    """Threads that tell their label in every post after the first."""
    gold = [labels[i % len(labels)] for i in range(n)]
    return [thread(f"{name}{i}", ["is it?", *[f"it is {gold[i]}"] * (posts - 1)]) for i in range(n)], gold


def numbers(baseline: Baseline, threads: Sequence[ClaimThread]) -> list[list[float]]:
    """Stop probability and class probabilities after every post."""

    async def ask() -> list[list[float]]:
        prefixes = [each.prefix(n) for each in threads for n in range(1, len(each.posts) + 1)]
        found = []
        for prefix in prefixes:
            verdict = await baseline.verifier(prefix)
            assert verdict.probabilities and sum(verdict.probabilities.values()) == pytest.approx(1)
            found.append([await baseline.policy(prefix), *verdict.probabilities.values()])
        return found

    return asyncio.run(ask())


def process(hidden: int = 8, seed: int = 0) -> Hawkes:
    with seeded(seed):
        return Hawkes(hidden)


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed))


def test_an_inversion_is_any_change_of_label_and_the_first_post_is_none() -> None:
    labels = torch.tensor([[0, 0, 1, 2, 2, 0], [1, 1, 1, 1, 1, 1], [0, 1, 0, 1, 0, 1]])
    assert inversions(labels).tolist() == [[0, 0, 1, 1, 0, 1], [0] * 6, [0, 1, 1, 1, 1, 1]]
    assert inversions(torch.tensor([[1]])).tolist() == [[0]]


def test_a_gap_is_in_units_and_one_where_a_time_is_missing() -> None:
    assert gap(0.0, 7200.0, 3600.0) == 2.0
    assert gap(None, 7200.0, 3600.0) == gap(0.0, None, 3600.0) == 1.0
    assert gap(10.0, 5.0, 3600.0) == 0.0


def test_silence_lasts_to_the_next_post_and_after_the_last_to_the_tail() -> None:
    gaps = torch.tensor([[0.0, 2, 3], [0.0, 0, 0]])
    assert silences(gaps, torch.tensor([3, 1]), torch.tensor([5.0, 4.0])).tolist() == [[2, 3, 5], [4, 0, 0]]


def test_post_by_post_is_the_same_as_at_once() -> None:
    hawkes, counts, gaps = process(), torch.tensor([[0.0, 1, 1, 2], [0, 0, 0, 1]]), drawn(2, 4) * 3
    at_once = hawkes(counts, gaps)
    for row in range(2):
        cell = None
        for post in range(4):
            cell = hawkes.step(cell, float(gaps[row, post]), int(counts[row, post]))
            for mine, theirs in zip(cell, at_once, strict=True):
                torch.testing.assert_close(mine[0], theirs[row, post])


def test_a_cell_drifts_from_where_it_is_to_where_it_goes() -> None:
    cell = Cell(*(torch.tensor([[value]]) for value in (2.0, -1.0, 0.5, 1.0)))
    at = [float(cell.after(torch.tensor([time]))) for time in (0.0, 2.0, 1e6)]
    assert at == pytest.approx([2.0, -1.0 + 3.0 * np.exp(-1.0), -1.0])


@pytest.mark.parametrize("seed", range(3))
def test_the_intensity_is_positive_and_dn_is_its_integral(seed: int) -> None:
    hawkes = process(seed=seed)
    cells = hawkes(torch.tensor([[0.0, 1, 2, 30]]), torch.tensor([[0.0, 0.0, 0.01, 500.0]]))
    for time in (0.0, 1e-3, 1.0, 1e4):
        values = hawkes.intensity(cells, torch.full((1, 4), time))
        assert bool((values > 0).all()) and bool(values.isfinite().all())
    horizon = 5.2
    times = torch.linspace(0, horizon, 20_001)
    fine = torch.stack([hawkes.intensity(cells, torch.full((1, 4), float(time))) for time in times[::20]])
    torch.testing.assert_close(
        hawkes.expected(cells, torch.full((1, 4), horizon)),
        torch.trapezoid(fine, times[::20], dim=0),
        rtol=2e-3,
        atol=1e-3,
    )
    assert hawkes.expected(cells, torch.zeros(1, 4)).tolist() == [[0.0] * 4]


@torch.no_grad()
def test_the_log_likelihood_by_hand_and_the_padding_adds_nothing() -> None:
    hawkes = process()
    inverted, gaps = torch.tensor([[0.0, 1, 0, 1], [0, 1, 1, 1]]), torch.tensor([[0.0, 0.5, 0.0, 2], [0, 7, 7, 7]])
    silence = torch.tensor([[0.5, 0.0, 2, 5.2], [5.2, 9, 9, 9]])
    there = torch.tensor([[True] * 4, [True, False, False, False]])
    found = hawkes.log_likelihood(inverted * there, gaps, silence, there)
    expected, cell = 0.0, None
    for post in range(4):
        time = gaps[0, post : post + 1]
        if cell is not None:
            expected -= float(hawkes.expected(cell, time))
            expected += float(hawkes.intensity(cell, time).log()) if inverted[0, post] else 0.0
        cell = hawkes.step(cell, float(time), int(inverted[0, : post + 1].sum()))
    assert cell is not None
    expected -= float(hawkes.expected(cell, torch.tensor([5.2])))
    alone = -float(hawkes.expected(hawkes.step(None, 0.0, 0), torch.tensor([5.2])))
    assert found.tolist() == pytest.approx([expected, alone], rel=1e-5)


def learned(inverted: Tensor, gaps: Tensor, tail: float) -> Tensor:
    """dN over 5 units at each post, after fitting a process to inversions (threads, posts)."""
    hawkes, there = process(16), torch.ones_like(inverted, dtype=torch.bool)
    silence = silences(gaps, there.sum(dim=1), torch.full(gaps.shape[:1], tail))
    adam = torch.optim.Adam(hawkes.parameters(), 0.02)
    for _ in range(80):
        loss = -hawkes.log_likelihood(inverted, gaps, silence, there).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
    with torch.no_grad():
        return hawkes.expected(hawkes(inverted.cumsum(1), gaps), torch.full(gaps.shape, 5.0))


def exponential(threads: int, posts: int) -> Tensor:
    gaps = -torch.log(1 - drawn(threads, posts, seed=5))
    gaps[:, 0] = 0
    return gaps


def test_dn_falls_where_predictions_are_planted_to_be_stable() -> None:
    """Two kinds of threads: every post inverts up to the fourth, or up to the eighth."""
    until = torch.tensor([4, 8]).repeat(30)[:, None]
    inverted = ((torch.arange(20) > 0) & (torch.arange(20) <= until)).float()
    expected = learned(inverted, exponential(60, 20), 5.0)
    four, eight = expected[::2].mean(0), expected[1::2].mean(0)
    assert four[1:4].min() > 1.0 and eight[1:8].min() > 1.0  # still inverting
    assert four[10:].max() < 0.5 and eight[14:].max() < 0.5  # settled
    assert four[6] < eight[6]  # at the same post: one has settled, one has not


@pytest.mark.parametrize("rate", [0.05, 0.3])
def test_dn_is_calibrated_to_a_steady_rate(rate: float) -> None:
    inverted = (drawn(80, 20) < rate).float()
    inverted[:, 0] = 0
    expected = learned(inverted, exponential(80, 20), 0.0)
    assert float(expected[:, 5:].mean()) == pytest.approx(5 * float(inverted[:, 1:].mean()), rel=0.3)


def test_it_stops_where_dn_is_below_the_threshold_and_never_at_the_first_post() -> None:
    (shots, labels), tested = planted(["false", "non-rumor"], 6), planted(["false", "non-rumor"], 4, "test")[0]
    reader, hawkes, _ = fit(Planted(), shots, labels, 0, QUICK)
    for threshold in (0.3, 1.0, 4.0):
        settings = replace(QUICK, threshold=threshold)
        baseline = heard(Planted(), shots, labels, 0, settings)
        assert baseline.policy.deadline is None
        for each in tested:
            vectors = torch.from_numpy(Planted()([post.text for post in each.posts]))
            counts = inversions(reader.classify(reader(vectors[None])).argmax(-1)).cumsum(1)
            gaps = torch.tensor([[0.0, *[600 / 3600] * (len(each.posts) - 1)]])
            expected = hawkes.expected(hawkes(counts, gaps), torch.full(gaps.shape, settings.horizon))[0]
            given = [row[0] for row in numbers(baseline, [each])]
            assert given[0] == 0.0
            assert given[1:] == pytest.approx((2 ** (-expected[1:] / threshold)).tolist(), rel=1e-4)
            assert [p >= 0.5 for p in given[1:]] == [float(dn) <= threshold for dn in expected[1:]]


@pytest.mark.parametrize("classes", [["false", "non-rumor"], ["F", "N", "T", "U"]], ids=len)
def test_planted_labels_are_found_before_the_end(classes: list[str]) -> None:
    shots, labels = planted(classes, 16)
    baseline = heard(Planted(), shots, labels, 0, HeardSettings(hidden=32, process_hidden=8))
    tested, gold = planted(classes, 8, "test", posts=9)

    async def judged(each: ClaimThread) -> tuple[int, str | None]:
        for n in range(1, len(each.posts) + 1):
            if n == len(each.posts) or await baseline.policy(each.prefix(n)) >= 0.5:
                return n, (await baseline.verifier(each.prefix(n))).label
        raise AssertionError

    found = [asyncio.run(judged(each)) for each in tested]
    assert [label for _, label in found] == gold
    assert all(1 < stop < 9 for stop, _ in found)


def test_an_answer_depends_on_the_prefix_alone() -> None:
    shots, labels = planted(["false", "non-rumor"], 6)
    tested = [thread(f"t{i}", [f"word {(i * k) % 5}" for k in range(5)]) for i in range(3)]
    in_order = numbers(heard(Planted(), shots, labels, 0, QUICK), tested)
    baseline = heard(Planted(), shots, labels, 0, QUICK)
    # the same beginning goes on otherwise under the same id; prefixes come mixed, long ones first
    other = thread("t0", ["word 0", "another word", "a third"])
    numbers(baseline, [other])
    places = [(row, n) for row in range(3) for n in range(5, 0, -1)]
    random.Random(0).shuffle(places)

    async def ask() -> dict[tuple[int, int], float]:
        return {(row, n): await baseline.policy(tested[row].prefix(n)) for row, n in places}

    assert [asyncio.run(ask())[row, n] for row in range(3) for n in range(1, 6)] == [row[0] for row in in_order]


def test_training_is_decided_by_its_seed_and_leaves_the_global_generators_alone() -> None:
    shots, labels = planted(["false", "non-rumor"], 6)

    def trained(seed: int) -> list[list[float]]:
        return numbers(heard(Planted(), shots, labels, seed, QUICK), shots)

    torch.manual_seed(7)
    np.random.seed(7)
    random.seed(7)
    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()
    first = trained(0)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before[1:]
    torch.manual_seed(8)
    np.random.seed(8)
    random.seed(8)
    assert trained(0) == first
    assert trained(1) != first


def test_a_thread_without_times_runs_on_its_post_index() -> None:
    shots, labels = planted(["false", "non-rumor"], 6)
    texts = [post.text for post in shots[0].posts]
    hourly = thread("timed", texts, [3600.0 * i for i in range(6)])
    untimed = thread("untimed", texts, [None] * 6)
    assert not untimed.timed
    for some in (shots, [thread(shot.id, texts, [None] * 6) for shot in shots]):
        baseline = heard(Planted(), some, labels, 0, QUICK)
        assert numbers(baseline, [untimed]) == numbers(baseline, [hourly]) != numbers(baseline, [shots[0]])


def test_unknown_times_are_drawn_anew_for_every_update(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Tensor] = []
    original = Hawkes.log_likelihood

    def spy(self: Hawkes, struck: Tensor, gaps: Tensor, silence: Tensor, there: Tensor) -> Tensor:
        seen.append(gaps)
        assert torch.equal(silence[:, :-1], gaps[:, 1:]) and silence[:, -1].tolist() == pytest.approx([5.2] * 2)
        return original(self, struck, gaps, silence, there)

    monkeypatch.setattr(Hawkes, "log_likelihood", spy)
    shots, labels = planted(["false", "non-rumor"], 2, posts=40)
    shots[1] = thread("untimed", [post.text for post in shots[1].posts], [None] * 40)
    fit(Planted(), shots, labels, 0, QUICK)
    every = torch.stack(seen)
    assert (every[:, 0] - torch.tensor([0.0, *[1 / 6] * 39])).abs().max() < 1e-6
    assert bool((every[:, 1, 0] == 0).all()) and bool((every[:, 1, 1:] > 0).all())
    assert not torch.equal(every[0], every[1])
    assert float(every[:, 1, 1:].mean()) == pytest.approx(1.0, abs=0.15)


def test_threads_of_one_post_are_learned_from_and_judged() -> None:
    shots, labels = planted(["false", "non-rumor"], 4, posts=1)
    baseline = heard(Planted(), shots, labels, 0, QUICK)
    assert [row[0] for row in numbers(baseline, shots)] == [0.0] * 4
    mixed = shots[:2] + planted(["false", "non-rumor"], 2, "long")[0]
    assert len(numbers(heard(Planted(), mixed, labels, 0, QUICK), mixed)) == 1 + 1 + 6 + 6


def test_a_long_shot_is_cut_and_what_came_after_is_not_taken_for_silence() -> None:
    shots, labels = planted(["false", "non-rumor"], 4, posts=9)
    settings = replace(QUICK, longest=5)
    cut = [thread(shot.id, [post.text for post in shot.posts[:5]]) for shot in shots]
    long, short = (numbers(heard(Planted(), some, labels, 0, settings), cut) for some in (shots, cut))
    assert [row[1:] for row in long] == [row[1:] for row in short]  # the detector sees the same posts
    # the process does not: only the short ones are known to have ended without an inversion
    assert all(more < less for (more, *_), (less, *_) in zip(long, short, strict=True) if less > 0)


def test_one_class_is_refused() -> None:
    shots, _ = planted(["false"], 3)
    with pytest.raises(UsageError, match="two classes"):
        heard(Planted(), shots, ["false"] * 3, 0, QUICK)
