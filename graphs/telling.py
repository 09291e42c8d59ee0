"""What is said while a method is prepared: in the server's log, and in the streams of the runs that wait for it."""

import logging
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context

from langgraph.config import get_stream_writer

_log = logging.getLogger(__name__)


class Telling:
    """Passes on lines about what is prepared under a key, from whichever thread prepares it."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, list[Callable[[dict[str, str]], None]]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def heard(self, key: Hashable) -> Iterator[None]:
        """Within a graph's run: its stream hears what is told of the key, in LangGraph's stream mode `custom`."""
        try:
            # A stream belongs to a run, which it knows by the context that it is written in.
            context, stream = copy_context(), get_stream_writer()
        except (RuntimeError, KeyError):  # nobody runs a graph
            yield
            return

        def write(told: dict[str, str]) -> None:
            with suppress(RuntimeError):  # the event loop of who waited may be gone; others wait for the training too
                context.run(stream, told)

        with self._lock:
            self._waiting.setdefault(key, []).append(write)
        try:
            yield
        finally:
            with self._lock:
                self._waiting[key].remove(write)
                if not self._waiting[key]:
                    del self._waiting[key]

    def tell(self, key: Hashable, line: str) -> None:
        """Say a line to the log and to all who wait."""
        _log.info(line)
        with self._lock:
            for write in self._waiting.get(key, ()):
                write({"training": line})
