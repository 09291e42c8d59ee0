"""JSDRV's own figures, as printed: shown beside runs of its tasks on its test sets, never mixed in.

Reinforcement Tuning for Detecting Stances and Debunking Rumors Jointly with Large Language Models (ACL 2024), Tables 1
(stances), 2 (veracity) and 3 (ablations). The tables are of one run each: no deviations are given.

Two things keep these figures from being ours to beat by so much. They are of other threads (see `notes`). And most
micro-F1 of Table 2 are above the highest F1 of any class, which micro-F1, an average of these, cannot be where each
claim is given one label: they were computed in some other way, which the paper does not say.
"""

from collections.abc import Mapping
from typing import Any

from agents.jsdrv.annotation import STANCES
from eval.published import Published

# system -> micro-F1, macro-F1 and F1 of each class, on RumorEval-S and on SemEval-8
_TABLE_1 = {
    "Llama 2-ST": ((0.630, 0.500, 0.501, 0.203, 0.532, 0.763), (0.631, 0.471, 0.533, 0.138, 0.472, 0.740)),
    "Llama 2-MT": ((0.632, 0.500, 0.502, 0.199, 0.533, 0.766), (0.630, 0.473, 0.534, 0.142, 0.471, 0.742)),
    "TD-MIL (PH)": ((0.691, 0.434, 0.344, 0.179, 0.467, 0.767), (0.651, 0.426, 0.335, 0.175, 0.430, 0.763)),
    "JSDRV-Bert (T15)": ((0.680, 0.562, 0.534, 0.380, 0.570, 0.764), (0.671, 0.498, 0.549, 0.169, 0.490, 0.784)),
    "JSDRV-Bert (T16)": ((0.681, 0.560, 0.527, 0.381, 0.573, 0.759), (0.673, 0.500, 0.550, 0.170, 0.490, 0.790)),
    "JSDRV-Bert (PH)": ((0.683, 0.565, 0.535, 0.383, 0.573, 0.765), (0.780, 0.502, 0.556, 0.170, 0.493, 0.789)),
    "JSDRV (T15)": ((0.696, 0.576, 0.535, 0.383, 0.586, 0.801), (0.693, 0.506, 0.558, 0.170, 0.496, 0.798)),
    "JSDRV (T16)": ((0.697, 0.574, 0.536, 0.380, 0.580, 0.798), (0.696, 0.507, 0.560, 0.173, 0.498, 0.796)),
    "JSDRV (PH)": ((0.723, 0.605, 0.546, 0.476, 0.595, 0.801), (0.705, 0.522, 0.563, 0.216, 0.506, 0.801)),
}
"""Classes S D Q C."""
_TABLE_2 = {
    "Llama 2-ST": ((0.754, 0.450, 0.660, 0.271, 0.400, 0.469), (0.746, 0.424, 0.632, 0.260, 0.380)),
    "Llama 2-MT": ((0.758, 0.465, 0.678, 0.301, 0.403, 0.478), (0.756, 0.427, 0.635, 0.263, 0.382)),
    "TD-MIL (PH)": ((0.809, 0.776, 0.826, 0.659, 0.669, 0.852), (0.798, 0.741, 0.741, 0.672, 0.810)),
    "JSDRV-Bert (T15)": ((0.803, 0.770, 0.800, 0.750, 0.753, 0.777), (0.783, 0.730, 0.758, 0.701, 0.731)),
    "JSDRV-Bert (T16)": ((0.810, 0.776, 0.802, 0.751, 0.751, 0.800), (0.785, 0.732, 0.760, 0.710, 0.726)),
    "JSDRV-Bert (PH)": ((0.813, 0.780, 0.810, 0.762, 0.756, 0.792), (0.796, 0.746, 0.779, 0.712, 0.747)),
    "JSDRV (T15)": ((0.828, 0.786, 0.830, 0.759, 0.788, 0.762), (0.829, 0.755, 0.769, 0.731, 0.766)),
    "JSDRV (T16)": ((0.838, 0.786, 0.829, 0.770, 0.782, 0.765), (0.830, 0.768, 0.800, 0.734, 0.770)),
    "JSDRV (PH)": ((0.842, 0.804, 0.829, 0.774, 0.824, 0.787), (0.834, 0.784, 0.820, 0.741, 0.792)),
}
"""Classes T F U, on RumorEval-S also N."""
# part -> micro-F1 and macro-F1 of veracity, then of stances, of JSDRV (PH) without it, on RumorEval-S
_TABLE_3 = {
    "": (0.842, 0.804, 0.723, 0.605),
    "RSS": (0.820, 0.783, 0.700, 0.571),
    "RVS": (0.826, 0.790, 0.705, 0.573),
    "FTSD": (0.828, 0.790, 0.709, 0.578),
    "FTRV": (0.830, 0.793, 0.710, 0.583),
    "PTSD": (0.831, 0.794, 0.712, 0.589),
    "PTRV": (0.833, 0.795, 0.714, 0.600),
    "epSD": (0.844, 0.805, 0.725, 0.606),
    "epRV": (0.843, 0.806, 0.723, 0.605),
}
_DATASETS = ("rumoreval-s", "semeval8")
_TRAINED_ON = {"pheme": "PH", "twitter15": "T15", "twitter16": "T16"}
_SIZES = {"rumoreval-s": (425, 6718), "semeval8": (297, 4519)}
"""Claims and posts that the paper counts in its test sets (its Table 5)."""
_CLAIMS = {"pheme": 6425, "twitter15": 1308, "twitter16": 818}
"""Claims that it counts in its training sets (Table 4)."""
_ALWAYS = "TD-MIL (PH)"
"""Its strongest baseline: learns stances from veracity labels alone, as JSDRV does."""
_SHARE = 0.5


