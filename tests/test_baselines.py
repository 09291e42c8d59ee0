"""CED and ERD, and the GRU they share: on the sample corpus, and on made-up threads whose answer is known."""

import asyncio
import hashlib
import math
import random
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import gymnasium.utils.env_checker
import numpy as np
import pytest
import stable_baselines3.common.env_checker
import torch

from agents.encoder import Encoder
from corpora.catalog import load
from corpora.errors import UsageError
from corpora.labels import LABEL_SETS
from corpora.thread import ClaimThread, Post
from tests.made_up import VECTORS
from training.ced import CedSettings, ced, from_credible_point, loss
from training.erd import CONTINUE, STOP, CheckpointEnv, ErdSettings, World, _checkpoint, erd, reward
from training.recurrent import Reader, balanced, pad, read_along, seeded

QUICK_CED = CedSettings(hidden=16, updates=20)
QUICK_ERD = ErdSettings(hidden=16, detector_updates=20, turns=2, steps=300, readers=4, observe=100)
QUICK = [(ced, QUICK_CED), (erd, QUICK_ERD)]
each = pytest.mark.parametrize(("train", "quick"), QUICK, ids=["ced", "erd"])


class Planted:
    """An encoder whose vectors are known: one of a word's own for every text, the same for the same text."""

    dimensions = 16

    def __init__(self, held=True):
        self.held = held
        self.asked_in = []

    def __call__(self, texts):
        self.asked_in.append(threading.current_thread())
        self.held = True
        rows = []
        for text in texts:
            noise = np.random.default_rng(int(hashlib.sha256(text.encode()).hexdigest()[:8], 16))
            row = noise.normal(size=self.dimensions)
            rows.append(row / np.linalg.norm(row))
        return np.array(rows, dtype=np.float32)

    async def ready(self, texts):
        if not self.held:
            await asyncio.to_thread(self, texts)


def told(label, name, at=3, posts=7):
    """A thread whose post `at` (from 1) is the first to tell the label; before it all threads read alike."""
    texts = [f"filler {i}" if i < at else f"it is {label}" for i in range(1, posts + 1)]
    return ClaimThread(name, tuple(Post(f"{name}-{i}", text, None, "someone", None) for i, text in enumerate(texts)))


def planted(labels, n, prefix="shot", **told_options):
    """N threads, each label in turn."""
    gold = [labels[i % len(labels)] for i in range(n)]
    return [told(label, f"{prefix}{i}", **told_options) for i, label in enumerate(gold)], gold


def numbers(baseline, threads):
    """Stop probability and class probabilities after every post of every thread."""

    async def ask():
        rows = []
        for thread in threads:
            for n in range(1, len(thread.posts) + 1):
                verdict = await baseline.verifier(thread.prefix(n))
                rows.append([await baseline.policy(thread.prefix(n)), *verdict.probabilities.values()])
        return rows

    return asyncio.run(ask())


async def stops(baseline, thread):
    """After how many posts it stops, the last at the latest; and what it says there."""
    for n in range(1, len(thread.posts) + 1):
        if n == len(thread.posts) or await baseline.policy(thread.prefix(n)) >= 0.5:
            return n, (await baseline.verifier(thread.prefix(n))).label


@pytest.fixture(scope="module")
def sample():
    """Real threads, with real vectors."""
    label_set = LABEL_SETS["false/non-rumor"]
    threads = [thread for thread in load("sample", environ={}).threads if label_set.of(thread)]
    by_label = {label: [thread for thread in threads if label_set.of(thread) == label] for label in label_set.labels}
    shots = [thread for some in by_label.values() for thread in some[:6]]
    tested = [thread for some in by_label.values() for thread in some[6:8]]
    return Encoder(cache=VECTORS), shots, [label_set.of(shot) for shot in shots], tested


