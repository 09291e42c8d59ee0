"""What JSDRV's networks are asked: posts shown within the model's budget, the question always whole.

The order is append-only: instructions, examples if any, posts in the order of time, the question. Posts stand between
lines with a code that nobody can know who writes one (agents/debate/evidence.py). Of a thread that is too long the
oldest replies go, as whole posts; the claim and the post to judge are shortened, and never go.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from agents.debate.evidence import quoted
from agents.jsdrv.annotation import Kept
from agents.jsdrv.reading import WORDS, Kind
from agents.models import Message, Model
from agents.replies import post_line, show_posts
from agents.verifiers.question import load_prompts, room_for_posts
from corpora.thread import ClaimThread, Language
from prompts import Prompt

PLACES = {
    "stance": {"examples", "source", "post"},
    "veracity": {"examples", "source", "posts"},
    "joint": {"examples", "posts"},
}
"""The prompts, and what is put into each."""
_NUMBERED = re.compile(r"^\[(\d+)\] ", re.MULTILINE)
_TRIES = 12
LINE_TOKENS = 8
"""What a post's line in the joint answer may take, with some room."""

Count = Callable[[str], int]
Shown = Mapping[str, str]
"""Place of a prompt -> what is put into it."""


def local(model: Model) -> bool:
    """Whether a model answers a question for a label with likelihoods, and can go on from a reply's beginning."""
    return model.name.startswith("hf:")


class Asked(NamedTuple):
    """A question, ready for the call log."""

    messages: list[Message]
    sha256: str
    """Of the prompt."""
    numbers: list[int]
    """Places in the thread of the posts that it shows, beside the claim."""


class Questions:
    """The three prompts in every language."""

    def __init__(self, prompts: Path | None) -> None:
        """Load them.

        Args:
            prompts: A folder whose files replace our prompts, or None.

        Raises:
            UsageError: a prompt file is not usable.
        """
        self._prompts = {name: load_prompts(name, places, prompts) for name, places in PLACES.items()}

    def stance(self, model: Model, thread: ClaimThread, number: int, examples: str = "") -> Asked:
        """Ask for the stance of one post, given by its place in the thread (0 is the source)."""
        return _fit(
            model,
            self._prompts["stance"][thread.language],
            examples,
            lambda budget: (stance_shown(thread, number, budget, model.count_text), [number]),
            _beginning(model, "stance", thread.language),
        )

    def veracity(self, model: Model, thread: ClaimThread, kept: Kept, examples: str = "") -> Asked:
        """Ask for the veracity of a claim, given posts and the stances of those that have one."""
        return _fit(
            model,
            self._prompts["veracity"][thread.language],
            examples,
            lambda budget: veracity_shown(thread, kept, budget, model.count_text),
            _beginning(model, "veracity", thread.language),
        )

    def joint(self, model: Model, thread: ClaimThread, most: int, examples: str = "") -> Asked:
        """Ask for the stances of at most so many posts, and for the veracity."""
        first = max(1, len(thread.posts) - most + 1)
        places = [0, *range(first, len(thread.posts))]

        def show(budget: int) -> tuple[Shown, list[int]]:
            posts = show_posts(thread, places, max_tokens=budget, count=model.count_text)
            return {"posts": quoted(posts)}, _numbers(posts)

        reserve = _beginning(model, "veracity", thread.language) + LINE_TOKENS * most if local(model) else 0
        return _fit(model, self._prompts["joint"][thread.language], examples, show, reserve)


def stance_shown(thread: ClaimThread, number: int, budget: int, count: Count) -> Shown:
    """The claim, the post that a post answers if it is another, and the post, each of them shortened to fit."""
    post = thread.posts[number]
    answered = next((n for n, other in enumerate(thread.posts[:number]) if n and other.id == post.parent), None)
    shares = 3 if answered else 2
    above = [0] if answered is None else [0, answered]
    return {
        "source": quoted("\n".join(_line(thread, n, budget // shares, count) for n in above)),
        "post": quoted(_line(thread, number, budget // shares, count)),
    }


def veracity_shown(thread: ClaimThread, kept: Kept, budget: int, count: Count) -> tuple[Shown, list[int]]:
    """The claim, and the posts with what is known of their stances; and the places of those that are shown."""
    source = _line(thread, 0, budget // 2, count)
    room = budget - count(source)
    words = WORDS["stance"][thread.language].labels

    def mark(line: re.Match[str]) -> str:
        # unlike a user's name, a stance is followed by a dot in the middle of the line: no name can look like one
        label = kept[int(line[1]) - 1].label if int(line[1]) - 1 in kept else None
        return f"{line[0]}{words[label]} · " if label else line[0]

    numbers = sorted(set(kept) - {0})
    allowed = room
    for _ in range(_TRIES):  # what the marks take is known only when it is known which posts are there
        posts = _NUMBERED.sub(mark, show_posts(thread, numbers, max_tokens=allowed, count=count))
        over = count(posts) - room
        if over <= 0 or allowed <= 0:
            break
        allowed -= over
    return {"source": quoted(_NUMBERED.sub(mark, source)), "posts": quoted(posts)}, _numbers(posts)


def _numbers(lines: str) -> list[int]:
    return [int(number) - 1 for number in _NUMBERED.findall(lines)]


def _line(thread: ClaimThread, number: int, budget: int, count: Count) -> str:
    """One post's line, its text shortened to the budget."""
    post = thread.posts[number]
    answers = next((n for n, other in enumerate(thread.posts[:number], 1) if other.id == post.parent), None)
    line = post_line(post, number + 1, answers, thread.language)
    while len(line) > 16 and count(line) + 1 > budget:
        line = line[: len(line) * 3 // 4] + "…"
    return line


def _beginning(model: Model, kind: Kind, language: Language) -> int:
    """Tokens to leave free for the beginning of a reply that a local model is to go on from."""
    words = WORDS[kind][language]
    return max(model.count_text(words.beginning(label)) for label in words.labels) + 4 if local(model) else 0


def _fit(
    model: Model,
    prompt: Prompt,
    examples: str,
    show: Callable[[int], tuple[Shown, Sequence[int]]],
    reserve: int,
) -> Asked:
    """Render a prompt so that the model can read it: with fewer and shorter posts, at last without the examples.

    The budget is found by trying, since texts may take more tokens together than apart.
    """
    budget = room_for_posts(model, prompt) - reserve - model.count_text(examples)
    for _ in range(_TRIES):
        shown, numbers = show(max(budget, 0))
        messages = prompt.render(examples=examples, **shown)
        over = model.count_tokens(messages) + reserve - model.max_prompt_tokens
        if over <= 0:
            return Asked(messages, prompt.sha256, list(numbers))
        if budget <= 0:
            break
        budget -= over
    return _fit(model, prompt, "", show, reserve) if examples else Asked(messages, prompt.sha256, list(numbers))
