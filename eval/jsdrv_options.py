"""The options of JSDRV's studies, and what all rows of one of them have in common."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from corpora.errors import ArgumentParser, UsageError
from eval import jsdrv_studies
from eval.command_line import read_config
from eval.config import RunConfig
from eval.jsdrv_studies import ABOUT, EPSILONS, EXAMPLES, SHARES, TRAIN_ON, VARIED_SETTINGS, VARIES
from eval.studies import Row, varied

__all__ = ["ABOUT", "ALLOWED", "VARIES", "add_to", "read_base", "rows_of"]

ALLOWED = {"shares": ("seeds",), "epsilons": ("epsilon",), "with_overlap": ("parts", "seeds", "epsilon")}
"""Option -> studies that have it."""


def add_to(add: Callable[..., Any]) -> None:
    """Add the options to a parser's group."""
    add("--shares", nargs="+", type=float, metavar="P", help=f"seeds: which (default: {_listed(SHARES)})")
    add("--epsilons", nargs="+", type=float, metavar="E", help=f"epsilon: which (default: {_listed(EPSILONS)})")
    help_ = "parts, seeds, epsilon: learn from threads of the tested corpus too, as the paper seems to"
    add("--with-overlap", action="store_true", help=help_)


def _listed(values: Sequence[float]) -> str:
    return " ".join(f"{value:g}" for value in values)


def read_base(options: argparse.Namespace, rest: Sequence[str]) -> RunConfig:
    """What all rows have in common, and in the options the chat model of `joint` with its examples.

    Args:
        options: The study's own; `model` and `examples` are added.
        rest: Options of eval.run.

    Raises:
        UsageError: an option makes no sense here.
    """
    # no row is of a chat model alone but those of `joint`, and its own base is JSDRV
    of_chat = ArgumentParser(prog="python -m eval.study", add_help=False)
    of_chat.add_argument("--model")
    of_chat.add_argument("--examples", type=int)
    chat, rest = of_chat.parse_known_args(rest)
    if options.name != "joint" and (chat.model or chat.examples is not None):
        raise UsageError("--model and --examples add rows to the study joint; here --network names what JSDRV trains")
    if chat.examples is not None and not chat.model:
        raise UsageError("--examples are shown to a chat model: add --model")
    options.model, options.examples = chat.model, EXAMPLES if chat.examples is None else chat.examples
    given = {each.partition("=")[0] for each in rest}
    if {"--shots", "--pool"} & given:
        raise UsageError(
            "JSDRV's studies label a share of the training claims: use --seeds-share, not --shots or --pool"
        )
    base = read_config([*rest, "--method=jsdrv"])
    if base.seeds_share is None:  # a --config file has shots
        raise UsageError("JSDRV's studies label a share of the training claims: leave shots and pool out of --config")
    if options.name == "joint" and base.exclude_overlap:
        raise varied("exclude-overlap")
    for word in base.jsdrv:
        if word.partition("=")[0] == VARIED_SETTINGS.get(options.name):
            raise varied(f"jsdrv {word}")
    if base.train_on is None and base.split == "few-shot" and "--split" not in given and base.dataset != TRAIN_ON:
        base = replace(base, train_on=TRAIN_ON)
    if options.with_overlap and base.exclude_overlap:
        raise UsageError("--with-overlap and --exclude-overlap are opposites: leave one of them out")
    return base if options.name == "joint" or options.with_overlap else jsdrv_studies.without_overlap(base)


def rows_of(options: argparse.Namespace, base: RunConfig) -> list[Row]:
    """The rows of the study that was asked for.

    Raises:
        UsageError: a value or a model makes no sense.
    """
    match options.name:
        case "joint":
            return jsdrv_studies.joint(base, options.model, options.examples)
        case "parts":
            return jsdrv_studies.parts(base)
        case "seeds":
            return jsdrv_studies.seeds(base, options.shares or SHARES)
    return jsdrv_studies.epsilon(base, options.epsilons or EPSILONS)
