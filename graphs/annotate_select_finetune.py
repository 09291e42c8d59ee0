"""JSDRV's training: annotate claims and posts, select what is worth learning, fine-tune on it, and again.

Paper: "Reinforcement Tuning for Detecting Stances and Debunking Rumors Jointly with Large Language Models" (ACL 2024),
section 4.4. The nodes call training/jsdrv/; weights and annotations lie in files, the state holds counters, scores and
ids. A node whose files are there does not do its work again, so a run that was killed repeats at most the step it was
in. With `review` a person sees what was kept before it is learned, and may veto it. The number of epochs bounds the
loop.
"""

import sys

if __name__ == "__main__":  # before LangGraph is imported, which takes a second that --help need not wait for
    from graphs.jsdrv.command import main

    sys.exit(main())

from typing import Any, Literal

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from graphs.checked import parse
from graphs.jsdrv.context import TrainingContext, cycle_of, held
from graphs.jsdrv.review import REVIEW, payload, read_answer
from training.jsdrv import annotating, learning, selecting, validating


class Input(BaseModel):
    """When to end."""

    epochs: int | None = Field(default=None, description="End after so many epochs, if the settings allow more", ge=0)


class Given(TypedDict, total=False):
    """The same, before it was looked at."""

    epochs: Any


class State(TypedDict):
    """What the nodes share; plain values only, so that any checkpointer can hold it."""

    epoch: int
    """The epoch under way; 0 is pre-training."""
    limit: int
    """The last epoch."""
    streak: int
    """Selections in a row that were rewarded."""
    drawn: dict[str, list[str]]
    """Id of a claim -> ids of its posts, as annotated in this epoch."""
    kept: dict[str, list[str]]
    """Those of them that the selector retained."""
    vetoed: list[str]
    """Claims, and posts as "claim/post", that a person does not want learned in this epoch."""
    scores: list[dict[str, Any]]
    """A row per epoch that was validated."""
    ended: str | None
    """Why no further epoch begins."""
    best_epoch: int | None


class Output(BaseModel):
    """What came of the training."""

    best_epoch: int = Field(description="The epoch whose networks were kept; 0 is pre-training")
    ended: str = Field(description="Why the training ended")
    scores: list[dict[str, Any]] = Field(description="A row per epoch: claims, posts, rewards, losses, validation")


def pretrain(state: Given, runtime: Runtime[TrainingContext]) -> dict[str, Any]:
    """Teach SD from stance corpora and RV from the seeds."""
    given = parse(Input, state)
    fresh = {"epoch": 0, "streak": 0, "drawn": {}, "kept": {}, "vetoed": [], "ended": None, "best_epoch": None}
    with held(runtime.context) as cycle:
        if cycle.finished:  # there is nothing to add to what was concluded
            about = validating.read_about(cycle.out)
            return fresh | {"limit": 0, "scores": about["epochs"], "ended": about["ended"]}
        learning.pretrain(cycle)
        most = cycle.settings.epochs
        limit = most if given.epochs is None else min(most, given.epochs)
        return fresh | {"limit": limit, "scores": [validating.validate(cycle, 0)]}


def annotate(state: State, runtime: Runtime[TrainingContext]) -> dict[str, Any]:
    """Draw claims and posts, and have both networks annotate them."""
    epoch = state["epoch"] + 1
    with held(runtime.context) as cycle:
        rows = annotating.annotate(cycle, epoch)
    drawn = {row["id"]: [post["id"] for post in row["posts"]] for row in rows}
    return {"epoch": epoch, "drawn": drawn, "kept": {}, "vetoed": []}


def select(state: State, runtime: Runtime[TrainingContext]) -> dict[str, Any]:
    """Decide what is kept, and teach the selector by what RV makes of it."""
    with held(runtime.context) as cycle:
        found = selecting.select(cycle, state["epoch"], state["streak"])
    kept = {row["id"]: [post["id"] for post in row["posts"] if post["kept"]] for row in found["claims"] if row["kept"]}
    ended = f"{cycle.settings.kappa} selections in a row were rewarded" if found["ended"] else None
    return {"kept": kept, "streak": found["streak"], "ended": ended}


def route_review(_: State, runtime: Runtime[TrainingContext]) -> Literal["review", "fine_tune"]:
    """Show what was kept, if anybody wants to see it."""
    return "review" if cycle_of(runtime.context).review else "fine_tune"


def review(state: State, runtime: Runtime[TrainingContext]) -> dict[str, Any]:
    """Wait for a person, who may veto posts and claims or stop the training."""
    cycle, epoch, problem = cycle_of(runtime.context), state["epoch"], None
    # What was answered is kept beside what was learned by it, and stands when the checkpoints are gone.
    answered = cycle.read(epoch, REVIEW)
    while answered is None:
        shown = payload(cycle, epoch, problem)
        answer = interrupt(shown)
        vetoed, stop, problem = read_answer(answer, shown)
        if problem is None:
            answered = cycle.write(epoch, REVIEW, {"vetoed": vetoed, "stop": stop})
    if answered["stop"]:
        return {"ended": "stopped by the reviewer", "kept": {}}
    return {"vetoed": answered["vetoed"]}


def route_learning(state: State) -> Literal["fine_tune", "conclude"]:
    """Learn from what is left, unless the person has stopped the training."""
    return "conclude" if state["ended"] == "stopped by the reviewer" else "fine_tune"


def fine_tune(state: State, runtime: Runtime[TrainingContext]) -> dict[str, Any]:
    """Teach both networks what was kept."""
    with held(runtime.context) as cycle:
        learning.fine_tune(cycle, state["epoch"], state["vetoed"])
    return {}


def validate(state: State, runtime: Runtime[TrainingContext]) -> dict[str, Any]:
    """Judge the claims that were held out."""
    with held(runtime.context) as cycle:
        row = validating.validate(cycle, state["epoch"])
    ended = state["ended"] or (f"{state['limit']} epochs" if state["epoch"] >= state["limit"] else None)
    return {"scores": [*state["scores"], row], "ended": ended}


def route_epoch(state: State) -> Literal["annotate", "conclude"]:
    """Begin another epoch, or conclude."""
    return "conclude" if state["ended"] or state["epoch"] >= state["limit"] else "annotate"


def conclude(state: State, runtime: Runtime[TrainingContext]) -> dict[str, Any]:
    """Keep the networks and the selector of the best epoch."""
    with held(runtime.context) as cycle:
        about = validating.conclude(cycle, state["scores"][-1]["epoch"], state["ended"] or "0 epochs")
    return {"best_epoch": about["best_epoch"], "ended": about["ended"]}


builder = StateGraph(State, context_schema=TrainingContext, input_schema=Input, output_schema=Output)
builder.add_node("pretrain", pretrain)
builder.add_node("annotate", annotate)
builder.add_node("select", select)
builder.add_node("review", review)
builder.add_node("fine_tune", fine_tune)
builder.add_node("validate", validate)
builder.add_node("conclude", conclude)
builder.add_edge(START, "pretrain")
builder.add_conditional_edges("pretrain", route_epoch)
builder.add_edge("annotate", "select")
builder.add_conditional_edges("select", route_review)
builder.add_conditional_edges("review", route_learning)
builder.add_edge("fine_tune", "validate")
builder.add_conditional_edges("validate", route_epoch)
builder.add_edge("conclude", END)

graph = builder.compile(name="annotate, select, fine-tune")
