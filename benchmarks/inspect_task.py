"""The peer that evaluates: the same prompts as an inspect_ai task. `inspect_task.py PROMPTS URL LOG_DIR`."""

import json
import sys
from pathlib import Path

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig, get_model
from inspect_ai.scorer import match
from inspect_ai.solver import generate


def main(prompts: list[list[dict[str, str]]], url: str, log_dir: str) -> None:
    """Evaluate the task once."""
    samples = [
        Sample(
            input=[ChatMessageSystem(content=system["content"]), ChatMessageUser(content=user["content"])],
            target="Yes" if "unconfirmed" in user["content"] else "No",
        )
        for system, user in prompts
    ]
    config = GenerateConfig(temperature=0, max_tokens=512, logprobs=True, top_logprobs=5, max_connections=32)
    model = get_model("openai/x", base_url=url, api_key="none", config=config, responses_api=False)
    task = Task(dataset=MemoryDataset(samples), solver=generate(), scorer=match(location="end"))
    (log,) = eval(task, model=model, log_dir=log_dir, display="none", max_samples=32, max_connections=32)
    assert log.status == "success", log.error
    assert log.results and log.results.completed_samples == len(prompts)


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text("utf-8")), sys.argv[2], sys.argv[3])
