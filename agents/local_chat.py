"""`hf:PATH-OR-NAME`: a chat model of transformers in this process, through langchain-huggingface.

`ChatHuggingFace` has no async over a local pipeline, echoes the prompt and starts it with two BOS tokens; so
the chat template is applied here and LangChain's `HuggingFacePipeline` generates. Requests that arrive within
a few milliseconds, or while another batch is running, are run as one padded batch in a worker thread. Where
labels are given nothing is generated: the likeliest label is the answer (agents/likelihood.py). On request,
prompts that grow are then read only where they are new (agents/prefix_cache.py).

One loaded base can serve several roles, each with a LoRA adapter of its own (agents/adapter_chat.py): every request
says which one it means, and no batch mixes two. A last message of the assistant is the beginning of its reply.

How messages become text is in agents/chat_template.py; what is loaded, and what is not, in agents/local_weights.py.
"""

import asyncio
import copy
import hashlib
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agents.chat_template import ChatTemplate
from agents.likelihood import label_log_likelihoods, normalised
from agents.local_weights import Ends, choose_adapter, fingerprint, load, text_pipeline
from agents.models import Message, ModelError, ModelSettings, Reply
from agents.prefix_cache import PrefixCache

GATHER = 0.004
"""Seconds that the first request of a batch waits for others."""
BATCH_TOKENS = 32_768
"""Longest batch: rows times the longest prompt."""


@dataclass(slots=True)
class _Request:
    prompt: str
    ids: list[int]
    labels: tuple[str, ...]
    sample: int
    future: asyncio.Future[Reply]
    adapter: str | None = None


