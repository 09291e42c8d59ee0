"""In-context mode (JSDRV, section 4.4): instances that the selector kept are shown as examples; nothing is fine-tuned.

Examples are balanced over the labels, the most recent of each first, as many as fit into a budget of tokens. An
example from the conversation that is asked about is never shown: it would give the answer away.
"""

from collections.abc import Callable, Hashable, Sequence
from itertools import zip_longest

from agents.jsdrv.annotation import STANCES, VERACITIES, StanceExample, VeracityExample
from agents.jsdrv.questions import Count, Shown, stance_shown, veracity_shown
from agents.jsdrv.reading import WORDS, Kind
from corpora.thread import ClaimThread, Language

Example = StanceExample | VeracityExample
SHARE = 4
"""Examples take at most one of so many parts of what a model reads."""
REMEMBERED = 100
"""Examples of a label that are remembered: more never fit."""
_MISSES = 20
_FRAME: dict[Language, dict[Kind, str]] = {
    "en": {
        "stance": "Example.\nClaim:\n{source}\nPost to judge:\n{post}\n{answer}\n\n",
        "veracity": "Example.\nClaim:\n{source}\nPosts that answer it:\n{posts}\n{answer}\n\n",
    },
    "zh": {
        "stance": "示例。\n说法：\n{source}\n待判断的帖子：\n{post}\n{answer}\n\n",
        "veracity": "示例。\n说法：\n{source}\n回复它的帖子：\n{posts}\n{answer}\n\n",
    },
}


class Examples:
    """The instances of one kind that a model may be shown."""

    def __init__(self, examples: Sequence[Example], kind: Kind, most: int | None = None) -> None:
        """Remember them.

        Args:
            examples: The most recent last.
            kind: Of their labels.
            most: Examples to show at most; None for as many as fit.
        """
        self.kind, self.most = kind, most
        labels = STANCES if kind == "stance" else VERACITIES
        latest = {_about(each): each for each in examples}  # what was labelled anew counts as it was labelled last
        again = [each for each in examples if latest[_about(each)] is each]
        self.by_label: dict[str, list[Example]] = {
            label: [small(each) for each in [one for one in again if one.label == label][-REMEMBERED:]]
            for label in labels
        }
        self._threads = {each.thread.id for some in self.by_label.values() for each in some}
        self._rendered: dict[Hashable, str] = {}

    def __len__(self) -> int:
        return sum(map(len, self.by_label.values()))

    def all(self) -> list[Example]:
        """Those that are remembered, label by label."""
        return [each for some in self.by_label.values() for each in some]

    def render(self, thread: ClaimThread, tokens: int, count: Count) -> str:
        """The examples to show with a question on a thread; empty where there are none.

        Args:
            thread: What is asked about.
            tokens: The budget.
            count: Counts the tokens of a text.
        """
        without = thread.id if thread.id in self._threads else None
        key = (thread.language, without, tokens)
        if key not in self._rendered:
            some = [
                [each for each in reversed(examples) if each.thread.id != without]
                for examples in self.by_label.values()
            ]
            self._rendered[key] = self._chosen(some, thread.language, tokens, count)
        return self._rendered[key]

    def _chosen(self, by_label: Sequence[Sequence[Example]], language: Language, tokens: int, count: Count) -> str:
        """Round after round, one of each label, while they fit; those in the thread's language first."""
        sorted_ = [sorted(some, key=lambda each: each.thread.language != language) for some in by_label]
        turns = [each for row in zip_longest(*sorted_) for each in row if each is not None]
        texts: list[str] = []
        misses = 0
        for example in turns:
            if misses == _MISSES or len(texts) == self.most:
                break
            text = shown(example, language, tokens // 2, count)
            if (cost := count(text)) <= tokens:
                texts.append(text)
                tokens -= cost
            else:
                misses += 1
        return "".join(texts)


def _about(example: Example) -> tuple[str, str]:
    """The conversation and the post that an example labels."""
    number = example.number if isinstance(example, StanceExample) else 0
    return example.thread.id, example.thread.posts[number].id


def shown(example: Example, language: Language, tokens: int, count: Callable[[str], int]) -> str:
    """One example as the model reads it, its posts cut to a budget."""
    kind: Kind = "stance" if isinstance(example, StanceExample) else "veracity"
    places: Shown
    if isinstance(example, StanceExample):
        places = stance_shown(example.thread, example.number, tokens, count)
    else:
        places, _ = veracity_shown(example.thread, example.kept, tokens, count)
    answer = WORDS[kind][language].answer(example.label, example.explanation)
    # not str.format of what stands in posts: only the frame is read for places
    return _FRAME[language][kind].format(**places, answer=answer)


def explained(example: Example, explanation: str) -> Example:
    """The same example with a reason, unless it has one."""
    return example if example.explanation else example._replace(explanation=explanation)


def small(example: Example) -> Example:
    """The same example in a thread of only the posts that it shows: those of a corpus may have 20,000."""
    posts = example.thread.posts
    if isinstance(example, StanceExample):
        parent = posts[example.number].parent
        answered = {n for n in range(example.number) if posts[n].id == parent}
        numbers = sorted({0, example.number} | answered)
    else:
        numbers = sorted({0, *example.kept})
    thread = ClaimThread(example.thread.id, tuple(posts[n] for n in numbers), language=example.thread.language)
    places = {number: place for place, number in enumerate(numbers)}
    if isinstance(example, StanceExample):
        return example._replace(thread=thread, number=places[example.number])
    return example._replace(thread=thread, kept={places[n]: annotation for n, annotation in example.kept.items()})
