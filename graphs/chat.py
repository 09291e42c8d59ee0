"""Talk about a claim: messages in, messages out, and what was computed beside them.

A message is read by rules (`graphs/chatting/intents.py`), then by a model if there is one; posts in it are taken in
(`turns.py` there), judged (`evidence.py`) and weighed (`weighing.py`), and told (`answers.py`). Where the verdict is
unsure a person may be asked. A user's mistake is a line of the chat, not an error of the run.
"""

from typing import Any, Literal

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from agents.models import ModelError
from corpora.clean import language_of
from corpora.errors import UsageError
from corpora.labels import LABEL_SETS
from corpora.thread import Language
from graphs.chatting import answers
from graphs.chatting import model as chat_model
from graphs.chatting.context import ChatContext
from graphs.chatting.evidence import Judgement, judge, unsure
from graphs.chatting.intents import Asked
from graphs.chatting.numbers import label_said
from graphs.chatting.quoting import plain, quote
from graphs.chatting.requests import Told, how_to, part_of, which
from graphs.chatting.state import Input, Output, State, human, was_question
from graphs.chatting.texts import name_of, say
from graphs.chatting.turns import Conversation, Taken, change, take, thread_of_posts
from graphs.chatting.weighing import weigh


async def read_message(state: State, runtime: Runtime[ChatContext]) -> dict[str, Any]:
    """Read what was said, by rules: take posts in, and find what is asked for."""
    conversation, found = state.get("conversation"), None
    messages, taken = state["messages"], state.get("taken") or 0
    said = human(messages[taken:]) or human(messages)[-1:]
    asked: Asked = {"do": "help"}
    update: dict[str, Any] = {"taken": len(messages), "problem": "", "words": "", "notes": [], "asked": asked}
    language, speaker = state.get("language") or "en", _settings(runtime).speaker
    for message in said:
        text = message.text
        language = language_of([text]) if any(character.isalpha() for character in text) else language
        if state.get("waiting") and _names_label(text, _settings(runtime)):
            update |= {"asked": {"do": "person", "said": text}}
            continue
        if not text.strip():
            update["problem"] = say("text_only", language)
            continue
        try:
            found = take(conversation, text)
            if found["asked"] is None and (message is not said[-1] or not speaker):
                if speaker and was_question(messages, message):
                    continue
                found = take(conversation, text, post=True)
        except UsageError as error:
            update["problem"] = say("could_not", language, problem=plain(str(error)))
            continue
        conversation = found["conversation"]
        update |= {"asked": found["asked"], "notes": found["notes"], "problem": ""}
    return update | _about(state, conversation, found, language)


async def understand(state: State, runtime: Runtime[ChatContext]) -> dict[str, Any]:
    """Ask the model what a message is that no rule reads; what it does not say is a post."""
    conversation, text = _conversation(state), human(state["messages"])[-1].text
    try:
        count = len(conversation["posts"])
        asked = await chat_model.read_by_model(text, count, state["language"], _settings(runtime))
        found = change(conversation, asked) if asked else take(conversation, text, post=True)
    except UsageError as error:
        problem = say("could_not", state["language"], problem=plain(str(error)))
        return {"asked": {"do": "help"}, "problem": problem}
    return {"asked": found["asked"], "notes": found["notes"]} | _about(
        state, found["conversation"], found, state["language"]
    )


def route_message(state: State) -> Literal["understand", "judge_posts", "ask_person", "weigh_posts", "answer"]:
    """Ask the model, judge, or answer from what is known."""
    asked = state["asked"]
    if state["problem"]:
        return "answer"
    if asked is None:
        return "understand"
    return _route(state, asked)


def route_understood(state: State) -> Literal["judge_posts", "weigh_posts", "answer"]:
    """Judge, or answer from what is known."""
    return "answer" if state["problem"] else _route(state, state["asked"] or {"do": "help"})  # type: ignore[return-value]


async def judge_posts(state: State, runtime: Runtime[ChatContext]) -> dict[str, Any]:
    """Judge the posts, and find where the reading would have stopped."""
    context, asked = _settings(runtime), state["asked"] or {"do": "judge"}
    language = state["language"]
    try:
        thread, notes = thread_of_posts(_conversation(state))
        numbers, more = which(asked, thread, language)
        how = how_to(asked, context, state.get("judgement"), language)
        found = await judge(part_of(thread, numbers), numbers, context.judging(how), context.max_calls)
    except (UsageError, ModelError) as error:
        line = str(error)
        shown = line if isinstance(error, Told) else say("could_not", language, problem=plain(line))
        return {"problem": shown, "asked": asked}
    return {"judgement": found, "notes": [*state["notes"], *notes, *more], "waiting": _asks_person(found, context)}


def route_verdict(state: State) -> Literal["ask_person", "weigh_posts", "answer"]:
    """Ask a person where it is unsure; else find what carried it."""
    if state["problem"]:
        return "answer"
    return "ask_person" if state["waiting"] else "weigh_posts"


