"""The rules that turn posts as published into a ClaimThread, each of them counted.

In this order:

1. Posts are sorted by time, ties in file order; the source always comes first. If any post of a thread has
   no time, the whole thread has none and stays in file order.
2. A post without visible text is dropped; its replies answer what it answered.
3. A post whose id was already seen in the thread is dropped.
4. A reply to a post that is not in the thread, or that names none, answers the source. A reply sorted before
   the post it answers (clocks differ) answers the nearest ancestor before it, so that no prefix refers to
   the future.
5. A reply timed before its source gets time 0.
6. A thread whose source is missing or has no visible text is dropped.
7. Authors and @mentions become user1, user2, ... in order of first appearance, per thread. The number of a
   handle depends only on the posts before it, and, being no hash, cannot be looked up in a dictionary.
8. White space around a text is stripped; characters that UTF-8 cannot hold are replaced (`encodable`, before all
   else). Nothing else.
"""

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, replace
from typing import NamedTuple

from corpora.thread import ClaimThread, Gold, Language, Post, RumorLabel, Stance, Veracity

Tally = Counter[str]
"""What was read, dropped and changed: the keys of RULES, and those of `count_as_read`."""

RULES = {
    "empty_posts": "posts dropped: no visible text",
    "duplicate_posts": "posts dropped: id already seen in the thread",
    "threads_without_source": "threads dropped: source missing or without visible text",
    "posts_without_source": "posts dropped with those threads",
    "duplicate_threads": "threads dropped: id already seen in the corpus",
    "posts_of_duplicate_threads": "posts dropped with those threads",
    "malformed_records": "lines or files dropped: not in the format",
    "labels_without_thread": "labels ignored: no such thread or post",
    "unknown_labels": "labels ignored: not one of the format's",
    "orphan_posts": "posts attached to the source: parent not in the thread",
    "early_replies": "posts attached to an earlier ancestor: not sorted after their parent",
    "times_before_source": "times set to 0: reply timed before its source",
    "partly_timed_threads": "threads untimed: only some of their posts have times",
    "continued_lines": "lines joined to the post before: they start no post",
    "undecodable_bytes": "places with bytes that are not UTF-8, replaced",
    "unencodable_texts": "texts or ids with lone surrogates, replaced",
}
"""Everything that may happen to data on the way in -> what `check` says of it."""
DROPS_POSTS = ("empty_posts", "duplicate_posts", "posts_without_source", "posts_of_duplicate_threads")
"""Posts read minus these are the posts kept."""

# All that shows nothing: white space, controls, zero-width, direction and variation marks, blank letters.
visible = re.compile(
    "[^\\s\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
).search
# Right behind a word ("RT@name") only if what follows is no host name, as it is in an e-mail address. A Weibo name
# may hold Chinese letters and hyphens and ends at the first character that no name can hold; a Twitter name is ASCII.
_MENTION = {
    language: re.compile(rf"(?<![A-Za-z0-9_])[@＠]{name}{{1,30}}|[@＠]{name}{{1,30}}+(?![\w-]*\.[A-Za-z])")
    for language, name in (("en", "[A-Za-z0-9_]"), ("zh", r"[\w-]"))
}
_UNPRINTABLE = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")


class RawPost(NamedTuple):
    """One post as a reader finds it."""

    id: str
    text: str
    seconds: float | None = None
    """On any clock that the whole thread shares; None if not known."""
    author: str = ""
    """Empty if not known."""
    parent: str | None = None
    """None where the format does not say; the source is then meant."""
    stance: Stance | None = None


@dataclass(slots=True)
class RawThread:
    """One thread as a reader finds it, posts in file order."""

    id: str
    source: str
    """Id of the source post."""
    posts: list[RawPost]
    rumor: RumorLabel | None = None
    veracity: Veracity | None = None
    event: str | None = None
    partition: str | None = None
    language: Language = "en"


def count_as_read(raw: RawThread, tally: Tally) -> None:
    """Count a thread, its posts and labels before any rule touches them (what a paper's table counts)."""
    tally["threads_read"] += 1
    tally["posts_read"] += len(raw.posts)
    for label in (raw.rumor, raw.veracity, raw.partition):
        if label is not None:
            tally[label] += 1
    for post in raw.posts:
        if post.stance is not None:
            tally[post.stance] += 1


