"""The table of verifiers: every *how* by name, what each needs, and what may stand after its colon."""

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agents.verdict import Verifier
from corpora.errors import UsageError
from graphs import verifiers
from graphs.parts import Parts


def _networks_folder(argument: str) -> None:
    if argument:
        from graphs.saved_networks import read_about

        read_about(Path(argument))


@dataclass(frozen=True)
class How:
    """A verifier's entry in the table."""

    open: Callable[[Parts], Verifier]
    """Takes parts whose `how` is its name, with what stands after the colon."""
    about: str
    argument: str | None = None
    """What stands after the colon; in brackets where it may be left out."""
    check: Callable[[str], object] = str
    """Raises UsageError for an argument that cannot be meant."""
    asks_model: bool = True
    """Whether it calls a chat model."""
    reads_vectors: bool = False
    """Whether it needs the sentence encoder."""
    learns: bool = False
    """Whether it learns from labelled shots, unless an argument names what has learned."""
    prompts: tuple[str, ...] = ()
    """Names of the prompts it shows."""
    temperature: float = 0.0
    """What its paper asks models with."""
    gives_probabilities: bool = True
    """Whether its verdicts may have label probabilities (a chat model's depend on what it tells)."""
    gives_stances: bool = False
    """Whether it says of every post what stance it takes."""
    any_labels: bool = False
    """Whether it can tell more than two classes apart, though it asks a chat model."""


HOW = {
    "encoder": How(
        verifiers.encoder,
        "MiniLM vectors + logistic regression on the shots",
        asks_model=False,
        reads_vectors=True,
        learns=True,
    ),
    "direct": How(verifiers.direct, "one Yes/No question on the posts read (EARD)", prompts=("direct",)),
    **{
        name: How(
            partial(verifiers.own, name),
            f"{name.upper()}'s own classifier (GRU)",
            asks_model=False,
            reads_vectors=True,
            learns=True,
        )
        for name in ("ced", "erd", "heard")
    },
    "vanilla": How(
        verifiers.vanilla, "one Fake/Real question on 40 random comments (S2MAD)", prompts=("vanilla",), temperature=0.2
    ),
    "s2mad": How(
        verifiers.s2mad,
        "two debaters with opposing comments, and a judge (S2MAD)",
        prompts=(
            "score",
            "score-batch",
            "score-quote",
            "subjectivity",
            "opinion-subjective",
            "opinion-non-subjective",
            "debate",
            "judge",
        ),
        temperature=0.2,
        gives_probabilities=False,
    ),
    "self-consistency": How(
        partial(verifiers.control, "self-consistency"),
        "the vote of several samples of direct: a control of S2MAD",
        prompts=("direct",),
        temperature=0.7,
    ),
    "self-correction": How(
        partial(verifiers.control, "self-correction"),
        "direct, told to find its own mistakes: a control of S2MAD",
        prompts=("direct", "correct"),
        temperature=0.2,
        gives_probabilities=False,
    ),
    "jsdrv": How(
        verifiers.jsdrv,
        "the stance and veracity networks of JSDRV, trained if they are not there; or DIR's",
        argument="[DIR]",
        check=_networks_folder,
        asks_model=False,
        reads_vectors=True,
        learns=True,
        gives_stances=True,
    ),
    "single-task": How(
        partial(verifiers.prompted, multi=False),
        "a stance for each post, and by itself the veracity (JSDRV's Llama 2-ST)",
        prompts=("stance", "veracity"),
        gives_stances=True,
        any_labels=True,
    ),
    "multi-task": How(
        partial(verifiers.prompted, multi=True),
        "all stances and the veracity in one answer (JSDRV's Llama 2-MT)",
        prompts=("joint",),
        gives_stances=True,
        any_labels=True,
    ),
    "majority": How(
        verifiers.majority,
        "the shots' commonest label, and that every post comments: the floor",
        asks_model=False,
        learns=True,
        gives_probabilities=False,
        gives_stances=True,
    ),
}


def check_verifier(how: str) -> How:
    """The table's entry of one verifier, its argument looked at.

    Raises:
        UsageError: no such verifier, or not such an argument.
    """
    name, colon, argument = how.partition(":")
    entry = HOW[known(name, HOW, "--how")]
    wanted = entry.argument or ""
    if (colon and not argument) or (bool(argument) != bool(wanted) and not wanted.startswith("[")):
        raise UsageError(f"--how {how}: want {f'{name}:{wanted}' if wanted else name}")
    entry.check(argument)
    return entry


def how_of(how: str) -> How:
    """The table's entry of a verifier that was checked before."""
    return HOW[how.partition(":")[0]]


def learns_from_shots(how: str) -> bool:
    """Whether a verifier learns from labelled shots here, and not somewhere before."""
    return how_of(how).learns and ":" not in how


def is_scorer(model: str) -> bool:
    """Whether what stands in a model's place is a stance classifier: who scores comments may be one."""
    return model == "encoder" or model.startswith("jsdrv:")


def open_verifier(parts: Parts) -> Verifier:
    """The verifier that `parts.how` names.

    Raises:
        UsageError: what it needs is not there.
    """
    return how_of(parts.how).open(parts)


def known(name: str, table: Iterable[str], what: str) -> str:
    """The name itself, if the table has it.

    Raises:
        UsageError: it has not; the nearest name is suggested.
    """
    names = sorted(table)
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, 1)
    hint = f"did you mean {near[0]}? There" if near else "there"
    raise UsageError(f"{what} {name} is unknown; {hint} are: {', '.join(names)}")
