"""`eval.study` whole, as a user types it, with stop policies that cost nothing in place of trained ones."""

import json
import math
import random
import re
import struct
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.debate.settings import DebateSettings
from eval import session, studies
from eval.comparison import Comparison
from eval.config import RunConfig
from eval.pareto import dominates, frontier
from eval.study import main
from eval.study_audit import BINS, bars, sentence, stops_of
from tests.made_up import RULES, own_cache, rows, write_corpus

TINY = ["--shots", "10", "--pool", "6", "--seeds", "2"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own_cache(tmp_path, monkeypatch)
    monkeypatch.setenv("COLUMNS", "160")
    # one agent and no rule to beat are enough, but where a test asks for them
    monkeypatch.setattr(studies, "VARIANTS", {"EARD": ()})
    monkeypatch.setattr(studies, "_sure", lambda *_, **__: [])


@pytest.fixture
def untrained(monkeypatch: pytest.MonkeyPatch) -> None:
    """EARD reads all four posts of a made-up thread, without experts three; each baseline reads two."""

    def agent(base: RunConfig, settings: Sequence[str] = ()) -> RunConfig:
        return studies.plain(base, "posts:3" if "experts=none" in settings else "all-posts")

    monkeypatch.setattr(studies, "agent", agent)
    monkeypatch.setattr(studies, "published", lambda base, _: studies.plain(base, "posts:2"))


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    """A corpus whose last post tells, and a model that reads it."""
    (tmp_path / "script.json").write_text(json.dumps({"rules": RULES[:1], "default": RULES[1]}))
    corpus = write_corpus(tmp_path / "made-up.jsonl", 40)
    return ["--dataset", f"jsonl:{corpus}", "--how", "direct", "--model", "scripted:script.json", *TINY]


def pictures(name: str) -> str:
    """Check that both pictures are there and not empty; the words of the SVG."""
    (path,) = Path("studies").glob(f"{name}*.png")
    png = path.read_bytes()
    assert png.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", png[16:24])
    assert width in (990, 2100)  # a column or a page, at 300 dots an inch
    assert height >= 800
    assert len(png) > 10_000
    text = path.with_suffix(".svg").read_text("utf-8")
    assert ET.fromstring(text).tag.endswith("svg")
    return " ".join(re.findall(r"<!-- (.*?) -->", text, re.S))


@pytest.mark.usefixtures("untrained")
def test_table_has_everything_in_one_place(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", *arguments, "--hours", "0.2", "0.4"]) == 0
    printed = capsys.readouterr()
    found = {row["row"]: row for row in rows("SELECT * FROM studies ORDER BY position")}
    assert list(found) == [
        "first post", "all posts", "0.2 h", "0.4 h",
        "confidence 0.6", "confidence 0.7", "confidence 0.8", "confidence 0.9", "CED", "ERD", "HEARD",
        "EARD", "EARD, shuffled experts", "EARD, no experts", "random stop at the ER of EARD",
        "oracle (EAE with the true label)",
    ]  # fmt: skip
    assert (found["EARD"]["macro_f1"], found["EARD"]["early_rate"], found["EARD"]["seeds"]) == (1.0, 1.0, 2)
    assert (found["first post"]["early_rate"], found["CED"]["early_rate"]) == (0.25, 0.5)
    assert (found["0.4 h"]["x"], found["0.4 h"]["checkpoint"]) == (0.4, "hours:0.4")
    assert found["all posts"]["macro_f1_low"] <= found["all posts"]["macro_f1"] <= found["all posts"]["macro_f1_high"]
    # the oracle reads on where the first post misleads, and only there
    oracle = found["oracle (EAE with the true label)"]
    assert oracle["accuracy"] == 1
    assert found["first post"]["early_rate"] < oracle["early_rate"] < found["EARD"]["early_rate"]
    whens = {row["when"] for row in rows('SELECT "when" FROM runs')}
    assert {"random:1.000", "oracle", "confidence:0.6,0.7,0.8,0.9"} <= whens  # random: at the ER that EARD has
    for name in found:
        assert name in printed.out
    assert "EARD beats the same training without experts here (macro-F1 +0." in printed.out
    assert "EARD beats reading the first post only here" in printed.out
    assert "EARD does not beat random stopping at the same ER here (macro-F1 +0.000 [" in printed.out
    assert "EARD does not beat the same training on shuffled experts here (macro-F1 +0.000" in printed.out
    assert "it has not learned from its experts" in printed.out
    assert "where EARD stops: median [quartiles]" in printed.out
    assert "|         █|" in printed.out
    assert re.search(r"0 +4 \[4, 4\] +1.00 \[1.00, 1.00\] +0% +100%", printed.out)
    assert "[1/" in printed.err
    words = pictures("table-made-up")
    for word in ("EARD", "CED", "random stop", "oracle", "macro-F1", "early rate", "seed 1", "n = 2", "made-up"):
        assert word in words


@pytest.mark.usefixtures("untrained")
def test_a_study_made_again_runs_nothing_and_replaces_its_rows(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["hours", *arguments, "--hours", "0.2", "0.4"]) == 0
    first, stored = capsys.readouterr().out, rows("SELECT * EXCLUDE (created) FROM studies ORDER BY position")
    (svg,) = Path("studies").glob("hours-made-up*.svg")
    picture = svg.read_bytes()
    before = rows("SELECT * FROM runs ORDER BY ALL")
    monkeypatch.setattr(session, "run_jobs", None)  # whoever judges now, fails
    assert main(["hours", *arguments, "--hours", "0.2", "0.4"]) == 0
    assert capsys.readouterr().out == first
    assert rows("SELECT * EXCLUDE (created) FROM studies ORDER BY position") == stored
    assert rows("SELECT * FROM runs ORDER BY ALL") == before
    assert svg.read_bytes() == picture


@pytest.mark.usefixtures("untrained")
def test_a_study_with_other_options_stands_beside_the_first(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["hours", *arguments, "--hours", "0.2", "0.4"]) == 0
    capsys.readouterr()
    assert main(["hours", *arguments, "--hours", "0.2", "0.4", "--seeds", "1"]) == 0
    assert "PARTIAL" not in capsys.readouterr().out  # one is all that was asked for
    assert main(["hours", *arguments, "--hours", "0.4"]) == 0
    found = rows("SELECT count(*) AS n, max(seeds) AS seeds FROM studies GROUP BY base_id ORDER BY max(created)")
    assert found == [{"n": 5, "seeds": 2}, {"n": 5, "seeds": 1}, {"n": 4, "seeds": 2}]


@pytest.mark.usefixtures("untrained")
def test_studies_share_their_runs_and_differ_in_their_rows(arguments: list[str]) -> None:
    assert main(["hours", *arguments, "--hours", "0.2", "0.4"]) == 0
    first = rows("SELECT run_id, started FROM runs ORDER BY ALL")
    assert main(["table", *arguments, "--hours", "0.2", "0.4"]) == 0
    both = rows("SELECT run_id, started FROM runs ORDER BY ALL")
    assert [row for row in both if row in first] == first
    assert {row["study"] for row in rows("SELECT study FROM studies")} == {"hours", "table"}
    configs = rows("SELECT config_id, count(*) AS n FROM runs GROUP BY 1")
    assert {row["n"] for row in configs} == {2}
    # posts:1,all  hours  confidence  posts:2  all-posts  posts:3  random  oracle
    assert len(configs) == 8


@pytest.mark.usefixtures("untrained")
def test_an_interrupted_study_says_so_and_goes_on(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    judge, calls = session.run_jobs, []

    async def interrupted(*given: Any) -> None:
        calls.append(1)
        if len(calls) == 4:  # the second run's second seed
            raise KeyboardInterrupt
        await judge(*given)

    monkeypatch.setattr(session, "run_jobs", interrupted)
    assert main(["hours", *arguments, "--hours", "0.2", "0.4"]) == 130
    printed = capsys.readouterr()
    assert "INCOMPLETE" in printed.out
    assert "PARTIAL: 1 of 2 seeds finished" in printed.out
    assert "Interrupted" in printed.err
    assert not list(Path("studies").iterdir())
    assert rows("SELECT * FROM studies") == []
    finished = rows("SELECT run_id, started, finished FROM runs WHERE status = 'finished' ORDER BY ALL")
    assert len(finished) == 3
    assert main(["hours", *arguments, "--hours", "0.2", "0.4"]) == 0
    after = rows("SELECT run_id, started, finished FROM runs ORDER BY ALL")
    assert [row for row in after if row in finished] == finished
    assert len(rows("SELECT * FROM studies")) == 5


@pytest.mark.usefixtures("untrained")
def test_shots(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shots", *arguments[:-6], "--seeds", "2", "--shots", "6", "12"]) == 0
    assert "shots," not in capsys.readouterr().out.splitlines()[0]
    found = rows("SELECT system, x, n FROM studies ORDER BY position")
    assert [(row["system"], row["x"]) for row in found] == [
        (system, shots) for system in ("EARD", "all posts", "first post") for shots in (6, 12)
    ]
    counts = rows("SELECT config ->> 'shots' AS shots, n_threads FROM runs GROUP BY ALL ORDER BY ALL")
    assert counts == [{"shots": "12", "n_threads": 19}, {"shots": "6", "n_threads": 23}]
    assert "labelled threads (shots)" in pictures("shots-made-up")


@pytest.mark.usefixtures("untrained")
def test_alpha(arguments: list[str]) -> None:
    assert main(["alpha", *arguments, "--alphas", "0.5", "0.7"]) == 0
    found = rows('SELECT "row", system, x FROM studies ORDER BY position')
    assert [row["row"] for row in found] == [
        "first post", "all posts", *(f"confidence 0.{n}" for n in (6, 7, 8, 9)), "CED", "ERD", "HEARD",
        "EARD, α = 0.5", "EARD, α = 0.7",
    ]  # fmt: skip
    words = pictures("alpha-made-up")
    for word in ("α, weight of CE", "HEARD", "0.5"):
        assert word in words


@pytest.mark.usefixtures("untrained")
def test_cross(arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = f"jsonl:{write_corpus(tmp_path / 'other.jsonl', 60)}"  # its first 40 threads are those of made-up
    assert main(["cross", *arguments, "--train-on", other]) == 0
    assert "test threads are in" not in capsys.readouterr().err
    found = rows('SELECT "row", n FROM studies ORDER BY position')
    assert len(found) == 2 * 6
    assert found[0]["row"] == "EARD, trained on itself"
    assert found[6] == {"row": f"EARD, trained on {other}", "n": 40}
    assert {row["split"] for row in rows('SELECT "split" FROM runs')} == {"few-shot", "cross-corpus"}
    assert "corpus that the shots come from" in pictures("cross-made-up")


@pytest.mark.usefixtures("untrained")
def test_a_database_of_an_earlier_version_gets_the_table(arguments: list[str]) -> None:
    assert main(["shots", *arguments[:-6], "--seeds", "1", "--shots", "6"]) == 0
    with duckdb.connect("hearsay.duckdb") as connection:
        connection.execute("DROP TABLE studies")
    assert main(["shots", *arguments[:-6], "--seeds", "1", "--shots", "6"]) == 0
    assert len(rows("SELECT * FROM studies")) == 3


def test_with_a_trained_agent_on_the_bundled_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    tiny = ["--limit", "8", "--pool", "8", "--seeds", "1", "--language", "en", "--stopper", "steps=2000"]
    assert main(["shots", *tiny, "--shots", "10", "--out", "here/there"]) == 0
    found = rows("SELECT * FROM studies JOIN runs USING (config_id) ORDER BY position")
    assert [row["when"] for row in found] == ["eard", "posts:1,all", "posts:1,all"]
    assert json.loads(found[0]["config"])["stopper"] == ["steps=2000"]
    for row in found:
        assert (row["dataset"], row["n_threads"], row["seeds"], row["macro_f1_std"]) == ("sample", 8, 1, None)
        assert 0 <= row["macro_f1"] <= 1
        assert 0 < row["early_rate"] <= 1
    assert Path("here/there/shots-sample.png").stat().st_size > 10_000
    assert "stored in hearsay.duckdb, table studies" in capsys.readouterr().out


@pytest.mark.usefixtures("untrained")
def test_without_times_the_table_has_no_hours(arguments: list[str], tmp_path: Path) -> None:
    arguments[1] = f"jsonl:{write_corpus(tmp_path / 'untimed.jsonl', 40, timed=False)}"
    assert main(["table", *arguments]) == 0
    assert rows("SELECT * FROM studies WHERE system = 'preset hours'") == []


@pytest.mark.usefixtures("untrained")
def test_dry_run_counts_every_run_once_and_stores_nothing(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["hours", *arguments, "--hours", "0.2", "0.4", "--dry-run"]) == 0
    assert capsys.readouterr().out.count("new calls") == 3
    assert not Path("hearsay.duckdb").exists()
    assert not Path("studies").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "NAME"),
        (["tabel"], "did you mean table"),
        (["table", "--when", "all-posts"], "--when is what a study varies"),
        (["table", "--method=encoder"], "--method is what a study varies"),
        (["shots", "--alphas", "0.5"], "option of the study alpha"),
        (["shots", "--shots", "0"], "it needs --shots"),
        (["shots", "--shots", "-1"], "--shots -1"),
        (["hours", "--dataset", "jsonl:untimed.jsonl"], "has no times"),
        (["alpha", "--alphas", "2"], "--alphas 2"),
        (["alpha", "--alphas", "many"], "--alphas"),
        (["table", "--shots", "10", "20"], "--shots takes one value"),
        (["hours", "--hours", "-1"], "hours:-1"),
        (["cross", "--train-on", "phem"], "phem"),
        (["cross", "--train-on", "twitter-covid19"], "twitter-covid19"),
        (["table", "--variant", "mine", "alpha"], "stopper setting alpha"),
        (["table", "--variant", "mine", "alpha=1", "--variant", "mine", "alpha=0.9"], "a row of that name already"),
        (["table", "--variant", "EARD", "alpha=0.9"], "a row of that name already"),
        (["table", "--out", "untimed.jsonl/x"], "--out untimed.jsonl/x"),
        (["table", "--sead", "3"], "--sead"),
        (["table", "--how", "direct"], "--model"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_users_mistake_is_one_line(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEARSAY_DATA", raising=False)
    write_corpus(Path("untimed.jsonl"), 40, timed=False)
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    message = capsys.readouterr().err.strip().splitlines()[-1]
    assert message.startswith("error: ")
    assert says in message
    assert not Path("hearsay.duckdb").exists()


def test_alpha_shares_what_it_leaves_and_keeps_the_other_settings() -> None:
    base = RunConfig(stopper=("steps=2000", "beta=0.9"))
    found = {row.x: row.config.stopper for row in studies.alpha(base, (0.4, 0.7, 1)) if row.kind == "agent"}
    assert found[0.4] == ("steps=2000", "alpha=0.4", "beta=0.3", "gamma=0.3")
    assert found[0.7] == ("steps=2000",)  # the default: the run that the other studies have too
    assert found[1] == ("steps=2000", "alpha=1", "beta=0", "gamma=0")


def test_the_rule_to_beat_is_in_every_study_and_our_variant_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    base = RunConfig()
    for rows_of in (
        studies.shots(base, (10,)),
        studies.alpha(base, (0.7,)),
        studies.cross(base, ("pheme",)),
        studies.hours(base, (1,)),
        studies.table(base, {"EARD": ()}, ()),
    ):
        assert any(row.system == "confidence" for row in rows_of)
    (steady,) = (row for row in studies.table(base, studies.VARIANTS, ()) if row.label == "EARD, steady")
    assert steady.config.stopper == ("steady",)


def test_where_nobody_gives_probabilities_no_study_waits_for_one() -> None:
    base = RunConfig(how="s2mad", model="openai:x")
    for rows_of in (
        studies.shots(base, (10,)),
        studies.alpha(base, (0.7,)),
        studies.cross(base, ("pheme",)),
        studies.hours(base, (1,)),
        studies.table(base, {"EARD": ()}, ()),
    ):
        assert rows_of
        assert not any(row.system == "confidence" for row in rows_of)


def test_rows_of_the_table_are_what_they_say() -> None:
    base = RunConfig(how="direct", model="openai:x", temperature=0.2, stopper=("steps=2000",))
    found = {row.label: row for row in studies.table(base, {"EARD": (), "wary": ("alpha=0.9",)}, (1, 6))}
    assert found["EARD"].config.when == "eard"
    assert found["EARD"].config.stopper == ("steps=2000",)
    assert found["wary, no experts"].config.stopper == ("steps=2000", "alpha=0.9", "experts=none")
    assert found["EARD, shuffled experts"].config.stopper == ("steps=2000", "experts=shuffled")
    assert found["random stop at the ER of wary"].of == "wary"
    assert found["first post"].config is found["all posts"].config
    assert (found["6 h"].config.when, found["6 h"].checkpoint) == ("hours:1,6", "hours:6")
    # a baseline is the same run whatever model the others ask
    for name in ("CED", "ERD", "HEARD"):
        assert found[name].config == studies.published(RunConfig(), name.lower())
    debating = replace(base, how="s2mad", scorer_model="openai:y", debate=DebateSettings(k=5))
    assert studies.published(debating, "ced") == studies.published(RunConfig(), "ced")
    # settings of the agent are none of a fixed policy's: its run stays the one that eval.run has
    assert found["first post"].config.stopper == ()


def test_across_corpora_no_thread_is_trained_on_and_tested() -> None:
    found = studies.cross(RunConfig(dataset="pheme"), ("twitter15", "pheme"))
    trained = {row.group: (row.config.train_on, row.config.exclude_overlap) for row in found}
    assert trained == {"pheme": (None, None), "twitter15": ("twitter15", "pheme")}


POINTS = st.lists(st.tuples(st.integers(0, 8).map(lambda n: n / 8), st.integers(0, 8).map(lambda n: n / 8)))


@given(POINTS)
def test_frontier_is_what_nothing_dominates(points: list[tuple[float, float]]) -> None:
    best = frontier(points)
    assert [points[i] for i in best] == sorted(points[i] for i in best)
    for index, point in enumerate(points):
        assert (index in best) == (not any(dominates(other, point) for other in points))
        # and who is not on it is dominated by one who is
        assert index in best or any(dominates(points[i], point) for i in best)
    if points:
        assert min(points)[0] in {points[i][0] for i in best}
        assert max(f1 for _, f1 in points) in {points[i][1] for i in best}


@given(POINTS, st.randoms(use_true_random=False))
def test_frontier_knows_no_order_and_no_undefined_points(
    points: list[tuple[float, float]], chance: random.Random
) -> None:
    expected = sorted(points[i] for i in frontier(points))
    mixed = [*points, (math.nan, 0.9), (0.0, math.nan)]
    chance.shuffle(mixed)
    assert [mixed[i] for i in frontier(mixed)] == expected


def compared(gain: float) -> Comparison:
    return Comparison("other", "EARD", "", 5, 300, gain, 10, 5, 0.5, gain, gain - 0.01, gain + 0.01, 0.01)


def test_sentences() -> None:
    said = sentence(compared(0.03), "random stopping at the same ER", 0.004, (0.3, 0.31))
    assert said == (
        "EARD beats random stopping at the same ER here "
        "(macro-F1 +0.030 [+0.020, +0.040], p = 0.004, n = 300; ER 0.300 against 0.310)."
    )
    unsure = sentence(compared(0.03), "random stopping at the same ER", 0.06, (0.3, 0.31))
    assert unsure.startswith("EARD does not beat random stopping at the same ER here (")
    worse = sentence(compared(-0.03), "random stopping at the same ER", 0.004, (0.3, 0.31))
    assert worse.startswith("EARD does not beat random stopping at the same ER here, but does worse (")
    taught = "it has not learned from its experts"
    assert taught in sentence(compared(0.0), "the same training without experts", 1.0, (0.3, 0.3))
    assert taught not in sentence(compared(0.1), "the same training without experts", 0.001, (0.3, 0.3))
    assert taught not in unsure


@given(st.lists(st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n))), min_size=1))
def test_stop_positions(pairs: list[tuple[int, int]]) -> None:
    stops = stops_of(3, [{"stop_index": stop, "n_posts": n} for stop, n in pairs])
    assert stops is not None
    assert (stops.seed, stops.n, sum(stops.histogram), len(stops.histogram)) == (3, len(pairs), len(pairs), BINS)
    assert stops.at_first == np.mean([stop == 1 for stop, _ in pairs])
    assert stops.at_end == np.mean([stop == n for stop, n in pairs])
    assert stops.histogram[-1] == sum(10 * stop > 9 * n for stop, n in pairs)
    assert stops.histogram[0] == sum(10 * stop <= n for stop, n in pairs)
    assert stops.posts[1] == np.median([stop for stop, _ in pairs])
    text = bars(stops.histogram)
    assert [letter == " " for letter in text] == [count == 0 for count in stops.histogram]
    assert "█" in text


def test_threads_that_failed_stopped_nowhere() -> None:
    assert stops_of(0, [{"stop_index": None, "n_posts": 3}]) is None


@pytest.mark.parametrize("seed", range(4))
def test_no_name_in_a_picture_lies_on_another(seed: int) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from eval.plot_labels import Spot, write_labels

    chance = random.Random(seed)
    figure = Figure(figsize=(5, 4), layout="constrained")
    ax = figure.subplots()
    spots = [Spot(f"system number {i}", chance.uniform(0, 0.3), chance.gauss(0.7, 0.02), 0.02, 0.02) for i in range(12)]
    spots.append(Spot("undefined", math.nan, 0.7))
    for spot in spots:
        ax.errorbar([spot.x], [spot.y], xerr=[spot.dx], yerr=[spot.dy], marker="o")
    write_labels(ax, spots)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    names = {text.get_text(): text for text in ax.texts}
    assert set(names) == {spot.name for spot in spots[:-1]}
    # the words alone: the box of an annotation has its line too
    boxes = [type(text).__mro__[1].get_window_extent(text, canvas.get_renderer()) for text in names.values()]
    for index, box in enumerate(boxes):
        assert not box.count_overlaps(boxes[:index])


def test_letters_of_a_corpus_name_are_no_mathematics(
    tmp_path: Path, untrained: None, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = write_corpus(tmp_path / "$_{x$.jsonl", 40)
    assert main(["shots", "--dataset", f"jsonl:{corpus}", "--seeds", "1", "--shots", "10"]) == 0
    assert list(Path("studies").glob("shots-*.png"))
