"""examples/figures.ipynb, run as Jupyter runs it, on what the studies store."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import nbformat
import pytest
from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient

from eval import debate_studies, jsdrv_studies, studies
from eval.config import RunConfig
from eval.database import SCHEMA, insert_row
from eval.metrics import Estimate
from eval.study_store import store
from eval.study_table import Result

ROOT = Path(__file__).parent.parent
NOTEBOOK = ROOT / "examples" / "figures.ipynb"
MODEL = "openai:gpt-4o-mini"


@pytest.fixture
def notebook() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)


def result(row: studies.Row, place: int, config: str) -> Result:
    """A row of a study as if its runs had been measured."""
    run = {"dataset": "made up for $2", "config_id": config}
    names = (
        "macro_f1",
        "micro_f1",
        "accuracy",
        "early_rate",
        "stance_macro_f1",
        "stance_micro_f1",
        "failed",
        "f1_rumor",
    )
    values = {name: Estimate(name, 0.5 + 0.04 * place, 0.4, 0.9, 40, 0.02) for name in names}
    report = SimpleNamespace(
        runs=[run], values={row.checkpoint: values}, threads={row.checkpoint: [20, 20]}, published={}
    )
    return Result(row, report)  # type: ignore[arg-type]


def fill(db: Path) -> None:
    """Store one study of each paper, its rows those of `eval.study`, and one run."""
    base = RunConfig(db=db, dataset="sample")
    debate = RunConfig(db=db, dataset="sample", how="s2mad", model=MODEL, when="all-posts", split="all")
    joint = RunConfig(db=db, dataset="sample", how="jsdrv", when="all-posts", seeds_share=0.5)
    made = {
        "alpha": (base, studies.alpha(base, (0.2, 0.7, 1.0))),
        "rounds": (debate, debate_studies.rounds(debate)),
        "seeds": (joint, jsdrv_studies.seeds(joint, (0.1, 0.5, 1.0))),
    }
    for name, (config, rows) in made.items():
        store(name, config, [result(row, place, f"{name}-config") for place, row in enumerate(rows)])
    about = {"dataset": "made up for $2", "when": "eard", "how": "encoder", "model": MODEL, "status": "finished"}
    with duckdb.connect(str(db)) as connection:
        insert_row(connection, "runs", about | {"run_id": "r", "config_id": "rounds-config"})
        for name in ("early_rate", "macro_f1"):
            insert_row(connection, "metrics", {"run_id": "r", "name": name, "value": 0.5})
        for number in range(1, 5):
            insert_row(connection, "predictions", {"run_id": "r", "stop_index": number, "n_posts": 5})


def test_it_is_kept_clean_and_needs_nothing_of_ours(notebook: Any) -> None:
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)
    tree = ast.parse("\n".join(cell.source for cell in cells))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names == {"duckdb", "math", "matplotlib.pyplot", "pathlib", "time"}


def test_it_draws_a_figure_of_each_paper(notebook: Any, tmp_path: Path) -> None:
    fill(tmp_path / "hearsay.duckdb")
    kernel = AsyncKernelManager(transport="ipc", ip=str(tmp_path / "kernel"))  # no port is opened
    NotebookClient(
        notebook, kernel, timeout=120, startup_timeout=120, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    pictures = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            assert output.output_type != "stream", output.text  # neither "yet" nor a warning
            if "image/png" in output.get("data", {}):
                pictures[cell.source] = len(output.data["image/png"])
    telling = ('studies("alpha"', 'studies("rounds"', 'studies("seeds"', "ax.scatter", "ax.hist")
    for words, source in zip(telling, pictures, strict=True):
        assert words in "".join(source.split())
    assert min(pictures.values()) > 5_000
    (overview,) = (cell.outputs[0].data["text/plain"] for cell in notebook.cells if "AS made" in cell.source)
    assert overview.count("made up for $2") == 3


@pytest.mark.parametrize("there", ["nothing", "tables"])
def test_without_a_study_it_says_what_makes_it(notebook: Any, tmp_path: Path, there: str) -> None:
    if there == "tables":
        with duckdb.connect(str(tmp_path / "hearsay.duckdb")) as connection:
            connection.execute(SCHEMA)
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    environment = os.environ | {"MPLBACKEND": "agg"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    for study in ("alpha", "rounds", "seeds"):
        assert f"python -m eval.study {study}" in done.stdout
    assert ("is not there yet" if there == "nothing" else "has no study alpha yet") in done.stdout
    assert "python -m eval.run" in done.stdout
    assert (tmp_path / "hearsay.duckdb").exists() == (there == "tables")
