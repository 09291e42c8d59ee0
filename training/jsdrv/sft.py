"""TRL's part of fine-tuning: token ids with a mask in, the mean loss of every pass out. Imports torch and TRL."""

import gc
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from datasets import Dataset  # type: ignore[import-untyped]
from datasets.utils.logging import disable_progress_bar  # type: ignore[import-untyped]
from transformers import PrinterCallback, TrainerCallback
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

from agents.jsdrv.annotation import Progress

if TYPE_CHECKING:
    from training.jsdrv.lora import LoraSettings

Row = dict[str, list[int]]
"""input_ids, and completion_mask: 1 where there is something to learn."""


class Told(TrainerCallback):  # type: ignore[misc]
    """Collects the mean loss of every pass, and tells how many examples were learned from."""

    def __init__(self, examples: int, epochs: int, progress: Progress | None) -> None:
        """Nothing is learned yet.

        Args:
            examples: In one pass.
            epochs: Passes.
            progress: Who is told; None for nobody.
        """
        self.losses: list[float] = []
        self._total, self._progress = examples * epochs, progress

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """After a batch."""
        if self._progress is not None:
            self._progress(round(self._total * state.global_step / max(1, state.max_steps)), self._total)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """After a pass, and once more at the end without a loss."""
        if logs and "loss" in logs:
            self.losses.append(float(logs["loss"]))


def fit(
    model: Any, tokenizer: Any, rows: list[Row], settings: "LoraSettings", seed: int, progress: Progress | None
) -> list[float]:
    """Train what of a model wants gradients: the adapter that was set.

    Args:
        model: Of peft.
        tokenizer: The base's.
        rows: Token ids that fit the model.
        settings: See there.
        seed: Of the order of rows, and of dropout.
        progress: Told after every step.
    """
    disable_progress_bar()
    gpu = torch.cuda.is_available()
    checkpointing = gpu if settings.checkpointing is None else settings.checkpointing
    told = Told(len(rows), settings.epochs, progress)
    with own_chance(), tempfile.TemporaryDirectory(prefix="hearsay-") as folder:
        config = SFTConfig(
            output_dir=folder,
            max_length=max(len(row["input_ids"]) for row in rows),  # the rows fit already; TRL's own limit is 1,024
            completion_only_loss=True,
            num_train_epochs=settings.epochs,
            learning_rate=settings.learning_rate,
            lr_scheduler_type="linear",
            per_device_train_batch_size=settings.batch,
            gradient_checkpointing=checkpointing,
            bf16=gpu and torch.cuda.is_bf16_supported(),
            use_cpu=not gpu,
            report_to=[],
            logging_strategy="epoch",
            save_strategy="no",
            disable_tqdm=True,
            seed=seed,
        )
        dataset = Dataset.from_list(rows)
        trainer = SFTTrainer(model, config, train_dataset=dataset, processing_class=tokenizer, callbacks=[told])
        trainer.remove_callback(PrinterCallback)
        try:
            trainer.train()
        finally:
            _undo(trainer, model, checkpointing)
    del trainer
    gc.collect()  # a trainer refers to itself, and to gradients and moments of the optimiser
    return told.losses


def _undo(trainer: Any, model: Any, checkpointing: bool) -> None:
    """Take back what training did to the model beside learning, so that it answers as before."""
    trainer.accelerator.unwrap_model(trainer.model, keep_fp32_wrapper=False)
    trainer.accelerator.free_memory()
    if checkpointing:
        model.disable_input_require_grads()
        model.gradient_checkpointing_disable()
    model.config.use_cache = True
    model.zero_grad(set_to_none=True)


@contextmanager
def own_chance() -> Iterator[None]:
    """Leave everybody else's random numbers as they are: transformers seeds all generators there are."""
    python, numbers = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng(range(torch.cuda.device_count())):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numbers)
