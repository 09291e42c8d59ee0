"""Validate each epoch on the claims held out, and keep the networks and the selector of the best.

The best epoch is the one with the highest macro-F1 of veracity, the later of two that are equal; epoch 0, which has
been pre-trained only, is one of them. Without claims to validate on it is the last.
"""

import asyncio
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agents.jsdrv.annotation import VERACITIES, Annotation
from agents.models import ModelError
from agents.together import together
from training.jsdrv.annotating import ABREAST, check_failures, failed, in_time
from training.jsdrv.cycle import Cycle
from training.jsdrv.files import get_json, put, put_json, remove
from training.jsdrv.selector import FILE


def validate(cycle: Cycle, epoch: int) -> dict[str, Any]:
    """Judge the claims held out with an epoch's networks and selector, each read as far as in training.

    Returns:
        The epoch's row: epoch, macro_f1 and micro_f1 (None without claims to validate on), and what became of the
        steps before: claims, posts, how many of them were kept, mean_reward, losses, examples; of the labelled
        claims drawn, how many RV judged right from all their posts and from those kept.
    """
    if (found := cycle.read(epoch, "validation")) is None:
        said = _judge(cycle, epoch)
        found = cycle.write(epoch, "validation", {"epoch": epoch, **_scores(cycle, said), **_account(cycle, epoch)})
        cycle.watcher.row(found)
    _prune(cycle, epoch)
    return dict(found)


def conclude(cycle: Cycle, epoch: int, ended: str) -> dict[str, Any]:
    """Leave the best epoch's networks and selector in the folder, with what there is to say about them.

    Args:
        cycle: The training.
        epoch: The last that was validated.
        ended: Why the training is over.

    Returns:
        What about.json says.
    """
    if not cycle.finished:
        rows = _rows(cycle, epoch)
        best = _best(rows)
        source = cycle.folder(int(cycle.read(best, "training")["networks"]))
        put(cycle.out / "networks", lambda part: shutil.copytree(source / "networks", part))
        put(cycle.out / FILE, lambda part: shutil.copyfile(cycle.folder(best) / FILE, part))
        selection = cycle.read(best, "selection") or {}
        stance_threads = dict.fromkeys(thread.id for corpus in cycle.stance_corpora for thread, *_ in corpus)
        about = {
            **cycle.request,
            "settings": asdict(cycle.settings),
            "dimensions": cycle.selector(None).dimensions,
            "seeds": cycle.seeds,
            "validation": cycle.validation,
            "threads_seen": [*cycle.seeds, *cycle.validation, *cycle.unlabelled, *stance_threads],
            "stances_of_labels": selection.get("stances_of_labels", {}),
            "ended": ended,
            "best_epoch": best,
            "epochs": rows,
        }
        put_json(cycle.out / "about.json", about)
    for number in range(epoch + 2):
        remove(cycle.folder(number) / "networks")
    return read_about(cycle.out)


def read_about(folder: Path) -> dict[str, Any]:
    """What a finished training says of itself."""
    return dict(get_json(folder / "about.json"))


def _judge(cycle: Cycle, epoch: int) -> list[Annotation]:
    networks, selector = cycle.networks(epoch), cycle.selector(epoch)
    said: dict[str, Annotation] = {}
    failures: list[str] = []
    left = iter(cycle.validation)

    async def work() -> None:
        for claim in left:
            thread = cycle.threads[claim]
            numbers = cycle.first_posts(thread)
            try:
                stances = await networks.stances(thread, numbers) if numbers else []
                posts = in_time(dict(zip(numbers, stances, strict=True)))
                if cycle.settings.ablate != "RSS":
                    # It reads vectors from disk, which no event loop may wait for: a server watches for that.
                    retained = await asyncio.to_thread(selector.retain, cycle.embed, thread, posts)
                    posts = {n: posts[n] for n in retained}
                said[claim] = await networks.veracity(thread, posts)
            except ModelError as error:
                failures.append(f"{claim}: {error}")
                said[claim] = failed(error)
            cycle.watcher.advance("validating claims", len(said), len(cycle.validation))

    async def work_abreast() -> None:
        await together(*(work() for _ in range(ABREAST)))

    if cycle.validation:
        cycle.run(work_abreast())
        check_failures(failures, len(cycle.validation))
    return [said[claim] for claim in cycle.validation]


def _scores(cycle: Cycle, said: list[Annotation]) -> dict[str, float | None]:
    """Over the classes that the claims held out have; an abstention is no class and wrong."""
    if not said:
        return {"macro_f1": None, "micro_f1": None}
    from sklearn.metrics import f1_score

    gold = [cycle.veracities[claim] for claim in cycle.validation]
    predicted = [each.label or "abstained" for each in said]
    labels = [label for label in VERACITIES if label in gold]
    right = sum(one == other for one, other in zip(gold, predicted, strict=True))
    macro = f1_score(gold, predicted, average="macro", labels=labels, zero_division=0)
    # with one label a claim, micro-F1 over all classes is the share of claims judged right
    return {"macro_f1": float(macro), "micro_f1": right / len(gold)}


def _account(cycle: Cycle, epoch: int) -> dict[str, Any]:
    training, selection = cycle.read(epoch, "training"), cycle.read(epoch, "selection")
    account = {"losses": training["losses"], "examples": training["examples"]}
    if selection is None:
        return account
    rows = selection["claims"]
    posts = [post["kept"] for row in rows for post in row["posts"]]
    known = [(row, cycle.veracities[row["id"]]) for row in rows if row["labelled"]]
    alone = {row["id"]: row["veracity"]["label"] for row in cycle.read(epoch, "annotations")}
    return account | {
        "claims": len(rows),
        "claims_labelled": len(known),
        "claims_kept": sum(row["kept"] for row in rows),
        "posts": len(posts),
        "posts_kept": sum(posts),
        "mean_reward": sum(row["reward"] for row in rows) / len(rows),
        "streak": selection["streak"],
        "right_with_all_posts": sum(alone[row["id"]] == gold for row, gold in known),
        "right_with_kept_posts": sum(row["veracity"]["label"] == gold for row, gold in known),
    }


def _rows(cycle: Cycle, epoch: int) -> list[dict[str, Any]]:
    return [cycle.read(number, "validation") for number in range(epoch + 1)]


def _best(rows: list[dict[str, Any]]) -> int:
    return int(max(rows, key=lambda row: (row["macro_f1"] or 0.0, row["epoch"]))["epoch"])


def _prune(cycle: Cycle, epoch: int) -> None:
    """Take away networks that are neither in force nor the best so far: a pair may fill gigabytes."""
    needed = {int(cycle.read(n, "training")["networks"]) for n in (epoch, _best(_rows(cycle, epoch)))}
    for number in range(epoch):
        if number not in needed:
            remove(cycle.folder(number) / "networks")
