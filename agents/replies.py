"""How posts are shown to a model, and how its answer is read.

**Reading.** The answer is the *last* label word that stands in the reply as a whole word, in any case; a
reply without one is None, never a guess. Not counted are: what the model thinks aloud (`<think>…</think>`),
quotations (they may be a post's words: quoted spans, unless they hold only the label word, and lines that
start with `>` or, as posts are shown, with `[n] user:`), and a word within a compound ("real-time", "no-one").
If the last label word is denied, doubted or asked for in its clause ("I cannot confirm it as real", "fake rather than
real": agents/denial.py), or named in one breath with another ("yes or no"), the reply is None. Of a reply that was cut
at --max-tokens only the very first word counts. Chinese has no spaces, so there a run of Chinese characters must be, as
a whole, one of the listed forms:
是 in 但是 is no answer, 真实 in 真实性 is none, 不是 is 否, 非谣言 is 真实, 不真实 is 谣言.

**Showing.** One line a post: `[n] user (+minutes, answering [k]): text`. Line breaks are folded and control,
zero-width and bidirectional characters removed, so that no post can forge another line, an end of the list or
another order of its letters; markers that chat templates give a meaning to (`<|…|>`, `</s>`, `[INST]`) are
broken up. A conversation over the token budget loses its oldest replies, in whole blocks of BLOCK posts:
between two cuts the prompts of growing prefixes still share their beginning, and the question that follows
the posts is never cut.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache

from agents.denial import REACH, contrasted, denied
from agents.models import Reply
from corpora.thread import ClaimThread, Language, Post

YES_NO: dict[Language, tuple[str, str]] = {"en": ("Yes", "No"), "zh": ("是", "否")}
"""Language -> (positive, negative) label word of a question about the positive class."""
FAKE_REAL: dict[Language, tuple[str, str]] = {"en": ("Fake", "Real"), "zh": ("谣言", "真实")}

_CHINESE_FORMS = {
    "是": "是 是的 是谣言 这是谣言 是的这是谣言",
    "否": "否 不 不是 不是的 不是谣言 这不是谣言 并非谣言 非谣言",
    "谣言": "谣言 是谣言 这是谣言 不真实 不真实的 不是真实 不是真实的 并非真实 非真实",
    "真实": "真实 真实的 是真实的 这是真实的 不是谣言 这不是谣言 并非谣言 非谣言",
}
THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)|\A.*</think>", re.DOTALL | re.IGNORECASE)
"""What a model thinks aloud: never part of its answer."""
# a mark that is not closed quotes the rest of its line; were it passed over, a reply of 200,000 “ would take minutes
QUOTED = re.compile(
    r'"[^"\n]*"|“[^”\n]*(?:”|$)|「[^」\n]*(?:」|$)|『[^』\n]*(?:』|$)|'
    # lines of posts as post_line and agents.debate.evidence.quarantined make them, not sentences that begin with [3]
    r"^[ \t]*(?:>|\[\d+\] (?:[\w@.\-]++|\?)(?: \([^()\n]*\)|, [+-]\d\.\d)?:).*$",
    re.MULTILINE,
)
_CHINESE_RUN = re.compile("[\u4e00-\u9fff]+")
_OFFERED = re.compile(
    r"[\s\"'“”*_,]*(?:/|\bor\b|\band\b|\bnor\b|\bfrom\b|\bvs\b\.?|或|和|还是)[\s\"'“”*_]*", re.IGNORECASE
)
_OPENING = re.compile(r"[\W_]*+[^\W_]++[\"'’”」*_]*+(?:[.,;:!。，；：！\n–—]|\s[-–—(]|\s*\Z)")
"""The first word of a text, if its clause ends with it."""

MAX_CHARS = 1_000
"""Characters of one post that are shown; the platforms of our corpora allow far fewer."""
MAX_AUTHOR_CHARS = 40
BLOCK = 16
"""Replies that are left out together when a conversation is too long."""
_FRAME = {
    "en": {
        "after": "+{} min",
        "answers": "answering [{}]",
        "cut": "(posts left out here: {})",
        "none": "(none)",
    },
    "zh": {"after": "+{}分钟", "answers": "回复[{}]", "cut": "（此处略去帖子：{}）", "none": "（无）"},
}


def read_label(text: str, words: Sequence[str], cut: int | None = None) -> str | None:
    """Read which of the label words a reply answers with; None if none of them. `cut`: see agents.models.Reply."""
    if cut is not None:
        # only a label that stands before all else is sure, for nobody knows where the rest was going
        opening = _OPENING.match(THOUGHT.sub(_blank, text))
        text = opening[0] if opening else ""
    found = find_label(text, words)
    return found and found[0]


def no_label(*replies: Reply, what: str = "label") -> str:
    """Why one reply, or each of several, has no label (or stance, or veracity): for an abstention."""
    cuts = [reply.cut for reply in replies if reply.cut is not None]
    more = f"cut off at --max-tokens {cuts[0]}: allow more" if cuts else ""
    if len(replies) > 1:
        return f"none of {len(replies)} replies has a {what}" + (f" ({len(cuts)} {more})" if cuts else "")
    (reply,) = replies
    if cuts:
        return f"no {what} in the reply, which was {more}"
    return f"no {what} in the reply: {shorten(reply.text)}" if reply.text.strip() else "empty reply"


def find_label(text: str, words: Sequence[str]) -> tuple[str, int] | None:
    """Find the label word that a reply answers with, and the index in the text where it begins."""
    text = THOUGHT.sub(_blank, text)
    text = QUOTED.sub(lambda quote: quote[0] if _find(quote[0][1:-1], words, alone=True) else _blank(quote), text)
    return _find(text, words)


def _find(text: str, words: Sequence[str], alone: bool = False) -> tuple[str, int] | None:
    """The last whole label word of a text; `alone`: only if nothing else but punctuation is there."""
    found = sorted((start, end, word) for word in words for start, end in _occurrences(text, word))
    if not found:
        return None
    start, end, word = found[-1]
    if len(found) > 1 and found[-2][2] != word:
        between = text[found[-2][1] : start]
        if _OFFERED.fullmatch(between):
            return None
        if contrasted(between) and not denied("", text[end : end + 50]):
            start, end, word = found[-2]
    if denied(text[max(0, start - REACH) : start], text[end : end + 50]):
        return None
    if alone and any(c.isalnum() for c in text[:start] + text[end:]):
        return None
    return word, start


def _occurrences(text: str, word: str) -> list[tuple[int, int]]:
    if forms := _CHINESE_FORMS.get(word):
        return [run.span() for run in _CHINESE_RUN.finditer(text) if run[0] in forms.split()]
    return [found.span() for found in _whole_word(word).finditer(text)]


@lru_cache
def _whole_word(word: str) -> re.Pattern[str]:
    letter, joint = r"[^\W_]", r"[-'’]"
    before, after = rf"(?<!{letter})(?<!{letter}{joint})", rf"(?!{letter}|{joint}{letter})"
    return re.compile(before + re.escape(word) + after, re.IGNORECASE)


def _blank(found: re.Match[str]) -> str:
    """As many spaces as there was text, so that positions stay."""
    return re.sub(r"[^\n]", " ", found[0])


def forms_of(word: str) -> list[str]:
    """The spellings, in lower case, that count as a label word."""
    return _CHINESE_FORMS[word].split() if word in _CHINESE_FORMS else [word.casefold()]


class _Characters(dict[int, str | None]):
    """What each character of a post becomes; filled as characters are met."""

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        category = unicodedata.category(character)
        shown: str | None = character
        if character.isspace() or category in ("Zl", "Zp", "Zs"):
            shown = " "
        elif category in ("Cc", "Cf", "Cs", "Co", "Cn") or character in "\u115f\u1160\u3164\uffa0\u034f\u2800":
            shown = None  # controls, zero-width, bidi, lone surrogates, unassigned, and letters that show nothing
        elif 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:
            shown = None  # variation selectors: they can carry hidden text
        self[code] = shown
        return shown


_CHARACTERS = _Characters()
_TEMPLATE_MARK = re.compile(r"<(?=[A-Za-z/|｜!])|\[(?=/?(?:INST|SYS|AVAILABLE_TOOLS|TOOL)\b)", re.IGNORECASE)


@lru_cache(maxsize=65_536)
def clean(text: str, max_chars: int = MAX_CHARS) -> str:
    """Make one harmless line of a stranger's text, at most max_chars characters of it."""
    line = " ".join(text[: 4 * max_chars].translate(_CHARACTERS).split())
    line = _TEMPLATE_MARK.sub(lambda mark: mark[0] + " ", line)
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"