class LocalChat:
    """A causal language model with its tokenizer, on the GPU if there is one."""

    endpoint = "in process"

    def __init__(self, path: str, settings: ModelSettings, *, four_bit: bool = False):
        self._model, self._tokenizer = load(path, four_bit)
        # a fast tokenizer must not be used by two threads at once: one for counting, one for the worker
        self._worker_tokenizer = copy.deepcopy(self._tokenizer)
        self._pipeline = text_pipeline(self._model, self._worker_tokenizer, settings.batch_size)
        self._template = ChatTemplate(self._tokenizer)
        limits = [
            self._tokenizer.model_max_length,
            getattr(self._model.config, "max_position_embeddings", None),
        ]
        context = min(limit for limit in limits if limit)
        self.max_tokens = min(settings.max_tokens, context // 4)
        self.max_prompt_tokens = min(settings.max_prompt_tokens, context - self.max_tokens)
        self.name = f"hf:{path}"
        self.parameters: dict[str, Any] = {
            "temperature": settings.temperature,
            "max_tokens": self.max_tokens,
            "dtype": str(self._model.dtype).removeprefix("torch."),
            "weights": self._model.config._commit_hash or fingerprint(Path(path)),
        }
        if getattr(self._model, "is_quantized", False):
            self.parameters["quantization"] = "nf4"
        self.adapted: Any = None
        """The same model as peft wraps it, once it has adapters."""
        self._batch_size = settings.batch_size
        self._queue: list[_Request] = []
        self._worker: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="local-model")
        self._kept: dict[str | None, PrefixCache] | None = None
        self._conversations = 0
        self._keepers = 0

    @property
    def model(self) -> Any:
        """The model of transformers."""
        return self._model

    @property
    def tokenizer(self) -> Any:
        """Its tokenizer."""
        return self._tokenizer

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        labels: tuple[str, ...] = (),
        sample: int = 0,
        adapter: str | None = None,
    ) -> Reply:
        """Ask for one reply, of the base or with one of its adapters; see agents.models.Model."""
        prompt = self._render(messages)
        ids = self._encode(self._tokenizer, prompt)
        if len(ids) > self.max_prompt_tokens:
            raise ModelError(f"a prompt of {len(ids)} tokens; {self.name} reads {self.max_prompt_tokens}")
        request = _Request(prompt, ids, labels, sample, asyncio.get_running_loop().create_future(), adapter)
        self._queue.append(request)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await request.future

    @contextmanager
    def keep_prefixes(self, conversations: int) -> Iterator[None]:
        """Within the block, read of scored prompts only what is new; see agents.models.KeepsPrefixes."""
        if self._kept is None:
            self._kept, self._conversations = {}, conversations
        self._keepers += 1
        try:
            yield
        finally:
            self._keepers -= 1
            if not self._keepers:
                self._kept = None

    async def _work(self) -> None:
        """Run batches until nobody waits."""
        await asyncio.sleep(GATHER)
        while batch := self._take():
            running = asyncio.get_running_loop().run_in_executor(self._thread, self._run, batch)
            try:
                replies: list[Reply | Exception] = await running
            except Exception as error:  # a bug reaches those who asked, not only this task
                replies = [error] * len(batch)
            for request, reply in zip(batch, replies, strict=True):
                if request.future.done():
                    continue
                if isinstance(reply, Exception):
                    request.future.set_exception(reply)
                else:
                    request.future.set_result(reply)

    def _take(self) -> list[_Request]:
        """The next batch: requests of one kind, in the order of arrival, as many as will fit."""
        waiting = [request for request in self._queue if not request.future.done()]
        batch: list[_Request] = []
        for request in waiting:
            longest = max(len(other.ids) for other in [*batch, request])
            fits = len(batch) < self._batch_size and longest * (len(batch) + 1) <= BATCH_TOKENS
            if not batch or (fits and (request.labels, request.adapter) == (batch[0].labels, batch[0].adapter)):
                batch.append(request)
        self._queue = [request for request in waiting if request not in batch]
        return batch

    def _run(self, batch: list[_Request]) -> list[Reply | Exception]:
        """Run a batch, in the worker thread; in halves if it does not fit into memory."""
        import torch

        started = time.perf_counter()
        if self.adapted is not None:
            choose_adapter(self.adapted, batch[0].adapter)
        try:
            replies = self._score(batch) if batch[0].labels else self._generate(batch)
        except torch.OutOfMemoryError:
            for kept in list((self._kept or {}).values()):
                kept.clear()
            torch.cuda.empty_cache()
            if len(batch) == 1:
                return [ModelError(f"out of memory with a prompt of {len(batch[0].ids)} tokens")]
            half = len(batch) // 2
            return self._run(batch[:half]) + self._run(batch[half:])
        seconds = (time.perf_counter() - started) / len(batch)
        return [replace(reply, seconds=seconds) for reply in replies]

    def _score(self, batch: list[_Request]) -> list[Reply]:
        """Choose the likeliest label for each prompt."""
        prompts, continuations = [], []
        for request in batch:
            texts = [request.prompt + self._template.space + label for label in request.labels]
            wholes = [self._encode(self._worker_tokenizer, text) for text in texts]
            shared = min(_common(request.ids, whole[:-1]) for whole in wholes)  # text may merge with the label
            prompts.append(request.ids[:shared])
            continuations.append([whole[shared:] for whole in wholes])
        pad, kept = self._worker_tokenizer.pad_token_id, self._prefixes(batch[0].adapter)
        reused: Sequence[int | None] = [None] * len(batch)
        if kept is None:
            scores = label_log_likelihoods(self._model, prompts, continuations, pad)
        else:
            scores, reused = kept.label_log_likelihoods(prompts, continuations, pad)
        replies = []
        for request, row, old in zip(batch, scores.softmax(-1).tolist(), reused, strict=True):
            odds = normalised(dict(zip(request.labels, row, strict=True)))
            best = request.labels[row.index(max(row))]
            replies.append(Reply(best, odds, "log-likelihood", len(request.ids), 0, cached_tokens=old))
        return replies

    def _prefixes(self, adapter: str | None) -> PrefixCache | None:
        """What was read with an adapter, while prefixes are kept: another reads the same tokens otherwise."""
        if (kept := self._kept) is None:
            return None
        if adapter not in kept:
            kept[adapter] = PrefixCache(self._model, self._conversations)
        return kept[adapter]

    def _generate(self, batch: list[_Request]) -> list[Reply]:
        """Generate a reply for each prompt."""
        import torch

        temperature = self.parameters["temperature"]
        sampling: dict[str, Any] = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        if temperature:
            sampling = {"do_sample": True, "temperature": temperature, "top_p": 1.0, "top_k": 0}
        options = {"max_new_tokens": self.max_tokens, "return_full_text": False, "add_special_tokens": False}
        content = "\n".join(f"{request.sample} {request.prompt}" for request in batch)
        devices = [self._model.device] if self._model.device.type == "cuda" else []
        with torch.random.fork_rng(devices):
            torch.manual_seed(int.from_bytes(hashlib.sha256(content.encode()).digest()[:8]) >> 1)
            result = self._pipeline.generate(
                [request.prompt for request in batch],
                pipeline_kwargs={**options, **sampling, "stopping_criteria": [ends := Ends()]},
            )
        cuts = ends.cut(self.max_tokens, self._model.generation_config.eos_token_id)
        replies = []
        for request, (generation, *_), cut in zip(batch, result.generations, cuts, strict=True):
            # LangChain passes the text on, not its tokens: they are counted by encoding it again
            output_tokens = min(len(self._encode(self._worker_tokenizer, generation.text)), self.max_tokens)
            text, limit = generation.text.strip(), self.max_tokens if cut else None
            replies.append(Reply(text, None, None, len(request.ids), output_tokens, cut=limit))
        return replies

    def _render(self, messages: Sequence[Message]) -> str:
        return self._template.render(messages)

    def learned(self, messages: Sequence[Message], answer: str) -> tuple[list[int], int]:
        """Token ids of a prompt with its answer and the end of text, to learn from; and where the answer begins."""
        prompt = self._render(messages)
        ids = self._encode(self._tokenizer, prompt)
        whole = self._encode(self._tokenizer, prompt + self._template.space + self._template.defuse(answer))
        end = [] if self._tokenizer.eos_token_id is None else [self._tokenizer.eos_token_id]
        return [*whole, *end], _common(ids, whole)

    @staticmethod
    def _encode(tokenizer: Any, text: str) -> list[int]:
        ids: list[int] = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return ids

    def count_text(self, text: str) -> int:
        """Tokens of a text."""
        return len(self._encode(self._tokenizer, text))

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Tokens of a prompt."""
        return self.count_text(self._render(messages))

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """Nothing."""
        return 0.0

    async def close(self) -> None:
        """Let the worker thread end."""
        self._thread.shutdown(wait=False)


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    """Length of the shared beginning."""
    pairs = zip(left, right, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))
