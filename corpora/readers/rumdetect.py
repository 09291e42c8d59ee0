"""Twitter15 and Twitter16 (rumdetect2017; Ma et al. 2017): four veracity classes.

`label.txt` (`label:id`) and `source_tweets.txt` (`id<TAB>text`) are official. `replies/<id>.txt`, one reply
text a line, comes from a later re-publication and has neither ids nor times, so a reply's id here is its line
number and the thread is untimed. The official `tree/` has times, but of retweets and of ids without text:
nothing joins it to the replies, and it is not read. Without `replies/` a thread is its source alone.
"""

from collections.abc import Iterator
from pathlib import Path

from corpora.clean import RawPost, RawThread, Tally, printable
from corpora.errors import UsageError
from corpora.readers.files import files_below, lines_of, read_text, rumor_of
from corpora.thread import Veracity

_VERACITIES: dict[str, Veracity] = {"non-rumor": "N", "true": "T", "false": "F", "unverified": "U"}


def read(root: Path, tally: Tally, corpus: str) -> Iterator[RawThread]:
    """Read the corpus of that name ("twitter15" or "twitter16") below root; the official zip holds both.

    Raises:
        UsageError: there is no label file, or its first line is none.
    """
    folder = _folder(root, corpus)
    labels: dict[str, Veracity] = {}
    for number, line in lines_of(read_text(folder / "label.txt", tally)):
        label, colon, identifier = line.strip().partition(":")
        if label in _VERACITIES:
            labels[identifier] = _VERACITIES[label]
        elif not labels and not colon:
            path = printable(folder / "label.txt", 300)
            raise UsageError(f"{path}, line {number}: expected label:id")
        else:
            tally["unknown_labels"] += 1
    for _, line in lines_of(read_text(folder / "source_tweets.txt", tally)):
        identifier, tab, text = line.partition("\t")
        if not tab:
            tally["malformed_records"] += 1
            continue
        veracity = labels.pop(identifier, None)
        posts = [RawPost(identifier, text), *_replies(folder / "replies", identifier, tally)]
        yield RawThread(identifier, identifier, posts, rumor_of(veracity), veracity)
    tally["labels_without_thread"] += len(labels)


def _folder(root: Path, corpus: str) -> Path:
    """The folder with the label file: that of the corpus' name if there are several."""
    folders = [path.parent for path in files_below(root, "label.txt")]
    named = [folder for folder in folders if folder.name.casefold() == corpus]
    if len(named) == 1 or len(folders) == 1:
        return (named or folders)[0]
    raise UsageError(f"no folder {corpus} with a label.txt in {printable(root, 300)}")


def _replies(folder: Path, identifier: str, tally: Tally) -> Iterator[RawPost]:
    # the id comes from a file: it must not be one that leads elsewhere
    path = folder / f"{identifier}.txt"
    if not identifier.isalnum() or not path.is_file():
        return
    for number, line in enumerate(read_text(path, tally).removesuffix("\n").split("\n"), start=1):
        yield RawPost(f"{identifier}:{number}", line)
