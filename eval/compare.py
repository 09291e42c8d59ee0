"""`python -m eval.compare`: two or more runs on the threads that all of a pair have judged."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import ArgumentParser, UsageError, one_line_errors

if TYPE_CHECKING:
    from rich.console import Console

    from eval.comparison import Comparison

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


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    options = parser().parse_args(arguments)
    with one_line_errors():
        import numpy as np
        from rich.console import Console

        from eval import compare_stances, comparison
        from eval.database import connect

        with connect(options.db, read_only=True) as connection:
            stances = compare_stances.compare(connection, options.runs, np.random.default_rng(0))
            only = compare_stances.nothing_else(connection, options.runs)
            found = [] if only else comparison.compare(connection, options.runs, np.random.default_rng(0))
        adjusted, of_stances = comparison.adjust(found, stances)
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


def _show(console: "Console", found: Sequence["Comparison"], adjusted: Sequence[float], tested: int) -> None:
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
