"""The tables of names: every *when*, every *how* (graphs/hows.py), and the published methods that are pairs of them.

Adding one is a file in `agents/stopping/` or `agents/verifiers/` (or `graphs/`, if it is a machine) and a line here or
there. What a name needs is imported when it is opened, so that listing names costs nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.stopping.fixed import Confident, after_hours, after_posts
from agents.verdict import StopPolicy
from corpora.errors import UsageError
from graphs import verifiers
from graphs.hows import HOW, How, check_verifier, how_of, known, learns_from_shots, open_verifier
from graphs.parts import Parts

__all__ = [
    "HOW",
    "METHODS",
    "WHEN",
    "How",
    "Pair",
    "When",
    "check_policy",
    "check_verifier",
    "checkpoints",
    "how_of",
    "known",
    "learns",
    "learns_from_shots",
    "names",
    "open_policy",
    "open_verifier",
]


@dataclass(frozen=True)
class Pair:
    """A published method: when it decides and how."""

    when: str
    how: str | None
    """None: `encoder`, or `direct` where a model is named."""
    about: str
    split: str = "few-shot"
    """How its paper divides a corpus (see eval.config.SPLITS)."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Other options of eval.run as its paper has them; the command line's and the file's go before them."""


METHODS = {
    "eard": Pair("eard", None, "the imitation-learned agent says when (EARD); encoder, or --model, says what"),
    "encoder": Pair("posts:1,all", "encoder", "sentence vectors + logistic regression; needs no model"),
    "first-post": Pair("first-post", "direct", "one question on the source post (EARD, Table 1)"),
    "preset-hours": Pair("hours:1,6,12,24,36", "direct", "one question at preset times (EARD, section 4)"),
    "ced": Pair("ced", "ced", "credible early detection: a probability threshold (EARD, Table 1)"),
    "erd": Pair("erd", "erd", "early rumour detection by deep Q-learning (EARD, Table 1)"),
    "heard": Pair("heard", "heard", "neural Hawkes process: stop where predictions are stable (EARD, Table 1)"),
    "vanilla": Pair("all-posts", "vanilla", "one question on 40 random comments (S2MAD, Table 1)", "all"),
    "s2mad": Pair("all-posts", "s2mad", "comments separated by stance, two debaters and a judge (S2MAD)", "all"),
    "jsdrv": Pair(
        "all-posts",
        "jsdrv",
        "stances and veracity, learned together from few labelled claims (JSDRV)",
        options={"task": "joint", "labels": "veracity", "seeds_share": 0.5, "holdout": 0.2},
    ),
}


def _confidence(argument: str, parts: Parts) -> StopPolicy:
    return Confident(open_verifier(parts), _share(argument, "confidence"))


def _eard(argument: str, parts: Parts) -> StopPolicy:
    from graphs.stoppers import folder, policy

    return policy(Path(argument) if argument else folder(parts), parts)


def _random(argument: str, parts: Parts) -> StopPolicy:
    from agents.stopping.audits import random_stop

    lengths = [len(thread.posts) for thread in (*parts.shots, *parts.pool)]
    if not lengths:
        raise UsageError("random:ER needs training threads, to know how long threads are: use a split that has some")
    return random_stop(_share(argument, "random"), lengths, parts.seed)


def _oracle(_: str, parts: Parts) -> StopPolicy:
    from agents.stopping.audits import Oracle

    return Oracle(open_verifier(parts), parts.answers)


def _share(argument: str, name: str) -> float:
    try:
        value = float(argument)
    except ValueError:
        value = -1.0
    if not 0 < value <= 1:
        raise UsageError(f"{name}:{argument}: want a number above 0, at most 1 ({name}:0.4)")
    return value


def _policy_folder(argument: str) -> None:
    if argument:
        from agents.stopping.learned import digest

        digest(Path(argument))


@dataclass(frozen=True)
class When:
    """A stop policy's entry in the table."""

    open: Callable[[str, Parts], StopPolicy]
    """Takes what stands after the colon."""
    about: str
    argument: str | None = None
    """What stands after the colon; in brackets where it may be left out."""
    check: Callable[[str], object] = str
    """Raises UsageError for an argument that cannot be meant."""
    reads_vectors: bool = False
    """Whether it needs the sentence encoder."""
    learns: bool = False
    """Whether it is trained on labelled shots, unless an argument names what is trained."""
    means: str = "enough has been heard"
    """What is the case where it stops: told in a trace."""


