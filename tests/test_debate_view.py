"""`eval.show` of a debate: who saw what, what was said, and which posts the last words rest on."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from corpora.errors import UsageError
from corpora.thread import ClaimThread, Post
from eval import show, thread_view
from eval.debate_view import marks
from eval.store import Writer

POSTS = (
    Post("p1", "The old bridge is closed", 0.0, "ada", None),
    Post("p2", "Who says so?", 95.0, "bea", "p1"),
    Post("p3", "The city \x1b[2Jsays so, I saw the fence", 3700.0, "cem", "p1"),
    Post("p4", "[red]Nonsense[/red], I crossed it", 3800.0, "dee", "p1"),
    Post("p5", "Lovely weather", 3900.0, "eva", "p1"),
)


def turn(speaker: str, number: int, label: str | None, text: str, **more: Any) -> dict[str, Any]:
    """One turn, as a run stores it."""
    return {
        "speaker": speaker,
        "round": number,
        "label": label,
        "text": text,
        "cites": [],
        "unknown": 0,
        "calls": 1,
    } | more


DEBATE = {
    "subjective": False,
    "scores": {"p2": -0.25, "p3": 0.8, "p4": -1.0, "p5": None},
    "p": ["p3"],
    "n": ["p2", "p4"],
    "turns": [
        turn("p", 0, "non-rumor", "First words of p about [3].", cites=["p3"]),
        turn("n", 0, "rumor", "First words of n."),
        turn("p", 1, "rumor", "Last words\x07 of p.\nReally.", cites=["p3", "p4"], unknown=2),
        turn("n", 1, None, "[bold]mumble[/bold]", calls=2),
        turn("judge", 1, "rumor", "The judge has spoken.", cites=["p1"]),
    ],
    "flips": {"p": 1, "n": 0},
    "calls": 12,
    "gold": {"p3": "S", "p4": "D"},
}
CALLS = [
    {
        "thread_id": "t1",
        "key": str(number),
        "role": "scorer" if number < 4 else "judge",
        "model": "m",
        "cached": False,
        "request": [{"role": "user", "content": "a prompt"}],
        "reply": {"text": "a reply"},
    }
    for number in range(5)
]


def row(debate: object, checkpoint: str | None = None) -> dict[str, Any]:
    return {
        "thread_id": "t1",
        "checkpoint": checkpoint,
        "gold": "rumor",
        "label": "rumor",
        "outcome": "verdict",
        "stop_index": 5,
        "n_posts": 5,
        "rationale": "what the judge said",
        "debate": debate,
    }


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Store rows of one thread, and say what eval.show prints of it."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)

    def load(name: str, **options: object) -> SimpleNamespace:
        if name == "gone":
            raise UsageError("gone is not here")
        return SimpleNamespace(threads=[ClaimThread("t1", POSTS)])

    monkeypatch.setattr(thread_view, "load", load)

    def print_(*rows: dict[str, Any], dataset: str = "here", options: tuple[str, ...] = ()) -> str:
        run = {"run_id": "run0", "config_id": "conf", "seed": 0, "dataset": dataset, "config": {"dataset": dataset}}
        with Writer(tmp_path / "hearsay.duckdb", run) as writer:
            writer.add(predictions=list(rows), calls=CALLS)
        show.main(["run0", "t1", *options])
        return capsys.readouterr().out

    return print_


def test_a_debate_is_printed_in_its_order(shown: Any) -> None:
    text = shown(row(DEBATE))
    assert "\x1b" not in text and "\x07" not in text
    lines = [" ".join(each.split()) for each in text.splitlines()]
    assert "score side gold" in lines
    assert "2 1:35 -0.25 n bea Who says so?" in lines
    assert "3 1:01:40 +0.80 p S cem The city [2Jsays so, I saw the fence" in lines
    assert "4 1:03:20 -1.00 n D dee [red]Nonsense[/red], I crossed it" in lines
    assert "5 1:05:00 ? eva Lovely weather" in lines
    order = [
        "thread t1",
        "5 1:05:00 ? eva Lovely weather",
        "debate: 12 questions",
        "taken for an opinion: no",
        "p saw comments 3; n saw 2, 4",
        "changed sides: p 1 ×",
        "round 0, p (sees support): non-rumor",
        "First words of p about [3].",
        "round 0, n (sees opposition): rumor",
        "round 1, p (sees support): rumor",
        "Last words of p.",
        "cites these posts:",
        "[4] dee [red]Nonsense[/red], I crossed it",
        "and posts that do not exist: 2",
        "round 1, n (sees opposition): no label, asked 2 times",
        "[bold]mumble[/bold]",
        "cites no post",
        "round 1, judge: rumor",
        "[1] ada The old bridge is closed",
        "seed 0",
        "5 calls (scorer 4, judge 1); --all prints them",
    ]
    places = [next(n for n, each in enumerate(lines) if each.startswith(start)) for start in order]
    assert places == sorted(places)
    # a first turn names its posts by number; what they say stands with the last one
    assert "cites 3" in lines and text.count("Nonsense") == 2
    assert "a prompt" not in text and "what the judge said" not in text
    assert "a prompt" in shown(row(DEBATE), options=("--all",))


def test_without_its_corpus_ids_must_do(shown: Any) -> None:
    text = shown(row(DEBATE), dataset="gone")
    lines = [" ".join(each.split()) for each in text.splitlines()]
    assert "its posts cannot be shown: gone is not here" in lines
    assert "comment score side gold" in lines and "p4 -1.00 n D" in lines and "p5 ?" in lines
    assert "p saw comments p3; n saw p2, p4" in lines and "post p4" in lines and "post p1" in lines


def test_each_checkpoint_has_its_debate(shown: Any) -> None:
    early = DEBATE | {"scores": {"p2": -0.25}, "p": [], "n": ["p2"], "turns": DEBATE["turns"][:2], "subjective": None}
    text = shown(row(early, "posts:2"), row(DEBATE, "posts:5"))
    assert text.index("debate at posts:2: 12") < text.index("not known") < text.index("debate at posts:5: 12")
    assert "p saw comments none; n saw 2\n" in text and "score side gold side at posts:5" in " ".join(text.split())


def test_one_agent_and_no_comments(shown: Any) -> None:
    turns = [turn("agent", 0, "rumor", "Alone.")]
    text = shown(row(DEBATE | {"scores": {}, "p": [], "n": [], "turns": turns, "flips": {}, "gold": {}}))
    assert "round 0, agent (sees both): rumor" in text and "score" not in text.partition("debate")[0]


def test_marks_of_drawn_comments_have_a_side_and_no_score() -> None:
    """Without stance separation nobody scores."""
    assert marks([{"scores": {}, "p": ["a"], "n": ["b"]}]) == {"a": ("", "p", ""), "b": ("", "n", "")}
    both = marks([{"scores": {"a": 0.0}, "p": ["a"], "n": ["a"], "gold": {}}])
    assert both == {"a": ("0.00", "pn", "")}
    assert marks([]) == {}