def shorten(text: str, max_chars: int = 120) -> str:
    """One short line of a text, for a reason or an error message."""
    return clean(text, max_chars)


def post_line(post: Post, number: int, answers: int | None, language: Language = "en") -> str:
    """Show one post.

    Args:
        post: the post.
        number: its place in the thread, from 1.
        answers: the place of the post it answers, None if that is not known.
        language: of the frame around the text.
    """
    frame = _FRAME[language]
    author = re.sub(r"[^\w@.\-]", "", clean(post.author, MAX_AUTHOR_CHARS)) or "?"
    notes = []
    if number > 1 and post.seconds is not None:
        notes.append(frame["after"].format(round(post.seconds / 60)))
    if answers is not None:
        notes.append(frame["answers"].format(answers))
    note = f" ({', '.join(notes)})" if notes else ""
    return f"[{number}] {author}{note}: {clean(post.text)}"


def show_posts(
    thread: ClaimThread,
    chosen: Sequence[int] | None = None,
    *,
    max_tokens: int | None = None,
    count: Callable[[str], int] = len,
) -> str:
    """Show posts of a thread, one line each, in the order of time, in the thread's language.

    Args:
        thread: the posts seen so far.
        chosen: indices (from 0, ascending) of the posts to show; None for all.
        max_tokens: budget for the result; None for none.
        count: counts the tokens of a text (Model.count_text).

    Returns:
        The lines; over the budget without the oldest replies (see the module), and marked so.
    """
    places = {post.id: n for n, post in enumerate(thread.posts, 1)}
    indices = range(len(thread.posts)) if chosen is None else chosen
    lines = []
    for index in indices:
        post = thread.posts[index]
        answers = None if post.parent is None else places.get(post.parent)
        lines.append(post_line(post, index + 1, answers, thread.language))
    if not lines:
        return _FRAME[thread.language]["none"]
    if max_tokens is not None:
        numbers = [index + 1 for index in indices]
        lines = _fit(lines, numbers, max_tokens, count, _FRAME[thread.language]["cut"])
    return "\n".join(lines)


