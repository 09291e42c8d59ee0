"""The openai client against a stub on loopback, and scripted models (local ones: test_local_chat.py)."""

import asyncio
import json
import socket
import subprocess
import sys
import time

import pytest

from agents.models import FatalModelError, ModelError, ModelSettings, open_model
from corpora.errors import UsageError
from tests.chat_stub import ChatStub

ASK = [{"role": "user", "content": "is it?"}]
YES_NO = ("Yes", "No")


async def complete(rule, *, labels=(), calls=1, **settings):
    """Open a model on a stub with one rule, ask, and return replies and stub."""
    async with ChatStub([rule]) as stub:
        model = open_model(ModelSettings("openai:m", base_url=stub.url, **settings), {})
        try:
            replies = [await model.complete(ASK, labels=labels) for _ in range(calls)]
        finally:
            await model.close()
        return replies, stub


async def failure(rule, **settings):
    async with ChatStub([rule]) as stub:
        model = open_model(ModelSettings("openai:m", base_url=stub.url, **settings), {})
        with pytest.raises((ModelError, FatalModelError)) as caught:
            await model.complete(ASK, labels=YES_NO)
        await model.close()
        return caught.value, stub


def test_importing_is_cheap():
    code = "import sys, agents.models; print(*[m for m in sys.modules if '.' not in m])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "transformers", "openai", "langchain_core", "pydantic", "numpy"} & set(loaded)


async def test_a_reply_is_read_with_its_tokens_and_label_probabilities():
    rule = {"reply": "Yes", "probabilities": {"Yes": 0.6, " yes": 0.1, "No": 0.2, "Maybe": 0.1}}
    (reply,), stub = await complete(rule, labels=YES_NO)
    assert (reply.text, reply.input_tokens, reply.output_tokens) == ("Yes", 100, 1)
    assert reply.label_probabilities == pytest.approx({"Yes": 7 / 9, "No": 2 / 9})
    assert reply.probability_method == "logprobs" and 0 < reply.seconds < 5
    asked = stub.requests[0]
    assert asked["messages"] == ASK and asked["logprobs"] is True and asked["top_logprobs"] == 5
    assert asked["temperature"] == 0.0 and asked["max_tokens"] == 512 and not asked["stream"]


async def test_a_reply_that_ran_out_of_tokens_says_so_and_its_probabilities_are_of_nothing():
    (reply,), _ = await complete({"reply": "it is Yes", "finish_reason": "length"}, labels=YES_NO, max_tokens=7)
    assert reply.cut == 7 and reply.label_probabilities is None
    (reply,), _ = await complete({"reply": "it is Yes"}, labels=YES_NO, max_tokens=7)
    assert reply.cut is None and reply.label_probabilities


async def test_logprobs_are_asked_for_only_where_a_label_is_wanted():
    (reply,), stub = await complete({"reply": "Once upon a time"})
    assert "logprobs" not in stub.requests[0] and reply.label_probabilities is None


@pytest.mark.parametrize("fault", ["refuse_logprobs", "vague_logprobs"])
async def test_an_endpoint_that_refuses_logprobs_is_asked_without_from_then_on(fault):
    replies, stub = await complete({"fault": fault}, labels=YES_NO, calls=3)
    assert [reply.text for reply in replies] == ["Yes"] * 3 and replies[0].label_probabilities is None
    assert [bool(asked.get("logprobs")) for asked in stub.requests] == [True, False, False, False]


async def test_a_bad_request_does_not_end_logprobs_where_they_were_accepted():
    async with ChatStub([{"fault": ["no_logprobs", "bad_request"]}]) as stub:
        model = open_model(ModelSettings("openai:m", base_url=stub.url), {})
        await model.complete(ASK, labels=YES_NO)
        with pytest.raises(ModelError, match=r"400: .*maximum context"):
            await model.complete(ASK, labels=YES_NO)
        assert (await model.complete(ASK, labels=YES_NO)).probability_method == "logprobs"
        assert stub.count == 3
        await model.close()


async def test_an_endpoint_that_ignores_logprobs_gives_none():
    (reply,), _ = await complete({"fault": "no_logprobs"}, labels=YES_NO)
    assert reply.text == "Yes" and reply.label_probabilities is None and reply.probability_method is None


