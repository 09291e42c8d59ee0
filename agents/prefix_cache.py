"""Label likelihoods of prompts that grow: what a local model has read of one is not read again for the next.

The keys and values of each prompt are kept. A prompt continues from the kept one that it shares the longest
beginning with: of a conversation that got one more post, the new post and the question are read; of a new one,
all but the instructions; where old posts were left out, what comes after the place. Which conversation a
prompt belongs to is never asked: only equal tokens count, so the scores are those of reading all of it, up to
the rounding of floats.

Prompts are read several at a time, all of a group the same number of tokens, up to their common right edge:

    prompt 1   kept kept kept kept | new  new  new
    prompt 2   .... .... kept kept | kept new  new     the group's number is read, be it kept or not
    prompt 3   .... .... .... .... | .... new  new     shorter than that: padded on the left

So no padding ever stands between two tokens of a prompt, and models that look at distances (sliding windows,
ALiBi) see the right ones. All layers keep everything, also those that look only at a window.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from agents.likelihood import Rows, Tokens, label_log_likelihoods, rows_of, scores_of

if TYPE_CHECKING:
    import torch

MAX_BYTES = 4 << 30
"""Keys and values that are kept at most; of more conversations side by side than that holds, each is read anew."""
SLACK = {"cpu": 16, "cuda": 256}
"""Kept tokens that a prompt may read again so as to be read with others. Measured on a CPU; on a GPU, where a pass
of its own costs more, a guess."""
SEAM = 4
"""Tokens that may come out otherwise where a post is put in before the question: they merge with what is there."""

Ids = NDArray[np.int64]
Layer = tuple["torch.Tensor", "torch.Tensor"]
"""Keys and values: (heads, tokens, dimensions)."""


@dataclass(eq=False, slots=True)
class _Kept:
    """One prompt as it was read."""

    ids: Ids
    layers: list[Layer]
    n_bytes: int


@dataclass(slots=True)
class _Row:
    """One row to read, and the kept prompt that it may continue."""

    number: int
    ids: Ids
    source: _Kept | None
    fresh: int
    """Tokens at its end that must be read."""
    lasting: int
    """Tokens at its beginning to keep: the prompt's; 0 where another row has it."""


class PrefixCache:
    """What a model has read of the last prompts. For one thread at a time."""

    def __init__(self, model: Any, conversations: int, max_bytes: int = MAX_BYTES):
        self._model = model
        self._conversations, self._max_bytes = conversations, max_bytes
        self._slack = SLACK.get(model.device.type, SLACK["cuda"])
        self._kept: list[_Kept] = []
        """The one that was read longest ago comes first."""
        self._usable: bool | None = None

    def clear(self) -> None:
        """Let go of everything."""
        self._kept.clear()

    def label_log_likelihoods(
        self, prompts: Tokens, labels: Sequence[Tokens], pad_id: int
    ) -> "tuple[torch.Tensor, Sequence[int | None]]":
        """As agents.likelihood.label_log_likelihoods; and how many tokens of each prompt were not read anew.

        A model that cannot continue from what it has read reads everything, and the numbers are None.
        """
        if self._usable is None:
            self._usable = continuable(self._model, pad_id)
        if not self._usable:
            return label_log_likelihoods(self._model, prompts, labels, pad_id), [None] * len(prompts)
        return self._score(prompts, labels, pad_id)

    def _score(self, prompts: Tokens, labels: Sequence[Tokens], pad_id: int) -> "tuple[torch.Tensor, list[int]]":
        rows, keep = rows_of(prompts, labels)
        lasting = {
            rows[(*prompt, *label[:-1])]: len(prompt) for prompt, (label, *_) in zip(prompts, labels, strict=True)
        }
        log_probs, reused = self._read(rows, lasting, keep, pad_id)
        least = [
            min(reused[rows[(*prompt, *label[:-1])]] for label in continuations)
            for prompt, continuations in zip(prompts, labels, strict=True)
        ]
        return scores_of(prompts, labels, rows, log_probs), least

    def _read(self, rows: Rows, lasting: dict[int, int], keep: int, pad_id: int) -> "tuple[torch.Tensor, list[int]]":
        """Log-probabilities after each row's last `keep` tokens (rows, keep, vocabulary), and tokens reused."""
        import torch

        waiting = [self._row(number, np.array(ids), lasting.get(number, 0), keep) for ids, number in rows.items()]
        waiting.sort(key=lambda row: -row.fresh)
        log_probs: list[Any] = [None] * len(waiting)
        reused = [0] * len(waiting)
        while waiting:
            fresh = waiting[0].fresh
            group = [row for row in waiting if fresh - row.fresh <= self._slack]
            waiting = waiting[len(group) :]
            for row, scores in zip(group, self._forward(group, fresh, keep, pad_id), strict=True):
                log_probs[row.number] = scores
                reused[row.number] = max(0, len(row.ids) - fresh)
        return torch.stack(log_probs), reused

    def _row(self, number: int, ids: Ids, lasting: int, keep: int) -> _Row:
        """Find the kept prompt that shares the longest beginning."""
        source = max(self._kept, key=lambda kept: _common(kept.ids, ids), default=None)
        shared = 0 if source is None else _common(source.ids, ids)
        return _Row(number, ids, source, max(len(ids) - shared, min(keep, len(ids))), lasting)

    def _forward(self, group: list[_Row], fresh: int, keep: int, pad_id: int) -> "torch.Tensor":
        """Read the last `fresh` tokens of each row after what is kept of it, and keep all of it."""
        import torch

        old = [max(0, len(row.ids) - fresh) for row in group]
        room = max(old)
        ids = np.full((len(group), fresh), pad_id)
        mask = np.zeros((len(group), room + fresh), dtype=np.int64)
        for n, row in enumerate(group):
            new = row.ids[old[n] :]
            ids[n, fresh - len(new) :] = new
            mask[n, room + fresh - len(row.ids) :] = 1
        positions = np.ascontiguousarray((mask.cumsum(1) - 1).clip(min=0)[:, room:])
        device = self._model.device
        with torch.inference_mode():
            cache = _joined([row.source for row in group], old)
            logits = self._model(
                input_ids=torch.from_numpy(ids).to(device),
                attention_mask=torch.from_numpy(mask).to(device),
                position_ids=torch.from_numpy(positions).to(device),
                past_key_values=cache,
                logits_to_keep=keep,
                use_cache=True,
            ).logits
            for n, row in enumerate(group):
                if row.lasting:
                    start = room + fresh - len(row.ids)
                    part = (n, slice(None), slice(start, start + row.lasting))
                    # copies: a view would hold on to the whole group
                    self._keep(row.ids[: row.lasting], [(k[part].clone(), v[part].clone()) for k, v in cache])
            log_probs: torch.Tensor = logits[:, -keep:].float().log_softmax(-1).cpu()
        return log_probs

    def _keep(self, ids: Ids, layers: list[Layer]) -> None:
        """Keep what was read of a prompt; those that it continues, and those there is no room for, go."""
        self._kept = [kept for kept in self._kept if not _continues(ids, kept.ids)]
        self._kept.append(_Kept(ids, layers, sum(tensor.nbytes for layer in layers for tensor in layer)))
        total = sum(kept.n_bytes for kept in self._kept)
        while len(self._kept) > self._conversations or total > self._max_bytes:
            total -= self._kept.pop(0).n_bytes


