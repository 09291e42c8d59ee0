"""The corpora by name: what each is, where it may lie, who reads it, and what its papers say is in it."""

import difflib
import gc
import os
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from corpora.clean import DROPS_POSTS, RULES, RawThread, Tally, build_thread, count_as_read, encodable, printable
from corpora.corpus import Corpus, Download, LoadedCorpus, Reader, fingerprint
from corpora.errors import UsageError
from corpora.locate import find, own_name, places, unpacked
from corpora.readers import aclr, eard, jsonl, pheme, pstance, rumdetect, rumoreval_s, rumoureval
from corpora.thread import ClaimThread

__all__ = ["CORPORA", "FORMATS", "Corpus", "LoadedCorpus", "fingerprint", "load", "whereabouts"]

BINARY = ("rumor/non-rumor",)
ALL = ("rumor/non-rumor", "false/non-rumor", "false/true", "veracity")
VERACITY_FIRST = ("veracity", "rumor/non-rumor", "false/non-rumor", "false/true")
SAMPLE = Path(__file__).parent / "sample" / "threads.jsonl"
_RUMDETECT = (
    "download rumdetect2017.zip, which the authors share (the paper's page links it), "
    "and put the zip as it is into a data folder"
)
_ACLR_REPOSITORY = "https://raw.githubusercontent.com/DanielLin97/ACLR4RUMOR-NAACL2022/main/data"


