"""What the chat takes, keeps and gives: messages, and plain values beside them."""

from collections.abc import Sequence
from typing import Annotated, get_args

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from corpora.thread import Language
from graphs.chatting.evidence import Judgement
from graphs.chatting.intents import Asked
from graphs.chatting.texts import say
from graphs.chatting.turns import Conversation


class Input(TypedDict):
    """What somebody says: a claim, a conversation, the next post, or a question about what was said of it."""

    messages: Annotated[list[AnyMessage], add_messages]


class Output(Input):
    """The answer is the last message."""

    judgement: Judgement | None
    """The verdict that the answer is about, and all that was computed for it."""


class State(Output):
    """What the nodes share; plain values beside the messages, so that any checkpointer can hold it."""

    conversation: Conversation | None
    """The posts at hand."""
    taken: int
    """Messages that were read already."""
    asked: Asked | None
    """What the last message asks for; None before a model has said."""
    notes: list[str]
    """What to tell of how it was read."""
    language: Language
    problem: str
    """Why it could not be done."""
    words: str
    """A model's paragraph."""
    waiting: bool
    """Whether a person was asked and has not answered."""


def human(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """What people said."""
    return [message for message in messages if isinstance(message, HumanMessage)]


def was_question(messages: Sequence[AnyMessage], message: AnyMessage) -> bool:
    """Whether a model read an earlier message as a question: it was answered, and not by taking it as a post."""
    after = messages[messages.index(message) + 1 :][:1]
    added = tuple(say("added", language, last="|").partition("|")[0] for language in get_args(Language))
    return bool(after) and isinstance(after[0], AIMessage) and not after[0].text.startswith(added)
