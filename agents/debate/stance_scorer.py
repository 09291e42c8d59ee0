"""The cheap scorer of S2MAD (`--scorer-model encoder`): a stance classifier on sentence vectors, without a chat model.

A comment becomes [its vector; its likeness to each of `LANDMARKS`], shape (d + 34,); logistic regression gives the
probabilities of the four stances, and the score is P(S) − P(D), in [−1, 1]. Questions and mere comments come out near
0. No score is exactly 0, so none is excluded: where few comments support, the side of the supporters is filled with
those that oppose least.

The source is left out: with it (product, difference, cosine) a classifier fits its own corpus a little better and other
corpora far worse. The landmarks do the opposite. docs/s2mad.md has the figures.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.debate.scoring import StanceScorer
from agents.encoder import Encoder
from corpora.errors import UsageError
from corpora.thread import ClaimThread, Stance

C = 0.1
"""Inverse strength of the L2 penalty: stance is a faint trace in vectors that are made to tell subjects apart."""
MOST = 200
"""Comments that a claim may count for. P-Stance has 21,574 on three claims, conversations some ten on each."""
LIKENESS = 3.0
"""What similarities to landmarks are multiplied by, so that the penalty spares them."""
LANDMARKS = [
    *("This is true.", "I can confirm this.", "I saw it myself.", "I am there right now and it is happening."),
    *("Yes, exactly.", "The police have confirmed it.", "Here is a photo of it.", "I agree with you."),
    *("This is terrible news.", "This is false.", "This is fake.", "No, that is a lie.", "That did not happen."),
    *("Stop spreading rumours.", "This has been debunked.", "That is not what happened.", "You are wrong."),
    *("It is a hoax.", "The police have denied it.", "Delete this.", "It is an old photo."),
    *("Is this true?", "What is your source?", "Where did you hear that?", "Any proof?"),
    *("Has this been confirmed?", "Why would they do that?", "Praying for them."),
    *("My thoughts are with the families.", "What a shame.", "Ha ha, that is funny.", "You are an idiot."),
    *("Thank you.", "I do not care."),
]
"""What people say who support, deny, ask or talk of something else, whatever the claim."""


class Comment(NamedTuple):
    """A comment to learn from."""

    text: str
    stance: Stance
    claim: str
    """Text of the source post."""


def stance_scorer(encoder: Encoder, threads: Sequence[ClaimThread]) -> StanceScorer:
    """Make a scorer that learns, when it is first asked, from threads with stance labels.

    Args:
        encoder: Makes the vectors; `learned_texts` are those it will need.
        threads: None of them tested.

    Raises:
        UsageError: no comment of the threads supports, or none denies.
    """
    comments = enough(threads)
    fitted: list[Any] = []
    one_at_a_time = threading.Lock()

    def fit() -> Any:
        with one_at_a_time:  # the first threads ask together
            if not fitted:
                fitted.append(_fit(encoder, comments))
            return fitted[0]

    async def score(thread: ClaimThread, indices: Sequence[int]) -> list[float]:
        texts = [thread.posts[index].text for index in indices]
        if not texts:
            return []
        model = fitted[0] if fitted else await asyncio.to_thread(fit)
        await encoder.ready(texts)
        rows = model.predict_proba(_features(encoder, texts))
        support, deny = (list(model.classes_).index(stance) for stance in "SD")
        return [float(row[support] - row[deny]) for row in rows]

    return score


def labelled_comments(threads: Sequence[ClaimThread]) -> list[Comment]:
    """The replies whose stance is known."""
    return [
        Comment(post.text, stance, thread.source.text)
        for thread in threads
        for post in thread.posts[1:]
        if (stance := thread.gold.stances.get(post.id))
    ]


def enough(threads: Sequence[ClaimThread]) -> list[Comment]:
    """The same, if a scorer can learn from them.

    Raises:
        UsageError: none supports, or none denies.
    """
    comments = labelled_comments(threads)
    if not {"S", "D"} <= {comment.stance for comment in comments}:
        raise UsageError(
            "the scorer encoder has no supporting and denying comments to learn from: put p-stance or semeval8 into a "
            "data folder; or, if the tested corpus has stance labels, use --split events or few-shot for shots of it"
        )
    return comments


def learned_texts(threads: Sequence[ClaimThread]) -> list[str]:
    """Every text whose vector the scorer learns from."""
    return [*LANDMARKS, *(comment.text for comment in labelled_comments(threads))]


def weights(comments: Sequence[Comment]) -> NDArray[np.float64]:
    """What each comment counts for: no claim more than `MOST`, and every stance as much as any other."""
    on = Counter(comment.claim for comment in comments)
    found = np.array([min(1.0, MOST / on[comment.claim]) for comment in comments])
    everything = found.sum()
    stances = np.array([comment.stance for comment in comments])
    for stance in set(stances):
        found[stances == stance] /= found[stances == stance].sum()
    found *= everything / found.sum()
    return found


def _features(encoder: Encoder, texts: list[str]) -> NDArray[np.float32]:
    vectors = encoder(texts)
    return np.concatenate([vectors, LIKENESS * vectors @ encoder(LANDMARKS).T], axis=1)


def _fit(encoder: Encoder, comments: Sequence[Comment]) -> Any:
    from sklearn.linear_model import LogisticRegression

    rows = _features(encoder, [comment.text for comment in comments])
    stances = [comment.stance for comment in comments]
    return LogisticRegression(C=C, max_iter=2000).fit(rows, stances, sample_weight=weights(comments))
