"""The command line of `eval.run`, and the TOML file that may stand in for it."""

import argparse
import tomllib
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from agents.debate.settings import ABLATIONS, DebateSettings
from corpora.errors import ArgumentParser, UsageError
from eval.config import SPLITS, RunConfig
from eval.task_options import TASKS
from graphs.methods import HOW, METHODS, WHEN, Pair, how_of, known

_DEBATE = {field.name for field in fields(DebateSettings)} - {"scorer"}


def parser() -> ArgumentParser:
    """The command line of `python -m eval.run`."""
    result = ArgumentParser(
        prog="python -m eval.run",
        argument_default=argparse.SUPPRESS,
        description="Judge a corpus's conversation threads and store every step in DuckDB.\n"
        "The same command continues a run that was interrupted; a finished one is shown.",
        epilog=_epilog(),
    )
    for add in (_add_corpus, _add_method, _add_debate, _add_model, _add_record):
        add(result)
    return result


def _add_corpus(result: ArgumentParser) -> None:
    add = result.add_argument_group("what to judge").add_argument
    add("--dataset", metavar="NAME", help="a corpus (python -m corpora list), or FORMAT:PATH (default: sample)")
    add("--data-dir", type=Path, metavar="DIR", help="where corpora lie (default: $HEARSAY_DATA, then the cache)")
    add("--language", metavar="LANG", help="only threads in en, or in zh")
    add("--labels", metavar="SET", help="rumor/non-rumor, false/non-rumor, false/true, veracity (default: corpus's)")
    add("--task", metavar="NAME", help="stance, veracity or joint; see below")
    add("--split", metavar="NAME", help="few-shot (default), events, official or all; see below")
    add("--train-on", metavar="CORPUS", help="take the shots from another corpus")
    add(
        "--exclude-overlap",
        metavar="CORPUS",
        help="learn from no thread that CORPUS has too, by id or source text; several with commas",
    )
    add("--limit", type=int, metavar="N", help="at most N test threads a seed, drawn at random")
    add("--shots", type=int, metavar="K", help="labelled threads to learn from (default: 50)")
    add(
        "--pool",
        type=int,
        metavar="N",
        help="unlabelled threads for the stopping agent to read, never tested (default: 100)",
    )
    add(
        "--seeds-share",
        type=float,
        metavar="P",
        help="that share of the threads to learn from are shots, all others the pool (few-shot: of half the corpus)",
    )
    add("--holdout", type=float, metavar="P", help="leave that share of the threads out, for tuning")
    add("--tune", action="store_true", help="use the threads that --holdout leaves out, and no others")
    add("--seeds", type=int, metavar="N", help="how many seeds, from 0 (default: 5)")
    add("--keep-handles", action="store_true", help="show models the user names as they are")


def _add_method(result: ArgumentParser) -> None:
    add = result.add_argument_group("when and how").add_argument
    add("--method", metavar="NAME", help="a published pair of when and how; see below")
    add("--when", metavar="POLICY", help="when to stop reading (default: eard; all-posts with a --model)")
    add("--how", metavar="NAME", help="how to decide (default: encoder; direct with a --model)")
    add(
        "--stopper",
        nargs="+",
        metavar="NAME=VALUE",
        help="settings of the agent that --when eard trains (python -m training.stopper --help)",
    )
    add("--network", metavar="NAME", help="what --how jsdrv trains: encoder (default), hf:PATH-OR-NAME or openai:NAME")
    add("--jsdrv", nargs="+", metavar="NAME=VALUE", help="settings of its training (training/jsdrv/settings.py)")
    add("--examples", type=int, metavar="K", help="shots that --how single-task, multi-task show (default: 0)")
    add("--sea", action="store_true", help="label every prefix after the stop too, for HEARD's SEA")


