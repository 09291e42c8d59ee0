"""Select: decide post by post and claim by claim what is kept, and teach the selector by what RV makes of it.

RV is asked once a claim, with the posts that were kept; where nothing was kept it judges the claim alone. The stances
that an unlabelled claim is compared with are those of all annotated posts of the epoch's labelled claims; where none of
these has the label that RV gives, there is no reward. An annotation that abstained is never kept, and no decision about
it is asked for.
"""

from typing import Any

from agents.jsdrv.annotation import STANCES, Annotation
from agents.models import ModelError
from agents.together import together
from training.jsdrv import rewards
from training.jsdrv.annotating import Row, check_failures, failed, in_time, posts_of
from training.jsdrv.cycle import Cycle
from training.jsdrv.files import as_annotation, as_plain, put
from training.jsdrv.rewards import Floats
from training.jsdrv.selector import FILE, Episode, Kept, Selector, Walk, explanation_vectors


def select(cycle: Cycle, epoch: int, streak: int) -> dict[str, Any]:
    """Walk through an epoch's annotated claims.

    Args:
        cycle: The training.
        epoch: Which.
        streak: How many selections before this epoch were rewarded, without one between that was not.

    Returns:
        claims (a row each: id, labelled, reward, kept, veracity with the kept posts, posts with their probability of
        being retained and whether they were), streak, ended (it reached kappa), and stances_of_labels.
    """
    if (found := cycle.read(epoch, "selection")) is not None:
        return dict(found)
    rows: list[Row] = cycle.read(epoch, "annotations")
    if not rows:
        raise AssertionError("an epoch draws at least one claim")
    settings, selector = cycle.settings, cycle.selector(epoch - 1)
    walker = _Walker(cycle, epoch, selector, stances_of_labels(cycle, rows))
    chosen: list[dict[str, Any]] = []
    for start in range(0, len(rows), settings.selector_batch):
        episodes = []
        for row, episode in walker.walk(rows[start : start + settings.selector_batch]):
            chosen.append(row)
            episodes.append(episode)
            streak = streak + 1 if episode.reward > 0 else 0
            if streak >= settings.kappa:
                break
        selector.learn(episodes)
        cycle.watcher.advance("selecting claims", len(chosen), len(rows), _numbers(chosen))
        if streak >= settings.kappa:
            break
    check_failures(walker.failures, len(rows))
    put(cycle.folder(epoch) / FILE, selector.save)
    found = {
        "claims": chosen,
        "streak": streak,
        "ended": streak >= settings.kappa,
        "stances_of_labels": {
            label: dict(zip(STANCES, mean.tolist(), strict=True)) for label, mean in walker.stances.items()
        },
    }
    return dict(cycle.write(epoch, "selection", found))


def stances_of_labels(cycle: Cycle, rows: list[Row]) -> dict[str, Floats]:
    """Veracity -> mean stance distribution of all annotated posts of the labelled claims that have it."""
    by_label: dict[str, list[Annotation]] = {}
    for row in rows:
        if row["labelled"]:
            by_label.setdefault(cycle.veracities[row["id"]], []).extend(posts_of(row).values())
    means = {label: rewards.mean(each, STANCES) for label, each in sorted(by_label.items())}
    return {label: mean for label, mean in means.items() if mean is not None}


