"""What holds for all tests, and the one `langgraph dev` that all tests of it share: starting it takes seconds."""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.made_up import ROOT

if "PYTEST_XDIST_WORKER" in os.environ:
    # There is a process for every core already: with more threads than cores, each waits longer than it works.
    os.environ.setdefault("OMP_NUM_THREADS", "1")


@dataclass(frozen=True)
class Server:
    """A running server."""

    url: str
    log: Path
    """What it printed."""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`make serve` on a free port, its state in a folder of its own: no key, no .env, no model."""
    if importlib.util.find_spec("langgraph_api") is None:
        pytest.skip("langgraph dev comes with the extra `studio`")
    folder: Path = tmp_path_factory.mktemp("dev")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Paths count from the working folder, where the server keeps its state: here both must differ.
    config = json.loads((ROOT / "langgraph.json").read_text("utf-8"))
    for entry in config["graphs"].values():
        entry["path"] = str(ROOT / entry["path"])
    (folder / "langgraph.json").write_text(json.dumps({**config, "dependencies": [str(ROOT)]}))
    told = ("--host", "127.0.0.1", "--port", str(port), "--no-browser", "--no-reload", "--n-jobs-per-worker", "10")
    more = {"LANGGRAPH_STRICT_MSGPACK": "true", "LANGGRAPH_NO_VERSION_CHECK": "true", "LANGSMITH_TRACING": "false"}
    more |= {"XDG_CACHE_HOME": str(folder), "OMP_NUM_THREADS": "1"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "HEARSAY_"))}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "langgraph_cli", "dev", *told],
            cwd=folder, env=environment | more, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        try:
            url = f"http://127.0.0.1:{port}"
            for _ in range(600):
                try:
                    urllib.request.urlopen(f"{url}/ok", timeout=1)
                    break
                except OSError:
                    assert process.poll() is None, (folder / "log").read_text()
                    time.sleep(0.2)
            yield Server(url, folder / "log")
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()


# Tests have caches of their own, in which matplotlib would look for the machine's fonts again, for seconds.
_caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
os.environ.setdefault("MPLCONFIGDIR", os.path.join(_caches, "matplotlib"))
