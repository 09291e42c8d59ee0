"""What a verdict rests on, found by judging again; nothing is made up.

- **What carried it** (leave one out): each reply is left out once. Its weight is how much likelier the verdict is with
  it than without. The claim cannot be left out; what it says alone is told beside.
- **What would change its mind**: the replies are left out together, those that carried most first, one more each time,
  until the label flips or the claim is alone; and four stock replies (support, deny, question, comment) are added as
  the next post. Other sets of replies are not tried.
- With a chat model each of these is a question: replies are left out in blocks, so that everything costs at most
  `max_calls`; verifiers that ask more than one question a verdict are not asked again.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from agents.models import ModelError
from agents.together import together
from agents.verdict import Verdict, Verifier
from corpora.errors import UsageError
from corpora.thread import ClaimThread, Post
from graphs.chatting.evidence import ONE_QUESTION, STOCK, Belief, Judgement, Weighed, aside, p_of
from graphs.context import Context, method_of
from graphs.hows import how_of

SINGLES = 300
"""Replies that are left out one by one; of longer conversations, blocks of them are."""


async def weigh(thread: ClaimThread, found: Judgement, context: Context, max_calls: int) -> Judgement:
    """Add what carried the verdict and what would change it, for at most so many questions, those before included."""
    asks = how_of(context.how).asks_model
    found = {**found, "weighed": True}
    if found["label"] is None:
        return found
    if asks and context.how not in ONE_QUESTION:
        return _limited(found, f"no_weights:{context.how}")
    room = max_calls - found["calls"] - len(STOCK[thread.language])
    # with replies: one for the claim alone, one at least to leave something out, one for all that carried it
    if asks and room < (3 if len(thread.posts) > 1 else 0):
        return _limited(found, f"no_calls:{max_calls}")
    verifier = (await method_of(context)).verifier
    weighing = _Weighing(thread, verifier, found, asks)
    try:
        return {**found, **await aside(weighing.run(room if asks else len(thread.posts)), context)}
    except (ModelError, UsageError):
        return _limited(found, "model_failed")


class _Weighing:
    """One conversation, judged again and again."""

    def __init__(self, thread: ClaimThread, verifier: Verifier, found: Judgement, asks: bool) -> None:
        self.thread, self.verifier, self.found, self.asks = thread, verifier, found, asks
        self.label, self.numbers, self.calls = found["label"], found["numbers"], found["calls"]

    async def run(self, room: int) -> Judgement:
        """Leave out and add; at most `room` questions of a chat model, the stock replies apart."""
        posts, stock = self.thread.posts, STOCK[self.thread.language]
        ends = range(1, min(2, len(posts)) if self.asks else len(posts))
        read = zip(ends, await self._all([posts[:end] for end in ends]), strict=True)
        beliefs = [Belief(read=end, label=verdict.label, p=p_of(verdict, self.label)) for end, verdict in read]
        if len(beliefs) == len(posts) - 1:  # the belief after the last post is the verdict itself
            beliefs.append(Belief(read=len(posts), label=self.label, p=self.found["p"]))
        blocks = _blocks(range(1, len(posts)), min(SINGLES, room - 2) if self.asks else SINGLES)
        left_out = [
            self._weighed([self.numbers[index] for index in block], "", verdict)
            for block, verdict in zip(blocks, await self._all([without(posts, block) for block in blocks]), strict=True)
        ]
        added = await self._all([(*posts, self._stock(text)) for _, text in stock])
        return {
            "beliefs": beliefs,
            "left_out": left_out,
            "without": await self._flip(left_out, blocks, beliefs[0]),
            "added": [self._weighed([], name, verdict) for (name, _), verdict in zip(stock, added, strict=True)],
            "calls": self.calls if self.asks else 0,
        }

    async def _flip(
        self, left_out: Sequence[Weighed], blocks: Sequence[Sequence[int]], alone: Belief
    ) -> Weighed | None:
        """The first set of posts, in the order of what they carried, without which the label is another."""
        for each in left_out:
            if each["label"] not in (None, self.label):
                return each
        order = sorted(range(len(blocks)), key=lambda n: -(left_out[n]["weight"] or 0.0))
        carrying = sum((each["weight"] or 0.0) > 0 for each in left_out)
        # a chat model is asked once: without all that carried, together
        for count in (n for n in range(2, len(order)) if n == carrying or not self.asks):
            out = sorted(index for n in order[:count] for index in blocks[n])
            verdict = await self._ask(without(self.thread.posts, out))
            if verdict.label not in (None, self.label):
                return self._weighed([self.numbers[index] for index in out], "", verdict)
        if blocks and alone["label"] not in (None, self.label):  # without any reply; that is known already
            return Weighed(posts=self.numbers[1:], reply="", label=alone["label"], p=alone["p"], weight=None)
        return None

    def _weighed(self, posts: list[int], reply: str, verdict: Verdict) -> Weighed:
        p, usual = p_of(verdict, self.label), self.found["p"]
        weight = None if reply or p is None or usual is None else usual - p
        return Weighed(posts=posts, reply=reply, label=verdict.label, p=p, weight=weight)

    def _stock(self, text: str) -> Post:
        last = self.thread.posts[-1]
        return Post("stock reply", text, last.seconds, "", self.thread.source.id)

    async def _all(self, many: Sequence[Sequence[Post]]) -> list[Verdict]:
        """Verdicts on each; a chat model answers many as fast as one, a classifier one after the other."""
        if self.asks:
            return await together(*(self._ask(posts) for posts in many))
        return [await self._ask(posts) for posts in many]

    async def _ask(self, posts: Sequence[Post]) -> Verdict:
        self.calls += 1
        return await self.verifier(replace(self.thread, posts=tuple(posts)))


def _limited(found: Judgement, limit: str) -> Judgement:
    return {**found, "limits": [*found["limits"], limit]}


def without(posts: Sequence[Post], out: Sequence[int]) -> tuple[Post, ...]:
    """The posts without some; what answered one of those answers what it answered."""
    gone = {posts[index].id: posts[index].parent for index in out}
    kept = []
    for index, post in enumerate(posts):
        parent = post.parent
        while parent in gone:
            parent = gone[parent]
        if post.id not in gone:
            kept.append(post if parent == post.parent else replace(post, parent=parent or posts[0].id))
        assert index or post.id not in gone, "the claim cannot be left out"
    return tuple(kept)


def _blocks(replies: Sequence[int], most: int) -> list[list[int]]:
    """The replies in at most so many blocks, each of neighbours, their sizes as equal as can be."""
    count = min(len(replies), most)
    bounds = [round(n * len(replies) / count) for n in range(count + 1)] if count else []
    return [list(replies[start:end]) for start, end in pairwise(bounds)]
