"""What is JSDRV's own in the tables of its studies: their columns, what stands above and beneath them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agents.jsdrv.annotation import STANCES
from eval.jsdrv_studies import ABOUT, ALL_LABELS, ENCODER, SEEDS_ONLY, WITHOUT
from eval.published import Published
from eval.published_jsdrv import ablated
from eval.stance_metrics import KEPT
from training.jsdrv.settings import ABLATIONS

if TYPE_CHECKING:
    from eval.study_table import Result

Run = dict[str, Any]

OF_CLAIMS, OF_POSTS = "veracity of claims", "stances of posts"
SECTIONS = {
    OF_CLAIMS: ("micro_f1", "macro_f1", "f1_*", "abstained", "failed", "calls_per_thread", "tokens_per_thread"),
    OF_POSTS: (
        "stance_micro_f1", "stance_macro_f1", *(f"stance_f1_{label}" for label in STANCES), "stance_abstained", KEPT,
    ),
}  # fmt: skip
"""What is measured -> metrics, in the order of the table; "f1_*" is F1 of each class."""
INTERVALS = dict.fromkeys(ABOUT, ("macro_f1", "stance_macro_f1"))
"""Study -> which metrics have theirs printed."""
DEVIATE = ("micro_f1", "stance_micro_f1")
"""Which have their deviation over seeds printed besides."""
VARIED = {
    "joint": {"exclude_overlap"},
    "parts": set[str](),
    "seeds": {"seeds_share", "shots"},
    "epsilon": set[str](),
}
"""Study -> what differs between its rows, and so is in no title."""


def setting(runs: Sequence[Run]) -> str:
    """How all rows learn, in one line: the settings of JSDRV that those have in common which have any."""
    trained = [run["config"] or {} for run in runs if run["how"].partition(":")[0] == "jsdrv"]
    words = [list(config.get("jsdrv") or ()) for config in trained]
    common = [word for word in (words[0] if words else []) if all(word in each for each in words)]
    networks = dict.fromkeys(config.get("network") or ENCODER for config in trained)
    models = dict.fromkeys(run["model"] for run in runs if run["how"] in ("single-task", "multi-task"))
    return ", ".join([f"network {' and '.join(networks)}", *(f"model {model}" for model in models), *common])


def notes(study: str, results: Sequence["Result"]) -> list[str]:
    """What the rows' names mean."""
    if study not in ABOUT:
        return []
    there = {result.row.system: result.row for result in results}
    meaning = {
        f"{ENCODER}, {SEEDS_ONLY}": "JSDRV's networks as they are pre-trained, before the loop (epochs=0)",
        SEEDS_ONLY: "JSDRV's networks as they are pre-trained, before the loop (epochs=0)",
        f"{ENCODER}, {ALL_LABELS}": "the same with the veracity of every training claim, and with the stances of its "
        "posts where the training corpus has any",
    } | {part: text for part, text in ABLATIONS.items() if study == "parts"}
    found = [
        f"{there[name].label if study == 'parts' else name}: {text}" for name, text in meaning.items() if name in there
    ]
    if any(result.row.group == WITHOUT for result in results):
        found.append(f"{WITHOUT}: nothing is learned from a claim that the tested corpus has too")
    return found


def beside(study: str, run: Run, published: Sequence[Published]) -> list[Published]:
    """The paper's figures beneath one row: those of Table 3, where the rest is as the paper has it."""
    config = run["config"] or {}
    like_its = any("(PH)" in each.system for each in published)
    if study != "parts" or run["dataset"] != "rumoreval-s" or config.get("train_on") != "pheme" or not like_its:
        return []
    words = dict(word.partition("=")[::2] for word in config.get("jsdrv") or ())
    return [ablated(words.get("ablate", ""))]


def beneath(published: Sequence[Sequence[Published]], own: Sequence[Published]) -> list[Published]:
    """The paper's figures for any of the rows but those that stand `beside` them.

    Returns:
        One row a system, whatever tables its figures are from.
    """
    found: dict[str, Published] = {}
    for each in (paper for row in published for paper in row):
        before = found.get(each.system)
        if before is None:
            found[each.system] = each
        elif not set(each.values) <= set(before.values):
            source = f"{before.source.replace('Table ', 'Tables ')} and {each.source.rpartition(' ')[2]}"
            found[each.system] = Published(source, each.system, {**before.values, **each.values})
    for each in own:
        found.pop(each.system, None)
    return sorted(found.values(), key=lambda paper: paper.values.get("macro_f1", (0.0, None))[0])


def name_parts(study: str, runs: Sequence[Run]) -> list[str]:
    """What a picture's file is named after, besides its study and corpus."""
    config = runs[-1]["config"] or {}
    parts = [f"on-{config['train_on']}"] if config.get("train_on") else [runs[-1]["split"]]
    if study != "joint" and config.get("train_on") and not config.get("exclude_overlap"):
        parts.append("with-overlap")
    told = setting(runs).removeprefix("network ")
    return [*parts, *([told] if told != ENCODER else [])]
