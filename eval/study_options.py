"""The command line of `python -m eval.study`: which study, what is its own, and what all its rows have in common."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from agents.debate.settings import DebateSettings
from corpora.errors import ArgumentParser, UsageError
from eval import debate_studies, jsdrv_options, studies
from eval.command_line import read_config
from eval.config import RunConfig
from graphs.methods import known

_EARD = {
    "table": "fixed rules, baselines, the agent, its audits (shuffled experts, no experts, random stop, oracle)",
    "shots": "macro-F1 and ER by the number of labelled threads",
    "alpha": "macro-F1 against ER by the weight of the experts, with the Pareto frontier and the baselines",
    "cross": "trained on other corpora, tested on --dataset",
    "hours": "preset hours against the agent (a corpus with times)",
}
ABOUT = _EARD | debate_studies.ABOUT | jsdrv_options.ABOUT
EPILOG = """\
Every option of python -m eval.run but those that a study varies applies to all its rows (--dataset, --labels, --seeds,
--model, --stopper, --k, --scorer-model, ...); CED, ERD and HEARD keep the classifier that is their own, and the single
model beside a debate has none of the debate's options. Each row is an ordinary run, stored and resumable: the same
command continues a study, and no study runs again what another one has run. --max-cost is of all rows together.

examples:
  python -m eval.study table --dataset twitter15 --labels false/non-rumor
  python -m eval.study table --variant "EARD, wary" alpha=0.9 beta=0.05 gamma=0.05
  python -m eval.study shots --dataset pheme --shots 10 20 30 40 50
  python -m eval.study alpha --alphas 0.4 0.7 1.0 --seeds 3
  python -m eval.study cross --dataset twitter-covid19 --train-on pheme twitter15
  python -m eval.study hours --dataset pheme --hours 1 6 12 24 36 --how direct --model openai:gpt-4o-mini --dry-run
  python -m eval.study debate --dataset twitter-covid19 --models openai:gpt-3.5-turbo openai:gpt-4o-mini --seeds 1
  python -m eval.study ablations --dataset weibo-covid19 --model openai:gpt-3.5-turbo --seeds 1 --max-cost 20
  python -m eval.study rounds --dataset twitter-covid19 --model openai:gpt-4o-mini --seeds 1
  python -m eval.study early --dataset twitter-covid19 --model openai:gpt-4o-mini --seeds 1
  python -m eval.study joint --dataset rumoreval-s --train-on pheme
  python -m eval.study joint --dataset semeval8 --model hf:meta-llama/Llama-2-7b-chat-hf --examples 8 --dry-run
  python -m eval.study parts --dataset rumoreval-s --seeds 1 --jsdrv epochs=3
  python -m eval.study seeds --dataset semeval8 --shares 0.1 0.5 1
  python -m eval.study epsilon --dataset rumoreval-s --epsilons 0 0.3 1
"""
_VARIES = dict.fromkeys(_EARD, ("when", "method")) | {
    "debate": ("when", "how", "method"),
    "ablations": ("when", "how", "method", "ablate"),
    "rounds": ("when", "how", "method", "rounds"),
    "early": ("when", "how", "method"),
    **jsdrv_options.VARIES,
}
"""Study -> options of eval.run that are not the user's there."""


def parser() -> ArgumentParser:
    """The command line; what it leaves over is `eval.run`'s."""
    agent, debate, annotated = (
        "\n".join(f"  {name:<9} {about}" for name, about in each.items())
        for each in (_EARD, debate_studies.ABOUT, jsdrv_options.ABOUT)
    )
    result = ArgumentParser(
        prog="python -m eval.study",
        usage="python -m eval.study NAME [its options] [options of eval.run] [--out DIR]",
        description="Set runs side by side: one table, stored in DuckDB, and a picture as PNG and SVG.\n\n"
        f"of the agent (EARD):\n{agent}\n\nof the debate (S2MAD; they need a --model):\n{debate}\n\n"
        f"of the annotated (JSDRV; shots come from --train-on pheme):\n{annotated}",
        epilog=EPILOG,
    )
    result.add_argument("name", metavar="NAME", help=", ".join(ABOUT))
    add = result.add_argument
    add("--out", type=Path, default=Path("studies"), metavar="DIR", help="for the pictures (default: %(default)s)")
    add = result.add_argument_group("one study's own").add_argument
    help_ = "table: one more agent, with its own audits"
    add("--variant", nargs="+", action="append", default=[], metavar=("LABEL", "NAME=VALUE"), help=help_)
    add("--shots", nargs="+", type=int, metavar="K", help="shots: how many (default: 10 20 30 40 50); else one number")
    add("--alphas", nargs="+", type=float, metavar="A", help="alpha: weights of CE; the others share the rest")
    add("--train-on", nargs="+", metavar="CORPUS", help="cross: which corpora (default: pheme twitter15)")
    add("--hours", nargs="+", type=float, metavar="H", help="hours, table: which (default: 1 6 12 24 36)")
    add("--models", nargs="+", metavar="MODEL", help="debate: several, in place of --model")
    jsdrv_options.add_to(add)
    return result


