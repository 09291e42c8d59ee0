"""Hearsay as a tool inside another agent: a LangGraph agent that may call it, and answers in its own words.

python examples/agent_with_tool.py                              # a stand-in for the agent's model: no key
python examples/agent_with_tool.py --model gpt-4o-mini          # OPENAI_API_KEY
python examples/agent_with_tool.py --model llama3 --base-url http://localhost:11434/v1
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

sys.path.insert(0, str(Path(__file__).parent.parent))  # where Hearsay is not installed, it is beside this file
from graphs.chat_tool import as_tool

THREAD = """Hearing they have closed the harbour bridge
source?
I am standing on it right now, cars are going over
my cousin says the same, police everywhere"""


class StandIn(FakeMessagesListChatModel):
    """A model that calls the tool once and then says that it did."""

    def bind_tools(self, tools: Any, **_: Any) -> "StandIn":
        """Tools change nothing of what it says."""
        return self


def build(model: BaseChatModel, **options: Any) -> Any:
    """An agent of two nodes: a model that may call Hearsay, and Hearsay."""
    tool = as_tool(**options)
    speaker = model.bind_tools([tool])

    def speak(state: MessagesState) -> dict[str, Any]:
        return {"messages": [speaker.invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("speak", speak)
    builder.add_node("tools", ToolNode([tool]))
    builder.add_edge(START, "speak")
    builder.add_conditional_edges("speak", tools_condition)
    builder.add_edge("tools", "speak")
    return builder


def stand_in(question: str = "") -> StandIn:
    """A stand-in that asks about THREAD."""
    call = {"name": "judge_rumor", "args": {"conversation": THREAD, "question": question}, "id": "1"}
    return StandIn(responses=[AIMessage("", tool_calls=[call]), AIMessage("That is what Hearsay says.")])


def main() -> None:
    """Ask the agent about a conversation, and print all that was said."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="name of an OpenAI-compatible chat model that can call tools")
    parser.add_argument("--base-url")
    options = parser.parse_args()
    model: BaseChatModel = stand_in()
    if options.model:
        from langchain_openai import ChatOpenAI

        model = ChatOpenAI(model=options.model, base_url=options.base_url)
    asked = {"messages": [{"role": "user", "content": f"Is this a rumor?\n{THREAD}"}]}
    for message in build(model).compile().invoke(asked)["messages"]:
        message.pretty_print()


if __name__ == "__main__":
    main()
