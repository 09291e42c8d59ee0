"""`eval.report`: what is in the page, what is not, and what it works out (tests/test_report_page.py clicks)."""

import base64
import hashlib
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest
from rich.console import Console

from eval import report
from eval.calibration import calibration
from eval.early import curves
from eval.pages.escape import HIDES, hides_for_script, safe, script_json
from eval.pages.figures import pareto
from eval.pages.threads import turned
from eval.run import main as run_main
from tests.report_runs import HOSTILE, THREADS, name, store_all, write_corpus


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store_all(tmp_path_factory.mktemp("stored")).parent


@pytest.fixture
def here(stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the database; the corpus is where it was."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(stored / "hearsay.duckdb", tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def page(stored: Path) -> str:
    """The page of all four configurations."""
    out = stored / "deep" / "page.html"
    names = ["confidence", "debating", "reading", "stances"]
    report.main([*names, "-o", str(out), "--db", str(stored / "hearsay.duckdb")])
    assert [path.name for path in out.parent.iterdir()] == ["page.html"]
    return out.read_text("utf-8")


def section(text: str, anchor: str) -> str:
    found = re.search(rf'<section id="{anchor}".*?</section>', text, re.S)
    assert found, anchor
    return re.sub(r"<[^>]+>", " ", found[0].replace("&lt;", "‹").replace("&gt;", "›"))


def data(text: str, anchor: str) -> Any:
    found = re.search(rf'<script type="application/json" id="{anchor}">(.*?)</script>', text, re.S)
    assert found, anchor
    return json.loads(found[1])


def test_one_file_that_loads_nothing_and_holds_nothing_hostile(page: str) -> None:
    text = page
    assert not HIDES.search(text)
    tags = re.findall(r"<[a-z][^>]*>", text.partition("<script>")[0])
    assert [tag for tag in tags if re.search(r" (?:src|href)=\"[^#]", tag)] == ['<link rel="icon" href="data:,">']
    assert not [tag for tag in tags if re.search(r"\s(?:style|on\w+)=", tag)]
    # the only scripts are our own and data, whatever was in the posts
    assert re.findall(r"<script[^>]*>", text) == [
        '<script type="application/json" id="index">', '<script type="application/json" id="piece-0">', "<script>",
    ]  # fmt: skip
    assert text.count("</script>") == 3
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy and "default-src 'none'" in policy[1] and "unsafe" not in policy[1] and "strict" not in policy[1]
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.S)
        assert content
        digest = base64.b64encode(hashlib.sha256(content[1].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy[1]
    assert ".innerHTML" not in text and "insertAdjacentHTML" not in text and "document.write" not in text


def test_what_was_run_and_measured(page: str) -> None:
    text = page
    run = section(text, "run")
    assert "This is not the published corpus" in run
    assert "PARTIAL: 0 of 2 seeds finished; seed 0: 60 of 60 threads" in run
    assert "2 of 2 finished" in run and "abc123+" in run and "duckdb 2.0" in run
    assert "openai:x‹y›" in run
    results = section(text, "results")
    assert "0.642 ± 0.012" in results  # accuracy: 38 and 39 of 60 are right, one abstained, one failed
    assert "stances of posts" in results
    assert "abstained and failed threads count as wrong" in results
    assert "58 debates on 58 threads" in results
    differences = section(text, "tests")
    assert "A and C have no checkpoint in common" in differences
    assert "Holm" in differences and "exact McNemar" in differences
    confusion = section(text, "confusion")
    assert "gold \\ given" in confusion and "abstained" in confusion and "failed" in confusion
    assert "ECE" in section(text, "calibration")
    cost = section(text, "cost")
    assert re.search(r"judge\s+openai:x‹y›\s+2\s+1\s+0\s+1,000\s+20\s+0.2500\s+1.5", cost)
    assert "early rate" in section(text, "pareto")


def test_viewer_data_say_what_the_database_says(here: Path) -> None:
    report.main(["confidence", "reading"])
    text = Path("report.html").read_text("utf-8")
    index = data(text, "index")
    assert [(view["side"], view["name"]) for view in index["views"]] == [
        ("A", "seed 0"), ("A", "seed 1"), ("B", "seed 0, posts:2"), ("B", "seed 0, posts:3"),
    ]  # fmt: skip
    assert len(index["ids"]) == THREADS == len(index["claims"]) == len(index["views"][0]["given"])
    place = {thread: number for number, thread in enumerate(index["ids"])}
    first = index["views"][0]
    labels = first["labels"]
    assert labels[first["gold"][place["t3"]]] == "non-rumor" and labels[first["given"][place["t3"]]] == "rumor"
    assert first["given"][place["t5"]] == -1 and first["given"][place["t7"]] == -2
    assert first["turned"][place["t1"]] == 1 and first["turned"][place["t2"]] == 0
    assert first["sure"][place["t2"]] == 75 and first["stop"][place["t2"]] == 2
    threads = data(text, "piece-0")
    hostile = threads[place[name(0)]]
    assert [post[3] for post in hostile["posts"]["0"][5:]] == [text.strip() for text in HOSTILE]
    run = hostile["runs"]["conf0run"]
    assert [step[0] for step in run["steps"]] == list(range(1, 11)) and run["steps"][0][2] == pytest.approx(0.4)
    # most often wrong first
    wrong = [sum(view["given"][i] != view["gold"][i] for view in index["views"]) for i in range(THREADS)]
    assert wrong == sorted(wrong, reverse=True)


def test_without_posts_nothing_of_them_is_left(here: Path) -> None:
    report.main(["debating", "stances", "--no-posts"])
    text = Path("report.html").read_text("utf-8")
    assert "window.hacked" not in text and "yes it is" not in text and "because" not in text.partition("<script>")[0]
    assert "are left out of this page" in text
    assert data(text, "piece-0")[0]["posts"] == {}


def test_without_its_corpus_the_page_says_so(here: Path, stored: Path) -> None:
    with duckdb.connect("hearsay.duckdb") as connection:
        connection.execute("UPDATE runs SET config = replace(config::VARCHAR, 'corpus.jsonl', 'gone.jsonl')::JSON")
    report.main(["confidence"])
    assert "The posts of corpus cannot be shown" in section(Path("report.html").read_text("utf-8"), "run")
    with duckdb.connect("hearsay.duckdb") as connection:
        connection.execute("UPDATE runs SET config = replace(config::VARCHAR, 'gone.jsonl', 'corpus.jsonl')::JSON, "
                           "corpus_fingerprint = 'other'")  # fmt: skip
    report.main(["confidence"])
    assert "have changed since" in section(Path("report.html").read_text("utf-8"), "run")


def test_many_threads_lie_beside_the_page(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "IN_ONE_FILE", 1)
    monkeypatch.setattr("eval.pages.threads.PIECE", 10_000)
    Path("report.data").mkdir()
    Path("report.data/999.js").write_text("old")
    Path("report.data/mine.js").write_text("a file of the user's")
    report.main(["confidence"])
    text = Path("report.html").read_text("utf-8")
    index = data(text, "index")
    assert len(index["starts"]) > 2 and index["folder"] == "report.data"
    assert index["claims"] == [] and "about the bridge" in Path("report.data/claims.js").read_text("utf-8")
    assert {path.name for path in Path("report.data").iterdir()} == {
        "mine.js", "claims.js", *(f"{number}.js" for number in range(len(index["starts"]))),
    }  # fmt: skip
    assert "strict-dynamic" in text and "piece-0" not in text.partition("<script>")[0]
    report.main(["confidence", "--one-file"])
    assert {path.name for path in Path("report.data").iterdir()} == {"mine.js"}
    assert "strict-dynamic" not in Path("report.html").read_text("utf-8").partition("<title>")[0]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nowhere"], "no run or configuration nowhere"),
        (["confidence", "conf"], "are the same"),
        (["confidence", "-o", "hearsay.duckdb/x.html"], "cannot write hearsay.duckdb/x.html"),
        (["confidence", "-o", "."], "cannot write"),
        (["confidence", "--db", "none.duckdb"], "no database"),
    ],
)
def test_a_users_mistake_is_one_line(
    words: list[str], says: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        report.main(words)
    message = capsys.readouterr().err.strip().splitlines()[-1]
    assert message.startswith("error: ") and says in message
    assert not [path for path in here.iterdir() if path.name.startswith(".")]  # nothing half made


def test_eval_run_writes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_corpus(tmp_path / "corpus.jsonl", 20)
    arguments = ["--dataset", "jsonl:corpus.jsonl", "--how", "majority", "--task", "stance", "--seeds", "1"]
    assert run_main([*arguments, "--shots", "4", "--pool", "0", "--report"]) == 0
    text = Path("report.html").read_text("utf-8")
    assert "stances of posts" in text and 'id="confusion"' not in text  # labels of threads are not scored
    assert run_main([*arguments, "--shots", "4", "--pool", "0", "--report", "other.html"]) == 0
    assert "stances of posts" in Path("other.html").read_text("utf-8")
    with duckdb.connect("hearsay.duckdb", read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (1,)


def test_strings_cannot_leave_a_script() -> None:
    value = {"</script><!--": ["\u2028\u2029\u202e\ud800\x00\U000e0041", float("nan"), "&amp;", ("tuple", None)]}
    text = script_json(value)
    assert text.isascii() and not re.search("[<>&]", text)
    assert json.loads(text) == {
        "</script><!--": ["\u2028\u2029\u202e\ud800\x00\U000e0041", None, "&amp;", ["tuple", None]]
    }
    assert safe("<\x1b") == '&lt;<span class="hidden" title="a control character">U+001B</span>'
    assert hides_for_script().isascii() and hides_for_script().startswith("[\\u{0}-\\u{8}")


def prediction(thread: str, gold: str, label: str | None, stop: int, **more: Any) -> dict[str, Any]:
    common = {"thread_id": thread, "gold": gold, "label": label, "stop_index": stop, "n_posts": 4, "checkpoint": None}
    return common | {"seconds_to_stop": 3600.0 * (stop - 1), "when": "x", "probabilities": None} | more


def test_answers_over_time_are_the_last_ones_stored() -> None:
    rows = [prediction("a", "R", "R", 1), prediction("b", "N", "N", 3), prediction("c", "R", None, 2)]
    later = [after("a", 3, "N"), after("c", 4, "R")]
    (curve,) = curves([rows], [later], {"a": [0, 1800, 5400, 9000]}, ["R", "N"], "posts")
    assert curve.at == [1, 2, 3, 4]
    # 1: a right, the others not yet; 2: c has abstained; 3: a has turned, b is right; 4: c is right
    assert curve.macro_f1 == pytest.approx([1 / 3, 1 / 3, 1 / 3, (2 / 3 + 2 / 3) / 2])
    assert curve.answered == pytest.approx([1 / 3, 1 / 3, 2 / 3, 1])
    (curve,) = curves([rows], [later], {"a": [0, 1800, 5400, 9000]}, ["R", "N"], "hours")
    assert curve.at[-1] == 2.0  # b stopped then; no time is known of c's fourth post
    assert (curve.threads, curve.without_times, curve.undated) == (3, 0, 1)
    assert curve.macro_f1[curve.at.index(1)] == pytest.approx(1 / 3)
    assert curve.macro_f1[-1] == pytest.approx(1 / 3)  # after 1.5 hours a has turned


def test_a_seed_without_anything_judged_is_not_in_a_curve() -> None:
    rows = [prediction("a", "R", "R", 1), prediction("b", "N", "R", 2)]
    untimed = [prediction("c", "N", "N", 1, seconds_to_stop=None)]
    for unit, empty in (("posts", []), ("hours", []), ("hours", untimed)):
        (alone,) = curves([rows], [[]], {}, ["R", "N"], unit)
        (both,) = curves([rows, empty], [[], []], {}, ["R", "N"], unit)
        assert (both.macro_f1, both.low, both.answered) == (alone.macro_f1, alone.low, alone.answered)


def after(thread: str, step: int, label: str | None, action: str = "after") -> dict[str, Any]:
    return {"thread_id": thread, "step": step, "label": label, "action": action}


def test_a_clock_answers_when_it_strikes_with_labels_after_it_too() -> None:
    right = {"a": "R", "b": "N"}
    rows = [prediction(name, gold, gold, 2, seconds_to_stop=600, when="hours:6") for name, gold in right.items()]
    later = [
        after(name, step, gold, action) for name, gold in right.items() for step, action in ((2, "stop"), (3, "after"))
    ]
    times = {name: [0.0, 600.0, 36_000.0] for name in right}
    for known in (times, {}):
        (curve,) = curves([rows], [later], known, ["R", "N"], "hours")
        assert [score for at, score in zip(curve.at, curve.macro_f1, strict=True) if at < 6] == [0.0] * 9
        assert curve.macro_f1[curve.at.index(6)] == 1.0
        assert (curve.at[-1], curve.undated) == ((10, 0) if known else (6, 2))


def test_threads_without_times_are_left_out_by_hours() -> None:
    rows = [prediction("a", "R", "R", 1), prediction("b", "N", "N", 2), prediction("c", "N", "N", 2)]
    rows[2]["seconds_to_stop"] = None
    failed = prediction("d", "R", None, 2) | {"stop_index": None, "seconds_to_stop": None}
    (curve,) = curves([rows], [[]], {}, ["R", "N"], "hours")
    assert curve.macro_f1[-1] == 1.0 and curve.answered[-1] == 1.0
    assert (curve.threads, curve.without_times) == (2, 1)
    (curve,) = curves([[*rows, failed]], [[after("c", 3, "R")]], {}, ["R", "N"], "hours")
    assert curve.macro_f1[-1] == pytest.approx((2 / 3 + 1) / 2)  # a failure counts as wrong, with or without times
    assert (curve.threads, curve.without_times, curve.undated) == (3, 1, 0)
    (curve,) = curves([rows], [[]], {}, ["R", "N"], "posts")
    assert (curve.threads, curve.without_times) == (3, 0)


def test_the_hours_curve_is_the_same_without_posts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_corpus(tmp_path / "corpus.jsonl", 20)
    words = "--dataset jsonl:corpus.jsonl --how majority --when hours:0.6 --sea --seeds 1 --shots 4 --pool 0"
    assert run_main([*words.split(), "--report"]) == 0
    with duckdb.connect("hearsay.duckdb", read_only=True) as connection:
        (run,) = connection.execute("SELECT config_id FROM runs").fetchall()[0]
    with_posts = section(Path("report.html").read_text("utf-8"), "early")
    # the last post before the clock struck came at 30 minutes
    assert re.search(r"A\s+30 min\s+0.000\s+0%\s+A\s+1 h\s+0.3\d\d\s+100%\s+A\s+1.5 h", with_posts)
    assert "not in the curve" not in with_posts
    report.main([run, "--no-posts"])
    text = Path("report.html").read_text("utf-8")
    assert section(text, "early") == with_posts and "about the bridge" not in text
    Path("corpus.jsonl").unlink()
    report.main([run, "--no-posts"])
    text = section(Path("report.html").read_text("utf-8"), "early")
    assert re.search(r"A\s+36 min\s+0.3\d\d\s+100%", text) and "1.5 h" not in text
    assert re.search(r"\d+ labels after the stop are not in the curve by hours", text)


def test_a_frontier_for_each_corpus_and_its_labels() -> None:
    def side(letter: str, dataset: str, labels: list[str], points: list[tuple[float, float]]) -> Any:
        values = {
            f"posts:{number}": {
                "early_rate": SimpleNamespace(value=rate, low=None, high=None),
                "macro_f1": SimpleNamespace(value=f1, low=None, high=None),
            }
            for number, (rate, f1) in enumerate(points)
        }
        return SimpleNamespace(
            letter=letter,
            name=letter,
            task=f"{dataset} ({'/'.join(labels)})",
            results=SimpleNamespace(values=values),
        )

    one = side("A", "sample", ["R", "N"], [(0.1, 0.8), (0.5, 0.9)])
    other = side("B", "other", ["R", "N"], [(0.2, 0.3), (0.6, 0.4), (0.7, 0.35)])
    third = side("C", "other", ["T", "F"], [(0.9, 0.2)])
    text = pareto([one, other, third])
    assert text.count('class="frontier"') == 2
    assert "sample (R/N): A posts:0, A posts:1; other (R/N): B posts:0, B posts:1; other (T/F): C posts:0" in text
    text = pareto([one, side("B", "sample", ["R", "N"], [(0.2, 0.3)])])
    assert text.count('class="frontier"') == 1 and "no other beats in both: A posts:0, A posts:1." in text


def test_flipped_is_to_abstain_after_a_label_and_the_way_back_too() -> None:
    rows = [prediction("a", "R", None, 1), prediction("b", "R", "R", 1), prediction("c", "R", "R", 1)]
    later = [after("a", 2, "R"), after("b", 2, None), after("c", 1, "R", "stop"), after("c", 2, "R")]
    assert turned(rows, later) == {"a", "b"}


def test_reading_checkpoints_are_one_curve_and_policies_are_several() -> None:
    def rows(one: str, two: str) -> list[dict[str, Any]]:
        return [
            prediction("a", "R", "N", 1, checkpoint=one),
            prediction("a", "R", "R", 2, checkpoint=two),
            prediction("b", "N", "N", 1, checkpoint=one),
            prediction("b", "N", "N", 2, checkpoint=two),
        ]

    (curve,) = curves([rows("posts:1", "posts:2")], [[]], {}, ["R", "N"], "posts")
    assert curve.checkpoint is None and curve.macro_f1[1] == 1.0 and curve.answered == [1, 1, 1, 1]
    found = curves([rows("confidence:0.6", "confidence:0.9")], [[]], {}, ["R", "N"], "posts")
    assert [each.checkpoint for each in found] == ["confidence:0.6", "confidence:0.9"]
    assert found[1].macro_f1[0] == 0.0 and found[1].answered[0] == 0.0
    (clock,) = curves([rows("hours:1", "hours:6")], [[]], {}, ["R", "N"], "hours")
    # both posts were there within the hour, but the second checkpoint's clock had not struck
    assert clock.at[-1] == 6 and clock.macro_f1[clock.at.index(4)] < 1.0 and clock.macro_f1[-1] == 1.0


def test_calibration_by_hand() -> None:
    def row(thread: str, chance: float | None, label: str | None = "R") -> dict[str, Any]:
        odds = None if chance is None else {label: chance, "method": "logprobs"}
        return {"thread_id": thread, "gold": "R", "label": label, "probabilities": odds}

    rows = [row("a", 0.95), row("b", 0.97) | {"gold": "N"}, row("c", 0.55), row("d", None), row("e", 1.0, None)]
    found = calibration([rows])
    assert found is not None
    assert (found.n, found.of, found.methods) == (3, 5, ["logprobs"])
    assert [(each.n, each.accuracy) for each in found.bins] == [(1, 1.0), (2, 0.5)]
    assert found.ece == pytest.approx((abs(1 - 0.55) + 2 * abs(0.5 - 0.96)) / 3)
    assert found.low is not None and found.high is not None and found.low <= found.ece <= found.high
    assert calibration([[row("d", None)]]) is None


def test_a_run_without_anything_judged_is_a_page(here: Path) -> None:
    with duckdb.connect("hearsay.duckdb") as connection:
        connection.execute("DELETE FROM predictions WHERE run_id = 'readrun'")
    report.write(["reading"], Path("empty.html"), Path("hearsay.duckdb"), Console(quiet=True))
    text = Path("empty.html").read_text("utf-8")
    assert data(text, "index")["ids"] == []
    assert "0" in section(text, "run")
