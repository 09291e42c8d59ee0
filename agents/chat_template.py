"""Messages as the one text that a local model reads.

Text in a message that spells one of the tokenizer's special tokens is broken up, so that no post can end its message.
"""

from collections.abc import Sequence
from typing import Any

from agents.models import Message


class ChatTemplate:
    """The chat template of a tokenizer; for one that has none, the messages and `Answer:`."""

    def __init__(self, tokenizer: Any):
        self._tokenizer = tokenizer
        self._special = [t for t in tokenizer.all_special_tokens if len(t) > 2]

    @property
    def space(self) -> str:
        """Without a chat template the answer follows a colon, and a word there begins with its space."""
        return "" if self._tokenizer.chat_template else " "

    def render(self, messages: Sequence[Message]) -> str:
        """The messages as one text that ends where the reply begins, or goes on."""
        if messages[-1]["role"] == "assistant":
            return self.render(messages[:-1]) + self.space + self.defuse(messages[-1]["content"])
        safe = [{**message, "content": self.defuse(message["content"])} for message in messages]
        if not self._tokenizer.chat_template:
            texts = [("Answer: " if m["role"] == "assistant" else "") + m["content"] for m in safe]
            return (self._tokenizer.bos_token or "") + "\n\n".join([*texts, "Answer:"])
        if safe[0]["role"] == "system" and not self._knows_system(safe):
            first = {"role": "user", "content": f"{safe[0]['content']}\n\n{safe[1]['content']}"}
            safe = [first, *safe[2:]]
        return self._template(safe)

    def _template(self, messages: list[Message]) -> str:
        text: str = self._tokenizer.apply_chat_template(
            messages,
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=False,  # templates that know no such switch ignore it
        )
        return text

    def _knows_system(self, messages: list[Message]) -> bool:
        from jinja2 import TemplateError

        try:
            return messages[0]["content"].strip() in self._template(messages)
        except TemplateError:  # some templates refuse the role
            return False

    def defuse(self, text: str) -> str:
        """Text in which no special token is spelled."""
        for token in self._special:
            text = text.replace(token, f"{token[0]} {token[1:]}")
        return text
