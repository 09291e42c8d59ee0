"""A page of one file: it loads nothing, and a policy in its head forbids it to, should something be overlooked."""

import base64
import hashlib
from pathlib import Path

_HERE = Path(__file__).parent


def asset(*names: str) -> str:
    """The text of style or script files of this folder, one after the other."""
    return "\n".join((_HERE / name).read_text("utf-8") for name in names)


def document(
    title: str, body: str, *, style: str, script: str = "", language: str = "en", more_scripts: bool = False
) -> str:
    """The whole page.

    Args:
        title: As HTML.
        body: As HTML.
        style: CSS; no other applies, and no style attribute.
        script: JavaScript; no other runs.
        language: Of the text.
        more_scripts: Whether the script may load others (from files beside the page).
    """
    policy = ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "img-src data:"]
    policy.append(f"style-src {_hash(style)}")
    if script:
        policy.append(f"script-src {_hash(script)}{' ' + chr(39) + 'strict-dynamic' + chr(39) if more_scripts else ''}")
    return f"""<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{"; ".join(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
{f"<script>{script}</script>" if script else ""}
</body>
</html>
"""


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