async def ask_person(state: State, runtime: Runtime[ChatContext]) -> dict[str, Any]:
    """Interrupt, and take the answer of a person for the verdict."""
    context, language, found = _settings(runtime), state["language"], state["judgement"]
    assert found is not None
    asked = state["asked"] or {"do": "judge"}
    labels = LABEL_SETS[context.labels].labels
    if asked["do"] == "person":
        said = asked["said"]
    else:
        thread = answers.shown(_conversation(state), language)
        question = say("ask_person", language, labels=" / ".join(name_of(label, language) for label in labels))
        told = {
            "question": question,
            "claim": quote(thread.source.text),
            "machine": answers.headline(found, thread),
            "posts": len(found["numbers"]),
            "probabilities": found["probabilities"],
            "options": [*labels, "unsure"],
        }
        said = interrupt(told)
    text = _text_of(said)
    label = label_said(text, context.labels)
    person = {"label": label, "said": text[:500]}
    return {"judgement": {**found, "person": person}, "waiting": False, "asked": {"do": "judge"}}


async def weigh_posts(state: State, runtime: Runtime[ChatContext]) -> dict[str, Any]:
    """Find what carried the verdict, and what would change it."""
    context, found = _settings(runtime), state["judgement"]
    assert found is not None
    thread, _ = thread_of_posts(_conversation(state))
    part = part_of(thread, found["numbers"])
    return {"judgement": await weigh(part, found, context.judging(found["how"]), context.max_calls)}


def route_weighed(state: State, runtime: Runtime[ChatContext]) -> Literal["word_answer", "answer"]:
    """Let the model word the verdict, if there is one."""
    context, found = _settings(runtime), state["judgement"]
    worded = context.reword and context.speaker and found and found["label"] and (state["asked"] or {})["do"] == "judge"
    return "word_answer" if worded else "answer"


async def word_answer(state: State, runtime: Runtime[ChatContext]) -> dict[str, Any]:
    """Let the model put the answer into words; what does not fit the answer is dropped."""
    context, found = _settings(runtime), state["judgement"]
    assert found is not None
    thread = answers.shown(_conversation(state), state["language"])
    result = answers.verdict(found, thread, context)
    label = (found["person"] or {}).get("label") or found["label"]
    try:
        words = await chat_model.reword(result, label or "", state["language"], context)
    except UsageError:
        words = None  # the verdict is there, and can do without
    return {"words": words or ""}


async def answer(state: State, runtime: Runtime[ChatContext]) -> dict[str, Any]:
    """Say it."""
    return {"messages": [AIMessage(answers.answer(state, _settings(runtime)))]}


def _settings(runtime: Runtime[ChatContext]) -> ChatContext:
    return runtime.context or ChatContext()


def _conversation(state: State) -> Conversation:
    conversation = state.get("conversation")
    assert conversation is not None
    return conversation


def _about(state: State, conversation: Conversation | None, found: Taken | None, language: Language) -> dict[str, Any]:
    """The conversation now; a verdict on other posts is forgotten."""
    before = state.get("conversation")
    same = bool(before and conversation and before["posts"] == conversation["posts"])
    keeps = {} if same or (before is None and conversation is None) else {"judgement": None}
    texts = [post["text"] for post in conversation["posts"]] if conversation else []
    if texts and found and found["notes"]:
        language = language_of(texts)
    waiting = bool(state.get("waiting")) and same
    return {"conversation": conversation, "language": language, "waiting": waiting} | keeps


def _route(state: State, asked: Asked) -> Literal["judge_posts", "ask_person", "weigh_posts", "answer"]:
    found = state.get("judgement")
    if asked["do"] == "person":
        return "ask_person"
    if state.get("conversation") is None or asked["do"] not in answers.NEEDS_VERDICT:
        return "answer"
    if asked["do"] == "judge" or not found:
        return "judge_posts"
    # a person was asked, and somebody asks on instead: then the machine's verdict has to do
    return "answer" if found["weighed"] else "weigh_posts"


def _asks_person(found: Judgement, context: ChatContext) -> bool:
    return context.ask_human and unsure(found, context)


def _names_label(text: str, context: ChatContext) -> bool:
    words = text.strip().lower().rstrip(".!?。！？")
    return label_said(text, context.labels) is not None or words in ("unsure", "不确定", "i don't know")


def _text_of(said: Any) -> str:
    """What a person answered an interrupt: a text, or an object with a label or an answer in it."""
    if isinstance(said, dict):
        said = next((said[key] for key in ("label", "answer", "said", "text", "content") if key in said), "")
    return str(said)


builder = StateGraph(State, context_schema=ChatContext, input_schema=Input, output_schema=Output)
builder.add_node("read_message", read_message)
builder.add_node("understand", understand)
builder.add_node("judge_posts", judge_posts)
builder.add_node("ask_person", ask_person)
builder.add_node("weigh_posts", weigh_posts)
builder.add_node("word_answer", word_answer)
builder.add_node("answer", answer)
builder.add_edge(START, "read_message")
builder.add_conditional_edges("read_message", route_message)
builder.add_conditional_edges("understand", route_understood)
builder.add_conditional_edges("judge_posts", route_verdict)
builder.add_edge("ask_person", "weigh_posts")
builder.add_conditional_edges("weigh_posts", route_weighed)
builder.add_edge("word_answer", "answer")
builder.add_edge("answer", END)

graph = builder.compile(name="chat")
