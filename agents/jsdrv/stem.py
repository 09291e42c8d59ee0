"""The part of a transformer encoder that JSDRV's encoder networks share and never change.

Embeddings and the lower layers are frozen, so what they make of a text is computed once and kept in memory: training
and annotating cost the upper layers only, a third of MiniLM. SD and RV each have upper layers of their own (`Tower`),
so neither unlearns what the other learns.
"""

import copy
import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from agents.encoder import EMBEDDED, model_path
from corpora.errors import UsageError

if TYPE_CHECKING:
    from torch import Tensor

TRAINED = 2
"""Upper layers that a tower has."""
TOKENS = 64
"""Longest text; tweets have some 25."""
BATCH = 64
ROOM = 1 << 30
"""Bytes that kept states may take."""


class Stem:
    """Frozen embeddings and lower layers of an encoder of BERT's build."""

    def __init__(self, name: str) -> None:
        """Load the encoder.

        Raises:
            UsageError: there is no such encoder, or it is built otherwise.
        """
        path = model_path(name)  # before the import: it may forbid to look anything up
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils import logging

        logging.set_verbosity_error()
        self.name = name
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=False)
            model = AutoModel.from_pretrained(path, trust_remote_code=False, use_safetensors=True).eval()
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise UsageError(f"cannot load the encoder {name}: {str(error).strip().partition(chr(10))[0]}") from None
        layers = getattr(getattr(model, "encoder", None), "layer", None)
        if layers is None or len(layers) <= TRAINED or not hasattr(model, "embeddings"):
            raise UsageError(f"{name} is not built like BERT: choose MiniLM (encoder), or a BERT, RoBERTa or XLM-R")
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = model.requires_grad_(False).to(self.device)
        self.size: int = model.config.hidden_size
        self._embeddings, self._lower = model.embeddings, layers[:-TRAINED]
        self._upper = layers[-TRAINED:]
        self._states: dict[str, Tensor] = {}
        self._lengths: dict[str, int] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def upper(self) -> nn.ModuleList:
        """A copy of the upper layers, to be trained."""
        layers: nn.ModuleList = copy.deepcopy(self._upper).requires_grad_(True)
        return layers

    def warm(self, texts: Sequence[str]) -> None:
        """Compute what is not kept yet, texts of like length together."""
        with self._lock:
            self._warm(texts)

    def _warm(self, texts: Sequence[str]) -> None:
        if self._bytes > ROOM:  # a server's posts have no end
            self.forget()
        missing = sorted({text for text in texts if text not in self._states}, key=len)
        for start in range(0, len(missing), BATCH):
            self._compute(missing[start : start + BATCH])

    def __call__(self, texts: Sequence[str]) -> "tuple[Tensor, Tensor]":
        """States of the texts' tokens, padded: (texts, tokens, d), and their mask: (texts, tokens)."""
        with self._lock:  # nobody may forget between the two
            self._warm(texts)
            kept = [self._states[text] for text in texts]
        states = [each.to(self.device).float() for each in kept]
        mask = nn.utils.rnn.pad_sequence([torch.ones(len(each)) for each in states], batch_first=True)
        return nn.utils.rnn.pad_sequence(states, batch_first=True), mask.to(self.device)

    def length(self, text: str) -> int:
        """Tokens of a text that was seen before."""
        return self._lengths[text]

    def forget(self) -> None:
        """Throw away what is kept."""
        self._states.clear()
        self._bytes = 0

    @torch.inference_mode()
    def _compute(self, texts: list[str]) -> None:
        tokens = self._tokenizer(texts, padding=True, truncation=True, max_length=TOKENS, return_tensors="pt")
        ids, mask = tokens["input_ids"].to(self.device), tokens["attention_mask"].to(self.device)
        states = run_layers(self._lower, self._embeddings(ids), mask.float())
        for text, row, length in zip(texts, states, mask.sum(1).tolist(), strict=True):
            self._states[text] = row[:length].half().cpu()  # rounding is far below what training can see
            self._lengths[text] = length
            self._bytes += 2 * length * self.size


class Tower(nn.Module):
    """Upper layers of one network: a text's states in, its vector out."""

    def __init__(self, stem: Stem) -> None:
        """Begin with the encoder's own upper layers."""
        super().__init__()
        self.layers = stem.upper()

    def forward(self, states: "Tensor", mask: "Tensor") -> "Tensor":
        """Mean of the last states over a text's tokens: (texts, tokens, d) -> (texts, d)."""
        weights = mask.unsqueeze(-1)
        return (run_layers(self.layers, states, mask) * weights).sum(1) / weights.sum(1)


def run_layers(layers: Any, states: "Tensor", mask: "Tensor") -> "Tensor":
    """Pass states (texts, tokens, d) through layers of BERT; padding is not attended to."""
    least = torch.finfo(states.dtype).min
    closed = (1.0 - mask)[:, None, None, :].to(states.dtype) * least
    for layer in layers:
        found = layer(states, closed)
        states = found[0] if isinstance(found, tuple) else found
    return states


@lru_cache(maxsize=1)
def stem_of(name: str = EMBEDDED) -> Stem:
    """The stem of an encoder; trainings and verdicts of one process share it."""
    return Stem(name)
