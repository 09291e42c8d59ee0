"""`eval.export` as a user runs it, and what strangers' texts become in it."""

import csv
import json
import re
import shutil
import tempfile
import unicodedata
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval import export_csv
from eval.database import columns
from eval.export import TABLES, main
from eval.store import Writer
from tests.test_store import prediction, python

HOSTILE = [
    "=HYPERLINK(\"http://x\")", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", " =1",
    "'=1", "\"=1\"", "\u200b=1", "\ufeff'@x", "a;=1", "a\n-b", "a\t'b", "''", "'", ";'",
    "nul \0 esc \x1b c1 \x9b del \x7f",
    "\ufe0f=1", "\u034f@x", "\u3164-a", "\u2800=1", "a;\ufe0f=1",
    "\u202ebackwards", "\u2028", "-5", "+3.2e-1", "", "null", "漢字 🎈", 'say "no", x',
]  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of one configuration, one of another, with a study; the texts are those above."""
    path = tmp_path_factory.mktemp("made") / "hearsay.duckdb"
    for run, config in (("a0", "aaa"), ("a1", "aaa"), ("b0", "bbb")):
        row = {"run_id": run, "config_id": config, "dataset": "=sample", "when": "all-posts", "config": {"shots": 50}}
        with Writer(path, row | {"seed": int(run[1])}) as writer:
            writer.add(
                predictions=[
                    prediction(f"t{number}", rationale=text, probabilities={text: -0.5}, stop_index=-1, seconds=-1e-7)
                    for number, text in enumerate(HOSTILE)
                ],
                steps=[{"thread_id": "t1", "step": 2, "action": "stop", "stop_probability": 0.25}],
            )
            writer.add(calls=[{"key": "k", "cached": False, "reply": {"text": "=1"}, "created": datetime.now(UTC)}])
            if run != "b0":
                writer.finish("finished")
    with duckdb.connect(str(path)) as connection:
        for config in ("aaa", "bbb"):
            connection.execute("INSERT INTO studies BY NAME SELECT 'shots' AS study, ? AS config_id", [config])
    return path


@pytest.fixture
def db(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return shutil.copy(made, tmp_path / "hearsay.duckdb")


def ask(query: str, *values: object) -> list[tuple[Any, ...]]:
    with duckdb.connect("hearsay.duckdb", read_only=True) as connection:
        return connection.execute(query, list(values)).fetchall()


def read_csv(path: str) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def fails(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    message = capsys.readouterr().err
    assert stopped.value.code == 2 and message.startswith("error: ") and message.count("\n") == 1
    return message


def seen(text: str) -> str:
    """A text with pictures for what cannot be seen."""
    return "".join(
        chr(0x2400 + ord(each)) if each < " " and each not in "\t\r\n"
        else "␡" if each == "\x7f" else "\ufffd" if "\x80" <= each < "\xa0" else each
        for each in text
    )  # fmt: skip


def is_formula(text: str) -> bool:
    """Whether a spreadsheet may take a cell for one, whatever it strips and however it reads letters."""
    unseen = (each for each in set(text) if unicodedata.category(each) in ("Zs", "Zl", "Zp", "Cf", "Mn"))
    bare = text.lstrip("".join(unseen) + '"`\u115f\u1160\u2800\u3164\uffa0')
    return bool(bare) and (bare[0] in "\t\r\n" or unicodedata.normalize("NFKC", bare[0]) in "=+-@−")


def test_tables_are_those_of_the_schema() -> None:
    assert set(TABLES) == set(columns())


def test_parquet_is_the_table_itself(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-o", "out"]) == 0
    printed = capsys.readouterr()
    assert sorted(path.name for path in Path("out").iterdir()) == sorted(f"{table}.parquet" for table in TABLES)
    for table, kinds in columns().items():
        file = f"read_parquet('out/{table}.parquet')"
        described = duckdb.sql(f"DESCRIBE FROM {file}").fetchall()
        assert {row[0]: row[1] for row in described} == kinds
        assert duckdb.sql(f"FROM {file}").fetchall() == ask(f"FROM {table}")
        (line,) = (each.split() for each in printed.out.splitlines() if each.startswith(f"{table} "))
        size = Path(f"out/{table}.parquet").stat().st_size
        assert line[1:] == [str(len(ask(f"FROM {table}"))), f"out/{table}.parquet", f"{size:,}"]
    assert "1 of 3 runs are not finished" in printed.err


def test_json_lines_have_objects(db: Path) -> None:
    assert main(["aaa", "--table", "predictions", "studies", "--format", "jsonl", "-o", "out"]) == 0
    lines = [json.loads(line) for line in Path("out/predictions.jsonl").read_text("utf-8").split("\n")[:-1]]
    assert [(line["run_id"], line["rationale"]) for line in lines] == [
        (run, each) for run in ("a0", "a1") for each in HOSTILE
    ]
    for line in lines:
        assert list(line) == list(columns()["predictions"])
        assert line["probabilities"] == {line["rationale"]: -0.5}
        assert (line["stop_index"], line["seconds"], line["n_posts"]) == (-1, -1e-7, None)
    (study,) = Path("out/studies.jsonl").read_text("utf-8").splitlines()
    assert json.loads(study)["config_id"] == "aaa"


def test_no_number_is_invalid_json(db: Path) -> None:
    with duckdb.connect(str(db)) as connection:
        connection.execute("UPDATE predictions SET seconds = 'nan', flip_rate = 'inf'")
    assert main(["--table", "predictions", "-o", "all.jsonl"]) == 0
    line = json.loads(Path("all.jsonl").read_text("utf-8").partition("\n")[0], parse_constant=pytest.fail)
    assert line["seconds"] is line["flip_rate"] is None


def test_csv_runs_no_formula_and_gives_the_text_back(db: Path) -> None:
    assert main(["b0", "a0", "a0", "--table", "predictions", "calls", "--format", "csv", "-o", "out"]) == 0
    found = [row for row in read_csv("out/predictions.csv") if row["run_id"] == "b0"]
    assert [row["rationale"] for row in found[:9]] == [
        "'=HYPERLINK(\"http://x\")", "'+1+cmd|' /C calc'!A0", "'-2+3", "'@SUM(A1)", "'\t'=1", "'\r'=1", "'\n'=1",
        "'＝1+1", "' =1",
    ]  # fmt: skip
    assert [re.sub(*export_csv.ORIGINAL, row["rationale"]) for row in found] == [seen(text) for text in HOSTILE]
    assert {row["rationale"] for row in found} >= {"-5", "+3.2e-1", "a;'=1", "nul ␀ esc ␛ c1 \ufffd del ␡"}
    assert {row["rationale"] for row in found} >= {"'\ufe0f=1", "'\u034f@x", "'\u3164-a", "'\u2800=1", "a;'\ufe0f=1"}
    for row, text in zip(found, HOSTILE, strict=True):
        assert (row["stop_index"], float(row["seconds"]), row["n_posts"]) == ("-1", -1e-7, "")
        name = re.sub("[\x7f-\x9f]", lambda found: seen(found[0]), text)  # other controls are escapes in JSON
        assert json.loads(re.sub(*export_csv.ORIGINAL, row["probabilities"])) == {name: -0.5}
        json.loads(row["probabilities"])  # as it stands, too
    options = "header = true, quote = '\"', escape = '\"', all_varchar = true, allow_quoted_nulls = false"
    back = duckdb.sql(f"SELECT rationale FROM read_csv('out/predictions.csv', {options}) WHERE run_id = 'b0'")
    assert [row[0] for row in back.fetchall()] == [row["rationale"] for row in found]
    assert json.loads(read_csv("out/calls.csv")[0]["reply"]) == {"text": "=1"}
    raw = Path("out/predictions.csv").read_bytes()
    assert b"\0" not in raw and b"\x1b" not in raw and b',"",' in raw  # an empty text has quotes, NULL has none


texts = st.text(
    st.one_of(
        st.sampled_from("=+-@＝＋－＠−;\t\r\n'\"“ \u200b\ufeff\ufe0f\u3164\0\x1b,a0"), st.characters(codec="utf-8")
    ),
    max_size=12,
)


@settings(deadline=None, max_examples=40)
@given(st.lists(texts, min_size=1, max_size=20))
def test_whatever_the_text(given_texts: list[str]) -> None:
    jsons = [json.dumps([each, -1, "=", each], ensure_ascii=False) for each in given_texts]
    memory = duckdb.cursor()
    memory.execute("CREATE OR REPLACE TEMP TABLE t AS SELECT unnest($1::VARCHAR[]) AS a, unnest($2::JSON[]) AS j",
                   [given_texts, jsons])  # fmt: skip
    asked = f"SELECT {export_csv.cell('a')} AS a, {export_csv.cell('j::VARCHAR')} AS j FROM t"
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        memory.execute(f"COPY ({asked}) TO $path (FORMAT csv, HEADER, FORCE_QUOTE (a, j))", {"path": file.name})
        found = read_csv(file.name)
    for text, row in zip(given_texts, found, strict=True):
        assert re.sub(*export_csv.ORIGINAL, row["a"]) == seen(text)
        assert json.loads(row["j"])[1:3] == [-1, "="]
        for cell in (row["a"], row["j"]):
            if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", cell):
                continue
            assert not is_formula(cell)
            assert not any(is_formula(part) for part in re.split(r"[;\t\r\n]", cell)[1:])


def test_no_form_of_a_dangerous_character_is_forgotten() -> None:
    forms = [chr(code) for code in range(0x30000) if not 0xD800 <= code < 0xE000 and is_formula(chr(code))]
    found = duckdb.execute(
        f"SELECT a FROM (SELECT unnest($1) AS a) WHERE {export_csv.cell('a')} = a", [forms]
    ).fetchall()
    assert len(forms) > 20 and found == []


def test_a_file_appears_whole_or_not_at_all(db: Path) -> None:
    command = """
        import resource, sys
        from eval.export import main
        resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))  # as a full disk
        main(["--db", sys.argv[1], "--format", "csv", "-o", "out", "--table", "steps", "predictions"])
    """
    Path("out").mkdir()
    process = python(command, db)
    assert process.stderr is not None
    message = process.stderr.read()
    assert process.wait() == 2
    assert message.splitlines()[-1].startswith("error: cannot write out/predictions.csv: ")
    assert list(Path("out").iterdir()) == []


def test_it_waits_for_who_holds_the_file_and_leaves_it_alone(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    holds = "import duckdb, sys, time; held = duckdb.connect(sys.argv[1]); print(flush=True); time.sleep(0.4)"
    before = db.stat()
    process = python(holds, db)
    assert process.stdout is not None
    process.stdout.readline()
    assert main(["--table", "runs", "-o", "runs.parquet"]) == 0
    assert process.wait() == 0
    assert (db.stat().st_mtime_ns, db.stat().st_size) == (before.st_mtime_ns, before.st_size)


def test_a_database_of_an_earlier_version(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with duckdb.connect(str(db)) as connection:
        connection.execute("DROP TABLE annotations; ALTER TABLE predictions DROP COLUMN debate")
    assert main(["-o", "out", "--format", "csv"]) == 0
    assert "no table annotations" in capsys.readouterr().err
    assert list(read_csv("out/predictions.csv")[0]) == list(columns()["predictions"])
    assert not Path("out/annotations.csv").exists()
    assert "has no table annotations" in fails(capsys, "--table", "annotations", "-o", "elsewhere")


def test_mistakes_are_one_line_and_write_nothing(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("there.csv").write_text("mine")
    Path("folder.csv").mkdir()
    for words, says in {
        "a0 --table runs -o there.csv": "there.csv is there already: --force",
        "-o there.csv": "holds one table",
        "--table runs -o new.csv --format jsonl": "give the file the ending .jsonl",
        "--table run -o new.csv": "did you mean runs",
        "zzz -o new": "no run or configuration zzz",
        "-o there.csv/new": "-o there.csv/new: ",
        "--format xml": "--format",
        "--db none.duckdb": "no database at none.duckdb",
        "--db there.csv": "there.csv is not a DuckDB database",
        "--db other.duckdb": "none of Hearsay's tables",
    }.items():
        duckdb.connect("other.duckdb").close()
        assert says in fails(capsys, *words.split()), words
    assert Path("there.csv").read_text() == "mine"
    assert not Path("new").exists() and not Path("new.csv").exists()
    assert main(["a0", "--table", "runs", "-o", "there.csv", "--force"]) == 0
    assert [row["run_id"] for row in read_csv("there.csv")] == ["a0"]
    assert main(["a1", "--table", "runs", "--format", "csv", "-o", "folder.csv"]) == 0
    assert [row["run_id"] for row in read_csv("folder.csv/runs.csv")] == ["a1"]
