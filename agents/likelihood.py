"""Label distributions from a model's token probabilities: those an API shows, and those of a local model."""

import math
import re
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from agents.replies import find_label, forms_of

if TYPE_CHECKING:
    import torch


def from_token_logprobs(content: Any, labels: Sequence[str]) -> dict[str, float] | None:
    """Read label probabilities at the token with which a reply's label begins.

    Each alternative listed there counts for the label whose spelling it begins, if it begins only one; a
    label that is not among the alternatives gets 0. The rest is normalised.

    Args:
        content: `choices[0].logprobs.content` of a chat completion: a list of tokens with their
            `top_logprobs`.
        labels: the label words that the answer is one of.

    Returns:
        Label -> probability; None if the reply has no label or the tokens are not readable.
    """
    try:
        pieces = [_bytes(token) for token in content]
        text = b"".join(pieces).decode("utf-8")
        if (found := find_label(text, labels)) is None:
            return None
        start = len(text[: found[1]].encode("utf-8"))
        ends = list(accumulate(map(len, pieces)))
        token = content[next(n for n, end in enumerate(ends) if end > start)]
        weights = dict.fromkeys(labels, 0.0)
        entries = {entry["token"]: entry["logprob"] for entry in [*(token.get("top_logprobs") or []), token]}
        for alternative, logprob in entries.items():
            label = _label_begun_by(alternative, labels)
            if label is not None:
                weights[label] += math.exp(logprob)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError):
        return None
    return normalised(weights)


def normalised(weights: dict[str, float]) -> dict[str, float] | None:
    """Scale weights to sum to 1; None if there is nothing to scale."""
    total = sum(weights.values())
    return {label: weight / total for label, weight in weights.items()} if 0 < total < math.inf else None


def _bytes(token: dict[str, Any]) -> bytes:
    raw = token.get("bytes")
    return bytes(raw) if raw is not None else str(token["token"]).encode("utf-8")


def _label_begun_by(token: str, labels: Sequence[str]) -> str | None:
    text = re.sub(r"^[\W_]+|[\W_]+$", "", token).casefold()
    begun = [label for label in labels if text and any(form.startswith(text) for form in forms_of(label))]
    return begun[0] if len(begun) == 1 else None


Tokens = Sequence[Sequence[int]]
"""Token ids of several texts."""
Rows = dict[tuple[int, ...], int]
"""What a model reads to score labels, without repetitions: token ids -> number of the row."""


def label_log_likelihoods(model: Any, prompts: Tokens, labels: Sequence[Tokens], pad_id: int) -> "torch.Tensor":
    """Compute log P(label | prompt), summed over the label's tokens, in one padded forward pass.

    Args:
        model: a causal language model of transformers, in evaluation mode.
        prompts: token ids of each prompt.
        labels: [prompt][label] -> token ids that continue that prompt; not empty.
        pad_id: any valid token id.

    Returns:
        (prompts, labels) float32 tensor on the CPU.
    """
    rows, keep = rows_of(prompts, labels)
    return scores_of(prompts, labels, rows, _read(model, rows, keep, pad_id))


def rows_of(prompts: Tokens, labels: Sequence[Tokens]) -> tuple[Rows, int]:
    """The rows to read, and at how many of their last tokens.

    A row is a prompt with all but the last token of a label; equal rows are computed once, so that one-token
    labels (the usual Yes and No) cost one row a prompt together.
    """
    rows: Rows = {}
    for prompt, continuations in zip(prompts, labels, strict=True):
        for label in continuations:
            rows.setdefault((*prompt, *label[:-1]), len(rows))
    return rows, max(len(label) for continuations in labels for label in continuations)


def scores_of(prompts: Tokens, labels: Sequence[Tokens], rows: Rows, log_probs: "torch.Tensor") -> "torch.Tensor":
    """Pick the labels' log-likelihoods out of (rows, last tokens, vocabulary): a (prompts, labels) tensor."""
    import torch

    scores = torch.empty(len(prompts), len(labels[0]))
    for i, (prompt, continuations) in enumerate(zip(prompts, labels, strict=True)):
        for j, label in enumerate(continuations):
            row = log_probs[rows[(*prompt, *label[:-1])]][-len(label) :]
            scores[i, j] = row[torch.arange(len(label)), torch.tensor(label)].sum()
    return scores


def _read(model: Any, rows: Rows, keep: int, pad_id: int) -> "torch.Tensor":
    """Log-probabilities after each row's last `keep` tokens: (rows, keep, vocabulary), on the CPU."""
    import torch

    width = max(map(len, rows))
    ids = torch.full((len(rows), width), pad_id)
    mask = torch.zeros_like(ids)
    for row, n in rows.items():  # padded on the left: the positions that are read stand at the right edge
        ids[n, width - len(row) :] = torch.tensor(row)
        mask[n, width - len(row) :] = 1
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    device = model.device
    with torch.inference_mode():
        logits = model(
            input_ids=ids.to(device),
            attention_mask=mask.to(device),
            position_ids=positions.to(device),
            logits_to_keep=keep,  # all logits of a long batch would not fit: tokens x vocabulary
            use_cache=False,
        ).logits
        log_probs: torch.Tensor = logits[:, -keep:].float().log_softmax(-1).cpu()
    return log_probs
