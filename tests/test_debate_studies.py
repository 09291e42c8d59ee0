"""The studies of S2MAD whole, as a user types them, with a speaker by rule in place of a chat model."""

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

from agents.models import Model, ModelSettings
from eval import comparable, debate_studies, opening, published, study_table
from eval.config import RunConfig
from eval.study import main
from tests.debate_script import Speaker, write_debates
from tests.made_up import own_cache, rows
from tests.test_study import pictures

GPT = "openai:gpt-3.5-turbo"


@pytest.fixture(autouse=True)
def speakers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Speaker]:
    """Every chat model that is opened."""
    monkeypatch.chdir(tmp_path)
    own_cache(tmp_path, monkeypatch)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    opened: list[Speaker] = []

    def open_model(settings: ModelSettings, _: Any = None) -> Model:
        speaker = Speaker()
        speaker.name, speaker.parameters = settings.model, {"temperature": settings.temperature}
        opened.append(speaker)
        return speaker

    monkeypatch.setattr(opening, "open_model", open_model)
    return opened


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    """Half a hundred short conversations, judged once by whoever says --model."""
    corpus = write_debates(tmp_path / "twitter-covid19.jsonl", comments=6, longest=20)
    return ["--dataset", f"jsonl:{corpus}", "--seeds", "1"]


@pytest.fixture
def the_papers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The corpus passes for the paper's."""
    for module in (comparable, study_table):
        monkeypatch.setattr(module, "is_published", lambda _: True)
    for module, name in ((comparable, "published"), (study_table, "graph_networks")):
        asked = getattr(published, name)
        monkeypatch.setattr(module, name, lambda dataset, *rest, asked=asked: asked(dataset.partition(":")[2], *rest))


def read(text: str) -> dict[str, str]:
    """The lines of a printed table by the name of the row."""
    cells = [re.split(" {2,}", line.strip(), maxsplit=1) for line in text.splitlines()]
    return {line[0]: line[1] for line in cells if len(line) == 2}


@pytest.mark.usefixtures("the_papers")
def test_debate(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["debate", *arguments, "--model", GPT]) == 0
    printed = capsys.readouterr().out
    found = {row["row"]: row for row in rows("SELECT * FROM studies ORDER BY position")}
    assert list(found) == ["vanilla", "S2MAD"]
    for row in found.values():
        f1 = json.loads(row["f1"])
        assert list(f1) == ["rumor", "non-rumor"]
        assert row["macro_f1"] == pytest.approx(sum(f1.values()) / 2)
        assert row["accuracy_low"] <= row["accuracy"] <= row["accuracy_high"]
        assert row["accuracy_std"] is None
    assert found["vanilla"]["calls_per_thread"] == 1
    assert found["S2MAD"]["calls_per_thread"] > 5
    assert found["S2MAD"]["tokens_per_thread"] > found["vanilla"]["tokens_per_thread"]
    assert found["S2MAD"]["abstained"] > 0
    table = read(printed)
    assert list(table)[1:] == [
        "vanilla", "† GPT-3.5 Turbo", "S2MAD", "† GPT-3.5 + S2MAD", "† BiGCN", "† ACLR-BiGCN", "† RPL", "† T3RD",
    ]  # fmt: skip
    assert table["† GPT-3.5 + S2MAD"].split() == ["0.765", "0.737", "0.827", "0.647"]
    assert table["† T3RD"].split() == ["0.735", "0.701", "0.808", "0.593"]
    assert table["S2MAD"].startswith(f"{found['S2MAD']['n']} ")
    for words in ("F1 rumor", "F1 non-rumor", "tokens", f"model {GPT}, temperature 0.2", "(S2MAD, Table 1)"):
        assert words in printed
    words = pictures(f"debate-jsonl-twitter-covid19-{GPT.replace(':', '-')}")
    for word in ("accuracy", "macro-F1", "† T3RD", "gpt-3.5-turbo", "† the paper's", "vanilla", "S2MAD"):
        assert word in words
    # all rows ask at one temperature
    assert rows('SELECT DISTINCT config ->> \'temperature\' AS t, "split", "when" FROM runs') == [
        {"t": "0.2", "split": "all", "when": "all-posts"}
    ]


