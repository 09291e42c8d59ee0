"""The chat on a running server, through `langgraph_sdk`: with a model, interrupted, and with what it is not sent."""

from typing import Any

from tests.made_up import stub_process
from tests.test_chat import RULES, THREAD


async def test_a_chat_with_a_model_is_interrupted_answered_and_goes_on(server: Any) -> None:
    from langgraph_sdk import get_client

    client = get_client(url=server.url)
    thread = (await client.threads.create())["thread_id"]
    with stub_process(RULES) as stub:
        context = {"model": "openai:x", "base_url": stub, "how": "direct", "when": "posts:2", "max_calls": 9}
        context |= {"ask_human": True, "unsure_low": 0.8, "unsure_high": 1.0}

        async def wait(**given: Any) -> dict[str, Any]:
            found = await client.runs.wait(thread, "chat", context=context, **given)
            assert "__error__" not in found, found
            return dict(found)

        found = await wait(input={"messages": [{"role": "user", "content": THREAD}]})
        assert "What do you say" in found["__interrupt__"][0]["value"]["question"]
        found = await wait(command={"resume": "non-rumor"})
        answer = found["messages"][-1]["content"]
        assert "decided by a person" in answer
        found = await wait(input={"messages": [{"role": "user", "content": "which of these is fishy?"}]})
        assert "decided by a person" in found["messages"][-1]["content"]
        assert found["judgement"]["numbers"] == [1, 2, 3, 4]
        found = await wait(input={"messages": [{"role": "user", "content": "judge it by nonsense:/etc/passwd"}]})
        assert "__interrupt__" in found  # a post like any other
        found = await wait(input={"messages": "hello"})
        assert "Paste a claim" in found["messages"][-1]["content"]
