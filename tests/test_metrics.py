"""Metrics against scikit-learn, and what they say of abstentions, failures and classes that never occur."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

from eval import statistics
from eval.metrics import Estimate, cells, estimate, flip_rate

LABELS = ("T", "F", "U")


def rows(pairs: list[tuple[str, str | None]], **values: object) -> list[dict[str, object]]:
    """Predictions from (gold, given) pairs; None is an abstention."""
    return [
        {
            "thread_id": f"t{number}",
            "gold": gold,
            "label": label,
            "outcome": "verdict" if label else "abstained",
            "stop_index": 1,
            "n_posts": 4,
            "seconds": 0.5,
            "calls": 2,
            "tokens": 30,
        }
        | values
        for number, (gold, label) in enumerate(pairs)
    ]


def measured(*runs: list[dict[str, object]], labels: tuple[str, ...] = LABELS) -> dict[str, Estimate]:
    return estimate(runs, labels, np.random.default_rng(0))


pairs = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from((*LABELS, None))), min_size=1, max_size=40)


@settings(max_examples=60, deadline=None)
@given(pairs)
def test_equal_to_scikit_learn(some: list[tuple[str, str | None]]) -> None:
    gold = [each for each, _ in some]
    given_labels = [each or "none" for _, each in some]
    found = measured(rows(some))
    options = {"labels": LABELS, "zero_division": np.nan}
    assert found["accuracy"].value == pytest.approx(accuracy_score(gold, given_labels))
    assert found["macro_f1"].value == pytest.approx(f1_score(gold, given_labels, average="macro", **options))
    assert found["micro_f1"].value == pytest.approx(f1_score(gold, given_labels, average="micro", **options))
    for label, expected in zip(LABELS, f1_score(gold, given_labels, average=None, **options), strict=True):
        value = found[f"f1_{label}"].value
        assert value is None if np.isnan(expected) else value == pytest.approx(expected)
    assert found["coverage"].value == pytest.approx(1 - given_labels.count("none") / len(some))
    assert found["abstained"].value == given_labels.count("none")


@settings(max_examples=20, deadline=None)
@given(pairs, st.randoms())
def test_order_of_rows_does_not_matter(some: list[tuple[str, str | None]], random: "object") -> None:
    ordered = rows(some)
    shuffled = ordered.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert measured(ordered) == measured(shuffled)


def test_abstained_and_failed_are_wrong_and_counted() -> None:
    some = rows([("T", "T"), ("F", "F"), ("F", None), ("T", None)])
    some[3] |= {"outcome": "failed", "stop_index": None, "seconds": None}
    found = measured(some, labels=("T", "F"))
    assert found["accuracy"].value == 0.5
    assert found["f1_T"].value == found["f1_F"].value == pytest.approx(2 / 3)  # recall 1/2, precision 1
    assert (found["abstained"].value, found["failed"].value, found["coverage"].value) == (1, 1, 0.5)
    assert found["accuracy"].n == 4 and found["early_rate"].n == 3
    assert found["early_rate"].value == 0.25 and found["seconds_per_thread"].value == 0.5


def test_early_rate_is_a_mean_of_shares() -> None:
    some = rows([("T", "T"), ("F", "F")])
    some[0] |= {"stop_index": 1, "n_posts": 10}
    some[1] |= {"stop_index": 2, "n_posts": 2}
    assert measured(some)["early_rate"].value == pytest.approx((0.1 + 1.0) / 2)


def test_seeds_are_averaged_with_their_deviation() -> None:
    right, wrong = ("T", "T"), ("T", "F")
    found = measured(rows([right, right, right, wrong]), rows([right, right, wrong, wrong]), [])
    assert found["accuracy"].value == pytest.approx(0.625)
    assert found["accuracy"].std == pytest.approx(np.std([0.75, 0.5], ddof=1))
    assert found["accuracy"].n == 4 and found["abstained"].value == 0
    assert measured(rows([right]))["accuracy"].std is None
    assert measured([]) == {}


def test_threads_that_seeds_share_do_not_narrow_the_interval() -> None:
    """Five seeds that judge the same threads alike know no more than one."""
    rng = np.random.default_rng(3)
    some = rows([("T", "T" if rng.random() < 0.7 else "F") for _ in range(200)], seconds=None)
    one, five = measured(some), measured(*[some] * 5)
    assert one["macro_f1"].low == pytest.approx(five["macro_f1"].low, abs=0.01)
    assert one["macro_f1"].high == pytest.approx(five["macro_f1"].high, abs=0.01)
    others = [[row | {"thread_id": f"s{seed}-{row['thread_id']}"} for row in some] for seed in range(4)]
    apart = measured(some, *others)
    assert apart["macro_f1"].high - apart["macro_f1"].low < 0.6 * (one["macro_f1"].high - one["macro_f1"].low)


def test_undefined_values_are_none() -> None:
    found = measured(rows([("T", "T")], stop_index=None, seconds=None))
    assert found["f1_U"].value is None and found["f1_U"].low is None
    assert found["early_rate"] == Estimate("early_rate", None, None, None, 0)
    assert found["macro_f1"].value == 1.0


def test_stored_row() -> None:
    assert Estimate("accuracy", 0.5, 0.4, 0.6, 9, std=0.1).row("posts:1") == {
        "checkpoint": "posts:1",
        "name": "accuracy",
        "value": 0.5,
        "low": 0.4,
        "high": 0.6,
        "n": 9,
    }


def test_gold_labels_of_another_task_are_refused_and_given_ones_wrong() -> None:
    with pytest.raises(ValueError, match="thread t0: rumor is not of"):
        measured(rows([("rumor", "T")]))
    assert measured(rows([("T", "rumor"), ("T", "T")]))["accuracy"].value == 0.5


def test_cells_line_runs_up_by_thread() -> None:
    first, second = rows([("T", "T"), ("F", None)]), rows([("T", "U")])
    second[0]["thread_id"] = "t9"
    threads, lined = cells([first, second], LABELS)
    assert threads == ["t0", "t1", "t9"]
    assert lined.tolist() == [[0, 1 * 4 + 3, -1], [-1, -1, 2]]
    assert statistics.confusions(lined, 3)[0].tolist() == [[1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["T"], 0.0),
        (["T", "T", "T"], 0.0),
        (["T", "F", "T"], 1.0),
        (["T", "F", "F", "F", "F"], 0.25),
        (["T", None, "T", "T"], 2 / 3),
        ([None, None, "T"], 0.5),
    ],
)
def test_flip_rate_counts_changes_and_an_abstention_is_a_label_of_its_own(
    labels: list[str | None], expected: float
) -> None:
    assert flip_rate(labels) == pytest.approx(expected)


def test_sea_is_what_its_three_columns_say() -> None:
    some = rows([("T", "T"), ("F", "T"), ("U", None), ("F", "F")])
    for row, read, flips in zip(some, (1, 2, 4, 3), (0.0, 0.5, 0.0, 1.0), strict=True):
        row |= {"stop_index": read, "flip_rate": flips}
    found = measured(some)
    early_rate, flips, accuracy = (found[name].value for name in ("early_rate", "flip_rate", "accuracy"))
    assert (early_rate, flips, accuracy) == (0.625, 0.375, 0.5)
    assert found["sea"].value == pytest.approx(((1 - early_rate) + (1 - flips) + accuracy) / 3)
    low, high = found["sea"].low, found["sea"].high
    assert low is not None and high is not None and low < found["sea"].value < high


def test_sea_is_absent_where_no_later_labels_were_asked_for() -> None:
    assert not {"sea", "flip_rate"} & set(measured(rows([("T", "T")])))
    assert not {"sea", "flip_rate"} & set(measured(rows([("T", "T")], flip_rate=None)))


def test_a_failed_thread_has_a_sea_of_zero_and_no_flip_rate() -> None:
    some = rows([("T", "T"), ("F", None)], flip_rate=0.0)
    some[1] |= {"outcome": "failed", "stop_index": None, "flip_rate": None}
    found = measured(some)
    assert (found["flip_rate"].value, found["flip_rate"].n) == (0.0, 1)
    assert found["sea"].value == pytest.approx((0.75 + 1 + 1) / 3 / 2) and found["sea"].n == 2
