"""Hostile posts: what strangers may write into a conversation to steer whoever judges it.

An attack turns a thread into the same thread with hostile posts in it, and leaves everything else alone: its id, its
gold labels, everybody else's posts. What is written stands in `attacks.toml`; here it is put in its place. Chance comes
from the names of the attack and the thread, so that a thread is attacked in the same way by every run.

`eval.run --attack` judges attacked test threads, and `eval/attack_report.py` says what that changed.
"""

import hashlib
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, get_args

from corpora.errors import ArgumentParser, UsageError, one_line_errors
from corpora.thread import ClaimThread, Language, Post
from eval.hostile_text import write
from graphs.methods import known

if TYPE_CHECKING:
    from rich.console import Console

ALL = "all"
"""What `--attack` takes for every one of them."""
AIMS = {
    "real": frozenset({"non-rumor", "true", "N", "T"}),
    "rumor": frozenset({"rumor", "false", "F", "U"}),
    "abstain": frozenset({"abstained"}),
}
"""Aim of an attack -> the labels, or the outcome, that fulfil it."""
CONTROL = "control"
"""Family of what is no attack, but is set beside them."""

_PAUSE = 60.0
"""Seconds between hostile posts behind the last post of a thread."""
_SHOWN = 8
"""Hostile posts that --show prints."""