def read_study(arguments: Sequence[str] | None = None) -> tuple[argparse.Namespace, RunConfig]:
    """Make the study's options and the base configuration of all its rows.

    Raises:
        UsageError: no such study, an option that is not this study's, or one that eval.run refuses.
    """
    options, rest = parser().parse_known_args(arguments)
    known(options.name, ABOUT, "study")
    given = {each.partition("=")[0] for each in rest}
    for theirs in _VARIES[options.name]:
        if f"--{theirs}" in given:
            raise studies.varied(theirs)
    allowed = {"variant": ("table",), "alphas": ("alpha",), "hours": ("hours", "table"), "models": ("debate",)}
    for name, where in (allowed | jsdrv_options.ALLOWED).items():
        if getattr(options, name) and options.name not in where:
            option = name.replace("_", "-")
            raise UsageError(f"--{option} is an option of the study {where[0]}, not of {options.name}")
    # eval.run's own options of these names take one value, and so do studies that do not vary them
    for name, study in (("shots", "shots"), ("train_on", "cross")):
        values = getattr(options, name) or []
        if options.name == study:
            continue
        if len(values) > 1:
            raise UsageError(f"--{name.replace('_', '-')} takes one value, except in the study {study}")
        rest += [f"--{name.replace('_', '-')}={value}" for value in values]
    labels = [*studies.VARIANTS, *(variant[0] for variant in options.variant)]
    if twice := next((label for label in labels if labels.count(label) > 1), None):
        raise UsageError(f"--variant {twice}: there is a row of that name already, choose another")
    if options.models:
        if "--model" in given:
            raise UsageError("--models stands in place of --model: give one of them")
        rest.append(f"--model={options.models[0]}")
    if options.name in jsdrv_options.ABOUT:
        return options, jsdrv_options.read_base(options, rest)
    # checked as a row of the agent's, or of the debate's, would be
    own = ["--method=s2mad", "--when=all-posts"] if options.name in debate_studies.ABOUT else ["--when=eard"]
    base = read_config([*rest, *own])
    for name in {"ablate", "rounds"} & set(_VARIES[options.name]):
        if getattr(base.debate, name) != getattr(DebateSettings(), name):  # out of a --config file
            raise studies.varied(name)
    if options.name == "rounds" and base.debate.ablate == "debate":
        raise UsageError("--ablate debate has no rounds to vary: leave it out")
    if base.controls:
        raise UsageError("--controls adds rows to the table of eval.run, not to a study's: leave it out")
    return options, base


def rows_of(options: argparse.Namespace, base: RunConfig) -> list[studies.Row]:
    """The rows of the study that was asked for.

    Raises:
        UsageError: the corpora do not allow it.
    """
    hours = options.hours or studies.HOURS
    match options.name:
        case "shots":
            return studies.shots(base, options.shots or studies.SHOTS)
        case "alpha":
            return studies.alpha(base, options.alphas or studies.ALPHAS)
        case "cross":
            return studies.cross(base, options.train_on or studies.TRAIN_ON)
        case "hours":
            return studies.hours(base, hours)
        case "debate":
            return debate_studies.debate(base, list(dict.fromkeys(options.models or [base.model])))
        case "ablations":
            return debate_studies.ablations(base)
        case "rounds":
            return debate_studies.rounds(base)
        case "early":
            return debate_studies.early(base)
    if options.name in jsdrv_options.ABOUT:
        return jsdrv_options.rows_of(options, base)
    more = {name: tuple(settings) for name, *settings in options.variant}
    return studies.table(base, studies.VARIANTS | more, hours if _timed(base) else ())


def _timed(base: RunConfig) -> bool:
    """Whether every thread that is tested has times: else preset hours would be measured on other threads."""
    from eval.planning import make_plan

    return all(thread.timed for thread in make_plan(studies.plain(base, "all-posts")).threads)
