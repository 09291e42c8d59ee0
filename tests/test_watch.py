"""The live stream through the command a user types: kills, signals, pipes, servers, mistakes."""

import json
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from graphs.watch import main as watch
from tests.made_up import RULES, stub_process
from tests.watching import decisions, process, stream

CHAT = ["--when", "posts:3", "--model", "scripted:script.json"]
SCRIPT = {"rules": [{"contains": "unconfirmed", "reply": "Yes", "seconds": 0.02}], "default": {"reply": "No"}}


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("script.json").write_text(json.dumps(SCRIPT))


def test_a_killed_watch_repeats_no_decision_and_misses_none() -> None:
    lines = stream("whole.jsonl", 200)
    assert watch(["whole.jsonl", *CHAT, "--out", "expected.jsonl"]) == 0
    expected = decisions("expected.jsonl")
    assert len(expected) == 200
    assert sum(line["label"] == "rumor" for line in expected.values()) == 100
    rng, written = random.Random(0), 0
    command = ["--follow", "live.jsonl", *CHAT, "--beliefs", "--concurrency", "4", "--every", "0", "--out", "out.jsonl"]
    with open("live.jsonl", "w") as live:
        for _ in range(3):
            with process(*command, stderr=subprocess.PIPE) as watching:
                before = len(Path("out.jsonl").read_bytes()) if Path("out.jsonl").exists() else 0
                until = before + rng.randint(1_000, 30_000)
                while not Path("out.jsonl").exists() or Path("out.jsonl").stat().st_size < until:
                    assert watching.poll() is None, watching.stderr.read() if watching.stderr else ""
                    few = lines[written : written + rng.randint(1, 60)]
                    written += len(few)
                    live.write("".join(f"{line}\n" for line in few))
                    live.flush()
                    time.sleep(0.01)
                watching.kill()
        live.write("".join(f"{line}\n" for line in lines[written:]))
    assert watch([*command[1:]]) == 0  # the file as it is: to its end
    found = decisions("out.jsonl")
    assert {name: (line["read"], line["label"]) for name, line in found.items()} == {
        name: (line["read"], line["label"]) for name, line in expected.items()
    }
    beliefs = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    told = [(line["thread"], line["read"]) for line in beliefs if line["type"] == "belief"]
    assert sorted(told) == sorted((f"t{number}", n) for number in range(200) for n in (1, 2, 3))


