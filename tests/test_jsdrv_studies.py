"""The studies of JSDRV whole, as a user types them, with verifiers by rule in place of trained networks."""

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from agents.jsdrv.annotation import STANCES
from agents.verdict import Verdict, Verifier
from corpora.thread import ClaimThread
from eval import jsdrv_studies, jsdrv_table
from eval.command_line import read_config
from eval.published_jsdrv import ablated
from eval.study import main
from eval.study_options import read_study, rows_of
from eval.study_store import base_id
from graphs import hows
from graphs.jsdrv import networks as jsdrv_networks
from graphs.parts import Parts
from tests.made_up import own_cache, rows
from tests.test_case import write_corpus
from tests.test_study import pictures
from training.jsdrv.settings import ABLATIONS, JsdrvSettings

TESTED, TRAINED = 20, 60


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Parts]:
    """What each of JSDRV's networks that a run opens would have learned from; the loop is what makes them right."""
    parts_of: list[Parts] = []

    def jsdrv(parts: Parts) -> Verifier:
        parts_of.append(parts)
        settings = parts.jsdrv or JsdrvSettings()

        async def verify(prefix: ClaimThread) -> Verdict:
            digest = hashlib.sha256(f"{prefix.id} {settings}".encode()).digest()
            truth = "F" if int(prefix.id[1:]) % 3 == 0 else "N"
            label = truth if settings.epochs else "FN"[digest[0] % 2]
            posts = [
                {"post": post.id, "label": "SSDQC"[i % 5] if settings.epochs else STANCES[digest[i] % 4],
                 "probabilities": None, "explanation": "", "reason": None, "kept": bool(i % 2)}
                for i, post in enumerate(prefix.posts)
            ]  # fmt: skip
            return Verdict(label, {"N": 0.5, "F": 0.5}, "classifier", annotations=posts)

        return verify

    entry = replace(hows.HOW["jsdrv"], open=jsdrv, reads_vectors=False)
    monkeypatch.setitem(hows.HOW, "jsdrv", entry)
    monkeypatch.setattr(jsdrv_networks, "missing", lambda _: False)
    return parts_of


