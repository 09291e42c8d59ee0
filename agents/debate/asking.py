"""How a speaker is asked: through the call log, and once more where the reply cannot be read."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from agents.call_log import CallLog
from agents.debate.settings import MAX_ROUNDS
from agents.models import Message, Model, Reply
from agents.verifiers.question import load_prompts
from corpora.thread import Language

T = TypeVar("T")

PLACES = {
    "score": {"source", "comment"},
    "score-quote": {"source", "comment"},
    "score-batch": {"source", "comments"},
    "subjectivity": {"source"},
    "opinion-subjective": {"source", "comments"},
    "opinion-non-subjective": {"source", "comments"},
    "debate": {"other"},
    "judge": {"source", "support", "oppose"},
}
"""The prompts, and what is put into each."""


class Asker:
    """The models of all roles, and the prompts they are shown."""

    def __init__(self, log: CallLog, models: Mapping[str, Model], prompts: Path | None, seed: int) -> None:
        """Load the prompts.

        Args:
            log: Where the calls go through.
            models: Role -> model.
            prompts: A folder whose files replace our prompts, or None.
            seed: Makes samples of its own.

        Raises:
            UsageError: a prompt file is not usable.
        """
        self.log, self.models, self.seed = log, models, seed
        self.prompts = {name: load_prompts(name, places, prompts) for name, places in PLACES.items()}

    async def render_and_ask(
        self,
        role: str,
        model: str,
        name: str,
        about: tuple[str, Language],
        shown: Mapping[str, str],
        read: Callable[[Reply], T | None],
        labels: tuple[str, ...] = (),
        attempts: tuple[int, ...] = (0, 1),
    ) -> tuple[T | None, Reply, int]:
        """Render a prompt and ask it; `about` is the thread's id and language. See `ask`."""
        thread_id, language = about
        prompt = self.prompts[name][language]
        return await self.ask(role, model, prompt.render(**shown), prompt.sha256, thread_id, read, labels, attempts)

    async def ask(
        self,
        role: str,
        model: str,
        messages: Sequence[Message],
        prompt_sha256: str,
        thread_id: str,
        read: Callable[[Reply], T | None],
        labels: tuple[str, ...] = (),
        attempts: tuple[int, ...] = (0, 1),
        round_: int = 0,
    ) -> tuple[T | None, Reply, int]:
        """Ask, and once more if the reply cannot be read.

        Args:
            role: Recorded with the calls.
            model: Role whose model is asked.
            messages: The prompt.
            prompt_sha256: Recorded with the calls.
            thread_id: Recorded with the calls.
            read: What a reply says, None if that cannot be read.
            labels: Words of which the answer must be one, if there are such.
            attempts: Numbers of the attempts that are made.
            round_: Of the debate.

        Returns:
            What the last reply says, that reply, and the calls it took.

        Raises:
            ModelError: a call failed for good.
        """
        # Each seed, round, attempt and debater draws a sample of its own, also where prompts are equal.
        first = 4 * ((MAX_ROUNDS + 1) * self.seed + round_) + (role == "debater_n")
        for attempt in attempts:
            reply = await self.log.ask(
                self.models[model],
                messages,
                role=role,
                thread_id=thread_id,
                prompt_sha256=prompt_sha256,
                labels=labels,
                sample=first + 2 * attempt,
            )
            found = read(reply)
            if found is not None or self.log.dry_run:
                break
        return found, reply, attempts.index(attempt) + 1