def build_thread(raw: RawThread, tally: Tally, *, keep_handles: bool = False) -> ClaimThread | None:
    """Apply the rules above.

    Returns:
        The thread, or None if it was dropped (counted in `tally`).
    """
    posts = _in_order(raw, tally)
    if not posts or not visible(posts[0].text):
        tally["threads_without_source"] += 1
        tally["posts_without_source"] += len(raw.posts)
        return None
    source = posts[0]
    start = source.seconds
    handles = Handles(raw.language)
    kept: dict[str, Post] = {}
    early: list[str] = []
    stances: dict[str, Stance] = {}
    for identifier, text, seconds, author, parent, stance in posts:
        if identifier in kept:
            tally["duplicate_posts"] += 1
            continue
        if not visible(text):
            tally["empty_posts"] += 1
            continue
        if not keep_handles:
            if author:
                author = handles.name(author)
            if "@" in text or "＠" in text:
                text = handles.hide_mentions(text)
        if seconds is not None and start is not None:
            seconds -= start
            if seconds < 0:
                tally["times_before_source"] += 1
                seconds = 0.0
        if not kept:
            parent = None
        elif parent is None:
            parent = source.id
        elif parent not in kept:
            early.append(identifier)
        kept[identifier] = Post(identifier, text.strip(), seconds, author, parent)
        if stance is not None:
            stances[identifier] = stance
    if early:
        ancestors = _ancestors(early, posts, kept, tally)
        kept.update((name, replace(kept[name], parent=ancestors[name] or source.id)) for name in early)
    gold = Gold(raw.rumor, raw.veracity, stances)
    return ClaimThread(raw.id, tuple(kept.values()), gold, raw.event, raw.partition, raw.language)


def _in_order(raw: RawThread, tally: Tally) -> list[RawPost]:
    """The posts in reading order, source first; empty if there is no source."""
    posts = raw.posts
    # should the source be there twice, it is the one that the file gives first
    place = next((place for place, post in enumerate(posts) if post.id == raw.source), None)
    if place is None:
        return []
    times = [post.seconds for post in posts if post.seconds is not None]
    if 0 < len(times) < len(posts):
        tally["partly_timed_threads"] += 1
        posts = [post._replace(seconds=None) for post in posts]
    source = posts[place]
    if len(times) == len(posts) and times != sorted(times):
        # pairs are sorted by time alone, and sorting is stable: ties stay in file order
        posts = [post for _, post in sorted(zip(times, posts, strict=True), key=lambda pair: pair[0])]
    return posts if posts[0] is source else [source, *(post for post in posts if post is not source)]


def _ancestors(early: list[str], posts: list[RawPost], kept: dict[str, Post], tally: Tally) -> dict[str, str | None]:
    """The nearest kept post above each that comes before it, None if there is none.

    Posts are taken away from the last to the first, and what one answers then stands for it. Paths are cut short
    as they are walked, so that neither long chains nor loops cost more than a few steps a post.
    """
    parents = {post.id: post.parent for post in reversed(posts)}
    for name in early:
        tally["orphan_posts"] += parents[name] not in parents
        tally["early_replies"] += parents[name] in kept
    above: dict[str | None, str | None] = {}
    for name in (*(name for name in parents if name not in kept), *reversed(kept)):
        walked, ancestor = [], parents[name]
        while ancestor in above:
            walked.append(ancestor)
            ancestor = above[ancestor]
        above.update(dict.fromkeys(walked, ancestor))
        above[name] = ancestor if ancestor != name and ancestor in kept else None
    return {name: above[name] for name in early}


class Handles:
    """The pseudonyms of one thread."""

    __slots__ = ("mention", "names")

    def __init__(self, language: Language, names: dict[str, str] | None = None) -> None:
        self.mention = _MENTION[language]
        self.names = names or {}

    def name(self, handle: str) -> str:
        """The handle's pseudonym; upper and lower case are one handle, as they are to the platforms."""
        handle = handle.lower()
        name = self.names.get(handle)
        if name is None:
            name = self.names[handle] = f"user{len(self.names) + 1}"
        return name

    def hide_mentions(self, text: str) -> str:
        """The text with each @handle replaced; a bare @, as some publishers leave it, stays."""
        return self.mention.sub(lambda found: found[0][0] + self.name(found[0][1:]), text)


def encodable(raw: RawThread, tally: Tally) -> RawThread:
    """The thread without lone surrogates, which JSON can smuggle in and neither file nor database can hold."""
    texts = (raw.id, raw.source, raw.event or "", *(part for post in raw.posts for part in post if type(part) is str))
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        plain = {text: text.encode(errors="replace").decode() for text in texts}
        tally["unencodable_texts"] += sum(text != plain[text] for text in texts)
        posts = [
            post._replace(
                id=plain[post.id],
                text=plain[post.text],
                author=plain[post.author],
                parent=None if post.parent is None else plain[post.parent],
            )
            for post in raw.posts
        ]
        event = None if raw.event is None else plain[raw.event]
        return replace(raw, id=plain[raw.id], source=plain[raw.source], event=event, posts=posts)
    return raw


def language_of(texts: list[str]) -> Language:
    """The language of a file that does not name it: "zh" if most of its letters are Han, else "en"."""
    letters = han = 0
    for text in texts:
        letters += sum(character.isalpha() for character in text)
        han += 0 if text.isascii() else len(_HAN.findall(text))
    return "zh" if han > letters / 2 else "en"


def printable(text: object, limit: int = 120) -> str:
    """Foreign text fit for one line of a terminal: cut short, no control, format or line-end characters."""
    line = "".join(
        " " if unicodedata.category(character) in _UNPRINTABLE else character for character in str(text)[: limit * 4]
    )
    return line if len(line) <= limit else line[: limit - 1] + "…"
