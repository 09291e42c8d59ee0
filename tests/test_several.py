"""Many runs, one after the other: one bill, chat models opened once, and what was measured printed however it ends."""

import asyncio
import signal
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import pytest

from agents.models import Message, Model, ModelSettings, Reply
from eval import controls, opening
from eval.run import main as run
from eval.study import main as study
from tests.debate_script import Speaker, write_debates
from tests.made_up import own_cache

PRICE = 1e-6
"""USD for a token."""


class Priced(Speaker):
    """A speaker whose tokens cost, who may tell none of them, and who may press Ctrl-C."""

    max_tokens = 50
    opened: ClassVar[list["Priced"]] = []

    def __init__(self, settings: ModelSettings, usage: bool, interrupt: bool):
        super().__init__()
        self.name, self.parameters = settings.model, {"temperature": settings.temperature}
        self.usage, self.interrupt = usage, interrupt
        self.loops: set[asyncio.AbstractEventLoop] = set()
        self.closed = 0
        self.alone = not any(not other.closed for other in self.opened)
        self.opened.append(self)

    async def complete(self, messages: list[Message], *, labels: tuple[str, ...] = (), sample: int = 0) -> Reply:  # type: ignore[override]
        self.loops.add(asyncio.get_running_loop())
        if self.interrupt:
            signal.raise_signal(signal.SIGINT)
            await asyncio.sleep(60)
        reply = await super().complete(messages, labels=labels, sample=sample)
        return reply if self.usage else Reply(reply.text)

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        return PRICE * (input_tokens + output_tokens)

    async def close(self) -> None:
        self.loops.add(asyncio.get_running_loop())
        self.closed += 1


@pytest.fixture
def speakers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """How chat models speak from now on; those that were opened are in Priced.opened."""
    monkeypatch.chdir(tmp_path)
    own_cache(tmp_path, monkeypatch)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setattr(Priced, "opened", [])
    how: dict[str, Any] = {"usage": True, "interrupt": False}

    def open_model(settings: ModelSettings, _: Any = None) -> Model:
        return Priced(settings, **how)

    monkeypatch.setattr(opening, "open_model", open_model)
    return how


@pytest.fixture
def corpus(tmp_path: Path) -> list[str]:
    path = write_debates(tmp_path / "debates.jsonl", comments=3, longest=6)
    return ["--dataset", f"jsonl:{path}", "--seeds", "1", "--limit", "4", "--concurrency", "1"]


ATTACKED = ["--how", "vanilla", "--when", "all-posts", "--split", "all", "--model", "openai:m", "--attack", "polite"]
CONTROLS = ["--method", "s2mad", "--model", "openai:m", "--controls"]
MANY = {"attack": (run, ATTACKED), "controls": (run, CONTROLS), "study": (study, ["rounds", "--model", "openai:m"])}
EACH = pytest.mark.parametrize("command", MANY)


def go(command: str, arguments: list[str]) -> int:
    """The exit code, of a user's mistake too."""
    main, words = MANY[command]
    try:
        return main([*words, *arguments])
    except SystemExit as end:
        return int(end.code or 0)


def rows(query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect("hearsay.duckdb", read_only=True) as connection:
        return connection.execute(query).fetchall()


@EACH
def test_models_are_opened_once_and_closed_at_the_end(command: str, speakers: Any, corpus: list[str]) -> None:
    assert go(command, corpus) == 0
    # of the controls, self-consistency has a temperature of its own
    assert len(Priced.opened) == (2 if command == "controls" else 1)
    assert [(each.closed, len(each.loops)) for each in Priced.opened] == [(1, 1)] * len(Priced.opened)
    assert len(rows("SELECT DISTINCT config_id FROM runs")) == {"attack": 2, "controls": 4, "study": 6}[command]


@EACH
def test_a_dry_run_opens_models_once_too(command: str, speakers: Any, corpus: list[str]) -> None:
    assert go(command, [*corpus, "--dry-run"]) == 0
    assert [each.closed for each in Priced.opened] == [1]


def test_a_local_model_makes_room_for_the_next(speakers: Any, corpus: list[str]) -> None:
    assert study(["debate", *corpus, "--models", "hf:a", "hf:b"]) == 0
    assert [(each.name, each.alone, each.closed) for each in Priced.opened] == [("hf:a", True, 1), ("hf:b", True, 1)]


@EACH
@pytest.mark.parametrize("usage", [True, False])
def test_max_cost_is_of_all_runs_together(
    command: str, usage: bool, speakers: Any, corpus: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    speakers["usage"] = usage
    assert go(command, [*corpus, "--max-cost", "1"]) == 0
    # what the calls cost at most, had nobody told their tokens
    at_most = "len(request->>'$[0].content' || coalesce(request->>'$[1].content', '')) / 4 * 1e-6 + 50e-6"
    cost = "cost" if usage else at_most
    ((every, calls),) = rows(f"SELECT sum({cost}), count(*) FROM calls WHERE NOT cached")
    Path("hearsay.duckdb").unlink()
    capsys.readouterr()
    assert go(command, [*corpus, "--max-cost", str(0.8 * every)]) == 2
    printed = capsys.readouterr()
    assert "INCOMPLETE: " in printed.out
    assert printed.err.strip().splitlines()[-1].startswith("error: --max-cost reached")
    ((spent, made),) = rows(f"SELECT sum({cost}), count(*) FROM calls WHERE NOT cached")
    assert 0 < made < calls
    if usage:
        assert 0.5 * every < spent <= 0.8 * every


@EACH
def test_the_first_run_can_end_it(command: str, speakers: Any, corpus: list[str]) -> None:
    speakers["interrupt"] = True
    assert go(command, corpus) == 130
    assert len(rows("SELECT run_id FROM runs")) == 1
    assert [each.closed for each in Priced.opened] == [1]


def test_an_interruption_between_runs_is_no_traceback(
    speakers: Any, corpus: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = controls.make_plan

    def interrupted(config: Any) -> Any:
        if config.how == "self-consistency":
            raise KeyboardInterrupt
        return made(config)

    monkeypatch.setattr(controls, "make_plan", interrupted)
    assert go("controls", corpus) == 130
    printed = capsys.readouterr()
    assert "is the debate worth it?" in printed.out and "INCOMPLETE: 2 of 4 runs" in printed.out
    assert "[3/4] self-consistency" not in printed.err and "Interrupted" in printed.err


def test_runs_are_counted_as_they_come(speakers: Any, corpus: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert go("study", corpus) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if line.startswith("[")]
    assert notes == [f"[{m + 1}/6] M = {m}" for m in range(6)]
    assert go("controls", corpus) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if line.startswith("[")]
    assert [line.partition(",")[0] for line in notes] == [
        "[1/4] S2MAD", "[2/4] one agent", "[3/4] self-consistency", "[4/4] self-correction",
    ]  # fmt: skip