@pytest.fixture
def arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A corpus to test, which is a third of the one to train on."""
    monkeypatch.chdir(tmp_path)
    own_cache(tmp_path, monkeypatch)
    monkeypatch.setenv("COLUMNS", "140")
    write_corpus(tmp_path / "tested.jsonl", TESTED)
    write_corpus(tmp_path / "trained.jsonl", TRAINED)
    return ["--dataset", "jsonl:tested.jsonl", "--train-on", "jsonl:trained.jsonl", "--seeds", "1"]


def test_joint_gives_every_row_twice(
    arguments: list[str], opened: list[Parts], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["joint", *arguments]) == 0
    printed = capsys.readouterr().out
    found = {row["row"]: row for row in rows("SELECT * FROM studies ORDER BY position")}
    names = ["majority", "encoder, seeds only", "JSDRV (encoder)", "encoder, all labels"]
    assert list(found) == [*names, *(f"{name}, without overlap" for name in names)]
    whole, before = found["JSDRV (encoder)"], found["encoder, seeds only"]
    assert (whole["macro_f1"], whole["stance_macro_f1"], whole["stance_micro_f1"]) == (1, 1, 1)
    assert before["stance_macro_f1_low"] <= before["stance_macro_f1"] <= before["stance_macro_f1_high"] < 1
    assert set(json.loads(before["stance_f1"])) == {"S", "D", "Q", "C"}
    assert whole["micro_f1"] == 1 and whole["micro_f1_std"] is None
    # half of the claims are seeds, all others the pool; the ceiling knows all labels
    seen = {(len(parts.shots), len(parts.pool), parts.jsdrv and parts.jsdrv.supervised) for parts in opened}
    assert seen == {(30, 30, False), (60, 0, True), (20, 20, False), (40, 0, True)}
    for parts in opened:
        left_out = not {thread.id for thread in (*parts.shots, *parts.pool)} & {f"t{n}" for n in range(TESTED)}
        assert left_out == (len(parts.shots) in (20, 40))
    for words in ("veracity of claims", "stances of posts", "nothing is learned from a claim that", "network encoder"):
        assert words in printed
    assert printed.count("encoder, seeds only, without overlap") >= 2  # a row, and what JSDRV is set against
    gain = re.search(r"JSDRV \(encoder\) +encoder, seeds only +\+(\d\.\d+) ", printed)
    assert gain and float(gain[1]) == pytest.approx(1 - before["macro_f1"], abs=0.001)
    assert re.search(r"JSDRV \(encoder\) +JSDRV \(encoder\), without overlap +\+0.000 ", printed)  # no leak here
    words = pictures("joint-tested-on-jsonl-trained.jsonl")
    for word in ("overlap included", "without overlap", "micro-F1", "stances of posts", "JSDRV (encoder)"):
        assert word in words
    # made again, it runs nothing
    opened.clear()
    assert main(["joint", *arguments]) == 0
    assert capsys.readouterr().out == printed
    assert not opened
    assert len(rows("SELECT * FROM studies")) == 8


@pytest.mark.usefixtures("opened")
def test_joint_with_a_chat_model(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("script.json").write_text(json.dumps({"default": "no idea"}))
    chat = ["--model", "scripted:script.json", "--examples", "3"]
    assert main(["joint", *arguments, *chat, "--limit", "4", "--dry-run"]) == 0
    printed = capsys.readouterr()
    counts = [int(number) for number in re.findall(r"new calls (\d+)", printed.out)]
    labels = [line for line in printed.err.splitlines() if not line.startswith("Rows")]
    asks = dict(zip(labels, counts, strict=True))
    # without an example nothing is learned that could leak
    assert [name for name, count in asks.items() if count] == [
        "single-task, zero-shot", "single-task, 3 examples", "multi-task, zero-shot", "multi-task, 3 examples",
        "single-task, 3 examples, without overlap", "multi-task, 3 examples, without overlap",
    ]  # fmt: skip
    assert len(asks) == 14
    assert asks["single-task, zero-shot"] > asks["multi-task, zero-shot"] == 4
    assert not Path("hearsay.duckdb").exists()


@pytest.mark.usefixtures("opened")
def test_parts_seeds_and_epsilon_share_the_whole(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsdrv_studies, "ABLATIONS", ("RSS", "epRV"))  # two are enough
    assert main(["parts", *arguments]) == 0
    printed = capsys.readouterr().out
    found = rows("SELECT * FROM studies ORDER BY position")
    assert [row["row"] for row in found] == ["JSDRV", "w/o RSS", "w/o epRV"]
    assert len({row["config_id"] for row in found}) == 3
    for part in ("RSS", "epRV"):
        assert f"w/o {part}: {ABLATIONS[part]}" in " ".join(printed.split())
    assert "trained without threads of jsonl:tested.jsonl" in " ".join(printed.split())
    assert re.search(r"w/o RSS +JSDRV +[+-]0.000", printed)
    assert "w/o epRV" in pictures("parts-tested")
    assert main(["seeds", *arguments, "--shares", "1", "0.5", "0.5"]) == 0
    found = rows("SELECT * FROM studies WHERE study = 'seeds' ORDER BY position")
    assert [(row["system"], row["x"]) for row in found] == [
        ("JSDRV", 0.5), ("JSDRV", 1), ("seeds only", 0.5), ("seeds only", 1),
    ]  # fmt: skip
    words = pictures("seeds-tested")
    for word in ("share of training claims that are labelled", "macro-F1", "micro-F1", "seeds only"):
        assert word in words
    assert "labelled threads" not in words and "50 shots" not in words
    assert main(["epsilon", *arguments, "--epsilons", "0", "0.3"]) == 0
    found = rows("SELECT * FROM studies WHERE study = 'epsilon' ORDER BY position")
    assert [(row["row"], row["x"]) for row in found] == [("ε = 0", 0), ("ε = 0.3", 0.3)]
    assert "ε, how often chance chooses" in pictures("epsilon-tested")
    # three of the first, then three more, for the share of one half is the whole, then one
    assert len(rows("SELECT * FROM runs")) == 7
    assert capsys.readouterr().out.count("differences in macro-F1") == 2
    assert main(["epsilon", *arguments, "--epsilons", "0.3", "--with-overlap", "--task", "stance"]) == 0
    printed = capsys.readouterr().out
    assert "stances of posts" in printed and "veracity of claims" not in printed
    assert "differences" not in printed
    assert "veracity of claims" not in pictures("epsilon-tested-on-jsonl-trained.jsonl-with-overlap")


def test_a_corpus_that_is_trained_on_itself_has_no_overlap(arguments: list[str]) -> None:
    for words in (["--train-on", "jsonl:tested.jsonl"], ["--split", "official"]):
        options, base = read_study(["joint", *arguments[:2], *words])
        assert [row.group for row in rows_of(options, base)] == [""] * 4
    options, base = read_study(["parts", *arguments])
    assert {row.config.exclude_overlap for row in rows_of(options, base)} == {"jsonl:tested.jsonl"}
    options, base = read_study(["parts", *arguments, "--with-overlap"])
    assert {row.config.exclude_overlap for row in rows_of(options, base)} == {None}
    assert read_study(["joint", "--dataset", "sample"])[1].train_on == "pheme"


def test_the_base_is_the_papers_and_options_go_before_it() -> None:
    base = read_config(
        ["--method=jsdrv", "--dataset=rumoreval-s", "--train-on=pheme", "--jsdrv", "epochs=2", "posts=4"]
    )
    assert (base.when, base.task, base.labels, base.seeds_share, base.holdout) == (
        "all-posts",
        "joint",
        "veracity",
        0.5,
        0.2,
    )
    by_name = {row.label: row.config for row in jsdrv_studies.joint(base)}
    assert by_name["encoder, seeds only"].jsdrv == ("posts=4", "epochs=0")
    assert by_name["JSDRV (encoder)"] == base
    assert by_name["encoder, all labels, without overlap"].exclude_overlap == "rumoreval-s"
    assert by_name["encoder, all labels"].seeds_share == 1
    named = {
        row.label: row.config for row in jsdrv_studies.joint(replace(base, network="openai:x", base_url="http://x"))
    }
    assert named["JSDRV (openai:x)"].base_url == "http://x"
    assert named["JSDRV (encoder)"] == base  # the networks are the same, wherever a server is
    assert "ablate=RSS" in jsdrv_studies.parts(base)[1].config.jsdrv
    (paper,) = [row for row in jsdrv_studies.epsilon(base, jsdrv_studies.EPSILONS) if row.x == 0.3]
    assert paper.config == base
    ids = {base_id("joint", "x", 1, jsdrv_studies.joint(base, model)) for model in (None, "a", "b")}
    assert len(ids) == 3


def test_the_papers_figures_stand_where_they_belong() -> None:
    config = {"train_on": "pheme", "jsdrv": ["ablate=FTSD"], "task": "joint"}
    run = {"dataset": "rumoreval-s", "config": config}
    published = [ablated("")]
    (found,) = jsdrv_table.beside("parts", run, published)
    assert found.values["macro_f1"] == (0.790, None)
    assert found.values["stance_micro_f1"] == (0.709, None)
    assert jsdrv_table.beside("joint", run, published) == []
    assert jsdrv_table.beside("parts", run, []) == []  # nothing here is as the paper's
    assert jsdrv_table.beside("parts", run | {"dataset": "semeval8"}, published) == []
    assert jsdrv_table.beside("parts", run | {"config": config | {"train_on": "twitter15"}}, published) == []
    # figures of one system are one row, whatever tables they are from
    one = replace(ablated(""), source="JSDRV, Table 1", system="A", values={"stance_macro_f1": (0.1, None)})
    other = replace(one, source="JSDRV, Table 2", values={"macro_f1": (0.2, None)})
    (row,) = jsdrv_table.beneath([[one, other], [one, other]], [])
    assert (row.source, set(row.values)) == ("JSDRV, Tables 1 and 2", {"macro_f1", "stance_macro_f1"})
    assert jsdrv_table.beneath([[one]], [one]) == []


@pytest.mark.usefixtures("opened")
def test_dry_run_prints_the_rows(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["joint", *arguments, "--network", "openai:gpt-4o-mini", "--dry-run"]) == 0
    printed = capsys.readouterr()
    assert printed.out.count("threads to judge") == 8
    assert "encoder, seeds only, without overlap" in printed.err
    assert "JSDRV (openai:gpt-4o-mini): what is asked depends on what JSDRV's selector keeps" in printed.err
    assert not Path("hearsay.duckdb").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["joint", "--exclude-overlap", "sample"], "--exclude-overlap is what a study varies"),
        (["joint", "--how", "majority"], "--how is what a study varies"),
        (["joint", "--examples", "3"], "add --model"),
        (["joint", "--jsdrv", "supervised=true"], "--jsdrv supervised=true is what a study varies"),
        (["joint", "--shares", "0.5"], "--shares is an option of the study seeds"),
        (["joint", "--with-overlap"], "--with-overlap is an option of the study parts"),
        (["joint", "--shots", "5"], "use --seeds-share"),
        (["joint", "--config", "shots.toml"], "leave shots and pool out"),
        (["joint", "--model", "gpt-4o"], "openai:gpt-4o"),
        (["joint", "--seeds-share", "2"], "--seeds-share 2"),
        (["parts", "--jsdrv", "ablate=RSS"], "--jsdrv ablate=RSS is what a study varies"),
        (["parts", "--model", "openai:x"], "--model and --examples add rows to the study joint"),
        (["parts", "--with-overlap", "--exclude-overlap", "sample"], "are opposites"),
        (["seeds", "--seeds-share", "0.2"], "--seeds-share is what a study varies"),
        (["seeds", "--shares", "0", "0.5"], "--shares 0"),
        (["epsilon", "--epsilons", "1.5"], "--epsilons 1.5"),
        (["epsilon", "--jsdrv", "epsilon=0.1"], "--jsdrv epsilon=0.1 is what a study varies"),
        (["epsilon", "--network", "gpt"], "gpt"),
        (["epsilon", "--train-on", "nowhere"], "nowhere"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_users_mistake_is_one_line(
    words: list[str], says: str, arguments: list[str], capsys: pytest.CaptureFixture[str], opened: list[Parts]
) -> None:
    Path("shots.toml").write_text("shots = 5\n")
    given = arguments if "--train-on" not in words else arguments[:2]
    with pytest.raises(SystemExit) as stop:
        main([*words, *given])
    assert stop.value.code == 2
    message = capsys.readouterr().err.strip().splitlines()[-1]
    assert message.startswith("error: ")
    assert says in message
    assert not opened
    assert not Path("hearsay.duckdb").exists()
