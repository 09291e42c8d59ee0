"""JSDRV's training interrupted: by a kill, by a person who reviews it, and by mistakes on the command line."""

import json
import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from rich.console import Console

from corpora.errors import UsageError
from graphs.annotate_select_finetune import Input, builder
from graphs.jsdrv.progress import ask, read_line
from graphs.jsdrv.training import CHECKPOINTS, check, run
from tests.jsdrv_fake import Fake, cycle, epoch, trained, tree
from training.jsdrv import validating
from training.jsdrv.cycle import Cycle
from training.jsdrv.files import Journal, put, put_json
from training.jsdrv.watcher import Nobody

AMID = {
    **{"pre-training SD": None, "pre-training RV": None, "annotating claims": 4, "selecting claims": 8},
    **{"fine-tuning SD": None, "fine-tuning RV": None, "validating claims": 1},
}
"""Step -> how much of it is done at the kill; None for all of it, so that it only is not written yet."""
BEFORE = [
    *((0, "training"), (0, "validation")),
    *((2, name) for name in ("annotations", "selection", "training", "about")),
]
"""Epoch and file that was to be written next."""


class Killer(Nobody):
    """Ends its own process as kill -9 does, in the last epoch that has such a step."""

    def __init__(self, what: str) -> None:
        self.what, self.left = what, 3 if what.startswith("val") else 1 if what.startswith("pre") else 2

    def advance(self, what: str, done: int, total: int, numbers: str = "") -> None:
        if what == self.what and done == (AMID[what] or total):
            self.left -= 1
            if not self.left:
                os.kill(os.getpid(), signal.SIGKILL)


def train_until(out: Path, what: str | tuple[int, str]) -> None:
    if isinstance(what, str):
        trained(out, watcher=Killer(what))
    write = Cycle.write

    def write_or_die(self: Cycle, number: int, name: str, content: Any) -> Any:
        if (number, name) == what:
            os.kill(os.getpid(), signal.SIGKILL)
        return write(self, number, name, content)

    Cycle.write = write_or_die  # type: ignore[method-assign]
    if what == (2, "about"):
        validating.put_json = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    trained(out)


