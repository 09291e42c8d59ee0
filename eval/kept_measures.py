"""What tells the posts that a selector kept from those it discarded, in numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text

from agents.jsdrv.annotation import STANCES
from eval.cells import plain_table
from eval.kept import Post
from eval.results import clean
from eval.statistics import percentiles

Floats = NDArray[np.float64]

LEAST = 5
"""Posts that can be laid out."""
_FOLDS = 5
_DRAWS = 500


@dataclass(frozen=True)
class Auc:
    """How well kept posts of unseen claims are told from discarded ones: 0.5 not at all, 1 without a mistake."""

    value: float
    low: float | None
    """Of the 95 % bootstrap interval over claims."""
    high: float | None

    def __str__(self) -> str:
        """0.612 [0.580, 0.644]."""
        interval = f" [{self.low:.3f}, {self.high:.3f}]" if self.low is not None else ""
        return f"{self.value:.3f}{interval}"


@dataclass(frozen=True)
class Measures:
    """Of the posts of one epoch."""

    vectors: Auc | None
    """From what the selector sees; None where nearly all posts were kept, or nearly all discarded."""
    stances: Auc | None
    """From the probabilities of the stances alone."""
    probability: tuple[float, float, float] | None
    """5 %, median and 95 % of the probability of being kept; None where the selector was not asked."""


def measure(posts: Sequence[Post], vectors: Floats) -> Measures:
    """Measure an epoch.

    Args:
        posts: Its posts.
        vectors: The same as the selector sees them, (n, dimensions).
    """
    kept = np.array([post.kept for post in posts])
    claims = np.unique([post.claim for post in posts], return_inverse=True)[1]
    said = np.array([_odds(post) for post in posts])
    chances = [post.probability for post in posts if post.probability is not None]
    low, middle, high = np.quantile(chances, (0.05, 0.5, 0.95)) if chances else (0.0, 0.0, 0.0)
    return Measures(
        auc(vectors, kept, claims),
        auc(said, kept, claims),
        (float(low), float(middle), float(high)) if chances else None,
    )


def _odds(post: Post) -> list[float]:
    """The distribution over stances; all of it on the label where there is none."""
    given = post.annotation.probabilities or {str(post.annotation.label): 1.0}
    return [given.get(stance, 0.0) for stance in STANCES]


def auc(features: Floats, kept: NDArray[np.bool_], claims: NDArray[np.int64]) -> Auc | None:
    """The area under the ROC curve of a logistic regression, cross-validated by claims.

    Args:
        features: (n, d).
        kept: (n,) what it tells apart.
        claims: (n,) number of each post's claim: all posts of a claim are in one fold.

    Returns:
        None where there are fewer kept or discarded posts, or claims, than folds.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedGroupKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if min(kept.sum(), (~kept).sum(), len(set(claims))) < _FOLDS:
        return None
    scores = np.full(len(kept), np.nan)
    for learned, tested in StratifiedGroupKFold(_FOLDS, shuffle=True, random_state=0).split(features, kept, claims):
        if len(set(kept[learned])) < 2:
            return None
        model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=1000, class_weight="balanced"))
        scores[tested] = model.fit(features[learned], kept[learned]).decision_function(features[tested])
    return Auc(_area(kept, scores), *_interval(kept, scores, claims))


def _area(kept: NDArray[np.bool_], scores: Floats) -> float:
    """The chance that a kept post scores higher than a discarded one; NaN where there are not both."""
    from scipy.stats import rankdata

    ups = int(kept.sum())
    pairs = ups * (len(kept) - ups)
    return float((rankdata(scores)[kept].sum() - ups * (ups + 1) / 2) / pairs) if pairs else math.nan


def _interval(
    kept: NDArray[np.bool_], scores: Floats, claims: NDArray[np.int64]
) -> tuple[float, float] | tuple[None, None]:
    """Of the area, by drawing claims anew with all their posts."""
    rng, of = np.random.default_rng(0), [np.flatnonzero(claims == claim) for claim in range(claims.max() + 1)]
    values = []
    for _ in range(_DRAWS):
        drawn = np.concatenate([of[claim] for claim in rng.integers(len(of), size=len(of))])
        values.append(_area(kept[drawn], scores[drawn]))
    return percentiles(np.array(values))


def show(title: str, posts: Sequence[Post], measures: Measures, console: Console) -> None:
    """Print what was kept of each stance, and what tells it apart."""
    golden = any(post.gold for post in posts)
    table = plain_table()
    table.add_column("stance")
    for name in ("posts", "kept", "share", *(("right, kept", "right, discarded") if golden else ())):
        table.add_column(name, justify="right", no_wrap=True)
    for stance in (*STANCES, None):
        rows = [post for post in posts if stance in (None, post.annotation.label)]
        kept = [post for post in rows if post.kept]
        cells = [stance or "all", f"{len(rows):,}", f"{len(kept):,}", _share(len(kept), len(rows))]
        for part in (kept, [post for post in rows if not post.kept]) if golden else ():
            known = [post for post in part if post.gold]
            right = sum(post.gold == post.annotation.label for post in known)
            cells.append(f"{_share(right, len(known))} of {len(known):,}")
        table.add_row(*map(Text, cells))
    console.print(Text(clean(title), style="bold"))
    console.print(table)
    console.print()
    lines = [
        f"kept told from discarded, AUC: {measures.vectors or '–'} by what the selector sees, "
        f"{measures.stances or '–'} by the stances alone"
    ]
    if measures.probability:
        low, middle, high = measures.probability
        lines.append(
            f"the selector's probability of keeping a post: median {middle:.3f}, nine tenths in {low:.3f}–{high:.3f}"
        )
    for text in lines:
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    note = f"AUC: logistic regression, {_FOLDS} folds of claims; 0.5 is chance; [95 % bootstrap interval over claims]"
    console.print(Text(note + ("; right: as annotators say" if golden else ""), style="dim"))


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "–"
