"""What debaters get to see: comments separated by stance (S2MAD, equations 1 and 2), quoted so that they stay data."""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from agents.debate.transcript import Scored
from agents.replies import THOUGHT, clean
from agents.verifiers.vanilla import COMMENTS, draw
from corpora.thread import ClaimThread, Language

MAX_REPLY = 4_000
"""Characters of a speaker's reply that others are shown."""
MAX_QUOTE = 100
_STANCES: dict[Language, tuple[str, str, str]] = {
    "en": ("supports", "opposes", "(none)"),
    "zh": ("支持", "反对", "（无）"),
}


def separate(scores: Mapping[int, float | None], k: int) -> tuple[list[int], list[int]]:
    """Choose the k comments that support most and the k that oppose most (equation 2).

    Args:
        scores: Index of a comment -> score. 0 ("against common sense") and None (unread) are on neither side.
        k: Comments on each side at most; of equal scores the earlier comment is taken.

    Returns:
        Indices of supporting and of opposing comments, ascending.
    """
    known = [(score, index) for index, score in scores.items() if score]
    support = sorted((-score, index) for score, index in known if score > 0)[:k]
    oppose = sorted((score, index) for score, index in known if score < 0)[:k]
    return sorted(index for _, index in support), sorted(index for _, index in oppose)


def halves(thread: ClaimThread, seed: int) -> tuple[list[int], list[int]]:
    """Draw 40 comments at random and split them in two, whatever their stance (the ablation "w/o Stance")."""
    drawn = draw(thread, COMMENTS, seed)
    key = int.from_bytes(hashlib.sha256(thread.id.encode()).digest()[:8])
    mixed = np.random.default_rng([seed, key, 1]).permutation(drawn).tolist()
    middle = (len(mixed) + 1) // 2
    return sorted(mixed[:middle]), sorted(mixed[middle:])


def quoted(text: str) -> str:
    """Put text between two lines with one code, which nobody can know who writes a part of the text.

    The code is a hash of the text, so that equal prompts are equal calls.
    """
    code = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"---- {code} begins ----\n{text}\n---- {code} ends ----"


def harmless(reply: str) -> str:
    """A speaker's reply, which may quote a post, as others are shown it: its lines, each of them cleaned.

    What a model thinks aloud is left out; of a reply that is too long the end is kept, where the conclusion stands.
    """
    lines = [clean(line, MAX_REPLY) for line in THOUGHT.sub("", reply)[-MAX_REPLY:].splitlines()]
    return "\n".join(line for line in lines if line) or "–"


def quarantined(chosen: Sequence[int], scored: Mapping[int, Scored], language: Language) -> str:
    """Show comments by what the scorer made of them alone: number, stance, score, a short quotation.

    Args:
        chosen: Indices of the comments.
        scored: Index -> what the scorer made of it; without it (no stance separation) only the number is shown.
        language: Of the words for the stances.
    """
    supports, opposes, nothing = _STANCES[language]
    lines = []
    for index in chosen:
        found = scored.get(index)
        if found is None or not found.score:
            lines.append(f"[{index + 1}]")
            continue
        stance = supports if found.score > 0 else opposes
        quote = clean(found.quote, MAX_QUOTE).replace('"', "'")
        lines.append(f"[{index + 1}] {stance}, {found.score:+.1f}" + (f': "{quote}"' if quote else ""))
    return "\n".join(lines) or nothing
