"""`python -m eval.ls`: what a database holds, one row a configuration."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import ArgumentParser, one_line_errors

if TYPE_CHECKING:
    import duckdb
    from rich.table import Table


def parser() -> ArgumentParser:
    """The command line of `python -m eval.ls`."""
    result = ArgumentParser(
        prog="python -m eval.ls",
        description="List the configurations in a database, newest first, with results over finished seeds.",
        epilog="examples:\n  python -m eval.ls\n  python -m eval.ls --db other.duckdb --dataset pheme",
    )
    result.add_argument("--db", type=Path, default=Path("hearsay.duckdb"), help="the database (default: %(default)s)")
    result.add_argument("--dataset", help="only this corpus")
    result.add_argument("--json", action="store_true", help="print JSON")
    return result


def configurations(connection: "duckdb.DuckDBPyConnection", db: Path) -> list[dict[str, Any]]:
    """What is known of each configuration, the newest first.

    Returns:
        One dict a configuration: its columns of `runs`, `seeds` (finished, begun), `status`, `started`, and
        `results`: checkpoint -> metric -> mean over the finished seeds.
    """
    from eval.journal import is_held
    from eval.read import rows
    from eval.results import debate_options, judged, order

    measured: dict[str, dict[str | None, dict[str, float]]] = {}
    query = """SELECT config_id, checkpoint, name, avg(value) AS value FROM metrics JOIN runs USING (run_id)
               WHERE name IN ('macro_f1', 'early_rate') AND status = 'finished' GROUP BY ALL"""
    for row in rows(connection, query):
        measured.setdefault(row["config_id"], {}).setdefault(row["checkpoint"], {})[row["name"]] = row["value"]
    found: dict[str, dict[str, Any]] = {}
    for run in rows(connection, "SELECT * EXCLUDE (prompts, packages) FROM runs ORDER BY started DESC, seed"):
        names = ("config_id", "dataset", "split", "when", "how", "model")
        entry_of = {name: run[name] for name in names} | {"judged": judged(run), "statuses": []}
        entry_of["how"] = ", ".join([run["how"], *debate_options(run).values()])
        entry = found.setdefault(run["config_id"], entry_of)
        entry["started"] = run["started"].isoformat(sep=" ", timespec="minutes")
        status = run["status"]
        entry["statuses"].append("killed" if status == "running" and not is_held(db, run["run_id"]) else status)
    for config_id, entry in found.items():
        statuses = entry.pop("statuses")
        entry["seeds"] = (statuses.count("finished"), len(statuses))
        entry["status"] = next(
            (each for each in ("running", "failed", "interrupted", "killed") if each in statuses), "finished"
        )
        results = measured.get(config_id, {})
        entry["results"] = {checkpoint: results[checkpoint] for checkpoint in sorted(results, key=order)}
    return list(found.values())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    options = parser().parse_args(arguments)
    with one_line_errors():
        from rich.console import Console
        from rich.text import Text

        from eval.database import connect

        with connect(options.db, read_only=True) as connection:
            found = configurations(connection, options.db)
        found = [entry for entry in found if options.dataset in (None, entry["dataset"])]
        console = Console()
        if options.json:
            console.print_json(data=found, ensure_ascii=True)
        elif found:
            console.print(_table(found))
        else:
            console.print(Text(f"no runs in {options.db}" + (f" on {options.dataset}" if options.dataset else "")))


def _table(found: Sequence[dict[str, Any]]) -> "Table":
    """Cells of several lines, so that a row fits a narrow terminal."""
    from rich.text import Text

    from eval.cells import plain_table
    from eval.results import clean

    table = plain_table(leading=1)
    table.add_column("id", no_wrap=True)
    table.add_column("dataset, how, model", overflow="fold")
    table.add_column("when", overflow="fold")
    table.add_column("macro-F1", justify="right", no_wrap=True)
    table.add_column("ER", justify="right", no_wrap=True)
    table.add_column("seeds finished, started (UTC)", overflow="fold", max_width=16)
    for entry in found:
        results = entry["results"]
        figures = [
            "\n".join("–" if values.get(name) is None else f"{values[name]:.3f}" for values in results.values())
            for name in ("macro_f1", "early_rate")
        ]
        cells = (
            entry["config_id"],
            f"{entry['judged']}\n{entry['how']}, {entry['model']}",
            "\n".join(checkpoint or entry["when"] for checkpoint in results) or entry["when"],
            *figures,
            "{} of {}, {}\n{}".format(*entry["seeds"], entry["status"], entry["started"]),
        )
        table.add_row(*(Text(clean(cell)) for cell in cells))
    return table


if __name__ == "__main__":
    main()
