"""One question with two answers, asked of a chat model: what `direct`, `vanilla` and the controls of S2MAD share."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import prompts
from agents.call_log import CallLog
from agents.models import Message, Model, Reply
from agents.replies import no_label, read_label
from agents.together import together
from agents.verdict import Verdict
from corpora.errors import UsageError
from corpora.labels import LabelSet
from corpora.thread import Language

ROLE = "detector"
"""Recorded with the calls."""


def check(name: str, label_set: LabelSet, model: Model, samples: int) -> None:
    """Refuse a task that a question with two answers cannot settle, and samples that cannot differ.

    Raises:
        UsageError: the label set has not two labels, or samples are asked for at temperature 0.
    """
    if not label_set.binary:
        classes = ", ".join(label_set.labels)
        raise UsageError(f"{name} answers with one of two labels, not of {classes}: choose a binary task with --labels")
    if samples < 1 or (samples > 1 and model.parameters.get("temperature") == 0):
        raise UsageError("several samples need a temperature above 0, or they are all the same")


def load_prompts(name: str, places: set[str], directory: Path | None) -> dict[Language, prompts.Prompt]:
    """Load a prompt in every language, and check that it has these places: a replaced file may not.

    Raises:
        UsageError: one of the files cannot be used.
    """
    loaded: dict[Language, prompts.Prompt] = {}
    for language in get_args(Language):
        try:
            loaded[language] = prompts.load(name, language, directory)
            loaded[language].render(**dict.fromkeys(places, ""))
        except prompts.PromptError as error:
            raise UsageError(str(error)) from error
    return loaded


def room_for_posts(model: Model, prompt: prompts.Prompt) -> int:
    """Tokens that the posts may have, so that the instructions and the question are never cut."""
    return model.max_prompt_tokens - model.count_tokens(prompt.render(**dict.fromkeys(prompt.identifiers, "")))


async def ask(
    log: CallLog,
    model: Model,
    messages: Sequence[Message],
    *,
    words: tuple[str, str],
    label_set: LabelSet,
    thread_id: str,
    prompt_sha256: str,
    samples: int = 1,
    seed: int = 0,
) -> Verdict:
    """Ask, and read the answer as a verdict.

    With one sample, or where the model gives label probabilities, one call decides. Else `samples` calls
    vote; a tie is an abstention, and the probabilities are the shares of the calls that gave a label.

    Args:
        log: where the calls go through.
        model: whom to ask.
        messages: the prompt.
        words: the label words, in the order of the label set: words[0] means label_set.labels[0].
        label_set: what they mean.
        thread_id: recorded with the calls.
        prompt_sha256: recorded with the calls.
        samples: calls to make where no probabilities are given.
        seed: at a temperature above 0, each draws replies of its own.

    Raises:
        ModelError: a call failed for good.
    """

    async def reply_to(sample: int) -> Reply:
        return await log.ask(
            model,
            messages,
            role=ROLE,
            thread_id=thread_id,
            prompt_sha256=prompt_sha256,
            labels=words,
            sample=sample,
        )

    start = seed * samples if model.parameters.get("temperature") else 0
    reply = await reply_to(start)
    if samples > 1 and reply.label_probabilities is None:
        others = await together(*(reply_to(start + n) for n in range(1, samples)))
        return vote([reply, *others], words, label_set)
    return verdict_of(reply, words, label_set)


def verdict_of(reply: Reply, words: tuple[str, str], label_set: LabelSet) -> Verdict:
    """Read one reply as a verdict; words[0] means label_set.labels[0]."""
    meaning = dict(zip(words, label_set.labels, strict=True))
    word = read_label(reply.text, words, reply.cut)
    if word is None:
        return Verdict.abstained(no_label(reply), reply.text or None)
    probabilities = reply.label_probabilities
    return Verdict(
        meaning[word],
        probabilities and {meaning[w]: probabilities.get(w, 0.0) for w in words},
        reply.probability_method,
        rationale=reply.text if len(reply.text.strip()) > 2 * len(word) else None,
    )


def vote(replies: Sequence[Reply], words: tuple[str, str], label_set: LabelSet) -> Verdict:
    """The majority of several replies; a tie, or no label in any of them, is an abstention."""
    meaning = dict(zip(words, label_set.labels, strict=True))
    votes = Counter(meaning[word] for reply in replies if (word := read_label(reply.text, words, reply.cut)))
    if not votes:
        return Verdict.abstained(no_label(*replies))
    shares = {label: votes[label] / votes.total() for label in meaning.values()}
    (label, most), *others = votes.most_common()
    if others and others[0][1] == most:
        return Verdict.abstained(f"{votes.total()} replies are tied")
    return Verdict(label, shares, f"samples:{len(replies)}")
