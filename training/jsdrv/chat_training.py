"""SD and RV as chat models that learn: LoRA adapters for `hf:`, examples in the prompt for `openai:` and `scripted:`.

A folder of `ChatTrainer.save` holds networks.json (of what kind the networks are) and, for `hf:`, the adapters
(stance/ and veracity/, safetensors), for an API examples.json: texts of the posts that it is shown.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.call_log import CallLog
from agents.jsdrv.annotation import Annotation, Kept, Progress, StanceExample, VeracityExample
from agents.jsdrv.chat_networks import ChatNetworks
from agents.jsdrv.examples import Example
from agents.jsdrv.reading import WORDS, Kind
from agents.models import Model, ModelSettings, open_model
from corpora.errors import UsageError
from corpora.thread import ClaimThread
from training.jsdrv.examples_file import read_examples, write_examples
from training.jsdrv.lora import Adapters, Lesson, LoraSettings

if TYPE_CHECKING:
    from agents.adapter_chat import AdapterChat

NETWORKS, EXAMPLES = "networks.json", "examples.json"


class ChatTrainer:
    """Networks that are chat models; see agents.jsdrv.annotation.Trainable."""

    def __init__(
        self,
        kind: str,
        folder: Path | None = None,
        *,
        log: CallLog | None = None,
        base_url: str | None = None,
        prompts: Path | None = None,
        seed: int = 0,
        settings: LoraSettings | None = None,
        model_settings: ModelSettings | None = None,
        examples_tokens: int | None = None,
        samples: int = 1,
        reasons: bool = True,
    ) -> None:
        """Open the model; a local one is loaded, which takes a while.

        Args:
            kind: `hf:PATH-OR-NAME`, `openai:NAME` or `scripted:FILE`.
            folder: What `save` wrote, to go on from; None to begin.
            log: Where calls go through; None for one that remembers only for itself.
            base_url: Address of an OpenAI-compatible server.
            prompts: A folder whose files replace our prompts, or None.
            seed: Of all chance.
            settings: What adapters are trained with; None for the paper's values, or for those of the folder.
            model_settings: What the model is opened with, in place of kind and base_url; None for the defaults.
            examples_tokens: What examples may take of a prompt; None for a quarter.
            samples: Calls a question where an API gives no label probabilities.
            reasons: Ask a local model for reasons, a call each.

        Raises:
            UsageError: the model, a prompt or the folder cannot be used.
        """
        about = read_about(folder, kind) if folder is not None else {}
        self.kind, self.seed = kind, seed
        self.log = log or CallLog()
        self.settings = settings or LoraSettings(**about.get("lora", {}))
        self.adapters: Adapters | None = None
        self._roles: dict[Kind, AdapterChat] = {}
        models: dict[str, Model] = {}
        given = model_settings or ModelSettings(kind, base_url=base_url)
        if kind.startswith("hf:"):
            self._open_local(given if model_settings else None)
            models = dict(self._roles.items())
        else:
            model = open_model(given)
            models = {"stance": model, "veracity": model}
        self.models = models
        self.networks = ChatNetworks(
            self.log,
            models,
            prompts,
            examples_tokens=examples_tokens,
            seed=seed,
            samples=samples,
            reasons=reasons,
        )
        self.name = self.networks.name
        if folder is not None:
            self._load(folder, about)

    def _open_local(self, given: ModelSettings | None) -> None:
        from agents.adapter_chat import AdapterChat
        from agents.local_chat import LocalChat

        own = self.settings
        given = given or ModelSettings(
            self.kind, max_tokens=own.answer_tokens, max_prompt_tokens=own.max_length - own.answer_tokens
        )
        base = LocalChat(self.kind.partition(":")[2], given, four_bit=own.four_bit)
        self.adapters = Adapters(base, own, self.seed)
        self._roles = {"stance": AdapterChat(base, "stance"), "veracity": AdapterChat(base, "veracity")}

    @property
    def about(self) -> dict[str, Any]:
        """Of what kind these networks are, as networks.json says it."""
        found: dict[str, Any] = {"kind": self.kind.partition(":")[0], "model": self.kind, "seed": self.seed}
        if self.adapters is not None:
            base = self.adapters.chat.parameters
            found |= {"lora": asdict(self.settings), "weights": base["weights"], "dtype": base["dtype"]}
            found |= {"quantization": base.get("quantization", "none")}
            found |= {"adapters": {role: chat.parameters.get("adapter") for role, chat in self._roles.items()}}
        return found

    async def stances(self, thread: ClaimThread, numbers: Sequence[int]) -> list[Annotation]:
        """See agents.jsdrv.annotation.Networks."""
        return await self.networks.stances(thread, numbers)

    async def veracity(self, thread: ClaimThread, kept: Kept) -> Annotation:
        """See agents.jsdrv.annotation.Networks."""
        return await self.networks.veracity(thread, kept)

    def pretrain_stances(self, examples: Sequence[StanceExample], progress: Progress | None = None) -> list[float]:
        """See agents.jsdrv.annotation.Trainable."""
        return self._learn("stance", examples, progress)

    def pretrain_veracity(self, examples: Sequence[VeracityExample], progress: Progress | None = None) -> list[float]:
        """See agents.jsdrv.annotation.Trainable."""
        return self._learn("veracity", examples, progress)

    def fine_tune_stances(self, examples: Sequence[StanceExample], progress: Progress | None = None) -> list[float]:
        """See agents.jsdrv.annotation.Trainable."""
        return self._learn("stance", examples, progress)

    def fine_tune_veracity(self, examples: Sequence[VeracityExample], progress: Progress | None = None) -> list[float]:
        """See agents.jsdrv.annotation.Trainable."""
        return self._learn("veracity", examples, progress)

    def _learn(self, kind: Kind, examples: Sequence[Example], progress: Progress | None) -> list[float]:
        """Train an adapter further; or show these examples from now on, before those that were shown so far."""
        if self.adapters is None:
            self.networks.show(kind, [*self.networks.examples()[kind], *examples])
            return []
        losses = self.adapters.train(kind, [self.lesson(each) for each in examples], progress)
        self._roles[kind].trained(self.adapters.digest(kind))
        return losses

    def lesson(self, example: Example) -> Lesson:
        """The question that an example answers, as the model is asked it, and the answer with its label first."""
        questions = self.networks.questions
        if isinstance(example, StanceExample):
            asked = questions.stance(self.models["stance"], example.thread, example.number)
        else:
            asked = questions.veracity(self.models["veracity"], example.thread, example.kept)
        kind: Kind = "stance" if isinstance(example, StanceExample) else "veracity"
        words = WORDS[kind][example.thread.language]
        return asked.messages, words.answer(example.label, example.explanation)

    def save(self, folder: Path) -> None:
        """See agents.jsdrv.annotation.Trainable."""
        folder.mkdir(parents=True, exist_ok=True)
        if self.adapters is not None:
            self.adapters.save(folder)
        else:
            write_examples(folder / EXAMPLES, self.networks.examples())
        (folder / NETWORKS).write_text(json.dumps(self.about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def _load(self, folder: Path, about: dict[str, Any]) -> None:
        if self.adapters is None:
            for kind, examples in read_examples(folder / EXAMPLES).items():
                self.networks.show(kind, examples)
            return
        own = self.adapters.chat.parameters["weights"]
        if about.get("weights") != own:
            raise UsageError(f"{folder} was trained on other weights than those of {self.kind}: train it anew")
        self.adapters.load(folder)
        for kind, role in self._roles.items():
            role.trained(self.adapters.digest(kind))

    async def close(self) -> None:
        """Give connections and threads back."""
        for model in {id(model): model for model in self.models.values()}.values():
            await model.close()


def read_about(folder: Path, kind: str | None = None) -> dict[str, Any]:
    """What a folder of networks says of itself.

    Args:
        folder: What `save` wrote.
        kind: The model that it must be of, where that matters.

    Raises:
        UsageError: it holds no chat networks, or those of another model.
    """
    try:
        about = json.loads((folder / NETWORKS).read_text(encoding="utf-8"))
        model = about["model"]
        if "lora" in about:
            LoraSettings(**about["lora"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{folder} holds no chat networks that can be read: {error}") from error
    if kind is not None and model != kind:
        raise UsageError(f"{folder} was trained with {model}, not with {kind}")
    return dict(about)
