import asyncio

import pytest

from agents.budget import Budget
from agents.call_log import CallLog, address
from agents.models import BudgetExceeded, FatalModelError, ModelError, Reply
from corpora.errors import UsageError

COLUMNS = [
    *("run_id", "thread_id", "key", "cached", "role", "model", "endpoint", "parameters", "prompt_sha256"),
    *("request", "reply", "input_tokens", "output_tokens", "cost", "seconds", "created", "error"),
]


class FakeModel:
    """Answers after a moment; fails or waits as told."""

    name, endpoint, parameters = "fake:m", "nowhere", {"temperature": 0.0}
    max_prompt_tokens, max_tokens = 1000, 10

    def __init__(self, price=0.0, error=None, gate=None):
        self.price, self.error, self.gate, self.calls = price, error, gate, 0

    async def complete(self, messages, *, labels=(), sample=0):
        self.calls += 1
        await (self.gate.wait() if self.gate else asyncio.sleep(0.001))
        if self.error:
            raise self.error
        return Reply("Yes", {"Yes": 0.9, "No": 0.1}, "logprobs", 100, 1, 0.001)

    def count_text(self, text):
        return len(text)

    def count_tokens(self, messages):
        return 100

    def cost(self, input_tokens, output_tokens):
        return None if self.price is None else self.price * (input_tokens + output_tokens)

    async def close(self):
        pass


def message(text):
    return [{"role": "user", "content": text}]


def ask(log, model, text="q", thread="t", **more):
    return log.ask(model, message(text), role="detector", thread_id=thread, prompt_sha256="p", **more)


async def test_equal_calls_in_flight_are_one_call():
    rows, model = [], FakeModel()
    log = CallLog(record=rows.append)
    replies = await asyncio.gather(*(ask(log, model, thread=str(n)) for n in range(50)))
    assert model.calls == 1 and len(set(map(id, replies))) == 1
    assert (log.totals.calls, log.totals.cached, log.totals.input_tokens) == (1, 49, 100)
    assert [row["cached"] for row in rows].count(False) == 1
    assert sorted(int(row["thread_id"]) for row in rows) == list(range(50))


async def test_a_row_has_the_columns_of_the_calls_table():
    rows = []
    log = CallLog(record=rows.append, run_id="r")
    await ask(log, FakeModel())
    await ask(log, FakeModel(), thread="u")
    assert [list(row) for row in rows] == [COLUMNS, COLUMNS]
    first, again = rows
    assert first["request"] == message("q") and first["parameters"] == {"temperature": 0.0}
    assert first["reply"]["text"] == "Yes" and first["run_id"] == "r"
    assert again["cached"] and again["request"] is None and again["reply"] is None and again["cost"] == 0.0
    assert again["key"] == first["key"] and again["input_tokens"] == 100


async def test_the_use_is_recorded_before_the_asker_goes_on():
    order = []
    log = CallLog(record=lambda row: order.append("recorded"))
    await ask(log, FakeModel())
    order.append("went on")
    assert order == ["recorded", "went on"]


def test_the_address_is_of_everything_that_decides_the_reply():
    model, other = FakeModel(), FakeModel()
    other.parameters = {"temperature": 0.5}
    addresses = {
        address(model, message("q")),
        address(model, message("Q")),
        address(other, message("q")),
        address(model, message("q"), ("Yes", "No")),
        address(model, message("q"), (), 1),
    }
    assert len(addresses) == 5
    assert address(model, [{"content": "q", "role": "user"}]) in addresses  # order of keys is no difference


async def test_all_who_wait_get_the_error_and_nobody_gets_it_later():
    rows, model = [], FakeModel(error=ModelError("cut"))
    log = CallLog(record=rows.append)
    results = await asyncio.gather(*(ask(log, model) for _ in range(5)), return_exceptions=True)
    assert [str(result) for result in results] == ["cut"] * 5 and model.calls == 1
    assert log.totals.failed == 1 and log.totals.cached == 0
    assert all(row["error"] == "cut" and row["reply"] is None for row in rows) and len(rows) == 5
    model.error = None
    assert (await ask(log, model)).text == "Yes"
    assert model.calls == 2


async def test_a_bug_in_a_model_is_not_swallowed():
    log = CallLog()
    with pytest.raises(ZeroDivisionError):
        await ask(log, FakeModel(error=ZeroDivisionError()))


@pytest.mark.parametrize("leaves", [0, 1])
async def test_one_who_leaves_does_not_cancel_the_others(leaves):
    gate = asyncio.Event()
    model, rows = FakeModel(gate=gate), []
    log = CallLog(record=rows.append)
    waiting = [asyncio.create_task(ask(log, model, thread=str(n))) for n in range(3)]
    await asyncio.sleep(0.01)
    waiting[leaves].cancel()
    await asyncio.sleep(0.01)
    gate.set()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [isinstance(result, Reply) for result in results] == [n != leaves for n in range(3)]
    assert model.calls == (1 if leaves else 2)  # the request goes with the one who made it; the next makes it again


async def test_the_last_to_leave_cancels_the_call():
    gate = asyncio.Event()
    log, model = CallLog(), FakeModel(gate=gate)
    task = asyncio.create_task(ask(log, model))
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert not log._flights
    gate.set()
    assert (await ask(log, model)).text == "Yes" and model.calls == 2


