"""The cheap scorer: what it learns, from whom, and that nobody it is tested on is among them."""

import asyncio
import hashlib
import json
import os
import threading
from pathlib import Path

import duckdb
import numpy as np
import pytest
from sklearn.metrics import f1_score

from agents.debate.stance_scorer import MOST, labelled_comments, learned_texts, stance_scorer, weights
from agents.encoder import Encoder
from corpora.catalog import load
from corpora.errors import UsageError
from corpora.locate import cache_dir
from corpora.thread import ClaimThread, Gold, Post
from eval.config import RunConfig
from eval.planning import make_plan
from eval.run import main
from eval.runner import stance_threads, texts_to_embed
from graphs.stances import found, stance_corpora, without
from tests.made_up import own_cache

SAID = {"S": "yes indeed", "D": "no never", "Q": "what now", "C": "well then"}
WORDS = [text.split()[0] for text in SAID.values()]
SCRIPTED = ["--method", "s2mad", "--model", "scripted:s.json", "--seeds", "1", "--scorer-model", "encoder"]


class Planted:
    """An encoder that hears which of four words a text begins with, and some noise."""

    def __init__(self):
        self.asked_in = []

    def __call__(self, texts):
        self.asked_in.append(threading.current_thread())
        rows = []
        for text in texts:
            noise = np.random.default_rng(int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)).normal(size=8) / 10
            rows.append(noise + np.eye(8)[WORDS.index(word) if (word := text.split()[0]) in WORDS else 7])
        return np.array(rows, dtype=np.float32)

    async def ready(self, texts):
        pass


def told(name, stances, claim=None):
    """A thread whose comments say what their stance is."""
    posts = [Post(f"{name}-0", claim or f"the claim of {name}", None, "someone", None)]
    posts += [Post(f"{name}-{i}", f"{SAID[stance]} {name} {i}", None, "x", None) for i, stance in enumerate(stances, 1)]
    gold = {post.id: stance for post, stance in zip(posts[1:], stances, strict=True)}
    return ClaimThread(name, tuple(posts), Gold(stances={f"{name}-0": "S", **gold}))


def several(n=30):
    return [told(f"t{i}", "SDQCCCSS") for i in range(n)]


def config(**more):
    given = {"dataset": "sample", "when": "all-posts", "how": "s2mad", "model": "scripted:s.json", "seeds": 1}
    return RunConfig(**{**given, "scorer_model": "encoder", "split": "events", **more})


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A machine with nothing but what is bundled."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEARSAY_DATA", raising=False)
    own_cache(tmp_path, monkeypatch)
    monkeypatch.setenv("COLUMNS", "200")
    Path("s.json").write_text(json.dumps({"default": {"reply": "I see [2]. Fake"}}))
    return tmp_path


def put_p_stance(folder, rows):
    (folder / "p-stance").mkdir(parents=True)
    lines = [f"{tweet},Somebody,{stance}" for tweet, stance in rows]
    (folder / "p-stance" / "raw_train_somebody.csv").write_text("\n".join(["Tweet,Target,Stance", *lines]))


async def test_supporters_score_above_0_deniers_below_and_the_rest_between():
    asked = told("new", "SDQCDS")
    scores = await stance_scorer(Planted(), several())(asked, range(1, 7))
    support, deny, question, comment, deny_too, support_too = scores
    assert all(-1 <= score <= 1 for score in scores)
    assert min(support, support_too) > max(question, comment) >= min(question, comment) > max(deny, deny_too)
    assert min(support, support_too) > 0.2 > max(abs(question), abs(comment)) and max(deny, deny_too) < -0.2


async def test_a_score_depends_on_the_comment_alone():
    score = stance_scorer(Planted(), several())
    thread = told("new", "SDQC")
    whole = await score(thread, [1, 2, 3, 4])
    assert await score(thread, [3, 1]) == pytest.approx([whole[2], whole[0]])
    assert await score(thread.prefix(3), [1, 2]) == pytest.approx(whole[:2])
    assert await score(thread.prefix(1), []) == []
    assert await stance_scorer(Planted(), several())(thread, [1, 2, 3, 4]) == whole


async def test_it_learns_once_when_first_asked_and_off_the_event_loop():
    encoder = Planted()
    score = stance_scorer(encoder, several())
    assert not encoder.asked_in
    await asyncio.gather(*(score(told(f"n{i}", "SD"), [1, 2]) for i in range(20)))
    elsewhere = [thread for thread in encoder.asked_in if thread is not threading.current_thread()]
    assert len(elsewhere) == 2, "comments and landmarks, once"


@pytest.mark.parametrize("stances", ["", "SSQC", "DDQC"])
def test_without_supporting_and_denying_comments_there_is_nothing_to_learn(stances):
    with pytest.raises(UsageError, match="put p-stance or semeval8 into a data folder"):
        stance_scorer(Planted(), [told("t", stances)])


def test_sources_are_no_comments():
    assert [comment.stance for comment in labelled_comments([told("t", "SDC")])] == ["S", "D", "C"]
    assert "the claim of t" not in learned_texts([told("t", "SDC")])


def test_no_claim_drowns_the_others_and_every_stance_counts_as_much():
    comments = labelled_comments([*several(10), *(told(f"p{i}", "SD"[i % 2], "one claim") for i in range(5000))])
    given = weights(comments)
    stances = np.array([comment.stance for comment in comments])
    shares = [given[stances == stance].sum() for stance in "SDQC"]
    assert shares == pytest.approx([given.sum() / 4] * 4)
    assert given.sum() == pytest.approx(10 * 8 + MOST)
    one = np.array([comment.claim == "one claim" for comment in comments])
    # Of the supporting comments, 30 count one by one, and 2,500 as much as half of MOST.
    assert given[one & (stances == "S")].sum() / shares[0] == pytest.approx((MOST / 2) / (MOST / 2 + 30))


