"""A talk about a conversation: what each message does to the posts at hand, and what it asks for.

A paste of several posts begins a conversation, a single post goes on with the open one; numbers that count on from its
last post, `more:` and a known thread id go on with it too, `new:` begins another. What was meant otherwise is put right
in a word ("add them", "that is a new claim", "that is one post", "undo").
"""

import re
from collections.abc import Sequence
from typing import Any

from typing_extensions import TypedDict

from corpora.clean import RawPost
from corpora.errors import UsageError
from corpora.thread import ClaimThread
from graphs.admitting import thread_of
from graphs.chatting.intents import Asked, read_intent
from graphs.chatting.pasting import MAX_POSTS, Pasted, read_paste

Raw = dict[str, Any]
"""Fields of a `RawPost`."""
LONGEST_LEAD = 200
"""Characters in which "can you check this thread:" must be over."""


class Conversation(TypedDict):
    """The posts at hand, as they were given; plain values only."""

    id: str
    posts: list[Raw]
    source: str | None
    """Id of the source post, if it is not the first."""
    before: list[Raw]
    """The posts before the last change, for "undo" and for "that is a new claim"."""
    pasted: str
    """The last paste, to be read in another way."""


class Taken(TypedDict):
    """What came of a message."""

    conversation: Conversation | None
    asked: Asked | None
    """None: no rule reads it, and a model may be asked; without one it is a post."""
    notes: list[str]
    """What to tell of how it was read: keys of graphs/chatting/texts.py, with values after colons."""


_COMMAND = re.compile(
    r"\s*(?:(new claim|new thread|new|claim|新说法|新的?|说法)|(more|add|next|追加|跟帖)|"
    r"(post|reply|comment|帖子|回复))[ \t]*[:：]\s*(?=\S)",
    re.IGNORECASE,
)
# "can you check this thread:", "is it true that", "请判断这条消息："
_LEAD = re.compile(
    r"""\s*(?:(?:hi|hello|hey)[,!. ]+)?(?:(?:can|could|would|will)[ ]you[ ]|please[ ]|pls[ ])*(?:
    (?:check|verify|judge|fact-?check|analy[sz]e|look[ ]at|assess|debunk)
        (?:[ ](?:this|the|following|if|whether|thread|claim|conversation|post|rumou?r|it[ ]is|it's|true|that|for|me|
        please))*
        [ \t]*[:,：?？\n-]+|
    (?:is|was)[ ](?:this|it|the[ ]following)(?:[ ](?:claim|post|thread|story))?[ ](?:an?[ ])?
        (?:true|rumou?r|fake|real|false|legit)(?:[ ]or[ ](?:not|true|false|fake|real))?(?:[ ]that|[ \t]*[?:,：\n-]+)|
    what[ ](?:do[ ]you[ ]think|about)[ ](?:of|about)[ ]this[?: \n]+|
    (?:请|帮我|麻烦)*(?:判断|查|看|核实|鉴定)[一下]*(?:这个|这条|这段|以下|下面)?(?:说法|消息|帖子|对话)?[:：\n]+|
    (?:这是|是)(?:不是)?(?:谣言|真的|假的)吗?[?？:：\n]+
    )\s*(?=\S)""",
    re.IGNORECASE | re.VERBOSE,
)


def take(conversation: Conversation | None, text: str, *, post: bool = False) -> Taken:
    """What a message does and asks for.

    Args:
        conversation: The open one, if there is one.
        text: The message.
        post: It is one or more posts, and no request.

    Raises:
        UsageError: a paste cannot be read.
    """
    command = _COMMAND.match(text)
    if command:
        new, more, one = command.groups()
        rest = text[command.end() :]
        return _posts(conversation, rest, fresh=bool(new), goes_on=bool(more or one), one=bool(one))
    if not post:
        asked = read_intent(text)
        if asked:
            return change(conversation, asked)
        if lead := _LEAD.match(text, 0, LONGEST_LEAD):
            return _posts(None, text[lead.end() :])
        if conversation and _may_ask(text):
            return {"conversation": conversation, "asked": None, "notes": []}
    return _posts(conversation, text)


def thread_of_posts(conversation: Conversation) -> tuple[ClaimThread, list[str]]:
    """The conversation by the corpora's rules, and what to tell of what those changed.

    Raises:
        UsageError: its first post shows nothing.
    """
    thread, tally = thread_of(conversation["id"], conversation["posts"], conversation["source"])
    dropped = tally["empty_posts"] + tally["duplicate_posts"]
    return thread, [f"dropped:{dropped}"] if dropped else []


