"""A chat endpoint on loopback that speaks the OpenAI protocol, with scripted replies and faults.

In a test: `async with ChatStub([{"contains": "flood", "reply": "Yes"}]) as stub: ... stub.url, stub.count`.
In a process of its own, for benchmarks and kill tests: `python -m tests.chat_stub --port 0 --reply No`, whose
first line of output is the base URL; `GET /count` there answers `{"count": N, "distinct": N}`. What no rule of
`--rules` matches is answered by `--script`, such as `tests.debate_script:reply`.

A rule is a dict, matched in order against the text of the last message:
    contains       text that must occur in it; absent: always matches
    reply          the answer (default "Yes"), or a function of the request that makes it
    finish_reason  why the reply ends where it does (default "stop")
    probabilities  word -> probability, shown as the top_logprobs of the reply's last token
    seconds        wait before answering
    fault          one of FAULTS, or a list: one a request, then the reply
    times          how many requests the fault hits (default: all; a list ends by itself)
    retry_after    seconds told with 429
    usage          what the completion tells of tokens, or a function of the request that makes it; where the reply
                   is a function, a token is four characters
"""

import argparse
import asyncio
import importlib
import json
import math
import re
from typing import Any

FAULTS = {
    "rate_limit": (429, {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}),
    "quota": (429, {"error": {"message": "no money left", "code": "insufficient_quota"}}),
    "server_error": (500, {"error": {"message": "oops"}}),
    "unauthorized": (401, {"error": {"message": "Incorrect API key provided"}}),
    "forbidden": (403, {"error": {"message": "not in your country"}}),
    "not_found": (404, {"error": {"message": "The model `nope` does not exist", "code": "model_not_found"}}),
    "bad_request": (400, {"error": {"message": "This model's maximum context length is 10 tokens"}}),
    "refuse_logprobs": (400, {"error": {"message": "logprobs are not supported by this model"}}),
    "vague_logprobs": (400, {"error": {"message": "unsupported parameter"}}),
    "garbage": (200, "<html>not JSON at all"),
    "list": (200, []),
    "null_choices": (200, {"id": "x", "object": "chat.completion", "choices": None}),
    "no_choices": (200, {"id": "x", "object": "chat.completion", "choices": []}),
    "empty": None,
    "null_content": None,
    "no_logprobs": None,
    "no_usage": None,
    "cut": None,
    "cut_body": None,
    "silence": None,
}
_USAGE = {"prompt_tokens": 100, "completion_tokens": 1, "total_tokens": 101}
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_TOKENS = re.compile(r"\s*\S+")