def killed(out: Path, what: str | tuple[int, str]) -> None:
    child = multiprocessing.get_context("fork").Process(target=train_until, args=(out, what))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a training that nobody interrupted."""
    out = tmp_path_factory.mktemp("whole")
    trained(out)
    return tree(out)


@pytest.mark.parametrize("what", [*AMID, *BEFORE])
def test_a_killed_training_goes_on_and_ends_as_if_it_had_not_been(
    what: str | tuple[int, str], whole: dict[str, bytes], tmp_path: Path
) -> None:
    killed(tmp_path, what)
    assert not (tmp_path / "about.json").exists()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("training/epoch-*/*.json")}
    assert len(before) == dict(zip([*AMID, *BEFORE], (0, 0, 6, 7, 8, 8, 9, 0, 1, 6, 7, 8, 10), strict=True))[what]
    trained(tmp_path)
    assert tree(tmp_path) == whole
    assert {path: path.stat().st_mtime_ns for path in before} == before, "no finished step was taken again"
    steps = {name: [step for step, _ in Fake.taught].count(name) for name, _ in Fake.taught}
    assert "pretrain veracity" not in steps or not before
    assert steps.get("veracity", 0) <= 2 and sum(steps.values()) <= 6


def test_files_take_their_place_whole_or_not_at_all(tmp_path: Path) -> None:
    def half(part: Path) -> None:
        part.mkdir()
        (part / "a").write_text("half")
        raise KeyboardInterrupt

    put(tmp_path / "networks", lambda part: (part.mkdir(), (part / "b").write_text("whole")))
    with pytest.raises(KeyboardInterrupt):
        put(tmp_path / "networks", half)
    assert [path.name for path in (tmp_path / "networks").iterdir()] == ["b"]
    put(tmp_path / "networks", lambda part: part.mkdir())
    assert {path.name for path in tmp_path.iterdir()} == {"networks"}
    put_json(tmp_path / "x.json", {"text": "\ud800"})
    assert json.loads((tmp_path / "x.json").read_text()) == {"text": "\ud800"}
    journal = Journal(tmp_path / "journal")
    journal.add([{"n": 1}])
    with journal.path.open("ab") as file:
        file.write(b'\n{"n": ')
    journal.add([{"n": 2}])
    with journal.path.open("ab") as file:
        file.write(b'\n{"n": 3}')
    assert journal.read() == [{"n": 1}, {"n": 2}]


def test_a_finished_training_is_recognised_and_another_refused(tmp_path: Path) -> None:
    trained(tmp_path, "epochs=1")
    before = tree(tmp_path)
    trained(tmp_path, "epochs=1")
    assert not Fake.taught
    assert tree(tmp_path) == before
    with pytest.raises(UsageError, match=r"other settings \(epochs, kappa\)"):
        trained(tmp_path, "epochs=2", "kappa=5")
    (tmp_path / "selector.safetensors").write_bytes(b"x")
    with pytest.raises(UsageError, match="no selector"):
        trained(tmp_path, "epochs=1")
    (tmp_path / "training" / "request.json").unlink()
    with pytest.raises(UsageError, match="another training"):
        trained(tmp_path, "epochs=1")


def test_a_person_may_veto_what_was_kept(tmp_path: Path) -> None:
    made = cycle(tmp_path, "epochs=1", review=True)
    compiled = builder.compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    Fake.taught.clear()
    (question,) = compiled.invoke(Input(), config, context=made)["__interrupt__"]
    state = compiled.get_state(config).values
    shown = json.loads(json.dumps(question.value))
    assert [each["id"] for each in shown["claims"]] == list(state["kept"])
    assert {name for name, _ in Fake.taught} == {"pretrain stances", "pretrain veracity"}, "nothing is learned yet"
    for answer in ("yes", {"veto": "p1"}, {"veto": [1]}, {"veto": ["nobody's"]}, {"veto": ["p1"]}):
        (question,) = compiled.invoke(Command(resume=answer), config, context=made)["__interrupt__"]
        assert question.value["problem"]
    assert question.value["problem"].startswith("p1 may mean"), "every claim here has a post p1"
    first, second = [each for each in shown["claims"] if each["posts"]][:2]
    answer = {"veto": [f"{first['id']}/{first['posts'][0]['id']}", second["id"]]}
    assert compiled.invoke(Command(resume=answer), config, context=made)["ended"] == "1 epochs"
    taught = dict(Fake.taught)
    assert [each.thread.id for each in taught["veracity"]] == [i for i in state["kept"] if i != second["id"]]
    learned = {(each.thread.id, each.thread.posts[each.number].id) for each in taught["stances"]}
    offered = {(each["id"], post["id"]) for each in shown["claims"] for post in each["posts"]}
    assert offered - learned == {(first["id"], first["posts"][0]["id"])} | {
        (second["id"], post["id"]) for post in second["posts"]
    }
    assert epoch(tmp_path, 1, "training")["vetoed"] == sorted(answer["veto"])


def test_a_person_may_stop_the_training(tmp_path: Path) -> None:
    made = cycle(tmp_path, review=True)
    answers = iter([{"veto": []}, "stop"])
    run(made, lambda shown: next(answers))
    about = check(tmp_path)
    assert about["ended"] == "stopped by the reviewer"
    assert [row["epoch"] for row in about["epochs"]] == [0, 1]
    assert (tmp_path / "networks" / "networks.json").is_file()


def test_an_answer_stands_when_the_checkpoints_are_gone(tmp_path: Path) -> None:
    asked: list[int] = []

    def answer(shown: dict[str, Any]) -> dict[str, list[str]]:
        if asked:
            raise KeyboardInterrupt
        asked.append(shown["epoch"])
        return {"veto": [shown["claims"][0]["id"]]}

    with pytest.raises(KeyboardInterrupt):
        run(cycle(tmp_path, review=True), answer)
    before = tree(tmp_path)
    (tmp_path / "training" / CHECKPOINTS).unlink()

    def other(shown: dict[str, Any]) -> dict[str, list[str]]:
        asked.append(shown["epoch"])
        return {"veto": []}

    run(cycle(tmp_path, review=True), other)
    assert asked == [1, 2], "nobody is asked about an epoch again"
    assert epoch(tmp_path, 1, "training")["vetoed"], "and what was learned by the answer is as it was"
    after, kept = tree(tmp_path), [name for name in before if "/networks/" not in name]  # but for the best, they go
    assert kept and {name: after[name] for name in kept} == {name: before[name] for name in kept}


def test_networks_are_closed_before_others_are_opened(tmp_path: Path) -> None:
    opened: list[Any] = []

    class Closing(Fake):
        def __init__(self, folder: Path | None, seed: int) -> None:
            assert all(each.closed for each in opened)
            super().__init__(folder, seed)
            self.closed = False
            opened.append(self)

        async def close(self) -> None:
            assert not self.closed
            self.closed = True

    made = cycle(tmp_path)
    made._opener = Closing
    run(made)
    assert len(opened) > 2 and all(each.closed for each in opened)


def test_the_terminal_asks_until_it_can_read_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ["c", "c/p1", "c/p2"]
    assert [read_line(line, rows) for line in ("y", "n", "2, 3", "4", "0", "x", "", "²")] == [
        *({"veto": []}, "stop", {"veto": ["c/p1", "c/p2"]}),
        *[None] * 5,
    ]
    claim = {"id": "c", "text": "a [red]claim\x1b[2J", "labelled": True, "veracity": "T", "explanation": "so"}
    post = {"id": "p1", "text": "no", "stance": "D", "explanation": "because"}
    replies = iter(["maybe", "2"])
    console = Console(record=True, width=100, quiet=False, file=open(os.devnull, "w"))  # noqa: SIM115
    monkeypatch.setattr(console, "input", lambda: next(replies))
    assert ask(console, {"epoch": 1, "claims": [{**claim, "posts": [post]}]}) == {"veto": ["c/p1"]}
    text = console.export_text()
    assert "a [red]claim" in text and "\x1b" not in text
