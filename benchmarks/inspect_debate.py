"""The peer that debates: S2MAD as an inspect_ai solver, `inspect_debate.py THREADS URL LOG_DIR`.

The same prompts, readings and calls as ours: a score for every comment and the claim's kind at once, two opinions at
once, two rounds of two answers at once, the judge where the debaters differ. THREADS is a JSON list of
{"source": "[1] …", "comments": ["[2] …", …], "target": "Fake" or "Real"}.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    get_model,
)
from inspect_ai.scorer import match
from inspect_ai.solver import Generate, Solver, TaskState, solver

import prompts
from agents.debate.evidence import harmless, quoted, separate
from agents.debate.readings import read_score
from agents.debate.settings import DebateSettings
from agents.replies import FAKE_REAL, YES_NO, read_label

MESSAGES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


async def ask(messages: list[dict[str, str]]) -> str:
    """One call."""
    output = await get_model().generate([MESSAGES[each["role"]](content=each["content"]) for each in messages])
    return output.completion


def rendered(name: str, **places: str) -> list[dict[str, str]]:
    """One of our prompts."""
    return prompts.load(name, "en").render(**{place: quoted(text) for place, text in places.items()})


@solver
def debate(settings: DebateSettings = DebateSettings()) -> Solver:  # noqa: B008 - it is frozen
    """Score, separate, argue, judge."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        source, comments = state.metadata["source"], state.metadata["comments"]
        *scored, kind = await asyncio.gather(
            *(ask(rendered("score", source=source, comment=comment)) for comment in comments),
            ask(rendered("subjectivity", source=source)),
        )
        sides = separate({index: read_score(text) for index, text in enumerate(scored)}, settings.k)
        subjective = read_label(kind, YES_NO["en"]) == "Yes"
        name = "opinion-subjective" if subjective else "opinion-non-subjective"
        shown = ["\n".join(comments[index] for index in side) or "(none)" for side in sides]
        first = [rendered(name, source=source, comments=text) for text in shown]
        said = await asyncio.gather(*(ask(messages) for messages in first))
        for _ in range(settings.rounds):
            said = await asyncio.gather(
                *(
                    ask(
                        [
                            *messages,
                            {"role": "assistant", "content": harmless(own)},
                            *rendered("debate", other=harmless(other)),
                        ]
                    )
                    for messages, own, other in zip(first, said, reversed(said), strict=True)
                )
            )
        p, n = (read_label(text, FAKE_REAL["en"]) for text in said)
        if p != n:
            support, oppose = (harmless(text) for text in said)
            verdict: Any = await ask(rendered("judge", source=source, support=support, oppose=oppose))
            p = read_label(verdict, FAKE_REAL["en"])
        state.output = ModelOutput.from_content("debate", p or "")
        return state

    return solve


def main(threads: list[dict[str, Any]], url: str, log_dir: str) -> None:
    """Evaluate the task once."""
    samples = [Sample(input=thread["source"], target=thread["target"], metadata=thread) for thread in threads]
    config = GenerateConfig(temperature=0.2, max_tokens=512, max_connections=32)
    model = get_model("openai/x", base_url=url, api_key="none", config=config, responses_api=False)
    task = Task(dataset=MemoryDataset(samples), solver=debate(), scorer=match(location="end"))
    (log,) = eval(task, model=model, log_dir=log_dir, display="none", max_samples=32, max_connections=32)
    assert log.status == "success", log.error
    assert log.results and log.results.completed_samples == len(threads)


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text("utf-8")), sys.argv[2], sys.argv[3])