def test_signals_end_it_cleanly_and_the_same_command_goes_on() -> None:
    lines = stream("posts.jsonl", 20)
    Path("live.jsonl").write_text("".join(f"{line}\n" for line in lines[:45]) + lines[45][:20])
    command, checkpoint, before = (
        ["--follow", "live.jsonl", *CHAT, "--out", "out.jsonl"],
        Path("out.jsonl.checkpoint.json"),
        0,
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        with process(*command, stderr=subprocess.PIPE) as watching:
            while not checkpoint.exists() or checkpoint.stat().st_mtime_ns == before or len(decisions("out.jsonl")) < 5:
                assert watching.poll() is None
                time.sleep(0.02)
            watching.send_signal(number)
            errors = watching.communicate(timeout=30)[1]
        before = checkpoint.stat().st_mtime_ns
        assert watching.returncode == 0, errors
        assert "45 posts read" in errors and "5 threads decided, 15 open" in errors
        assert "Traceback" not in errors
    with open("live.jsonl", "a") as live:
        live.write(lines[45][20:] + "\n" + "".join(f"{line}\n" for line in lines[46:]))
    assert watch(command[1:]) == 0
    assert len(decisions("out.jsonl")) == 20


def test_a_pipe_may_be_sent_again_or_go_on_and_its_reader_may_leave() -> None:
    lines = stream("posts.jsonl", 20)
    command = [*CHAT, "--at-end", "leave", "--out", "out.jsonl"]

    def piped(text: str) -> str:
        with process(*command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as watching:
            errors = watching.communicate(text, timeout=60)[1]
        assert watching.returncode == 0, errors
        return errors

    assert "45 posts read" in piped("".join(f"{line}\n" for line in lines[:45]))
    assert "9 threads decided, 11 open" in piped(
        "".join(f"{line}\n" for line in lines[:50]).replace(lines[49], "no JSON")
    )
    errors = piped(lines[49] + "\n" + "".join(f"{line}\n" for line in lines[50:]))  # another stream: it goes on
    assert "reading all of it" in errors and "20 threads decided, 0 open" in errors
    assert len(decisions("out.jsonl")) == 20
    with process("posts.jsonl", *CHAT, "--beliefs", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watching:
        assert watching.stdout and watching.stderr
        assert json.loads(watching.stdout.readline())["type"] == "belief"
        watching.stdout.close()
        errors = watching.stderr.read()
    assert "Traceback" not in errors and watching.returncode == 0, errors
    with open("/dev/full", "w") as full, process("posts.jsonl", *CHAT, stdout=full, stderr=subprocess.PIPE) as watching:
        assert watching.communicate()[1] == "error: cannot write standard output: No space left on device\n"
    assert watching.returncode == 2


def test_malformed_lines_are_told_by_number_and_never_fatal(capsys: pytest.CaptureFixture[str]) -> None:
    good = stream("posts.jsonl", 3)
    bad = ["{", '{"thread": "t0"}', "", '{"thread": "\\u001b[31m", "text": "x", "time": "now"}']
    Path("posts.jsonl").write_bytes("\n".join([bad[0], *good[:4], *bad, *good[4:]]).encode() + b"\n" + b"x" * 3_000_000)
    assert watch(["posts.jsonl", *CHAT]) == 0
    printed = capsys.readouterr()
    assert [json.loads(line)["read"] for line in printed.out.splitlines()] == [3, 3, 3]
    notes = [line for line in printed.err.splitlines() if line.startswith("line ")]
    assert notes == [
        "line 1: no JSON", "line 6: no JSON", "line 7: no text", "line 9: time is no time",
        "line 18: longer than 1,048,576 bytes",
    ]  # fmt: skip
    assert "5 lines malformed" in printed.err


def test_a_model_behind_a_server_and_one_that_nobody_reaches(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stream("posts.jsonl", 30)
    ask = ["posts.jsonl", "--when", "confidence:0.85", "--model", "openai:x", "--out", "out.jsonl"]
    with stub_process(RULES) as url:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        assert watch([*ask, "--base-url", url]) == 0
    found = decisions("out.jsonl")
    rumors = {name: line["read"] for name, line in found.items() if line["label"] == "rumor"}
    assert rumors == {f"t{number}": 3 for number in range(1, 30, 2)}
    assert {line["stopped_by"] for line in found.values()} == {"policy", "end"}
    with pytest.raises(SystemExit) as end:
        watch([*ask[:-1], "none.jsonl", "--base-url", url])
    assert end.value.code == 2
    assert "error: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        (["--when", "oracle"], "a stream has none"),
        (["--when", "posts:1,2"], "name one"),
        (["--follow"], "--follow is for a FILE"),
        (["--how", "direct"], "asks a chat model"),
        (["--stale", "-1"], "want at least 0"),
        (["--at-end", "x"], "want decide or leave"),
        (["nowhere.jsonl", *CHAT], "cannot read nowhere.jsonl"),
        (["posts.jsonl", *CHAT, "--out", "nowhere/out.jsonl"], "cannot write --out"),
        (["posts.jsonl", *CHAT, "--out", "posts.jsonl"], "no checkpoint beside it"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    stream("posts.jsonl", 1)
    with pytest.raises(SystemExit) as end:
        watch(arguments)
    assert end.value.code == 2
    error = capsys.readouterr().err
    assert wrong in error and error.count("\n") == 1


def test_a_watch_goes_on_with_its_own_settings_only(capsys: pytest.CaptureFixture[str]) -> None:
    stream("posts.jsonl", 5)
    assert watch(["posts.jsonl", *CHAT, "--out", "out.jsonl"]) == 0
    with pytest.raises(SystemExit):
        watch(["posts.jsonl", *CHAT[2:], "--when", "posts:2", "--out", "out.jsonl"])
    assert "is of a watch with --when posts:3, not posts:2" in " ".join(capsys.readouterr().err.split())
    whole = Path("out.jsonl").read_bytes()
    Path("out.jsonl").write_bytes(whole[:-40])
    with pytest.raises(SystemExit):
        watch(["posts.jsonl", *CHAT, "--out", "out.jsonl"])
    assert "shorter than its checkpoint says" in " ".join(capsys.readouterr().err.split())