@pytest.mark.parametrize("fault", ["rate_limit", "server_error", "cut", "cut_body"])
async def test_passing_faults_are_retried(fault):
    started = time.perf_counter()
    (reply,), stub = await complete({"fault": fault, "times": 1, "retry_after": 1.2}, labels=YES_NO)
    assert reply.text == "Yes" and stub.count == 2
    if fault == "rate_limit":
        assert time.perf_counter() - started >= 1.2  # Retry-After, not the back-off of 0.5 s


async def test_a_slow_answer_is_given_up_and_retried():
    (reply,), stub = await complete({"fault": "silence", "times": 1}, timeout=0.2)
    assert reply.text == "Yes" and stub.count == 2


@pytest.mark.parametrize(
    ("fault", "message"),
    [("rate_limit", "429: slow down"), ("server_error", "500: oops"), ("cut", "Connection error")],
)
async def test_after_the_last_retry_the_call_has_failed(fault, message):
    error, stub = await failure({"fault": fault, "retry_after": 0.01}, max_retries=1)
    assert isinstance(error, ModelError) and message in str(error) and stub.count == 2


@pytest.mark.parametrize("fault", ["garbage", "list", "null_choices", "no_choices"])
async def test_a_body_that_is_no_chat_completion_fails_the_call(fault):
    error, stub = await failure({"fault": fault})
    assert isinstance(error, ModelError) and stub.count == 1 and "\n" not in str(error)


@pytest.mark.parametrize("fault", ["empty", "null_content"])
async def test_an_empty_text_is_an_answer(fault):
    (reply,), _ = await complete({"fault": fault}, labels=YES_NO)
    assert reply.text == "" and reply.label_probabilities is None


async def test_tokens_that_are_not_told_are_not_guessed():
    (reply,), _ = await complete({"fault": "no_usage"})
    assert reply.input_tokens is None and reply.output_tokens is None


@pytest.mark.parametrize(("fault", "status"), [("unauthorized", "401"), ("forbidden", "403"), ("not_found", "404")])
async def test_what_no_retry_can_help_is_fatal_at_once(fault, status):
    error, stub = await failure({"fault": fault})
    assert isinstance(error, FatalModelError) and f"answers {status}: " in str(error) and stub.count == 1


async def test_a_reply_without_end_fails_the_call():
    error, _ = await failure({"reply": "Y" * 600_000})
    assert type(error) is ModelError and "a reply of 600,000 characters" in str(error)


async def test_an_account_without_quota_is_fatal():
    error, _ = await failure({"fault": "quota"}, max_retries=0)
    assert isinstance(error, FatalModelError) and "no money left" in str(error)


async def test_nobody_there_is_fatal_at_once():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        model = open_model(ModelSettings("openai:m", base_url=url), {})
        started = time.perf_counter()
        results = await asyncio.gather(*(model.complete(ASK) for _ in range(4)), return_exceptions=True)
    assert [type(result) for result in results] == [FatalModelError] * 4
    assert "cannot connect to http://127.0.0.1" in str(results[0])
    assert time.perf_counter() - started < 5  # the client's five retries would back off for over ten seconds
    await model.close()


async def test_requests_run_side_by_side():
    async with ChatStub([{"seconds": 2.0}]) as stub:
        model = open_model(ModelSettings("openai:m", base_url=stub.url), {})
        await asyncio.gather(*(model.complete(ASK) for _ in range(20)))
        assert stub.peak == 20  # all of them were waiting at once
        await model.close()


async def test_the_rate_limit_holds():
    async with ChatStub() as stub:
        model = open_model(ModelSettings("openai:m", base_url=stub.url, requests_per_second=20), {})
        started = time.perf_counter()
        await asyncio.gather(*(model.complete(ASK) for _ in range(10)))
        assert time.perf_counter() - started >= 0.4
        await model.close()


async def test_the_endpoint_that_is_stored_holds_no_secret():
    model = open_model(ModelSettings("openai:m", base_url="http://ann:secret@host:1/v1?key=secret"), {})
    assert model.endpoint == "http://host:1/v1"
    model = open_model(ModelSettings("openai:m"), {"OPENAI_API_KEY": "sk-secret"})
    assert model.endpoint == "https://api.openai.com/v1" and "secret" not in json.dumps(model.parameters)


