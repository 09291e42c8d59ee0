"""The papers' own figures, as printed, for what Hearsay measures too: shown beside ours, never mixed in.

EARD: LLM-based Few-Shot Early Rumor Detection with Imitation Agent (KDD 2026), Table 1 (macro-F1 and ER with
standard deviations over five runs). S2MAD: Breaking Event Rumor Detection via Stance-Separated Multi-Agent
Debate (2024), Table 1 (RF1 and NF1 are `f1_rumor` and `f1_non-rumor` here) and Table 2 (accuracy). Its figures are of
two base models, and so stand beside these only; the graph networks of its Table 1 are none that Hearsay runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Published:
    """One row of a paper's table."""

    source: str
    system: str
    """As the paper calls it, base model included."""
    values: Mapping[str, tuple[float, float | None]]
    """Metric -> value and standard deviation, None where the paper gives none."""


def _eard(system: str, *cells: tuple[float, float] | None) -> tuple[str, dict[str, tuple[float, float | None]]]:
    """A row of EARD's Table 1: macro-F1 and ER with their deviations, None for a dash."""
    values = {name: cell for name, cell in zip(("macro_f1", "early_rate"), cells, strict=True) if cell}
    return system, {name: (value, std) for name, (value, std) in values.items()}


def _s2mad(system: str, *cells: float) -> tuple[str, dict[str, tuple[float, float | None]]]:
    """A row of S2MAD's Table 1: ACC., Mac-F1, RF1, NF1."""
    names = ("accuracy", "macro_f1", "f1_rumor", "f1_non-rumor")
    return system, {name: (value, None) for name, value in zip(names, cells, strict=True)}


_FIRST, _LEARNED = ("first-post", "direct"), ("eard", "direct")
_ERD, _CED, _HEARD = ("erd", "erd"), ("ced", "ced"), ("heard", "heard")

# (dataset, (when, how)) -> rows
_EARD = {
    ("pheme", _FIRST): [
        _eard("Llama3, first post", (0.457, 0.016), None),
        _eard("Mistral, first post", (0.571, 0.024), None),
        _eard("ChatGPT, first post", (0.604, 0.013), None),
    ],
    ("twitter", _FIRST): [
        _eard("Llama3, first post", (0.593, 0.029), None),
        _eard("Mistral, first post", (0.543, 0.028), None),
        _eard("ChatGPT, first post", (0.535, 0.031), None),
    ],
    ("beard", _FIRST): [
        _eard("Llama3, first post", (0.505, 0.016), None),
        _eard("Mistral, first post", (0.443, 0.033), None),
        _eard("ChatGPT, first post", (0.445, 0.028), None),
    ],
    ("twitter-covid19", _FIRST): [
        _eard("Llama3, first post", (0.378, 0.023), None),
        _eard("Mistral, first post", (0.493, 0.027), None),
        _eard("ChatGPT, first post", (0.578, 0.015), None),
    ],
    ("pheme", _ERD): [_eard("ERD", (0.487, 0.105), (1.000, 0.000))],
    ("twitter", _ERD): [_eard("ERD", (0.571, 0.017), (1.000, 0.000))],
    ("beard", _ERD): [_eard("ERD", (0.572, 0.101), (1.000, 0.000))],
    ("twitter-covid19", _ERD): [_eard("ERD", (0.528, 0.059), (1.000, 0.000))],
    ("pheme", _CED): [_eard("CED", (0.453, 0.041), (0.978, 0.011))],
    ("twitter", _CED): [_eard("CED", (0.654, 0.044), (0.617, 0.040))],
    ("beard", _CED): [_eard("CED", (0.543, 0.088), (0.553, 0.041))],
    ("twitter-covid19", _CED): [_eard("CED", (0.524, 0.070), (0.421, 0.067))],
    ("pheme", _HEARD): [_eard("HEARD", (0.501, 0.038), (0.266, 0.006))],
    ("twitter", _HEARD): [_eard("HEARD", (0.627, 0.037), (0.647, 0.305))],
    ("beard", _HEARD): [_eard("HEARD", (0.553, 0.044), (0.337, 0.017))],
    ("twitter-covid19", _HEARD): [_eard("HEARD", (0.530, 0.068), (0.175, 0.013))],
    ("pheme", _LEARNED): [
        _eard("EARD, Llama3", (0.478, 0.029), (0.283, 0.156)),
        _eard("EARD, Mistral", (0.590, 0.012), (0.276, 0.125)),
        _eard("EARD, ChatGPT", (0.646, 0.009), (0.205, 0.043)),
    ],
    ("twitter", _LEARNED): [
        _eard("EARD, Llama3", (0.705, 0.039), (0.530, 0.405)),
        _eard("EARD, Mistral", (0.630, 0.039), (0.043, 0.038)),
        _eard("EARD, ChatGPT", (0.702, 0.068), (0.526, 0.402)),
    ],
    ("beard", _LEARNED): [
        _eard("EARD, Llama3", (0.546, 0.031), (0.493, 0.367)),
        _eard("EARD, Mistral", (0.488, 0.030), (0.130, 0.073)),
        _eard("EARD, ChatGPT", (0.546, 0.045), (0.545, 0.279)),
    ],
    ("twitter-covid19", _LEARNED): [
        _eard("EARD, Llama3", (0.544, 0.032), (0.846, 0.007)),
        _eard("EARD, Mistral", (0.511, 0.056), (0.184, 0.365)),
        _eard("EARD, ChatGPT", (0.586, 0.031), (0.366, 0.285)),
    ],
}
_QWEN, _GPT = "Qwen1.5-7b-chat", "GPT-3.5 Turbo"

