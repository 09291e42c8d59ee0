"""JSDRV's pieces: which claims and posts are drawn, what is rewarded, and what the selector makes of that."""

import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from agents.jsdrv.annotation import STANCES, VERACITIES, Annotation
from corpora.errors import UsageError
from corpora.thread import ClaimThread, Post
from training.jsdrv import preselection, rewards
from training.jsdrv.networks import opener
from training.jsdrv.selecting import _Walker
from training.jsdrv.selector import Episode, Kept, Selector, explanation_vectors
from training.jsdrv.settings import JsdrvSettings

D = 6


def embed(texts: list[str]) -> np.ndarray:
    """A vector that only the text decides."""
    return np.stack([np.random.default_rng(list(text.encode())).normal(size=D) for text in texts]).astype(np.float32)


def thread(posts: int) -> ClaimThread:
    return ClaimThread("t", tuple(Post(str(n), f"post {n}", None, "a", "0" if n else None) for n in range(posts)))


def test_posts_are_drawn_in_time_order_but_for_a_share_of_epsilon() -> None:
    first = Counter(tuple(preselection.posts(4, 2, 0.4, np.random.default_rng(seed))) for seed in range(4000))
    # next in time with 0.6 + 0.4 / (those left), any other with 0.4 / (those left)
    expected = {(0, 1): 0.7 * (0.6 + 0.4 / 3), (0, 2): 0.7 * 0.4 / 3, (1, 0): 0.1 * (0.6 + 0.4 / 3)}
    for drawn, share in expected.items():
        assert first[drawn] / 4000 == pytest.approx(share, abs=0.02), drawn
    for seed in range(50):
        drawn = preselection.posts(9, 5, 1.0, np.random.default_rng(seed))
        assert len(set(drawn)) == 5
        assert set(drawn) <= set(range(9))
    rng = np.random.default_rng(0)
    assert preselection.posts(5, 3, 0.0, rng) == [0, 1, 2]
    assert sorted(preselection.posts(5, 8, 1.0, rng)) == [0, 1, 2, 3, 4]
    assert preselection.posts(5, 0, 1.0, rng) == [0, 1, 2, 3, 4]
    assert preselection.posts(0, 3, 0.3, rng) == []


def test_claims_are_labelled_ones_but_for_a_share_of_epsilon_and_none_comes_twice() -> None:
    labelled = [sum(p < 50 for p in preselection.claims(50, 50, 20, 0.3, np.random.default_rng(s))) for s in range(300)]
    assert np.mean(labelled) == pytest.approx(14, abs=0.5)
    places = Counter(p for s in range(600) for p in preselection.claims(5, 5, 1, 0.3, np.random.default_rng(s)))
    assert all(places[p] / 600 == pytest.approx(0.14, abs=0.05) for p in range(5))
    assert all(places[p] / 600 == pytest.approx(0.06, abs=0.04) for p in range(5, 10))
    rng = np.random.default_rng(0)
    assert sorted(preselection.claims(2, 6, 8, 0.0, rng)) == list(range(8)), "the unlabelled where nothing else is left"
    assert set(preselection.claims(2, 6, 2, 0.0, rng)) == {0, 1}
    assert sorted(preselection.claims(6, 1, 7, 1.0, rng)) == list(range(7))
    every = preselection.claims(20, 20, 0, 0.3, rng)
    assert sorted(every) == list(range(40))
    assert every != list(range(40))


def test_centred_reward_says_whether_two_distributions_lean_alike() -> None:
    gold = {"T": 1.0}
    assert rewards.labelled({"N": 0.2, "T": 0.3, "F": 0.3, "U": 0.2}, gold) == 1, "more than a quarter is enough"
    assert rewards.labelled({"N": 0.9, "T": 0.1}, gold) == -1
    assert rewards.labelled(rewards.UNIFORM, gold) == 0
    assert rewards.labelled([0.25, 0.25 + 1e-12, 0.25 - 1e-12, 0.25], gold) == 0, "rounding errors are no reward"
    assert rewards.unlabelled({"S": 0.5, "C": 0.5}, {"C": 0.7, "D": 0.3}) == 1
    assert rewards.unlabelled({"S": 1.0}, {"C": 0.7, "D": 0.3}) == -1
    assert rewards.unlabelled([0.1, 0.2, 0.3, 0.4], np.full(4, 0.25)) == 0


def test_raw_reward_is_never_negative_and_nearly_always_positive() -> None:
    rng = np.random.default_rng(0)
    pairs = rng.dirichlet([0.3] * 4, size=(500, 2))
    raw = [rewards.unlabelled(one, other, "raw") for one, other in pairs]
    centred = [rewards.unlabelled(one, other) for one, other in pairs]
    assert set(raw) == {1.0}
    assert Counter(centred)[-1.0] > 100 and Counter(centred)[1.0] > 100
    assert rewards.labelled({"N": 1.0}, {"T": 1.0}, "raw") == 0


