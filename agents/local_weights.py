"""Loading a causal language model of transformers and its tokenizer from a folder or the Hugging Face hub.

Models are untrusted: weights are read from safetensors only, and code that comes with a model is never run. LoRA
adapters (peft) may be put into a loaded model; one base then speaks in several roles.
"""

import hashlib
import importlib.util
from pathlib import Path
from typing import Any

from corpora.errors import UsageError


def load(path: str, four_bit: bool = False) -> tuple[Any, Any]:
    """Load model and tokenizer.

    Args:
        path: a folder, or a name on the hub.
        four_bit: keep the weights in four bits each (nf4) where the machine can: on a GPU, with bitsandbytes.

    Raises:
        UsageError: there is no such model, or not one that can be used.
    """
    if not Path(path).is_dir() and (path.startswith(("/", ".", "~")) or path.count("/") > 1):  # no hub has such names
        raise UsageError(f"cannot load hf:{path}: there is no folder {path}")
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    gpu = torch.cuda.is_available()
    try:
        tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=False, padding_side="left")
        model = AutoModelForCausalLM.from_pretrained(
            path,
            trust_remote_code=False,
            use_safetensors=True,
            dtype="auto" if gpu else torch.float32,  # half precision is slow on most CPUs
            device_map="auto" if gpu else None,
            **({"quantization_config": _nf4()} if four_bit and can_quantize() else {}),
        )
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise UsageError(f"cannot load hf:{path}: {reason}") from error
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(0)
    return model.eval(), tokenizer


def can_quantize() -> bool:
    """Whether weights can be kept in four bits: on a GPU, with bitsandbytes."""
    import torch

    return torch.cuda.is_available() and importlib.util.find_spec("bitsandbytes") is not None


def _nf4() -> Any:
    import torch
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )


def choose_adapter(model: Any, adapter: str | None) -> None:
    """Let a model of peft compute with one of its adapters, or as if it had none."""
    if adapter is None:
        model.base_model.disable_adapter_layers()
    else:
        model.base_model.enable_adapter_layers()
        model.set_adapter(adapter, inference_mode=True)


def text_pipeline(model: Any, tokenizer: Any, batch_size: int) -> Any:
    """Wrap a loaded model for LangChain."""
    from langchain_huggingface import HuggingFacePipeline
    from transformers import pipeline

    generator = pipeline("text-generation", model=model, tokenizer=tokenizer, batch_size=batch_size)
    return HuggingFacePipeline(pipeline=generator, batch_size=batch_size)


class Ends:
    """A stopping criterion of transformers that stops nothing, and sees how the replies of one batch end."""

    def __init__(self) -> None:
        self._ids: Any = None
        self._prompt = 0

    def __call__(self, ids: Any, scores: Any, **_: Any) -> Any:
        """Look at what is there after each step: (replies, tokens of prompt and reply)."""
        import torch

        if self._ids is None:
            self._prompt = ids.shape[1] - 1
        self._ids = ids
        return torch.zeros(len(ids), dtype=torch.bool, device=ids.device)

    def cut(self, longest: int, end: int | list[int] | None) -> list[bool]:
        """Which replies took as many tokens as they may, and had not come to their end."""
        full = self._ids.shape[1] - self._prompt >= longest
        ends = [end] if isinstance(end, int) else end or []
        # behind its end a shorter reply is padded, so its last token tells nothing
        return [full and not any(token in ends for token in row) for row in self._ids[:, self._prompt :].tolist()]


def fingerprint(folder: Path) -> str:
    """Tell two sets of weights in one folder apart: names, sizes, and 16 samples of every file."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*")):
        if path.suffix not in (".safetensors", ".json", ".jinja", ".model"):
            continue
        size = path.stat().st_size
        digest.update(f"{path.name} {size}\n".encode())
        with path.open("rb") as file:
            for n in range(16):
                file.seek(n * size // 16)
                digest.update(file.read(65_536))
    return digest.hexdigest()
