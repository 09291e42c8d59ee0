"""The Pareto frontier of macro-F1 against ER."""

import math
from collections.abc import Sequence

Point = tuple[float, float]
"""ER and macro-F1; NaN where one is undefined."""


def dominates(one: Point, other: Point) -> bool:
    """Whether one is at least as early and as good as the other, and in one of the two better."""
    return one[0] <= other[0] and one[1] >= other[1] and one != other


def frontier(points: Sequence[Point]) -> list[int]:
    """Indices of the points that no point dominates, by ER; equal points are on it together."""
    defined = [index for index, point in enumerate(points) if not any(map(math.isnan, point))]
    kept = [i for i in defined if not any(dominates(points[j], points[i]) for j in defined)]
    return sorted(kept, key=lambda index: points[index])
