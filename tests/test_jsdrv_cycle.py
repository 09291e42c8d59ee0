"""JSDRV's training: annotate, select, fine-tune, over and over, and what each of its parts does to that."""

import os
from collections.abc import Sequence
from pathlib import Path

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

import numpy as np
import pytest

from agents.jsdrv.annotation import Annotation, Kept, Trainable
from corpora.errors import UsageError
from corpora.thread import ClaimThread
from graphs.jsdrv.training import check, train
from tests.jsdrv_fake import SMALL, Fake, claims, embed, epoch, trained, tree
from training.jsdrv.selector import Selector
from training.jsdrv.settings import ABLATIONS, read_jsdrv
from training.jsdrv.validating import read_about
from training.jsdrv.watcher import Nobody


def test_a_training_does_what_the_paper_says(tmp_path: Path) -> None:
    assert isinstance(Fake(None, 0), Trainable)
    about = trained(tmp_path)
    assert [what for what, _ in Fake.taught] == [
        *("pretrain stances", "pretrain veracity"),
        *("stances", "veracity", "stances", "veracity"),
    ]
    assert len(about["validation"]) == 2 and len(about["seeds"]) == 18
    assert not set(about["validation"]) & set(about["seeds"])
    assert set(about["threads_seen"]) == {each.id for each in (*claims(20, "known"), *claims(12, "other"))} | {
        "stance0"
    }
    (_, seeds) = Fake.taught[1]
    assert [each.thread.id for each in seeds] == about["seeds"]
    assert all(each.kept == dict.fromkeys((1, 2, 3), Annotation(None)) for each in seeds)
    gold = {each.id: each.gold.veracity for each in claims(20, "known")}
    for number in (1, 2):
        rows = {row["id"]: row for row in epoch(tmp_path, number, "annotations")}
        chosen = epoch(tmp_path, number, "selection")["claims"]
        assert len(rows) == len(chosen) == 10
        assert not set(rows) & set(about["validation"])
        assert {row["reward"] for row in chosen} <= {-1.0, 0.0, 1.0}
        stances, veracities = (dict(Fake.taught[2 * number : 2 * number + 2])[kind] for kind in ("stances", "veracity"))
        kept = [row for row in chosen if row["kept"]]
        assert [each.thread.id for each in veracities] == [row["id"] for row in kept]
        for row, example in zip(kept, veracities, strict=True):
            assert "riddle" not in example.thread.source.text, "a claim that RV abstained on is never kept"
            assert example.label == gold.get(row["id"], row["veracity"]["label"])
            assert sorted(example.kept) == sorted(post["number"] for post in row["posts"] if post["kept"])
            said = {post["number"]: post["annotation"]["label"] for post in rows[row["id"]]["posts"]}
            assert {n: each.label for n, each in example.kept.items()} == {n: said[n] for n in example.kept}
            assert None not in {each.label for each in example.kept.values()}
        assert len(stances) == sum(len(each.kept) for each in veracities) > 0
        assert any(not post["kept"] for row in chosen for post in row["posts"])
    best = max(about["epochs"], key=lambda row: (row["macro_f1"], row["epoch"]))["epoch"]
    assert about["best_epoch"] == best
    assert (tmp_path / "selector.safetensors").read_bytes() == (
        tmp_path / "training" / f"epoch-{best:03d}" / "selector.safetensors"
    ).read_bytes()
    assert not list((tmp_path / "training").glob("*/networks")), "weights lie in the folder itself"


@pytest.mark.parametrize("part", ABLATIONS)
def test_an_ablation_leaves_out_just_its_part(part: str, tmp_path: Path) -> None:
    about = trained(tmp_path, f"ablate={part}", "epochs=1")
    annotated, chosen = epoch(tmp_path, 1, "annotations"), epoch(tmp_path, 1, "selection")["claims"]
    with_stance = {row["id"]: [p["number"] for p in row["posts"] if p["annotation"]["label"]] for row in annotated}
    all_posts = all([p["number"] for p in r["posts"] if p["kept"]] == with_stance[r["id"]] for r in chosen)
    all_claims = all(row["kept"] == (row["veracity"]["label"] is not None) for row in chosen)
    whole = all([post["number"] for post in row["posts"]] == [1, 2, 3, 4, 5] for row in annotated)
    taught = {what for what, _ in Fake.taught}
    every = {"pretrain stances", "pretrain veracity", "stances", "veracity"}
    assert all_posts == (part == "RSS")
    assert all_claims == (part == "RVS")
    assert whole == (part == "epSD")
    assert (len(annotated) == 30) == (part == "epRV")
    without = {"PTSD": "pretrain stances", "PTRV": "pretrain veracity", "FTSD": "stances", "FTRV": "veracity"}
    assert taught == every - {without.get(part, "")}
    assert about["settings"]["ablate"] == part
    for level, left_out in (("post", "RSS"), ("claim", "RVS")):
        fresh, after = (tmp_path / "training" / f"epoch-{n:03d}" / "selector.safetensors" for n in (0, 1))
        policies = [Selector(4).load(file)._weights[level] for file in (fresh, after)]
        assert np.array_equal(*policies) == (part == left_out)


