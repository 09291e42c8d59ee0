"""How a study's rows are stored, in the table `studies`."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from eval.config import RunConfig, identity
from eval.database import SCHEMA, check_tables, connect, errors, insert_row
from eval.provenance import address
from eval.studies import Row
from eval.study_table import Result


def base_id(study: str, dataset: str, seeds: int, rows: Sequence[Row]) -> str:
    """A short name for a study with all its options: one that is made again has the same.

    Args:
        study: Its name.
        dataset: What is tested.
        seeds: Seeds of each row.
        rows: What is set side by side.
    """
    runs = [[identity(row.config), row.checkpoint] for row in rows]
    return address({"study": study, "dataset": dataset, "seeds": seeds, "rows": runs})


def store(study: str, base: RunConfig, results: Sequence[Result]) -> None:
    """Write the rows to table `studies`, in place of those of the same study with the same options.

    Raises:
        UsageError: the file cannot be written.
    """
    dataset = results[0].report.runs[0]["dataset"]
    name = base_id(study, dataset, base.seeds, [result.row for result in results])
    common = {"study": study, "base_id": name, "dataset": dataset, "created": datetime.now(UTC)}
    path: Path = base.db
    with errors(path), connect(path) as connection:
        connection.execute(SCHEMA)  # a database made by an earlier version gets the table now
        check_tables(connection, path)
        connection.begin()
        connection.execute("DELETE FROM studies WHERE study = ? AND base_id = ?", [study, name])
        for position, result in enumerate(results, 1):
            insert_row(connection, "studies", common | {"position": position} | _stored(result))
        connection.commit()


def _stored(result: Result) -> dict[str, Any]:
    def part(name: str, what: str = "value") -> float | None:
        value = result.number(name, what)
        return None if math.isnan(value) else value

    row = result.row
    found: dict[str, Any] = {"row": row.label, "system": row.system, "x": row.x, "checkpoint": row.checkpoint}
    found |= {"config_id": result.report.runs[0]["config_id"], "seeds": len(result.threads)}
    found["n"] = result.values["failed"].n if result.values else 0
    for name in ("macro_f1", "accuracy", "early_rate", "stance_macro_f1"):
        found |= {name: part(name)} | {f"{name}_{what}": part(name, what) for what in ("std", "low", "high")}
    for name in ("micro_f1", "stance_micro_f1"):
        found |= {name: part(name), f"{name}_std": part(name, "std")}
    for of, prefix in (("f1", "f1_"), ("stance_f1", "stance_f1_")):
        values = {
            name.removeprefix(prefix): each.value for name, each in result.values.items() if name.startswith(prefix)
        }
        found[of] = values or (None if of == "stance_f1" else {})
    return found | {name: part(name) for name in ("abstained", "failed", "calls_per_thread", "tokens_per_thread")}
