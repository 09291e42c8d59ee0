"""Watch a stream of posts of many threads: `python -m graphs.watch`. Decisions are written as they fall."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from corpora.errors import ArgumentParser, one_line_errors
from graphs.methods import HOW, WHEN, names
from graphs.watching.settings import DECIDE, DROP, LEAVE, WatchSettings


def parser() -> ArgumentParser:
    """The command line."""
    default = {field.name: field.default for field in fields(WatchSettings)}
    result = ArgumentParser(
        prog="python -m graphs.watch",
        argument_default=argparse.SUPPRESS,
        description="Read posts of many interleaved threads, one a line of JSON, and write a line for every decision\n"
        "as it falls. With --out, the same command goes on where it was ended or killed, and repeats no decision.",
        epilog=f"""a post: {{"thread": "t1", "id": "7", "parent": "1", "time": "2026-03-01T09:30:00Z", "text": "..."}}
thread and text are needed; see docs/watch.md for the rest, and for every rule

when: {names(WHEN, without="oracle")}
how: {names(HOW)}

examples:
  python -m corpora export sample --format posts | python -m graphs.watch --when confidence:0.7
  python -m graphs.watch --when eard:agent --follow posts.jsonl --out decisions.jsonl
  python -m graphs.watch --when hours:6 --how direct --model openai:gpt-4o-mini --max-cost 5 posts.jsonl
  python -m graphs.watch --when posts:5 --beliefs posts.jsonl | head
""",
    )
    result.add_argument("file", nargs="?", metavar="FILE", help='what to read (default "-": standard input)')
    add = result.add_argument_group("reading and writing").add_argument
    add("--follow", action="store_true", help="wait for more where FILE ends")
    add(
        "--out",
        type=Path,
        metavar="FILE",
        help="where the lines go, a checkpoint beside them (default: standard output)",
    )
    add("--beliefs", action="store_true", help="a line after every post too; asks a chat model as often")
    add("--every", type=float, metavar="SECONDS", help=f"between two checkpoints (default: {default['every']:.0f})")
    add = result.add_argument_group("when and how").add_argument
    add("--when", metavar="POLICY", help="when to decide (default: eard, trained if it is not there)")
    add("--how", metavar="NAME", help="how to decide (default: encoder; direct with a --model)")
    add("--model", metavar="MODEL", help="openai:NAME, hf:PATH-OR-NAME or scripted:FILE")
    add("--base-url", metavar="URL", help="an OpenAI-compatible server (vLLM, Ollama, llama.cpp)")
    add("--network", metavar="NAME", help="what --how jsdrv trains: encoder (default), hf:PATH-OR-NAME or openai:NAME")
    add("--labels", metavar="SET", help=f"label set (default: {default['labels']})")
    add("--train-on", metavar="CORPUS", help=f"what encoder and agents learn from (default: {default['train_on']})")
    add("--data-dir", type=Path, metavar="DIR", help="where corpora lie (default: $HEARSAY_DATA, then the cache)")
    add("--shots", type=int, metavar="K", help=f"how many labelled threads of it (default: {default['shots']})")
    add("--pool", type=int, metavar="N", help=f"unlabelled ones, for an agent to read (default: {default['pool']})")
    add("--seed", type=int, metavar="N", help="which of them (default: 0)")
    add("--prompts", type=Path, metavar="DIR", help="prompt files that replace ours by name")
    add("--concurrency", type=int, metavar="N", help=f"verdicts asked for at once (default: {default['concurrency']})")
    add("--timeout", type=float, metavar="SECONDS", help="for one attempt at a call (default: 60)")
    add("--price", type=float, nargs=2, metavar=("IN", "OUT"), help="USD per million tokens, if not on our list")
    add("--max-cost", type=float, metavar="USD", help="end before a call could bring the bill above this")
    add = result.add_argument_group("rules of the stream").add_argument
    add("--stale", type=float, metavar="HOURS", help="without a post, a thread is over (default: 48; inf for never)")
    add("--at-stale", metavar="WHAT", help=f"{DECIDE} (default) or {DROP} what is over without a decision")
    add("--at-end", metavar="WHAT", help=f"{DECIDE} (default) what is open when the stream ends, or {LEAVE} it open")
    add("--lateness", type=float, metavar="SECONDS", help="hold posts so long, to read them in order (default: 0)")
    add("--leap", type=float, metavar="DAYS", help="further ahead, two lines must agree on the time (default: 30)")
    add("--max-open", type=int, metavar="N", help="beyond, the longest silent is over (default: 100,000)")
    add("--max-posts", type=int, metavar="N", help="a longer thread is decided there (default: 10,000)")
    add("--remember", type=int, metavar="N", help="ids of decided threads remembered (default: 100,000)")
    add("--language", metavar="LANG", help="of threads that name none: en (default) or zh")
    add("--keep-handles", action="store_true", help="show models the user names as they are")
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code (0 it ended, 2 the user's mistake, 130 interrupted)."""
    given = vars(parser().parse_args(arguments))
    if given.get("model", "encoder") != "encoder":
        given.setdefault("how", "direct")
    if "price" in given:
        given["price"] = tuple(given["price"])
    with one_line_errors():
        settings = WatchSettings(**given)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
        from graphs.watching.session import run

        try:
            return run(settings)
        except KeyboardInterrupt:
            return 130
        except BrokenPipeError:  # `| head` has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0


if __name__ == "__main__":
    sys.exit(main())
