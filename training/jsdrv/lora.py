"""LoRA adapters of SD and RV on one base, trained with TRL (JSDRV, section 4.4 and appendix C).

The base's weights stay as they are; each role has low-rank matrices beside them. TRL's SFTTrainer gets token ids and
learns from the answer alone: the ids are those that the model reads when it is asked (a chat template that begins with
the beginning of text would get a second one if TRL encoded its text), and the posts were cut beforehand, so that the
answer is never what is cut. Nothing is pickled: adapters are written as safetensors, and no state of the optimiser.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.jsdrv.annotation import Progress
from agents.local_chat import LocalChat
from agents.local_weights import choose_adapter
from agents.models import Message
from corpora.errors import UsageError

ADAPTERS = ("stance", "veracity")
WEIGHTS = "adapter_model.safetensors"

Lesson = tuple[list[Message], str]
"""A prompt and the answer to learn."""


@dataclass(frozen=True, kw_only=True)
class LoraSettings:
    """What adapters are trained with; the paper's values (appendix C) where it gives any."""

    epochs: int = 6
    """Passes over the examples in one fine-tuning."""
    learning_rate: float = 1e-4
    """Falls to 0 in a line."""
    max_length: int = 4_096
    """Tokens of a prompt with its answer; less if the model reads less."""
    answer_tokens: int = 256
    """Of them, those of the answer at most."""
    batch: int = 4
    rank: int = 16
    alpha: int = 32
    dropout: float = 0.05
    four_bit: bool = True
    """Keep the base's weights in four bits, where the machine can (on a GPU, with bitsandbytes)."""
    checkpointing: bool | None = None
    """Trade time for memory by computing activations twice; None: on a GPU."""

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            UsageError: one of them makes no sense.
        """
        for name in ("epochs", "learning_rate", "max_length", "answer_tokens", "batch", "rank", "alpha"):
            if not getattr(self, name) > 0:
                raise UsageError(f"LoRA setting {name}={getattr(self, name)}: want a number above 0")
        if not 0 <= self.dropout < 1:
            raise UsageError(f"LoRA setting dropout={self.dropout}: want a share below 1")


class Adapters:
    """The adapters of one loaded model."""

    def __init__(self, chat: LocalChat, settings: LoraSettings, seed: int) -> None:
        """Put an adapter for each role into the model; they change nothing until they are trained.

        Args:
            chat: The base.
            settings: What they are trained with.
            seed: Of their first weights, and of the order of examples.
        """
        import torch
        from peft import LoraConfig, PeftModel

        from training.jsdrv import sft

        self.chat, self.settings, self.seed = chat, settings, seed
        with sft.own_chance():
            torch.manual_seed(seed)
            for name in ADAPTERS:
                config = LoraConfig(
                    r=settings.rank,
                    lora_alpha=settings.alpha,
                    lora_dropout=settings.dropout,
                    target_modules="all-linear",
                    task_type="CAUSAL_LM",
                )
                if chat.adapted is None:
                    chat.adapted = PeftModel(chat.model, config, adapter_name=name)
                else:
                    chat.adapted.add_adapter(name, config)
        choose_adapter(chat.adapted.eval(), None)

    def train(self, adapter: str, lessons: Sequence[Lesson], progress: Progress | None = None) -> list[float]:
        """Train one adapter further.

        Args:
            adapter: One of ADAPTERS.
            lessons: What to learn.
            progress: Told after each step.

        Returns:
            The mean loss of every pass; empty if there is nothing to learn.

        Raises:
            UsageError: the model reads too little for the instructions and an answer.
        """
        from training.jsdrv import sft

        if not lessons:
            return []
        rows = [self.row(*lesson) for lesson in lessons]
        model = self.chat.adapted
        model.base_model.enable_adapter_layers()
        model.set_adapter(adapter)
        losses = sft.fit(model, self.chat.tokenizer, rows, self.settings, self.seed, progress)
        choose_adapter(model.eval(), None)
        return losses

    def row(self, messages: Sequence[Message], answer: str) -> dict[str, list[int]]:
        """One lesson as tokens, with a mask of those to learn; only a reason that is too long is cut.

        Raises:
            UsageError: the prompt alone is too long.
        """
        ids, start = self.chat.learned(messages, answer)
        if start > self.chat.max_prompt_tokens:
            raise UsageError(f"{self.chat.name} reads {self.chat.max_prompt_tokens} tokens; the question takes {start}")
        ids = ids[: start + self.chat.max_tokens]
        return {"input_ids": ids, "completion_mask": [0] * start + [1] * (len(ids) - start)}

    def state(self, adapter: str) -> dict[str, Any]:
        """An adapter's tensors, on the CPU."""
        from peft import get_peft_model_state_dict

        found = get_peft_model_state_dict(self.chat.adapted, adapter_name=adapter)
        return {name: tensor.detach().cpu().contiguous() for name, tensor in sorted(found.items())}

    def digest(self, adapter: str) -> str | None:
        """SHA-256 of an adapter's weights; None while it changes nothing."""
        import torch

        state = self.state(adapter)
        if not any(bool(tensor.any()) for name, tensor in state.items() if "lora_B" in name):
            return None
        digest = hashlib.sha256()
        for name, tensor in state.items():
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
            digest.update(tensor.view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()

    def save(self, folder: Path) -> None:
        """Write every adapter into a folder of its name, as peft and vLLM read them."""
        from safetensors.torch import save_file

        for name in ADAPTERS:
            (folder / name).mkdir(parents=True, exist_ok=True)
            save_file(self.state(name), folder / name / WEIGHTS, metadata={"format": "pt"})
            self.chat.adapted.peft_config[name].save_pretrained(str(folder / name))

    def load(self, folder: Path) -> None:
        """Read every adapter from a folder of its name; only tensors are read, and only those that fit.

        Raises:
            UsageError: one is missing, or was trained for another model.
        """
        from peft import set_peft_model_state_dict
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        for name in ADAPTERS:
            path = folder / name / WEIGHTS
            try:
                state = load_file(path)
            except (OSError, SafetensorError) as error:
                raise UsageError(f"cannot read the adapter {path}: {str(error).partition(chr(10))[0]}") from error
            shapes = {key: tensor.shape for key, tensor in self.state(name).items()}
            if {key: tensor.shape for key, tensor in state.items()} != shapes:
                raise UsageError(f"the adapter {path} was trained for another model than {self.chat.name}")
            set_peft_model_state_dict(self.chat.adapted, state, adapter_name=name)
        choose_adapter(self.chat.adapted.eval(), None)
