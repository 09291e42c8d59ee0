"""`--task`: stances and veracity through the real command, from options to stored posts and the papers' rows."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from agents.models import ModelError
from agents.verdict import Verdict
from agents.verifiers.majority import majority
from corpora.errors import UsageError
from corpora.thread import ClaimThread, Gold, Post
from eval import annotations, compare, show
from eval.command_line import read_config
from eval.config import RunConfig, identity
from eval.planning import make_plan
from eval.published_jsdrv import ablated, notes, published_jsdrv
from eval.run import main
from graphs import saved_networks
from graphs.hows import HOW, check_verifier
from graphs.jsdrv import networks as jsdrv_networks
from graphs.jsdrv import verifier as jsdrv_verifier
from graphs.methods import METHODS
from tests.made_up import own_cache, rows
from training.jsdrv.settings import ABLATIONS

FLOOR = ["--how", "majority", "--seeds-share", "0.5", "--seeds", "2"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own_cache(tmp_path, monkeypatch)
    monkeypatch.setenv("COLUMNS", "180")


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    """Forty threads of three posts: half of them U, the others N; a denial in each, and a source without a stance."""
    path = tmp_path / "made-up.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for n in range(40):
            posts = [
                {"id": f"t{n}-{i}", "parent": f"t{n}-0" if i else None, "author": f"a{i}", "text": f"post {i} of {n}"}
                for i in range(3)
            ]
            for i, stance in ((1, "D"), (2, "C")):
                posts[i]["stance"] = stance
            thread = {"id": f"t{n}", "language": "en", "veracity": "NU"[n % 2], "posts": posts}
            file.write(json.dumps(thread | {"rumor": ("non-rumor", "rumor")[n % 2]}) + "\n")
    return f"jsonl:{path}"


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """A folder that looks like trained networks."""
    folder = tmp_path / "networks of mine"
    (folder / "networks").mkdir(parents=True)
    (folder / "networks" / "networks.json").write_text('{"kind": "encoder"}')
    about = {"threads_seen": ["t1", "t2", "elsewhere"], "network": "encoder", "dimensions": 384, "settings": {}}
    (folder / "about.json").write_text(json.dumps(about))
    return folder


def test_the_floor_through_the_real_command(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--dataset", corpus, "--task", "joint", *FLOOR]) == 0
    printed = capsys.readouterr().out
    assert "task joint, veracity, split few-shot, 50% of training threads labelled" in printed
    assert "stances of posts" in printed and "micro-F1" in printed.partition("stances of posts")[0]
    found = rows("SELECT * FROM annotations")
    assert len(found) == 2 * 20 * 3  # seeds, tested threads, posts
    assert {(row["gold"], row["label"]) for row in found} == {("D", "C"), ("C", "C"), (None, "C")}
    (f1,) = rows("SELECT DISTINCT name, value, n FROM metrics WHERE name = 'stance_macro_f1'")
    assert f1["value"] == pytest.approx(1 / 3)  # D 0, C 2/3; S and Q do not occur
    run = rows("SELECT * FROM runs")[0]
    capsys.readouterr()
    show.main([run["config_id"], "--json"])
    metrics = json.loads(capsys.readouterr().out)["results"][0]["metrics"]
    assert metrics["stance_n"]["value"] == 40 and metrics["micro_f1"]["value"] == 0.5
    show.main([run["config_id"], found[0]["thread_id"]])
    printed = capsys.readouterr().out
    assert "stance gold" in printed and "3 posts annotated, 1 of 2 as annotators did" in printed


def test_stances_alone_score_no_label(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--dataset", corpus, "--task", "stance", *FLOOR]) == 0
    printed = capsys.readouterr().out
    assert "accuracy" not in printed and "stances of posts" in printed
    assert {row["gold"] for row in rows("SELECT gold FROM predictions")} == {"rumor", "non-rumor"}
    names = {row["name"] for row in rows("SELECT name FROM metrics")}
    assert "stance_f1_D" in names and not names & {"macro_f1", "f1_rumor"}
    assert main(["--dataset", corpus, "--task", "joint", *FLOOR]) == 0
    (first, second) = rows("SELECT DISTINCT config_id FROM runs ORDER BY ALL")
    capsys.readouterr()
    compare.main([first["config_id"], second["config_id"]])
    printed = capsys.readouterr().out
    assert "macro-F1 of stances" in printed and "+0.000" in printed and "accuracy" not in printed
    compare.main([first["config_id"], second["config_id"], "--json"])
    (row,) = json.loads(capsys.readouterr().out)
    assert row["stances"]["macro_f1"] == 0 and row["stances"]["p_holm"] == 1 and "accuracy" not in row


def test_what_a_verifier_leaves_out_is_wrong() -> None:
    posts = tuple(Post(f"p{i}", "text", None, "a", None if i == 0 else "p0") for i in range(4))
    thread = ClaimThread("t", posts, Gold(veracity="T", stances={"p0": "S", "p1": "D", "p3": "C"}))
    given = [
        {"post": "p1", "label": "D", "probabilities": {"D": 1.0}, "explanation": "no", "reason": None, "kept": True}
    ]
    verdict = Verdict("T", annotations=given)
    found = annotations.rows_of(thread, verdict, 3, scored=True, checkpoint="posts:3")
    assert [(row["post_id"], row["gold"], row["label"], row["kept"]) for row in found] == [
        ("p0", "S", None, None), ("p1", "D", "D", True),
    ]  # fmt: skip
    assert found[0]["reason"] == annotations.NOT_ANNOTATED and found[1]["explanation"] == "no"
    assert all(row["checkpoint"] == "posts:3" for row in found)
    assert len(annotations.rows_of(thread, verdict, 3, scored=False)) == 1
    failed = annotations.rows_of(thread, Verdict.failed("the server is down"), None, scored=True)
    assert [row["post_id"] for row in failed] == ["p0", "p1", "p3"]
    assert {row["reason"] for row in failed} == {"the server is down"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--task stances --how majority", "--task stances: want stance, veracity, joint"),
        ("--task veracity --labels rumor/non-rumor", "leave one of them out"),
        ("--task joint --how encoder --when all-posts", "gives no stances"),
        ("--how jsdrv --network bert", "there are no networks bert"),
        ("--how majority --network encoder", "--network is for networks that --how jsdrv trains"),
        ("--how jsdrv --jsdrv epsilon", "want NAME=VALUE"),
        ("--how encoder --when all-posts --jsdrv epsilon=0.1", "--jsdrv is for networks"),
        ("--how majority --examples 3", "--examples are shown by"),
        ("--how multi-task --model scripted:x --split all --examples 3", "they need --shots"),
        ("--how jsdrv --when eard", "use --how jsdrv:DIR"),
        ("--how majority --seeds-share 0.5 --shots 10", "leave --shots out"),
        ("--how majority --seeds-share 1.5", "--seeds-share 1.5: want a share"),
        ("--how majority --holdout 1", "--holdout 1: want a share"),
        ("--how majority --split all", "learns from labelled threads"),
        ("--how jsdrv: --split all", "want jsdrv:\\[DIR\\]"),
        ("--how majority:x", "want majority"),
        ("--how jsdrv:nowhere --split all", "no trained networks in nowhere"),
        ("--method jsdrv --how encoder", "decides by jsdrv"),
        ("--method s2mad --model scripted:x --scorer-model jsdrv:nowhere", "no trained networks in nowhere"),
        ("--method s2mad --model scripted:x --judge-model jsdrv:nowhere", "only --scorer-model may be"),
    ],
)
def test_options_that_do_not_go_together(words: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_config(words.split())


def test_corpora_that_cannot_be_asked(corpus: str, tmp_path: Path) -> None:
    bare = tmp_path / "bare.jsonl"
    text = Path(corpus.partition(":")[2]).read_text().replace('"stance"', '"mood"')
    bare.write_text(text)
    config = read_config(["--dataset", f"jsonl:{bare}", "--task", "joint", "--how", "majority"])
    with pytest.raises(UsageError, match="has no stance labels"):
        make_plan(config)
    make_plan(replace(config, task="veracity"))


def test_options_that_are_off_leave_run_ids_as_they_were() -> None:
    new = {"task", "seeds_share", "holdout", "network", "jsdrv", "examples"}
    assert not new & set(identity(RunConfig()))
    plain = read_config(["--how", "jsdrv"])
    assert identity(plain) == identity(read_config(["--how", "jsdrv", "--network", "encoder"]))
    assert new - {"examples"} <= set(
        identity(read_config(["--method", "jsdrv", "--network", "hf:x", "--jsdrv", "epsilon=0.1"])),
    )


def test_the_published_method_and_what_goes_before_it() -> None:
    config = read_config(["--method", "jsdrv"])
    assert (config.when, config.how, config.task, config.labels) == ("all-posts", "jsdrv", "joint", "veracity")
    assert (config.seeds_share, config.holdout, config.split) == (0.5, 0.2, "few-shot")
    assert read_config(["--method", "jsdrv", "--seeds-share", "0.1", "--holdout", "0.3"]).seeds_share == 0.1
    assert read_config(["--method", "jsdrv", "--shots", "20"]).seeds_share is None
    assert set(METHODS["jsdrv"].options) <= set(RunConfig.__dataclass_fields__)
    assert read_config(["--how", "majority"]).when == "all-posts"


def test_a_folder_of_networks(corpus: str, trained: Path, tmp_path: Path) -> None:
    config = read_config(["--dataset", corpus, "--method", "jsdrv", "--how", f"jsdrv:{trained}"])
    assert config.split == "all" and config.seeds_share is None and config.embedded
    plan = make_plan(config)
    assert plan.model == "encoder" and 1 <= plan.counts["test_threads_that_the_networks_learned_from"] <= 2
    before = plan.config_id
    (trained / "training").mkdir()
    (trained / "training" / "progress.json").write_text("{}")
    assert make_plan(config).config_id == before
    (trained / "networks" / "heads.safetensors").write_bytes(b"other weights")
    assert make_plan(config).config_id != before
    (trained / "about.json").write_text('{"network": "openai:gpt-4o"}')
    with pytest.raises(UsageError, match="is not what a training of JSDRV writes"):
        make_plan(config)
    about = {"network": "openai:gpt-4o", "dimensions": 384, "settings": {}, "threads_seen": []}
    (trained / "about.json").write_text(json.dumps(about))
    assert make_plan(config).model == "openai:gpt-4o" and set(make_plan(config).prompt_sha256) >= {"stance.en"}
    (trained / "about.json").unlink()
    with pytest.raises(UsageError, match="has not ended"):
        check_verifier(f"jsdrv:{trained}")
    with pytest.raises(UsageError, match="no trained networks"):
        saved_networks.digest(tmp_path)


def test_networks_are_trained_before_anything_is_judged(corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def train(parts: Any, watcher: Any) -> None:
        watcher.advance("pre-training SD", 1, 2)
        watcher.say("kept 3 of 4")
        done.append(
            f"train {parts.seed}: {len(parts.shots)} + {len(parts.pool)}, {parts.network}, {parts.jsdrv.epsilon}"
        )

    def opened(argument: str, parts: Any) -> Any:
        async def verify(prefix: ClaimThread) -> Verdict:
            done.append("judge")
            return Verdict("U", annotations=[])

        return verify

    monkeypatch.setattr(jsdrv_networks, "missing", lambda parts: parts.seed != 1)
    monkeypatch.setattr(jsdrv_networks, "train", train)
    monkeypatch.setattr(jsdrv_verifier, "jsdrv", opened)
    monkeypatch.setitem(HOW, "jsdrv", replace(HOW["jsdrv"], reads_vectors=False))  # nothing here does
    command = ["--dataset", corpus, "--method", "jsdrv", "--jsdrv", "epsilon=0.1", "--seeds", "3"]
    assert main(command) == 0
    tested, held = rows("SELECT n_threads, corpus_counts FROM runs")[0].values()
    held = json.loads(held)["threads_held_out_for_tuning"]
    learned = (40 - held) // 2
    shots = round(learned / 2)
    assert tested == 40 - held - learned and 2 <= held <= 14
    assert done[:2] == [f"train {seed}: {shots} + {learned - shots}, encoder, 0.1" for seed in (0, 2)]
    assert done[2:] == ["judge"] * (3 * tested)
    # nothing was annotated: every post with a gold stance has a row, and none of them is right
    assert rows("SELECT count(*) AS n, count(label) AS labels FROM annotations")[0] == {"n": 6 * tested, "labels": 0}
    assert main(command) == 0
    assert len(done) == 2 + 3 * tested


def test_shares_of_what_is_learned_from(corpus: str, tmp_path: Path) -> None:
    config = read_config(["--dataset", corpus, "--task", "joint", "--how", "majority", "--seeds-share", "1"])
    (fold,) = make_plan(config).folds(0)
    assert (len(fold.shots), len(fold.pool), len(fold.test)) == (20, 0, 20)
    assert sorted(plan_veracity(fold.shots)) == ["N"] * 10 + ["U"] * 10
    other = tmp_path / "other.jsonl"
    other.write_text(
        Path(corpus.partition(":")[2]).read_text().replace('"id": "t', '"id": "x').replace(" of ", " from ")
    )
    crossed = make_plan(replace(config, train_on=f"jsonl:{other}", seeds_share=0.25, holdout=0.2))
    (fold,) = crossed.folds(0)
    assert (len(fold.shots), len(fold.pool)) == (10, 30)
    assert len(fold.test) + len(crossed.held_out) == 40
    alone = make_plan(replace(config, task="veracity", seeds_share=0.5, holdout=0.2))
    assert [thread.id for thread in alone.held_out] == [thread.id for thread in crossed.held_out]
    (fold,) = alone.folds(3)
    held = {thread.id for thread in alone.held_out}
    assert held and not held & {thread.id for thread in (*fold.shots, *fold.pool, *fold.test)}
    tuned = make_plan(replace(config, task="veracity", seeds_share=0.5, holdout=0.2, tune=True))
    (fold,) = tuned.folds(3)
    assert {thread.id for thread in (*fold.shots, *fold.pool, *fold.test)} == held
    assert [thread.id for thread in tuned.held_out] == [thread.id for thread in alone.threads]
    assert tuned.config_id != alone.config_id
    with pytest.raises(UsageError, match="add --holdout"):
        replace(config, tune=True)


def plan_veracity(threads: list[ClaimThread]) -> list[str | None]:
    return [thread.gold.veracity for thread in threads]


def test_several_corpora_are_kept_out_of_training(corpus: str) -> None:
    config = read_config(["--dataset", "sample", "--task", "joint", "--how", "majority", "--train-on", corpus])
    assert make_plan(replace(config, exclude_overlap="sample, sample")).counts["training_threads"] == 40
    with pytest.raises(UsageError, match="no corpus 'nowhere'"):
        make_plan(replace(config, exclude_overlap="sample,nowhere"))


def run_row(how: str = "jsdrv", **config: Any) -> dict[str, Any]:
    defaults = {"task": "joint", "seeds_share": 0.5, "train_on": "pheme", "holdout": 0.2, "exclude_overlap": "semeval8"}
    return {
        "dataset": "semeval8",
        "split": "cross-corpus",
        "how": how,
        "config": defaults | config,
        "corpus_counts": {"complete": 1, "training_threads": 987},
    }


@pytest.mark.parametrize(
    ("run", "systems"),
    [
        (run_row(), ["JSDRV-Bert (PH)", "TD-MIL (PH)"]),
        (run_row(network="encoder", train_on="twitter15"), ["JSDRV-Bert (T15)", "TD-MIL (PH)"]),
        (run_row(network="hf:meta-llama/Llama-2-7b-hf"), ["JSDRV (PH)", "TD-MIL (PH)"]),
        (run_row(jsdrv=["ablate=RSS"]), ["TD-MIL (PH)"]),
        (run_row(jsdrv=["epochs=3"]), ["JSDRV-Bert (PH)", "TD-MIL (PH)"]),
        (run_row(jsdrv=["epochs=0"]), ["TD-MIL (PH)"]),
        (run_row(seeds_share=1.0), ["TD-MIL (PH)"]),
        (run_row("multi-task"), ["Llama 2-MT", "TD-MIL (PH)"]),
        (run_row("single-task", examples=4), ["TD-MIL (PH)"]),
        (run_row("majority"), ["TD-MIL (PH)"]),
        (run_row(limit=10), []),
        (run_row(attack="brigade"), []),
        (run_row(task=None), []),
        (run_row() | {"split": "few-shot"}, []),
        (run_row() | {"dataset": "pheme"}, []),
        (run_row() | {"corpus_counts": {"complete": 0}}, []),
    ],
)
def test_the_papers_rows_stand_beside_their_like(run: dict[str, Any], systems: list[str]) -> None:
    found = published_jsdrv(run, "all-posts", "veracity")
    assert list(dict.fromkeys(row.system for row in found)) == systems
    assert published_jsdrv(run, "posts:5", "veracity") == []
    for task, source in (("stance", "JSDRV, Table 1"), ("veracity", "JSDRV, Table 2")):
        alone = published_jsdrv(
            run | {"config": {**run["config"], "task": run["config"]["task"] and task}}, "all-posts", "veracity"
        )
        assert {row.source for row in alone} == ({source} if systems else set())


def test_the_papers_figures_are_those_printed() -> None:
    stances, veracity = published_jsdrv(run_row(network="hf:x"), "all-posts", "veracity")[:2]
    assert stances.values["stance_macro_f1"] == (0.522, None) and stances.values["stance_f1_D"] == (0.216, None)
    assert veracity.values["macro_f1"] == (0.784, None) and "f1_N" not in veracity.values
    other = published_jsdrv(run_row() | {"dataset": "rumoreval-s"}, "posts:all", "veracity")
    assert other[1].values["f1_N"] == (0.792, None)
    assert set(ABLATIONS) == {part for part in ABLATIONS if ablated(part).values["macro_f1"][0] < 0.81}
    assert "here there are 987" in notes(run_row())[0]


def test_every_verifier_says_what_it_gives() -> None:
    assert {name for name, how in HOW.items() if how.gives_stances} == {
        "jsdrv",
        "single-task",
        "multi-task",
        "majority",
    }
    assert {name for name, how in HOW.items() if how.argument} == {"jsdrv"}


def test_failed_threads_are_tried_again_and_their_posts_not_doubled(
    corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = {"t1", "t2", "t3"}

    def opened(labels: Any, label_set: Any) -> Any:
        verifier = majority(labels, label_set)

        async def verify(prefix: ClaimThread) -> Verdict:
            if prefix.id in failing:
                raise ModelError("the server is down")
            return await verifier(prefix)

        return verify

    failed = replace(HOW["majority"], open=lambda parts: opened(parts.labels, parts.label_set))
    monkeypatch.setitem(HOW, "majority", failed)
    command = ["--dataset", corpus, "--task", "joint", "--how", "majority", "--shots", "4", "--pool", "0"]
    command += ["--seeds", "1", "--fail-on-error", "1"]
    assert main(command) == 0
    query = "SELECT thread_id, post_id, label, reason FROM annotations ORDER BY ALL"
    lost = [row for row in rows(query) if row["label"] is None]
    assert {row["thread_id"] for row in lost} <= failing and len(lost) >= 2  # the two posts with a gold stance
    assert {row["reason"] for row in lost} == {"the server is down"}
    failing.clear()
    with duckdb.connect("hearsay.duckdb") as connection:
        connection.execute("UPDATE runs SET status = 'interrupted'")
    assert main(command) == 0
    found = rows(query)
    assert len({(row["thread_id"], row["post_id"]) for row in found}) == len(found) == 36 * 3
    assert all(row["label"] == "C" for row in found)


def test_a_chat_model_is_asked_for_stances_and_veracity(corpus: str, tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text(json.dumps({"default": {"reply": "Stance: Deny. Veracity: Unverified. "}}))
    command = ["--dataset", corpus, "--task", "joint", "--how", "single-task", "--split", "all", "--limit", "6"]
    command += ["--model", f"scripted:{tmp_path / 'script.json'}", "--seeds", "1", "--temperature", "0"]
    assert main(command) == 0
    assert {row["label"] for row in rows("SELECT label FROM annotations WHERE gold IS NOT NULL")} == {"D"}
    assert rows("SELECT DISTINCT role FROM calls")
    assert set(json.loads(rows("SELECT prompts FROM runs")[0]["prompts"])) == {"stance.en", "veracity.en"}
