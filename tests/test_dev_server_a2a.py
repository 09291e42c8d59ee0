"""The same server spoken to by other agents (A2A): the official client where there is one, and plain JSON-RPC."""

import json
import urllib.error
import urllib.request
import uuid
from typing import Any

import pytest

from tests.conftest import Server
from tests.made_up import ROOT
from tests.test_dev_server import FLOOR, GRAPHS, POSTS, client
from tests.test_dev_server_mcp import small

PASTED = "\n".join(f"{n}. {post['text']}" for n, post in enumerate(POSTS, 1)) + "\n5. <script>alert(1)</script>"


def asked(url: str, body: bytes | None = None, **headers: str) -> tuple[int, Any]:
    """Status and JSON of an answer."""
    headers |= {"Content-Type": "application/json", "Accept": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


async def ids(server: Server) -> dict[str, str]:
    return {each["name"]: each["assistant_id"] for each in await client(server).assistants.search(limit=100)}


def sent(*parts: dict[str, Any], method: str = "SendMessage") -> bytes:
    message = {"role": "ROLE_USER", "messageId": str(uuid.uuid4()), "parts": parts}
    return json.dumps({"jsonrpc": "2.0", "id": "1", "method": method, "params": {"message": message}}).encode()


async def test_the_cards_tell_what_langgraph_json_says(server: Server) -> None:
    config = json.loads((ROOT / "langgraph.json").read_text("utf-8"))["graphs"]
    for graph in GRAPHS:
        (own,) = [each for each in await client(server).assistants.search(graph_id=graph, limit=50)
                  if each["metadata"].get("created_by") == "system"]  # fmt: skip
        _, card = asked(f"{server.url}/.well-known/agent-card.json?assistant_id={own['assistant_id']}")
        assert card["description"] == config[graph]["description"] == card["skills"][0]["description"]
        assert card["skills"][0]["metadata"]["inputSchema"]["supportsA2A"] is (graph == "chat")


async def test_the_official_client_talks_to_the_chat(server: Server) -> None:
    pytest.importorskip("a2a.client", reason="the A2A client comes with the extra `dev`")
    import httpx
    from a2a.client import A2ACardResolver, ClientConfig, create_client
    from a2a.types import Message, Part, Role, SendMessageRequest, TaskState

    path = f"/.well-known/agent-card.json?assistant_id={await small(server, 'chat', shots=12)}"
    async with httpx.AsyncClient(timeout=120) as http:
        card = await A2ACardResolver(http, server.url, agent_card_path=path).get_agent_card()
        agent = await create_client(card, ClientConfig(httpx_client=http, streaming=False))
        said = Message(role=Role.ROLE_USER, message_id=str(uuid.uuid4()), parts=[Part(text=PASTED)])
        (event,) = [event async for event in agent.send_message(SendMessageRequest(message=said))]
    (part,) = event.task.artifacts[0].parts
    assert event.task.status.state == TaskState.TASK_STATE_COMPLETED
    assert "rumor" in part.text.lower() and "<script" not in part.text, event


async def test_a_machine_is_given_posts_as_data_and_answers_or_says_what_is_wrong(server: Server) -> None:
    url = f"{server.url}/a2a/{await small(server, 'stop_then_detect', when='posts:2', **FLOOR)}"
    status, answer = asked(url, sent({"data": {"posts": POSTS}}))
    task = answer["result"]["task"]
    assert status == 200 and task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert "'judged': ['0', '1']" in task["artifacts"][0]["parts"][0]["text"]
    _, answer = asked(url, sent({"data": {"posts": [{"text": 7}]}}))
    failed = answer["result"]["task"]["status"]
    assert failed["state"] == "TASK_STATE_FAILED"
    assert "UsageError: posts.0.text: Input should be a valid string" in failed["message"]["parts"][0]["text"]
    for parts, told in [
        ([{"text": "is this true?"}], "does not support A2A conversational messages"),
        ([{"data": [1]}], "must contain a JSON object"),
        ([{"raw": "AAAA"}], "Unsupported part type"),
        ([], "at least one part"),
    ]:
        _, answer = asked(url, sent(*parts))
        assert told in answer["error"]["message"], answer


async def test_broken_messages_are_told_apart(server: Server) -> None:
    url = f"{server.url}/a2a/{(await ids(server))['chat']}"
    for body, code in [(b"{", -32700), (b"[]", -32600), (b'{"jsonrpc": "2.0", "id": 1}', -32600)]:
        assert asked(url, body)[1]["error"]["code"] == code
    assert asked(url, sent({"text": "x"}, method="Nope"))[1]["error"]["code"] == -32601
    assert "not found" in asked(f"{server.url}/a2a/{uuid.uuid4()}", sent({"text": "x"}))[1]["error"]["message"]


async def test_pages_of_strangers_may_not_use_the_server(server: Server) -> None:
    for origin in ("https://evil.example", "null", "https://smith.langchain.com.evil.example", "http://localhost.evil"):
        status, answer = asked(f"{server.url}/assistants/search", b"{}", Origin=origin)
        assert status == 403 and "ORIGINS" in answer["detail"]
    for origin in ("https://smith.langchain.com", "https://eu.smith.langchain.com", "http://localhost:7860"):
        assert asked(f"{server.url}/assistants/search", b"{}", Origin=origin)[0] == 200
    for body in (b"{", b"[]", b'{"assistant_id": 1}', b'{"assistant_id": "nope"}', b'{"assistant_id": "chat\\ud800"}'):
        status, answer = asked(f"{server.url}/runs/wait", body)
        assert status == 422 and answer["detail"] and "Traceback" not in answer["detail"]
