"""The page of `eval.report` in headless Chromium: every control is used, and the console must stay silent."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from eval import report
from tests.browser import chromium, complaints
from tests.report_runs import HOSTILE, name, store_all

NAMES = ["confidence", "debating", "reading", "stances"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store_all(tmp_path_factory.mktemp("report")).parent


@pytest.fixture(scope="module")
def page(place: Path) -> Path:
    report.write(NAMES, place / "page.html", place / "hearsay.duckdb", Console(quiet=True))
    return place / "page.html"


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture
def opened(driver: Any, page: Path) -> Iterator[Any]:
    """The page, opened anew; the console must have said nothing by the end."""
    driver.get("about:blank")
    complaints(driver)
    driver.get(page.as_uri())
    yield driver
    assert driver.execute_script("return window.hacked") is None
    assert complaints(driver) == []


def find(driver: Any, css: str) -> Any:
    return driver.find_element("css selector", css)


def find_all(driver: Any, css: str) -> list[Any]:
    return list(driver.find_elements("css selector", css))


def until(holds: Callable[[], Any], what: str) -> Any:
    end = time.monotonic() + 20
    while not (found := holds()):
        assert time.monotonic() < end, what
        time.sleep(0.02)
    return found


def choose(driver: Any, select: str, text: str) -> None:
    """Choose the option whose text begins so."""
    script = """const [select, text] = arguments;
    const option = [...select.options].find((each) => each.textContent.startsWith(text));
    select.value = option.value; select.dispatchEvent(new Event("change"))"""
    driver.execute_script(script, find(driver, select), text)


def count(driver: Any) -> int:
    return int(find(driver, "#count").text.split()[0])


def open_thread(driver: Any, thread: str) -> Any:
    """Search for a thread and open it."""
    query = find(driver, "#query")
    query.clear()
    query.send_keys(thread)
    for button in find_all(driver, "button.thread"):
        if button.find_element("css selector", ".name").text.startswith(thread):
            button.click()
            break
    until(lambda: any(thread in title.text for title in find_all(driver, "#thread h3")), f"{thread} opens")
    return find(driver, "#thread")


def test_every_filter_order_and_page(opened: Any) -> None:
    assert count(opened) == 60 and len(find_all(opened, "button.thread")) == 50
    find(opened, "#page-on").click()
    assert len(find_all(opened, "button.thread")) == 10 and not find(opened, "#page-on").is_enabled()
    find(opened, "#page-back").click()
    counts = {"right": 38, "wrong": 20, "abstained": 1, "failed": 1, "flipped": 15, "late": 0, "differ": 0}
    for filter_, expected in counts.items():
        button = find(opened, f'[data-filter="{filter_}"]')
        assert button.text == f"{filter_} {expected}"
        button.click()
        assert count(opened) == expected and button.get_attribute("aria-pressed") == "true"
        button.click()
    for filter_ in ("wrong", "flipped"):  # both at once
        find(opened, f'[data-filter="{filter_}"]').click()
    assert count(opened) == 5
    find(opened, '[data-filter="wrong"]').click()
    find(opened, '[data-filter="flipped"]').click()
    for order in ("surest", "latest", "longest"):
        choose(opened, "#order", order)
        assert count(opened) == 60
    assert find(opened, "button.thread .name").text.startswith("t0")  # the longest
    find(opened, "#query").send_keys("CLAIM 5")
    until(lambda: count(opened) == 15, "5, 15, ...: words are looked for one by one")
    for word in ("constructor", "x" * 300, "\\d [("):
        find(opened, "#query").clear()
        find(opened, "#query").send_keys(word)
        until(lambda: count(opened) == 0, word)


def test_two_runs_side_by_side(opened: Any) -> None:
    choose(opened, "#view-b", "A, seed 1")
    differ = find(opened, '[data-filter="differ"]')
    assert differ.text == "differ 39"  # 20 are wrong in either seed, but in one of these both abstained
    differ.click()
    assert count(opened) == 39
    find(opened, "button.thread").click()
    until(lambda: len(find_all(opened, ".verdict")) == 2, "two verdicts")
    assert [badge.text for badge in find_all(opened, ".verdict h4 .side")] == ["A", "A′"]
    assert len(find_all(opened, ".stop-line")) == 2
    choose(opened, "#view-b", "nothing")
    until(lambda: len(find_all(opened, ".verdict")) == 1, "one verdict")
    assert not differ.is_displayed() and count(opened) == 60
    for view in opened.execute_script("return [...document.getElementById('view-a').options].map((o) => o.text)"):
        choose(opened, "#view-a", view)
        assert count(opened) == 60
        until(lambda view=view: view.split(", ", 1)[1] in find(opened, ".verdict h4").text, view)


def test_a_hostile_thread_is_shown_as_it_is(opened: Any) -> None:
    choose(opened, "#view-a", "C, seed 0, posts:3")
    choose(opened, "#view-b", "D")
    thread = open_thread(opened, "t0")
    text = thread.text
    for words in ("<script>window.hacked = 1</script>", "U+202E", "U+2066", "U+001B", "U+200B", "U+2028", "&lt;b&gt;"):
        assert words in text, words
    assert "one\n\ntwo" in text and "w" * 10_000 in text and "__proto__" in text
    assert len(find_all(opened, "#thread .post")) == 5 + len(HOSTILE)
    assert opened.execute_script("return document.querySelectorAll('#thread :is(script, img, style)').length") == 0
    assert not opened.execute_script("return document.documentElement.scrollWidth > innerWidth")
    # stances, kept and discarded posts, what was read, where it stopped
    assert len(find_all(opened, "#thread .stance")) == 10 and "right: annotators say" in text
    assert "kept" in text and "discarded" in text and "not read by C" in text
    line = " ".join(text.split())
    assert "C stopped here: non-rumor" in line and "D stopped here: non-rumor" in line
    assert "because <script>" in text


def test_a_debate_is_told_turn_by_turn(opened: Any) -> None:
    choose(opened, "#view-a", "B")
    text = open_thread(opened, "t9").text
    assert "the debate: 8 questions" in text and "taken for an opinion: no; p saw 2; n saw 3" in text
    assert len(find_all(opened, ".turn")) == 5 and "judge" in text
    assert "changed sides: p 1 ×" in text and "1 post that does not exist" in text
    assert "score 0.50" in text and "shown to p" in text and "no score" in text
    find(opened, ".turn .link").click()
    assert opened.execute_script("return document.activeElement.id") == "post-2"


def test_the_picture_over_posts_and_over_time(opened: Any) -> None:
    open_thread(opened, "t9")
    assert len(find_all(opened, ".stopping-dot")) == 2  # stop probabilities, until it stopped
    assert len(find_all(opened, ".label")) == 5  # labels of the prefixes from the stop on, and of the debate
    assert len(find_all(opened, ".post-dot.hollow")) == 3
    before = find(opened, ".post-dot:nth-last-of-type(2)").get_attribute("cx")
    button = find(opened, "#thread figcaption button")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert find(opened, ".picture .axis").text == "time since the source post"
    assert find(opened, ".post-dot:nth-last-of-type(2)").get_attribute("cx") != before
    opened.execute_script("document.querySelectorAll('.post-dot')[3].dispatchEvent(new MouseEvent('click'))")
    assert opened.execute_script("return document.activeElement.id") == "post-4"
    button.click()
    open_thread(opened, "t11")  # of which the corpus has a post less than was judged
    assert len(find_all(opened, ".post-dot")) == 6 and len(find_all(opened, "#thread .post")) == 5


def test_moving_about_by_keys_buttons_and_addresses(opened: Any, page: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    first = find(opened, "button.thread")
    first.send_keys(Keys.ARROW_DOWN)
    opened.switch_to.active_element.send_keys(Keys.ENTER)
    second = find_all(opened, "button.thread .name")[1].text
    until(lambda: find_all(opened, "#thread h3") and second in find(opened, "#thread h3").text, "the second one")
    buttons = {button.text: button for button in find_all(opened, ".steps-nav button")}
    buttons["next ›"].click()
    until(lambda: second not in find(opened, "#thread h3").text, "the third one")
    assert len(find_all(opened, '[aria-current="true"]')) == 1
    opened.back()
    until(lambda: second in find(opened, "#thread h3").text, "the second one again")
    for button in find_all(opened, ".steps-nav button"):
        if button.text == "back to the list":
            button.click()
    assert opened.switch_to.active_element.get_attribute("aria-current") == "true"
    open_thread(opened, "t0")
    address = opened.current_url
    opened.get("about:blank")
    opened.get(address)
    until(lambda: find_all(opened, "#thread h3") and name(0)[:9] in find(opened, "#thread h3").text, "the address")
    for wrong in ("#thread:%E0%A4%A", "#thread:nobody", "#post-1", "#%"):
        opened.execute_script("location.hash = arguments[0]", wrong)
    for link in find_all(opened, ".top nav a"):
        link.click()
    for summary in find_all(opened, "main > section > details > summary, figure summary"):
        summary.click()
    assert "everything that was in force" in find(opened, "#run").text


def test_light_and_dark(opened: Any, page: Path, tmp_path: Path) -> None:
    back = "return getComputedStyle(document.body).backgroundColor"
    assert opened.execute_script(back) == "rgb(255, 255, 255)"
    button = find(opened, "#theme")
    assert button.text == "dark page"
    button.click()
    assert opened.execute_script(back) == "rgb(22, 22, 22)" and button.text == "light page"
    button.click()
    assert opened.execute_script(back) == "rgb(255, 255, 255)"


def test_paper_is_light(opened: Any) -> None:
    """Whatever the page was turned to: printers leave the background out, and light text on white is none."""
    find(opened, "#theme").click()
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        colours = "const style = getComputedStyle(document.body); return [style.backgroundColor, style.color]"
        assert opened.execute_script(colours) == ["rgb(255, 255, 255)", "rgb(27, 27, 27)"]
    finally:
        opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        find(opened, "#theme").click()


def test_on_a_dark_phone_nothing_is_wider_than_the_screen(page: Path, tmp_path: Path) -> None:
    with chromium(tmp_path, width=375, height=700, dark=True) as phone:
        phone.get(page.as_uri())
        assert phone.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(22, 22, 22)"
        choose(phone, "#view-b", "D")
        open_thread(phone, "t0")
        assert phone.execute_script("return [document.documentElement.scrollWidth, innerWidth]") == [375, 375]
        assert phone.execute_script("return document.querySelector('.picture').getBoundingClientRect().right") <= 375
        assert complaints(phone) == []


def test_pieces_beside_the_page(driver: Any, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "IN_ONE_FILE", 1)
    monkeypatch.setattr("eval.pages.threads.PIECE", 4_000)
    out = place / "many #1.html"
    report.write(["confidence"], out, place / "hearsay.duckdb", Console(quiet=True))
    complaints(driver)
    driver.get(out.as_uri())
    until(lambda: len(find_all(driver, ".claim-text")) == 50, "claims, which come after the list")
    for thread in ("t59", "t3"):
        assert "claim" in open_thread(driver, thread).text
    assert complaints(driver) == []
    pieces = sorted((place / "many #1.data").iterdir())
    assert len(pieces) > 10
    for piece in pieces:  # those of another page
        piece.write_text(piece.read_text("utf-8").replace('hearsayPiece("', 'hearsayPiece("x'), "utf-8")
    driver.refresh()
    find(driver, "button.thread").click()
    until(lambda: "belongs to another report" in find(driver, "#thread").text, "a message")
    for piece in pieces:
        piece.unlink()
    driver.refresh()
    find(driver, "button.thread").click()
    until(lambda: "must lie beside this page" in find(driver, "#thread").text, "a message")
    until(lambda: "must lie beside this page" in find(driver, "#count").text, "one of the claims")
    complaints(driver)  # the browser's own, of the missing file


def test_without_texts(driver: Any, place: Path) -> None:
    out = place / "none.html"
    report.write(["stances", "debating"], out, place / "hearsay.duckdb", Console(quiet=True), posts=False)
    complaints(driver)
    driver.get(out.as_uri())
    text = open_thread(driver, "t9").text
    assert "left out of this page" in text and "p1" in text and "yes it is" not in text
    assert len(find_all(driver, ".turn")) == 5 and "p saw p1" in text
    assert complaints(driver) == []
