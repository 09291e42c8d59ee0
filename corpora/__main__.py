"""The command `python -m corpora`: list, check, fetch and export corpora."""

import argparse
import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import ArgumentParser, UsageError, one_line_errors

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from corpora.catalog import LoadedCorpus

_EPILOG = """\
examples:
  python -m corpora list
  python -m corpora check pheme --overlap rumoreval-s
  python -m corpora check aclr:covid19-standin --data-dir ~/data
  python -m corpora fetch weibo-covid19
  python -m corpora export twitter15 --format jsonl --out twitter15.jsonl
  python -m corpora export sample --format posts | python -m graphs.watch

Corpora are looked for below --data-dir, then $HEARSAY_DATA, then ~/.cache/hearsay, as a folder or as the
archive their publisher gives. Any path is read by its format: aclr:PATH, eard:PATH, jsonl:PATH."""


def main(argv: list[str] | None = None) -> None:
    """Run one subcommand."""
    arguments = _parser().parse_args(argv)
    with one_line_errors():
        try:
            {"list": _list, "check": _check, "fetch": _fetch, "export": _export}[arguments.command](arguments)
        except BrokenPipeError:  # `| head` has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="python -m corpora",
        description="Labelled conversation threads: which corpora there are, and what is in them.",
        epilog=_EPILOG,
    )
    shared = ArgumentParser(add_help=False)
    shared.add_argument("--data-dir", type=Path, metavar="DIR", help="where to look first")
    handles = ArgumentParser(add_help=False)
    handles.add_argument("--keep-handles", action="store_true", help="leave authors and @mentions as published")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("list", parents=[shared], help="every corpus, and where it was found")
    check = commands.add_parser("check", parents=[shared, handles], help="what is in a corpus, beside its papers")
    check.add_argument("names", nargs="+", metavar="NAME", help="a corpus, or FORMAT:PATH")
    check.add_argument("--overlap", action="append", default=[], metavar="NAME", help="count shared threads")
    fetch = commands.add_parser("fetch", help="download a corpus, or say how to get it")
    fetch.add_argument("name", metavar="NAME")
    export = commands.add_parser("export", parents=[shared, handles], help="write a corpus in another format")
    export.add_argument("name", metavar="NAME", help="a corpus, or FORMAT:PATH")
    formats = "a thread a line, EARD's JSON, or a post a line, as if they were just being written"
    export.add_argument("--format", choices=("jsonl", "eard", "posts"), required=True, help=formats)
    export.add_argument("--out", type=Path, metavar="FILE", help="default: standard output")
    return parser


def _load(name: str, arguments: argparse.Namespace) -> "LoadedCorpus":
    from corpora.catalog import load

    keep = getattr(arguments, "keep_handles", False)
    return load(name, data_dir=arguments.data_dir, keep_handles=keep, environ=os.environ)


def _list(arguments: argparse.Namespace) -> None:
    from rich.console import Console

    from corpora.check import print_list

    print_list(Console(), arguments.data_dir, os.environ)


def _check(arguments: argparse.Namespace) -> None:
    from rich.console import Console

    from corpora.check import print_check

    others = [_load(name, arguments) for name in arguments.overlap]
    for name in arguments.names:
        print_check(Console(), _load(name, arguments), others)


def _fetch(arguments: argparse.Namespace) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    from corpora.catalog import CORPORA, whereabouts
    from corpora.fetch import fetch
    from corpora.locate import cache_dir

    name = arguments.name
    if name not in CORPORA:
        whereabouts(name, data_dir=None, environ=os.environ)  # raises for an unknown name, with a hint
        raise UsageError(f"{name} is a path: nothing to fetch")
    corpus = CORPORA[name]
    if not corpus.downloads:
        way = f"no public address; {corpus.steps}" if corpus.steps else "bundled with Hearsay; nothing to fetch"
        print(f"{name}: {way}")
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        for download in corpus.downloads:
            task = bar.add_task(Path(download.path).name, total=None)
            show = partial(_show, bar, task)
            path = fetch(
                download.url,
                cache_dir(os.environ) / download.path,
                max_bytes=download.max_bytes,
                progress=show,
            )
            show(path.stat().st_size, path.stat().st_size)
    print(f"fetched {name}: python -m corpora check {name}")


def _show(bar: "Progress", task: "TaskID", done: int, total: int | None) -> None:
    bar.update(task, completed=done, total=total)


def _export(arguments: argparse.Namespace) -> None:
    from corpora.clean import printable
    from corpora.readers import eard, jsonl
    from corpora.stream import to_stream

    corpus = _load(arguments.name, arguments)
    # escaped where a terminal may read it: posts can hold control characters
    encode = json.JSONEncoder(ensure_ascii=arguments.out is None).encode
    if arguments.format == "eard":
        content, left_out = eard.to_json(corpus.threads)
        lines = [encode(content)]
    elif arguments.format == "posts":
        lines, left_out = list(map(encode, to_stream(corpus.threads))), 0
    else:
        lines, left_out = [encode(jsonl.to_record(thread)) for thread in corpus.threads], 0
    text = "".join(f"{line}\n" for line in lines)
    if arguments.out is None:
        sys.stdout.write(text)
    else:
        try:
            arguments.out.write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            raise UsageError(f"cannot write {printable(arguments.out, 300)}: {error.strerror}") from None
        print(f"wrote {corpus.name} to {printable(arguments.out, 300)}", file=sys.stderr)
    if left_out:
        print(f"left out: {left_out} threads without a rumor label", file=sys.stderr)


if __name__ == "__main__":
    main()
