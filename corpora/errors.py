"""The user's mistakes, told apart from our own."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn


class PublicError(RuntimeError):
    """An error whose text is meant for whoever asked, however far away.

    A LangGraph server keeps the text of exceptions that are none of Python's own to itself, hence RuntimeError; and
    MCP and A2A clients it shows only what it files under "error", hence `model_dump`, by which it serialises.
    """

    def model_dump(self) -> dict[str, str]:
        """What a caller of a server is sent."""
        return {"error": f"{type(self).__name__}: {self}", "message": str(self)}


class UsageError(PublicError):
    """Something the user can put right: one line that says what is wrong and what to do."""


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Print a UsageError as one line on stderr and exit with code 2; anything else keeps its traceback.

    But for Ctrl-C, code 130: a command that has something to keep or to say answers it itself, and what comes here fell
    while libraries were imported, or is a second one.
    """
    try:
        yield
    except UsageError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None


class ArgumentParser(argparse.ArgumentParser):
    """argparse, with its mistakes in one line too, and no option taken for one that it only begins like."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Print the mistake and exit with code 2."""
        self.exit(2, f"error: {message}; {self.prog} --help lists the options\n")
