"""Pieces that several pages have: bars of shares, and counts in words."""

import html
from collections.abc import Mapping


def bar(shares: Mapping[str, float], words: str = "") -> str:
    """Shares of one as a bar, coloured by their names' classes.

    Args:
        shares: Name -> share; a name is a class of base.css.
        words: What it says, for those who do not see it.
    """
    parts, x = [], 0.0
    for name, share in shares.items():
        width = 100 * min(max(float(share), 0.0), 1.0)
        if width:
            parts.append(f'<rect class="{html.escape(name)}" x="{x:.1f}" width="{width:.1f}" height="10"/>')
        x += width
    told = html.escape(words)
    about = f'role="img" aria-label="{told}"' if words else 'aria-hidden="true"'
    title = f"<title>{told}</title>" if words else ""
    return f'<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" {about}>{title}{"".join(parts)}</svg>'


def counted(number: int, one: str, several: str) -> str:
    """Such as "1 post", "1,200 posts"."""
    return f"{number:,} {one if number == 1 else several}"
