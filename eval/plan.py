"""What there is to do: the corpus, its labels, a test set for each seed, and the ids under which it is stored."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

import prompts
from agents.stopping.learned import digest
from corpora.catalog import LoadedCorpus, fingerprint
from corpora.errors import UsageError
from corpora.labels import LabelSet
from corpora.splits import Fold, cross_corpus, event_wise, few_shot, official, whole
from corpora.thread import ClaimThread, Language
from eval import divide as dividing
from eval.attacks import attack_named
from eval.config import RunConfig, as_json, identity
from eval.provenance import address, git_commit, package_versions
from eval.task_options import CHAT_PROMPTS, chat_network, trained_folders
from graphs import saved_networks
from graphs.hows import how_of
from training.jsdrv.settings import read_jsdrv


@dataclass
class Plan:
    """One configuration on one corpus; its seeds are drawn from it."""

    config: RunConfig
    corpus: LoadedCorpus
    label_set: LabelSet
    threads: list[ClaimThread]
    """Those that can be tested."""
    train: LoadedCorpus | None
    """Where the shots come from, if not from the tested corpus."""
    learned: list[ClaimThread]
    """Those that shots may be drawn from."""
    counts: dict[str, int]
    """What was read, dropped and left out."""
    endpoint: str | None = None
    """Where the model answers; known once it is open."""
    stance_threads: list[ClaimThread] = field(default_factory=list)
    """What --scorer-model encoder learns from, whatever the fold: none that is tested or held out is among them."""
    held_out: list[ClaimThread] = field(default_factory=list)
    """What is neither tested nor learned from: the threads left for tuning, or with --tune all others."""

    @cached_property
    def prompt_sha256(self) -> dict[str, str]:
        """Prompt file -> sha256 of its text, of those the method may show."""
        languages: list[Language] = sorted({thread.language for thread in self.threads})
        names = CHAT_PROMPTS if chat_network(self.config) else how_of(self.config.how).prompts
        try:
            loaded = [prompts.load(name, language, self.config.prompts) for name in names for language in languages]
        except prompts.PromptError as error:
            raise UsageError(str(error)) from error
        return {prompt.name: prompt.sha256 for prompt in loaded}

    @cached_property
    def content(self) -> dict[str, Any]:
        """All that decides what is computed, but the seed."""
        return {
            **identity(self.config),
            "dataset": self.corpus.name,
            "labels": self.label_set.name,
            "fingerprint": self.corpus.fingerprint,
            "train_fingerprint": self.train.fingerprint if self.train else None,
            "endpoint": self.endpoint,
            "prompts": self.prompt_sha256,
            **({"policy": self.policy_sha256} if self.policy_sha256 else {}),
            **({"networks": self.networks_sha256} if self.networks_sha256 else {}),
            **({"pretrained": self.pretrained} if self.pretrained else {}),
            **({"stances": fingerprint(self.stance_threads)} if self.config.scorer_model == "encoder" else {}),
            **({"attack_sha256": attack_named(self.config.attack).sha256} if self.config.attack else {}),
            **({"classes": self.classes} if self.untaught else {}),
        }

    @cached_property
    def pretrained(self) -> dict[str, Any]:
        """What decides on networks that a run trains, besides the corpora that it names."""
        if self.config.how != "jsdrv":
            return {}
        from graphs.jsdrv.corpora import stances_here
        from training.jsdrv.cycle import VERSION

        stances = stances_here(read_jsdrv(self.config.jsdrv), self.config.data_dir, os.environ)
        return {"version": VERSION, "stances": stances}

    @cached_property
    def policy_sha256(self) -> str | None:
        """Content address of the saved stop policy, where one is named."""
        name, _, folder = self.config.when.partition(":")
        return digest(Path(folder)) if name == "eard" and folder else None

    @cached_property
    def networks_sha256(self) -> list[str]:
        """Content addresses of JSDRV's networks, where a folder of them is named."""
        return [saved_networks.digest(folder) for folder in trained_folders(self.config)]

    @property
    def config_id(self) -> str:
        """Groups the seeds."""
        return address(self.content)

    def folds(self, seed: int) -> list[Fold]:
        """Shots, pool and test threads of one seed; only these are attacked, where the configuration says so."""
        config, rng = self.config, np.random.default_rng(seed)
        divide = partial(few_shot, self.threads)
        if self.train is not None:
            divide = partial(cross_corpus, self.learned, self.threads)
        elif config.split == "events":
            divide = partial(event_wise, self.threads)
        elif config.split == "official":
            divide = partial(official, self.threads)
        if config.split == "all":
            folds = whole(self.threads)
        elif config.seeds_share is not None:
            if self.train is not None:
                divided = [("cross-corpus", self.learned, self.threads)]
            else:
                divided = dividing.learned_and_tested(config.split, self.threads, self.label_set.of, rng)
            folds = dividing.by_share(divided, self.label_set.of, config.seeds_share, rng)
        else:
            folds = divide(self.label_set.of, shots=config.shots, pool=config.pool, rng=rng)
        if config.limit is not None:
            folds = dividing.limited(folds, config.limit, rng)
        if config.attack:
            attack = attack_named(config.attack)
            folds = [replace(fold, test=[attack(thread) for thread in fold.test]) for fold in folds]
        return folds

    def run_row(self, seed: int, n_threads: int, attempt: int) -> dict[str, Any]:
        """The row of `runs`; a later attempt (--fresh) is a run of its own."""
        again = {"attempt": attempt} if attempt else {}
        return {
            "run_id": address({**self.content, "seed": seed, **again}),
            "config_id": address({**self.content, **again}),
            "dataset": self.corpus.name,
            "split": "cross-corpus" if self.train else self.config.split,
            "when": self.config.when,
            "how": self.config.how,
            "model": self.model,
            "endpoint": self.endpoint,
            "seed": seed,
            "config": {
                **as_json(self.config),
                "labels": self.label_set.name,
                "classes": self.classes,
                "base_url": self.endpoint if self.config.base_url else None,  # without the password it may carry
            },
            "prompts": self.prompt_sha256,
            "packages": package_versions(),
            "corpus_counts": {
                **self.counts,
                **{f"pretrained_on_{name}": 1 for name in self.pretrained.get("stances", ())},
                "complete": int(self.corpus.complete),
                "variant": int(bool(self.corpus.published) and not self.corpus.complete),
            },
            "corpus_fingerprint": self.corpus.fingerprint,
            "n_threads": n_threads,
            "git_commit": git_commit(),
        }

    @property
    def model(self) -> str:
        """What judges, as it is stored: the chat model, JSDRV's networks, or the encoder."""
        if network := chat_network(self.config):
            return network
        return self.config.model or ("none" if self.config.how == "majority" else "encoder")

    @cached_property
    def classes(self) -> list[str]:
        """The label set's classes that occur in the corpus, in report order."""
        return self._there(self.threads)

    @cached_property
    def untaught(self) -> list[str]:
        """Classes that shots could be of and no test thread is: so that no verdict is of one, nobody learns them.

        Verifiers that say stances take such shots for the stances' sake, and leave the classes out themselves.
        """
        if how_of(self.config.how).gives_stances:
            return []
        return [label for label in self._there(self.learned) if label not in self.classes]

    def _there(self, threads: Sequence[ClaimThread]) -> list[str]:
        there = {self.label_set.of(thread) for thread in threads}
        return [label for label in self.label_set.labels if label in there]