CORPORA: dict[str, Corpus] = {
    "pheme": Corpus(
        title="PHEME, rumours and non-rumours of nine breaking events",
        paper="Zubiaga et al. 2016; Kochkina et al. 2018",
        licence="CC BY 4.0 (annotations)",
        reader=pheme.read,
        folders=("pheme", "PHEME_veracity", "all-rnr-annotated-threads", "pheme-rnr-dataset"),
        label_sets=ALL,
        language="en",
        published={
            **{"threads_read": 6425, "rumor": 2402, "non-rumor": 4023},
            **{"N": 4023, "T": 1067, "F": 638, "U": 697},
        },
        downloads=(Download("https://figshare.com/ndownloader/files/11767817", "PHEME_veracity.tar.bz2", 1 << 30),),
    ),
    "semeval8": Corpus(
        title="RumourEval 2017 (SemEval-2017 task 8)",
        paper="Derczynski et al. 2017",
        licence="CC BY 4.0 (annotations)",
        reader=rumoureval.read,
        folders=("semeval8", "semeval-2017-task8", "semeval2017-task8", "rumoureval2017"),
        label_sets=("veracity", "false/true"),
        language="en",
        published={
            **{"threads_read": 325, "posts_read": 5568, "T": 145, "F": 74, "U": 106},
            **{"train": 272, "dev": 25, "test": 28},
        },
        steps="download 'semeval2017-task8-dataset' and the test data with gold labels from the task's page, "
        "https://alt.qcri.org/semeval2017/task8/, and put both below one folder semeval8",
        note="The JSDRV paper counts train and dev: 297 threads, 4,519 posts; T 137 F 62 U 98; "
        "S 910 D 334 Q 358 C 2,907, which sums to 4,509: the annotation files say D 344.",
    ),
    "rumoreval-s": Corpus(
        title="RumorEval-S, the JSDRV authors' test set",
        paper="Yang et al. 2024 (JSDRV)",
        licence="none stated",
        reader=rumoreval_s.read,
        folders=("rumoreval-s", "rumoreval_s", "rumorevals"),
        label_sets=("veracity", "false/non-rumor", "false/true"),
        language="en",
        published={"threads_read": 425, "T": 145, "F": 74, "U": 106, "N": 100},
        steps="get RawText.zip, ClaimLabel.txt and StanceLabel.txt from the JSDRV authors' repository "
        "and put them into a folder rumoreval-s",
        note="The paper counts 6,718 posts with stance S 1,320 D 522 Q 531 C 4,345; the publisher's files "
        "have 425 claims, 6,916 replies and 6,462 stance labels, 42 of them of claims.",
    ),
    "twitter15": Corpus(
        title="Twitter15 (rumdetect2017)",
        paper="Ma et al. 2017",
        licence="none stated",
        reader=partial(rumdetect.read, corpus="twitter15"),
        folders=("twitter15", "rumdetect2017", "rumor_detection_acl2017"),
        label_sets=VERACITY_FIRST,
        language="en",
        published={"threads_read": 1490, "N": 374, "T": 372, "F": 370, "U": 374},
        steps=_RUMDETECT,
        note="The JSDRV paper counts 1,308 claims, with T 190.",
    ),
    "twitter16": Corpus(
        title="Twitter16 (rumdetect2017)",
        paper="Ma et al. 2017",
        licence="none stated",
        reader=partial(rumdetect.read, corpus="twitter16"),
        folders=("twitter16", "rumdetect2017", "rumor_detection_acl2017"),
        label_sets=VERACITY_FIRST,
        language="en",
        published={"threads_read": 818, "N": 205, "T": 205, "F": 205, "U": 203},
        steps=_RUMDETECT,
        note="The JSDRV paper counts N 205 T 205 F 207 U 201, also 818 in all.",
    ),
    "twitter-covid19": Corpus(
        title="Twitter-COVID19",
        paper="Lin et al. 2022 (ACLR)",
        licence="none stated",
        reader=aclr.read,
        folders=("twitter-covid19", "twitter_covid19"),
        label_sets=BINARY,
        language="en",
        published={"threads_read": 400},
        downloads=(Download(f"{_ACLR_REPOSITORY}/Twitter/COVID-19/Twitter-COVID19.7z", "twitter-covid19.7z", 1 << 30),),
        note="148 of the threads are said to be rumors; not checked against the corpus itself.",
    ),
    "weibo-covid19": Corpus(
        title="Weibo-COVID19",
        paper="Lin et al. 2022 (ACLR)",
        licence="none stated",
        reader=aclr.read,
        folders=("weibo-covid19", "weibo_covid19"),
        label_sets=BINARY,
        language="zh",
        published={"threads_read": 411, "rumor": 264, "non-rumor": 147},
        downloads=(
            Download(
                f"{_ACLR_REPOSITORY}/Weibo/weibo_covid19_data.txt",
                "weibo-covid19/weibo_covid19_data.txt",
                1 << 30,
            ),
            Download(
                f"{_ACLR_REPOSITORY}/Weibo/weibo_covid19_label.txt",
                "weibo-covid19/weibo_covid19_label.txt",
                1 << 20,
            ),
        ),
        note="Published are the labels of the label file; the paper's table says 399 threads.",
    ),
    "beard": Corpus(
        title="BEARD, made for early detection",
        paper="Zeng and Gao 2022 (HEARD)",
        licence="tweet ids only; texts under Twitter's terms",
        reader=eard.read,
        folders=("beard",),
        label_sets=BINARY,
        language="en",
        published={"threads_read": 1198, "rumor": 531, "non-rumor": 667},
        steps="fetch the tweets of the ids in https://github.com/znhy1024/HEARD and write them as beard.json "
        "in the EARD format (docs/corpora/formats.md)",
    ),
    "twitter": Corpus(
        title="TWITTER, 992 events of 2015",
        paper="Ma et al. 2016; as used by Zeng and Gao",
        licence="tweet ids only; texts under Twitter's terms",
        reader=eard.read,
        folders=("twitter",),
        label_sets=BINARY,
        language="en",
        published={"threads_read": 992, "rumor": 498, "non-rumor": 494},
        steps="fetch the tweets of the ids that Ma et al. 2016 publish (rumdect.zip) and write them as "
        "twitter.json in the EARD format (docs/corpora/formats.md)",
    ),
    "p-stance": Corpus(
        title="P-Stance, stance of tweets towards politicians",
        paper="Li et al. 2021",
        licence="none stated for the texts",
        reader=pstance.read,
        folders=("p-stance", "pstance"),
        label_sets=(),
        language="en",
        published={"threads_read": 21574},
        steps="download the nine raw_*.csv files from the folder that "
        "https://github.com/chuchun8/PStance links and put them into a folder p-stance",
        note="21,574 tweets, each read as the one reply to a claim.",
    ),
    "sample": Corpus(
        title="Hearsay's own fictional threads, bundled",
        paper="written for this project",
        licence="CC0",
        reader=jsonl.read,
        folders=(),
        label_sets=ALL,
        language="en, zh",
        published={"threads_read": 192, "rumor": 96, "non-rumor": 96, "N": 96, "T": 32, "F": 32, "U": 32},
    ),
}

FORMATS: dict[str, tuple[Reader, tuple[str, ...]]] = {
    "aclr": (aclr.read, BINARY),
    "eard": (eard.read, BINARY),
    "jsonl": (jsonl.read, ALL),
}
"""Format -> its reader and the label sets it can carry."""