def _add_debate(result: ArgumentParser) -> None:
    add = result.add_argument_group("the debate (--how s2mad)").add_argument
    add("--k", type=int, metavar="N", help="comments on each side at most (default: 10)")
    add("--rounds", type=int, metavar="M", help="how often each debater answers the other, 0 to 5 (default: 2)")
    add("--ablate", metavar="PART", help="leave out: " + ", ".join(ABLATIONS))
    add("--gate", action="store_true", help="debate only where the two initial opinions differ")
    add("--quarantine", action="store_true", help="debaters see only what the scorer made of the comments")
    add("--score-batch", type=int, metavar="N", help="comments scored in one call (default: 1)")
    add("--scorer-model", metavar="MODEL", help="who scores comments: a model, encoder or jsdrv:DIR")
    add("--debater-model", metavar="MODEL", help="who argues (default: --model)")
    add("--judge-model", metavar="MODEL", help="who judges where the debaters disagree (default: --model)")
    add("--controls", action="store_true", help="add one agent, self-consistency and self-correction at equal tokens")
    add("--token-budget", type=int, metavar="N", help="tokens a thread for --how self-consistency, self-correction")
    add("--attack", metavar="NAME", help="put a hostile post into every test thread (python -m eval.attacks); or all")


def _add_model(result: ArgumentParser) -> None:
    add = result.add_argument_group("the model").add_argument
    add("--model", metavar="MODEL", help="openai:NAME, hf:PATH-OR-NAME or scripted:FILE")
    add("--base-url", metavar="URL", help="an OpenAI-compatible server (vLLM, Ollama, llama.cpp)")
    add("--temperature", type=float, metavar="T", help="default: 0; 0.2 for S2MAD and vanilla")
    add("--max-tokens", type=int, metavar="N", help="longest reply (default: 512)")
    add("--samples", type=int, metavar="N", help="answers a question where there are no logprobs (default: 1)")
    add("--prompts", type=Path, metavar="DIR", help="prompt files that replace ours by name")
    add("--concurrency", type=int, metavar="N", help="threads judged, and calls made, at once (default: 32)")
    add("--timeout", type=float, metavar="SECONDS", help="for one attempt at a call (default: 60)")
    add("--max-retries", type=int, metavar="N", help="for 408, 409, 429, 5xx and lost connections (default: 5)")
    add("--requests-per-second", type=float, metavar="N", help="rate limit (default: none)")
    add("--price", type=float, nargs=2, metavar=("IN", "OUT"), help="USD per million tokens, if not on our list")
    add("--max-cost", type=float, metavar="USD", help="stop before a call could bring the bill above this")
    add("--fail-on-error", type=float, metavar="SHARE", help="stop when more threads have failed (default: 0.05)")


def _add_record(result: ArgumentParser) -> None:
    add = result.add_argument_group("the record").add_argument
    add("--db", type=Path, metavar="FILE", help="default: hearsay.duckdb")
    add(
        "--report",
        type=Path,
        nargs="?",
        const=Path("report.html"),
        metavar="FILE.html",
        help="write a page of it too (python -m eval.report; default: report.html)",
    )
    help_ = "judge everything again; answered calls are still not repeated (interrupted? go on without it)"
    add("--fresh", action="store_true", help=help_)
    add("--dry-run", action="store_true", help="print calls, tokens and cost, and call nothing")
    add("--config", type=Path, metavar="FILE.toml", help="any of these options, as name = value")


def _epilog() -> str:
    """What the names are that options take, and examples."""
    methods = "\n".join(
        f"  {name:<13} {pair.when} + {pair.how or 'encoder, or direct'}: {pair.about}" for name, pair in METHODS.items()
    )
    whens = "\n".join(f"  {_with_argument(name, entry.argument):<13} {entry.about}" for name, entry in WHEN.items())
    splits = "\n".join(f"  {name:<13} {about}" for name, about in SPLITS.items())
    hows = "\n".join(f"  {_with_argument(name, entry.argument):<13} {entry.about}" for name, entry in HOW.items())
    tasks = "\n".join(f"  {name:<13} {about}" for name, about in TASKS.items())
    return f"""methods (--method):
{methods}

when (--when; posts, hours, confidence, ced and random take lists, such as posts:10,20,all):
{whens}

how (--how):
{hows}

tasks (--task; without it a thread's label is all that is scored):
{tasks}

splits (--split):
{splits}

examples:
  python -m eval.run                                          EARD on the bundled corpus, offline
  python -m eval.run --dataset pheme --split events           each event unseen
  python -m eval.run --dataset twitter-covid19 --method vanilla --model openai:gpt-4o-mini --dry-run
  python -m eval.run --dataset twitter15 --labels false/non-rumor --when posts:1,3,all
  python -m eval.run --dataset aclr:my-corpus --how direct --model openai:llama3 --base-url http://localhost:11434/v1
  python -m eval.run --dataset rumoreval-s --method jsdrv --train-on pheme --exclude-overlap rumoreval-s
  python -m eval.run --dataset pheme --when hours:1,6,12 --how direct --model hf:meta-llama/Llama-3.1-8B-Instruct
"""


