"""The published methods as assistants of a server: each is `stop_then_detect` with its when and how filled in.

A server makes them when it starts (graphs/server.py), under ids that are always the same, so that a second start finds
those of the first. In Studio they are in the list of assistants, to MCP clients tools, to A2A clients agents.
"""

import uuid
from typing import Any

from graphs.methods import METHODS, Pair, checkpoints, how_of, learns, learns_from_shots

GRAPH = "stop_then_detect"
_IDS = uuid.UUID("6f0e3b52-6a33-5d0e-9d7c-3f6f3c8f7a10")


def assistant_id(name: str) -> str:
    """The id of a method's assistant."""
    return str(uuid.uuid5(_IDS, name))


def described(name: str) -> dict[str, Any]:
    """What a method's assistant is created with: id, name, description, context."""
    pair = METHODS[name]
    when, how = _when(pair), pair.how or "encoder"
    context = {"when": when, "how": how}
    if "labels" in pair.options:
        context["labels"] = pair.options["labels"]
    return {
        "assistant_id": assistant_id(name),
        "name": name,
        "description": _description(pair, when, how),
        "context": context,
    }


async def create(client: Any) -> None:
    """Have every method's assistant on a server as it is described here.

    Args:
        client: Of langgraph_sdk.
    """
    for name in METHODS:
        wanted = described(name)
        found = await client.assistants.create(GRAPH, **wanted, if_exists="do_nothing")
        if any(found[field] != wanted[field] for field in ("name", "description", "context")):
            await client.assistants.update(wanted.pop("assistant_id"), **wanted)


def _when(pair: Pair) -> str:
    """A graph stops once: of several checkpoints the last, which has heard most."""
    return checkpoints(pair.when)[-1]


def _description(pair: Pair, when: str, how: str) -> str:
    told = f"Is the claim of a conversation a rumor? {pair.about[0].upper()}{pair.about[1:]}. When: {when}; how: {how}."
    if others := checkpoints(pair.when)[:-1]:
        told += f" The method also judges at {', '.join(others)}: set when."
    if learns(when) or (learns_from_shots(how) and how != "encoder"):
        told += " Its first use trains it, which takes minutes."
    if how_of(how).asks_model:
        told += " It asks a chat model: set model, or start the server with HEARSAY_MODEL."
    return told
