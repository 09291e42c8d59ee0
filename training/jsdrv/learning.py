"""Pre-train and fine-tune: what SD and RV learn from, and where what they became is kept.

SD is pre-trained on stance corpora, RV on the seeds and their first posts, whose stances nobody knows. After each
selection SD learns the stances that it gave the kept posts of kept claims itself, RV the veracity of kept claims, by
people where they gave one, else by itself. What the settings leave out (ablations) and what was not kept is skipped.
"""

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, Protocol, cast, runtime_checkable

from agents.jsdrv.annotation import Annotation, Progress, StanceExample, VeracityExample
from corpora.thread import ClaimThread, Stance, Veracity
from training.jsdrv.annotating import in_time, posts_of
from training.jsdrv.cycle import Cycle
from training.jsdrv.files import as_annotation, put
from training.jsdrv.selector import FILE


@runtime_checkable
class Aligns(Protocol):
    """Networks that can be told what conversations without labels look like."""

    def align(self, threads: Sequence[ClaimThread]) -> None:
        """Fit what was learned from stance corpora to the conversations that are annotated."""
        ...


def pretrain(cycle: Cycle) -> dict[str, Any]:
    """Pre-train both networks; what is returned is as `fine_tune`'s."""
    if (found := cycle.read(0, "training")) is not None:
        return dict(found)
    settings, networks = cycle.settings, cycle.take_networks(None)
    gold = [StanceExample(cycle.threads[claim], n, stance) for (claim, n), stance in cycle.gold_stances.items()]
    corpora = [*cycle.stance_corpora, *([gold] if gold else [])]
    veracities = [
        VeracityExample(
            cycle.threads[claim],
            {n: Annotation(None) for n in cycle.first_posts(cycle.threads[claim])},
            cycle.veracities[claim],
        )
        for claim in cycle.seeds
    ]
    losses: dict[str, list[float]] = {}
    if settings.ablate != "PTSD" and corpora:
        losses["stances"] = []
        for number, corpus in enumerate(corpora, start=1):
            what = "pre-training SD" + (f" ({number} of {len(corpora)})" if len(corpora) > 1 else "")
            losses["stances"] += networks.pretrain_stances(corpus, _told(cycle, what))
        if isinstance(networks, Aligns):
            networks.align([cycle.threads[claim] for claim in (*cycle.seeds, *cycle.unlabelled)])
    elif settings.ablate != "PTSD":
        cycle.watcher.say("SD is not pre-trained: there is no post with a stance to learn from")
    if settings.ablate != "PTRV":
        losses["veracity"] = networks.pretrain_veracity(veracities, _told(cycle, "pre-training RV"))
    put(cycle.folder(0) / "networks", networks.save)
    put(cycle.folder(0) / FILE, cycle.selector(None).save)
    examples = {"stances": sum(map(len, corpora)), "veracity": len(veracities)}
    return dict(cycle.write(0, "training", {"networks": 0, "losses": losses, "examples": examples, "vetoed": []}))


def fine_tune(cycle: Cycle, epoch: int, vetoed: Collection[str] = ()) -> dict[str, Any]:
    """Fine-tune both networks on what was kept, but for what a person has vetoed.

    Args:
        cycle: The training.
        epoch: Which.
        vetoed: Ids of claims, and of posts as `post_id` gives them.

    Returns:
        networks (the epoch whose networks are in force now), losses (a number for each pass, of "stances" and
        "veracity"; nothing of what was skipped), examples (how many of each), vetoed.
    """
    found = cycle.read(epoch, "training")
    if found is not None and found["vetoed"] == sorted(vetoed):
        return dict(found)
    stances, veracities = examples(cycle, epoch, vetoed)
    skipped, losses = cycle.settings.ablate, {}
    teach_sd, teach_rv = bool(stances) and skipped != "FTSD", bool(veracities) and skipped != "FTRV"
    source = int(cycle.read(epoch - 1, "training")["networks"])
    if teach_sd or teach_rv:
        networks = cycle.take_networks(epoch - 1)
        if teach_sd:
            losses["stances"] = networks.fine_tune_stances(stances, _told(cycle, "fine-tuning SD"))
            if isinstance(networks, Aligns):
                networks.align([cycle.threads[claim] for claim in (*cycle.seeds, *cycle.unlabelled)])
        if teach_rv:
            losses["veracity"] = networks.fine_tune_veracity(veracities, _told(cycle, "fine-tuning RV"))
        put(cycle.folder(epoch) / "networks", networks.save)
        source = epoch
    for name, kept, part in (("SD", stances, "FTSD"), ("RV", veracities, "FTRV")):
        if not kept and skipped != part:
            cycle.watcher.say(f"epoch {epoch}: nothing was kept for {name} to learn from")
    counts = {"stances": len(stances), "veracity": len(veracities)}
    content = {"networks": source, "losses": losses, "examples": counts, "vetoed": sorted(vetoed)}
    return dict(cycle.write(epoch, "training", content))


def examples(
    cycle: Cycle, epoch: int, vetoed: Collection[str] = ()
) -> tuple[list[StanceExample], list[VeracityExample]]:
    """What an epoch's selection gives SD and RV to learn from; for the arguments see `fine_tune`."""
    annotated = {row["id"]: posts_of(row) for row in cycle.read(epoch, "annotations")}
    stances, veracities = [], []
    for row in cycle.read(epoch, "selection")["claims"]:
        if not row["kept"] or row["id"] in vetoed:
            continue
        thread = cycle.threads[row["id"]]
        numbers = [post["number"] for post in row["posts"] if post["kept"] and post_id(row, post) not in vetoed]
        kept = in_time({n: annotated[row["id"]][n] for n in numbers})
        for n, each in kept.items():
            # only the supervised ceiling knows any gold stance
            label = cycle.gold_stances.get((row["id"], n)) or cast("Stance", each.label)
            stances.append(StanceExample(thread, n, label, each.explanation if label == each.label else ""))
        said = as_annotation(row["veracity"])
        label_of_claim = cycle.veracities.get(row["id"], cast("Veracity", said.label))
        why = said.explanation if label_of_claim == said.label else ""  # no reason for what RV did not say
        veracities.append(VeracityExample(thread, kept, label_of_claim, why))
    return stances, veracities


def post_id(row: dict[str, Any], post: dict[str, Any]) -> str:
    """A name for a post that no post of another claim has, even where a corpus numbers each thread's posts anew."""
    return f"{row['id']}/{post['id']}"


def _told(cycle: Cycle, what: str) -> Progress:
    return partial(cycle.watcher.advance, what)
