"""S2MAD as a verifier: the nodes of `graphs/debate.py` in the graph's order, for batches, which need no checkpoints.

The graph's own bookkeeping costs some 20 ms of a debate about 40 comments; this a few. A test compares the two.
"""

import operator
from collections.abc import Sequence
from typing import Any, cast

from langgraph.runtime import Runtime

from agents.debate.debate import Debate
from agents.together import together
from agents.verdict import Verdict, Verifier
from corpora.thread import ClaimThread
from graphs.debate import (
    State,
    argue_alone,
    argue_oppose,
    argue_support,
    asks_kind,
    classify_claim,
    conclude,
    judge,
    route_debate,
    route_opening,
    score_comments,
    separate_stances,
)
from graphs.debate_context import make_debate
from graphs.parts import Parts

_NODES = {"argue_support": argue_support, "argue_oppose": argue_oppose, "argue_alone": argue_alone, "judge": judge}
_REDUCERS: dict[str, Any] = dict.fromkeys(("scores", "quotes"), operator.or_)
_REDUCERS |= dict.fromkeys(("turns", "calls"), operator.add)


async def run_nodes(thread: ClaimThread, debate: Debate) -> State:
    """Run the machine's own nodes in the graph's order, for batches, which need no checkpoints (see docs/s2mad.md)."""
    runtime: Runtime[Any] = Runtime(context=debate)
    state: dict[str, Any] = {
        "conversation": thread,
        "scores": {},
        "quotes": {},
        "subjective": None,
        "turns": [],
        "calls": 0,
        "verdict": None,
    }
    now = cast("State", state)

    def take(updates: Sequence[dict[str, Any]]) -> None:
        for update in updates:
            for name, value in update.items():
                state[name] = reducer(state[name], value) if (reducer := _REDUCERS.get(name)) else value

    asked = [score_comments(batch, runtime) for batch in debate.batches(thread)]
    if asks_kind(debate):
        asked.append(classify_claim(now, runtime))
    take(await together(*asked))
    take([await separate_stances(now, runtime)])
    step: list[str] = list(await route_opening(now, runtime))
    while step != ["conclude"]:
        take(await together(*(_NODES[name](now, runtime) for name in step)))
        step = list(await route_debate(now, runtime)) if step == ["argue_support", "argue_oppose"] else ["conclude"]
    take([await conclude(now)])
    return now


def debate_verifier(parts: Parts) -> Verifier:
    """S2MAD as a verifier.

    Raises:
        UsageError: the label set is not binary, a prompt file is not usable, or a scorer has nothing to learn from.
    """
    debate = make_debate(parts)

    async def verify(prefix: ClaimThread) -> Verdict:
        return Verdict(**((await run_nodes(prefix, debate))["verdict"] or {}))

    return verify