def test_reading_post_by_post_gives_the_state_of_reading_at_once():
    encoder, lengths = Planted(), (5, 1, 9)
    threads = [told("false", f"t{n}", posts=n) for n in lengths]
    with seeded(0):
        reader = Reader(encoder.dimensions, 8, 2)
    batch = pad(encoder, threads)
    assert batch.there.sum(1).tolist() == batch.lengths.tolist() == list(lengths)
    at_once = reader(batch.vectors)
    state_of = read_along(reader, encoder)
    for row, thread in enumerate(threads):
        for n in range(1, len(thread.posts) + 1):
            torch.testing.assert_close(state_of(thread.prefix(n)), at_once[row, n - 1])


def test_a_batch_is_no_longer_than_its_longest_thread_and_shots_are_cut():
    threads = [told("false", f"t{n}", posts=n) for n in (5, 1, 9)]
    batch = pad(Planted(), threads, longest=6)
    assert batch.lengths.tolist() == [5, 1, 6]
    some = batch.only(torch.tensor([1, 0]))
    assert some.vectors.shape == (2, 5, Planted.dimensions) and some.there.sum(1).tolist() == [1, 5]


def test_every_class_weighs_the_same():
    gold = torch.tensor([0, 0, 0, 1, 2, 2])
    weights = balanced(gold)
    assert weights.mean() == pytest.approx(1)
    assert [float(weights[gold == c].sum()) for c in range(3)] == pytest.approx([2, 2, 2])


@each
def test_real_threads_get_a_label_at_every_post_and_probabilities_that_sum_to_one(sample, train, quick):
    encoder, shots, labels, tested = sample
    baseline = train(encoder, shots, labels, 0, quick)
    assert baseline.policy.deadline is None

    async def ask():
        for thread in tested:
            for n in range(1, len(thread.posts) + 1):
                verdict = await baseline.verifier(thread.prefix(n))
                assert (verdict.outcome, verdict.probability_method) == ("verdict", "classifier")
                assert set(verdict.probabilities) == set(labels)
                assert sum(verdict.probabilities.values()) == pytest.approx(1, abs=1e-9)
                assert verdict.probabilities[verdict.label] == max(verdict.probabilities.values())
                assert 0 <= await baseline.policy(thread.prefix(n)) <= 1

    asyncio.run(ask())


@each
def test_an_answer_depends_on_the_prefix_alone(sample, train, quick):
    encoder, shots, labels, tested = sample
    asked = [thread.prefix(n) for thread in tested for n in range(1, len(thread.posts) + 1)]
    # another conversation under the same id must not be continued
    asked += [replace(tested[1], id=tested[0].id).prefix(n) for n in (2, 1)]
    shuffled = random.Random(0).sample(asked, len(asked)) + asked[::-1]

    async def answers(baseline, prefixes):
        return {
            (prefix.id, prefix.posts): (await baseline.policy(prefix), (await baseline.verifier(prefix)).probabilities)
            for prefix in prefixes
        }

    first, fresh = (train(encoder, shots, labels, 0, quick) for _ in range(2))
    in_order = asyncio.run(answers(first, asked))
    assert asyncio.run(answers(first, shuffled)) == in_order
    assert asyncio.run(answers(fresh, shuffled)) == in_order


@each
def test_training_is_decided_by_its_seed_and_leaves_the_global_generators_alone(train, quick):
    shots, labels = planted(["false", "non-rumor"], 12)

    def state():
        return torch.get_rng_state().tolist(), np.random.get_state()[1].tolist(), random.getstate()

    before = state()
    first = numbers(train(Planted(), shots, labels, 1, quick), shots)
    assert state() == before
    torch.rand(3), np.random.random(3), random.random()
    assert numbers(train(Planted(), shots, labels, 1, quick), shots) == first
    assert numbers(train(Planted(), shots, labels, 2, quick), shots) != first


@each
def test_trainings_side_by_side_do_not_draw_from_each_other(train, quick):
    shots, labels = planted(["false", "non-rumor"], 12)

    def trained(seed):
        return numbers(train(Planted(), shots, labels, seed, quick), shots)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(trained, range(4))) == [trained(seed) for seed in range(4)]