def _fit(lines: list[str], numbers: list[int], budget: int, count: Callable[[str], int], note: str) -> list[str]:
    """Keep the source post, if it is there, and as many of the latest blocks of replies as will fit."""
    if sum(len(line.encode()) + 1 for line in lines) <= budget:
        return lines  # no tokenizer makes more tokens than there are bytes
    head = 1 if numbers[0] == 1 else 0
    source, replies = [_cut(line, budget, count) for line in lines[:head]], lines[head:]
    costs = [count(line) + 1 for line in replies]
    room = budget - sum(count(line) + 1 for line in source)
    last_block = max(0, len(replies) - 1) // BLOCK * BLOCK
    # the last block goes post by post: a budget that small is beyond saving a shared beginning
    for left_out in (*range(0, last_block, BLOCK), *range(last_block, len(replies))):
        span = numbers[head : head + left_out]
        marks = [note.format(f"{span[0]}-{span[-1]}")] if span else []
        if sum(costs[left_out:]) + sum(count(mark) + 1 for mark in marks) <= room:
            return [*source, *marks, *replies[left_out:]]
    return source


def _cut(line: str, budget: int, count: Callable[[str], int]) -> str:
    """Shorten one line to the budget, down to its number."""
    while len(line) > 4 and count(line) + 1 > budget:
        line = line[: max(4, len(line) * 3 // 4)]
    return line