class _Walker:
    """Goes through the claims of one epoch."""

    def __init__(self, cycle: Cycle, epoch: int, selector: Selector, stances: dict[str, Floats]) -> None:
        self._cycle, self._selector, self.stances = cycle, selector, stances
        self._networks, self._rng = cycle.networks(epoch - 1), cycle.rng(epoch, "select")
        self._kept = Kept(selector.dimensions)
        self.failures: list[str] = []

    def walk(self, batch: list[Row]) -> list[tuple[dict[str, Any], Episode]]:
        """Decide about claims between two steps of the selector; RV is asked about all of them at once."""
        offered = [{n: each for n, each in posts_of(row).items() if each.label is not None} for row in batch]
        walks = [self._walk_posts(row["id"], posts) for row, posts in zip(batch, offered, strict=True)]
        kept = [
            {n: each for (n, each), keep in zip(posts.items(), walk.kept, strict=True) if keep} if walk else posts
            for posts, walk in zip(offered, walks, strict=True)
        ]
        verdicts = self._cycle.run(self._judge(batch, offered, kept))
        found = []
        for row, walk, posts, verdict in zip(batch, walks, kept, verdicts, strict=True):
            reward = self._reward(row, posts, verdict)
            claim, retained = self._decide(row["id"], verdict)
            odds = walk.probabilities.tolist() if walk else []
            of_post = dict(zip(posts_of_walk(row, walk), odds, strict=True))
            shown = {
                "id": row["id"],
                "labelled": row["labelled"],
                "reward": reward,
                "kept": retained,
                "probability": float(claim.probabilities[0]) if claim else None,
                "veracity": as_plain(verdict),
                "posts": [
                    {"number": n, "id": each["id"], "kept": n in posts, "probability": of_post.get(n)}
                    for each in row["posts"]
                    for n in (each["number"],)
                ],
            }
            found.append((shown, Episode(reward, claim, walk)))
        return found

    def _walk_posts(self, claim: str, posts: dict[int, Annotation]) -> Walk | None:
        if not posts or self._cycle.settings.ablate == "RSS":
            return None
        return self._selector.walk_posts(self._cycle.embed, self._cycle.threads[claim], posts, self._rng)

    async def _judge(
        self, batch: list[Row], offered: list[dict[int, Annotation]], kept: list[dict[int, Annotation]]
    ) -> list[Annotation]:
        async def one(row: Row, all_posts: dict[int, Annotation], posts: dict[int, Annotation]) -> Annotation:
            if len(posts) == len(all_posts):  # that was asked when the claim was annotated
                return as_annotation(row["veracity"])
            try:
                return await self._networks.veracity(self._cycle.threads[row["id"]], in_time(posts))
            except ModelError as error:
                self.failures.append(f"{row['id']}: {error}")
                return failed(error)

        return list(await together(*map(one, batch, offered, kept)))

    def _reward(self, row: Row, kept: dict[int, Annotation], verdict: Annotation) -> float:
        option = self._cycle.settings.reward
        if verdict.label is None:
            return 0.0
        if row["labelled"]:
            predicted = verdict.probabilities or {verdict.label: 1.0}
            return rewards.labelled(predicted, {self._cycle.veracities[row["id"]]: 1.0}, option)
        mean, known = rewards.mean(list(kept.values()), STANCES), self.stances.get(verdict.label)
        if mean is None or known is None:
            return 0.0
        return rewards.unlabelled(mean, known, option)

    def _decide(self, claim: str, verdict: Annotation) -> tuple[Walk | None, bool]:
        """Whether to keep a claim."""
        if verdict.label is None:
            return None, False
        text, embed = self._cycle.threads[claim].source.text, self._cycle.embed
        vector = embed([text])
        if self._cycle.settings.ablate == "RVS":
            return None, True
        explained = explanation_vectors(embed, [text], [verdict])
        walk = self._selector.decide("claim", vector, vector, explained, self._rng, self._kept)
        return walk, bool(walk.kept[0])


def posts_of_walk(row: Row, walk: Walk | None) -> list[int]:
    """The places of the posts that a walk decided about."""
    return [n for n, each in posts_of(row).items() if each.label is not None] if walk else []


def _numbers(chosen: list[dict[str, Any]]) -> str:
    """Where the selection stands, for people."""
    posts = [post["kept"] for row in chosen for post in row["posts"]]
    claims = sum(row["kept"] for row in chosen)
    reward = sum(row["reward"] for row in chosen) / len(chosen)
    return f"kept {claims} claims, {sum(posts)} of {len(posts)} posts, mean reward {reward:+.2f}"