def test_tested_threads_are_left_out_by_id_and_by_source_text():
    threads = several(3)
    republished = told("other", "S", "The claim of T1!")
    assert [thread.id for thread in without(threads, [threads[0], republished])] == ["t2"]


def test_corpora_that_are_not_here_are_passed_over(bare, monkeypatch):
    assert [corpus.name for corpus in found(os.environ)] == ["sample"]
    put_p_stance(bare / "data", [("good man", "FAVOR"), ("bad man", "AGAINST")])
    monkeypatch.setenv("HEARSAY_DATA", str(bare / "data"))
    assert [corpus.name for corpus in found(os.environ)] == ["sample", "p-stance"]
    assert len(stance_corpora(os.environ)) == 192 + 2
    assert [corpus.name for corpus in found({"XDG_CACHE_HOME": "/gone"}, bare / "data")] == ["sample", "p-stance"]


def test_a_plan_learns_from_what_is_not_tested_and_its_run_is_another_then(bare):
    put_p_stance(bare / "data", [("good man", "FAVOR"), ("bad man", "AGAINST"), ("fine", "FAVOR")])
    alone, both = make_plan(config()), make_plan(config(data_dir=bare / "data", split="all"))
    assert alone.stance_threads == []
    assert len(both.stance_threads) == both.counts["stance_comments_of_p-stance"] == 3
    assert both.counts["stance_comments_of_sample"] == 0
    assert both.counts["stance_threads_left_out_as_tested"] == 192
    assert alone.config_id != make_plan(config(data_dir=bare / "data")).config_id
    other = make_plan(config(scorer_model=None, data_dir=bare / "data"))
    assert other.stance_threads == [] and "stances" not in other.content
    assert not any("stance" in count for count in other.counts)


def test_of_the_tested_corpus_only_shots_are_learned_from(bare):
    put_p_stance(bare / "data", [("good man", "FAVOR"), ("bad man", "AGAINST")])
    plan = make_plan(config(data_dir=bare / "data", shots=20))
    for fold in plan.folds(0):
        learned = stance_threads(plan, fold)
        assert {thread.id for thread in learned[2:]} == {shot.id for shot in fold.shots} and len(learned) == 22
        assert not {thread.id for thread in learned} & {thread.id for thread in fold.test}
    texts = set(texts_to_embed(plan, plan.folds(0)))
    assert {"good man", "bad man", "This is fake."} < texts
    assert {post.text for thread in plan.threads for post in thread.posts} < texts
    assert stance_threads(make_plan(config(scorer_model=None)), fold) == []


@pytest.mark.parametrize("tune", [False, True])
def test_neither_what_is_left_for_tuning_nor_with_tune_the_rest_is_learned_from(bare, tune):
    plan = make_plan(config(shots=6, pool=2, holdout=0.2, tune=tune))
    assert plan.stance_threads == []
    assert plan.counts["stance_threads_left_out_as_tested"] == 192


def test_a_run_with_nothing_to_learn_from_does_not_begin(bare, capsys):
    with pytest.raises(SystemExit):
        main(SCRIPTED)
    assert "put p-stance or semeval8 into a data folder" in capsys.readouterr().err
    assert not Path("hearsay.duckdb").exists()


def test_a_run_scores_without_asking(bare, capsys, monkeypatch):
    command = [*SCRIPTED, "--split", "few-shot", "--shots", "15", "--limit", "4", "--language", "en"]
    with monkeypatch.context() as dry:
        dry.delattr(Encoder, "_compute")  # a dry run makes no vectors
        assert main([*command, "--dry-run"]) == 0
    assert "4 threads to judge" in capsys.readouterr().out
    assert main(command) == 0
    with duckdb.connect("hearsay.duckdb", read_only=True) as connection:
        roles = {role for (role,) in connection.execute("SELECT DISTINCT role FROM calls").fetchall()}
        debates = [json.loads(text) for (text,) in connection.execute("SELECT debate FROM predictions").fetchall()]
    assert roles == {"subjectivity", "debater_p", "debater_n"}
    assert len(debates) == 4
    for debate in debates:
        assert all(-1 <= score <= 1 for score in debate["scores"].values())
        assert all(debate["scores"][post] > 0 for post in debate["p"])
        assert all(debate["scores"][post] < 0 for post in debate["n"])


@pytest.mark.skipif("HEARSAY_DATA" not in os.environ, reason="needs $HEARSAY_DATA")
async def test_on_unseen_claims_of_rumoreval_s_it_beats_the_more_frequent_stance():
    threads = {name: load(name, environ=os.environ).threads for name in ("semeval8", "rumoreval-s")}
    tested = without(threads["rumoreval-s"], threads["semeval8"])
    learned = without(threads["semeval8"][::3], tested)  # vectors take time where none are kept
    assert len(tested) == 100
    score = stance_scorer(Encoder(cache=cache_dir(os.environ)), learned)
    gold, said = [], []
    for thread in tested:
        indices = [i for i, post in enumerate(thread.posts) if i and thread.gold.stances.get(post.id) in ("S", "D")]
        gold += [thread.gold.stances[thread.posts[index].id] == "S" for index in indices]
        said += [value > 0 for value in await score(thread, indices)]
    assert len(gold) == 411
    assert f1_score(gold, said, average="macro") > f1_score(gold, [True] * 411, average="macro") + 0.1
