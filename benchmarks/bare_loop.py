"""The peer that does nothing else: 32 workers, one openai client, the same prompts. `bare_loop.py PROMPTS URL`."""

import asyncio
import json
import sys
from pathlib import Path

from openai import AsyncOpenAI


async def main(prompts: list[list[dict[str, str]]], url: str) -> None:
    """Ask every prompt once and count the answers."""
    client = AsyncOpenAI(base_url=url, api_key="none")
    waiting = iter(prompts)
    labels: list[str | None] = []

    async def work() -> None:
        for messages in waiting:
            reply = await client.chat.completions.create(
                model="x",
                messages=messages,  # type: ignore[arg-type]
                temperature=0,
                max_tokens=512,
                logprobs=True,
                top_logprobs=5,
            )
            labels.append(reply.choices[0].message.content)

    await asyncio.gather(*(work() for _ in range(32)))
    assert len(labels) == len(prompts)


if __name__ == "__main__":
    asyncio.run(main(json.loads(Path(sys.argv[1]).read_text("utf-8")), sys.argv[2]))
