"""What somebody pastes, as posts: JSON of several kinds, numbered lines, lines with names, plain lines, paragraphs.

Nothing is fetched, and labels in a paste are not read: the chat judges, it does not look up the answer.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from corpora.clean import RawPost
from corpora.errors import UsageError
from corpora.readers.files import seconds_of

MAX_POSTS = 1_000
MAX_CHARS = 1_000_000
_FENCE = re.compile(r"\A\s*```[\w-]*[ \t]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_TEXT = ("text", "full_text", "content", "body", "message")
_AUTHOR = ("author", "user", "username", "screen_name", "name", "from")
_TIME = ("seconds", "time", "timestamp", "created_at", "date")
_ID = ("id", "id_str", "tid")
_PARENT = ("parent", "parent_id", "in_reply_to", "in_reply_to_status_id_str", "in_reply_to_status_id", "reply_to")
# [3] name (+12 min, answering [1]): text, as posts are shown to models and to people
_SHOWN = re.compile(
    r"""\[(\d{1,4})\][ ]?
    (?:(@?[\w.\-]{1,40}|\?)[ ]?
       (?:\((?:\+(\d{1,7})[ ]?(?:min|分钟)?)?[,，;； ]{0,3}(?:(?:answering|回复)[ ]?\[(\d{1,4})\])?[^()\n]{0,60}\))?
    [:：][ ]?)?(.+)""",
    re.VERBOSE,
)
_NUMBERED = re.compile(
    r"(?:#(\d{1,4})[.):：]?|(\d{1,4})[.):：]|第(\d{1,4})[条帖][:：]?)[ \t]+(\S.*)|(\d{1,4})、[ \t]*(\S.*)"
)
# name: text; @name (10:32): text; [12/05/24, 10:32] First Last: text
_NAMED = re.compile(
    r"""(?:\[[^\]\n]{3,25}\][ ]?|\d{1,2}:\d{2}(?::\d{2})?[ ])?
    (@?[\w.\-]{1,30}(?:[ ][\w.\-]{1,20})?)(?:[ ]?\([^()\n]{1,30}\))?[:：][ \t]*(\S.*)""",
    re.VERBOSE,
)
_NO_NAMES = frozenset(
    {"breaking", "update", "updated", "urgent", "rumor", "rumour", "false", "true", "fake", "fact", "news", "claim"}
    | {"source", "post", "reply", "rt", "edit", "warning", "alert", "note", "ps", "fyi", "confirmed", "unconfirmed"}
    | {"http", "https", "突发", "快讯", "辟谣", "谣言", "更新", "注意", "转发", "网传"}
)
_BULLET = re.compile(r"^[ \t]*(?:[-*•·↳>›»]+|RE:|└─?|├─?)[ \t]+", re.IGNORECASE)


@dataclass(frozen=True)
class Pasted:
    """Posts as they were given."""

    posts: list[RawPost]
    kind: str
    """How they were read: "json", "numbered", "named", "lines", "paragraphs" or "one"."""
    first: int = 1
    """The number that the first of them bears, where they are numbered."""
    thread_id: str | None = None
    threads: int = 1
    """Threads in the paste; the first is read."""
    source: str | None = None
    """Id of the source post, where the paste tells it."""
    ids: bool = False
    """Whether the posts' ids are their own, and not only their places."""


def read_paste(text: str, *, one: bool = False, following: int = 1) -> Pasted:
    """Read a paste.

    Args:
        text: What was pasted.
        one: It is one post, whatever it looks like.
        following: The number that the next post of the open conversation would have; a single line that begins with
            another number is only a text.

    Raises:
        UsageError: it is meant to be JSON and is cut off or broken, or it is far too long.
    """
    if len(text) > MAX_CHARS:
        raise UsageError(f"that is {len(text):,} characters; at most {MAX_CHARS:,} can be pasted at once")
    fenced = _FENCE.match(text)
    text = (fenced[1] if fenced else text).strip("\ufeff \t\r\n")
    if one:
        return Pasted([_post(0, text)], "one")
    if text[:1] in ("{", "[") and (found := _from_json(text)):
        return found
    lines = [line.rstrip() for line in text.splitlines()]
    if found := _numbered(lines, following) or _named(lines):
        return found
    paragraphs = [
        " ".join(part.split()) for part in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n")) if part.strip()
    ]
    filled = [_BULLET.sub("", line).strip() for line in lines if line.strip()]
    if 1 < len(paragraphs) < len(filled):
        return Pasted([_post(n, part) for n, part in enumerate(paragraphs)], "paragraphs")
    return Pasted([_post(n, line) for n, line in enumerate(filled)], "lines" if len(filled) > 1 else "one")


def _post(number: int, text: str, author: str = "", seconds: float | None = None) -> RawPost:
    return RawPost(str(number + 1), text, seconds, author)