@each
def test_any_number_of_classes(train, quick):
    shots, labels = planted(["N", "T", "F", "U"], 16)
    baseline = train(Planted(), shots, labels, 0, quick)
    for _, *probabilities in numbers(baseline, shots[:4]):
        assert len(probabilities) == 4 and sum(probabilities) == pytest.approx(1)


@each
def test_one_class_is_refused(train, quick):
    shots, _ = planted(["false"], 4)
    with pytest.raises(UsageError, match="--shots"):
        train(Planted(), shots, ["false"] * 4, 0, quick)


@each
async def test_a_text_never_seen_is_encoded_off_the_event_loop(train, quick):
    encoder = Planted()
    shots, labels = planted(["false", "non-rumor"], 4)
    baseline = await asyncio.to_thread(train, encoder, shots, labels, 0, quick)
    for ask in (baseline.policy, baseline.verifier):
        encoder.held, encoder.asked_in = False, []
        await ask(told("false", "new"))
        assert encoder.asked_in[0] is not threading.main_thread()


async def test_ced_finds_the_post_that_tells():
    shots, labels = planted(["false", "non-rumor"], 20)
    baseline = ced(Planted(), shots, labels, 0, CedSettings(hidden=32))
    tested, gold = planted(["false", "non-rumor"], 6, "new", at=3, posts=9)
    for thread, label in zip(tested, gold, strict=True):
        n, said = await stops(baseline, thread)
        assert 3 <= n < 9 and said == label


async def test_three_classes_are_told_apart():
    shots, labels = planted(["true", "false", "non-rumor"], 21)
    baseline = ced(Planted(), shots, labels, 0, CedSettings(hidden=32))
    assert [(await stops(baseline, thread))[1] for thread in shots[:3]] == labels[:3]


def test_ced_stops_earlier_with_a_lower_threshold(sample):
    encoder, shots, labels, tested = sample

    async def posts_read(threshold):
        baseline = ced(encoder, shots, labels, 0, CedSettings(hidden=32, updates=60, threshold=threshold))
        return sum([(await stops(baseline, thread))[0] for thread in shots + tested])

    everything = sum(len(thread.posts) for thread in shots + tested)
    low, middle, high = (asyncio.run(posts_read(threshold)) for threshold in (0.5, 0.8, 0.9999))
    assert len(shots + tested) == low < middle < high == everything


@pytest.mark.parametrize("threshold", [0.0, 1.0, -1.0, float("nan")])
def test_a_threshold_is_a_probability(threshold):
    shots, labels = planted(["false", "non-rumor"], 4)
    with pytest.raises(UsageError, match="ced:"):
        ced(Planted(), shots, labels, 0, CedSettings(threshold=threshold))


def log_p(*rows):
    """Log-probabilities of two classes, given the first's after each post of each thread."""
    p = torch.tensor(rows, dtype=torch.float64)
    return torch.stack([p, 1 - p], dim=2).log()


def test_the_credible_point_is_the_first_above_the_threshold_or_the_last():
    there = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 0]]).bool()
    rows = log_p([0.5, 0.95, 0.5, 0.5], [0.5, 0.05, 0.9, 0.99], [0.6, 0.7, 0.99, 0.99])
    from_point = from_credible_point(rows, there, 0.9)
    assert from_point.int().tolist() == [[0, 1, 1, 1], [0, 1, 1, 0], [0, 1, 0, 0]]


def test_ced_loss_by_hand():
    # the first thread's point is its second post, whose class is wrong; its last post is not there
    rows = log_p([0.5, 0.95, 0.6, 0.5], [0.6, 0.6, 0.6, 0.7])
    there = torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1]]).bool()
    first, second = loss(rows, there, torch.tensor([1, 0]), threshold=0.9, difference=0.5).tolist()

    def post(p):
        return -math.log(p) + 0.5 * max(0, math.log(0.9) - math.log(p))

    assert first == pytest.approx((post(0.05) + post(0.4)) / 2)
    assert second == pytest.approx(post(0.7))
    sure = loss(log_p([0.95]), torch.tensor([[True]]), torch.tensor([0]), threshold=0.9, difference=0.5)
    assert sure.item() == pytest.approx(-math.log(0.95))


