"""The pictures of the graphs in docs/graphs.md and README.md: `python -m tests.pictures` draws them again.

docs/graphs.md has them all; a picture of README.md says in its first line which it is, as `%% debate`.
"""

import importlib
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langgraph.graph.state import CompiledStateGraph

ROOT = Path(__file__).parent.parent
PAGE, README = ROOT / "docs" / "graphs.md", ROOT / "README.md"
Edge = tuple[str, str]


@dataclass(frozen=True)
class Words:
    """What a picture says beside the names of nodes."""

    takes: str
    gives: str
    labels: Mapping[Edge, str] = field(default_factory=dict)
    """Edge that a route chooses -> when it does."""
    direction: str = "TD"


WORDS = {
    "stop_then_detect": Words(
        "posts", "verdict",
        {("read_post", "read_post"): "not enough", ("read_post", "verify"): "enough, or the last post"},
        "LR",
    ),
    "debate": Words(
        "posts", "verdict, transcript",
        {
            ("moderate", "judge"): "they differ",
            ("moderate", "conclude"): "they agree, or both abstain",
            ("moderate", "argue_support"): "next round",
            ("moderate", "argue_oppose"): "next round",
            ("separate_stances", "argue_alone"): "without debate",
        },
    ),
    "annotate_select_finetune": Words(
        "few labelled claims", "networks",
        {
            ("select", "review"): "if a person reviews",
            ("review", "conclude"): "stopped",
            ("validate", "annotate"): "next epoch",
            ("validate", "conclude"): "last epoch",
            ("pretrain", "conclude"): "no epochs",
        },
    ),
    "chat": Words(
        "message", "answer",
        {
            ("read_message", "judge_posts"): "posts",
            ("read_message", "answer"): "show post 5, why? again",
            ("read_message", "weigh_posts"): "why? first time",
            ("read_message", "understand"): "no rule reads it",
            ("read_message", "ask_person"): "a person is waited for",
            ("judge_posts", "ask_person"): "unsure",
            ("weigh_posts", "word_answer"): "with a model",
        },
    ),
}  # fmt: skip
"""Graph, as langgraph.json calls it -> its words."""
_HEAD = """\
# The graphs

Every graph that `make serve` offers, as LangGraph itself draws it. A solid arrow is always taken. A dashed one is taken
when a route says so; where several leave a node, some are taken at once (both debaters argue at the same time) and
others exclude each other (the words beside them say when). The names are those of the nodes in a trace.
`python -m tests.pictures` draws this page again.
"""
_PICTURE = re.compile(r"```mermaid\n%% (\w+)\n.*?```", re.S)
_WIDTH = 120


def graphs() -> dict[str, CompiledStateGraph[Any, Any, Any, Any]]:
    """All graphs of langgraph.json by name."""
    found = {}
    for name, entry in json.loads((ROOT / "langgraph.json").read_text("utf-8"))["graphs"].items():
        path, _, variable = entry["path"].partition(":")
        module = importlib.import_module(path.removeprefix("./").removesuffix(".py").replace("/", "."))
        found[name] = getattr(module, variable)
    return found


def draw(graph: CompiledStateGraph[Any, Any, Any, Any], words: Words) -> str:
    """A graph as Mermaid that reads well on a light page and on a dark one: LangGraph's own drawing sets pale colours.

    Raises:
        KeyError: the words are of an edge that no route takes.
    """
    drawn, unused = graph.get_graph(), dict(words.labels)
    order, bare = list(drawn.nodes), {"__start__": f"takes([{words.takes}])", "__end__": f"gives([{words.gives}])"}
    targets: dict[tuple[str, str], list[str]] = {}  # source, arrow -> where to
    for edge in sorted(drawn.edges, key=lambda edge: (order.index(edge.source), order.index(edge.target))):
        label = unused.pop((edge.source, edge.target), "") if edge.conditional else ""
        arrow = ("-.->" if edge.conditional else "-->") + (f'|"{label}"|' if label else "")
        targets.setdefault((edge.source, arrow), []).append(edge.target)
    if unused:
        raise KeyError(f"{graph.name}: no route leads along {', '.join(map(' to '.join, unused))}")
    sources: dict[tuple[str, str], list[str]] = {}  # arrow, targets -> where from
    for (source, arrow), where in targets.items():
        text = " & ".join(bare.get(each, each) for each in where)
        sources.setdefault((arrow, text), []).append(bare.get(source, source))
    lines = [f"    {' & '.join(each)} {arrow} {text}" for (arrow, text), each in sources.items()]
    return "\n".join([f"flowchart {words.direction}", *lines])


def nodes(graph: CompiledStateGraph[Any, Any, Any, Any]) -> dict[str, str]:
    """Node -> what it does, in its own words."""
    found = {}
    for name, node in graph.builder.nodes.items():
        function: Any = node.runnable
        function = getattr(function, "func", None) or getattr(function, "afunc", None) or function
        found[name] = " ".join((function.__doc__ or "").partition("\n\n")[0].split())
    return found


def page(pictures: Mapping[str, str]) -> str:
    """The text of docs/graphs.md."""
    parts = [_HEAD]
    for name, graph in graphs().items():
        path = Path(f"graphs/{name}.py")
        docstring = (sys.modules[f"graphs.{name}"].__doc__ or "").partition("\n\n")[0]
        parts.append(f"## {name}\n\n{' '.join(docstring.split())} [`{path}`](../{path})\n")
        parts.append(f"```mermaid\n{pictures[name]}\n```\n")
        table = "\n".join(f"| `{node}` | {about} |" for node, about in nodes(graph).items())
        parts.append(f"| node | |\n|---|---|\n{table}\n")
    return "\n".join(parts)


def with_pictures(text: str, pictures: Mapping[str, str]) -> str:
    """A page with the pictures that it names as they are now."""
    return _PICTURE.sub(lambda found: f"```mermaid\n%% {found[1]}\n{_dense(pictures[found[1]])}\n```", text)


def _dense(picture: str) -> str:
    """The same picture in fewer lines: a front page is read, and its source should be short."""
    lines = [""]
    for statement in map(str.strip, picture.splitlines()):
        joined = f"{lines[-1]}; {statement}" if lines[-1] else statement
        lines[-1:] = [joined] if len(joined) <= _WIDTH else [lines[-1], statement]
    return "\n".join(lines)


def pages() -> dict[Path, str]:
    """File -> what it is to hold."""
    pictures = {name: draw(graph, WORDS[name]) for name, graph in graphs().items()}
    return {PAGE: page(pictures), README: with_pictures(README.read_text("utf-8"), pictures)}


if __name__ == "__main__":
    for file, content in pages().items():
        file.write_text(content, "utf-8")