@dataclass(frozen=True)
class Attack:
    """One way to put hostile posts into a thread; called with a thread, it returns the attacked one."""

    name: str
    family: str
    aim: str
    """One of AIMS."""
    about: str
    place: str
    """Where the posts go: "first", "middle", "last", "spread", or "source" (appended to the source post)."""
    count: int
    """How many posts; 0 in the source post."""
    author: str | None
    """What the hostile account is called; None for a new account with each post, named as others are."""
    texts: dict[Language, list[str]]

    @property
    def sha256(self) -> str:
        """What it does, as a content address: a run under an attack that has changed since is another run.

        What is only said of it does not count. Two posts cannot tell all places apart, so the fields count too.
        """
        posts = (Post("1", "claim", 0.0, "user1", None), Post("2", "reply", 600.0, "user2", "1"))
        done = [self(ClaimThread("probe", posts, language=language)).posts for language in get_args(Language)]
        fields = replace(self, family="", aim="", about="")
        return hashlib.sha256(repr((fields, done)).encode()).hexdigest()

    def __call__(self, thread: ClaimThread) -> ClaimThread:
        """Attack a thread."""
        rng = Random(f"{self.name}\n{thread.id}")  # noqa: S311 - no secret hangs on it
        texts, source = self.texts[thread.language], thread.source
        if self.place == "source":
            text = " ".join([source.text, *(write(text, thread, 1, rng) for text in texts)])
            return replace(thread, posts=(replace(source, text=text), *thread.posts[1:]))
        behind = Counter(self._places(len(thread.posts), rng))
        authors = {post.author for post in thread.posts}
        names = _unused("user{}", authors, len(authors) + 1)
        ids = _unused("hostile-{}", {post.id for post in thread.posts}, 1)
        posts: list[Post] = []
        written = 0
        for place, post in enumerate(thread.posts, 1):
            posts.append(post)
            for seconds in _times(thread, place, behind[place]):
                number = len(posts) + 1
                text = write(texts[written % len(texts)], thread, number, rng)
                author = write(self.author, thread, number, rng) if self.author else next(names)
                posts.append(Post(next(ids), text, seconds, author, source.id))
                written += 1
        return replace(thread, posts=tuple(posts))

    def _places(self, posts: int, rng: Random) -> list[int]:
        """Behind how many of the thread's own posts each hostile one stands."""
        if self.place == "spread":
            return [rng.randint(1, posts) for _ in range(self.count)]
        return [{"first": 1, "middle": max(1, posts // 2), "last": posts}[self.place]] * self.count


def _times(thread: ClaimThread, place: int, n: int) -> list[float | None]:
    """Times of n posts behind the thread's first `place`: evenly before its next, or a minute apart behind its last."""
    start = thread.posts[place - 1].seconds
    if start is None:
        return [None] * n
    end = thread.posts[place].seconds if place < len(thread.posts) else None
    step = _PAUSE if end is None else (end - start) / (n + 1)
    return [start + step * i for i in range(1, n + 1)]


def _unused(pattern: str, taken: AbstractSet[str], start: int) -> Iterator[str]:
    """Numbered names that nobody has."""
    return (name for n in count(start) if (name := pattern.format(n)) not in taken)


@cache
def attacks() -> dict[str, Attack]:
    """Every attack by name, in the order of attacks.toml."""
    tables = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    return {name: _attack(name, table) for name, table in tables.items()}


def _attack(name: str, table: dict[str, Any]) -> Attack:
    texts: dict[Language, list[str]] = {language: table.pop(language) for language in get_args(Language)}
    defaults: dict[str, Any] = {"count": 0 if table["place"] == "source" else len(texts["en"]), "author": None}
    return Attack(name=name, texts=texts, **defaults | table)


def attack_named(name: str, what: str = "attack") -> Attack:
    """The attack of this name.

    Args:
        name: What was asked for.
        what: How the mistake is introduced.

    Raises:
        UsageError: there is none; the nearest name is suggested.
    """
    return attacks()[known(name, attacks(), what)]


def parser() -> ArgumentParser:
    """The command line of `python -m eval.attacks`."""
    result = ArgumentParser(
        prog="python -m eval.attacks",
        description="List the attacks that eval.run --attack knows, or show what one of them does to a thread.",
        epilog="examples:\n  python -m eval.attacks\n  python -m eval.attacks brigade --show\n"
        "  python -m eval.attacks chatml --show --dataset sample --thread ambermoor-fire-01",
    )
    result.add_argument("name", metavar="NAME", nargs="?", help="one attack (default: all of them)")
    result.add_argument("--show", action="store_true", help="show what it does to a thread")
    result.add_argument("--dataset", default="sample", metavar="CORPUS", help="the thread's (default: %(default)s)")
    result.add_argument("--data-dir", type=Path, metavar="DIR", help="where corpora lie")
    result.add_argument("--thread", metavar="ID", help="the thread's id (default: the first one)")
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    options = parser().parse_args(arguments)
    with one_line_errors():
        if options.show and not options.name:
            raise UsageError("--show wants the name of an attack")
        chosen = [attack_named(options.name)] if options.name else list(attacks().values())
        from rich.console import Console
        from rich.table import Table

        console = Console(highlight=False)
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        for head in ("attack", "family", "aim", "about"):
            table.add_column(head, header_style="bold", overflow="fold")
        for attack in chosen:
            table.add_row(attack.name, attack.family, attack.aim, attack.about)
        console.print(table)
        if options.show:
            show(chosen[0], _thread(options), console)


def _thread(options: Any) -> ClaimThread:
    import difflib
    import os

    from corpora.catalog import load

    corpus = load(options.dataset, data_dir=options.data_dir, keep_handles=False, environ=os.environ)
    if options.thread is None:
        return corpus.threads[0]
    threads = {thread.id: thread for thread in corpus.threads}
    if options.thread not in threads:
        near = difflib.get_close_matches(options.thread, threads, 1)
        hint = f"; did you mean {_spelt(near[0])}?" if near else ""
        raise UsageError(f"{corpus.name} has no thread {_spelt(options.thread)}{hint}")
    return threads[options.thread]


def show(attack: Attack, thread: ClaimThread, console: "Console") -> None:
    """Print what an attack does to a thread: each post as it is written, and beneath a hostile one as models see it."""
    from rich.text import Text

    from agents.replies import show_posts

    attacked, own = attack(thread), set(thread.posts)
    seen = show_posts(attacked).splitlines()
    console.print(Text(f"\nthread {_spelt(thread.id)}: {len(thread.posts)} posts, attacked {len(attacked.posts)}"))
    hostile = 0
    for number, (post, line) in enumerate(zip(attacked.posts, seen, strict=True), 1):
        foreign = post not in own
        hostile += foreign
        if hostile > _SHOWN and foreign:
            continue
        text = f"[{number}] {_spelt(post.author)}: {_spelt(post.text)}"
        console.print(Text(text, style="bold red" if foreign else ""))
        if foreign:
            console.print(Text(f"    seen as: {_spelt(line)}", style="dim"))
    if hostile > _SHOWN:
        console.print(Text(f"(hostile posts left out here: {hostile - _SHOWN})", style="dim"))


def _spelt(text: str, limit: int = 1_000) -> str:
    """A text with what does not print as escapes, so that a terminal is safe from it and a reader sees it."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:limit])
    return shown if len(text) <= limit else f"{shown}… ({len(text):,} characters)"


if __name__ == "__main__":
    main()