def test_erd_reward():
    settings = ErdSettings(penalty=100, waiting=0.01)
    assert reward(False, True, 7, settings) == reward(False, False, 7, settings) == -0.01
    assert reward(True, False, 7, settings) == -100
    assert reward(True, True, 1, settings) == 0
    assert reward(True, True, 7, settings) == pytest.approx(math.log(7))


def world():
    """Two shots: the RDM is wrong at the first post of the first, and right at both of the second."""
    states = [np.full((n, 4), n / 10, dtype=np.float32) for n in (3, 2)]
    return World(states, [np.array([False, True, True]), np.array([True, True])])


def test_erd_env_keeps_to_the_api_of_gymnasium():
    gymnasium.utils.env_checker.check_env(CheckpointEnv(world(), ErdSettings()), skip_render_check=True)
    stable_baselines3.common.env_checker.check_env(CheckpointEnv(world(), ErdSettings()))


def test_erd_env_pays_for_right_stops_and_stops_at_the_last_post():
    shared, settings = world(), ErdSettings(penalty=100, waiting=0.01)
    env = CheckpointEnv(shared, settings)

    def open_shot(posts):
        while not np.allclose(env.reset()[0], posts / 10):
            pass

    def paid(action):
        _, earned, over, cut, _ = env.step(action)
        return earned * settings.penalty, over, cut

    env.reset(seed=0)
    open_shot(3)
    assert paid(STOP) == (-100, True, False) and shared.right_stops == 0
    open_shot(3)
    assert [paid(CONTINUE) for _ in range(3)] == [(-0.01, False, False)] * 2 + [(0, True, False)]
    assert shared.right_stops == 1
    open_shot(2)
    assert paid(STOP) == (pytest.approx(math.log(2)), True, False)
    # another reader counts on
    other = CheckpointEnv(shared, settings)
    other.reset()
    other.step(CONTINUE)
    other.step(STOP)
    assert shared.right_stops == 3


@pytest.mark.parametrize("seed", [0, 1])
async def test_erd_waits_for_the_post_that_tells_and_no_longer_than_waiting_is_cheap(seed):
    shots, labels = planted(["false", "non-rumor"], 20)
    tested, gold = planted(["false", "non-rumor"], 6, "new")
    settings = ErdSettings(hidden=32, l2=0.0, accurate=(1.0, 1.0), detector_updates=200, turns=1, steps=5_000)
    read = {}
    for waiting in (10.0, 0.01):
        baseline = erd(Planted(), shots, labels, seed, replace(settings, waiting=waiting))
        stopped = [await stops(baseline, thread) for thread in tested]
        assert [said for _, said in stopped] == gold
        read[waiting] = [n for n, _ in stopped]
    assert all(3 <= n <= 4 for n in read[10.0])
    assert all(n >= 3 for n in read[0.01]) and sum(read[0.01]) > sum(read[10.0])


def test_erd_stops_where_stopping_is_worth_more(monkeypatch):
    shots, labels = planted(["false", "non-rumor"], 4)
    made = []
    monkeypatch.setattr("training.erd._checkpoint", lambda *args: made.append(_checkpoint(*args)) or made[-1])
    baseline = erd(Planted(), shots, labels, 0, QUICK_ERD)
    bias = made[0].q_net.q_net[-1].bias
    for worth, stop in ((10.0, True), (-10.0, False)):
        bias.data = torch.tensor([0.0, worth])
        (probability,) = [row[0] for row in numbers(baseline, [shots[0].prefix(1)])]
        assert (probability >= 0.5) is stop


def test_erd_leaves_no_folder_behind(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    shots, labels = planted(["false", "non-rumor"], 4)
    erd(Planted(), shots, labels, 0, QUICK_ERD)
    assert not list(tmp_path.iterdir())
