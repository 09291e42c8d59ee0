"""`python -m eval.report`: runs as a page to look at, with every thread, its posts and what was made of it."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import ArgumentParser, UsageError, one_line_errors

if TYPE_CHECKING:
    from rich.console import Console

EPILOG = """\
The page is one file that loads nothing from any network: it can be mailed or put on a server. The texts of posts come
from the corpora, which must be on this machine; they are in the page too, so mind the licence of a corpus before you
hand it on, or leave them out with --no-posts. Where there are very many threads, their details are put into a folder
beside the page (FILE.data for FILE.html) and read from there as you look at them: keep both together.

Several runs or configurations are set side by side: one table, tests of each against the first, and a viewer that
shows two at once and the threads on which they differ.

examples:
  python -m eval.report 3f2a
  python -m eval.report 3f2a 9c41 77be -o early.html
  python -m eval.report 3f2a --no-posts -o to-publish.html
"""
IN_ONE_FILE = 16_000_000
"""Characters of threads' details up to which they are in the page itself."""


def parser() -> ArgumentParser:
    """The command line of `python -m eval.report`."""
    result = ArgumentParser(
        prog="python -m eval.report", description="Write a page that shows runs, and all their threads.", epilog=EPILOG
    )
    add = result.add_argument
    add("runs", nargs="+", metavar="RUN", help="id of a run or configuration, or its beginning")
    add("-o", "--out", type=Path, default=Path("report.html"), metavar="FILE.html", help="default: %(default)s")
    add("--db", type=Path, default=Path("hearsay.duckdb"), help="the database (default: %(default)s)")
    add("--data-dir", type=Path, metavar="DIR", help="where corpora lie, if not where they were at the time")
    add("--no-posts", action="store_true", help="leave out all that posts say, and what models say of them")
    add("--one-file", action="store_true", help="keep everything in the page, however large it gets")
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    options = parser().parse_args(arguments)
    with one_line_errors():
        from rich.console import Console

        write(
            options.runs,
            options.out,
            options.db,
            Console(stderr=True),
            data_dir=options.data_dir,
            posts=not options.no_posts,
            one_file=options.one_file,
        )


def write(
    names: Sequence[str],
    out: Path,
    db: Path,
    notes: "Console",
    *,
    data_dir: Path | None = None,
    posts: bool = True,
    one_file: bool = False,
) -> None:
    """Write the page, and its folder where it needs one.

    Args:
        names: Ids of runs or configurations, or their beginnings.
        out: The page.
        db: The database.
        notes: Where to say what is done.
        data_dir: Where corpora lie, if not where they were at the time.
        posts: Whether to show what posts say.
        one_file: Keep everything in the page, however large it gets.

    Raises:
        UsageError: a name is unknown, or the page cannot be written.
    """
    if out.is_dir() or not out.name:
        raise UsageError(f"cannot write {out}: it is a folder; name a file in it")
    from rich.progress import track

    from eval.database import connect
    from eval.pages import gather, page, threads
    from eval.pages.escape import script_json
    from eval.pages.sections import tests

    notes.print(f"reading {', '.join(names)} …", style="dim", markup=False, highlight=False)
    with connect(db, read_only=True) as connection:
        sides, keys = gather.sides(connection, names)
        tested = tests(connection, sides)
    editions = gather.editions(sides, keys, data_dir, posts=posts)
    order = threads.keys_of(sides)
    found = threads.pieces(db, sides, editions, order, posts=posts)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as work:
            pieces: list[Path] = []
            starts, done, total = [], 0, 0
            for count, text in track(found, "threads", console=notes, total=None, transient=True):
                path = Path(work) / f"{len(pieces)}.js"
                path.write_text(text, "utf-8")
                pieces.append(path)
                starts.append(done)
                done, total = done + count, total + len(text)
            beside = total > IN_ONE_FILE and not one_file
            folder = out.with_name(f"{out.stem}.data")
            index = threads.index(sides, editions, order) | {"starts": starts, "folder": folder.name if beside else ""}
            claims = script_json(index["claims"])
            if beside:  # the page opens without them, and lists them as soon as they are there
                index["claims"] = []
            made = Path(work) / "page.html"
            name = page.write(made, sides, editions, tested, index, [] if beside else pieces)
            _clear(folder)
            made.replace(out)
            if beside:
                folder.mkdir(exist_ok=True)
                for number, path in enumerate(pieces):
                    path.write_text(page.piece_script(name, number, path.read_text("utf-8")), "utf-8")
                    shutil.move(path, folder / path.name)
                (folder / "claims.js").write_text(page.piece_script(name, "claims", claims), "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror or error}") from None
    also = f" and {folder}, which belong together" if beside else ""
    notes.print(f"written to {out}{also}", style="dim", markup=False, highlight=False, soft_wrap=True)


def _clear(folder: Path) -> None:
    """Remove the pieces of an older page of this name, and nothing else."""
    if folder.is_dir():
        for path in folder.glob("*.js"):
            if path.stem.isdigit() or path.stem == "claims":
                path.unlink()
        if not any(folder.iterdir()):
            folder.rmdir()


if __name__ == "__main__":
    main()