def test_of_several_models_each_is_a_study_of_its_own(
    arguments: list[str], capsys: pytest.CaptureFixture[str], speakers: list[Speaker]
) -> None:
    assert main(["debate", *arguments, "--model", "openai:one", "--k", "5"]) == 0
    assert "†" not in capsys.readouterr().out
    asked = sum(speaker.asked for speaker in speakers)
    with duckdb.connect("hearsay.duckdb") as connection:
        for column in ("f1", "accuracy_low", "tokens_per_thread"):  # as an earlier version left it
            connection.execute(f"ALTER TABLE studies DROP COLUMN {column}")
    assert main(["debate", *arguments, "--models", "openai:one", "openai:two", "--k", "5"]) == 0
    printed = capsys.readouterr().out
    assert "model openai:one, openai:two, temperature 0.2, k 5" in printed
    assert sum(speaker.asked for speaker in speakers) == 2 * asked  # the second model's calls, and no others
    found = rows('SELECT "row", base_id FROM studies ORDER BY "row"')
    assert [row["row"] for row in found] == [
        f"{name}, openai:{model}" for name in ("S2MAD", "vanilla") for model in ("one", "two")
    ]
    assert len({row["base_id"] for row in found}) == 2
    configs = rows("SELECT how, config -> 'debate' AS debate FROM runs ORDER BY how")
    assert [(row["how"], json.loads(row["debate"])) for row in configs] == [("s2mad", {"k": 5})] * 2 + [
        ("vanilla", {})
    ] * 2
    assert pictures("debate-jsonl-twitter-covid19-openai-one-openai-two-k-5")


@pytest.mark.usefixtures("the_papers")
def test_ablations_and_rounds_share_their_runs(
    arguments: list[str], capsys: pytest.CaptureFixture[str], speakers: list[Speaker]
) -> None:
    assert main(["ablations", *arguments, "--model", GPT]) == 0
    printed = capsys.readouterr().out
    table = read(printed)
    figures = {
        "S2MAD": "0.765", "w/o stance": "0.648", "w/o non-subjective": "0.575", "w/o subjective": "0.703",
        "w/o debate": "0.645",
    }  # fmt: skip
    assert [name for name in table if name in figures] == list(figures)
    papers = [line.split() for name, line in table.items() if name.startswith("† GPT-3.5")]
    assert [line[0] for line in papers] == list(figures.values())
    assert "† GPT-3.5, w/o Non-Sub" in table
    assert "(S2MAD, Table 2)" in printed
    calls = {row["row"]: row["calls_per_thread"] for row in rows("SELECT * FROM studies")}
    assert calls["w/o debate"] < calls["S2MAD"]
    assert "w/o stance" in pictures("ablations-jsonl-twitter-covid19")
    before = rows("SELECT run_id, started FROM runs")
    speakers.clear()
    assert main(["rounds", *arguments, "--model", GPT]) == 0
    table = read(capsys.readouterr().out)
    assert [name for name in table if "M = " in name] == [f"M = {m}" for m in range(6)]
    assert list(table)[list(table).index("M = 2") + 1] == "† GPT-3.5 + S2MAD"
    found = rows("SELECT x, calls_per_thread AS calls FROM studies WHERE study = 'rounds' ORDER BY position")
    assert [row["x"] for row in found] == [0, 1, 2, 3, 4, 5]
    assert [row["calls"] for row in found] == sorted(row["calls"] for row in found)
    after = rows("SELECT run_id, started FROM runs")
    assert [row for row in after if row in before] == before
    assert len(after) == len(before) + 5  # two rounds are the whole debate of the ablations
    # a longer debate begins with what was said in the shorter one
    used = rows("SELECT count(*) AS n FROM calls WHERE cached")[0]["n"]
    assert sum(speaker.asked for speaker in speakers) < used / 2
    words = pictures("rounds-jsonl-twitter-covid19")
    for word in ("rounds of debate, M", "accuracy", "macro-F1"):
        assert word in words