def load(
    name: str, *, data_dir: Path | None = None, keep_handles: bool = False, environ: Mapping[str, str]
) -> LoadedCorpus:
    """Read a corpus by its name, or any path as FORMAT:PATH.

    Args:
        name: A key of CORPORA; or "aclr:", "eard:" or "jsonl:" and a file, folder or archive, which may also
            be a bare name below the data folders.
        data_dir: Where to look first.
        keep_handles: Leave authors and @mentions as published.
        environ: For $HEARSAY_DATA and $XDG_CACHE_HOME.

    Raises:
        UsageError: unknown or missing corpus, or files that cannot be right.
    """
    path = whereabouts(name, data_dir=data_dir, environ=environ)
    if path is None:
        looked_in = ", ".join(str(place) for place in places(data_dir, environ))
        wanted = " or ".join(CORPORA[name].folders) if name in CORPORA else name.partition(":")[2]
        way_on = f"`python -m corpora fetch {name}`" if name in CORPORA else "another path"
        raise UsageError(
            f"{printable(name)} is not here: no folder or archive {printable(wanted, 300)} in {looked_in}; "
            f"go on with {way_on}, or with `--dataset sample`"
        )
    kind, _, _ = name.partition(":")
    reader, label_sets = FORMATS[kind] if kind in FORMATS else (CORPORA[name].reader, CORPORA[name].label_sets)
    tally: Tally = Counter()
    threads = _build(reader(unpacked(path, environ), tally), tally, keep_handles)
    if not tally["threads_read"]:
        raise UsageError(f"no thread in {printable(path, 300)}: the files of {printable(name)} are there, but empty")
    as_read = {key: n for key, n in tally.items() if key not in RULES and n}
    counts = {
        "threads_read": tally["threads_read"],
        "posts_read": tally["posts_read"],
        "threads": len(threads),
        "posts": tally["posts_read"] - sum(tally[rule] for rule in DROPS_POSTS),
        **{rule: tally[rule] for rule in RULES if tally[rule]},
    }
    return LoadedCorpus(
        name if name in CORPORA else _reported_name(kind, path),
        threads,
        counts,
        as_read,
        CORPORA[name].published if name in CORPORA else {},
        fingerprint(threads),
        label_sets,
        path,
    )


def whereabouts(name: str, *, data_dir: Path | None, environ: Mapping[str, str]) -> Path | None:
    """Where a corpus lies, None if nowhere. Nothing is unpacked or read.

    Raises:
        UsageError: no corpus or format has that name.
    """
    kind, colon, path = name.partition(":")
    if name == "sample":
        return SAMPLE
    if name in CORPORA:
        return find(CORPORA[name].folders, places(data_dir, environ))
    if colon and kind in FORMATS and path:
        expanded = os.path.expanduser(path)
        return Path(expanded) if os.path.exists(expanded) else find([path], places(data_dir, environ))
    close = difflib.get_close_matches(name, CORPORA, 1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise UsageError(
        f"no corpus {printable(name)!r}; {hint}known: {', '.join(CORPORA)}, "
        f"or {', '.join(f'{kind}:PATH' for kind in FORMATS)}"
    )


def _build(raw_threads: Iterator[RawThread], tally: Tally, keep_handles: bool) -> list[ClaimThread]:
    """The cleaned threads, the first of each id."""
    threads: list[ClaimThread] = []
    seen: set[str] = set()
    # a million small objects that all stay: looking for garbage among them again and again doubles the time
    collecting = gc.isenabled()
    gc.disable()
    try:
        for raw in raw_threads:
            raw = encodable(raw, tally)
            count_as_read(raw, tally)
            if raw.id in seen:
                tally["duplicate_threads"] += 1
                tally["posts_of_duplicate_threads"] += len(raw.posts)
                continue
            thread = build_thread(raw, tally, keep_handles=keep_handles)
            if thread is not None:
                seen.add(raw.id)
                threads.append(thread)
    finally:
        if collecting:
            gc.enable()
    return threads


def _reported_name(kind: str, path: Path) -> str:
    """A path's own name, which must never pass for a corpus of the catalog or one of its files."""
    name = printable(own_name(path.resolve()))
    taken = {_letters(known) for known in CORPORA}
    for corpus in CORPORA.values():
        taken.update(map(_letters, corpus.folders))
        taken.update(_letters(own_name(Path(download.path))) for download in corpus.downloads)
    return f"{kind}:{name}" if _letters(name) in taken else name


def _letters(name: str) -> str:
    """A name as a reader sees it at a glance."""
    return "".join(character for character in unicodedata.normalize("NFKC", name).casefold() if character.isalnum())
