"""The networks by name: which kinds there are, and who opens them."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import prompts as prompts_module
from agents.jsdrv.annotation import Trainable
from corpora.errors import UsageError
from corpora.locate import cache_dir
from corpora.thread import Language
from training.jsdrv.settings import JsdrvSettings

if TYPE_CHECKING:
    from agents.encoder import Encoder
    from agents.models import ModelSettings

KINDS = ("encoder", "encoder:PATH-OR-NAME", "hf:PATH-OR-NAME", "openai:NAME", "scripted:FILE")

Opener = Callable[[Path | None, int], Trainable]
"""Opens networks from the folder that `Trainable.save` wrote, or new ones from None; the number seeds their chance."""


def check_kind(kind: str) -> str:
    """The same name, if there may be such networks.

    Raises:
        UsageError: there are none.
    """
    provider, _, rest = kind.partition(":")
    if kind != "encoder" and (provider not in ("encoder", "hf", "openai", "scripted") or not rest):
        raise UsageError(f"there are no networks {kind}: choose of {', '.join(KINDS)}")
    return kind


def prompts_shown(kind: str, directory: Path | None) -> dict[str, str] | None:
    """What networks are asked with: prompt -> sha256; None for encoders, which are not asked.

    Raises:
        UsageError: a prompt file cannot be used.
    """
    if kind.partition(":")[0] == "encoder":
        return None
    try:
        loaded = [
            prompts_module.load(name, language, directory)
            for name in ("stance", "veracity")
            for language in get_args(Language)
        ]
    except prompts_module.PromptError as error:
        raise UsageError(str(error)) from error
    return {prompt.name: prompt.sha256 for prompt in loaded}


def open_networks(
    kind: str,
    folder: Path | None = None,
    *,
    seed: int,
    log: Any = None,
    base_url: str | None = None,
    prompts: Path | None = None,
    encoder: "Encoder | None" = None,
    settings: JsdrvSettings | None = None,
    chat: "ModelSettings | None" = None,
    samples: int = 1,
) -> Trainable:
    """Open SD and RV.

    Args:
        kind: One of KINDS.
        folder: What `save` wrote; None for networks that have learned nothing yet.
        seed: Of all chance in their training.
        log: The call log of a chat model; None for one of its own.
        base_url: Address of an OpenAI-compatible server.
        prompts: Prompt files that replace ours by name.
        encoder: Gives the encoder networks their sentence vectors; None for one that remembers none on disk.
        settings: Say how a local model is fine-tuned; None where it shall not be.
        chat: What an API is asked with, but for its name and address; None for the defaults.
        samples: Calls a question where an API gives no label probabilities.

    Raises:
        UsageError: there is no such kind, or the folder does not hold it.
    """
    provider, _, rest = check_kind(kind).partition(":")
    if provider == "encoder":
        from agents.encoder import EMBEDDED
        from training.jsdrv.encoder_training import EncoderTrainer

        stem, pretrained = f"hf:{rest}" if rest else EMBEDDED, cache_dir(os.environ) / "jsdrv-pretrained"
        return EncoderTrainer(seed=seed, folder=folder, stem=stem, encoder=encoder, cache=pretrained)
    from training.jsdrv.chat_training import ChatTrainer
    from training.jsdrv.lora import LoraSettings

    # without settings of a training, those that the folder was trained with
    lora = LoraSettings(epochs=settings.lora_epochs, learning_rate=settings.lora_lr) if settings else None
    asked = replace(chat, model=kind, base_url=base_url) if chat and provider != "hf" else None
    return ChatTrainer(
        kind, folder=folder, log=log, base_url=base_url, prompts=prompts, seed=seed, settings=lora,
        model_settings=asked, samples=1 if provider == "hf" else samples,
    )  # fmt: skip


def opener(
    kind: str,
    *,
    log: Any = None,
    base_url: str | None = None,
    prompts: Path | None = None,
    encoder: "Encoder | None" = None,
    settings: JsdrvSettings | None = None,
    chat: "ModelSettings | None" = None,
    samples: int = 1,
) -> Opener:
    """The same, to be opened again and again: an epoch goes on from what the one before it saved."""
    check_kind(kind)
    return lambda folder, seed: open_networks(
        kind, folder, seed=seed, log=log, base_url=base_url, prompts=prompts, encoder=encoder, settings=settings,
        chat=chat, samples=samples,
    )  # fmt: skip
