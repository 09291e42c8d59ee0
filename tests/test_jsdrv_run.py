"""JSDRV from training to scores, through the commands a user types: a local model, an API on loopback, the encoder."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from eval.run import main as judge
from graphs.jsdrv.command import main as train
from tests import tiny_llama
from tests.made_up import ROOT, stub_process, write_corpus

SETTINGS = ["claims=4", "posts=2", "stances=sample", "ablate=PTSD"]  # the bundled stances are 2,106 posts


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Threads whose posts have stances."""
    path = write_corpus(tmp_path / "made_up.jsonl", 12)
    threads = [json.loads(line) for line in path.read_text().splitlines()]
    for thread in threads:
        for post, stance in zip(thread["posts"], "SQCD", strict=True):
            post["stance"] = stance
    path.write_text("".join(json.dumps(thread) + "\n" for thread in threads))
    return path


def scores(corpus: Path, out: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    """What eval.run prints of networks in a folder."""
    command = ["--dataset", f"jsonl:{corpus}", "--split", "all", "--how", f"jsdrv:{out}", "--task", "joint"]
    assert judge([*command, "--seeds", "1", "--db", str(corpus.parent / "run.duckdb"), *more]) == 0
    return capsys.readouterr().out


def trained(out: Path) -> dict[str, Any]:
    about: dict[str, Any] = json.loads((out / "about.json").read_text())
    return about


def test_a_local_model_is_fine_tuned_in_the_loop_and_used(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [post["text"] for line in corpus.read_text().splitlines() for post in json.loads(line)["posts"]]
    texts += [file.read_text() for file in (ROOT / "prompts").glob("*.en.md")]
    # a random model never ends its reasons: with few positions they are short
    shape = {"positions": 720, "vocabulary": 3000, "hidden_size": 32, "num_hidden_layers": 1}
    model = tiny_llama.build(tmp_path / "llama", corpus=texts, **shape)
    out = tmp_path / "networks"
    command = ["--dataset", f"jsonl:{corpus}", "--network", f"hf:{model}", "--out", str(out)]
    assert train([*command, "--set", *SETTINGS, "claims=3", "epochs=3", "lora_epochs=2", "lora_lr=5e-3"]) == 0
    about = trained(out)
    assert about["network"] == f"hf:{model}"
    rows = [json.loads(file.read_text()) for file in sorted(out.glob("training/epoch-*/training.json"))]
    assert len(rows) == 4, "pre-training and three epochs"
    veracity = [loss for row in rows for loss in row["losses"].get("veracity", [])]
    assert len(veracity) >= 4
    assert veracity[-1] < 0.8 * veracity[0], "the loss falls from turn to turn"
    adapters = sorted(path.relative_to(out / "networks").as_posix() for path in out.glob("networks/*/*.safetensors"))
    assert adapters == ["stance/adapter_model.safetensors", "veracity/adapter_model.safetensors"]
    assert not [path for path in out.rglob("*") if path.suffix in (".bin", ".pt", ".pkl")]
    printed = scores(corpus, out, capsys, "--limit", "2")
    assert "macro-F1" in printed and "stances of posts" in printed


def test_an_api_gets_what_was_kept_as_examples(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    rules = [
        {"contains": "Veracity:", "reply": 'Veracity: Unverified, Reason: "nobody knows"'},
        {"reply": 'Stance: Question, Reason: "it asks"'},
    ]
    out = tmp_path / "networks"
    with stub_process(rules) as url:
        command = ["--dataset", f"jsonl:{corpus}", "--network", "openai:stub", "--base-url", url, "--out", str(out)]
        assert train([*command, "--set", *SETTINGS, "epochs=2"]) == 0
        examples = json.loads((out / "networks" / "examples.json").read_text())
        assert {each["label"] for each in examples["veracity"]} >= {"U", "N"}, "the seeds' own labels"
        asked = ["--temperature", "0.5", "--max-tokens", "99", "--price", "1", "2"]
        printed = scores(corpus, out, capsys, "--base-url", url, *asked)
    assert trained(out)["best_epoch"] in (0, 1, 2)
    assert "F1 Q" in printed
    with duckdb.connect(str(tmp_path / "run.duckdb"), read_only=True) as db:
        calls = "SELECT DISTINCT parameters->>'temperature', parameters->>'max_tokens', cost > 0 FROM calls"
        assert db.execute(calls).fetchall() == [("0.5", "99", True)], "the run's options are the networks' too"
        assert db.execute("SELECT endpoint FROM runs").fetchall() == [(url,)]


def test_the_encoder_works_under_any_stop_policy_and_scores_for_a_debate(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    out = tmp_path / "networks"
    command = ["--dataset", f"jsonl:{corpus}", "--out", str(out), "--set", *SETTINGS, "epochs=1"]
    assert train(command) == 0
    assert "first-post" in scores(corpus, out, capsys, "--when", "first-post")
    rumor = scores(corpus, out, capsys, "--task", "stance", "--labels", "rumor/non-rumor", "--when", "posts:2")
    assert "stances of posts" in rumor
    command = ["--dataset", f"jsonl:{corpus}", "--method", "s2mad", "--labels", "rumor/non-rumor", "--seeds", "1"]
    with stub_process([], "--script", "tests.debate_script:reply") as url:
        model = ["--model", "openai:stub", "--base-url", url, "--scorer-model", f"jsdrv:{out}"]
        assert judge([*command, *model, "--db", str(tmp_path / "debate.duckdb")]) == 0
    assert "macro-F1" in capsys.readouterr().out
    with duckdb.connect(str(tmp_path / "debate.duckdb"), read_only=True) as db:
        assert not db.execute("SELECT * FROM calls WHERE role = 'scorer'").fetchall(), "SD scores, and no chat model"
        (debate,) = db.execute("SELECT debate FROM predictions LIMIT 1").fetchone() or ()
    assert set(json.loads(debate)["scores"]), "every comment has a score"
