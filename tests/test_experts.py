import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.experts import EXPERTS, Stop, conservative, demonstrations, early_action, misleading, shuffled

LABELS = st.sampled_from(["rumor", "non-rumor", "unverified", None])
PREDICTED = st.lists(LABELS, min_size=1, max_size=30)
GOLD = st.sampled_from(["rumor", "non-rumor"])


@pytest.mark.parametrize(
    ("predicted", "ce", "eae", "me"),
    [
        ("R", 0, 0, None),
        ("N", None, None, 0),
        ("NNRR", 2, 2, None),
        ("RNRR", 2, 0, None),
        ("RRNN", None, 0, 2),
        ("NRNN", None, 1, 2),
        ("-R--", None, 1, None),  # an abstention at the end is neither right nor misled
        ("N-N", None, None, 2),  # and it breaks a run of wrong labels
        ("R-R", 2, 0, None),
        ("NU", None, None, 1),  # two wrong labels are not the same
        ("---", None, None, None),
    ],
)
def test_stops_of_the_experts(predicted: str, ce: int | None, eae: int | None, me: int | None) -> None:
    names = {"R": "rumor", "N": "non-rumor", "U": "unverified", "-": None}
    labels = [names[letter] for letter in predicted]
    assert (conservative(labels, "rumor"), early_action(labels, "rumor"), misleading(labels, "rumor")) == (ce, eae, me)


@given(PREDICTED, GOLD)
def test_experts_are_what_the_paper_says(predicted: list[str | None], gold: str) -> None:
    ce, eae, me = conservative(predicted, gold), early_action(predicted, gold), misleading(predicted, gold)
    n = len(predicted)
    # The definitions, word for word, over every place.
    stable_right = [k for k in range(n) if all(label == gold for label in predicted[k:])]
    right = [k for k in range(n) if predicted[k] == gold]
    last = predicted[-1]
    misled = [k for k in range(n) if last not in (gold, None) and all(label == last for label in predicted[k:])]
    assert ce == min(stable_right, default=None)
    assert eae == min(right, default=None)
    assert me == min(misled, default=None)
    assert ce is None or me is None
    if ce is not None:
        assert eae is not None
        assert eae <= ce


@given(st.lists(PREDICTED, min_size=1, max_size=10), st.data())
def test_demonstrations_follow_their_rules(predicted: list[list[str | None]], data: st.DataObject) -> None:
    gold = [data.draw(GOLD) for _ in predicted]
    everything = demonstrations(predicted, gold)
    for expert, find in zip(EXPERTS, (conservative, early_action, misleading), strict=True):
        stops = {stop.thread: stop.at for stop in everything[expert]}
        assert stops == {i: at for i, labels in enumerate(predicted) if (at := find(labels, gold[i])) is not None}
        assert all(stop.length == len(predicted[stop.thread]) for stop in everything[expert])
    long = demonstrations(predicted, gold, min_posts=3)
    assert all(len(predicted[stop.thread]) >= 3 for stops in long.values() for stop in stops)
    apart = demonstrations(predicted, gold, eae_only_if_apart=True)
    same = {(stop.thread, stop.at) for stop in apart["ce"]} & {(stop.thread, stop.at) for stop in apart["eae"]}
    assert not same
    cut = demonstrations(predicted, gold, states_after_stop=2)
    assert all(stop.at < stop.length <= stop.at + 3 for stops in cut.values() for stop in stops)


def test_shuffled_stops_keep_their_places_and_lose_their_threads() -> None:
    lengths = [11] * 40
    stops = [Stop(thread, thread % 11, 11) for thread in range(40)]
    dealt = shuffled({"ce": stops, "eae": [], "me": stops[:1]}, lengths, np.random.default_rng(0))
    assert sorted(stop.at for stop in dealt["ce"]) == sorted(stop.at for stop in stops)
    assert [stop.thread for stop in dealt["ce"]] == list(range(40))
    assert [stop.at for stop in dealt["ce"]] != [stop.at for stop in stops]
    assert dealt["eae"] == []
    assert dealt["me"] == stops[:1]


@given(st.lists(st.tuples(st.integers(1, 40), st.floats(0, 1)), min_size=1, max_size=20), st.integers(0, 5))
def test_shuffled_stops_stay_inside_their_threads(threads: list[tuple[int, float]], seed: int) -> None:
    lengths = [n for n, _ in threads]
    stops = [Stop(i, int(share * (n - 1)), n) for i, (n, share) in enumerate(threads)]
    dealt = shuffled({"ce": stops, "eae": [], "me": []}, lengths, np.random.default_rng(seed))
    assert all(0 <= stop.at < stop.length == lengths[stop.thread] for stop in dealt["ce"])
