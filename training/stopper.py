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
from training.settings import MEANING, RELEASED, Settings, content_of, read_settings

LABELS = "labels.json"


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
    concurrency: int = 8
    settings: tuple[str, ...] = ()


def parser() -> ArgumentParser:
    """The command line."""
    names = "\n".join(f"  {field.name:<18} {field.default!s:<10} {MEANING.get(field.name, '')}".rstrip()
                      for field in fields(Settings))  # fmt: skip
    released = " ".join(f"{name}={value}" for name, value in RELEASED.items())
    result = ArgumentParser(
        prog="python -m training.stopper",
        argument_default=argparse.SUPPRESS,
        description="Train the agent that knows when it has heard enough, by imitating three experts (EARD).\n"
        "The same command continues a training that was interrupted.",
        epilog=f"""settings (--set NAME=VALUE ...) with their defaults: the paper's, but for environments
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
    add("--labels", metavar="SET", help="rumor/non-rumor, false/non-rumor, false/true, veracity (default: corpus's)")
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
    add("--concurrency", type=int, metavar="N", help="threads labelled side by side (default: 8)")
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
    from agents.verifiers.encoder import encoder_verifier
    from corpora.catalog import load
    from corpora.labels import LABEL_SETS
    from corpora.locate import cache_dir
    from corpora.splits import few_shot
    from training.prefix_labels import out_of_fold
    from training.progress import bar, embed, show_labelling, show_training
    from training.task import task_of
    from training.workers import train_all

    for option, least in (("shots", 2), ("pool", 1), ("seed", 0), ("concurrency", 1)):
        if getattr(command, option) < least:
            raise UsageError(f"--{option} {getattr(command, option)}: want at least {least}")
    if settings.learn_from == "stability":
        raise UsageError("steady agents need the verifier on unlabelled threads: eval.run --stopper steady trains them")
    console = Console(stderr=True)
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
    verifier = _open(command, label_set)
    about = {
        "dataset": corpus.name,
        "corpus_fingerprint": corpus.fingerprint,
        "label_set": label_set.name,
        "encoder": encoder.name,
        "verifier": verifier.about if verifier else {"how": "encoder"},
        "threads_seen": [thread.id for thread in (*fold.shots, *fold.pool)],
    }
    shape = {"shots": command.shots, "pool": command.pool, "seed": command.seed, "settings": content_of(settings)}
    _own(command.out, {**about, **shape})
    if saved(command.out):
        console.print(f"{command.out} holds this agent already.")
        _table(read_about(command.out))
        return 0
    texts = (post.text for thread in (*fold.shots, *fold.pool) for post in thread.posts)
    with bar(console) as progress:
        embed(progress, encoder, [*WORDS, *texts])
    gold = [label for shot in fold.shots if (label := label_set.of(shot))]
    with show_labelling(console, len(fold.shots)) as done:
        if verifier is None:
            labelled = asyncio.run(
                out_of_fold(
                    lambda some, labels: encoder_verifier(encoder, some, labels),
                    fold.shots, gold, seed=command.seed, max_posts=settings.max_posts or None, progress=done,
                )
            )  # fmt: skip
        else:
            labelled = asyncio.run(_ask(command, settings, verifier, fold.shots, done))
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


@dataclass(frozen=True)
class _ChatVerifier:
    """A chat model that is asked the direct question."""

    model: Any
    log: Any
    verify: Any
    about: dict[str, Any]
    """All that decides its answers."""


def _open(command: Command, label_set: Any) -> _ChatVerifier | None:
    """The chat model, if one is named."""
    if command.verifier == "encoder":
        return None
    import prompts
    from agents.call_log import CallLog
    from agents.models import ModelSettings, open_model
    from agents.verifiers.direct import direct

    model = open_model(ModelSettings(command.verifier, base_url=command.base_url))
    log = CallLog(models=[model])
    verify = direct(log, model, command.prompts, label_set)
    shown = {language: prompts.load("direct", language, command.prompts).sha256 for language in ("en", "zh")}
    about = {"how": "direct", "model": [model.name, model.endpoint, model.parameters], "prompts": shown}
    return _ChatVerifier(model, log, verify, json.loads(json.dumps(about)))


async def _ask(
    command: Command, settings: Settings, verifier: _ChatVerifier, shots: Any, done: Any
) -> dict[str, list[str | None]]:
    """Have every prefix of every shot labelled, a few threads at a time: what they gave is on disk before the next."""
    from training.prefix_labels import label_threads

    file = command.out / LABELS
    found: dict[str, list[str | None]] = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    left = [shot for shot in shots if shot.id not in found]
    for start in range(0, len(left), command.concurrency):
        failures: list[str] = []
        found |= await label_threads(
            verifier.verify,
            left[start : start + command.concurrency],
            models=[verifier.model],
            concurrency=command.concurrency,
            max_posts=settings.max_posts or None,
            failures=failures,
        )
        if failures:
            raise UsageError(f"a prefix could not be labelled: {failures[0]}; the same command tries again")
        part = file.with_name(f".{LABELS}.part")
        part.write_text(json.dumps(found), "utf-8")
        part.replace(file)
        done(len(found))
    await verifier.model.close()
    if left:
        print(verifier.log.totals.prompt_tokens(), file=sys.stderr)  # noqa: T201
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
