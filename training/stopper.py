"""Train one stopping agent of EARD and keep it in a folder, for `--when eard:DIR` with any verifier."""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from corpora.errors import ArgumentParser, UsageError, one_line_errors
from training.settings import RELEASED, Settings, read_settings

LABELS = "labels.json"
AT_ONCE = 8
"""Threads labelled between two writings of what is labelled."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """What the command line asks for."""

    dataset: str
    out: Path
    data_dir: Path | None = None
    labels: str | None = None
    shots: int = 50
    pool: int = 100
    seed: int = 0
    verifier: str = "encoder"
    base_url: str | None = None
    prompts: Path | None = None
    concurrency: int = 32
    settings: tuple[str, ...] = ()


def parser() -> ArgumentParser:
    """The command line."""
    names = "\n".join(f"  {field.name:<18} {field.default}" for field in fields(Settings))
    released = " ".join(f"{name}={value}" for name, value in RELEASED.items())
    result = ArgumentParser(
        prog="python -m training.stopper",
        argument_default=argparse.SUPPRESS,
        description="Train the agent that knows when it has heard enough, by imitating three experts (EARD).\n"
        "The same command continues a training that was interrupted.",
        epilog=f"""settings (--set NAME=VALUE ...), with the paper's values:
{names}
  released           stands for {released}

examples:
  python -m training.stopper --dataset sample --out agents-sample
  python -m training.stopper --dataset pheme --shots 50 --seed 0 --verifier openai:gpt-4o-mini --out agent
  python -m training.stopper --dataset sample --set alpha=0.5 beta=0.25 gamma=0.25 steps=50000 --out agent
  python -m eval.run --dataset twitter15 --labels false/non-rumor --when eard:agent
