"""The stopping agents of EARD: where each is kept, what it is trained from, and training those that are missing.

An agent is known by all that it learned from (shots with labels, pool, seed, verifier, encoder, settings), so that one
that stands is found again by any command, and any change of these makes another.
"""

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import prompts
from agents.stopping.learned import WORDS, saved
from corpora.locate import cache_dir
from corpora.thread import ClaimThread
from graphs.methods import HOW
from graphs.parts import Parts
from training import task
from training.prefix_labels import Labels, label_threads, out_of_fold
from training.settings import Settings
from training.task import Task

VERSION = 1
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


async def label_shots(
    parts: Parts,
    *,
    concurrency: int = 32,
    progress: Callable[[int], None] | None = None,
    failures: list[str] | None = None,
) -> dict[str, Labels]:
    """What the verifier says of every prefix of every shot; one that learned from the shots says it out of fold.

    Args:
        parts: Shots, and what the verifier is made from.
        concurrency: Threads labelled side by side.
        progress: Told how many shots are labelled.
        failures: Takes a line for each prefix of which the model could not be asked.
    """
    how, longest = HOW[parts.how], _settings(parts).max_posts or None
    if how.reads_vectors:

        def fit(shots: Sequence[ClaimThread], _: Sequence[str]) -> Any:
            return how.open(parts.learning_from(shots))

        return await out_of_fold(fit, parts.shots, parts.labels, seed=parts.seed, max_posts=longest, progress=progress)
    return await label_threads(
        how.open(parts),
        parts.shots,
        models=parts.models.values(),
        concurrency=concurrency,
        max_posts=longest,
        progress=progress,
        failures=failures,
    )


def task_of(parts: Parts, labels: dict[str, Labels]) -> Task:
    """Everything the agent is trained from."""
    assert parts.encoder is not None
    about = {"encoder": parts.encoder.name, "label_set": parts.label_set.name, "verifier": _verifier(parts)}
    return task.task_of(
        parts.encoder, parts.shots, parts.labels, parts.pool, labels, parts.seed, _settings(parts), about
    )


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
        "settings": asdict(_settings(parts)),
    }


def _verifier(parts: Parts) -> dict[str, Any]:
    """What decides a verifier's answers, but for the shots."""
    languages = sorted({shot.language for shot in parts.shots})
    return {
        "how": parts.how,
        "samples": parts.samples,
        "models": {role: [model.name, model.endpoint, model.parameters] for role, model in parts.models.items()},
        "prompts": {
            f"{name}.{language}": prompts.load(name, language, parts.prompts).sha256
            for name in HOW[parts.how].prompts
            for language in languages
        },
    }


def _digest(threads: Sequence[ClaimThread], labels: Sequence[str]) -> str:
    """Content address of threads: ids, labels and what the posts say, in order."""
    digest = hashlib.sha256()
    for thread, label in zip(threads, labels, strict=True):
        for text in (thread.id, label, thread.language, *(post.text for post in thread.posts)):
            raw = text.encode("utf-8", "surrogatepass")
            digest.update(len(raw).to_bytes(8) + raw)
    return digest.hexdigest()
