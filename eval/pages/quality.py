"""Figures of a report about being right: confusion, calibration, and what it cost."""

from collections import Counter
from collections.abc import Callable, Sequence

from eval.calibration import Calibration, calibration
from eval.pages.charts import COLOURS, Series, chart, ticks
from eval.pages.escape import safe
from eval.pages.gather import Side
from eval.pages.sections import badge, table


def confusion(sides: Sequence[Side]) -> str:
    """Gold against given, seeds summed, at each checkpoint."""
    parts = []
    for side in sides:
        if not side.scores_labels:
            continue
        for checkpoint in side.results.values:
            labels = list(side.labels)
            counts = Counter(
                (row["gold"], row["label"] or row["outcome"])
                for rows in side.predictions
                for row in rows
                if row["checkpoint"] == checkpoint
            )
            others = sorted({given for _, given in counts} - set(labels))
            rows = []
            for gold in labels:
                total = sum(counts[gold, given] for given in (*labels, *others))
                cells = []
                for given in (*labels, *others):
                    share = counts[gold, given] / total if total else 0.0
                    kind = "hit" if gold == given else "miss"
                    cells.append(
                        f'<span class="{kind} q{min(9, int(10 * share))}">{counts[gold, given]:,} '
                        f'<span class="ci">{share:.0%}</span></span>'
                    )
                rows.append([safe(gold), *cells])
            name = f"{badge(sides, side)} {safe(checkpoint or side.runs[0]['when'])}"
            heads = ["gold \\ given", *map(safe, (*labels, *others))]
            parts.append(f'<div class="confusion">{table(heads, rows, caption=name)}</div>')
    return f'<div class="figures">{"".join(parts)}</div>' if parts else ""


def reliability(sides: Sequence[Side]) -> str:
    """Whether probabilities are what they say."""
    figures = []
    for side in sides:
        if not side.scores_labels:
            continue
        for checkpoint in side.results.values:
            rows = [[row for row in rows if row["checkpoint"] == checkpoint] for rows in side.predictions]
            if found := calibration(rows):
                figures.append(_reliability(sides, side, checkpoint, found))
    if not figures:
        return '<p class="note">No verdict here has probabilities.</p>'
    text = (
        "Verdicts are sorted by the probability of the label that was given, into ten bins; on the diagonal they are "
        "as often right as they say. ECE is the mean distance from it, weighted by verdicts; seeds are pooled, and the "
        "interval draws threads with all their seeds. With few verdicts a bin, ECE is above 0 by chance alone."
    )
    return f'<p class="note">{safe(text)}</p><div class="figures">{"".join(figures)}</div>'


def _reliability(sides: Sequence[Side], side: Side, checkpoint: str | None, found: Calibration) -> str:
    interval = "" if found.low is None or found.high is None else f" [{found.low:.3f}, {found.high:.3f}]"
    series = Series(
        side.letter,
        sides.index(side),
        [each.confidence for each in found.bins],
        [each.accuracy for each in found.bins],
        told=[f"{b.low:.1f}–{b.high:.1f}: {b.n:,} verdicts, {b.accuracy:.0%} right" for b in found.bins],
    )
    most = max(each.n for each in found.bins)

    def beneath(to_x: Callable[[float], float], to_y: Callable[[float], float]) -> str:
        slot, width, bars = sides.index(side) % COLOURS, to_x(0.1) - to_x(0) - 4, []
        for each in found.bins:
            top = to_y(0.2 * each.n / most)
            place = f'x="{to_x(each.low) + 2:.1f}" y="{top:.1f}" width="{width:.1f}" height="{to_y(0) - top:.1f}"'
            bars.append(f'<rect class="count s{slot}" {place}/>')
        return f'<path class="diagonal" d="M{to_x(0)} {to_y(0)}L{to_x(1)} {to_y(1)}"/>{"".join(bars)}'

    about = f"ECE {found.ece:.3f}{interval}; says {found.confidence:.3f} on average, {found.accuracy:.3f} are right."
    picture = chart(
        f"Reliability of {side.letter} {checkpoint or ''}",
        about,
        [series],
        x=(0.0, 1.0),
        y=(0.0, 1.0),
        x_ticks=ticks(0, 1, 0.2),
        y_ticks=ticks(0, 1, 0.2),
        x_name="probability of the label given (bars: how many verdicts)",
        y_name="share right",
        extra=beneath,
    )
    where = f"{found.n:,} of {found.of:,} judgements have probabilities, from: {', '.join(found.methods)}"
    head = f"{badge(sides, side)} {safe(checkpoint or side.runs[0]['when'])}: {safe(about)}"
    return f'<figure><figcaption>{head} <span class="ci">{safe(where)}</span></figcaption>{picture}</figure>'


def costs(sides: Sequence[Side]) -> str:
    """Calls, tokens, money and seconds by role, and the work on threads."""
    rows = []
    for side in sides:
        for row in side.costs:
            numbers = [f"{row[name]:,}" for name in ("used", "made", "failed")]
            tokens = ["–" if row[name] is None else f"{row[name]:,}" for name in ("input_tokens", "output_tokens")]
            money = "–" if row["cost"] is None else f"{row['cost']:.4f}"
            seconds = "–" if row["seconds"] is None else f"{row['seconds']:,.1f}"
            role = safe(row["role"] or "the only one")
            rows.append([f"{badge(sides, side)} {role}", safe(row["model"]), *numbers, *tokens, money, seconds])
    parts = []
    if rows:
        heads = ["role", "model", "answers used", "asked", "failed", "tokens in", "tokens out", "USD", "seconds"]
        parts.append(table(heads, rows))
        parts.append(
            '<p class="note">An answer that was there already is used and not asked; tokens, USD (– where no price is '
            "known) and seconds are of what was asked, each call for itself. The role “experts” labels "
            "what the stopping agent learns from.</p>"
        )
    else:
        parts.append('<p class="note">No chat model was asked.</p>')
    work = []
    for side in sides:
        spent = sorted(row["seconds"] for rows in side.predictions for row in rows if row["seconds"] is not None)
        if spent:
            middle, late = spent[len(spent) // 2], spent[min(len(spent) - 1, int(0.95 * len(spent)))]
            work.append(
                [
                    badge(sides, side, named=True),
                    f"{len(spent):,}",
                    f"{sum(spent):,.1f}",
                    f"{middle:.3g}",
                    f"{late:.3g}",
                ]
            )
    if work:
        heads = ["work on threads", "judgements", "seconds in all", "median", "95 % under"]
        parts.append(table(heads, work))
        note = "Seconds of a judgement, waiting for models and for other threads that are judged at once included."
        parts.append(f'<p class="note">{note}</p>')
    return "\n".join(parts)
