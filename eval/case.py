"""`python -m eval.case`: a thread of a run as a page to read: stances, kept and discarded posts, and the verdict."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.clean import printable
from corpora.errors import ArgumentParser, UsageError, one_line_errors

if TYPE_CHECKING:
    import duckdb

Row = dict[str, Any]

EPILOG = """\
The page is one HTML file without scripts that loads nothing: it can be mailed, put on a server or printed. The texts of
the posts come from the corpus, which must still be there. Without THREAD a thread is chosen, and the choice is
printed: a rumor judged rightly whose posts take several stances, some of them kept and others discarded.

examples:
  python -m eval.case 3f2a -o case.html
  python -m eval.case 3f2a lantern-07 --seed 2 -o lantern.html
"""
_NO_RUMOR = ("N", "non-rumor")
_LONGEST = 25
"""Posts that one reads to the end."""


def parser() -> ArgumentParser:
    """The command line of `python -m eval.case`."""
    result = ArgumentParser(
        prog="python -m eval.case",
        description="Write a page that shows one thread of a run that annotated stances.",
        epilog=EPILOG,
    )
    add = result.add_argument
    add("run", metavar="RUN", help="id of a run or configuration, or its beginning")
    add("thread", metavar="THREAD", nargs="?", help="id of a thread (default: one that shows much)")
    add(
        "-o", "--out", type=Path, default=Path("case.html"), metavar="FILE.html", help="the page (default: %(default)s)"
    )
    add("--seed", type=int, metavar="N", help="which seed of a configuration (default: its first)")
    add("--db", type=Path, default=Path("hearsay.duckdb"), help="the database (default: %(default)s)")
    add("--data-dir", type=Path, metavar="DIR", help="where the corpus lies, if not where it was at the time")
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    options = parser().parse_args(arguments)
    with one_line_errors():
        from rich.console import Console

        from eval import case_page, read, thread_view
        from eval.database import connect

        console = Console()
        with connect(options.db, read_only=True) as connection:
            run = _run(read.find_runs(connection, options.run), options.seed)
            found = annotated(connection, run)
            if not found:
                raise UsageError(
                    f"run {run['run_id']} has no annotations: its {run['how']} gives no stances "
                    "(jsdrv, single-task and multi-task do)"
                )
            thread_id = options.thread
            if thread_id is None:
                thread_id, why = choose(found)
                console.print(f"thread {printable(thread_id)}: {why}", markup=False, highlight=False, soft_wrap=True)
            view = thread_view.collect(connection, [run], thread_id)
        if not view.annotations:
            raise UsageError(f"thread {thread_id} has no annotations in run {run['run_id']}")
        page = case_page.page(view, thread_view.find(run, options.data_dir, thread_id))
        try:
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(page, "utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {options.out}: {error.strerror or error}") from None
        console.print(f"written to {options.out}", style="dim", markup=False, highlight=False, soft_wrap=True)


def _run(runs: Sequence[Row], seed: int | None) -> Row:
    for run in runs:
        if seed in (None, run["seed"]):
            return run
    there = ", ".join(str(run["seed"]) for run in runs)
    raise UsageError(f"--seed {seed}: there are seeds {there}")


def annotated(connection: "duckdb.DuckDBPyConnection", run: Row) -> list[Row]:
    """The threads of a run whose posts were annotated, with what their verdict and stances are.

    Returns:
        A row a thread at its last checkpoint: thread_id, gold, label, posts, kept, discarded, stances, stances_kept.
    """
    from eval import read
    from eval.results import order

    if not read.has_annotations(connection):
        return []
    query = """
        SELECT thread_id, annotations.checkpoint,
               any_value(predictions.gold) AS gold, any_value(predictions.label) AS label,
               count(*) AS posts, count(*) FILTER (kept) AS kept, count(*) FILTER (NOT kept) AS discarded,
               count(DISTINCT annotations.label) AS stances,
               count(DISTINCT annotations.label) FILTER (kept) AS stances_kept
        FROM annotations JOIN predictions USING (run_id, thread_id)
        WHERE run_id = ? AND annotations.checkpoint IS NOT DISTINCT FROM predictions.checkpoint
        GROUP BY thread_id, annotations.checkpoint"""
    rows = read.rows(connection, query, [run["run_id"]])
    last: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: order(row["checkpoint"])):
        last[row["thread_id"]] = row
    return list(last.values())


def choose(found: Sequence[Row]) -> tuple[str, str]:
    """A thread that shows what a case study is to show, as far as there is one.

    Args:
        found: Rows as `annotated` gives them.

    Returns:
        Its id, and why it.
    """
    wanted: dict[str, Callable[[Row], bool]] = {
        "a rumor": lambda row: row["gold"] not in (None, *_NO_RUMOR),
        "judged rightly": lambda row: bool(row["label"] and row["label"] == row["gold"]),
        "with kept and discarded posts": lambda row: bool(row["kept"] and row["discarded"]),
        "with at least two stances": lambda row: bool(row["stances"] > 1),
    }

    def rank(row: Row) -> tuple[Any, ...]:
        met = sum(holds(row) for holds in wanted.values())
        return -met, row["posts"] > _LONGEST, -row["stances_kept"], -row["stances"], -row["posts"], row["thread_id"]

    best = min(found, key=rank)
    met = [text for text, holds in wanted.items() if holds(best)]
    lacking = [text for text in wanted if text not in met]
    why = ", ".join(met) or "any"
    return best["thread_id"], why + (f"; none is also {', '.join(lacking)}" if lacking else "")


if __name__ == "__main__":
    main()
