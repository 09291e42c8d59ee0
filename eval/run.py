"""The main command: judge a corpus with a method over several seeds, and print what it is worth."""

import signal
import sys
from collections.abc import Sequence

from corpora.errors import one_line_errors
from eval.command_line import read_config


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code (0 done, 1 stopped early, 2 the user's mistake, 130 Ctrl-C)."""
    with one_line_errors():
        config = read_config(arguments)
        # Ending by SIGTERM is ending by Ctrl-C: nothing is lost, and the table so far is printed. A shell that
        # starts us in the background has SIGINT ignored, and then neither would end us.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
        # Imported only now: --help and a mistyped option need none of the libraries.
        if config.attack:
            from eval.attack_report import dry_run, run
        elif config.controls:
            from eval.controls import dry_run, run
        else:
            from eval.dry_run import dry_run
            from eval.session import run

        return dry_run(config) if config.dry_run else run(config)


if __name__ == "__main__":
    sys.exit(main())
