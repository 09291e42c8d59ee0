"""The encoder networks of JSDRV: what they learn, what they keep, and the proportions they are given."""

import asyncio
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from agents.encoder import Encoder
from agents.jsdrv.annotation import STANCES, VERACITIES, Annotation, StanceExample, VeracityExample
from agents.jsdrv.encoder_networks import ABOUT, FILE, SOURCE, STANCE_WORDS
from corpora.errors import UsageError
from corpora.thread import ClaimThread, Gold, Post
from tests.made_up import VECTORS
from training.jsdrv.encoder_training import EncoderTrainer
from training.jsdrv.networks import check_kind, open_networks
from training.jsdrv.proportions import KNOWN, offsets

SAID = {
    "S": ["yes, confirmed by the police", "I saw it too, it is true", "this is right, I was there"],
    "D": ["no, this is fake", "that never happened, stop lying", "debunked hours ago, it is false"],
    "Q": ["is this true?", "source? who says so?", "has anybody confirmed it?"],
    "C": ["my thoughts are with them", "what a day", "I had pancakes"],
}


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder(cache=VECTORS)


def thread(name: str, claim: str, replies: list[str]) -> ClaimThread:
    texts = [claim, *replies]
    posts = [Post(str(n), text, None, "", "0" if n else None) for n, text in enumerate(texts)]
    return ClaimThread(name, tuple(posts), Gold())


def stance_examples(labels: str = "SDQC") -> list[StanceExample]:
    found = []
    for label in labels:
        talk = thread(label, "the bridge fell", SAID[label])
        found += [StanceExample(talk, n, label) for n in (1, 2, 3)]
    return found * 8


@pytest.fixture(scope="module")
def taught(encoder: Encoder) -> EncoderTrainer:
    networks = EncoderTrainer(seed=0, encoder=encoder)
    losses = networks.pretrain_stances(stance_examples())
    assert losses[-1] < losses[0]
    return networks


def test_it_learns_stances_and_says_them_of_new_posts(taught: EncoderTrainer) -> None:
    networks = taught
    new = thread("new", "the dam broke", ["is it true? any source?", "this is fake, stop it", "confirmed, I saw it"])
    said = asyncio.run(networks.stances(new, [0, 1, 2, 3]))
    assert [each.label for each in said] == ["S", "Q", "D", "S"]
    assert said[0].probabilities == SOURCE, "the source makes the claim: what it says is not asked"
    assert said[1].explanation == STANCE_WORDS["Q"]
    assert all(sum((each.probabilities or {}).values()) == pytest.approx(1) for each in said)


def test_a_corpus_of_two_classes_teaches_nothing_of_the_others(encoder: Encoder) -> None:
    networks = EncoderTrainer(seed=0, encoder=encoder)
    before = networks.sd.head.weight.detach().clone()
    networks.pretrain_stances(stance_examples("SD"))
    moved = (networks.sd.head.weight - before).detach().abs().sum(1)
    assert moved[STANCES.index("Q")] < moved[STANCES.index("S")] / 5, "AdamW shrinks every weight a little"


def test_veracity_reads_the_claim_and_the_kept_posts(encoder: Encoder) -> None:
    networks = EncoderTrainer(seed=0, encoder=encoder)
    deny = Annotation("D", {"S": 0.0, "D": 1.0, "Q": 0.0, "C": 0.0})
    support = Annotation("S", {"S": 1.0, "D": 0.0, "Q": 0.0, "C": 0.0})
    talk = thread("t", "the bridge fell", ["no", "yes"])
    examples = [VeracityExample(talk, {1: deny}, "F"), VeracityExample(talk, {2: support}, "T")] * 40
    losses = networks.pretrain_veracity(examples)
    assert losses[-1] < losses[0] / 2
    assert asyncio.run(networks.veracity(talk, {1: deny})).label == "F"
    assert asyncio.run(networks.veracity(talk, {2: support})).label == "T"
    alone = asyncio.run(networks.veracity(talk, {})).probabilities
    assert alone is not None
    assert set(alone) == set(VERACITIES)


def test_what_is_saved_is_what_was_learned(encoder: Encoder, taught: EncoderTrainer, tmp_path: Path) -> None:
    networks = taught
    talk = thread("t", "the bridge fell", ["what a day", "fake news", "is it?"])
    networks.align([talk])
    networks.save(tmp_path / "networks")
    assert {path.suffix for path in (tmp_path / "networks").iterdir()} == {".safetensors", ".json"}
    again = open_networks("encoder", tmp_path / "networks", seed=7, encoder=encoder)
    before, after = (asyncio.run(each.stances(talk, [1, 2, 3])) for each in (networks, again))
    assert before == after
    for content in ('{"stem": 5}', '{"stem": null}', "[1]", "[" * 100_000):
        (tmp_path / "networks" / ABOUT).write_text(content)
        with pytest.raises(UsageError, match="networks"):
            open_networks("encoder", tmp_path / "networks", seed=0, encoder=encoder)
    networks.save(tmp_path / "networks")
    tensors = load_file(tmp_path / "networks" / FILE)
    save_file(tensors | {"sd.offsets": tensors["sd.offsets"] * float("nan")}, tmp_path / "networks" / FILE)
    with pytest.raises(UsageError, match="no numbers"):
        open_networks("encoder", tmp_path / "networks", seed=0, encoder=encoder)
    (tmp_path / "networks" / FILE).write_bytes(b"broken")
    with pytest.raises(UsageError, match="holds no networks"):
        open_networks("encoder", tmp_path / "networks", seed=0, encoder=encoder)


def test_two_trainings_that_begin_alike_share_their_pretraining(encoder: Encoder, tmp_path: Path) -> None:
    first, second, other = (EncoderTrainer(seed=seed, encoder=encoder, cache=tmp_path) for seed in (0, 0, 1))
    examples = stance_examples()[:12]
    losses = first.pretrain_stances(examples)
    told: list[int] = []
    assert second.pretrain_stances(examples, lambda done, _: told.append(done)) == losses
    assert told == [], "nothing is learned twice"
    assert (first.sd.head.weight == second.sd.head.weight).all()
    assert other.pretrain_stances(examples) != losses
    assert len(list(tmp_path.iterdir())) == 2


def test_offsets_bring_the_proportions_that_are_known() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(2000, 4)) * 2 + [3.0, 0.0, 0.0, 0.0]
    wanted = np.array([KNOWN[stance] for stance in STANCES])
    found = offsets(scores, wanted)
    shares = np.bincount((scores + found).argmax(1), minlength=4) / len(scores)
    assert found.mean() == pytest.approx(0)
    assert np.abs(shares - wanted).max() < 0.1
    assert np.bincount(scores.argmax(1), minlength=4)[0] / len(scores) > 0.6, "else there was nothing to put right"
    assert sum(KNOWN.values()) == pytest.approx(1)


def test_a_name_that_is_no_network_is_refused() -> None:
    assert check_kind("encoder:some/bert") == "encoder:some/bert"
    with pytest.raises(UsageError, match="choose of encoder"):
        check_kind("bert")
    with pytest.raises(UsageError, match="cannot load the encoder"):
        open_networks("encoder:/nowhere", seed=0)
