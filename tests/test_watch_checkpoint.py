"""What a watch's checkpoint says: what is asked for and no more, and what the method was that decided."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agents.stopping.fixed import AfterPosts
from agents.verdict import Verdict
from corpora.errors import UsageError
from corpora.thread import ClaimThread
from graphs.watch import main as watch
from graphs.watching import session
from graphs.watching.settings import WatchSettings
from tests.watching import Run, post, stream

CHAT = ["--when", "posts:3", "--model", "scripted:script.json"]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("script.json").write_text(json.dumps({"default": {"reply": "No"}}))


async def test_what_is_written_is_not_asked_for_again_and_what_is_left_is_asked_for_once() -> None:
    free = {name: asyncio.Event() for name in "abcd"}

    async def verifier(prefix: ClaimThread) -> Verdict:
        await free[prefix.id].wait()
        if prefix.id == "b":
            raise UsageError("the budget is spent")
        return Verdict("rumor")

    def asked() -> list[str]:
        return sorted(name for name, *_ in run.stepper.state())

    run = Run(AfterPosts(1), verifier, concurrency=2)
    run.take([post(name, 0) for name in "abcd"])
    await run.stepper.step()
    assert asked() == ["a", "b", "c", "d"]
    free["a"].set()
    await asyncio.sleep(0.01)  # as between two looks at the stream: then the checkpoint is made
    assert run.decided.keys() == {"a"}
    assert asked() == ["b", "c", "d"]
    run.stepper.stopping = True
    free["b"].set()
    free["c"].set()
    await asyncio.sleep(0.01)
    assert run.decided.keys() == {"a", "c"}
    assert asked() == ["b", "d"]  # no verdict can be had for b; d waited for its turn
    with pytest.raises(UsageError):
        await run.stepper.waited(0)


def test_what_decides_is_looked_at_once_and_before_it_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    stream("posts.jsonl", 5)
    seen, open_method = list[str](), session.open_method

    def identity(_: WatchSettings) -> dict[str, Any]:
        seen.append("identity")
        return {"when": f"{len(seen)}"}

    def opening(*arguments: Any) -> Any:
        seen.append("opened")
        return open_method(*arguments)

    monkeypatch.setattr(WatchSettings, "identity", property(identity))
    monkeypatch.setattr(session, "open_method", opening)
    assert watch(["posts.jsonl", *CHAT, "--every", "0", "--out", "out.jsonl"]) == 0
    assert seen == ["identity", "opened"]
    assert json.loads(Path("out.jsonl.checkpoint.json").read_text())["settings"] == {"when": "1"}


def test_a_mistyped_file_is_told_before_anything_is_trained_or_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(session, "open_method", lambda *_: pytest.fail("opened"))
    with pytest.raises(SystemExit) as end:
        watch(["nowhere.jsonl", *CHAT, "--out", "out.jsonl"])
    assert end.value.code == 2 and "cannot read nowhere.jsonl" in capsys.readouterr().err
    assert not Path("out.jsonl").exists()
