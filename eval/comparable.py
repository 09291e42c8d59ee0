"""Which of the papers' figures stand beside a run: those of the same corpus, method and settings."""

from typing import Any

from eval.published import Published, published
from eval.published_jsdrv import notes, published_jsdrv
from graphs.hows import is_scorer


def is_published(run: dict[str, Any]) -> bool:
    """Whether a run judges a published corpus as it is, whole and unchanged: what papers' figures are of."""
    config, counts = run["config"] or {}, run["corpus_counts"] or {}
    names = ("limit", "language", "exclude_overlap", "train_on", "attack", "holdout", "seeds_share")
    return bool(counts.get("complete")) and not any(config.get(name) for name in names)


def comparable(run: dict[str, Any], checkpoint: str | None, labels: str) -> list[Published]:
    """The papers' figures for the same corpus, method and settings."""
    config = run["config"] or {}
    when = checkpoint or run["when"]
    if config.get("tune"):
        return []
    if config.get("task"):
        return published_jsdrv(run, when, labels)
    debate = dict(config.get("debate") or {})  # the settings that are not the defaults
    ablate = debate.pop("ablate", None)
    # S2MAD's scorer was another chat model than its debaters; these were one and the same
    others = any(config.get(role) not in (None, run["model"]) for role in ("debater_model", "judge_model"))
    changed = debate or others or is_scorer(config.get("scorer_model") or "") or config.get("stopper")
    if changed or not is_published(run):
        return []
    return published(run["dataset"], run["split"], when, run["how"], labels, run["model"], ablate)


def footnotes(run: dict[str, Any], rows: list[Published]) -> list[str]:
    """What is printed beneath a table that has papers' rows in it."""
    texts = [
        f"the paper's own figures ({source}), not measured here" for source in sorted({row.source for row in rows})
    ]
    if any(row.source.startswith("JSDRV") for row in rows):
        texts += notes(run)
    return [f"† {text}" for text in texts]