# (dataset, how, base model) -> row
_S2MAD = {
    ("twitter-covid19", "vanilla", _QWEN): _s2mad("Qwen1.5-7b-chat", 0.565, 0.565, 0.580, 0.549),
    ("twitter-covid19", "vanilla", _GPT): _s2mad("GPT-3.5 Turbo", 0.643, 0.567, 0.749, 0.384),
    ("weibo-covid19", "vanilla", _QWEN): _s2mad("Qwen1.5-7b-chat", 0.698, 0.670, 0.762, 0.578),
    ("weibo-covid19", "vanilla", _GPT): _s2mad("GPT-3.5 Turbo", 0.762, 0.682, 0.843, 0.520),
    ("twitter-covid19", "s2mad", _QWEN): _s2mad("Qwen1.5 + S2MAD", 0.645, 0.645, 0.634, 0.655),
    ("twitter-covid19", "s2mad", _GPT): _s2mad("GPT-3.5 + S2MAD", 0.765, 0.737, 0.827, 0.647),
    ("weibo-covid19", "s2mad", _QWEN): _s2mad("Qwen1.5 + S2MAD", 0.737, 0.757, 0.765, 0.748),
    ("weibo-covid19", "s2mad", _GPT): _s2mad("GPT-3.5 + S2MAD", 0.810, 0.764, 0.869, 0.658),
}
# dataset -> what is left out -> accuracy, with GPT-3.5 Turbo
_ABLATED = {
    "twitter-covid19": {"stance": 0.648, "non-subjective": 0.575, "subjective": 0.703, "debate": 0.645},
    "weibo-covid19": {"stance": 0.674, "non-subjective": 0.801, "subjective": 0.706, "debate": 0.737},
}
_LEFT_OUT = {"stance": "w/o Stance", "non-subjective": "w/o Non-Sub", "subjective": "w/o Sub", "debate": "w/o Debate"}
_GRAPHS = {
    "twitter-covid19": [
        _s2mad("BiGCN", 0.593, 0.557, 0.647, 0.468),
        _s2mad("ACLR-BiGCN", 0.692, 0.614, 0.785, 0.444),
        _s2mad("RPL", 0.727, 0.697, 0.793, 0.601),
        _s2mad("T3RD", 0.735, 0.701, 0.808, 0.593),
    ],
    "weibo-covid19": [
        _s2mad("BiGCN", 0.619, 0.534, 0.720, 0.349),
        _s2mad("ACLR-BiGCN", 0.670, 0.594, 0.754, 0.435),
        _s2mad("RPL", 0.745, 0.719, 0.804, 0.634),
        _s2mad("T3RD", 0.797, 0.788, 0.832, 0.743),
    ],
}
_LABELS = "rumor/non-rumor"
_TABLE_1 = "S2MAD, Table 1"
SAME = {"posts:1": "first-post", "posts:all": "all-posts"}
"""Checkpoints that are stop policies by another name."""


def published(
    dataset: str, split: str, when: str, how: str, label_set: str, model: str = "", ablate: str | None = None
) -> list[Published]:
    """What papers report for a method on a corpus; empty where they do not.

    Args:
        dataset: Name in the catalog; a stand-in has its own name and so matches nothing.
        split: EARD's figures are of a few-shot split, S2MAD's of the whole corpus ("all").
        when: One stop policy or checkpoint.
        how: The verifier.
        label_set: Name of the label set: all figures here are of "rumor/non-rumor".
        model: The chat model, as --model takes it; S2MAD's figures are of two, EARD's stand beside any.
        ablate: What S2MAD does without, one of agents.debate.settings.ABLATIONS.
    """
    when = SAME.get(when, when)
    if label_set != _LABELS:
        return []
    if split == "few-shot" and not ablate:
        return [Published("EARD, Table 1", *row) for row in _EARD.get((dataset, (when, how)), ())]
    base = _base_model(model)
    if split != "all" or when != "all-posts" or base is None:
        return []
    if ablate:
        accuracy = _ABLATED.get(dataset, {}).get(ablate) if (how, base) == ("s2mad", _GPT) else None
        name = f"GPT-3.5, {_LEFT_OUT.get(ablate, ablate)}"
        return [Published("S2MAD, Table 2", name, {"accuracy": (accuracy, None)})] if accuracy else []
    row = _S2MAD.get((dataset, how, base))
    return [Published(_TABLE_1, *row)] if row else []


def graph_networks(dataset: str, label_set: str) -> list[Published]:
    """S2MAD's baselines that read the conversation as a graph, trained elsewhere, on a whole corpus; may be empty."""
    return [Published(_TABLE_1, *row) for row in _GRAPHS.get(dataset, ()) if label_set == _LABELS]


def _base_model(model: str) -> str | None:
    """Which of S2MAD's base models a model string names, under whatever server or path."""
    name = model.lower()
    if name.startswith("openai:gpt-3.5-turbo"):
        return _GPT
    return _QWEN if "qwen1.5-7b-chat" in name else None
