"""What a person sees of a training: how far it is, what was kept, and at the end a row per epoch."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from corpora.clean import printable
from training.progress import bar

WIDTH = 60
"""Characters shown of a text."""


class Display:
    """A line that says what is being done, above it what was."""

    def __init__(self, console: Console, progress: Progress) -> None:
        self.console, self.progress = console, progress
        self._line = progress.add_task("", total=None, visible=False, numbers="")
        self._what = ""

    def advance(self, what: str, done: int, total: int, numbers: str = "") -> None:
        """So much of a step is done."""
        if what != self._what:
            self.progress.reset(self._line, description=what, total=total, visible=True, numbers=numbers)
            self._what = what
        self.progress.update(self._line, completed=done, total=total, numbers=numbers)

    def say(self, line: str) -> None:
        """Something to remember."""
        self.console.print(printable(line, 500), style="dim", markup=False, highlight=False)

    def row(self, row: Mapping[str, Any]) -> None:
        """An epoch was validated."""
        self.console.print(summary(row), markup=False, highlight=False)


@contextmanager
def show(console: Console) -> Iterator[Display]:
    """A display for a training."""
    with bar(console) as progress:
        yield Display(console, progress)


def summary(row: Mapping[str, Any]) -> str:
    """An epoch in one line."""
    parts = [f"epoch {row['epoch']}" if row["epoch"] else "pre-trained"]
    if "claims" in row:
        parts.append(
            f"kept {row['claims_kept']} of {row['claims']} claims, {row['posts_kept']} of {row['posts']} posts"
        )
        parts.append(f"mean reward {row['mean_reward']:+.2f}")
    parts += [f"{name} loss {losses[-1]:.3f}" for name, losses in _losses(row)]
    if row["macro_f1"] is not None:
        parts.append(f"validation macro-F1 {row['macro_f1']:.3f}")
    return "; ".join(parts)


def table(about: dict[str, Any]) -> Table:
    """A row per epoch."""
    made = Table(box=None, header_style="bold")
    for head in ("epoch", "claims", "posts", "reward", "SD loss", "RV loss", "macro-F1", "micro-F1"):
        made.add_column(head, justify="right")
    for row in about["epochs"]:
        losses = dict(_losses(row))
        drawn = "claims" in row
        best = row["epoch"] == about["best_epoch"]
        made.add_row(
            f"{row['epoch']}{' *' if best else '  '}",
            f"{row['claims_kept']}/{row['claims']}" if drawn else "",
            f"{row['posts_kept']}/{row['posts']}" if drawn else "",
            f"{row['mean_reward']:+.2f}" if drawn else "",
            *(f"{losses[name][-1]:.3f}" if name in losses else "-" for name in ("SD", "RV")),
            *("-" if row[name] is None else f"{row[name]:.3f}" for name in ("macro_f1", "micro_f1")),
            style="bold" if best else "",
        )
    made.caption = "* kept; claims, posts: kept of annotated; reward: mean; F1: veracity of the claims held out"
    return made


def ask(console: Console, shown: dict[str, Any], display: Display | None = None) -> Any:
    """Show what was kept and ask about it: y, n, or numbers of rows to veto."""
    if display:
        display.progress.stop()  # a bar that goes on moving would write over the question
    rows: list[str] = []
    made = Table(box=None, header_style="bold", title=f"kept in epoch {shown['epoch']}")
    for head in ("", "label", "text", "why"):
        made.add_column(head, overflow="ellipsis", no_wrap=head != "text")
    for claim in shown["claims"]:
        rows.append(claim["id"])
        origin = "by people" if claim["labelled"] else "by RV"
        label = f"{claim['veracity']} {origin}"
        made.add_row(str(len(rows)), label, _cut(claim["text"]), _cut(claim["explanation"]), style="bold")
        for post in claim["posts"]:
            rows.append(f"{claim['id']}/{post['id']}")
            made.add_row(str(len(rows)), f"  {post['stance']}", _cut(post["text"]), _cut(post["explanation"]))
    console.print(made)
    if "problem" in shown:
        console.print(shown["problem"], markup=False)
    try:
        while True:
            console.print("Learn these? y, or the numbers of rows to leave out, or n to end the training: ", end="")
            answer = read_line(console.input(), rows)
            if answer is not None:
                return answer
            console.print(f"want y, n, or numbers from 1 to {len(rows)}", markup=False)
    except EOFError:
        raise KeyboardInterrupt from None
    finally:
        if display:
            display.progress.start()


def read_line(line: str, rows: list[str]) -> Any:
    """An answer typed in, as the graph takes it; None if it is none."""
    words = line.replace(",", " ").split()
    if words == ["y"]:
        return {"veto": []}
    if words == ["n"]:
        return "stop"
    if not words or not all(word.isascii() and word.isdigit() and 1 <= int(word) <= len(rows) for word in words):
        return None
    return {"veto": [rows[int(word) - 1] for word in words]}


def _losses(row: Mapping[str, Any]) -> list[tuple[str, list[float]]]:
    named = (("SD", "stances"), ("RV", "veracity"))
    return [(shown, losses) for shown, name in named if (losses := row["losses"].get(name))]


def _cut(text: str) -> str:
    """A post's words, which may hold anything, on one line."""
    return escape(printable(" ".join(text.split()), WIDTH))