def test_rewards_in_a_row_end_the_training(tmp_path: Path) -> None:
    about = trained(tmp_path, "kappa=4", "reward=raw", "epochs=5")
    rewards = [row["reward"] for row in epoch(tmp_path, 1, "selection")["claims"]]
    assert rewards[-4:] == [1.0] * 4
    assert len(rewards) < 10 and [1.0] * 4 not in [rewards[n : n + 4] for n in range(len(rewards) - 4)]
    assert about["ended"] == "4 selections in a row were rewarded"
    assert [row["epoch"] for row in about["epochs"]] == [0, 1]
    assert "stances" in dict(Fake.taught), "what was kept until then is still learned"


def test_rewards_are_counted_from_one_epoch_to_the_next(tmp_path: Path) -> None:
    about = trained(tmp_path, "kappa=12", "reward=raw", "epochs=5", "epsilon=0")
    known = [r["reward"] for n in (1, 2) for r in epoch(tmp_path, n, "selection")["claims"]]
    assert {1.0} == set(known[-12:])
    assert about["epochs"][-1]["epoch"] >= 2
    assert about["epochs"][-1]["streak"] == 12


def test_the_supervised_ceiling_and_no_other_learns_gold_stances(tmp_path: Path) -> None:
    for supervised in ("true", "false"):
        trained(tmp_path / supervised, f"supervised={supervised}", "epochs=1")
        said = [each.label for what, part in Fake.taught if what == "stances" for each in part if each.number in (1, 3)]
        assert (set(said) == {"Q"}) == (supervised == "true")
        pretrained = [part for what, part in Fake.taught if what == "pretrain stances"]
        assert [len(part) for part in pretrained] == ([1, 60] if supervised == "true" else [1])
    held_out = set(read_about(tmp_path / "true")["validation"])
    assert not held_out & {each.thread.id for each in pretrained[-1]}


def test_nothing_kept_is_nothing_learned_and_is_said(tmp_path: Path) -> None:
    said: list[str] = []

    class Watcher(Nobody):
        def say(self, line: str) -> None:
            said.append(line)

    class Speechless(Fake):
        async def veracity(self, thread: ClaimThread, kept: Kept) -> Annotation:
            return Annotation(None, reason="hm")

    settings = read_jsdrv((*SMALL, "epochs=1"))
    train(Speechless, claims(20, "known"), claims(12, "other"), tmp_path, settings, embed, 1, Watcher())
    assert said == [
        "SD is not pre-trained: there is no post with a stance to learn from",
        *(f"epoch 1: nothing was kept for {name} to learn from" for name in ("SD", "RV")),
    ]
    assert epoch(tmp_path, 1, "training") == {
        **{"networks": 0, "losses": {}, "vetoed": []},
        "examples": {"stances": 0, "veracity": 0},
    }
    about = check(tmp_path)
    assert (about["best_epoch"], about["epochs"][1]["macro_f1"], about["epochs"][1]["mean_reward"]) == (1, 0, 0)


def test_a_model_that_fails_at_times_is_an_abstention_and_one_that_fails_often_an_error(tmp_path: Path) -> None:
    trained(tmp_path / "whole", "epochs=1")
    drawn = [row["id"] for row in epoch(tmp_path / "whole", 1, "annotations")]
    Fake.fails = set(drawn[:1])
    try:
        trained(tmp_path / "one", "epochs=1")
        (row,) = [each for each in epoch(tmp_path / "one", 1, "annotations") if each["id"] == drawn[0]]
        assert {post["annotation"]["reason"] for post in row["posts"]} == {"could not be asked: too long"}
        assert row["veracity"]["label"] is None
        Fake.fails = set(drawn[:3])
        with pytest.raises(UsageError, match="of 3 of 10 claims"):
            trained(tmp_path / "many", "epochs=1")
        asked: list[str] = []
        original = Fake.stances

        async def count(self: Fake, thread: ClaimThread, numbers: Sequence[int]) -> list[Annotation]:
            asked.append(thread.id)
            return await original(self, thread, numbers)

        Fake.fails, Fake.stances = set(), count  # type: ignore[method-assign]
        try:
            trained(tmp_path / "many", "epochs=1")
        finally:
            Fake.stances = original  # type: ignore[method-assign]
        assert set(asked) & set(drawn) == set(drawn[:3]), "what was annotated is not annotated again"
        assert tree(tmp_path / "many") == tree(tmp_path / "whole")
    finally:
        Fake.fails = set()
