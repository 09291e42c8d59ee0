"""The studies of S2MAD: the rows of its paper's tables and figures. Runs are ordinary ones, and studies share them.

All rows of a study ask at one temperature, as the paper's do, the single model included.
"""

from collections.abc import Sequence
from dataclasses import replace

from agents.debate.settings import MAX_ROUNDS, DebateSettings
from eval.config import RunConfig
from eval.studies import Row

ABOUT = {
    "debate": "the debate beside one model that sees 40 random comments; --models for several (Table 1)",
    "ablations": "the debate without stances, either kind of prompts, or debate (Table 2)",
    "rounds": "accuracy and macro-F1 by the number of rounds, 0 to 5 (Figure 2)",
    "early": "macro-F1 after 10, 20, 30, 40, 50 and all posts (Figure 3)",
}
"""Study -> what it is."""
S2MAD, VANILLA = "S2MAD", "vanilla"
WITHOUT = ("stance", "non-subjective", "subjective", "debate")
"""What is left out in turn, in the order of Table 2."""
POSTS = (10, 20, 30, 40, 50)
"""Where Figure 3 looks, beside all posts."""


def single(base: RunConfig) -> RunConfig:
    """The one model of Table 1 that sees 40 random comments: nothing of the debate's options applies to it."""
    roles = dict.fromkeys(("scorer_model", "debater_model", "judge_model"))
    return replace(base, how="vanilla", debate=DebateSettings(), **roles)  # type: ignore[arg-type]


def debate(base: RunConfig, models: Sequence[str]) -> list[Row]:
    """Table 1: the debate beside the single model, for each of the models.

    Args:
        base: What all rows have in common.
        models: Model strings; the rows of each are a group of its name.
    """
    rows = []
    for model in models:
        config, suffix = replace(base, model=model), f", {model}" if len(models) > 1 else ""
        rows.append(Row(VANILLA + suffix, single(config), "baseline", VANILLA, group=model))
        rows.append(Row(S2MAD + suffix, config, "debate", S2MAD, group=model))
    return rows


def ablations(base: RunConfig) -> list[Row]:
    """Table 2: the whole debate, and the debate without each of its parts."""
    rows = [Row(S2MAD, base, "debate", S2MAD)]
    for part in WITHOUT:
        config = replace(base, debate=replace(base.debate, ablate=part))
        rows.append(Row(f"w/o {part}", config, "debate", f"w/o {part}"))
    return rows


def rounds(base: RunConfig) -> list[Row]:
    """Figure 2: the debate by how often each debater answers the other."""
    return [
        Row(f"M = {m}", replace(base, debate=replace(base.debate, rounds=m)), "debate", S2MAD, x=float(m))
        for m in range(MAX_ROUNDS + 1)
    ]


def early(base: RunConfig) -> list[Row]:
    """Figure 3: the debate and the single model by how many posts there are to read."""
    read = replace(base, when=f"posts:{','.join(map(str, POSTS))},all")
    whole = Row(S2MAD, read, "debate", S2MAD), Row(VANILLA, single(read), "baseline", VANILLA)
    rows = []
    for row in whole:
        rows += [replace(row, label=f"{row.label}, {n} posts", checkpoint=f"posts:{n}", x=float(n)) for n in POSTS]
        rows.append(replace(row, label=f"{row.label}, all posts", checkpoint="posts:all"))
    return rows
