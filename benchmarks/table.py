"""What the benchmarks share: one line of their table, and the command they time."""

import sys
from typing import NamedTuple

EVAL_RUN = [
    sys.executable, "-m", "eval.run", "--how", "direct", "--when", "all-posts", "--split", "all", "--seeds", "1",
]  # fmt: skip


class Row(NamedTuple):
    """What was measured, what came out, and what we aim at."""

    what: str
    result: str
    goal: str