""",
    )
    add = result.add_argument
    add("--dataset", required=True, metavar="NAME", help="corpus of the labelled and the unlabelled threads")
    add("--out", required=True, type=Path, metavar="DIR", help="where the agent is kept")
    add("--data-dir", type=Path, metavar="DIR", help="where corpora lie (default: $HEARSAY_DATA, then the cache)")
    add("--labels", metavar="SET", help="rumor/non-rumor, false/non-rumor or veracity (default: the corpus's)")
    add("--shots", type=int, metavar="K", help="labelled threads, for the experts (default: 50)")
    add("--pool", type=int, metavar="N", help="unlabelled threads, for the agent to read (default: 100)")
    add("--seed", type=int, metavar="N", help="which threads, and all chance in training (default: 0)")
    add(
        "--verifier",
        metavar="NAME",
        help="whose answers the experts know: encoder (default), or a chat model asked the direct question: "
        "openai:NAME, hf:PATH-OR-NAME, scripted:FILE",
    )
    add("--base-url", metavar="URL", help="an OpenAI-compatible server")
    add("--prompts", type=Path, metavar="DIR", help="prompt files that replace ours by name")
    add("--concurrency", type=int, metavar="N", help="threads labelled side by side (default: 32)")
    add("--set", dest="settings", nargs="+", metavar="NAME=VALUE", help="settings of the training; see below")
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    given = vars(parser().parse_args(arguments))
    with one_line_errors():
        command = Command(**{**given, "settings": tuple(given.get("settings", ()))})
        settings = read_settings(command.settings)
        try:
            return _train(command, settings)
        except KeyboardInterrupt:
            print("Interrupted. What was trained is kept; the same command continues.", file=sys.stderr)  # noqa: T201
            return 130


def _train(command: Command, settings: Settings) -> int:
    import numpy as np
    from rich.console import Console

    from agents.encoder import Encoder
    from agents.stopping.learned import WORDS, read_about, saved
    from corpora.catalog import load
    from corpora.labels import LABEL_SETS
    from corpora.locate import cache_dir
    from corpora.splits import few_shot
    from training.progress import show_labelling, show_training
    from training.task import task_of
    from training.workers import train_all

    console = Console(stderr=True)
    about = {
        "dataset": command.dataset,
        "labels": command.labels,
        "shots": command.shots,
        "pool": command.pool,
        "verifier": command.verifier,
        "command_seed": command.seed,
    }
    _own(command.out, {**about, "settings": list(command.settings)})
    if saved(command.out):
        console.print(f"{command.out} holds this agent already.")
        _table(read_about(command.out))
        return 0
    corpus = load(command.dataset, data_dir=command.data_dir, environ=os.environ)
    name = command.labels or corpus.label_set
    if name is None or name not in corpus.label_sets:
        raise UsageError(f"{corpus.name} has no labels {name}: it has {', '.join(corpus.label_sets) or 'none'}")
    label_set = LABEL_SETS[name]
    threads = [thread for thread in corpus.threads if label_set.of(thread)]
    rng = np.random.default_rng(command.seed)
    (fold,) = few_shot(threads, label_set.of, shots=command.shots, pool=command.pool, rng=rng)
    if not fold.pool:
        raise UsageError("the agent reads unlabelled threads while it learns: use --pool 20 or more")
    encoder = Encoder(cache=cache_dir(os.environ))
    encoder.warm([*WORDS, *(post.text for thread in (*fold.shots, *fold.pool) for post in thread.posts)])
    gold = [label for shot in fold.shots if (label := label_set.of(shot))]
    with show_labelling(console, len(fold.shots)) as done:
        labelled = asyncio.run(_label(command, settings, encoder, fold.shots, gold, label_set, done))
    about |= {"encoder": encoder.name, "label_set": label_set.name, "corpus_fingerprint": corpus.fingerprint}
    task = task_of(encoder, fold.shots, gold, fold.pool, labelled, command.seed, settings, about)
    with show_training(console, {command.out: task}) as report:
        train_all({command.out: task}, report)
    _table(read_about(command.out))
    return 0


def _own(folder: Path, request: dict[str, Any]) -> None:
    """Write down whose folder it is, or refuse one that is another training's.

    Raises:
        UsageError: it is.
    """
    file = folder / "request.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if file.is_file():
            if json.loads(file.read_text("utf-8")) != request:
                raise UsageError(f"{folder} holds an agent of other settings: choose another --out")
            return
        if (folder / "policy.json").exists():
            raise UsageError(f"{folder} holds another agent: choose another --out")
        file.write_text(json.dumps(request, indent=1), "utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"--out {folder}: {error}") from None


async def _label(
    command: Command, settings: Settings, encoder: Any, shots: Any, gold: list[str], label_set: Any, done: Any
) -> dict[str, list[str | None]]:
    """Label every prefix of every shot; a chat model's answers are kept as they come in."""
    from training.prefix_labels import label_threads, out_of_fold

    longest = settings.max_posts or None
    if command.verifier == "encoder":
        from agents.verifiers.encoder import encoder_verifier

        return await out_of_fold(
            lambda some, labels: encoder_verifier(encoder, some, labels),
            shots, gold, seed=command.seed, max_posts=longest, progress=done,
        )  # fmt: skip
    from agents.call_log import CallLog
    from agents.models import ModelSettings, open_model
    from agents.verifiers.direct import direct

    model = open_model(ModelSettings(command.verifier, base_url=command.base_url))
    log = CallLog(models=[model])
    verifier = direct(log, model, command.prompts, label_set)
    file = command.out / LABELS
    found: dict[str, list[str | None]] = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    failures: list[str] = []
    left = [shot for shot in shots if shot.id not in found]
    for start in range(0, len(left), AT_ONCE):
        some = left[start : start + AT_ONCE]
        found |= await label_threads(
            verifier, some, models=[model], concurrency=command.concurrency, max_posts=longest, failures=failures
        )
        if failures:
            raise UsageError(f"a prefix could not be labelled: {failures[0]}; the same command tries again")
        part = file.with_name(f".{LABELS}.part")
        part.write_text(json.dumps(found), "utf-8")
        part.replace(file)
        done(len(found))
    await model.close()
    if left:
        print(log.totals.prompt_tokens(), file=sys.stderr)  # noqa: T201
    return found


def _table(about: dict[str, Any]) -> None:
    """What came out, on the labelled threads."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    for head in ("on the shots", "experts' pairs", "macro-F1", "ER"):
        table.add_column(head, justify="right" if head in ("macro-F1", "ER") else "left")
    result, pairs = about["result"], about["expert_pairs"]
    shown = ", ".join(f"{name.upper()} {n}" for name, n in pairs.items())
    table.add_row(
        f"{about['threads']['shots']} threads", shown,
        f"{result['shots_macro_f1']:.3f}", f"{result['shots_early_rate']:.3f}",
    )  # fmt: skip
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