def continuable(model: Any, pad_id: int) -> bool:
    """Whether a model can continue from what it has read: known for most, and tried on a few tokens."""
    import torch

    layers = getattr(model.config, "layer_types", None) or getattr(model.config, "block_types", None) or []
    known = getattr(model, "_supports_default_dynamic_cache", lambda: False)()
    if not known or any("attention" not in kind or "linear" in kind for kind in layers):
        return False  # recurrent and hybrid models: their state cannot be cut back, and trying would leave some
    scaling = getattr(model.config, "rope_scaling", None) or {}
    if {"dynamic", "longrope"} & {scaling.get("rope_type"), scaling.get("type")}:
        return False  # here all positions change with the length of the text
    one, two = ([(first + n) % model.config.vocab_size for n in range(12)] for first in (0, 20))
    prompts, labels = [one[:12], one[:9], two[:4]], [[[1], [2, 3]]] * 3
    tried = PrefixCache(model, 8)
    try:
        tried._score([one[:6], two[:3]], labels[:2], pad_id)
        scores, _ = tried._score(prompts, labels, pad_id)
    except torch.OutOfMemoryError:
        raise
    except Exception:  # whatever an architecture with a cache of its own kind makes of this one
        return False
    if not all(kept.layers and all(k.shape[1] == len(kept.ids) for k, _ in kept.layers) for kept in tried._kept):
        return False  # it keeps something else, or somewhere else
    return torch.allclose(scores, label_log_likelihoods(model, prompts, labels, pad_id), rtol=0.05, atol=0.1)


def _joined(sources: "Sequence[_Kept | None]", lengths: Sequence[int]) -> Any:
    """One cache of transformers for a group: `lengths` tokens of each source, padded on the left."""
    from transformers import DynamicCache

    cache = DynamicCache()
    room = max(lengths)
    if not room:
        return cache
    pattern = next(source for source in sources if source is not None)
    for layer, pair in enumerate(pattern.layers):
        joined = [like.new_zeros(len(sources), like.shape[0], room, like.shape[2]) for like in pair]
        for n, (source, length) in enumerate(zip(sources, lengths, strict=True)):
            if source is not None and length:
                for whole, part in zip(joined, source.layers[layer], strict=True):
                    whole[n, :, room - length :] = part[:, :length]
        cache.update(*joined, layer)
    return cache


def _continues(later: Ids, earlier: Ids) -> bool:
    """Whether a prompt is another one with something put in before the question that both end with."""
    own = earlier[_common(earlier, later) + SEAM :]
    return bool(np.array_equal(own, later[len(later) - len(own) :]))


def _common(left: Ids, right: Ids) -> int:
    """Length of the shared beginning."""
    n = min(len(left), len(right))
    unequal = left[:n] != right[:n]
    return int(unequal.argmax()) if unequal.any() else n
