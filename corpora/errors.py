"""The user's mistakes, told apart from our own."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


class UsageError(Exception):
    """Something the user can put right: one line that says what is wrong and what to do."""


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Print a UsageError as one line on stderr and exit with code 2; anything else keeps its traceback."""
    try:
        yield
    except UsageError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(2) from None
