"""What S2MAD is set beside: the verifiers that spend its tokens, and the command that runs all of them."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from agents.call_log import CallLog
from agents.models import Message, ModelError, ModelSettings, Reply, open_model
from agents.verifiers.controls import MAX_CORRECTIONS, MAX_SAMPLES, self_consistency, self_correction
from corpora.errors import UsageError
from corpora.labels import LABEL_SETS
from corpora.thread import ClaimThread, Post
from eval.run import main
from tests.debate_script import write_debates
from tests.made_up import stub_process

RUMOR = LABEL_SETS["rumor/non-rumor"]
BOTH = pytest.mark.parametrize("make", [self_consistency, self_correction])


def thread(n: int = 5, language: Any = "en") -> ClaimThread:
    return ClaimThread(
        "t", tuple(Post(f"p{i}", f"the dam leaks {i}", 60.0 * i, f"user{i}", None) for i in range(n)), language=language
    )


class Model:
    """Says its lines by sample, or by turn, and takes 100 tokens a call, a word being one."""

    name, endpoint, max_prompt_tokens, max_tokens = "openai:m", "in process", 2_000, 20

    def __init__(self, *lines: str, by_turn: bool = False, usage: bool = True, temperature: float | None = 0.7):
        self.lines, self.by_turn, self.usage = lines, by_turn, usage
        self.parameters: dict[str, Any] = {"temperature": temperature}
        self.asked: list[list[Message]] = []
        self.samples: list[int] = []

    async def complete(self, messages: list[Message], *, labels: tuple[str, ...] = (), sample: int = 0) -> Reply:
        assert labels == ()
        self.asked.append(messages)
        self.samples.append(sample)
        place = sum(message["role"] == "assistant" for message in messages) if self.by_turn else sample
        text = self.lines[place % len(self.lines)]
        return Reply(text, input_tokens=90 if self.usage else None, output_tokens=10 if self.usage else None)

    def count_text(self, text: str) -> int:
        return len(text.split())

    def count_tokens(self, messages: list[Message]) -> int:
        return sum(self.count_text(message["content"]) for message in messages)

    def cost(self, *_: int) -> float:
        return 0.0

    async def close(self) -> None:
        pass


async def judged(make: Any, model: Model, budget: int | None = None, seed: int = 0, **rest: Any) -> Any:
    verify = make(CallLog(), model, None, RUMOR, seed=seed, token_budget=budget)
    return await verify(thread(**rest))


@pytest.mark.parametrize(
    ("budget", "calls"), [(None, 5), (1, 1), (99, 1), (100, 1), (299, 1), (300, 3), (10**9, MAX_SAMPLES)]
)
async def test_as_many_samples_as_the_budget_pays_for(budget: int | None, calls: int) -> None:
    model = Model("Yes")
    verdict = await judged(self_consistency, model, budget)
    assert (verdict.label, verdict.probability_method) == ("rumor", f"samples:{calls}")
    assert model.samples == list(range(calls))
    assert all(asked == model.asked[0] for asked in model.asked)


async def test_samples_vote_and_a_tie_is_an_abstention() -> None:
    verdict = await judged(self_consistency, Model("Yes", "No", "hm", "Yes", "No", "Yes", "hm"), 700)
    assert verdict.label == "rumor" and verdict.probabilities == {"rumor": 0.6, "non-rumor": 0.4}
    verdict = await judged(self_consistency, Model("Yes", "No", "hm"), 400)
    assert (verdict.outcome, verdict.label, verdict.reason) == ("abstained", None, "2 replies are tied")
    verdict = await judged(self_consistency, Model("hm"))
    assert verdict.outcome == "abstained"


async def test_each_seed_draws_samples_of_its_own() -> None:
    model = Model("Yes")
    await judged(self_consistency, model, 300, seed=2)
    assert model.samples == [200, 201, 202]
    model = Model("Yes")
    await judged(self_correction, model, seed=2)
    assert model.samples == [2, 2, 2]


async def test_where_nobody_tells_tokens_they_are_counted() -> None:
    model = Model("Yes", usage=False)
    await judged(self_consistency, model, 1)
    one = model.count_tokens(model.asked[0]) + 1
    for calls in (1, 3, 5):
        model = Model("Yes", usage=False)
        await judged(self_consistency, model, one * calls + one // 2)
        assert len(model.samples) == calls


async def test_a_sample_that_fails_does_not_leave_the_others_behind() -> None:
    class Flaky(Model):
        async def complete(self, messages: list[Message], *, labels: tuple[str, ...] = (), sample: int = 0) -> Reply:
            if sample == 1:
                raise ModelError("the line is dead")
            await asyncio.sleep(0.01)
            return await super().complete(messages, labels=labels, sample=sample)

    used: list[dict[str, Any]] = []
    with pytest.raises(ModelError, match="line is dead"):
        await self_consistency(CallLog(record=used.append), Flaky("Yes"), None, RUMOR, seed=0, token_budget=None)(
            thread()
        )
    assert [row["error"] is None for row in used].count(True) == 4  # all but the one that failed


async def test_samples_at_temperature_0_would_be_all_the_same() -> None:
    with pytest.raises(UsageError, match="temperature above 0"):
        await judged(self_consistency, Model("Yes", temperature=0))
    assert (await judged(self_correction, Model("Yes", temperature=0))).label == "rumor"


async def test_samples_are_drawn_also_where_there_are_probabilities(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"default": {"reply": "Yes", "probabilities": {"Yes": 1.0, "No": 0.0}}}))
    log = CallLog()
    model = open_model(ModelSettings(f"scripted:{path}"), {})
    verdict = await self_consistency(log, model, None, RUMOR, seed=0, token_budget=None)(thread())
    assert verdict.probability_method == "samples:5" and log.totals.calls == 5


@BOTH
@pytest.mark.parametrize(("language", "reply", "label"), [("en", "No.", "non-rumor"), ("zh", "是", "rumor")])
async def test_both_languages(make: Any, language: str, reply: str, label: str) -> None:
    assert (await judged(make, Model(reply), language=language)).label == label


@BOTH
def test_four_classes_are_refused(make: Any) -> None:
    with pytest.raises(UsageError, match="--labels"):
        make(CallLog(), Model("Yes"), None, LABEL_SETS["veracity"], seed=0, token_budget=None)


async def test_the_agent_sees_its_own_answer_and_is_asked_again() -> None:
    model = Model("Yes, I think. Yes", "On second thoughts it is no rumor at all: No", by_turn=True)
    verdict = await judged(self_correction, model, 1)
    first, second = model.asked
    assert [message["role"] for message in second] == ["system", "user", "assistant", "user"]
    assert second[:2] == first and second[2]["content"] == "Yes, I think. Yes"
    assert "Look at your answer again" in second[3]["content"]
    assert verdict.label == "non-rumor" and verdict.rationale == model.lines[1]


async def test_calls_are_recorded_with_the_prompt_that_was_last() -> None:
    rows: list[dict[str, Any]] = []
    log = CallLog(record=rows.append)
    await self_correction(log, Model("Yes"), None, RUMOR, seed=0, token_budget=1)(thread())
    assert {call["role"] for call in rows} == {"detector"}
    assert len({call["prompt_sha256"] for call in rows}) == len(rows) == 2


@pytest.mark.parametrize(("budget", "calls"), [(None, 3), (1, 2), (10**9, MAX_CORRECTIONS + 1)])
async def test_corrections_go_on_while_the_next_one_fits(budget: int | None, calls: int) -> None:
    model = Model("Yes", by_turn=True)
    await judged(self_correction, model, budget)
    assert len(model.asked) == calls


async def test_corrections_stay_within_the_budget() -> None:
    spent: list[int] = []
    for budget in range(500, 3_000, 250):
        model = Model("Yes, because of [2]. Yes", by_turn=True, usage=False)
        await judged(self_correction, model, budget)
        spent.append(sum(model.count_tokens(asked) + 6 for asked in model.asked))
        assert spent[-1] <= budget
    assert spent == sorted(spent) and len(set(spent)) > 3


async def test_corrections_end_where_the_model_can_read_no_more() -> None:
    model = Model("word " * 200 + "Yes", by_turn=True, usage=False)
    model.max_tokens = 300
    await judged(self_correction, model, 10**9, n=400)
    assert 2 <= len(model.asked) < MAX_CORRECTIONS
    assert max(map(model.count_tokens, model.asked)) <= model.max_prompt_tokens


@pytest.mark.parametrize(
    ("lines", "label"),
    [(("Yes", "No", "hm"), "non-rumor"), (("Yes", "hm", "well"), "rumor"), (("hm", "well", "No"), "non-rumor")],
)
async def test_the_last_label_decides(lines: tuple[str, ...], label: str) -> None:
    assert (await judged(self_correction, Model(*lines, by_turn=True))).label == label


async def test_no_label_at_all_is_an_abstention() -> None:
    verdict = await judged(self_correction, Model("", "perhaps", by_turn=True))
    assert (verdict.outcome, verdict.label) == ("abstained", None)


# The command.


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture(scope="module")
def speaker() -> Iterator[str]:
    with stub_process([], "--script", "tests.debate_script:reply") as url:
        yield url


@pytest.fixture
def command(tmp_path: Path, speaker: str) -> list[str]:
    corpus = write_debates(tmp_path / "debates.jsonl", comments=5, longest=20)
    return ["--dataset", f"jsonl:{corpus}", "--method", "s2mad", "--model", "openai:m", "--base-url", speaker]


def rows(query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect("hearsay.duckdb", read_only=True) as connection:
        return connection.execute(query).fetchall()


def test_controls_run_after_the_debate_at_its_tokens(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*command, "--controls", "--seeds", "2", "--limit", "8", "--debater-model", "openai:n", "--k", "3"]
    arguments += ["--scorer-model", "openai:s"]
    assert main(arguments) == 0
    first = capsys.readouterr().out
    before, table = first.split("is the debate worth it?")
    assert "in the debates (16 debates on " in before
    names = ["S2MAD", "one agent", "self-consistency", "self-correction"]
    assert re.findall(r"^(?:S2MAD|one agent|self-\w+)(?=  )", table, re.MULTILINE) == names
    assert len(re.findall(r"p = ", table)) == 6
    runs = rows("""SELECT how, model, seed, config FROM runs ORDER BY started, seed""")
    # the same number beside the run's own debates
    (worth,) = re.findall(r"accuracy per 1,000 tokens a thread: (\S+)", before)
    assert re.search(rf"^S2MAD  .* {re.escape(worth)}\b", table, re.MULTILINE)
    assert [(how, model, seed) for how, model, seed, _ in runs] == [
        ("s2mad", "openai:m", 0),
        ("s2mad", "openai:m", 1),
        ("s2mad", "openai:m", 0),
        ("s2mad", "openai:m", 1),
        ("self-consistency", "openai:n", 0),
        ("self-consistency", "openai:n", 1),
        ("self-correction", "openai:n", 0),
        ("self-correction", "openai:n", 1),
    ]
    debate, _, alone, _, consistency, _, correction, _ = [json.loads(config) for *_, config in runs]
    assert debate["debate"] == {"k": 3} and alone["debate"] == {"k": 3, "ablate": "debate"}
    assert alone["scorer_model"] == "openai:s"
    ((spent,),) = rows("""SELECT avg(value) FROM metrics JOIN runs USING (run_id)
                          WHERE name = 'tokens_per_thread' AND how = 's2mad' AND config NOT LIKE '%ablate":%'""")
    for config, temperature in ((consistency, 0.7), (correction, 0.2)):
        assert config["token_budget"] == round(spent) and config["temperature"] == temperature
        assert config["scorer_model"] is config["debater_model"] is None and config["debate"] == {}
    for how in ("self-consistency", "self-correction"):
        ((mean,),) = rows(f"""SELECT avg(value) FROM metrics JOIN runs USING (run_id)
                              WHERE name = 'tokens_per_thread' AND how = '{how}'""")
        assert 0.5 * spent < mean <= spent

    # again: nothing is asked or judged, and the same is said
    calls = rows("SELECT count(*) FROM calls")
    assert main(arguments) == 0
    assert capsys.readouterr().out == first
    assert rows("SELECT count(*) FROM calls") == calls


def test_checkpoints_share_the_tokens(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--controls", "--seeds", "1", "--limit", "4", "--when", "posts:2,all"]) == 0
    table = capsys.readouterr().out.split("is the debate worth it?")[1]
    assert "one agent, posts:2" in table and "self-correction, posts:all" in table
    assert len(re.findall(r"p = ", table)) == 12
    heads = table.splitlines()[1]
    assert "accuracy" in heads and "calls" not in heads and "tokens" not in heads and "1,000" not in table
    assert "calls and tokens, which are those of all checkpoints together, are left out here" in table
    ((spent,),) = rows("""SELECT DISTINCT value FROM metrics JOIN runs USING (run_id)
                          WHERE name = 'tokens_per_thread' AND how = 's2mad' AND config NOT LIKE '%ablate":%'""")
    budgets = rows("SELECT config->>'token_budget' FROM runs WHERE how LIKE 'self%'")
    assert budgets == [(str(round(spent / 2)),)] * 2


def test_a_dry_run_asks_nothing(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--controls", "--seeds", "1", "--dry-run"]) == 0
    text = capsys.readouterr().out
    assert "new calls" in text and "three more runs" in text
    assert not Path("hearsay.duckdb").exists()


def test_max_cost_is_of_all_runs_together(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*command, "--controls", "--seeds", "1", "--limit", "3", "--price", "1", "1", "--concurrency", "1"]
    assert main(arguments) == 0
    ((every,),) = rows("SELECT sum(cost) FROM calls")
    ((debate,),) = rows("SELECT sum(cost) FROM calls WHERE role <> 'detector'")
    Path("hearsay.duckdb").unlink()
    capsys.readouterr()
    most = (debate + every) / 2
    with pytest.raises(SystemExit) as stop:
        main([*arguments, "--max-cost", str(most)])
    assert stop.value.code == 2
    printed = capsys.readouterr()
    assert "is the debate worth it?" in printed.out and "INCOMPLETE" in printed.out
    assert "--max-cost reached" in printed.err
    assert rows("SELECT sum(cost) FROM calls")[0][0] <= most


def test_a_debate_that_fails_has_no_controls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = write_debates(tmp_path / "debates.jsonl", comments=3, longest=5)
    Path("script.json").write_text(json.dumps({"default": {"error": "the line is dead"}}))
    command = ["--dataset", f"jsonl:{corpus}", "--method", "s2mad", "--model", "scripted:script.json", "--seeds", "1"]
    assert main([*command, "--controls"]) == 1
    assert "is the debate worth it?" not in capsys.readouterr().out
    assert rows("SELECT DISTINCT how FROM runs") == [("s2mad",)]


def test_a_control_that_fails_passes_its_code_on(
    tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    rules = [{"contains": "Look at your answer again", "fault": "bad_request"}]
    with stub_process(rules, "--script", "tests.debate_script:reply") as url:
        assert main([*command[:-1], url, "--controls", "--seeds", "1", "--limit", "4"]) == 1
    table = capsys.readouterr().out.split("is the debate worth it?")[1]
    assert "self-correction: PARTIAL" in table and "INCOMPLETE" in table
    assert len(re.findall(r"p = ", table)) == 4


def test_controls_are_of_the_whole_debate(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--ablate", "debate"], ["--method", "vanilla"]):
        with pytest.raises(SystemExit):
            main(["--method", "s2mad", "--model", "openai:m", "--controls", *arguments])
        assert "--controls are of the whole debate" in capsys.readouterr().err


def test_controls_do_not_train_an_agent_each(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--how", "s2mad", "--model", "openai:m", "--when", "eard", "--controls"])
    assert "--when eard:DIR" in capsys.readouterr().err
