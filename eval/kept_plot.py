"""The picture of `eval.kept`: posts laid out by t-SNE, once by what became of them and once by their stance."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from numpy.typing import NDArray

from agents.jsdrv.annotation import STANCES
from eval.kept import Post
from eval.kept_measures import Measures
from eval.plot_parts import BLUE, GREEN, GREY, ORANGE, RED, STYLE, TWO_COLUMNS, new_figure, save
from eval.results import line

Floats = NDArray[np.float64]

_STANCES = {
    "S": (GREEN, "o", "supports"),
    "D": (RED, "s", "denies"),
    "Q": (BLUE, "^", "asks"),
    "C": (GREY, "x", "comments"),
}
"""Stance -> colour, marker and word."""


def layout(vectors: Floats) -> Floats:
    """Places on a plane, near where vectors are near: (n, d) -> (n, 2). The same vectors lie in the same places."""
    from sklearn.manifold import TSNE

    if not np.ptp(vectors, axis=0).any():
        return np.zeros((len(vectors), 2))  # all are one and the same
    perplexity = min(30.0, (len(vectors) - 1) / 3)
    placed = TSNE(perplexity=perplexity, init="pca", random_state=0).fit_transform(vectors)
    return np.asarray(placed, dtype=np.float64)


def draw(title: str, posts: Sequence[Post], places: Floats, measures: Measures, out: Path) -> list[Path]:
    """Draw the posts.

    Args:
        title: What they are.
        posts: The posts.
        places: The same on a plane, (n, 2).
        measures: What tells them apart.
        out: The PNG; an SVG goes beside it.

    Returns:
        Both files.

    Raises:
        UsageError: they cannot be written.
    """
    kept = np.array([post.kept for post in posts])
    labels = np.array([post.annotation.label for post in posts])
    paths = [out, out.with_suffix(".svg")]
    with rc_context(STYLE):
        heading = f"{line(title)}; kept told from discarded with AUC {measures.vectors or '–'}"
        figure, (left, right) = _figure(textwrap.fill(heading, 120))
        looks: dict[str, Any] = {"s": 9, "linewidths": 0.6, "alpha": 0.8}
        groups = ((~kept, GREY, "x", "discarded"), (kept, ORANGE, "o", "kept"))
        for chosen, color, marker, name in groups:
            left.scatter(*places[chosen].T, c=color, marker=marker, label=f"{name} ({chosen.sum():,})", **looks)
        for stance in reversed(STANCES):  # what comments lies below the rest
            color, marker, word = _STANCES[stance]
            chosen = labels == stance
            name = f"{stance} {word} ({chosen.sum():,})"
            right.scatter(*places[chosen].T, c=color, marker=marker, label=name, **looks)
        for ax, name in ((left, "by what the selector did"), (right, "by the stance that SD gave")):
            ax.set(title=name, xticks=[], yticks=[])
            ax.grid(False)
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=2, handletextpad=0.2)
        save(figure, paths)
    return paths


def _figure(heading: str) -> tuple[Figure, list[Any]]:
    return new_figure(heading, TWO_COLUMNS, 3.8, 1, 2)
