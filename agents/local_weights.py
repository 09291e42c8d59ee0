"""Loading a causal language model of transformers and its tokenizer from a folder or the Hugging Face hub.

Models are untrusted: weights are read from safetensors only, and code that comes with a model is never run.
"""

import hashlib
from pathlib import Path
from typing import Any

from corpora.errors import UsageError


def load(path: str) -> tuple[Any, Any]:
    """Load model and tokenizer.

    Raises:
        UsageError: there is no such model, or not one that can be used.
    """
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
        )
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise UsageError(f"cannot load hf:{path}: {reason}") from error
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(0)
    return model.eval(), tokenizer


def text_pipeline(model: Any, tokenizer: Any, batch_size: int) -> Any:
    """Wrap a loaded model for LangChain."""
    from langchain_huggingface import HuggingFacePipeline
    from transformers import pipeline

    generator = pipeline("text-generation", model=model, tokenizer=tokenizer, batch_size=batch_size)
    return HuggingFacePipeline(pipeline=generator, batch_size=batch_size)


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