async def test_stored_replies_are_fetched_in_batches():
    rows, model = [], FakeModel()
    first = CallLog(record=rows.append)
    await asyncio.gather(*(ask(first, model, text=str(n)) for n in range(40)))
    stored, fetches = {row["key"]: row for row in rows}, []

    async def fetch(keys):
        fetches.append(keys)
        return {key: stored[key] for key in keys}

    again = CallLog(known=set(stored), fetch=fetch)
    replies = await asyncio.gather(*(ask(again, model, text=str(n % 40)) for n in range(80)))
    assert model.calls == 40 and len(fetches) == 1 and len(fetches[0]) == 40
    assert replies[0].label_probabilities == {"Yes": 0.9, "No": 0.1} and replies[0].input_tokens == 100
    assert (again.totals.calls, again.totals.cached, again.totals.cost) == (0, 80, 0.0)


async def test_a_known_reply_that_is_gone_is_asked_for_again():
    async def fetch(keys):
        return {}

    model = FakeModel()
    log = CallLog(known={address(model, message("q"))}, fetch=fetch)
    await asyncio.gather(ask(log, model), ask(log, model))
    assert model.calls == 1 and log.totals.calls == 1


async def test_a_fetch_that_fails_reaches_those_who_wait():
    async def fetch(keys):
        raise OSError("disk")

    model = FakeModel()
    log = CallLog(known={address(model, message("q"))}, fetch=fetch)
    results = await asyncio.gather(ask(log, model), ask(log, model), return_exceptions=True)
    assert [type(result) for result in results] == [OSError, OSError] and model.calls == 0


async def test_no_call_is_made_that_might_go_over_the_budget():
    model = FakeModel(price=0.01)  # a call costs 1.01, and 1.10 at most
    log = CallLog(budget=Budget(3.0), models=[model])
    results = await asyncio.gather(*(ask(log, model, text=str(n)) for n in range(5)), return_exceptions=True)
    assert [type(result) for result in results] == [Reply, Reply, *[BudgetExceeded] * 3]
    assert model.calls == 2 and log.totals.calls == 2 and log.totals.cost == pytest.approx(2.02)
    assert (await ask(log, model, text="0")).text == "Yes"  # what was paid for is still there


async def test_a_budget_is_spent_before_a_call_is_refused():
    # ten at once may cost 11, and cost 10.1: those that do not fit beside each other wait for the others
    model = FakeModel(price=0.01)
    log = CallLog(budget=Budget(10.5), models=[model])
    await asyncio.gather(*(ask(log, model, text=str(n % 10)) for n in range(20)))
    assert model.calls == 10 and log.totals.cost == pytest.approx(10.1)


async def test_calls_whose_tokens_are_not_told_count_against_the_budget_at_their_most():
    class Silent(FakeModel):
        async def complete(self, messages, *, labels=(), sample=0):
            return Reply("Yes")

    log = CallLog(budget=Budget(3.0))
    for text in ("a", "b"):
        await ask(log, Silent(price=0.01), text=text)
    with pytest.raises(BudgetExceeded):
        await ask(log, Silent(price=0.01), text="c")


async def test_a_budget_of_nothing_allows_only_what_is_free():
    with pytest.raises(BudgetExceeded):
        await ask(CallLog(budget=Budget(0.0)), FakeModel(price=0.01))
    assert (await ask(CallLog(budget=Budget(0.0)), FakeModel())).text == "Yes"


async def test_a_budget_needs_a_price():
    with pytest.raises(UsageError, match="price of fake:m"):
        CallLog(budget=Budget(1.0), models=[FakeModel(price=None)])
    with pytest.raises(UsageError, match="price of fake:m"):
        await ask(CallLog(budget=Budget(1.0)), FakeModel(price=None))


async def test_a_cost_that_is_not_known_is_counted_apart():
    rows = []
    log = CallLog(record=rows.append)
    await ask(log, FakeModel(price=None))
    assert log.totals.unpriced == 1 and log.totals.cost == 0.0 and rows[0]["cost"] is None


async def test_a_dry_run_counts_and_asks_nothing():
    rows, model = [], FakeModel(price=0.01)
    log = CallLog(dry_run=True, record=rows.append, known={address(model, message("known"))})
    for text in ("a", "a", "b", "known"):
        assert (await ask(log, model, text=text)).text == ""
    await ask(log, model, text="c", labels=("Yes", "No"))
    assert (log.totals.calls, log.totals.cached, model.calls, rows) == (3, 2, 0, [])
    assert log.totals.input_tokens == 300 and log.totals.output_tokens == 10 + 10 + 4
    assert log.totals.cost == pytest.approx(3.24)


async def test_fatal_errors_are_recorded_too():
    rows = []
    log = CallLog(record=rows.append)
    with pytest.raises(FatalModelError):
        await ask(log, FakeModel(error=FatalModelError("401")))
    assert [row["error"] for row in rows] == ["401"]


async def test_a_record_that_fails_reaches_the_asker():
    def record(row):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await ask(CallLog(record=record), FakeModel())
