"""A debate, for `eval.show`: how comments were separated, what was said turn by turn, and the posts it rests on."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from corpora.thread import ClaimThread
from eval.results import clean, line

Debate = dict[str, Any]
"""A transcript as stored (agents/debate/transcript.py), with "gold": comment id -> S or D."""

HEADS = ("score", "side", "gold")
"""What `marks` says of a comment."""
_SPEAKERS = {"p": "p (sees support)", "n": "n (sees opposition)", "agent": "agent (sees both)"}
_OPINION = {True: "yes", False: "no", None: "not known (nobody asked, or the answer could not be read)"}


def marks(debates: Sequence[Debate]) -> dict[str, tuple[str, str, str]]:
    """Say of each comment what score it was given, who saw it, and what annotators say of it.

    Args:
        debates: on the same thread, one a checkpoint; the last of them says who saw what.

    Returns:
        Comment id -> texts for HEADS; "?" is a score that could not be read, "" one that nobody asked for.
    """
    scores = {post: score for debate in debates for post, score in debate["scores"].items()}
    sides = {post: "" for post in scores}
    for side in ("p", "n"):
        for post in debates[-1][side] if debates else ():
            sides[post] = sides.get(post, "") + side
    gold = {post: stance for debate in debates for post, stance in debate.get("gold", {}).items()}
    return {post: (_score(scores, post), side, gold.get(post, "")) for post, side in sides.items()}


def _score(scores: dict[str, float | None], post: str) -> str:
    if post not in scores:
        return ""
    score = scores[post]
    return "?" if score is None else "0.00" if score == 0 else f"{score:+.2f}"


def marks_alone(marked: dict[str, tuple[str, str, str]]) -> Table:
    """The same as a table of its own, for a thread whose posts are gone."""
    table = Table("comment", *HEADS, box=None, pad_edge=False, header_style="dim")
    for post, cells in marked.items():
        table.add_row(*(Text(line(cell)) for cell in (post, *cells)))
    return table


def show(debate: Debate, thread: ClaimThread | None, where: str = "") -> Group:
    """Make a debate printable.

    Args:
        debate: its transcript.
        thread: the posts; None where the corpus is gone, and ids must do.
        where: which of several it is, for the heading.
    """
    numbers = {post.id: str(number) for number, post in enumerate(thread.posts if thread else (), 1)}

    def named(posts: Sequence[str]) -> str:
        return ", ".join(numbers.get(post, post) for post in posts) or "none"

    parts: list[Any] = [
        Text(line(f"debate{where}: {debate['calls']} questions"), style="bold"),
        Text(f"taken for an opinion: {_OPINION[debate['subjective']]}"),
        Text(line(f"p saw comments {named(debate['p'])}; n saw {named(debate['n'])}")),
    ]
    if changed := ", ".join(f"{speaker} {count} ×" for speaker, count in debate["flips"].items() if count):
        parts.append(Text(line(f"changed sides: {changed}")))
    last = {turn["speaker"]: number for number, turn in enumerate(debate["turns"])}
    for number, turn in enumerate(debate["turns"]):
        speaker = _SPEAKERS.get(turn["speaker"], turn["speaker"])
        again = f", asked {turn['calls']} times" if turn["calls"] > 1 else ""
        head = line(f"round {turn['round']}, {speaker}: {turn['label'] or 'no label'}{again}")
        parts += [Text(head, style="bold cyan"), _indented(Text(clean(turn["text"])))]
        if last[turn["speaker"]] == number:
            parts.append(_indented(_cited(turn, thread)))
        elif turn["cites"]:
            parts.append(_indented(Text(line(f"cites {named(turn['cites'])}"), style="dim")))
    return Group(*parts)


def _cited(turn: dict[str, Any], thread: ClaimThread | None) -> Group:
    """The posts that a final argument names, with what they say."""
    there = {post.id: (number, post) for number, post in enumerate(thread.posts if thread else (), 1)}
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(justify="right", style="dim")
    grid.add_column(overflow="fold")
    for name in turn["cites"]:
        if name in there:
            number, post = there[name]
            grid.add_row(Text(f"[{number}]"), Text.assemble((line(post.author), "bold"), " ", clean(post.text)))
        else:
            grid.add_row("", Text(line(f"post {name}")))
    parts: list[Any] = [Text("cites these posts:" if turn["cites"] else "cites no post", style="dim"), grid]
    if turn["unknown"]:
        parts.append(Text(f"and posts that do not exist: {turn['unknown']}", style="yellow"))
    return Group(*parts)


def _indented(what: Any) -> Padding:
    return Padding(what, (0, 0, 0, 4), expand=False)