def test_early(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    write_debates(Path("twitter-covid19.jsonl"), longest=20)  # all threads are longer than ten posts
    assert main(["early", *arguments, "--model", GPT]) == 0
    printed = capsys.readouterr().out
    found = rows("SELECT * FROM studies ORDER BY position")
    assert [(row["system"], row["x"]) for row in found] == [
        (system, x) for system in ("S2MAD", "vanilla") for x in (10, 20, 30, 40, 50, None)
    ]
    assert [row["checkpoint"] for row in found[:6]] == [f"posts:{n}" for n in (10, 20, 30, 40, 50, "all")]
    rates = [row["early_rate"] for row in found[:6]]
    assert rates[0] < rates[1] == rates[-1] == 1  # no thread has more than 20 posts
    assert "S2MAD, 10 posts" in printed
    assert "tokens" not in printed  # they would be those of all checkpoints together
    assert len(rows("SELECT * FROM runs")) == 2
    words = pictures("early-jsonl-twitter-covid19")
    for word in ("posts read, at most", "macro-F1", "S2MAD", "vanilla"):
        assert word in words


def test_a_narrow_table_is_several(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["debate", *arguments, "--models", "openai:one", "openai:" + "two" * 20, "--seeds", "2"]
    assert main(command) == 0
    capsys.readouterr()
    for columns in (80, 100, 130):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert main(command) == 0
        printed = capsys.readouterr().out
        assert "…" not in printed
        for words in ("accuracy", "macro-F1", "F1 non-rumor", "abstained", "calls", "tokens"):
            assert words in printed
        assert max(map(len, printed.splitlines()[2:-1])) <= columns


def test_dry_run_counts_every_row(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rounds", *arguments, "--model", GPT, "--dry-run"]) == 0
    printed = capsys.readouterr()
    assert printed.out.count("new calls") == 6
    assert "counted here as if it came first" in printed.err
    assert not Path("hearsay.duckdb").exists()


def test_options_are_all_rows_but_what_is_varied() -> None:
    config = RunConfig(how="s2mad", when="all-posts", split="all", model="openai:x", judge_model="openai:y")
    found = {row.label: row for row in debate_studies.ablations(config)}
    assert found["S2MAD"].config == config
    assert {row.config.judge_model for row in found.values()} == {"openai:y"}
    vanilla, whole = debate_studies.debate(config, ["openai:x"])
    assert whole.config == config
    assert (vanilla.config.how, vanilla.config.judge_model, vanilla.config.model) == ("vanilla", None, "openai:x")
    assert len({id(row.config) for row in debate_studies.early(config)}) == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["debate"], "--model"),
        (["rounds", "--model", GPT, "--rounds", "3"], "--rounds is what a study varies"),
        (["rounds", "--model", GPT, "--rounds=2"], "--rounds is what a study varies"),
        (["ablations", "--model", GPT, "--ablate", "stance"], "--ablate is what a study varies"),
        (["ablations", "--config", "mine.toml"], "--ablate is what a study varies"),
        (["early", "--model", GPT, "--when", "posts:3"], "--when is what a study varies"),
        (["debate", "--model", GPT, "--how", "direct"], "--how is what a study varies"),
        (["debate", "--model", GPT, "--method=vanilla"], "--method is what a study varies"),
        (["rounds", "--models", GPT, GPT], "--models is an option of the study debate"),
        (["debate", "--models", GPT, "--model", GPT], "--models stands in place of --model"),
        (["debate", "--model", GPT, "--controls"], "--controls"),
        (["debate", "--model", GPT, "--attack", "all"], "--attack all"),
        (["rounds", "--model", GPT, "--rouns", "2"], "--rouns"),
        (["debate", "--model", GPT, "--k", "0"], "--k 0"),
        (["debate", "--models", GPT, "gpt-4o"], "did you mean openai:gpt-4o"),
        (["debate", "--models", GPT, "scripted:none.json"], "none.json"),
        (["debate", "--model", GPT, "--labels", "veracity"], "veracity"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_users_mistake_is_one_line(
    words: list[str], says: str, arguments: list[str], capsys: pytest.CaptureFixture[str], speakers: list[Any]
) -> None:
    Path("mine.toml").write_text(f'model = "{GPT}"\nablate = "stance"\n')
    with pytest.raises(SystemExit) as stop:
        main([*words, *arguments])
    assert stop.value.code == 2
    message = capsys.readouterr().err.strip().splitlines()[-1]
    assert message.startswith("error: ")
    assert says in message
    assert not speakers
    assert not Path("hearsay.duckdb").exists()
