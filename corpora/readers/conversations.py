"""A thread as a folder of tweets, one JSON file each: the layout that PHEME and RumourEval share.

`<thread id>/source-tweet[s]/<id>.json`, `<thread id>/{reactions,replies}/<id>.json`; each file is a tweet
object of Twitter's API, of which id, time, text, author and the tweet it answers are read.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpora.clean import RawPost, Tally
from corpora.readers.files import files_below, read_json, seconds_of, walk

_SOURCES = ("source-tweets", "source-tweet")
_REPLIES = ("reactions", "replies")


def thread_folders(root: Path) -> Iterator[Path]:
    """Every folder below root, or root itself, that holds a source tweet, in order of path.

    Raises:
        UsageError: a folder cannot be read.
    """
    for folder, children, _ in walk(root):
        if any(name in children for name in _SOURCES):
            children.clear()
            yield folder


def read_posts(folder: Path, tally: Tally) -> list[RawPost]:
    """The tweets of one thread folder: source first, then replies in order of file name, which is of id."""
    posts = []
    for names in (_SOURCES, _REPLIES):
        for name in names:
            for path in files_below(folder / name, "*.json"):
                tweet = read_json(path, tally)
                post = None if tweet is None else _post(tweet)
                if post is not None:
                    posts.append(post)
                elif tweet is not None:
                    tally["malformed_records"] += 1
    return posts


def _post(tweet: Any) -> RawPost | None:
    """One tweet object; None if it has no id or text."""
    if not isinstance(tweet, dict):
        return None
    identifier = tweet.get("id_str") or tweet.get("id")
    text = tweet.get("full_text") or tweet.get("text")
    if identifier is None or not isinstance(text, str):
        return None
    user = tweet.get("user")
    author = (user.get("screen_name") or user.get("id_str") or "") if isinstance(user, dict) else ""
    parent = tweet.get("in_reply_to_status_id_str") or tweet.get("in_reply_to_status_id")
    return RawPost(
        str(identifier),
        text,
        seconds_of(tweet.get("created_at")),
        str(author),
        None if parent is None else str(parent),
    )