def _may_ask(text: str) -> bool:
    """Whether a message that no rule reads could be meant for the chat: one short line that is not marked as a post."""
    line = text.strip()
    return "\n" not in line and len(line) <= 200 and read_paste(line, following=-1).kind == "one"


def change(conversation: Conversation | None, asked: Asked) -> Taken:
    """Do what is asked of the posts themselves; everything else is left to the graph."""
    do = asked["do"]
    if conversation is None or do not in ("new", "claim", "more", "one", "apart", "undo"):
        return {"conversation": conversation, "asked": asked, "notes": []}
    if do == "new":
        return {"conversation": None, "asked": asked, "notes": []}
    before, pasted = conversation["before"], conversation["pasted"]
    if do == "undo":
        if not before:
            return {"conversation": conversation, "asked": asked, "notes": ["nothing_to_undo"]}
        found: Conversation = {**conversation, "posts": before, "before": [], "pasted": ""}
        return {"conversation": found, "asked": {"do": "judge"}, "notes": [f"undone:{len(before)}"]}
    if not pasted:
        return {"conversation": conversation, "asked": asked, "notes": ["nothing_pasted"]}
    if do == "more" and not before:
        return {"conversation": conversation, "asked": asked, "notes": ["nothing_before"]}
    earlier: Conversation | None = {**conversation, "posts": before, "before": [], "pasted": ""} if before else None
    if do in ("one", "apart"):
        return _posts(earlier if _went_on(conversation) else None, pasted, one=do == "one", apart=do == "apart")
    return _posts(earlier, pasted, fresh=do == "claim", goes_on=do == "more")


def _went_on(conversation: Conversation) -> bool:
    """Whether the last paste went on with what was there."""
    before = conversation["before"]
    return bool(before) and conversation["posts"][: len(before)] == before


def _posts(
    conversation: Conversation | None,
    text: str,
    *,
    fresh: bool = False,
    goes_on: bool = False,
    one: bool = False,
    apart: bool = False,
) -> Taken:
    """Take posts in.

    Raises:
        UsageError: there is none, or the first shows nothing.
    """
    count = len(conversation["posts"]) if conversation else 0
    if apart:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        pasted = Pasted([RawPost(str(n), line) for n, line in enumerate(lines)], "lines")
    else:
        pasted = read_paste(text, one=one, following=count + 1)
    if not pasted.posts:
        raise UsageError("there is no post in that: paste a claim, or a conversation with one post a line")
    known = {post["id"] for post in conversation["posts"]} if conversation else set()
    if conversation and not fresh and (goes_on or _belongs(conversation, pasted, known)):
        posts = _added(conversation["posts"], pasted)
        notes = [f"added:{len(posts) - count}:{len(posts)}"]
        found: Conversation = {**conversation, "posts": posts, "before": conversation["posts"], "pasted": text}
    else:
        raw = [post._asdict() for post in pasted.posts]
        before = conversation["posts"] if conversation else []
        found = Conversation(id=pasted.thread_id or "chat", posts=raw, source=pasted.source, before=before, pasted=text)
        notes = [f"{'another' if before else 'began'}:{len(raw)}:{pasted.kind}"]
    if pasted.threads > 1:
        notes.append(f"several:{pasted.threads}")
    if len(found["posts"]) > MAX_POSTS:
        found["posts"] = found["posts"][:MAX_POSTS]
        notes.append(f"too_many:{MAX_POSTS}")
    thread_of_posts(found)  # what shows nothing is refused here, before it stands in the way of every answer
    return {"conversation": found, "asked": {"do": "judge"}, "notes": notes}


def _belongs(conversation: Conversation, pasted: Pasted, known: set[str]) -> bool:
    """Whether a paste goes on with the open conversation."""
    if pasted.thread_id is not None:
        return pasted.thread_id == conversation["id"]
    if pasted.kind == "numbered":
        return pasted.first == len(conversation["posts"]) + 1
    if pasted.kind == "json" and len(pasted.posts) > 1:
        return any(post.parent in known for post in pasted.posts if post.parent)
    return len(pasted.posts) == 1


def _added(posts: Sequence[Raw], pasted: Pasted) -> list[Raw]:
    """The posts and those of a paste that are not among them yet; an id that only says its place gets a new one."""
    ids = {post["id"] for post in posts}
    added = list(posts)
    for post in pasted.posts:
        identifier = post.id
        if pasted.ids and identifier in ids:
            continue
        if not pasted.ids:
            identifier = str(len(added) + 1)
            while identifier in ids:
                identifier += "+"
        ids.add(identifier)
        added.append({**post._asdict(), "id": identifier})
    return added