@pytest.mark.parametrize("option", ["raw", "centred"])
def test_nothing_is_paid_for_a_label_that_no_labelled_claim_of_the_epoch_has(option: str) -> None:
    training: Any = SimpleNamespace(
        settings=JsdrvSettings(reward=option), networks=lambda _: None, rng=lambda *_: None, veracities={}
    )
    walker = _Walker(training, 1, Selector(D), {"T": np.array([0.7, 0.1, 0.1, 0.1])})
    row, kept = {"id": "other", "labelled": False}, {1: Annotation("S")}
    assert walker._reward(row, kept, Annotation("T")) == 1
    assert walker._reward(row, kept, Annotation("F")) == 0


def test_an_abstention_has_no_distribution_and_a_bare_label_is_sure() -> None:
    assert rewards.distribution(Annotation(None, reason="?"), STANCES) is None
    assert rewards.distribution(Annotation("D"), STANCES).tolist() == [0, 1, 0, 0]
    said = [Annotation("S", {"S": 0.6, "C": 0.4}), Annotation(None), Annotation("C")]
    assert rewards.mean(said, STANCES).tolist() == pytest.approx([0.3, 0, 0, 0.7])
    assert rewards.mean([Annotation(None)], VERACITIES) is None


def test_states_hold_the_claim_the_mean_of_what_was_kept_and_the_explanation() -> None:
    rng = np.random.default_rng(3)
    claim, posts, explained = rng.normal(size=D), rng.normal(size=(5, D)), rng.normal(size=(5, D))
    walk = Selector(D).decide("post", claim, posts, explained, rng)
    assert walk.kept.any() and not walk.kept.all()
    for place, state in enumerate(walk.states):
        before = posts[:place][walk.kept[:place]]
        mean = before.mean(axis=0) if len(before) else np.zeros(D)
        np.testing.assert_allclose(state, np.concatenate([claim, mean, explained[place]]))
    kept = Kept(D)
    Selector(D).decide("claim", posts[:1], posts[:1], explained[:1], None, kept)
    later = Selector(D).decide("claim", posts[1:2], posts[1:2], explained[1:2], None, kept)
    np.testing.assert_allclose(later.states[0, D : 2 * D], posts[0])
    np.testing.assert_allclose(kept.mean, posts[:2].mean(axis=0))


