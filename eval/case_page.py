"""The page of `eval.case`: HTML and CSS in one file, which loads nothing and runs nothing.

Posts are hostile: all text of others is escaped, characters that hide or turn text around are shown as what they are,
and a policy in the page's head forbids it to load or run anything, should something have been overlooked.
"""

from collections.abc import Mapping
from typing import Any

from agents.jsdrv.annotation import STANCES
from corpora.thread import ClaimThread, Post
from eval import annotation_view
from eval.pages.document import asset, document
from eval.pages.escape import safe
from eval.pages.parts import bar, counted
from eval.thread_view import ThreadView, clock_of

Row = dict[str, Any]

WORDS = {"S": "supports", "D": "denies", "Q": "asks", "C": "comments"}
_VERACITIES = {"N": "non-rumor", "T": "true rumor", "F": "false rumor", "U": "unverified rumor"}


def page(view: ThreadView, thread: ClaimThread) -> str:
    """The whole page.

    Args:
        view: What the database knows of the thread in one run.
        thread: The thread as the run judged it.
    """
    rows = annotation_view.of_last(view.annotations, [row["checkpoint"] for row in view.verdicts])
    at = next(iter(rows.values()))["checkpoint"]
    verdict = next(row for row in reversed(view.verdicts) if row["checkpoint"] == at)
    title = safe(f"Thread {thread.id} of {view.run['dataset']}")
    numbers = {post.id: number for number, post in enumerate(thread.posts, 1)}
    replies = [
        _post(post, rows.get(post.id), numbers, unread=bool(verdict["stop_index"]) and number > verdict["stop_index"])
        for number, post in enumerate(thread.posts[1:], 2)
    ]
    body = f"""<main>
<header>
<h1>{title}</h1>
<p>{_made_by(view.run, at)}</p>
<p>{safe(annotation_view.summary(rows))}. {_legend()}</p>
</header>
<h2>The claim</h2>
<ol class="posts">
{_post(thread.source, rows.get(thread.source.id), numbers, claim=True)}
</ol>
<h2>{counted(len(replies), "reply", "replies")}</h2>
<ol class="posts" start="2">
{"".join(replies)}</ol>
<h2>The verdict</h2>
{_verdict(verdict, len(thread.posts))}
</main>"""
    return document(title, body, style=asset("base.css"), language=thread.language)


def _made_by(run: Row, checkpoint: str | None) -> str:
    network = (run["config"] or {}).get("network")
    parts = [f"run {run['run_id']}", f"how {run['how']}", f"network {network}" if network else f"model {run['model']}"]
    parts += [f"seed {run['seed']}", *([f"at {checkpoint}"] if checkpoint else [])]
    return safe(", ".join(parts))


def _legend() -> str:
    keys = (f'<span class="stance {label}">{label}</span> {word}' for label, word in WORDS.items())
    return " ".join(f'<span class="key">{key}</span>' for key in keys)


def _post(post: Post, row: Row | None, numbers: Mapping[str, int], *, claim: bool = False, unread: bool = False) -> str:
    """One post with what was said of it; `unread` where the verdict was given before it."""
    kept = None if row is None else row["kept"]
    kind = "claim" if claim else "unread" if unread else {True: "kept", False: "discarded", None: ""}[kept]
    told = {"unread": "not read", "claim": ""}.get(kind, kind)
    parent = numbers.get(post.parent or "")
    head = [f'<b class="number">{numbers[post.id]}</b>', f"<bdi>{safe(post.author)}</bdi>"]
    head += [f"<span>{clock}</span>"] if (clock := clock_of(post.seconds)) else []
    head += [f'<a href="#post-{parent}">to {parent}</a>'] if parent and parent > 1 else []
    head += [f'<span class="mark">{told}</span>'] if told else []
    return f"""<li id="post-{numbers[post.id]}" class="post {kind}">
<p class="head">{" ".join(head)}</p>
<p class="text" dir="auto">{safe(post.text)}</p>
{_stance(row)}</li>
"""


def _stance(row: Row | None) -> str:
    if row is None:
        return ""
    label, gold = row["label"], row["gold"]
    given = f'<span class="stance {label}">{label}</span> {WORDS[label]}' if label in WORDS else "no stance"
    parts = [f"<span>{given}</span>", _bar({each: (row["probabilities"] or {}).get(each) for each in STANCES})]
    if gold is not None:
        right = "right" if gold == label else "wrong"
        parts.append(f'<span class="{right}">{right}: annotators say {safe(gold)}</span>')
    why = row["explanation"] or row["reason"]
    told = f'<p class="why" dir="auto">{safe(why)}</p>\n' if why else ""
    return f'<p class="said">{" ".join(part for part in parts if part)}</p>\n{told}'


def _bar(odds: Mapping[str, float | None]) -> str:
    """A distribution over stances as one bar; nothing where there are no probabilities."""
    shares = {label: min(max(float(p), 0.0), 1.0) for label, p in odds.items() if p is not None}
    if not shares:
        return ""
    return bar(shares, ", ".join(f"{label} {share:.2f}" for label, share in shares.items()))


def _verdict(row: Row, posts: int) -> str:
    odds = dict(row["probabilities"] or {})
    method = odds.pop("method", None)
    label, gold = row["label"], row["gold"]
    right = "right" if label is not None and label == gold else "wrong"
    lines = []
    if label is None:
        lines.append(f"<p><strong>none</strong>: {safe(row['outcome'])}, {safe(row['reason'])}</p>")
    else:
        lines.append(f"<p><strong>{_spelled(label)}</strong></p>")
    if gold is not None:
        lines.append(f'<p class="{right}">{right}: the corpus says {_spelled(gold)}</p>')
    lines.append(f"<p>given after {row['stop_index'] or posts} of {counted(posts, 'post', 'posts')}</p>")
    if odds:
        lines.append(f"<dl>{''.join(_chance(name, odds[name]) for name in odds)}</dl>")
    if method:
        lines.append(f'<p class="why">probabilities: {safe(method)}</p>')
    if row["rationale"]:
        lines.append(f'<p class="text" dir="auto">{safe(row["rationale"])}</p>')
    return f'<section class="verdict">\n{chr(10).join(lines)}\n</section>'


def _spelled(label: str) -> str:
    return safe(f"{label}, {_VERACITIES[label]}" if label in _VERACITIES else label)


def _chance(name: str, probability: float) -> str:
    share = min(max(float(probability), 0.0), 1.0)
    return f"<div><dt>{_spelled(name)}</dt><dd>{bar({'chance': share})} {share:.2f}</dd></div>"
