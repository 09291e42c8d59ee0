"""Posts shown in a chat: by number, quoted so that no renderer reads them."""

from corpora.thread import ClaimThread
from graphs.chatting.evidence import LEAST, Judgement
from graphs.chatting.numbers import in_points, later
from graphs.chatting.quoting import QUOTED, SHOWN, plain, quote
from graphs.chatting.texts import name_of, say

LISTED = 20
"""Posts shown at once at most."""


def show_posts(thread: ClaimThread, first: int, last: int, found: Judgement | None) -> str:
    """Posts by number, quoted, each with what it does to the verdict, if that is known."""
    language, count = thread.language, len(thread.posts)
    first, last = (count if number == -1 else number for number in (first, last))
    if not 1 <= first <= count:
        return say("no_such_post", language, number=first, n=count)
    last = max(first, min(last, count))
    end = min(last, first + LISTED - 1)
    single = first == last
    lines = [_shown(thread, number, found, SHOWN if single else QUOTED) for number in range(first, end + 1)]
    if end < last:
        lines.append(say("more_posts", language, n=last - end, next=end + 1))
    return "\n\n".join(lines)


def _shown(thread: ClaimThread, number: int, found: Judgement | None, limit: int) -> str:
    post, language = thread.posts[number - 1], thread.language
    places = {each.id: place for place, each in enumerate(thread.posts, 1)}
    about = [plain(post.author, 40)] if post.author else []
    if number == 1:
        about.append(say("is_claim", language))
    elif post.seconds is not None:
        about.append(later(post.seconds, language))
    if post.parent and places.get(post.parent, 1) > 1:
        about.append(say("answers", language, number=places[post.parent]))
    weight = next((each["weight"] for each in (found or {}).get("left_out", []) if each["posts"] == [number]), None)
    if found and weight is not None and abs(weight) >= LEAST:
        points = in_points(weight, language)
        about.append(say("moves_it", language, label=name_of(found["label"], language), points=points))
    told = f" ({', '.join(about)})" if about else ""
    return say("shown", language, number=number, n=len(thread.posts), about=told, text=quote(post.text, limit))


def post_line(thread: ClaimThread, number: int) -> str:
    """A post in a list of them: its number, its author, its text."""
    post = thread.posts[number - 1]
    return f"**{number}** {plain(post.author, 40)} {quote(post.text)}".replace("  ", " ")