def _with_argument(name: str, argument: str | None) -> str:
    if argument is None:
        return name
    return f"{name}[:{argument[1:]}" if argument.startswith("[") else f"{name}:{argument}"


def read_config(arguments: Sequence[str] | None = None) -> RunConfig:
    """Make the configuration of a command line.

    Raises:
        UsageError: an option or a line of the file makes no sense.
    """
    given = vars(parser().parse_args(arguments))
    file = given.pop("config", None)
    values = (_from_file(file) if file else {}) | given
    if "method" in values:
        values = _of_method(METHODS[known(values["method"], METHODS, "--method")], values) | values
    elif values.get("how", "").partition(":")[0] in HOW and how_of(values["how"]).gives_stances:
        values = {"when": "all-posts"} | values
    elif values.get("model") not in (None, "encoder"):
        values = {"when": "all-posts", "how": "direct"} | values
    if "seeds_share" in values and (both := {"shots", "pool"} & set(values)):
        raise UsageError(f"--seeds-share says how many shots and how large a pool: leave --{both.pop()} out")
    for name in {"price", "stopper", "jsdrv"} & set(values):
        values[name] = tuple(values[name])
    how = values.get("how", "encoder")
    debate = {name: values.pop(name) for name in _DEBATE & set(values)}
    if debate and how != "s2mad":
        raise UsageError(f"--{next(iter(debate)).replace('_', '-')} is an option of --how s2mad, not of {how}")
    if how.partition(":")[0] in HOW:
        values.setdefault("temperature", how_of(how).temperature)
    return RunConfig(**values, debate=DebateSettings(**debate))


def _of_method(pair: Pair, values: dict[str, Any]) -> dict[str, Any]:
    """The options that a published method stands for, but for what the user's own leave no room for."""
    how: str = values.get("how", pair.how) or ""
    if pair.how and how.partition(":")[0] != pair.how:
        raise UsageError(f"--method {values['method']} decides by {pair.how}: leave --how or --method out")
    how = how or ("encoder" if values.get("model") in (None, "encoder") else "direct")
    split, options = pair.split, dict(pair.options)
    if options and ":" in how:  # it has learned already
        split = pair.split if "train_on" in values else "all"
        options.pop("seeds_share", None)
    if {"shots", "pool"} & set(values):
        options.pop("seeds_share", None)
    return {"when": pair.when, "split": split, "how": how, **options}


def _from_file(path: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"--config {path}: {error}") from None
    kinds = {field.name: field.type for field in (*fields(RunConfig), *fields(DebateSettings))}
    del kinds["debate"], kinds["scorer"]
    values = {}
    for key, value in content.items():
        name = known(key.replace("-", "_"), kinds, f"{path}:")
        kind = str(kinds[name])
        if "Path" in kind and isinstance(value, str):
            value = Path(value)
        fits = (
            ("bool" in kind and isinstance(value, bool))
            or ("int" in kind and isinstance(value, int) and not isinstance(value, bool))
            or ("float" in kind and isinstance(value, int | float) and not isinstance(value, bool))
            or ("tuple[float" in kind and isinstance(value, list) and len(value) == 2)
            or ("tuple[str" in kind and isinstance(value, list) and all(isinstance(word, str) for word in value))
            or ("str" in kind and isinstance(value, str))
            or ("Path" in kind and isinstance(value, Path))
        )
        if not fits:
            raise UsageError(f"{path}: {key} = {value!r} is not what --{key.replace('_', '-')} takes")
        values[name] = value
    return values
