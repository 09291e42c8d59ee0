"""The page of `eval.report`: its sections, its data and its scripts put together."""

import json
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from eval.pages import figures, quality, sections
from eval.pages.document import asset, document
from eval.pages.escape import safe, script_json
from eval.pages.gather import Edition, Side

STYLES = ("base.css", "report.css")
SCRIPTS = ("dom.js", "data.js", "picture.js", "thread.js", "list.js", "main.js")
_MARK = "<!-- pieces -->"


def write(
    out: Path,
    sides: Sequence[Side],
    editions: Sequence[Edition],
    tested: str,
    index: Mapping[str, Any],
    pieces: Sequence[Path],
) -> str:
    """Write the page.

    Args:
        out: Where.
        sides: What it is of.
        editions: The texts that were judged.
        tested: The section of tests (see sections.tests).
        index: What the viewer lists (see threads.index).
        pieces: Files with details that are to be in the page; none where they lie beside it.

    Returns:
        The page's own name, by which it knows the scripts beside it.
    """
    name = secrets.token_hex(8)
    parts = {
        "run": ("What was run", sections.what_was_run(sides, editions)),
        "results": ("Results", sections.metrics(sides)),
        "tests": ("Differences", tested),
        "early": ("Early detection", figures.early(sides, editions)),
        "pareto": ("Early and right", figures.pareto(sides)),
        "confusion": ("Confusion", quality.confusion(sides)),
        "calibration": ("Calibration", quality.reliability(sides)),
        "cost": ("Cost and time", quality.costs(sides)),
        "threads": ("Threads", asset("viewer.html")),
    }
    parts = {anchor: part for anchor, part in parts.items() if part[1]}
    links = "".join(f'<li><a href="#{anchor}">{title}</a></li>' for anchor, (title, _) in parts.items())
    body = "\n".join(
        f'<section id="{anchor}" aria-labelledby="{anchor}-title">'
        f'<h2 id="{anchor}-title">{title}</h2>\n{text}\n</section>'
        for anchor, (title, text) in parts.items()
    )
    datasets = " and ".join(dict.fromkeys(side.runs[0]["dataset"] for side in sides))
    title = safe(f"Hearsay: {datasets}")
    made = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    text = document(
        title,
        f"""<header class="top">
<h1>{title}</h1>
<p>{" · ".join(sections.badge(sides, side, named=True) for side in sides)}</p>
<p class="made">made {made} <button id="theme" type="button">dark page</button></p>
<nav aria-label="sections"><ul>{links}</ul></nav>
</header>
<main class="report">
{body}
</main>
<script type="application/json" id="index">{script_json({"name": name, **index})}</script>
{_MARK}""",
        style=asset(*STYLES),
        script=f'(() => {{\n"use strict";\n{asset(*SCRIPTS)}\n}})();\n',
        more_scripts=bool(index["folder"]),
    )
    before, _, after = text.rpartition(_MARK)
    with out.open("w", encoding="utf-8") as file:
        file.write(before)
        for number, path in enumerate(pieces):
            file.write(f'<script type="application/json" id="piece-{number}">{path.read_text("utf-8")}</script>\n')
        file.write(after)
    return name


def piece_script(name: str, number: int | str, text: str) -> str:
    """A piece of a page as a script of its own: a page that was opened from a disk may load no other kind of file.

    Args:
        name: The page's own.
        number: Which piece; "claims" for the claims of all threads.
        text: JSON.
    """
    return f"window.hearsayPiece({json.dumps(name)}, {json.dumps(number)}, {json.dumps(text, ensure_ascii=False)});\n"