async def test_prices():
    keyed = {"OPENAI_API_KEY": "k"}
    assert open_model(ModelSettings("openai:gpt-4o-mini-2024-07-18"), keyed).cost(10**6, 10**6) == pytest.approx(0.75)
    assert open_model(ModelSettings("openai:unheard-of"), keyed).cost(1, 1) is None
    elsewhere = ModelSettings("openai:gpt-4o-mini", base_url="http://localhost:1/v1")
    assert open_model(elsewhere, {}).cost(1, 1) is None  # another server's price is not OpenAI's
    own = ModelSettings("openai:m", base_url="http://localhost:1/v1", price=(1.0, 2.0))
    assert open_model(own, {}).cost(10**6, 10**6) == 3.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "gpt-4o-mini"}, "did you mean openai:gpt-4o-mini"),
        ({"model": "openai:"}, "no such model"),
        ({"model": "anthropic:x"}, "use openai:NAME, hf:PATH-OR-NAME or scripted:FILE"),
        ({"model": "encoder"}, "--how encoder"),
        ({"model": "openai:m"}, "OPENAI_API_KEY"),
        ({"model": "openai:m", "base_url": "localhost:8000"}, "--base-url must be an address"),
        ({"model": "openai:m", "temperature": 3}, "temperature must be between 0 and 2"),
        ({"model": "openai:m", "timeout": 0}, "timeout must be above 0"),
        ({"model": "openai:m", "max_retries": -1}, "max_retries"),
        ({"model": "openai:m", "price": (1, -1)}, "price"),
        ({"model": "openai:m", "requests_per_second": 0}, "requests_per_second"),
    ],
)
def test_bad_settings_are_usage_errors(settings, message):
    with pytest.raises(UsageError, match=message) as caught:
        open_model(ModelSettings(**settings), {})
    assert "\n" not in str(caught.value)


def scripted(tmp_path, script):
    path = tmp_path / "script.json"
    path.write_text(script if isinstance(script, str) else json.dumps(script), encoding="utf-8")
    return open_model(ModelSettings(f"scripted:{path}"), {})


async def test_a_scripted_model_answers_by_the_first_rule_that_matches(tmp_path):
    rules = [
        {"contains": "bridge", "reply": "Yes", "probabilities": {"Yes": 0.9, "No": 0.1}},
        {"regex": r"\bflood(ed)?\b", "reply": ["No", "Yes"], "seconds": 0.01},
        {"contains": "storm", "error": "the line is dead"},
    ]
    model = scripted(tmp_path, {"rules": rules, "default": "No"})

    async def say(text, **more):
        return await model.complete([{"role": "user", "content": text}], **more)

    assert (await say("the bridge flooded")).label_probabilities is None
    assert (await say("the bridge", labels=YES_NO)).label_probabilities == {"Yes": 0.9, "No": 0.1}
    assert [(await say("it flooded", sample=n)).text for n in range(3)] == ["No", "Yes", "No"]
    assert (await say("else")).text == "No" and model.cost(10, 10) == 0.0
    with pytest.raises(ModelError, match="the line is dead"):
        await say("a storm")


async def test_a_script_without_a_matching_rule_fails_the_call(tmp_path):
    model = scripted(tmp_path, {"rules": [{"contains": "a", "reply": "Yes"}]})
    with pytest.raises(ModelError, match="no rule"):
        await model.complete([{"role": "user", "content": "b"}])


def test_a_changed_script_is_another_model(tmp_path):
    before = scripted(tmp_path, {"default": "Yes"}).parameters
    assert scripted(tmp_path, {"default": "No"}).parameters != before


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("{", "cannot read"),
        ([], "a script is an object"),
        ({"rule": []}, "unknown key 'rule'"),
        ({"rules": [1]}, "rule 1: must be an object"),
        ({"rules": [{"reply": "x"}]}, "rule 1: needs one of contains and regex"),
        ({"rules": [{"contains": "x", "answer": "y"}]}, "unknown key 'answer'"),
        ({"rules": [{"contains": "x", "reply": "y"}, {"regex": "(", "reply": "y"}]}, "rule 2: regex: "),
        ({"rules": [{"contains": "x"}]}, "reply must be text"),
        ({"rules": [{"contains": "x", "reply": []}]}, "reply must be text"),
        ({"default": {"reply": "y", "seconds": -1}}, "default: seconds"),
        ({"default": {"reply": "y", "probabilities": {"Yes": 0.5}}}, "summing to 1"),
        ({"default": {"reply": "y", "probabilities": {"Yes": "a"}}}, "summing to 1"),
    ],
)
def test_bad_scripts_are_usage_errors(tmp_path, script, message):
    with pytest.raises(UsageError, match=message):
        scripted(tmp_path, script)
    with pytest.raises(UsageError, match="cannot read"):
        open_model(ModelSettings(f"scripted:{tmp_path}/nowhere.json"), {})
