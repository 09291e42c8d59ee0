"""How fast a report of very many threads opens: `python -m benchmarks.report [--threads 100000]`.

Makes up a corpus and a run of so many threads (five posts each, a confidence rule with its steps), writes the report
with `eval.report`, and opens it from the disk in headless Chromium, each time in a fresh one: until the page is loaded,
its list filled and painted; then a thread is opened, which reads a piece from beside the page, and a search made.
"""

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from corpora.catalog import load
from eval.report import write
from eval.store import Writer
from tests.browser import chromium, complaints

LABELS = ("rumor", "non-rumor")
WORDS = ("bridge", "harbour", "closed", "hearing", "they say", "water", "smoke", "police", "not true", "old", "tonight")
_BATCH = 2_000


def make_up(place: Path, threads: int) -> Path:
    """Write a corpus and a database with a run on it."""
    rng, corpus, db = random.Random(0), place / "corpus.jsonl", place / "hearsay.duckdb"
    with corpus.open("w", encoding="utf-8") as file:
        for number in range(threads):
            posts = [
                {"id": f"{i}", "parent": "0" if i else None, "seconds": 60 * i, "author": f"user{i}",
                 "text": " ".join(rng.choices(WORDS, k=18))}
                for i in range(5)
            ]  # fmt: skip
            content = {"id": f"thread-{number:06}", "language": "en", "rumor": LABELS[number % 2], "posts": posts}
            file.write(json.dumps(content) + "\n")
    loaded = load(f"jsonl:{corpus}", environ={})
    row = {"run_id": "many", "config_id": "manythreads", "dataset": loaded.name, "split": "all", "seed": 0}
    row |= {"when": "confidence:0.7", "how": "encoder", "model": "encoder", "n_threads": threads, "prompts": {}}
    row |= {"config": {"dataset": f"jsonl:{corpus}", "classes": list(LABELS), "labels": "rumor/non-rumor", "seeds": 1}}
    row |= {"corpus_fingerprint": loaded.fingerprint, "corpus_counts": {"threads": threads}, "packages": {}}
    with Writer(db, row) as writer:
        for start in range(0, threads, _BATCH):
            predictions, steps = [], []
            for thread in loaded.threads[start : start + _BATCH]:
                stop, chance = rng.randint(1, 5), rng.uniform(0.5, 1)
                label = rng.choice(LABELS)
                predictions.append(
                    {"thread_id": thread.id, "gold": thread.gold.rumor, "label": label, "outcome": "verdict",
                     "probabilities": {label: chance, LABELS[label == "rumor"]: 1 - chance, "method": "classifier"},
                     "stop_index": stop, "n_posts": 5, "seconds_to_stop": 60.0 * (stop - 1), "seconds": 0.01}
                )  # fmt: skip
                steps += [
                    {"thread_id": thread.id, "step": step, "action": "stop" if step == stop else "continue",
                     "stop_probability": rng.random()}
                    for step in range(1, stop + 1)
                ]  # fmt: skip
            writer.add(predictions=predictions, steps=steps)
        writer.finish("finished")
    return db


def opened(page: Path, work: Path, times: int) -> dict[str, float]:
    """Open the page in fresh browsers; medians of the seconds that each step took."""
    found: dict[str, list[float]] = {}
    empty = work / "empty.html"
    empty.write_text("<!doctype html><title>empty</title><p>empty", "utf-8")
    for number in range(times):
        folder = work / f"browser{number}"
        folder.mkdir()
        with chromium(folder) as driver:
            for name, path in (("an empty page, to compare with", empty), ("the report, loaded and painted", page)):
                driver.get("about:blank")
                _timed(found, name, lambda path=path, driver=driver: _painted(driver, path))
            assert len(driver.find_elements("css selector", "button.thread")) == 50
            _timed(found, "its claims, after that", lambda driver=driver: _until(driver, ".claim-text"))
            _timed(found, "a thread", lambda driver=driver: _first_thread(driver))
            _timed(found, "a search", lambda driver=driver: driver.execute_script(_SEARCH))
            _timed(found, "a filter", lambda driver=driver: driver.execute_script(_FILTER))
            assert not complaints(driver)
    return {name: statistics.median(seconds) for name, seconds in found.items()}


_SEARCH = """const query = document.getElementById("query");
query.value = "thread-0777"; query.dispatchEvent(new Event("input"));
return document.getElementById("count").textContent"""
_FILTER = (
    """document.querySelector('[data-filter="wrong"]').click(); return document.getElementById("count").textContent"""
)


def _painted(driver: Any, path: Path) -> None:
    driver.get(path.as_uri())
    driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")


def _first_thread(driver: Any) -> None:
    driver.find_element("css selector", "button.thread").click()
    _until(driver, "#post-5")


def _until(driver: Any, css: str) -> None:
    end = time.monotonic() + 20
    while not driver.find_elements("css selector", css):
        assert time.monotonic() < end, f"no {css}"


def _timed(found: dict[str, list[float]], name: str, act: Callable[[], object]) -> None:
    begun = time.perf_counter()
    act()
    found.setdefault(name, []).append(time.perf_counter() - begun)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=5, help="how often it is opened")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        db, page = make_up(work, options.threads), work / "report.html"
        begun, spent = time.perf_counter(), time.process_time()
        write(["many"], page, db, Console(quiet=True))
        print(
            f"{options.threads:,} threads: written in {time.perf_counter() - begun:.1f} s "
            f"({time.process_time() - spent:.1f} s of one core)",
            flush=True,
        )
        beside = list((work / "report.data").glob("*.js"))
        size = sum(path.stat().st_size for path in beside)
        print(f"page {page.stat().st_size / 1e6:.1f} MB, {len(beside)} pieces beside it, {size / 1e6:.1f} MB")
        for name, seconds in opened(page, work, options.times).items():
            print(f"{name}: {seconds:.2f} s (median of {options.times})")


if __name__ == "__main__":
    main()
