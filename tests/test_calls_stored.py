"""What a call asked and got, through the whole command: in DuckDB, in eval.show, and in a later run."""

from pathlib import Path

import duckdb
import pytest

from eval import run, show
from eval.read import fetch_calls
from tests.made_up import RULES, asked, own_cache, stub_process, write_corpus


def test_calls_are_stored_as_json_and_served_to_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    own_cache(tmp_path, monkeypatch)
    corpus = f"jsonl:{write_corpus(tmp_path / 'made-up.jsonl', 6)}"
    with stub_process(RULES) as url:
        command = ["--dataset", corpus, "--how", "direct", "--when", "all-posts", "--split", "all", "--seeds", "1"]
        command += ["--model", "openai:x", "--base-url", url]
        assert run.main(command) == 0 and asked(url)["count"] == 6
        assert run.main([*command, "--fresh"]) == 0 and asked(url)["count"] == 6
    with duckdb.connect("hearsay.duckdb", read_only=True) as connection:
        kinds = "json_type(request), json_type(reply), json_type(parameters)"
        query = f"SELECT cached, {kinds}, count(*) FROM calls GROUP BY ALL ORDER BY cached"
        assert connection.execute(query).fetchall() == [
            (False, "ARRAY", "OBJECT", "OBJECT", 6),
            (True, None, None, "OBJECT", 6),
        ]
        query = "SELECT key, json_extract_string(reply, '$.text') FROM calls WHERE NOT cached"
        texts = dict(connection.execute(query).fetchall())
        (run_id, thread) = connection.execute("SELECT run_id, thread_id FROM calls WHERE cached").fetchone() or ("", "")
    found = fetch_calls(Path("hearsay.duckdb"), list(texts))
    assert {key: row["reply"]["text"] for key, row in found.items()} == texts and set(texts.values()) == {"Yes", "No"}
    assert all(abs(sum(row["reply"]["label_probabilities"].values()) - 1) < 1e-9 for row in found.values())
    capsys.readouterr()
    show.main([run_id, thread])
    assert "is this a rumor?" in capsys.readouterr().out