def _numbered(lines: Sequence[str], following: int) -> Pasted | None:
    """Lines that begin with numbers that count up; what follows without one belongs to the post above."""
    posts: list[RawPost] = []
    first = 0
    for line in filter(None, map(str.strip, lines)):
        shown = _SHOWN.match(line)
        found = None if shown else _NUMBERED.match(line)
        number = int(shown[1]) if shown else int(found[1] or found[2] or found[3] or found[5]) if found else None
        if number is not None and (not posts or number == first + len(posts)):
            first = first if posts else number
            if shown:
                _, author, minutes, answered, text = shown.groups()
                seconds = None if minutes is None else 60.0 * int(minutes)
                # the numbers are the posts' ids: [4] may answer [1]
                posts.append(RawPost(str(number), text, seconds, (author or "").strip("@?"), answered))
            elif found:
                posts.append(RawPost(str(number), found[4] or found[6]))
        elif posts:
            posts[-1] = posts[-1]._replace(text=f"{posts[-1].text} {line}")
        else:
            return None
    if (len(posts) == 1 and first != following) or first not in (0, 1, following):
        return None
    if len(posts) > 1 and posts[0].seconds is None and posts[1].seconds is not None:
        posts[0] = posts[0]._replace(seconds=0.0)  # the source post is shown without its time
    return Pasted(posts, "numbered", first) if posts else None


def _named(lines: Sequence[str]) -> Pasted | None:
    """Lines that say who speaks: most of them must; the others belong to the post above."""
    filled = [_BULLET.sub("", line).strip() for line in lines if line.strip()]
    found = [_NAMED.fullmatch(line) for line in filled]
    names = [match[1].lower().lstrip("@") if match else "" for match in found]
    named = [bool(name) and name not in _NO_NAMES and not name.isdigit() for name in names]
    if len(filled) == 1:
        match = found[0]
        alone = match if match and match[1].startswith("@") else None
        return Pasted([_post(0, alone[2], alone[1].strip("@"))], "named") if alone else None
    if not named or not named[0] or sum(named) * 3 < len(named) * 2:
        return None
    posts: list[RawPost] = []
    for line, match, known in zip(filled, found, named, strict=True):
        if known and match:
            posts.append(_post(len(posts), match[2], match[1].strip("@")))
        else:
            posts[-1] = posts[-1]._replace(text=f"{posts[-1].text} {line}")
    return Pasted(posts, "named")


def _from_json(text: str) -> Pasted | None:
    """Posts in JSON or JSON lines; None if it is JSON of something else, which is then only text."""
    try:
        records = [json.loads(text)]
    except (ValueError, RecursionError) as error:
        try:
            records = [json.loads(line) for line in text.splitlines() if line.strip()]
        except (ValueError, RecursionError):
            if re.search(r'"(?:posts|text|texts|full_text)"\s*:', text):
                where = (
                    f" (line {error.lineno}, column {error.colno})" if isinstance(error, json.JSONDecodeError) else ""
                )
                raise UsageError(
                    f"that looks like JSON, but it cannot be read{where}: paste all of it, or paste the posts as lines"
                ) from None
            return None
    if len(records) == 1 and isinstance(records[0], list):
        records = records[0]
    threads = [found for record in records if (found := _thread(record))]
    if threads:
        identifier, source, posts = threads[0]
        return Pasted(posts, "json", thread_id=identifier, threads=len(threads), source=source, ids=True)
    posts = [post for n, record in enumerate(records) if (post := _json_post(n, record))]
    own = all(isinstance(record, dict) and any(record.get(key) for key in _ID) for record in records)
    return Pasted(posts, "json", ids=own) if posts and len(posts) * 2 >= len(records) else None


def _thread(record: Any) -> tuple[str | None, str | None, list[RawPost]] | None:
    """A thread of our JSONL, or the first of the EARD code's JSON: its id, its source post, its posts."""
    if not isinstance(record, dict):
        return None
    listed = next(
        (record[key] for key in ("posts", "messages", "tweets", "thread") if isinstance(record.get(key), list)), None
    )
    if listed is not None:
        posts = [post for n, each in enumerate(listed) if (post := _json_post(n, each))]
        source = next((post.id for post in posts if post.parent is None), None)
        return (_identifier(record.get("id")), source, posts) if posts else None
    for identifier, value in record.items():
        seq = value.get("seq") if isinstance(value, dict) else None
        if isinstance(seq, dict) and isinstance(seq.get("texts"), list):
            texts, times = seq["texts"], seq.get("timeline")
            if not isinstance(times, list) or len(times) != len(texts):
                times = [None] * len(texts)
            pairs = enumerate(zip(texts, times, strict=True))
            posts = [_post(n, said, seconds=seconds_of(at)) for n, (said, at) in pairs if isinstance(said, str)]
            return (identifier, None, posts) if posts else None
    return None


def _json_post(number: int, record: Any) -> RawPost | None:
    """One post: an object with a text under any of the common names, or only a text."""
    if isinstance(record, str):
        return _post(number, record)
    if not isinstance(record, dict):
        return None
    text = next((record[key] for key in _TEXT if isinstance(record.get(key), str)), None)
    if text is None:
        return None
    author = next((record[key] for key in _AUTHOR if record.get(key)), "")
    if isinstance(author, dict):
        author = next((author[key] for key in ("screen_name", "username", "name") if author.get(key)), "")
    seconds = next((found for key in _TIME if (found := seconds_of(record.get(key))) is not None), None)
    identifier = next((name for key in _ID if (name := _identifier(record.get(key)))), None)
    parent = next((name for key in _PARENT if (name := _identifier(record.get(key)))), None)
    return RawPost(identifier or str(number + 1), text, seconds, author if isinstance(author, str) else "", parent)


def _identifier(value: Any) -> str | None:
    """An id; None if it is none."""
    return str(value)[:100] if isinstance(value, str | int) and not isinstance(value, bool) and str(value) else None
