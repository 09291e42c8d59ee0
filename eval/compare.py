"""`python -m eval.compare`: two or more runs on the threads that all of a pair have judged."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import ArgumentParser, UsageError, one_line_errors
from eval.published import SAME

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    from rich.console import Console

    from eval.compare_stances import StanceComparison
Run = dict[str, Any]
Row = dict[str, Any]

EPILOG = """\
Each run after the first is compared with the first, on the threads that both have judged, at the checkpoints
that both have (runs with one checkpoint each: at these). Configurations are matched by seed. p of accuracy:
exact McNemar test (over several seeds: exact sign test by thread, which counts for the side that is right on
it in more seeds). p and interval of macro-F1: paired bootstrap over threads; where both have annotated posts, the same
for the macro-F1 of stances, the posts of a thread drawn together. All p values that are printed are adjusted together
(Holm).

examples:
  python -m eval.compare 3f2a 9c41
  python -m eval.compare 3f2a 9c41 77be --db other.duckdb
"""


@dataclass(frozen=True)
class Comparison:
    """One run, or the seeds of one configuration, against another; differences are second minus first."""

    first: str
    second: str
    checkpoint: str
    seeds: int
    """Those of which both have judged a thread."""
    n: int
    """Threads judged by both."""
    accuracy: float
    only_first: int
    """Threads on which only (over several seeds: mostly) the first is right."""
    only_second: int
    accuracy_p: float
    macro_f1: float
    macro_f1_low: float | None
    macro_f1_high: float | None
    macro_f1_p: float


def parser() -> ArgumentParser:
    """The command line of `python -m eval.compare`."""
    result = ArgumentParser(
        prog="python -m eval.compare",
        description="Compare runs or configurations on the same threads.",
        epilog=EPILOG,
    )
    result.add_argument("runs", nargs="+", metavar="RUN", help="id of a run or configuration, or its beginning")
    result.add_argument("--db", type=Path, default=Path("hearsay.duckdb"), help="the database (default: %(default)s)")
    result.add_argument("--json", action="store_true", help="print JSON")
    return result


def compare(
    connection: "duckdb.DuckDBPyConnection", names: Sequence[str], rng: "np.random.Generator"
) -> list[Comparison]:
    """Compare each run after the first with the first.

    Args:
        connection: Open for reading.
        names: Ids of runs or configurations, or their beginnings.
        rng: Where the bootstrap's chance comes from.

    Raises:
        UsageError: a name is unknown, or two runs have no seed, thread, checkpoint or question in common.
    """
    from eval.read import find_runs

    if len(names) < 2:
        raise UsageError("name at least two runs to compare")
    groups = [find_runs(connection, name) for name in names]
    return [
        comparison
        for name, group in zip(names[1:], groups[1:], strict=True)
        for comparison in pair(connection, (names[0], groups[0]), (name, group), rng)
    ]


def pair(
    connection: "duckdb.DuckDBPyConnection",
    first: tuple[str, list[Run]],
    second: tuple[str, list[Run]],
    rng: "np.random.Generator",
) -> list[Comparison]:
    """Compare two sides, each a name and its rows of `runs`, at the checkpoints that both have.

    Raises:
        UsageError: they have no seed, thread, checkpoint or question in common.
    """
    from eval.read import predictions
    from eval.results import label_set_of

    pairs = by_seed(first[1], second[1])
    names = f"{first[0]} and {second[0]}"
    if not pairs:
        raise UsageError(f"{names} have no seed in common")
    sides = [
        [by_checkpoint(run, predictions(connection, run["run_id"])) for run in side]
        for side in zip(*pairs, strict=True)
    ]
    every = [[row for run in side for rows in run.values() for row in rows] for side in sides]
    sets = [label_set_of(pairs[0][index], rows) for index, rows in enumerate(every)]
    if sets[0].name != sets[1].name:
        raise UsageError(f"{names} answer different questions: {sets[0].name} and {sets[1].name}")
    found = []
    for at in common_checkpoints(sides, names):
        rows = [[run.get(name, []) for run in side] for side, name in zip(sides, at, strict=True)]
        label = at[0] if at[0] == at[1] else f"{at[0]} / {at[1]}"
        if comparison := measure(first[0], second[0], label, rows, sets[0].labels, rng):
            found.append(comparison)
    if not found:
        raise UsageError(f"{names} have judged no thread in common")
    return found


def by_seed(first: Sequence[Run], second: Sequence[Run]) -> list[tuple[Run, Run]]:
    """Runs to set against each other: two single ones whatever their seeds, else those with equal seeds."""
    if len(first) == len(second) == 1:
        return [(first[0], second[0])]
    seeds = {run["seed"]: run for run in second}
    return [(run, seeds[run["seed"]]) for run in first if run["seed"] in seeds]


def by_checkpoint(run: Run, rows: Sequence[Row]) -> dict[str, list[Row]]:
    """A run's rows of `predictions` or `annotations` at each of its checkpoints."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        name: str = row["checkpoint"] or run["when"]
        found.setdefault(SAME.get(name, name), []).append(row)
    return found


