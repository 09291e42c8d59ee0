r"""RumorEval-S, the JSDRV authors' test set (Yang et al. 2024): claims with veracity, replies with stance.

`RawText.zip` (or its content) holds a file a claim: `claimID:<id>\t<text>`, then `replyID:<id>\t<text>`
lines; a line that starts neither continues the post before. `ClaimLabel.txt` and `StanceLabel.txt` give the
labels. There are no times, authors or parents; handles are already a bare "@".
"""

from collections.abc import Iterator
from pathlib import Path

from corpora.clean import RawPost, RawThread, Tally, printable
from corpora.errors import UsageError
from corpora.readers.files import decode, files_below, lines_of, nothing_read, read_text, rumor_of
from corpora.thread import Stance, Veracity
from corpora.unpack import read_zip

# Unpacked bytes of RawText.zip, which are held in memory; the published one has less than 2 MiB.
_MAX_BYTES = 1 << 28
_STANCES: dict[str, Stance] = {"S": "S", "D": "D", "Q": "Q", "C": "C"}
_VERACITIES: dict[str, Veracity] = {"NR": "N", "TR": "T", "FR": "F", "UR": "U"}


def read(root: Path, tally: Tally) -> Iterator[RawThread]:
    """Read every claim below root.

    Raises:
        UsageError: a label file or the raw texts are missing, or the zip is damaged or hostile.
    """
    veracities = _labels(root, "ClaimLabel.txt", tally)
    stances = _labels(root, "StanceLabel.txt", tally)
    found = False
    for text in _raw_texts(root, tally):
        thread = _thread(text, veracities, stances, tally)
        if thread is None:
            tally["malformed_records"] += 1
        else:
            found = True
            yield thread
    if not found:
        raise nothing_read(root, "RawText.zip with a file a claim")
    tally["labels_without_thread"] += len(veracities) + len(stances)


def _labels(root: Path, name: str, tally: Tally) -> dict[str, str]:
    """Claim or reply id -> label; the publisher's lines have stray spaces."""
    path = next(iter(files_below(root, name)), None)
    if path is None:
        raise UsageError(f"RumorEval-S in {printable(root, 300)} lacks {name}")
    labels = {}
    for _, line in lines_of(read_text(path, tally)):
        key, _, label = line.partition("\t")
        labels[key.partition(":")[2].strip()] = label.strip()
    return labels


def _raw_texts(root: Path, tally: Tally) -> Iterator[str]:
    """The text of each claim's file, in order of name, from the zip or from where somebody unpacked it."""
    zipped = next(iter(files_below(root, "RawText.zip")), None)
    if zipped is not None:
        for _, content in sorted(read_zip(zipped, max_bytes=_MAX_BYTES)):
            yield decode(content, tally)
        return
    for path in sorted(files_below(root, "*.txt"), key=lambda path: path.name):
        if not path.name.endswith("Label.txt"):
            yield read_text(path, tally)


def _thread(text: str, veracities: dict[str, str], stances: dict[str, str], tally: Tally) -> RawThread | None:
    posts: list[RawPost] = []
    for _, line in lines_of(text):
        key, tab, body = line.partition("\t")
        kind, _, identifier = key.partition(":")
        if tab and kind == ("replyID" if posts else "claimID"):
            identifier = identifier.strip()
            stance = stances.pop(identifier, None)
            tally["unknown_labels"] += stance is not None and stance not in _STANCES
            posts.append(RawPost(identifier, body, stance=_STANCES.get(stance or "")))
        elif posts:
            tally["continued_lines"] += 1
            posts[-1] = posts[-1]._replace(text=f"{posts[-1].text}\n{line}")
        else:
            return None
    if not posts:
        return None
    claim = posts[0].id
    label = veracities.pop(claim, None)
    tally["unknown_labels"] += label is not None and label not in _VERACITIES
    veracity = _VERACITIES.get(label or "")
    return RawThread(claim, claim, posts, rumor_of(veracity), veracity)
