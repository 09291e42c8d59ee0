"""`python -m eval.kept`: the posts that a training's selector kept beside those it discarded, drawn and in numbers."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import ArgumentParser, UsageError, one_line_errors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console

    from agents.jsdrv.annotation import Annotation
    from eval.kept_measures import Measures

EPILOG = """\
Each point is a post of one epoch, where the selector sees it: the mean of the vectors of its text and of the
explanation of its stance, laid out by t-SNE. A picture of groups proves little, so numbers stand beside it: the AUC
with which a logistic regression tells kept posts of claims that it has not seen from discarded ones (0.5: it cannot),
the same from the stances alone, and how probable the selector held it to keep a post.

examples:
  python -m eval.kept models/jsdrv -o kept.png
  python -m eval.kept ~/.cache/hearsay/jsdrv/3f2a91c04b7d5e60 --dataset pheme --epoch 1 -o kept.png
"""


@dataclass(frozen=True)
class Post:
    """A post that the selector decided about."""

    claim: str
    text: str
    annotation: "Annotation"
    kept: bool
    probability: float | None
    """Of being kept, as the selector held it; None where it was not asked."""
    gold: str | None
    """Its stance, where the corpus says."""


def parser() -> ArgumentParser:
    """The command line of `python -m eval.kept`."""
    result = ArgumentParser(
        prog="python -m eval.kept",
        description="Show which posts JSDRV's selector kept in a training, and which it discarded.",
        epilog=EPILOG,
    )
    add = result.add_argument
    add("folder", type=Path, metavar="DIR", help="of a training: --out of graphs.annotate_select_finetune, or a run's")
    add(
        "-o",
        "--out",
        type=Path,
        default=Path("kept.png"),
        metavar="FILE.png",
        help="the picture; an SVG lies beside it",
    )
    add("--epoch", type=int, metavar="N", help="which epoch (default: the last that selected)")
    add("--dataset", metavar="NAME", help="the corpus of its claims, if the folder does not tell")
    add("--data-dir", type=Path, metavar="DIR", help="where the corpus lies")
    add("--limit", type=int, default=2000, metavar="N", help="at most N posts, drawn at random (default: %(default)s)")
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    options = parser().parse_args(arguments)
    with one_line_errors():
        from rich.console import Console

        if options.limit < 1:
            raise UsageError(f"--limit {options.limit}: want at least 1")
        if options.out.suffix != ".png":
            raise UsageError(f"-o {options.out}: want a name that ends in .png")
        try:  # before work that could not be drawn
            options.out.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"-o {options.out}: {error.strerror or error}") from None
        about, epoch = read_about(options.folder), last_epoch(options.folder, options.epoch)
        posts = read_posts(options.folder, epoch, options.dataset or about.get("dataset"), options.data_dir)
        _show(options, str(about.get("encoder") or ""), epoch, posts, Console())


def read_about(folder: Path) -> dict[str, Any]:
    """What a training was asked for.

    Raises:
        UsageError: there is none in the folder.
    """
    from training.jsdrv.files import get_json

    try:
        found = get_json(folder / "training" / "request.json")
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder / 'training' / 'request.json'}: {error}") from None
    if not isinstance(found, dict):
        raise UsageError(f"{folder} holds no training of JSDRV: python -m graphs.annotate_select_finetune makes one")
    return found


def last_epoch(folder: Path, wanted: int | None = None) -> int:
    """The last epoch that has selected, or the one that is wanted.

    Raises:
        UsageError: it has not selected.
    """
    found = []
    for path in (folder / "training").glob("epoch-*"):
        number = re.fullmatch(r"epoch-(\d+)", path.name)
        if number and all((path / f"{name}.json").is_file() for name in ("annotations", "selection")):
            found.append(int(number[1]))
    if not found:
        raise UsageError(f"no epoch of {folder} has selected anything: it has epochs=0, or is not that far")
    if wanted is not None and wanted not in found:
        raise UsageError(
            f"--epoch {wanted} of {folder} has not selected; there are: {', '.join(map(str, sorted(found)))}"
        )
    return max(found) if wanted is None else wanted


def read_posts(folder: Path, epoch: int, dataset: str | None, data_dir: Path | None) -> list[Post]:
    """The posts that the selector decided about in an epoch: those that SD gave a stance.

    Raises:
        UsageError: nobody knows of which corpus they are, or it has them no more.
    """
    from corpora.catalog import load
    from training.jsdrv.annotating import posts_of
    from training.jsdrv.files import get_json

    if not dataset:
        raise UsageError(f"{folder} does not tell what corpus it learned from: add --dataset NAME")
    threads = {thread.id: thread for thread in load(dataset, data_dir=data_dir, environ=os.environ).threads}
    place, found, missing = folder / "training" / f"epoch-{epoch:03d}", list[Post](), 0
    try:
        annotated = {row["id"]: posts_of(row) for row in get_json(place / "annotations.json")}
        for row in get_json(place / "selection.json")["claims"]:
            thread, annotations = threads.get(row["id"]), annotated[row["id"]]
            for post in row["posts"]:
                number = post["number"]
                if annotations[number].label is None:
                    continue
                if thread is None or number >= len(thread.posts) or thread.posts[number].id != post["id"]:
                    missing += 1
                    continue
                gold = thread.gold.stances.get(post["id"])
                text = thread.posts[number].text
                found.append(Post(row["id"], text, annotations[number], post["kept"], post["probability"], gold))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{place} cannot be read: {error!r}"[:300]) from None
    if missing:
        raise UsageError(
            f"{dataset} has not {missing} of the posts in {place}: --dataset names the corpus it learned from"
        )
    return found


def vectors_of(posts: Sequence[Post], encoder: str) -> "NDArray[np.float64]":
    """The posts as the selector sees them: (n, dimensions)."""
    from agents.encoder import EMBEDDED, Encoder
    from corpora.locate import cache_dir
    from training.jsdrv.selector import explanation_vectors

    embed = Encoder(encoder or EMBEDDED, cache=cache_dir(os.environ))
    return explanation_vectors(embed, [post.text for post in posts], [post.annotation for post in posts])


def _show(options: Any, encoder: str, epoch: int, posts: Sequence[Post], console: "Console") -> None:
    import numpy as np

    from eval import kept_measures, kept_plot

    if len(posts) > options.limit:
        drawn = np.random.default_rng(0).choice(len(posts), options.limit, replace=False)
        console.print(f"{options.limit} of {len(posts)} posts, drawn at random", style="dim")
        posts = [posts[place] for place in sorted(drawn.tolist())]
    if len(posts) < kept_measures.LEAST:
        raise UsageError(f"epoch {epoch} of {options.folder} has {len(posts)} posts to show: too few for a picture")
    vectors = vectors_of(posts, encoder)
    measures: Measures = kept_measures.measure(posts, vectors)
    title = f"{options.folder.name}, epoch {epoch}: {len(posts)} posts of {len({post.claim for post in posts})} claims"
    kept_measures.show(title, posts, measures, console)
    paths = kept_plot.draw(title, posts, kept_plot.layout(vectors), measures, options.out)
    console.print()
    where = f"drawn in {' and '.join(map(str, paths))}"
    console.print(where, style="dim", markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
