"""The table: what it says, what it leaves unsaid, and that it fits."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from eval import read
from eval.database import connect
from eval.published import graph_networks, published
from eval.results import Results, clean, collect, line, order, show
from eval.store import Writer

WEIBO = {
    "dataset": "weibo-covid19",
    "split": "all",
    "when": "all-posts",
    "how": "vanilla",
    "model": "openai:gpt-3.5-turbo-0125",
}
CONFIG = {"labels": "rumor/non-rumor", "seeds": 2, "limit": None}


def judge(
    db: Path,
    seed: int = 0,
    checkpoints: tuple[str | None, ...] = (None,),
    status: str = "finished",
    threads: int = 20,
    **run: object,
) -> None:
    """Store an invented run: every third thread wrong, the last one abstained."""
    row = WEIBO | {"run_id": f"run{seed}", "config_id": "conf", "seed": seed, "n_threads": 20}
    row |= {"config": CONFIG, "corpus_counts": {"complete": 1, "threads": 20}} | run
    with Writer(db, row) as writer:
        for number in range(threads):
            gold = ("rumor", "non-rumor")[number % 2]
            other = ("rumor", "non-rumor")[1 - number % 2]
            given = None if number == 19 else other if (number + seed) % 3 == 0 else gold
            rows = [
                {
                    "thread_id": f"t{number}",
                    "checkpoint": checkpoint,
                    "gold": gold,
                    "label": given,
                    "outcome": "verdict" if given else "abstained",
                    "reason": None if given else "no label in the reply",
                    "stop_index": 1,
                    "n_posts": 5,
                    "seconds": 0.25,
                }
                for checkpoint in checkpoints
            ]
            writer.add(predictions=rows)
        if status:
            writer.finish(status)


def collected(db: Path, name: str = "conf") -> Results:
    with connect(db, read_only=True) as connection:
        return collect(connection, read.find_runs(connection, name))


def printed(report: Results, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width)
    show(report, console)
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "results.duckdb"


def test_table_over_seeds(db: Path) -> None:
    judge(db, 0)
    judge(db, 1)
    text = printed(collected(db), 200)
    assert text.startswith(
        "weibo-covid19, rumor/non-rumor, split all\nwhen all-posts, how vanilla, model openai:gpt-3.5-turbo-0125"
    )
    assert "0.625 ± 0.035" in text and "n = 20" in text and "mean ± std over 2 seeds" in text
    for head in ("macro-F1", "accuracy", "F1 rumor", "F1 non-rumor", "ER", "abstained", "failed", "seconds"):
        assert head in text
    assert "PARTIAL" not in text and "\x1b" not in text


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
@pytest.mark.parametrize("checkpoints", [(None,), ("hours:1", "hours:6", "hours:12")])
def test_table_fits_and_leaves_nothing_out(db: Path, width: int, checkpoints: tuple[str | None, ...]) -> None:
    judge(db, 0, checkpoints)
    judge(db, 1, checkpoints)
    text = printed(collected(db), width)
    assert max(map(len, text.splitlines())) <= width and "…" not in text
    for name in ("macro-F1", "accuracy", "F1 rumor", "F1 non-rumor", "ER", "abstained", "failed", "tokens"):
        assert name in text
    for checkpoint in checkpoints:
        assert (checkpoint or "all-posts") in text


def test_published_figures_stand_beside_what_they_match_only(db: Path) -> None:
    judge(db, 0)
    text = printed(collected(db), 200)
    assert "† GPT-3.5 Turbo" in text and "0.682" in text and "not measured here" in text
    assert "Qwen" not in text
    for number, change in enumerate(
        (
            {"dataset": "weibo-covid19-standin"},
            {"corpus_counts": {"complete": 0}},
            {"config": CONFIG | {"limit": 10}},
            {"config": CONFIG | {"train_on": "pheme"}},
            {"config": CONFIG | {"language": "zh"}},
            {"config": CONFIG | {"attack": "injection"}},
            {"model": "openai:gpt-4o-mini"},
            {"split": "few-shot"},
            {"how": "encoder"},
            {"when": "first-post"},
        )
    ):
        name = f"other{number}"
        judge(db, 0, **({"run_id": name, "config_id": name} | change))
        assert "†" not in printed(collected(db, name), 200)


def test_published() -> None:
    rows = published("pheme", "few-shot", "posts:1", "direct", "rumor/non-rumor")
    assert rows == published("pheme", "few-shot", "first-post", "direct", "rumor/non-rumor")
    assert {row.system: row.values["macro_f1"] for row in rows}["ChatGPT, first post"] == (0.604, 0.013)
    assert published("pheme", "few-shot", "first-post", "direct", "veracity") == []
    assert published("pheme", "few-shot", "all-posts", "direct", "rumor/non-rumor") == []
    (eard, *_) = published("beard", "few-shot", "eard", "direct", "rumor/non-rumor")
    assert eard.values == {"macro_f1": (0.546, 0.031), "early_rate": (0.493, 0.367)}
    (heard,) = published("pheme", "few-shot", "heard", "heard", "rumor/non-rumor")
    assert heard.values == {"macro_f1": (0.501, 0.038), "early_rate": (0.266, 0.006)}


@pytest.mark.parametrize(
    ("model", "systems"),
    [
        ("openai:gpt-3.5-turbo", ["GPT-3.5 Turbo", "GPT-3.5 + S2MAD"]),
        ("openai:gpt-3.5-turbo-0125", ["GPT-3.5 Turbo", "GPT-3.5 + S2MAD"]),
        ("hf:Qwen/Qwen1.5-7B-Chat", ["Qwen1.5-7b-chat", "Qwen1.5 + S2MAD"]),
        ("openai:qwen1.5-7b-chat", ["Qwen1.5-7b-chat", "Qwen1.5 + S2MAD"]),
        ("hf:Qwen/Qwen1.5-14B-Chat", []),
        ("openai:gpt-4o-mini", []),
        ("scripted:gpt-3.5-turbo", []),
    ],
)
def test_s2mads_figures_are_of_two_models(model: str, systems: list[str]) -> None:
    for dataset in ("twitter-covid19", "weibo-covid19"):
        found = [published(dataset, "all", "posts:all", how, "rumor/non-rumor", model) for how in ("vanilla", "s2mad")]
        assert [row.system for rows in found for row in rows] == systems
        for without in ("stance", "non-subjective", "subjective", "debate"):
            rows = published(dataset, "all", "all-posts", "s2mad", "rumor/non-rumor", model, without)
            assert [row.source for row in rows] == (["S2MAD, Table 2"] if "gpt-3.5-turbo" in model and systems else [])
        assert len(graph_networks(dataset, "rumor/non-rumor")) == 4
    assert published("twitter15", "all", "all-posts", "s2mad", "rumor/non-rumor", model) == []
    assert graph_networks("twitter-covid19-standin", "rumor/non-rumor") == []


@pytest.mark.parametrize(
    ("config", "systems"),
    [
        ({}, ["GPT-3.5 + S2MAD"]),
        ({"debate": {}, "scorer_model": "openai:glm-3-turbo"}, ["GPT-3.5 + S2MAD"]),
        ({"judge_model": WEIBO["model"]}, ["GPT-3.5 + S2MAD"]),
        ({"debate": {"ablate": "stance"}}, ["GPT-3.5, w/o Stance"]),
        ({"debate": {"k": 5}}, []),
        ({"debate": {"rounds": 3}}, []),
        ({"debate": {"gate": True}}, []),
        ({"debate": {"quarantine": True, "ablate": "debate"}}, []),
        ({"scorer_model": "encoder"}, []),
        ({"judge_model": "openai:gpt-4o"}, []),
        ({"debater_model": "openai:gpt-4o"}, []),
    ],
    ids=str,
)
def test_the_papers_debate_stands_beside_its_like_only(db: Path, config: dict[str, object], systems: list[str]) -> None:
    judge(db, 0, how="s2mad", config=CONFIG | config)
    assert [row.system for row in collected(db).published[None]] == systems


def test_partial_results_say_so(db: Path) -> None:
    judge(db, 0)
    text = printed(collected(db))
    assert "PARTIAL: 1 of 2 seeds finished" in text  # two were asked for
    judge(db, 1, status="interrupted", threads=7)
    report = collected(db)
    assert "PARTIAL: 1 of 2 seeds finished; seed 1: 7 of 20 threads" in printed(report)
    assert "n = 7–20" in printed(report)
    assert report.as_dict()["partial"] is True


def test_run_without_predictions(db: Path) -> None:
    judge(db, 0, threads=0, status="interrupted")
    assert "nothing judged yet" in printed(collected(db))


def test_same_digits_every_time(db: Path) -> None:
    judge(db, 0)
    assert printed(collected(db)) == printed(collected(db))


def test_json_has_what_the_table_has(db: Path) -> None:
    judge(db, 0)
    found = collected(db).as_dict()
    (result,) = found["results"]
    assert result["metrics"]["accuracy"]["value"] == pytest.approx(0.6)
    assert found["runs"] == [{"run_id": "run0", "seed": 0, "status": "finished", "judged": 20, "n_threads": 20}]
    assert [row["system"] for row in result["published"]] == ["GPT-3.5 Turbo"]


def test_labels_are_guessed_only_where_none_is_configured(db: Path) -> None:
    judge(db, 0, config={})
    assert {"f1_rumor", "f1_non-rumor"} <= set(collected(db).values[None])


def test_a_verdict_of_a_class_that_is_not_tested_is_a_false_positive_in_the_open(db: Path) -> None:
    run = WEIBO | {"run_id": "r", "config_id": "c", "seed": 0, "n_threads": 4}
    with Writer(db, run | {"config": {"labels": "veracity", "classes": ["T", "F", "U"], "seeds": 1}}) as writer:
        given = {"a": ("T", "T"), "b": ("F", "F"), "c": ("U", "N"), "d": ("U", "U")}
        common = {"outcome": "verdict", "stop_index": 1, "n_posts": 1}
        for name, (gold, label) in given.items():
            writer.add(predictions=[{"thread_id": name, "gold": gold, "label": label} | common])
        writer.finish("finished")
    values = collected(db, "r").values[None]
    assert values["macro_f1"].value == pytest.approx((1 + 1 + 2 / 3 + 0) / 4)
    assert values["micro_f1"].value == values["accuracy"].value == 0.75
    assert values["f1_N"].value == 0 and "F1 N" in printed(collected(db, "r"), 200)


def test_clean() -> None:
    assert clean("a\x1b[31mb\x00\x9b\u202ec\r\td\ne") == "a [31mb   c \td\ne"
    assert line("a\n b\x07  c") == "a b c"
    assert clean("🧑\u200d🚒 火 é") == "🧑\u200d🚒 火 é"  # joiners belong to emoji


def test_order_of_checkpoints() -> None:
    names = ["all-posts", "hours:12", "hours:1", "hours:6", "first-post"]
    assert sorted(names, key=order) == ["first-post", "hours:1", "hours:6", "hours:12", "all-posts"]
    assert sorted(["posts:all", "posts:10", "posts:1"], key=order) == ["posts:1", "posts:10", "posts:all"]
