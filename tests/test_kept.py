"""`eval.kept` on folders of trainings written by hand."""

import json
import re
import struct
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpora.catalog import load
from eval import kept
from eval.kept import Post
from eval.kept_measures import auc, measure
from tests.made_up import own_cache

STANCES = "SDQC"


def write_training(folder: Path, epochs: int = 2, claims: int = 12, dataset: str | None = "sample") -> Path:
    """A training on the bundled corpus that kept what denies or asks, mostly."""
    threads = [thread for thread in load("sample", environ={}).threads if thread.language == "en"][:claims]
    rng = np.random.default_rng(0)
    place = folder / "training"
    for epoch in range(1, epochs + 1):
        annotations, selection = [], []
        for thread in threads:
            posts: list[dict[str, Any]] = []
            chosen = []
            for number, post in list(enumerate(thread.posts))[1:7]:
                label = STANCES[int(rng.integers(4))] if number != 2 else None
                odds = {name: 0.7 if name == label else 0.1 for name in STANCES} if label else None
                said = {"label": label, "probabilities": odds, "explanation": f"it {label}", "method": "classifier"}
                posts.append({"number": number, "id": post.id, "annotation": said | {"reason": None}})
                keep = label is not None and (label in "DQ") == (rng.random() < 0.9)
                chosen.append({"number": number, "id": post.id, "kept": keep, "probability": 0.6 if label else None})
            common = {"id": thread.id, "labelled": True, "veracity": {"label": "F"}}
            annotations.append(common | {"posts": posts})
            selection.append(common | {"kept": True, "reward": 1.0, "posts": chosen})
        (place / f"epoch-{epoch:03d}").mkdir(parents=True)
        (place / f"epoch-{epoch:03d}" / "annotations.json").write_text(json.dumps(annotations))
        (place / f"epoch-{epoch:03d}" / "selection.json").write_text(json.dumps({"claims": selection}))
    (place / "epoch-000").mkdir(parents=True)
    (place / "request.json").write_text(json.dumps({"dataset": dataset, "encoder": "all-MiniLM-L6-v2"}))
    return folder


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own_cache(tmp_path, monkeypatch)
    monkeypatch.setenv("COLUMNS", "120")
    write_training(tmp_path / "run")

    def vectors(posts: list[Post], encoder: str) -> Any:
        """The stance, and noise: no encoder has to be loaded."""
        assert encoder == "all-MiniLM-L6-v2"
        rng = np.random.default_rng(0)
        stances = np.eye(4)[[STANCES.index(str(post.annotation.label)) for post in posts]]
        return np.hstack([stances, rng.normal(size=(len(posts), 8)) / 5])

    monkeypatch.setattr(kept, "vectors_of", vectors)


def test_a_picture_with_numbers_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    kept.main(["run", "-o", "pictures/kept.png"])
    printed = capsys.readouterr().out
    posts = kept.read_posts(Path("run"), 2, "sample", None)
    assert len(posts) > 40
    assert None not in {post.annotation.label for post in posts}  # of those that abstained nothing was decided
    for stance in (*STANCES, "all"):
        rows = [post for post in posts if stance in ("all", post.annotation.label)]
        chosen = sum(post.kept for post in rows)
        shown = re.search(rf"^{stance} +(\d+) +(\d+) +([\d.]+) ", printed, re.M)
        assert shown and (int(shown[1]), int(shown[2])) == (len(rows), chosen)
        assert float(shown[3]) == pytest.approx(chosen / len(rows), abs=0.001)
    assert "right, kept" in printed  # the bundled corpus has stances
    areas = [float(value) for value in re.findall(r"(\d\.\d+) \[\d\.\d+, \d\.\d+\]", printed)]
    assert len(areas) == 2
    assert min(areas) > 0.7
    assert "median 0.600, nine tenths in 0.600–0.600" in printed
    png = Path("pictures/kept.png").read_bytes()
    assert struct.unpack(">II", png[16:24])[0] == 2100
    assert len(png) > 20_000
    words = " ".join(re.findall(r"<!-- (.*?) -->", Path("pictures/kept.svg").read_text("utf-8"), re.S))
    assert ET.parse("pictures/kept.svg").getroot().tag.endswith("svg")
    for word in ("run, epoch 2", "by what the selector did", "by the stance that SD gave", "D denies", "discarded"):
        assert word in words


def test_another_epoch_and_fewer_posts(capsys: pytest.CaptureFixture[str]) -> None:
    kept.main(["run", "--epoch", "1", "--limit", "20"])
    printed = capsys.readouterr().out
    assert "epoch 1: 20 posts" in printed
    assert re.search(r"20 of \d+ posts, drawn at random", printed)
    assert Path("kept.png").exists() and Path("kept.svg").exists()


def test_auc_tells_a_choice_from_chance_on_claims_not_seen() -> None:
    rng = np.random.default_rng(0)
    features, claims = rng.normal(size=(400, 5)), np.repeat(np.arange(80), 5)
    chosen = auc(features, features[:, 0] > 0, claims)
    chance = auc(features, rng.random(400) < 0.5, claims)
    assert chosen and chosen.value > 0.95
    assert chance and chance.low is not None and chance.high is not None
    assert chance.low < 0.5 < chance.high
    # what is of a claim only cannot be learned from other claims
    own = np.eye(80)[claims]
    of_claims = auc(own, (claims % 2).astype(bool), claims)
    assert of_claims and of_claims.value < 0.6
    assert auc(features, np.ones(400, dtype=bool), claims) is None
    assert auc(features, features[:, 0] > 0, np.zeros(400, dtype=np.int64)) is None


def test_a_selector_that_was_not_asked_has_no_probabilities() -> None:
    posts = kept.read_posts(Path("run"), 2, "sample", None)
    silent = [Post(post.claim, post.text, post.annotation, True, None, None) for post in posts]
    measures = measure(silent, np.random.default_rng(0).normal(size=(len(silent), 3)))
    assert (measures.vectors, measures.stances, measures.probability) == (None, None, None)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nowhere"], "nowhere holds no training of JSDRV"),
        (["run", "--epoch", "7"], "there are: 1, 2"),
        (["run", "--dataset", "jsonl:other.jsonl"], "--dataset names the corpus it learned from"),
        (["nameless"], "add --dataset NAME"),
        (["run", "-o", "kept.pdf"], "ends in .png"),
        (["run", "-o", "run/training/request.json/kept.png"], "-o run/training/request.json/kept.png"),
        (["run", "--limit", "3"], "too few for a picture"),
        (["run", "--limit", "0"], "--limit 0"),
        (["young"], "no epoch of young has selected anything"),
        (["damaged"], "cannot be read"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_users_mistake_is_one_line(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    write_training(Path("nameless"), 1, dataset=None)
    write_training(Path("young"), 0)
    write_training(Path("damaged"), 1)
    Path("damaged/training/epoch-001/selection.json").write_text("{")
    thread = {"id": "x", "language": "en", "rumor": "rumor", "veracity": "F"}
    other = thread | {"posts": [{"id": "x-0", "parent": None, "seconds": 0, "author": "a", "text": "well"}]}
    Path("other.jsonl").write_text(json.dumps(other) + "\n")
    with pytest.raises(SystemExit):
        kept.main(words)
    message = capsys.readouterr().err
    assert message.startswith("error: ") and message.count("\n") == 1
    assert says in message
