"""Methods and debates, opened when they are first asked for: reading, fitting and training, off the event loop."""

import asyncio
import gc
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import Future
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from agents.encoder import Encoder

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

TRAINING = threading.Lock()
"""Held while anything is trained in this process: trainings draw from generators that all threads share."""


PLACES = ("eard", "jsdrv", "scripted", "jsonl", "hf")
"""What stands before a colon where a file or a folder may stand after it."""
_MOST_FILES = 1_000


def on_disk(*names: str | None) -> tuple[tuple[str, int, int], ...]:
    """How the files stand that names such as `eard:DIR` and `scripted:FILE` lead to: path, time and size of each.

    A part of the key under which something is opened, so that it is opened anew when one of them has changed. Of a
    folder's files only those are looked at that lie in it or one level deeper: a caller may name any folder.
    """
    found = []
    for path in map(Path, _places(names)):
        try:
            files = islice((each for depth in ("*", "*/*") for each in path.glob(depth)), _MOST_FILES)
            for file in sorted(files) if path.is_dir() else [path]:
                state = file.stat()
                found.append((str(file), state.st_mtime_ns, state.st_size))
        except (OSError, ValueError):
            continue  # whoever opens it says what is wrong
    return tuple(found)


async def standing(*names: str | None) -> tuple[tuple[str, int, int], ...]:
    """The same, off the event loop."""
    return await asyncio.to_thread(on_disk, *names) if _places(names) else ()


def _places(names: Iterable[str | None]) -> list[str]:
    split = ((name or "").partition(":") for name in names)
    return [place for kind, _, place in split if place and kind in PLACES]


class OpenOnce(Generic[K, V]):
    """Opens what a key describes, once, in a thread of its own.

    Who asks meanwhile waits without holding a thread, and two keys are opened side by side: a user of a server does
    not wait for what another one has described. What could not be opened is tried anew when it is asked for again.
    """

    def __init__(self, open_: Callable[[K], V], keep: int = 8) -> None:
        """Take the function that opens, and how many of the opened to keep: those last asked for.

        Beyond these it keeps what is not open yet, since others wait for it.
        """
        self._open, self._keep = open_, keep
        self._found: OrderedDict[K, Future[V]] = OrderedDict()
        self._lock = threading.Lock()

    async def __call__(self, key: K) -> V:
        """What the key describes; raises what opening it raises."""
        future = self._future(key)
        if future.done():
            return future.result()
        # Shielded: others wait for it too, and it is of use to the next who asks.
        return await asyncio.shield(asyncio.wrap_future(future))

    def _future(self, key: K) -> "Future[V]":
        with self._lock:
            future = self._found.get(key)
            if future is None:
                future = self._found[key] = Future()
                done = [other for other, each in self._found.items() if each.done()]
                old = done[: max(0, len(self._found) - self._keep)]
                for other in old:
                    del self._found[other]
                # A daemon: who stops the server does not wait for a training, which goes on where it was.
                threading.Thread(target=self._run, args=(key, future, bool(old)), name="open", daemon=True).start()
            self._found.move_to_end(key)
            return future

    def _run(self, key: K, future: "Future[V]", dropped: bool) -> None:
        if dropped:
            gc.collect()  # models are full of cycles, and those of what is no longer kept may be gigabytes
        try:
            future.set_result(self._open(key))
        except BaseException as error:
            with self._lock:
                if self._found.get(key) is future:
                    del self._found[key]
            future.set_exception(error)


def encoder() -> "Encoder":
    """The sentence encoder, one for all that is opened here: it is 90 MB, and so may be what it remembers."""
    from corpora.locate import cache_dir

    return _encoder(cache_dir(os.environ))


@lru_cache(maxsize=1)
def _encoder(cache: Path) -> "Encoder":
    from agents.encoder import Encoder

    return Encoder(cache=cache)
