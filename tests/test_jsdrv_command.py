"""JSDRV's training as a command, and as a graph that Studio runs."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

import pytest

import agents.encoder
import graphs.jsdrv.context
from graphs.annotate_select_finetune import graph
from graphs.jsdrv.command import main
from graphs.jsdrv.context import TrainingContext, cycle_of
from graphs.jsdrv.training import check
from tests.jsdrv_fake import Fake, embed
from tests.made_up import ROOT, write_corpus


@pytest.fixture
def fake_networks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The command with networks and vectors that cost no time; returns a corpus."""

    class Vectors:
        name = "vectors"

        def __init__(self, **_: Any) -> None: ...

        def __call__(self, texts: list[str]) -> Any:
            return embed(texts)

    monkeypatch.setattr(agents.encoder, "Encoder", Vectors)
    monkeypatch.setattr(graphs.jsdrv.context, "opener", lambda kind, **_: Fake)
    return write_corpus(tmp_path / "made_up.jsonl", 40)


def test_the_command_trains_shows_and_says_how_to_go_on(
    fake_networks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    command = ["--dataset", f"jsonl:{fake_networks}", "--out", str(out), "--set", "epochs=2", "claims=6", "posts=2"]
    command += ["stances=sample"]
    assert main(command) == 0
    printed = capsys.readouterr()
    assert "18 seeds, 2 claims held out for validation, 20 without a label" in printed.err
    assert "epoch 2; kept" in printed.err and "validation macro-F1" in printed.err
    assert f"python -m eval.run --dataset CORPUS --split all --task joint --how jsdrv:{out}" in printed.out
    assert printed.out.count(" 0.500") >= 2, "the losses of both networks"
    about = check(out)
    assert about["network"] == "encoder" and about["seeds_share"] == 0.5
    assert sum(map(len, (about["seeds"], about["validation"]))) == 20
    assert main(command) == 0
    assert "nothing to do" in capsys.readouterr().err
    with pytest.raises(SystemExit) as error:
        main([*command, "--seed", "3"])
    assert error.value.code == 2
    assert "other settings (labelled, seed, unlabelled)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--dataset", "sample"], "--out"),
        (["--dataset", "sample", "--out", "x", "--set", "epoch=3"], "want NAME=VALUE with a name of"),
        (["--dataset", "sample", "--out", "x", "--set", "ablate=XX"], "want RSS or"),
        (["--dataset", "sample", "--out", "x", "--network", "bert"], "there are no networks bert"),
        (["--dataset", "sample", "--out", "x", "--seeds-share", "1.5"], "--seeds-share 1.5"),
        (["--dataset", "sample", "--out", "x", "--seed", "-1"], "--seed -1"),
        (["--dataset", "nowhere", "--out", "x"], "nowhere"),
        (["--dataset", "sample", "--out", "x", "--exclude-overlap", "sample"], "0 claims with a veracity"),
        (["--dataset", "sample", "--out", __file__], "--out"),
        (["--dataset", "sample", "--out", "x", "--review"], "--review asks a person"),
    ],
)
def test_a_mistake_is_one_line(
    options: list[str], told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(SystemExit) as error:
        main(options)
    assert error.value.code == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error")]
    assert told in line
    assert not (tmp_path / "x").exists()


def test_help_has_examples_and_loads_nothing_heavy() -> None:
    code = (
        "import runpy, sys\nsys.argv = ['x', '--help']\n"
        "try: runpy.run_module('graphs.annotate_select_finetune', run_name='__main__', alter_sys=True)\n"
        "except SystemExit: pass\nprint('MODULES', *sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    text, _, modules = printed.rpartition("MODULES")
    assert "examples:" in text and "ablate" in text
    assert not {"torch", "langgraph", "numpy", "sklearn"} & set(modules.split())


def test_studio_sees_the_cycle_and_runs_it_from_a_description(fake_networks: Path, tmp_path: Path) -> None:
    drawn = graph.get_graph()
    edges = {(edge.source, edge.target) for edge in drawn.edges}
    assert {
        *(("pretrain", "annotate"), ("annotate", "select"), ("select", "review"), ("select", "fine_tune")),
        *(("review", "fine_tune"), ("review", "conclude"), ("fine_tune", "validate"), ("validate", "annotate")),
    } <= edges
    assert graph.checkpointer is None
    described = TrainingContext(
        dataset=f"jsonl:{fake_networks}", settings="epochs=3 claims=5 posts=2 stances=sample", out=str(tmp_path / "out")
    )
    found = graph.invoke({"epochs": 1}, context=described)
    assert found["ended"] == "1 epochs" and [row["epoch"] for row in found["scores"]] == [0, 1]
    assert cycle_of(described) is cycle_of(TrainingContext(**vars(described)))
