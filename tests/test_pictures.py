"""The pictures of the graphs are of the graphs as they are."""

import re

import pytest

from tests.pictures import README, ROOT, WORDS, Words, draw, graphs, pages, with_pictures


def test_every_graph_has_its_picture() -> None:
    for file, content in pages().items():
        name = file.relative_to(ROOT)
        assert file.read_text("utf-8") == content, f"{name} shows graphs as they were: run python -m tests.pictures"


def edges(picture: str) -> list[tuple[str, str, bool]]:
    """Source, target and whether it is dashed, of every arrow of a picture."""
    found = []
    for line in picture.splitlines()[1:]:
        match = re.fullmatch(r' +(.+?) (-\.->|-->)(?:\|".*"\|)? (.+)', line)
        assert match, line
        ends = [[end.partition("(")[0] for end in side.split(" & ")] for side in (match[1], match[3])]
        found += [(source, target, match[2] == "-.->") for source in ends[0] for target in ends[1]]
    return found


def test_a_picture_has_every_arrow_once() -> None:
    names = {"__start__": "takes", "__end__": "gives"}
    for name, graph in graphs().items():
        wanted = [
            (names.get(edge.source, edge.source), names.get(edge.target, edge.target), edge.conditional)
            for edge in graph.get_graph().edges
        ]
        assert sorted(edges(draw(graph, WORDS[name]))) == sorted(wanted)


def test_words_of_an_edge_that_is_gone_are_a_mistake() -> None:
    graph = graphs()["stop_then_detect"]
    with pytest.raises(KeyError, match="no route leads along admit to verify"):
        draw(graph, Words("posts", "verdict", {("admit", "verify"): "never"}))


def test_a_page_gets_the_pictures_that_it_names_in_few_lines() -> None:
    text = "a\n```mermaid\n%% debate\nold\n```\nb\n```mermaid\nanother\n```\n"
    picture = "flowchart LR\n    a --> b\n" + "    c --> d\n" * 12
    new = with_pictures(text, {"debate": picture.rstrip()})
    assert "old" not in new and "\nb\n```mermaid\nanother\n```\n" in new
    assert new.startswith("a\n```mermaid\n%% debate\nflowchart LR; a --> b; c --> d; ") and new.count("c --> d") == 12
    assert max(map(len, new.splitlines())) <= 120
    assert with_pictures(new, {"debate": picture.rstrip()}) == new


def test_the_front_page_pictures_every_graph() -> None:
    shown = re.findall(r"^%% (\w+)$", README.read_text("utf-8"), re.M)
    assert sorted(shown) == sorted(graphs())
