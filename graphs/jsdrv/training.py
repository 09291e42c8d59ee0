"""A whole training of JSDRV in a folder, from where it was left to its end."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agents.jsdrv.annotation import StanceExample
from corpora.errors import UsageError
from corpora.thread import ClaimThread
from training.jsdrv.cycle import Cycle
from training.jsdrv.networks import Opener
from training.jsdrv.selector import FILE, Embed, Selector
from training.jsdrv.settings import JsdrvSettings
from training.jsdrv.validating import read_about
from training.jsdrv.watcher import Watcher

THREAD = "training"
"""LangGraph's name for what the checkpoints of a folder belong to."""
CHECKPOINTS = "checkpoints.sqlite"
NODES = 7

Ask = Callable[[dict[str, Any]], Any]
"""Shows a person what was kept (graphs/jsdrv/review.py) and returns the answer."""


def train(
    networks: Opener,
    labelled: Sequence[ClaimThread],
    unlabelled: Sequence[ClaimThread],
    out: Path,
    settings: JsdrvSettings,
    embed: Embed,
    seed: int,
    progress: Watcher | None = None,
    stance_examples: Sequence[Sequence[StanceExample]] = (),
    *,
    about: Mapping[str, Any] | None = None,
    ask: Ask | None = None,
) -> None:
    """Train JSDRV in a folder, going on where an earlier call was interrupted; does nothing where it is finished.

    Args:
        networks: Opens SD and RV, see training.jsdrv.networks.opener.
        labelled: Claims whose veracity is learned; a tenth of them is held out for validation.
        unlabelled: Claims whose gold labels are not looked at.
        out: The folder: networks/, selector.safetensors, about.json, and training/ beside them.
        settings: Of the training.
        embed: Texts to vectors, for the selector.
        seed: Of all chance.
        progress: Is told how far it is.
        stance_examples: What SD is pre-trained on, a corpus after the other (graphs.jsdrv.corpora.read_stances).
        about: What else decides the outcome, as plain values: with another one it is another training. Name the
            networks here, for whoever opens the folder.
        ask: Asks a person about every selection; None for nobody.

    Raises:
        UsageError: the folder is another training's, nothing is labelled, or the model cannot be asked.
    """
    cycle = Cycle(
        networks, labelled, unlabelled, out, settings, embed, seed,
        stance_examples=stance_examples, about=about, review=ask is not None, watcher=progress,
    )  # fmt: skip
    run(cycle, ask)


def run(cycle: Cycle, ask: Ask | None = None) -> None:
    """The same for a training that is set up."""
    cycle.own()
    import fcntl

    with (cycle.place / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two commands that want the same networks train them once
        if cycle.finished:
            check(cycle.out)
        else:
            _run(cycle, ask)


def _run(cycle: Cycle, ask: Ask | None) -> None:
    import sqlite3

    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.types import Command

    from graphs.annotate_select_finetune import Input, builder
    from graphs.jsdrv.review import REVIEW

    try:
        with SqliteSaver.from_conn_string(str(cycle.place / CHECKPOINTS)) as checkpoints:
            graph = builder.compile(checkpointer=checkpoints, name="annotate, select, fine-tune")
            config: Any = {
                "configurable": {"thread_id": THREAD},
                "recursion_limit": NODES * (cycle.settings.epochs + 2),
            }
            state = graph.get_state(config)
            # Where a thread has begun, no input means: go on.
            given: Any = None if state.next else Input()
            while True:
                if state.interrupts and cycle.read(state.values["epoch"], REVIEW) is None:
                    given = Command(resume=ask(state.interrupts[0].value) if ask else {"veto": []})
                context: Any = cycle
                graph.invoke(given, config, context=context, durability="sync")
                state, given = graph.get_state(config), None
                if not state.next:
                    break
    except sqlite3.Error as error:
        raise UsageError(f"{cycle.place / CHECKPOINTS} cannot be used ({error}): remove it; no work is lost") from None
    finally:
        cycle.close()


def check(folder: Path) -> dict[str, Any]:
    """What a finished training says of itself, once its parts are known to be there.

    Raises:
        UsageError: it is none, or a part of it is missing or damaged.
    """
    try:
        about = read_about(folder)
        Selector(int(about["dimensions"])).load(folder / FILE)
        json.loads((folder / "networks" / "networks.json").read_text("utf-8"))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{folder} holds no finished training of JSDRV: {error!r}"[:300]) from None
    return about
