"""Headless Chromium for tests: `with chromium(tmp_path) as driver: driver.get(url); assert not complaints(driver)`.

It needs selenium, and `chromium` and `chromedriver` on the path; a test that asks for it is skipped with what is
missing. Nothing is fetched: Selenium's own manager is never asked, and Chromium talks to loopback only.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_NAMES = {"browser": ("chromium", "chromium-browser", "google-chrome"), "driver": ("chromedriver",)}
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-prefers-reduced-motion",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
)


def found(kind: str) -> str:
    """The program's path; skips the test where there is none."""
    for name in _NAMES[kind]:
        if path := shutil.which(name):
            return path
    pytest.skip(f"no {' or '.join(_NAMES[kind])} on the path: headless Chromium cannot be driven")


@contextmanager
def chromium(tmp: Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> Iterator[Any]:
    """A selenium driver of a fresh headless Chromium, closed at the end.

    Args:
        tmp: An empty folder for its profile.
        width: Of the window.
        height: Of the window.
        dark: Whether it prefers dark pages.
    """
    pytest.importorskip("selenium", reason="selenium is not installed: pip install 'hearsay[dev]'")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = found("browser")
    profile = tmp / f"chromium-{width}-{dark}"
    for option in (*_OPTIONS, f"--window-size={width},{height}", f"--user-data-dir={profile}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(found("driver")))
    try:
        driver.set_page_load_timeout(60)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        # a headless window has a least width; a phone is narrower
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        yield driver
    finally:
        driver.quit()


def complaints(driver: Any) -> list[str]:
    """What the console said since it was last asked: errors, warnings, and refusals of the page's own policy."""
    return [f"{entry['level']}: {entry['message']}" for entry in driver.get_log("browser") if entry["level"] != "DEBUG"]
