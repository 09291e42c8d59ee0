"""The chat in Gradio, before a running server, driven in headless Chromium."""

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.browser import chromium, complaints
from tests.made_up import ROOT

UI = ROOT / "examples" / "chat_ui.py"
HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\"> [x](http://evil.example.com/a) ![p](http://evil.example.com/p)"
)


def python_with_gradio() -> str:
    """An interpreter that has Gradio, which cannot share an environment with Hearsay (docs/chat.md)."""
    if importlib.util.find_spec("gradio"):
        return sys.executable
    for path in (os.environ.get("HEARSAY_UI_PYTHON"), str(ROOT / ".venv-ui" / "bin" / "python")):
        if path and shutil.which(path):
            return path
    pytest.skip(
        "no Gradio: it lives in .venv-ui (docs/chat.md says how to make it), or name a python in HEARSAY_UI_PYTHON"
    )


@contextmanager
def gradio(server: str, folder: Path) -> Iterator[str]:
    """The page, in a process of its own; yields its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "HEARSAY_URL": server, "PORT": str(port), "HF_HUB_OFFLINE": "1"}
    with (folder / "ui.log").open("w") as log:
        process = subprocess.Popen([python_with_gradio(), UI], env=environment, cwd=folder, stdout=log, stderr=log)
        url = f"http://127.0.0.1:{port}"
        try:
            for _ in range(600):
                try:
                    urllib.request.urlopen(url, timeout=5).close()
                    break
                except OSError:
                    assert process.poll() is None, (folder / "ui.log").read_text()
                    time.sleep(0.2)
            yield url
        finally:
            process.terminate()
            process.wait()


def said(driver: Any, text: str, count: int) -> str:
    """Type a message, and wait for the answer that makes so many messages."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    box = WebDriverWait(driver, 60).until(lambda page: page.find_element(By.CSS_SELECTOR, "textarea"))
    for n, line in enumerate(text.split("\n")):
        if n:
            box.send_keys(Keys.SHIFT, Keys.ENTER)
        box.send_keys(line)
    box.send_keys(Keys.ENTER)

    def answer(page: Any) -> str | None:
        # in one go: the page puts its elements in anew while it waits
        told = page.execute_script("return [...document.querySelectorAll('.message.bot')].map(each => each.innerText)")
        last = " ".join(told[-1].split()) if len(told) >= count else ""
        return None if last in ("", "Loading content") else last

    # the server's first verdict reads a thousand posts
    return str(WebDriverWait(driver, 300).until(answer))


def test_the_page_is_at_most_40_lines_and_names_nobody_elses_address() -> None:
    lines = UI.read_text("utf-8").splitlines()
    assert len(lines) <= 40
    assert 'server_name="127.0.0.1"' in UI.read_text("utf-8")


def test_a_person_pastes_asks_and_is_asked_in_a_browser(server: Any, tmp_path: Path) -> None:
    python_with_gradio()
    with gradio(server.url, tmp_path) as url, chromium(tmp_path) as driver:
        driver.get(url)
        answer = said(driver, f"They have closed the harbour bridge\n{HOSTILE}", 1)
        assert "% sure (encoder, 2 posts)" in answer
        assert "Would change its mind" in answer
        shown = said(driver, "show post 2", 2)
        assert "hxxp://evil.example[.]com" in shown
        assert driver.title == "Hearsay"
        driver.find_element("css selector", "input[type=checkbox]").click()  # ask me where it is not sure
        unsure = "new: They have closed the harbour bridge, my cousin is stuck on it"
        assert "What do you say: rumor / non-rumor, or unsure?" in said(driver, unsure, 3)
        assert "(encoder, 2 posts)" in said(driver, "Has anybody seen it", 4)  # a post, though a question is open
        assert "What do you say: rumor / non-rumor, or unsure?" in said(driver, unsure, 5)
        assert "Rumor, decided by a person, not by the machine." in said(driver, "rumor", 6)
        for what in ("a[href*='evil']", "img[src*='evil']", "img[src$='/x']"):
            assert not driver.find_elements("css selector", what)
        assert not [line for line in complaints(driver) if "SEVERE" in line]


def test_without_a_server_the_page_says_what_to_start(tmp_path: Path) -> None:
    python_with_gradio()
    with gradio("http://127.0.0.1:9", tmp_path) as url, chromium(tmp_path) as driver:
        driver.get(url)
        assert "is make serve running?" in said(driver, "hello", 1)