def test_explanations_are_half_what_is_explained() -> None:
    vector = explanation_vectors(embed, ["it is true"], [Annotation("S", explanation="agrees")])[0]
    np.testing.assert_allclose(vector, embed(["it is true", "agrees"]).mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(explanation_vectors(embed, ["hm"], [Annotation("C")])[0], embed(["hm"])[0], rtol=1e-6)


def episodes(selector: Selector, n: int = 4) -> list[Episode]:
    rng = np.random.default_rng(5)
    found = []
    for reward in (1.0, -1.0, 0.0, 1.0)[:n]:
        claim, posts = rng.normal(size=(1, D)), rng.normal(size=(int(rng.integers(1, 5)), D))
        decided = selector.decide("claim", claim, claim, rng.normal(size=(1, D)), rng)
        found.append(
            Episode(reward, decided, selector.decide("post", claim[0], posts, rng.normal(size=posts.shape), rng))
        )
    return found


@pytest.mark.parametrize("baseline", ["none", "leave-one-out", "moving"])
def test_gradient_and_steps_are_the_printed_formula_by_torch(baseline: str) -> None:
    import torch

    selector = Selector(D, learning_rate=0.01, warm_up=0.5, steps=4, baseline=baseline)
    names = [f"{level}.{part}" for level in ("post", "claim") for part in ("weight", "bias")]
    weights = {name: torch.zeros(3 * D if "weight" in name else 1, dtype=torch.float64) for name in names}
    for tensor in weights.values():
        tensor.requires_grad_()
    adam = torch.optim.Adam(weights.values(), lr=0.01)
    moving = []
    for step in range(3):
        batch = episodes(selector)
        value = torch.zeros((), dtype=torch.float64)
        for place, episode in enumerate(batch):
            others = [each.reward for n, each in enumerate(batch) if n != place]
            weighted = [0.1 * 0.9 ** (len(moving) - 1 - n) * reward for n, reward in enumerate(moving)]
            compared = {
                "none": 0.0,
                "leave-one-out": sum(others) / 3,
                "moving": sum(weighted) / (1 - 0.9 ** len(moving)) if moving else 0.0,
            }[baseline]
            for level, walk in (("claim", episode.claim), ("post", episode.posts)):
                logits = torch.from_numpy(walk.states) @ weights[f"{level}.weight"] + weights[f"{level}.bias"]
                taken = torch.distributions.Bernoulli(logits=logits).log_prob(torch.from_numpy(walk.kept).double())
                value = value + (episode.reward - compared) * taken.mean() / len(batch)
        adam.zero_grad()
        (-value).backward()
        gradient = selector.gradient(batch)
        for level in ("post", "claim"):
            printed = -torch.cat([weights[f"{level}.weight"].grad, weights[f"{level}.bias"].grad])
            np.testing.assert_allclose(gradient[level], printed.numpy(), atol=1e-12)
        adam.param_groups[0]["lr"] = 0.01 * min(1.0, (step + 1) / 2)  # grows over half of four steps
        adam.step()
        selector.learn(batch)
        moving += [each.reward for each in batch]
        states = np.concatenate([each.posts.states for each in batch])
        ours = selector.decide("post", states[0, :D], states[:, :D] * 0, states[:, 2 * D :], None).probabilities
        weight = weights["post.weight"].detach().numpy()
        theirs = states[0, :D] @ weight[:D] + states[:, 2 * D :] @ weight[2 * D :] + weights["post.bias"].item()
        np.testing.assert_allclose(ours, 1 / (1 + np.exp(-theirs)), atol=1e-9)


def test_decisions_that_were_not_asked_for_teach_nothing() -> None:
    selector = Selector(D, baseline="none")
    (episode,) = episodes(selector, 1)
    assert not selector.gradient([Episode(1.0, None, episode.posts)])["claim"].any()
    assert not selector.gradient([Episode(1.0, episode.claim, None)])["post"].any()
    assert not selector.gradient([Episode(0.0, episode.claim, episode.posts)])["post"].any()


def test_selector_learns_to_keep_the_kind_of_post_that_is_rewarded() -> None:
    rng = np.random.default_rng(0)
    selector = Selector(D, learning_rate=0.02, steps=100)
    good, bad = embed(["they cite a source"])[0], embed(["they only joke"])[0]

    def batch(rng: np.random.Generator | None) -> list[Episode]:
        found = []
        for _ in range(4):
            kind = good if draws.random() < 0.5 else bad
            claim, posts = draws.normal(size=D), draws.normal(size=(3, D)) * 0.3
            walk = selector.decide("post", claim, posts, np.tile(kind, (3, 1)), rng)
            # +1 where a claim kept what it should, or left out what it should not keep, mostly
            share = walk.kept.mean() if kind is good else 1 - walk.kept.mean()
            found.append(Episode(1.0 if share > 0.5 else -1.0, None, walk))
        return found

    draws = np.random.default_rng(1)
    before = np.mean([each.reward for _ in range(25) for each in batch(rng)])
    for _ in range(100):
        selector.learn(batch(rng))
    after = [each for _ in range(25) for each in batch(None)]
    assert abs(before) < 0.4
    assert np.mean([each.reward for each in after]) > 0.95


def test_a_saved_selector_goes_on_as_if_it_had_not_been_saved(tmp_path: Path) -> None:
    def new() -> Selector:
        return Selector(D, learning_rate=0.01, steps=8, baseline="moving")

    one = new()
    for _ in range(3):
        one.learn(episodes(one))
    one.save(tmp_path / "selector.safetensors")
    other = new().load(tmp_path / "selector.safetensors")
    for each in (one, other):
        for _ in range(3):
            each.learn(episodes(each))
        each.save(tmp_path / f"{each is one}")
    assert (tmp_path / "True").read_bytes() == (tmp_path / "False").read_bytes()
    with pytest.raises(UsageError, match="not of 7 dimensions"):
        Selector(D + 1).load(tmp_path / "selector.safetensors")
    with pytest.raises(UsageError, match="no selector"):
        Selector(D).load(tmp_path / "nothing")
    one._weights["post"][0] = float("nan")
    one.save(tmp_path / "selector.safetensors")
    with pytest.raises(UsageError, match="no numbers"):
        Selector(D).load(tmp_path / "selector.safetensors")


def test_at_inference_what_is_more_likely_kept_is_kept_and_abstentions_never() -> None:
    said = {2: Annotation("S"), 1: Annotation(None, reason="?"), 3: Annotation("D", explanation="no")}
    selector = Selector(D)
    assert selector.retain(embed, thread(4), said) == [2, 3], "an untrained selector keeps all that has a stance"
    assert selector.retain(embed, thread(4), {1: said[1]}) == []
    selector._weights["post"][-1] = -1e-3
    assert selector.retain(embed, thread(4), said) == []


def test_a_claim_of_eight_posts_costs_about_a_millisecond() -> None:
    rng = np.random.default_rng(0)
    selector, d = Selector(384), 384
    claim, posts, explained = rng.normal(size=d), rng.normal(size=(8, d)), rng.normal(size=(8, d))
    spent = []
    for _ in range(20):
        begun = time.perf_counter()
        selector.learn([Episode(1.0, None, selector.decide("post", claim, posts, explained, rng))])
        spent.append(time.perf_counter() - begun)
    assert min(spent) < 0.005


def test_networks_of_no_known_kind_are_refused() -> None:
    for kind in ("bert", "openai:", "hf", "encoder:"):
        with pytest.raises(UsageError, match="there are no networks"):
            opener(kind)