WHEN = {
    "first-post": When(lambda *_: after_posts("1"), "after the source post", means="the source post is read"),
    "all-posts": When(lambda *_: after_posts("all"), "after the last post"),
    "posts": When(
        lambda text, _: after_posts(text), "after N posts, or all", "N", after_posts, means="that many are read"
    ),
    "hours": When(lambda text, _: after_hours(text), "H hours after the source post", "H", after_hours),
    "confidence": When(
        _confidence,
        "where the verifier gives a label probability T",
        "T",
        lambda text: _share(text, "confidence"),
        means="the verifier gives its label that probability",
    ),
    "eard": When(
        _eard,
        "the imitation-learned agent, trained if it is not there; or DIR's",
        "[DIR]",
        _policy_folder,
        reads_vectors=True,
        learns=True,
        means="the trained agent says stop",
    ),
    "ced": When(
        lambda text, parts: verifiers.baseline("ced", parts, text).policy,
        "first post with a label of probability T (0.975): CED",
        "[T]",
        lambda text: text and _share(text, "ced"),
        reads_vectors=True,
        learns=True,
        means="a label reaches the threshold of probability",
    ),
    "erd": When(
        lambda _, parts: verifiers.baseline("erd", parts).policy,
        "where ERD's deep Q-network says stop",
        reads_vectors=True,
        learns=True,
        means="the deep Q-network values stopping above reading on",
    ),
    "heard": When(
        lambda _, parts: verifiers.baseline("heard", parts).policy,
        "where less than one more change of label is expected: HEARD",
        reads_vectors=True,
        learns=True,
        means="less than one more change of label is expected",
    ),
    "random": When(
        _random,
        "by chance, at a mean early rate of ER: the floor",
        "ER",
        lambda text: _share(text, "random"),
        means="chance says so",
    ),
    "oracle": When(_oracle, "where the verifier is first right: the ceiling"),
}


def names(table: Mapping[str, When] | Mapping[str, How], without: str = "") -> str:
    """All that may be chosen, with what stands after a colon: `posts:N, hours:H, eard[:DIR] …`."""
    told = []
    for name, entry in table.items():
        argument = entry.argument or ""
        optional = argument.startswith("[")
        told += [name + (f"[:{argument[1:]}" if optional else f":{argument}" if argument else "")]
    return ", ".join(each for each in told if each != without)


def checkpoints(when: str) -> list[str]:
    """Split a list of stop policies (`hours:1,6,12`) into single ones (`hours:1`, `hours:6`, `hours:12`)."""
    name, colon, arguments = when.partition(":")
    if name not in ("posts", "hours", "confidence", "ced", "random"):
        return [when]  # a folder's name may have commas
    return [f"{name}:{argument.strip()}" for argument in arguments.split(",")] if colon else [when]


def check_policy(when: str, how: str | None = None) -> When:
    """The table's entry of one stop policy, its argument looked at.

    Args:
        when: The stop policy.
        how: Name of the verifier that it is to be a pair with, if that is known.

    Raises:
        UsageError: no such policy, not such an argument, or one that can never stop with this verifier.
    """
    name, colon, argument = when.partition(":")
    entry = WHEN[known(name, WHEN, "--when")]
    wanted = entry.argument or ""
    if bool(argument) != bool(wanted) and not (wanted.startswith("[") and not colon):
        want = f"{name}:{wanted}" if wanted else name
        raise UsageError(f"--when {when}: want {want}")
    entry.check(argument)
    if name == "confidence" and how and not how_of(how).gives_probabilities:
        raise UsageError(f"--when {when} waits for a label's probability, and {how} gives none: use --when posts:N")
    return entry


def learns(when: str) -> bool:
    """Whether a stop policy is trained on labelled shots."""
    name, _, argument = when.partition(":")
    return WHEN[name].learns and not (name == "eard" and argument)


def open_policy(when: str, parts: Parts) -> StopPolicy:
    """The stop policy of one name.

    Raises:
        UsageError: no such policy, not such an argument, or what it needs is not there.
    """
    return check_policy(when).open(when.partition(":")[2], parts)
