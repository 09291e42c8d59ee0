"""The studies of JSDRV: the rows of its paper's tables and figures. Runs are ordinary ones, and studies share them.

Training corpora have claims of the test corpora in them, and the paper does not say that it left them out. Every row
of `joint` that learns from another corpus is there twice, as in the paper and without such claims; the other studies
leave them out unless they are told otherwise.
"""

from collections.abc import Sequence
from dataclasses import replace

from corpora.errors import UsageError
from eval.config import RunConfig
from eval.studies import Row, of_no_model
from training.jsdrv.settings import ABLATIONS, JsdrvSettings

ABOUT = {
    "joint": "majority, seeds only, JSDRV, all labels; --model adds chat models, --network another JSDRV (Tables 1, 2)",
    "parts": "JSDRV without each of its eight parts (Table 3)",
    "seeds": "micro- and macro-F1 by the share of training claims that are labelled (Figure 7)",
    "epsilon": "micro- and macro-F1 by how often chance chooses what is annotated (Figure 8)",
}
"""Study -> what it is."""
TRAIN_ON = "pheme"
"""The paper's best, where nothing else is said."""
SHARES = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
EPSILONS = (0.0, 0.1, 0.3, 0.5, 0.7, 1.0)
EXAMPLES = 8
"""Shots that the few-shot rows of chat models are shown."""
VARIES = {
    "joint": ("when", "how", "method", "exclude-overlap"),
    "parts": ("when", "how", "method"),
    "seeds": ("when", "how", "method", "seeds-share"),
    "epsilon": ("when", "how", "method"),
}
"""Study -> options of eval.run that are not the user's there."""
VARIED_SETTINGS = {"joint": "supervised", "parts": "ablate", "epsilon": "epsilon"}
"""Study -> the same of the settings in --jsdrv."""
WITHOUT = "without overlap"
"""The group of rows that learn from no thread of the tested corpus; the others' is ""."""
MAJORITY, SEEDS_ONLY, ALL_LABELS, WHOLE = "majority", "seeds only", "all labels", "JSDRV"
ENCODER = "encoder"


def learns_elsewhere(base: RunConfig) -> bool:
    """Whether the shots are another corpus's, which may have threads of the tested one."""
    return base.train_on not in (None, base.dataset)


def without_overlap(base: RunConfig) -> RunConfig:
    """The same, learned from no thread that the tested corpus has too; as it is where it learns from itself."""
    if not learns_elsewhere(base):
        return base
    return replace(base, exclude_overlap=base.exclude_overlap or base.dataset)


def training(base: RunConfig, *words: str) -> RunConfig:
    """JSDRV with these settings; they go before the command line's."""
    names = {word.partition("=")[0] for word in words}
    return replace(base, jsdrv=(*(word for word in base.jsdrv if word.partition("=")[0] not in names), *words))


def joint(base: RunConfig, model: str | None = None, examples: int = EXAMPLES) -> list[Row]:
    """Tables 1 and 2: JSDRV between its floor and its ceiling; every row twice, but for what learns from no thread.

    Args:
        base: What all rows have in common.
        model: Chat model that is simply asked, one task at a time and both at once; None for none.
        examples: Shots that it is shown in the rows that show it any.
    """
    groups = [(base, "")]
    if learns_elsewhere(base):
        groups.append((without_overlap(base), WITHOUT))
    rows = []
    for common, group in groups:
        encoder = of_no_model(common, jsdrv=common.jsdrv)
        suffix = f", {group}" if group else ""

        def row(name: str, config: RunConfig, kind: str = "jsdrv", group: str = group, suffix: str = suffix) -> Row:
            return Row(name + suffix, config, "baseline" if kind == "baseline" else "jsdrv", name, group=group)

        rows.append(row(MAJORITY, replace(encoder, how="majority", jsdrv=()), "baseline"))
        for name in ("single-task", "multi-task") if model else ():
            asked = replace(common, how=name, model=model, network=None, jsdrv=())
            if not group:  # nothing is learned, so nothing can leak
                rows.append(row(f"{name}, zero-shot", asked, "baseline"))
            if examples:
                rows.append(row(f"{name}, {examples} examples", replace(asked, examples=examples), "baseline"))
        rows.append(row(f"{ENCODER}, {SEEDS_ONLY}", training(encoder, "epochs=0")))
        rows.append(row(f"{WHOLE} ({ENCODER})", encoder))
        if common.network not in (None, ENCODER):
            rows.append(row(f"{WHOLE} ({common.network})", common))
        ceiling = training(replace(encoder, seeds_share=1.0), "epochs=0", "supervised=true")
        rows.append(row(f"{ENCODER}, {ALL_LABELS}", ceiling))
    return rows


def parts(base: RunConfig) -> list[Row]:
    """Table 3: the whole, and the whole without each part in turn."""
    rows = [Row(WHOLE, base, "jsdrv", WHOLE)]
    return rows + [Row(f"w/o {part}", training(base, f"ablate={part}"), "jsdrv", part) for part in ABLATIONS]


def seeds(base: RunConfig, shares: Sequence[float]) -> list[Row]:
    """Figure 7: JSDRV, and its networks before the loop, by the share of claims that are labelled.

    Raises:
        UsageError: a number is no share.
    """
    rows = []
    for name, config in ((WHOLE, base), (SEEDS_ONLY, training(base, "epochs=0"))):
        for share in _shares("shares", shares, above=True):
            rows.append(Row(f"{name}, {share:.3g}", replace(config, seeds_share=share), "jsdrv", name, x=share))
    return rows


def epsilon(base: RunConfig, values: Sequence[float]) -> list[Row]:
    """Figure 8: JSDRV by how often chance chooses posts and claims.

    Raises:
        UsageError: a number is no share.
    """
    standard = JsdrvSettings().epsilon  # the same run with or without its being named
    return [
        Row(
            f"ε = {value:g}",
            base if value == standard else training(base, f"epsilon={value:g}"),
            "jsdrv",
            WHOLE,
            x=value,
        )
        for value in _shares("epsilons", values)
    ]


def _shares(name: str, values: Sequence[float], *, above: bool = False) -> list[float]:
    """The values in order, each once."""
    for value in values:
        if not 0 <= value <= 1 or (above and value == 0):
            raise UsageError(f"--{name} {value:g}: want shares {'above' if above else 'from'} 0, at most 1")
    return sorted(set(values))
