"""The house rules: who may import whom, and what the project must not contain."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FLOORS = ["prompts", "corpora", "agents", "training", "graphs", "eval"]
MAY_IMPORT = {
    "prompts": set(),
    "corpora": set(),
    "agents": {"prompts", "corpora"},
    "training": {"prompts", "corpora", "agents"},
    "graphs": {"prompts", "corpora", "agents", "training"},
    "eval": {"prompts", "corpora", "agents", "training", "graphs"},
}


def imported(path: Path) -> set[str]:
    """Top-level names of all modules a file imports, inside functions too."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add((node.module or "").split(".")[0])
    return names


@pytest.mark.parametrize("floor", FLOORS)
def test_a_folder_imports_only_from_those_above_it(floor: str) -> None:
    files = list((ROOT / floor).rglob("*.py"))
    assert files
    for path in files:
        ours = imported(path) & set(FLOORS) - {floor}
        assert ours <= MAY_IMPORT[floor], f"{path.relative_to(ROOT)} imports {ours - MAY_IMPORT[floor]}"
        assert not imported(path) & {"tests", "benchmarks"}, f"{path.relative_to(ROOT)} imports tests"


def test_nothing_evaluates_executes_or_unpickles() -> None:
    for floor in FLOORS:
        for path in (ROOT / floor).rglob("*.py"):
            source = path.read_text("utf-8")
            calls = {
                node.func.id
                for node in ast.walk(ast.parse(source))
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            }
            assert not calls & {"eval", "exec"}, path
            assert not imported(path) & {"pickle", "dill", "cloudpickle"}, path
            assert "trust_remote_code=True" not in source, path


def test_every_package_is_listed_for_installation() -> None:
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["packages"])
    there = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for floor in FLOORS
        for path in (ROOT / floor).rglob("__init__.py")
    }
    assert listed == there


def test_every_graph_that_studio_is_told_of_is_there() -> None:
    for name, entry in json.loads((ROOT / "langgraph.json").read_text("utf-8"))["graphs"].items():
        path, _, variable = entry["path"].partition(":")
        assert re.search(rf"^{variable} = ", (ROOT / path).read_text("utf-8"), re.M), name
        assert entry["description"].endswith(".")


def test_torch_is_pinned_and_every_dependency_has_a_version() -> None:
    pins = dict(
        line.split("==")
        for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()
        if line and line[0] != "#"
    )
    assert pins["torch"] == "2.13.0"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = project["dependencies"] + [name for extra in project["optional-dependencies"].values() for name in extra]
    normal = {re.sub(r"[-_.]+", "-", name).lower() for name in pins}
    for requirement in wanted:
        name = re.match(r"[A-Za-z0-9_.-]+", requirement)
        assert name
        assert re.sub(r"[-_.]+", "-", name[0]).lower() in normal, requirement


@pytest.mark.parametrize(
    "module",
    [
        "eval.run",
        "eval.ls",
        "eval.show",
        "eval.compare",
        "eval.study",
        "eval.attacks",
        "eval.case",
        "eval.report",
        "graphs.watch",
        "eval.kept",
        "eval.export",
        "corpora",
        "graphs.annotate_select_finetune",
    ],
)
def test_help_has_examples_and_loads_nothing_heavy(module: str) -> None:
    code = (
        "import runpy, sys\n"
        "sys.argv = ['x', '--help']\n"
        f"try: runpy.run_module('{module}', run_name='__main__', alter_sys=True)\n"
        "except SystemExit: pass\n"
        "print('MODULES', *sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    text, _, modules = printed.rpartition("MODULES")
    assert f"python -m {module}" in text
    assert "examples" in text.lower()
    assert not {"torch", "duckdb", "langgraph", "sklearn", "numpy", "openai", "matplotlib"} & set(modules.split())


def test_readme_is_short_and_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.splitlines()) <= 150
    assert "make run" in text
    assert "make test" in text
