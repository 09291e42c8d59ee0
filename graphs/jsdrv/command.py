"""The command that trains JSDRV: `python -m graphs.annotate_select_finetune`."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from corpora.errors import ArgumentParser, UsageError, one_line_errors
from training.jsdrv.settings import MEANING, JsdrvSettings, read_jsdrv


def parser() -> ArgumentParser:
    """The command line."""
    names = "\n".join(f"  {field.name:<18} {field.default!s:<15} {MEANING[field.name]}".rstrip()
                      for field in fields(JsdrvSettings))  # fmt: skip
    result = ArgumentParser(
        prog="python -m graphs.annotate_select_finetune",
        argument_default=argparse.SUPPRESS,
        description="Train JSDRV: annotate claims and posts, select what is worth learning, fine-tune on it, and\n"
        "again. The same command goes on with a training that was interrupted.",
        epilog=f"""settings (--set NAME=VALUE ...) with their defaults
{names}

examples:
  python -m graphs.annotate_select_finetune --dataset sample --out jsdrv-sample
  python -m graphs.annotate_select_finetune --dataset pheme --seeds-share 0.5 --exclude-overlap rumoreval-s semeval8 \\
      --out jsdrv-pheme
  python -m graphs.annotate_select_finetune --dataset pheme --network hf:meta-llama/Llama-2-7b-hf --out jsdrv-llama
  python -m graphs.annotate_select_finetune --dataset pheme --network openai:gpt-4o-mini --review --out jsdrv-gpt
  python -m graphs.annotate_select_finetune --dataset pheme --set ablate=RSS epochs=3 --out jsdrv-without-selector
  python -m eval.run --dataset rumoreval-s --how jsdrv:jsdrv-pheme
""",
    )
    add = result.add_argument
    add("--dataset", required=True, metavar="NAME", help="corpus of the labelled and the unlabelled claims")
    add("--out", required=True, metavar="DIR", help="where the training and what comes of it are kept")
    add("--data-dir", metavar="DIR", help="where corpora lie (default: $HEARSAY_DATA, then the cache)")
    add(
        "--seeds-share", type=float, metavar="SHARE",
        help="share of the claims with a veracity that JSDRV is told it of (default: 0.5)",
    )  # fmt: skip
    add(
        "--exclude-overlap", nargs="+", metavar="NAME",
        help="corpora that will be tested on: claims that they have too are left out",
    )  # fmt: skip
    add(
        "--network", metavar="NAME",
        help="encoder (default), hf:PATH-OR-NAME with LoRA adapters, or in context openai:NAME, scripted:FILE",
    )  # fmt: skip
    add("--base-url", metavar="URL", help="an OpenAI-compatible server")
    add("--prompts", metavar="DIR", help="prompt files that replace ours by name")
    add("--seed", type=int, metavar="N", help="which claims are seeds, and all chance in training (default: 0)")
    add("--review", action="store_true", help="show what was kept in every epoch, and ask before it is learned")
    add("--set", dest="settings", nargs="+", metavar="NAME=VALUE", help="settings of the training; see below")
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    given = vars(parser().parse_args(arguments))
    with one_line_errors():
        words = given.pop("settings", [])
        read_jsdrv(words)
        if given.get("seed", 0) < 0:
            raise UsageError(f"--seed {given['seed']}: want at least 0")
        if given.get("review") and not sys.stdin.isatty():
            raise UsageError("--review asks a person: run it in a terminal, or review in LangGraph Studio")
        given["exclude_overlap"] = " ".join(given.get("exclude_overlap", []))
        try:
            return _train(given, " ".join(words))
        except KeyboardInterrupt:
            print("Interrupted. What was trained is kept; the same command goes on.", file=sys.stderr)  # noqa: T201
            return 130


def _train(given: dict[str, Any], settings: str) -> int:
    from rich.console import Console

    from graphs.jsdrv.context import TrainingContext, open_cycle
    from graphs.jsdrv.progress import ask, show, table
    from graphs.jsdrv.training import check, run
    from training.jsdrv.networks import check_kind

    if not 0 < (share := given.get("seeds_share", 0.5)) <= 1:
        raise UsageError(f"--seeds-share {share}: want more than 0 and at most 1")
    context = TrainingContext(**given, settings=settings)
    check_kind(context.network)
    console = Console(stderr=True)
    with show(console) as watcher:
        console.print("reading the corpora", style="dim")
        cycle = open_cycle(context, watcher)
        if there := cycle.finished:
            cycle.own()
            check(cycle.out)
            console.print(f"{cycle.out} holds this training, finished: nothing to do.", markup=False)
        else:
            seeds, others, held = len(cycle.seeds), len(cycle.unlabelled), len(cycle.validation)
            console.print(
                f"{seeds} seeds, {held} claims held out for validation, {others} without a label", style="dim"
            )
            run(cycle, (lambda shown: ask(console, shown, watcher)) if context.review else None)
    about = check(cycle.out)
    Console().print(table(about))
    ended = "" if there else f"Ended: {about['ended']}. "
    best = f"epoch {about['best_epoch']}" if about["best_epoch"] else "pre-training"
    print(f"{ended}Kept: the networks and the selector of {best}, in {cycle.out}")  # noqa: T201
    how = f"jsdrv:{context.out}"
    tested = (context.exclude_overlap.split() or ["CORPUS"])[0]  # not what it learned from
    print(f"python -m eval.run --dataset {shlex.quote(tested)} --split all --task joint --how {shlex.quote(how)}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
