r"""`scripted:FILE`: a chat model whose replies are written down, for tests and demonstrations.

The file is JSON. Rules are tried in order against the prompt's text (all messages, joined by newlines):

    {"rules": [{"contains": "bridge", "reply": "Yes", "probabilities": {"Yes": 0.9, "No": 0.1}},
               {"regex": "\\bflood(ed)?\\b", "reply": ["No", "Yes"], "seconds": 0.05},
               {"contains": "storm", "error": "the line is dead"}],
     "default": {"reply": "No"}}

Of a list of replies, sample n gets the n-th (counted round). A rule with `error` fails the call with a
ModelError. `probabilities` are given where a label is asked for. A prompt that no rule matches, without a
default, fails the call.
"""

import asyncio
import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents.models import Message, ModelError, ModelSettings, Reply, estimate_tokens
from corpora.errors import UsageError

_KEYS = {"contains", "regex", "reply", "probabilities", "seconds", "error"}


class ScriptedChat:
    """A model that reads its lines from a file."""

    endpoint = "scripted"

    def __init__(self, path: str, settings: ModelSettings):
        try:
            text = Path(path).read_text(encoding="utf-8")
            script = json.loads(text)
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot read the scripted model {path}: {error}") from error
        if not isinstance(script, dict) or not isinstance(script.get("rules", []), list):
            raise UsageError(f'{path}: a script is an object with "rules" (a list) and "default"')
        if unknown := set(script) - {"rules", "default"}:
            raise UsageError(f"{path}: unknown key {sorted(unknown)[0]!r}; a script has: rules, default")
        self._rules = [_rule(rule, f"{path}, rule {n}") for n, rule in enumerate(script.get("rules", []), 1)]
        if "default" in script:
            default = script["default"]
            default = {"reply": default} if isinstance(default, str) else default
            self._rules.append(_rule(default, f"{path}, default") | {"contains": ""})
        self.name = f"scripted:{Path(path).name}"
        # a changed script is another model: its old replies must not be served from the call log
        self.parameters: dict[str, Any] = {"script_sha256": hashlib.sha256(text.encode()).hexdigest()}
        self.max_prompt_tokens, self.max_tokens = settings.max_prompt_tokens, settings.max_tokens

    async def complete(self, messages: Sequence[Message], *, labels: tuple[str, ...] = (), sample: int = 0) -> Reply:
        """Answer by the first rule that matches; see agents.models.Model."""
        text = "\n".join(message["content"] for message in messages)
        for rule in self._rules:
            if rule["contains"] in text if "contains" in rule else rule["regex"].search(text):
                break
        else:
            raise ModelError("no rule of the script matches the prompt, and it has no default")
        if seconds := rule.get("seconds", 0):
            await asyncio.sleep(seconds)
        if "error" in rule:
            raise ModelError(rule["error"])
        reply = rule["reply"] if isinstance(rule["reply"], str) else rule["reply"][sample % len(rule["reply"])]
        probabilities = rule.get("probabilities") if labels else None
        return Reply(
            reply,
            probabilities,
            "scripted" if probabilities else None,
            input_tokens=estimate_tokens(text),
            output_tokens=estimate_tokens(reply),
            seconds=seconds,
        )

    def count_text(self, text: str) -> int:
        """Estimate the tokens of a text."""
        return estimate_tokens(text)

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Estimate the tokens of a prompt."""
        return sum(estimate_tokens(message["content"]) for message in messages)

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """Nothing."""
        return 0.0

    async def close(self) -> None:
        """Nothing to give back."""


def _rule(rule: Any, where: str) -> dict[str, Any]:
    """Check one rule and compile its pattern.

    Raises:
        UsageError: it is not a rule; says where and why.
    """
    if not isinstance(rule, dict):
        raise UsageError(f"{where}: must be an object")
    if unknown := set(rule) - _KEYS:
        raise UsageError(f"{where}: unknown key {sorted(unknown)[0]!r}; a rule has: {', '.join(sorted(_KEYS))}")
    checked = dict(rule)
    if not where.endswith("default") and len({"contains", "regex"} & set(rule)) != 1:
        raise UsageError(f"{where}: needs one of contains and regex")
    for name in ("contains", "regex", "error"):
        if name in rule and not isinstance(rule[name], str):
            raise UsageError(f"{where}: {name} must be text")
    if "regex" in rule:
        try:
            checked["regex"] = re.compile(rule["regex"])
        except re.error as error:
            raise UsageError(f"{where}: regex: {error}") from error
    reply = rule.get("reply")
    texts = reply if isinstance(reply, list) and reply else [reply]
    if "error" not in rule and not all(isinstance(text, str) for text in texts):
        raise UsageError(f"{where}: reply must be text, or a list of texts")
    if not isinstance(rule.get("seconds", 0), int | float) or rule.get("seconds", 0) < 0:
        raise UsageError(f"{where}: seconds must be a number, 0 or more")
    if "probabilities" in rule:
        odds = rule["probabilities"]
        numbers: list[Any] = list(odds.values()) if isinstance(odds, dict) else [None]
        if not all(isinstance(p, int | float) and p >= 0 for p in numbers) or not abs(sum(numbers) - 1) < 1e-6:
            raise UsageError(f"{where}: probabilities must be word -> number, summing to 1")
    return checked
