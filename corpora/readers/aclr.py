r"""The ACLR format (Lin et al. 2022): `*data*.txt` beside `*label*.txt`, tab-separated, one post a line.

Data: root id, index of the parent (`None` for the source), own index from 1, minutes after the source, text.
Label: root id, then 1, `rumor` or `false` for a rumor, 0, `non-rumor` or `news` for none.
The language is "zh" if most letters of the source posts are Han, else "en".
"""

from collections.abc import Iterator
from pathlib import Path

from corpora.clean import RawPost, RawThread, Tally, language_of, printable
from corpora.errors import UsageError
from corpora.readers.files import files_below, lines_of, read_text, seconds_of
from corpora.thread import RumorLabel

_LABELS: dict[str, RumorLabel] = {
    "1": "rumor",
    "rumor": "rumor",
    "false": "rumor",
    "0": "non-rumor",
    "non-rumor": "non-rumor",
    "news": "non-rumor",
}


def read(path: Path, tally: Tally) -> Iterator[RawThread]:
    """Read a data file, or the only one below a folder, and the label file beside it.

    Raises:
        UsageError: no pair of files, more than one, or a first line that is not of the format.
    """
    data, labels = find_files(path)
    rumor = _read_labels(labels, tally)
    threads: dict[str, RawThread] = {}
    sources: list[str] = []
    for number, line in lines_of(read_text(data, tally)):
        root, *fields = line.split("\t", 4)
        minutes = seconds_of(fields[2]) if len(fields) >= 3 else None
        if minutes is None or not fields[1].isdecimal():
            if not threads:
                raise UsageError(
                    f"{printable(data, 300)}, line {number}: expected root id, parent index, own index, "
                    "minutes and text, separated by tabs"
                )
            tally["malformed_records"] += 1
            continue
        thread = threads.setdefault(root, RawThread(root, "", [], rumor.pop(root, None)))
        parent, index = fields[:2]
        text = fields[3] if len(fields) == 4 else ""
        if parent == "None" and not thread.source:
            thread.source = index
            sources.append(text)
        # rounded: 7.27 * 60 is 436.2, not the 436.19999999999999 of binary arithmetic
        seconds = round(minutes * 60, 3)
        thread.posts.append(RawPost(index, text, seconds, "", None if parent == "None" else parent))
    tally["labels_without_thread"] += len(rumor)
    language = language_of(sources)
    for thread in threads.values():
        thread.language = language
        yield thread


def find_files(path: Path) -> tuple[Path, Path]:
    """The data file and its label file.

    Raises:
        UsageError: there is no such pair below the folder, or more than one.
    """
    texts = [path] if path.is_file() else files_below(path, "*.txt")
    pairs = []
    for data in texts:
        before, word, after = data.name.rpartition("data")
        labels = data.with_name(f"{before}label{after}")
        if word and labels.is_file():
            pairs.append((data, labels))
    if len(pairs) == 1:
        return pairs[0]
    if not pairs:
        raise UsageError(f"no *data*.txt with its *label*.txt in {printable(path, 300)}")
    names = ", ".join(printable(data.name) for data, _ in pairs)
    raise UsageError(f"several corpora in {printable(path, 300)}: name one of {names}")


def _read_labels(path: Path, tally: Tally) -> dict[str, RumorLabel]:
    """Root id -> label."""
    labels: dict[str, RumorLabel] = {}
    for number, line in lines_of(read_text(path, tally)):
        root, tab, label = line.partition("\t")
        known = _LABELS.get(label.strip().lower())
        if known is not None:
            labels[root] = known
        elif not labels and not tab:
            raise UsageError(f"{printable(path, 300)}, line {number}: expected root id, a tab, and 0 or 1")
        else:
            tally["unknown_labels"] += 1
    return labels
