"""The stopping agents of EARD: where each is kept, what it is trained from, and training those that are missing.

An agent is known by all that it learned from (shots with labels, pool, seed, verifier, encoder, settings), so that one
that stands is found again by any command, and any change of these makes another.
"""

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import prompts
from agents.stopping.learned import WORDS, learned, read_about, read_network, saved
from agents.stopping.steady import NUMBERS, Steady, features
from agents.verdict import StopPolicy, Verdict, Verifier
from corpora.locate import cache_dir
from corpora.thread import ClaimThread
from graphs import saved_networks
from graphs.hows import how_of, learns_from_shots, open_verifier
from graphs.parts import Parts
from training import task
from training.prefix_labels import Labels, label_threads, out_of_fold
from training.settings import Settings, content_of
from training.task import Task

VERSION = 2
"""Raised when what training computes changes, so that agents of before are not taken for agents of now."""


def folder(parts: Parts) -> Path:
    """Where the agent that learns from these parts is kept: below the user's cache."""
    content = json.dumps(_origin(parts), sort_keys=True, default=str)
    return cache_dir(os.environ) / "stoppers" / hashlib.sha256(content.encode()).hexdigest()[:16]


def missing(parts: Parts) -> bool:
    """Whether that agent has yet to be trained."""
    return not saved(folder(parts))


def needed_texts(parts: Parts) -> list[str]:
    """Texts whose vectors training reads."""
    return [*WORDS, *(post.text for thread in (*parts.shots, *parts.pool) for post in thread.posts)]


@dataclass
class Judged:
    """What the verifier said of training threads' prefixes."""

    labels: dict[str, Labels]
    """Thread id -> label of every prefix."""
    verdicts: dict[tuple[str, int], Verdict]
    """Thread id and posts read -> the whole verdict."""

    def recording(self, verifier: Verifier) -> Verifier:
        """The same verifier, remembered here."""

        async def verify(prefix: ClaimThread) -> Verdict:
            verdict = await verifier(prefix)
            self.verdicts[prefix.id, len(prefix.posts)] = verdict
            return verdict

        return verify

    def states(self, thread: ClaimThread) -> NDArray[np.float32]:
        """How the verdict on a thread fared, as the changes that a running sum is made of: (posts, 5)."""
        count = len(self.labels[thread.id])
        failed = Verdict.failed("not asked")
        known = features([self.verdicts.get((thread.id, n), failed) for n in range(1, count + 1)])
        return np.diff(known, axis=0, prepend=np.zeros_like(known[:1]))


async def label_shots(
    parts: Parts,
    *,
    concurrency: int = 32,
    progress: Callable[[int], None] | None = None,
    failures: list[str] | None = None,
) -> Judged:
    """What the verifier says of every prefix of every shot; one that learned from the shots says it out of fold.

    Where the agent learns from the verifier's stability, it is asked about the pool's threads too.

    Args:
        parts: Shots, pool, and what the verifier is made from.
        concurrency: Threads labelled side by side.
        progress: Told how many shots are labelled.
        failures: Takes a line for each prefix of which the model could not be asked.
    """
    settings, found = _settings(parts), Judged({}, {})
    longest = settings.max_posts or None
    asked = partial(
        label_threads, models=parts.models.values(), concurrency=concurrency, max_posts=longest, failures=failures
    )
    verifier = found.recording(open_verifier(parts))
    if learns_from_shots(parts.how):

        def fit(shots: Sequence[ClaimThread], _: Sequence[str]) -> Any:
            return found.recording(open_verifier(parts.learning_from(shots)))

        found.labels |= await out_of_fold(
            fit, parts.shots, parts.labels, seed=parts.seed, max_posts=longest, progress=progress
        )
    else:
        found.labels |= await asked(verifier, parts.shots, progress=progress)
    if settings.learn_from == "stability":
        found.labels |= await asked(verifier, parts.pool)
    return found


def task_of(parts: Parts, judged: Judged) -> Task:
    """Everything the agent is trained from."""
    assert parts.encoder is not None
    settings = _settings(parts)
    about = {"encoder": parts.encoder.name, "label_set": parts.label_set.name, "verifier": _verifier(parts)}
    about |= {"state": settings.state, "threads_seen": [thread.id for thread in (*parts.shots, *parts.pool)]}
    made = task.task_of(
        parts.encoder, parts.shots, parts.labels, parts.pool, judged.labels, parts.seed, settings, about
    )
    if settings.learn_from == "stability":
        made = replace(made, pool_predicted=[judged.labels[thread.id] for thread in parts.pool])
    if settings.state == "verdicts":
        made = replace(
            made,
            pool=[judged.states(thread) for thread in parts.pool],
            shots=[judged.states(thread) for thread in parts.shots],
            words=np.zeros((len(WORDS), NUMBERS), dtype=np.float32),
        )
    return made


def policy(place: Path, parts: Parts) -> StopPolicy:
    """Open a saved policy, whatever it reads.

    Raises:
        UsageError: there is none, or it cannot be used.
    """
    assert parts.encoder is not None
    if read_about(place).get("state") == "verdicts":
        return Steady(read_network(place), open_verifier(parts))
    return learned(place, parts.encoder)


def _settings(parts: Parts) -> Settings:
    return parts.stopper or Settings()


def _origin(parts: Parts) -> dict[str, Any]:
    assert parts.encoder is not None
    return {
        "version": VERSION,
        "shots": _digest(parts.shots, parts.labels),
        "pool": _digest(parts.pool, [""] * len(parts.pool)),
        "label_set": parts.label_set.name,
        "seed": parts.seed,
        "encoder": parts.encoder.name,
        "verifier": _verifier(parts),
        "settings": content_of(_settings(parts)),
    }


def _verifier(parts: Parts) -> dict[str, Any]:
    """What decides a verifier's answers, but for the shots."""
    languages = sorted({shot.language for shot in parts.shots})
    debates, stances = parts.how == "s2mad", parts.stance_threads
    return {
        "how": parts.how,
        "samples": parts.samples,
        "models": {role: [model.name, model.endpoint, model.parameters] for role, model in parts.models.items()},
        "prompts": {
            f"{name}.{language}": prompts.load(name, language, parts.prompts).sha256
            for name in how_of(parts.how).prompts
            for language in languages
        },
        # only where it is used: the agents of other verifiers keep their addresses
        **({"debate": asdict(parts.debate), "stances": _digest(stances, [""] * len(stances))} if debates else {}),
        **({} if parts.token_budget is None else {"token_budget": parts.token_budget}),
        **({"networks": networks} if (networks := _networks(parts)) else {}),
    }


def _networks(parts: Parts) -> dict[str, str]:
    """Content of the trained networks that a verifier is, or asks for scores: name -> address."""
    named = (each for each in (parts.how, parts.debate.scorer) if each.startswith("jsdrv:"))
    return {each: saved_networks.digest(Path(each.partition(":")[2])) for each in named}


def _digest(threads: Sequence[ClaimThread], labels: Sequence[str]) -> str:
    """Content address of threads: ids, labels, and all that a verifier may show of the posts, in order."""
    digest = hashlib.sha256()
    for thread, label in zip(threads, labels, strict=True):
        raw = repr((thread.id, label, thread.language, thread.posts)).encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8) + raw)
    return digest.hexdigest()
