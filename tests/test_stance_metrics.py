"""Stances of posts: F1 against scikit-learn, intervals over threads and not over posts, and what abstentions cost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from eval.metrics import Estimate
from eval.stance_metrics import NAMES, counts, estimate, is_of_stances, paired_difference

STANCES = ("S", "D", "Q", "C")
Row = dict[str, object]


def rows(posts: list[tuple[str, str | None, str | None]], kept: bool | None = None) -> list[Row]:
    """Annotations from (thread, gold, given)."""
    return [
        {"thread_id": thread, "post_id": f"p{number}", "gold": gold, "label": label, "kept": kept}
        for number, (thread, gold, label) in enumerate(posts)
    ]


def measured(*runs: list[Row], draws: int = 500) -> dict[str, Estimate]:
    return estimate(runs, np.random.default_rng(0), draws)


some_posts = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(STANCES), st.sampled_from((*STANCES, None))),
    min_size=1,
    max_size=40,
)


@settings(max_examples=25, deadline=None)
@given(some_posts)
def test_equal_to_scikit_learn(posts: list[tuple[str, str, str | None]]) -> None:
    gold, labels = [each for _, each, _ in posts], [each or "none" for _, _, each in posts]
    found = measured(rows(list(posts)), draws=5)
    options = {"labels": STANCES, "zero_division": np.nan}
    assert found["stance_macro_f1"].value == pytest.approx(f1_score(gold, labels, average="macro", **options))
    assert found["stance_micro_f1"].value == pytest.approx(f1_score(gold, labels, average="micro", **options))
    for label, expected in zip(STANCES, f1_score(gold, labels, average=None, **options), strict=True):
        value = found[f"stance_f1_{label}"].value
        assert value is None if np.isnan(expected) else value == pytest.approx(expected)
    assert found["stance_n"].value == found["stance_n"].n == len(posts)
    assert found["stance_abstained"].value == labels.count("none")
    assert set(found) <= set(NAMES) and all(map(is_of_stances, found))


def test_posts_without_a_gold_stance_are_not_measured() -> None:
    known = rows([("a", "S", "S"), ("a", "D", "C"), ("b", "C", "C")])
    more = [*known, *rows([("c", None, "Q"), ("b", None, None)])]
    assert measured(known) == measured([*known]) and measured(more)["stance_n"].value == 3
    assert measured(more)["stance_macro_f1"].value == measured(known)["stance_macro_f1"].value
    assert measured(rows([("a", None, "S")])) == {} and measured([]) == {}


def test_threads_are_drawn_whole() -> None:
    """One big thread that is all wrong: drawing posts would all but ignore which thread they are of."""
    big, small = [("big", "C", "S")] * 50, [(f"t{i}", "C", "C") for i in range(5)]
    found = measured(rows([*big, *small]))["stance_micro_f1"]
    assert found.value == pytest.approx(5 / 55)
    assert found.low is not None and found.high is not None
    assert found.low < 0.05 and found.high == 1.0  # a third of the draws has no big thread, and is right everywhere


def test_seeds_are_averaged_and_their_threads_drawn_together() -> None:
    first = rows([("a", "S", "S"), ("b", "C", "C"), ("b", "C", "C")])
    second = rows([("a", "S", "C"), ("b", "C", "C"), ("b", "C", "C")])
    found = measured(first, second)["stance_micro_f1"]
    assert found.value == pytest.approx((1 + 2 / 3) / 2)
    assert found.std == pytest.approx(np.std([1, 2 / 3], ddof=1))
    assert measured(first)["stance_micro_f1"].std is None
    # drawing only b: both right everywhere; drawing only a: one seed right, the other not
    assert (found.low, found.high) == (0.5, 1.0)


def test_what_was_kept_is_a_share_of_what_was_looked_at() -> None:
    seen = [*rows([("a", "S", "S")] * 3, kept=True), *rows([("b", None, "S")], kept=False)]
    found = measured([*seen, *rows([("c", "C", "C")])])["kept_share"]
    assert (found.value, found.n) == (0.75, 4)
    assert "kept_share" not in measured(rows([("c", "C", "C")]))


def test_a_stance_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="X is not of"):
        counts([rows([("a", "S", "X")])])


def test_paired_difference_is_of_common_posts() -> None:
    gold = [(f"t{i}", STANCES[i % 4]) for i in range(40)]
    bad = rows([(thread, stance, "C") for thread, stance in gold])
    good = rows([(thread, stance, stance) for thread, stance in gold])
    rng = np.random.default_rng(0)
    found = paired_difference([bad], [good[:-4]], rng, draws=500)
    assert found is not None
    seeds, n, difference, low, high, p = found
    assert (seeds, n) == (1, 36)
    assert difference == pytest.approx(0.9)  # of C alone F1 is 0.4, a tenth of the macro-F1 of four
    assert low is not None and high is not None and 0.8 < low < difference < high
    assert p < 0.01
    same = paired_difference([good], [good], rng, draws=200)
    assert same is not None and same[2] == 0 and same[5] == 1.0
    # a seed of which nothing is common is left out
    assert paired_difference([good, good], [good, []], np.random.default_rng(0), draws=200) == (1, 40, *same[2:])
    assert paired_difference([bad], [rows([("other", "S", "S")])], rng) is None


def test_twenty_thousand_threads_of_one_post_are_measured_at_once() -> None:
    many = rows([(f"t{i}", STANCES[i % 2], STANCES[i % 3]) for i in range(20_000)])
    found = measured(many)["stance_micro_f1"]
    assert found.low is not None and found.high is not None
    assert found.high - found.low == pytest.approx(2 * 1.96 * np.sqrt(0.25 * 0.75 / 20_000), rel=0.6)
