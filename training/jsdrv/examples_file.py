"""Examples for a chat model as a JSON file: the user's own posts, in the user's own folder."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

from agents.jsdrv.annotation import STANCES, VERACITIES, Annotation, StanceExample, VeracityExample
from agents.jsdrv.examples import Example, explained
from agents.jsdrv.reading import Kind
from corpora.errors import UsageError
from corpora.thread import ClaimThread, Language, Post


def write_examples(path: Path, examples: Mapping[Kind, Sequence[Example]]) -> None:
    """Write the examples of both kinds, the most recent last."""
    content = {kind: [_plain(each) for each in some] for kind, some in examples.items()}
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_examples(path: Path) -> dict[Kind, list[Example]]:
    """Read the examples of both kinds.

    Raises:
        UsageError: the file is not there, or not one of ours.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {
            "stance": [_stance(each) for each in content["stance"]],
            "veracity": [_veracity(each) for each in content["veracity"]],
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"cannot read the examples {path}: {type(error).__name__}: {error}") from error


def _plain(example: Example) -> dict[str, Any]:
    thread = example.thread
    plain: dict[str, Any] = {
        "thread": thread.id,
        "language": thread.language,
        "posts": [asdict(post) for post in thread.posts],
        "label": example.label,
        "explanation": example.explanation,
    }
    if isinstance(example, StanceExample):
        return plain | {"number": example.number}
    return plain | {"kept": {number: asdict(annotation) for number, annotation in example.kept.items()}}


def _stance(plain: dict[str, Any]) -> Example:
    thread, number = _thread(plain), plain["number"]
    if plain["label"] not in STANCES or not isinstance(number, int) or not 0 <= number < len(thread.posts):
        raise ValueError("no stance of a post")
    return explained(StanceExample(thread, number, plain["label"]), str(plain["explanation"]))


def _veracity(plain: dict[str, Any]) -> Example:
    thread = _thread(plain)
    kept = {int(number): Annotation(**annotation) for number, annotation in plain["kept"].items()}
    if plain["label"] not in VERACITIES or not all(0 <= number < len(thread.posts) for number in kept):
        raise ValueError("no veracity of a claim")
    if not all(annotation.label in (*STANCES, None) for annotation in kept.values()):
        raise ValueError("no stance of a post")
    return explained(VeracityExample(thread, kept, plain["label"]), str(plain["explanation"]))


def _thread(plain: dict[str, Any]) -> ClaimThread:
    posts = tuple(Post(**post) for post in plain["posts"])
    if not posts or plain["language"] not in get_args(Language):
        raise ValueError("no thread")
    if not all(isinstance(text, str) for post in posts for text in (post.id, post.text, post.author)):
        raise ValueError("no posts")
    return ClaimThread(str(plain["thread"]), posts, language=plain["language"])