def published_jsdrv(run: Mapping[str, Any], when: str, labels: str) -> list[Published]:
    """What the paper reports for a run's task, corpus and method; a row a system and table, empty where it does not.

    Args:
        run: A row of `runs`.
        when: Its stop policy or checkpoint.
        labels: Name of its label set.
    """
    config, counts = run["config"] or {}, run["corpus_counts"] or {}
    task = config.get("task")
    narrowed = any(config.get(name) for name in ("limit", "language", "attack"))
    whole = counts.get("complete") and not narrowed and when in ("all-posts", "posts:all")
    if task is None or run["dataset"] not in _DATASETS or not whole or run["split"] not in ("cross-corpus", "all"):
        return []
    place = _DATASETS.index(run["dataset"])
    rows = []
    for system in dict.fromkeys([_system(run), _ALWAYS]):
        if system in _TABLE_1 and task in ("stance", "joint"):
            rows.append(_row("JSDRV, Table 1", system, "stance_", STANCES, _TABLE_1[system][place]))
        if system in _TABLE_2 and task in ("veracity", "joint") and labels == "veracity":
            rows.append(_row("JSDRV, Table 2", system, "", ("T", "F", "U", "N"), _TABLE_2[system][place]))
    return rows


def _system(run: Mapping[str, Any]) -> str:
    """Which of the paper's systems a run is like; "" for none."""
    config = run["config"] or {}
    if run["how"] in ("single-task", "multi-task"):
        return "" if config.get("examples") else f"Llama 2-{'ST' if run['how'] == 'single-task' else 'MT'}"
    words = config.get("jsdrv") or ()
    changed = [word for word in words if word == "epochs=0" or word.partition("=")[0] in ("ablate", "supervised")]
    if run["how"] != "jsdrv" or changed or config.get("seeds_share") != _SHARE:
        return ""
    name = "JSDRV-Bert" if (config.get("network") or "encoder").startswith("encoder") else "JSDRV"
    return f"{name} ({_TRAINED_ON.get(config.get('train_on') or '', '')})"


def _row(source: str, system: str, prefix: str, classes: tuple[str, ...], figures: tuple[float, ...]) -> Published:
    names = ("micro_f1", "macro_f1", *(f"f1_{label}" for label in classes))
    return Published(source, system, {f"{prefix}{n}": (value, None) for n, value in zip(names, figures, strict=False)})


def ablated(part: str) -> Published:
    """Table 3: JSDRV (PH) on RumorEval-S without one of training.jsdrv.settings.ABLATIONS, or "" for the whole."""
    names = ("micro_f1", "macro_f1", "stance_micro_f1", "stance_macro_f1")
    values = {name: (value, None) for name, value in zip(names, _TABLE_3[part], strict=True)}
    return Published("JSDRV, Table 3", f"JSDRV (PH), - {part}" if part else "JSDRV (PH)", values)


def notes(run: Mapping[str, Any]) -> list[str]:
    """What to know of the paper's figures where they stand beside a run's."""
    config, counts = run["config"] or {}, run["corpus_counts"] or {}
    claims, posts = _SIZES[run["dataset"]]
    texts = [f"tested on {claims} claims and {posts:,} posts, less the fifth that tuned it"]
    trained, known = config.get("train_on"), counts.get("training_threads")
    for name in dict.fromkeys(("pheme", trained)):
        if name in _CLAIMS:
            here = f" (here there are {known:,})" if name == trained and known else ""
            texts.append(f"{_TRAINED_ON[name]} is {_CLAIMS[name]:,} claims of {name}{here}")
    found = [f"JSDRV's figures: {', '.join(texts)}"]
    if config.get("task") in ("veracity", "joint"):
        found.append("most micro-F1 of its Table 2 exceed all F1 of classes: they cannot be what micro-F1 is here")
    return found
