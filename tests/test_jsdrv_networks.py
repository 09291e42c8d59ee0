"""JSDRV's networks as runs find and open them: addresses, options, scores for a debate, damaged folders."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.call_log import CallLog
from agents.jsdrv.annotation import Annotation
from agents.models import ModelSettings
from corpora.errors import UsageError
from corpora.labels import LABEL_SETS
from corpora.thread import ClaimThread, Post
from eval.command_line import read_config
from eval.dry_run import dry_run
from eval.planning import make_plan
from eval.runner import Tools, parts_of
from graphs import saved_networks
from graphs.jsdrv import networks
from graphs.parts import Parts
from tests.made_up import own_cache
from tests.test_stance_scorer import put_p_stance
from training.jsdrv.networks import open_networks
from training.jsdrv.selector import FILE, Selector
from training.jsdrv.settings import JsdrvSettings

PARTS = Parts(LABEL_SETS["veracity"])
TWEET = "The senator has never told anyone how all of this will be paid for"


def talk(name: str, *texts: str) -> ClaimThread:
    posts = [Post(f"{name}{n}", text, None, "a", f"{name}0" if n else None) for n, text in enumerate(texts)]
    return ClaimThread(name, tuple(posts))


def folder_of(path: Path, **about: Any) -> Path:
    """A folder that looks like trained networks."""
    (path / "networks").mkdir(parents=True, exist_ok=True)
    (path / "networks" / "networks.json").write_text("{}")
    shown = {"threads_seen": [], "network": "encoder", "dimensions": 4, "settings": {}} | about
    (path / "about.json").write_text(json.dumps(shown))
    return path


def test_networks_that_learned_what_is_tested_are_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_cache(tmp_path, monkeypatch)
    put_p_stance(tmp_path, [(TWEET, "AGAINST"), ("Nobody else has ever worked as hard for this country", "FAVOR")])
    parts = replace(PARTS, shots=[talk("seed", "the dam broke")], data_dir=tmp_path)
    elsewhere = replace(parts, tested=[talk("x", "a bridge that nobody has heard of fell into a river")])
    there = replace(parts, tested=[talk("train-somebody-1", "Somebody deserves to be president.", TWEET)])
    assert networks._origin(elsewhere)["stances_left_out"] == [], "as in addresses of before"
    assert networks.folder(elsewhere) == networks.folder(parts) != networks.folder(there)
    bundled = JsdrvSettings(stances="sample")
    without = [networks.folder(replace(each, jsdrv=bundled)) for each in (elsewhere, there)]
    assert without[0] == without[1], "nothing is learned from P-Stance"


async def test_a_label_without_probabilities_is_a_score_and_an_abstention_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Said:
        async def stances(self, *_: Any) -> list[Annotation]:
            odds = {"S": 0.6, "D": 0.2, "Q": 0.1, "C": 0.1}
            return [Annotation("D"), Annotation("S"), Annotation("Q"), Annotation("S", odds), Annotation(None)]

    monkeypatch.setattr(networks, "open_folder", lambda *_: (Said(), None, None))
    scores = await networks.scorer_of(Path("x"), PARTS)(talk("t", "a", "b"), [1])
    assert scores == [-1, 1, 0, pytest.approx(0.4), None]


@pytest.mark.parametrize("about", ['{"dimensions": -5}', '{"dimensions": 10000000000000}', "[" * 100_000])
def test_what_a_folder_says_of_itself_is_checked(about: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    known = json.loads((folder / "about.json").read_text())
    (folder / "about.json").write_text(json.dumps(known | json.loads(about)) if about[0] == "{" else about)
    with pytest.raises(UsageError, match=r"about\.json"):
        saved_networks.read_about(folder)


def test_a_folder_of_another_encoder_or_of_other_dimensions_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Embed:
        name = "small"

        def __call__(self, texts: list[str]) -> np.ndarray:
            return np.zeros((len(texts), 4), np.float32)

    encoder: Any = Embed()
    parts = replace(PARTS, encoder=encoder)
    with pytest.raises(UsageError, match="trained with the encoder hf:other, not with small"):
        networks.open_folder(folder_of(tmp_path, encoder="hf:other"), parts)
    monkeypatch.setattr(networks, "open_networks", lambda *_, **__: None)
    Selector(100).save(folder_of(tmp_path, encoder="small", dimensions=100) / FILE)
    with pytest.raises(UsageError, match="not of 4 dimensions"):
        networks.open_folder(tmp_path, parts)
    Selector(4).save(folder_of(tmp_path) / FILE)
    assert isinstance(networks.open_folder(tmp_path, parts)[1], Selector)


def test_a_scorer_that_is_an_api_is_asked_with_the_options_of_the_run(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, network="openai:small")
    words = ["--method", "s2mad", "--model", "scripted:x", "--scorer-model", f"jsdrv:{folder}"]
    config = read_config([*words, "--price", "1", "2", "--max-tokens", "77"])
    plan = make_plan(config)
    chat = parts_of(plan, Tools(CallLog(), {}, None), plan.folds(0)[0], 0).chat
    assert chat is not None and (chat.price, chat.max_tokens) == ((1, 2), 77)
    with pytest.raises(UsageError, match="openai:small will be asked as a scorer"):
        dry_run(config)


def test_several_samples_are_for_networks_of_an_api(tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text("{}")
    network = f"scripted:{tmp_path / 'script.json'}"
    command = ["--method", "jsdrv", "--samples", "3", "--temperature", "0.7", "--network"]
    assert read_config([*command, network]).samples == 3
    for other in ("encoder", "hf:x"):
        with pytest.raises(UsageError, match="networks of an API"):
            read_config([*command, other])
    warm = ModelSettings("", temperature=0.7)
    opened: Any = open_networks(network, seed=0, chat=warm, samples=3)
    assert opened.networks.samples == 3
    parts = replace(PARTS, network=network, chat=warm)
    assert networks.folder(replace(parts, samples=3)) != networks.folder(parts)