def common_checkpoints(sides: Sequence[Sequence[dict[str, list[Row]]]], names: str) -> list[tuple[str, str]]:
    """Which checkpoint of the first goes with which of the second."""
    from eval.results import order

    first, second = ({name for run in side for name in run} for side in sides)
    if common := first & second:
        return [(name, name) for name in sorted(common, key=order)]
    if len(first) == len(second) == 1:
        return [(first.pop(), second.pop())]
    both = [", ".join(sorted(side, key=order)) or "none" for side in (first, second)]
    raise UsageError(f"{names} have no checkpoint in common: {both[0]} and {both[1]}; run both with one --when")


def measure(
    first: str,
    second: str,
    checkpoint: str,
    rows: list[list[list[Row]]],
    labels: tuple[str, ...],
    rng: "np.random.Generator",
) -> Comparison | None:
    """Compare the seeds of two sides at one checkpoint; None where no thread is judged by both."""
    from eval import metrics, statistics

    k, sides = len(labels), metrics.common_cells(rows[0], rows[1], labels)
    if not sides.size:
        return None
    if (sides[0] // (k + 1) != sides[1] // (k + 1)).any():
        raise UsageError(f"{first} and {second} have different gold labels for the same threads")
    right = (sides >= 0) & (sides // (k + 1) == sides % (k + 1))
    wins, losses, p = statistics.mcnemar(*right.sum(axis=1).astype(float))
    accuracies = right.sum(axis=2) / (sides >= 0).sum(axis=2)
    difference, low, high, bootstrap_p = statistics.paired_difference(sides[0], sides[1], k, metrics.macro_f1, rng)
    gain = float((accuracies[1] - accuracies[0]).mean())
    return Comparison(
        first,
        second,
        checkpoint,
        sides.shape[1],
        sides.shape[2],
        gain,
        wins,
        losses,
        p,
        difference,
        low,
        high,
        bootstrap_p,
    )


def adjust(found: Sequence[Comparison], stances: Sequence["StanceComparison"]) -> tuple[list[float], list[float]]:
    """All p values of one call, adjusted together (Holm).

    Returns:
        Those of `found`, accuracy's and macro-F1's in turn; and those of `stances`.
    """
    from eval.statistics import holm

    p_values = [p for each in found for p in (each.accuracy_p, each.macro_f1_p)]
    adjusted = holm([*p_values, *(each.p for each in stances)])
    return adjusted[: len(p_values)], adjusted[len(p_values) :]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    options = parser().parse_args(arguments)
    with one_line_errors():
        import numpy as np
        from rich.console import Console

        from eval import compare_stances
        from eval.database import connect

        with connect(options.db, read_only=True) as connection:
            stances = compare_stances.compare(connection, options.runs, np.random.default_rng(0))
            only = compare_stances.nothing_else(connection, options.runs)
            found = [] if only else compare(connection, options.runs, np.random.default_rng(0))
        adjusted, of_stances = adjust(found, stances)
        console = Console()
        if options.json:
            pairs = zip(found, adjusted[::2], adjusted[1::2], strict=True)
            rows = [asdict(each) | {"accuracy_p_holm": a, "macro_f1_p_holm": m} for each, a, m in pairs]
            console.print_json(data=compare_stances.joined(rows, stances, of_stances), ensure_ascii=True)
            return
        if found:
            _show(console, found, adjusted, len(adjusted) + len(stances))
        if stances:
            compare_stances.show(console, stances, of_stances, len(adjusted) + len(stances))
        if not found and not stances:
            raise UsageError(f"{' and '.join(options.runs)} have annotated no post in common")


def _show(console: "Console", found: Sequence[Comparison], adjusted: Sequence[float], tested: int) -> None:
    from rich.text import Text

    from eval.cells import plain_table

    table = plain_table()
    table.add_column("run", overflow="fold")
    table.add_column("read", overflow="fold")
    for head in ("accuracy", "p", "macro-F1", "p"):
        table.add_column(head, justify="right", no_wrap=True)
    for each, accuracy_p, f1_p in zip(found, adjusted[::2], adjusted[1::2], strict=True):
        interval = ""
        if each.macro_f1_low is not None:
            interval = f"[{each.macro_f1_low:+.3f}, {each.macro_f1_high:+.3f}]"
        cells = (
            each.second,
            f"{each.checkpoint}\nn = {each.n}",
            f"{each.accuracy:+.3f}\n{each.only_second} : {each.only_first}",
            f"{each.accuracy_p:.3g}\nHolm {accuracy_p:.3g}",
            f"{each.macro_f1:+.3f}\n{interval}",
            f"{each.macro_f1_p:.3g}\nHolm {f1_p:.3g}",
        )
        table.add_row(*map(Text, cells))
    baseline, seeds = found[0].first, max(each.seeds for each in found)
    means = f", means over {seeds} seeds" if seeds > 1 else ""
    console.print(Text(f"differences to {baseline}{means}", style="bold"))
    console.print(table)
    notes = (
        "n: threads that both have judged",
        f"a : b: threads that only the run has right : that only {baseline} has",
        f"Holm: p adjusted for the {tested} printed",
    )
    console.print(Text("; ".join(notes), style="dim"))


if __name__ == "__main__":
    main()
