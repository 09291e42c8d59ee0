"""`eval.case`: a page of a thread, of runs with and without annotations, and of posts that mean harm."""

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import duckdb
import pytest

from eval import case
from eval.pages.escape import HIDES
from eval.run import main as run_main
from tests.made_up import own_cache

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>",
    "\u202egnp.exe\u202c \u2066x\u2069 \x1b[2J\x00 nothing\u200b\u2060here",
    "w" * 10_000,
    "'\"></p></li></ol><style>*{display:none}</style>&lt;b&gt;",
    "one\n\n\n\n\n\ntwo \U000e0041\U000e0042",
    "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 👩\u200d🚒",
)


class Page(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data


def write_corpus(path: Path, threads: int = 20) -> Path:
    """Rumors and others, each with a post of every stance; one of them is hostile."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(threads):
            texts = [f"claim {number} about the bridge", "yes it is", "no it is not", "is it?", "well well"]
            if number == 0:
                texts += HOSTILE
            posts = [
                {"id": f"t{number}-{i}", "parent": f"t{number}-0" if i else None, "seconds": 60 * i, "author": "a<b>",
                 "text": text, "stance": "SSDQC"[i % 5]}
                for i, text in enumerate(texts)
            ]  # fmt: skip
            veracity = "F" if number % 3 == 0 else "N"
            content = {"id": f"t{number}", "language": "en", "rumor": "rumor" if veracity == "F" else "non-rumor"}
            file.write(json.dumps(content | {"veracity": veracity, "posts": posts}) + "\n")
    return path


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of the majority, its annotations touched up as JSDRV would leave them."""
    place = tmp_path_factory.mktemp("judged")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        own_cache(place, patch)
        write_corpus(place / "corpus.jsonl")
        arguments = ["--dataset", "jsonl:corpus.jsonl", "--how", "majority", "--task", "joint", "--seeds", "2"]
        assert run_main([*arguments, "--shots", "4", "--pool", "0"]) == 0
        touch_up()
    return place


def touch_up() -> None:
    with duckdb.connect("hearsay.duckdb") as connection:
        (name,) = connection.execute("SELECT run_id FROM runs WHERE seed = 0").fetchone() or ("",)
        # whether t0 was drawn or not
        for table in ("predictions", "annotations"):
            connection.execute(f"DELETE FROM {table} WHERE thread_id = 't0'")
        posts = [f"t0-{i}" for i in range(5 + len(HOSTILE))]
        odds = json.dumps({"S": 0.7, "D": 0.1, "Q": 0.1, "C": 0.1})
        for number, post in enumerate(posts):
            values = [name, "t0", post, "SSDQC"[number % 5], "SDQC"[number % 4] if number != 4 else None]
            values += [odds, "because <b>\u202eit says so", "said <i>", bool(number % 2) if number else None]
            connection.execute(
                "INSERT INTO annotations (run_id, thread_id, post_id, gold, label, probabilities, explanation, reason, "
                "kept) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            )
        odds = json.dumps({"N": 0.2, "F": 0.8, "method": "classifier"})
        values = [name, "t0", "F", "F", odds, "verdict", len(posts) - 1, len(posts), "</section><script>"]
        connection.execute(
            "INSERT INTO predictions (run_id, thread_id, gold, label, probabilities, outcome, stop_index, n_posts, "
            "rationale) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            values,
        )


@pytest.fixture
def run(judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Its id, where one may change its database."""
    monkeypatch.chdir(tmp_path)
    own_cache(tmp_path, monkeypatch)
    for file in ("hearsay.duckdb", "corpus.jsonl"):
        shutil.copy(judged / file, tmp_path)
    with duckdb.connect("hearsay.duckdb", read_only=True) as connection:
        return str((connection.execute("SELECT run_id FROM runs WHERE seed = 0").fetchone() or [""])[0])


def read(path: str = "case.html") -> tuple[str, Page]:
    text = Path(path).read_text("utf-8")
    return text, Page(text)


def test_a_hostile_thread_is_a_page_that_does_nothing(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    case.main([run])
    printed = capsys.readouterr().out
    assert "thread t0: a rumor, judged rightly, with kept and discarded posts, with at least two stances" in printed
    text, page = read()
    assert not page.open
    assert not {"script", "img", "iframe", "form", "object"} & set(page.tags)
    assert page.tags.count("style") == 1
    assert page.tags.count("li") == 5 + len(HOSTILE)
    assert not {name for name in page.attributes if name.startswith("on")}
    assert "src" not in page.attributes
    assert re.findall(r'href="([^"#][^"]*)"', text) == ["data:,"]  # the icon: there is none
    assert "default-src 'none'" in text
    # hostile characters are named, not sent; the joiner of an emoji is
    assert not HIDES.search(text)
    for name in ("U+202E", "U+2066", "U+001B", "U+0000", "U+200B", "U+E0041"):
        assert name in page.text
    assert "👩\u200d🚒" in text
    assert "w" * 10_000 in text
    assert "overflow-wrap: anywhere" in text
    assert "one\n\ntwo" in text
    assert "<script>alert(1)</script>" in page.text


def test_it_shows_stances_kept_posts_and_the_verdict(run: str) -> None:
    case.main([run, "t0", "-o", "deep/page.html"])
    text, page = read("deep/page.html")
    assert text.count('class="post kept"') == 5
    assert text.count('class="post discarded"') == 4
    assert text.count('class="post unread"') == 1  # the verdict came one post before the end
    assert text.count('class="post claim"') == 1
    assert 'class="S" x="0.0" width="70.0"' in text
    assert "no stance" in page.text and "because <b>" in page.text
    assert page.text.count("right: annotators say") + page.text.count("wrong: annotators say") == 11
    verdict = page.text.partition("The verdict")[2]
    assert "F, false rumor" in verdict
    assert "right: the corpus says F, false rumor" in verdict
    assert "given after 10 of 11 posts" in verdict
    assert "0.80" in verdict and "classifier" in verdict and "</section><script>" in verdict
    assert f"run {run}" in page.text


def test_a_thread_without_probabilities_or_selection(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    with duckdb.connect("hearsay.duckdb") as connection:
        query = "SELECT config_id, min(thread_id) FROM runs JOIN predictions USING (run_id) WHERE seed = 1 GROUP BY 1"
        config, thread = connection.execute(query).fetchone() or ("", "")
    case.main([config, thread, "--seed", "1"])
    text, page = read()
    assert 'class="bar"' not in text
    assert "comments" in page.text and "kept" not in page.text
    capsys.readouterr()
    case.main([config, "--seed", "1"])
    assert "none is also" in capsys.readouterr().out


def row(**values: Any) -> dict[str, Any]:
    common = {"thread_id": "t", "gold": "F", "label": "F", "posts": 8, "kept": 3, "discarded": 4}
    return common | {"stances": 2, "stances_kept": 1} | values


def test_choose_prefers_what_shows_most() -> None:
    rows = [
        row(thread_id="wrong", label="T", stances=4),
        row(thread_id="no rumor", gold="N", label="N", stances=4),
        row(thread_id="all kept", discarded=0, stances=4),
        row(thread_id="one stance", stances=1),
        row(thread_id="endless", posts=300, stances_kept=4),
        row(thread_id="plain"),
        row(thread_id="best", stances_kept=3, stances=3),
    ]
    assert case.choose(rows)[0] == "best"
    assert case.choose(rows[:5])[0] == "endless"
    name, why = case.choose(rows[1:2])
    assert (name, why) == (
        "no rumor",
        "judged rightly, with kept and discarded posts, with at least two stances; none is also a rumor",
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nowhere"], "no run or configuration nowhere"),
        (["RUN", "t999"], "has not judged a thread t999"),
        (["RUN", "--seed", "7"], "--seed 7"),
        (["RUN", "t0", "-o", "corpus.jsonl/x.html"], "cannot write corpus.jsonl/x.html"),
        (["RUN", "--db", "none.duckdb"], "no database"),
    ],
)
def test_a_users_mistake_is_one_line(words: list[str], says: str, run: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    with pytest.raises(SystemExit):
        case.main([run if word == "RUN" else word for word in words])
    message = capsys.readouterr().err
    assert message.startswith("error: ") and message.count("\n") == 1
    assert says in message


@pytest.mark.parametrize("table", [True, False], ids=["no rows", "no table"])
def test_a_run_without_annotations(table: bool, run: str, capsys: pytest.CaptureFixture[str]) -> None:
    with duckdb.connect("hearsay.duckdb") as connection:
        connection.execute("DELETE FROM annotations" if table else "DROP TABLE annotations")
    capsys.readouterr()
    with pytest.raises(SystemExit):
        case.main([run, "t0"])
    assert "has no annotations: its majority gives no stances" in capsys.readouterr().err


def test_a_corpus_that_is_gone(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("corpus.jsonl").unlink()
    with pytest.raises(SystemExit):
        case.main([run, "t0"])
    assert capsys.readouterr().err.startswith("error: ")
