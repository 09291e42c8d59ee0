"""Who is told how far a training of JSDRV is."""

from collections.abc import Mapping
from typing import Any, Protocol


class Watcher(Protocol):
    """Who is told how far a training is."""

    def advance(self, what: str, done: int, total: int, numbers: str = "") -> None:
        """So much of a step is done."""

    def say(self, line: str) -> None:
        """Something to remember."""

    def row(self, row: Mapping[str, Any]) -> None:
        """An epoch was validated; see training.jsdrv.validating.validate."""


class Nobody:
    """Watches nothing."""

    def advance(self, what: str, done: int, total: int, numbers: str = "") -> None:  # noqa: D102
        pass

    def say(self, line: str) -> None:  # noqa: D102
        pass

    def row(self, row: Mapping[str, Any]) -> None:  # noqa: D102
        pass