class ChatStub:
    """The server; what it was asked is kept in `requests`."""

    def __init__(self, rules: list[dict[str, Any]] | None = None, keep_requests: bool = True):
        self.rules = rules or [{}]
        self.requests: list[dict[str, Any]] = []
        self.keep_requests = keep_requests
        self.count = 0
        self.now = self.peak = 0
        self.seen: set[int] = set()
        self.hits: dict[int, int] = {}
        self.bodies: dict[int, str] = {}
        self.url = ""

    async def start(self, port: int = 0) -> "ChatStub":
        self.server = await asyncio.get_running_loop().create_server(lambda: _Connection(self), "127.0.0.1", port)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aenter__(self) -> "ChatStub":
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        self.server.close()

    def answer(self, request: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
        """The rule that matches and the fault that is due."""
        self.count += 1
        text = request["messages"][-1]["content"]
        self.seen.add(hash(json.dumps(request["messages"])))
        if self.keep_requests:
            self.requests.append(request)
        for n, rule in enumerate(self.rules):
            if rule.get("contains", "") in text:
                hit = self.hits[n] = self.hits.get(n, 0) + 1
                fault = rule.get("fault")
                if isinstance(fault, list):
                    fault = fault[hit - 1] if hit <= len(fault) else None
                elif hit > rule.get("times", hit):
                    fault = None
                if fault in ("refuse_logprobs", "vague_logprobs") and not request.get("logprobs"):
                    fault = None
                return rule, fault
        return {"reply": ""}, None


def _completion(request: dict[str, Any], rule: dict[str, Any], fault: str | None) -> dict[str, Any]:
    given = rule.get("reply", "Yes")
    text: str | None = given(request) if callable(given) else given
    if fault in ("empty", "null_content"):
        text = "" if fault == "empty" else None
    choice: dict[str, Any] = {
        "index": 0,
        "finish_reason": rule.get("finish_reason", "stop"),
        "message": {"role": "assistant", "content": text},
    }
    if request.get("logprobs") and fault != "no_logprobs":
        tokens = _TOKENS.findall(text or "")
        content = []
        for token in tokens:
            odds = {token: 1.0} if token is not tokens[-1] else rule.get("probabilities", {token: 1.0})
            top = [{"token": t, "logprob": math.log(p), "bytes": None} for t, p in odds.items()]
            top.sort(key=lambda entry: -entry["logprob"])
            own = next((entry["logprob"] for entry in top if entry["token"] == token), top[0]["logprob"])
            content.append({"token": token, "logprob": own, "bytes": None, "top_logprobs": top})
        choice["logprobs"] = {"content": content}
    body: dict[str, Any] = {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 0,
        "model": request.get("model"),
        "choices": [choice],
    }
    if fault != "no_usage":
        usage = rule.get("usage", _estimated(request, text) if callable(given) else _USAGE)
        body["usage"] = usage(request) if callable(usage) else usage
    return body


def _estimated(request: dict[str, Any], text: str | None) -> dict[str, int]:
    read = sum(len(message["content"]) for message in request["messages"]) // 4
    written = len(text or "") // 4 + 1
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


class _Connection(asyncio.Protocol):
    """One HTTP/1.1 connection, kept alive; just enough of the protocol for the openai client."""

    def __init__(self, stub: ChatStub):
        self.stub, self.buffer = stub, b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end]
            length = int(found[1]) if (found := _LENGTH.search(head)) else 0
            if len(self.buffer) < end + 4 + length:
                return
            body, self.buffer = self.buffer[end + 4 : end + 4 + length], self.buffer[end + 4 + length :]
            if head.startswith(b"GET /count"):
                self.send(200, {"count": self.stub.count, "distinct": len(self.stub.seen)})
            elif head.startswith(b"GET"):
                self.send(200, {"object": "list", "data": []})
            else:
                self.complete(json.loads(body))

    def complete(self, request: dict[str, Any]) -> None:
        rule, fault = self.stub.answer(request)
        self.stub.now += 1
        self.stub.peak = max(self.stub.peak, self.stub.now)
        if wait := rule.get("seconds"):
            asyncio.get_running_loop().call_later(wait, self.reply, request, rule, fault)
        else:
            self.reply(request, rule, fault)

    def reply(self, request: dict[str, Any], rule: dict[str, Any], fault: str | None) -> None:
        self.stub.now -= 1
        if fault == "silence":
            return
        if fault == "cut":
            self.transport.abort()
        elif fault == "cut_body":
            self.transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{")
            self.transport.close()
        elif fault is not None and (known := FAULTS[fault]):
            retry = f"retry-after: {rule['retry_after']}\r\n" if "retry_after" in rule else ""
            self.send(*known, extra=retry)
        else:
            self.send(200, _completion(request, rule, fault))

    def send(self, status: int, body: Any, extra: str = "") -> None:
        payload = (body if isinstance(body, str) else json.dumps(body)).encode()
        head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{extra}content-length: {len(payload)}"
        self.transport.write(head.encode() + b"\r\n\r\n" + payload)


async def _serve(args: argparse.Namespace) -> None:
    reply: Any = args.reply
    if args.script:
        module, _, name = args.script.partition(":")
        reply = getattr(importlib.import_module(module), name)
    rules = json.loads(args.rules) if args.rules else []
    if args.script or not args.rules:
        rules.append({"reply": reply, "seconds": args.seconds})
    stub = await ChatStub(rules, keep_requests=False).start(args.port)
    print(stub.url, flush=True)  # noqa: T201
    await stub.server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="An OpenAI-compatible chat stub on loopback.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--reply", default="Yes")
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--rules", help="JSON list of rules")
    parser.add_argument("--script", metavar="MODULE:NAME", help="a function of the request that makes the reply")
    asyncio.run(_serve(parser.parse_args()))
