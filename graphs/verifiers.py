"""How each verifier is opened; what it needs is imported then, so that listing names costs nothing."""

from typing import TYPE_CHECKING

from agents.verdict import Verifier
from graphs.parts import Parts

if TYPE_CHECKING:
    from training.recurrent import Baseline


def encoder(parts: Parts) -> Verifier:
    """Sentence vectors and logistic regression, fitted on the shots."""
    from agents.verifiers.encoder import encoder_verifier

    assert parts.encoder is not None
    return encoder_verifier(parts.encoder, parts.shots, parts.labels)


def direct(parts: Parts) -> Verifier:
    """EARD's question."""
    from agents.verifiers import direct as module

    assert parts.log is not None
    model = parts.model("detector")
    return module.direct(parts.log, model, parts.prompts, parts.label_set, seed=parts.seed, samples=parts.samples)


def vanilla(parts: Parts) -> Verifier:
    """S2MAD's single-model baseline."""
    from agents.verifiers import vanilla as module

    assert parts.log is not None
    model = parts.model("detector")
    return module.vanilla(parts.log, model, parts.prompts, parts.label_set, seed=parts.seed, samples=parts.samples)


def baseline(name: str, parts: Parts, threshold: str = "") -> "Baseline":
    """A baseline's stop policy and verifier, trained once for both."""
    assert parts.encoder is not None
    key = f"{name}:{threshold}" if threshold else name
    if key not in parts.trained:
        learned_from = (parts.encoder, parts.shots, parts.labels, parts.seed)
        if name == "ced":
            from training.ced import CedSettings, ced

            settings = CedSettings(threshold=float(threshold)) if threshold else CedSettings()
            parts.trained[key] = ced(*learned_from, settings)
        elif name == "erd":
            from training.erd import erd

            parts.trained[key] = erd(*learned_from)
        else:
            from training.heard import heard

            parts.trained[key] = heard(*learned_from)
    return parts.trained[key]


def own(name: str, parts: Parts) -> Verifier:
    """A baseline's own classifier."""
    return baseline(name, parts).verifier


def s2mad(parts: Parts) -> Verifier:
    """The debate."""
    from graphs.debate_verifier import debate_verifier

    return debate_verifier(parts)


def control(name: str, parts: Parts) -> Verifier:
    """One agent's answer, by the vote of several samples or after it has looked at it again."""
    from agents.verifiers import controls

    assert parts.log is not None
    open_ = controls.self_consistency if name == "self-consistency" else controls.self_correction
    model = parts.model("detector")
    return open_(parts.log, model, parts.prompts, parts.label_set, seed=parts.seed, token_budget=parts.token_budget)


def jsdrv(parts: Parts) -> Verifier:
    """JSDRV's networks: those that learned from these parts, or a folder's."""
    from graphs.jsdrv import verifier as jsdrv_verifier

    return jsdrv_verifier.jsdrv(parts.how.partition(":")[2], parts)


def prompted(parts: Parts, *, multi: bool) -> Verifier:
    """A chat model that is asked for stances and veracity: one by one, or all in one answer."""
    from agents.verifiers import prompted as module

    assert parts.log is not None
    return module.prompted(
        parts.log,
        parts.model("detector"),
        parts.prompts,
        parts.task,
        multi=multi,
        shots=parts.shots,
        examples=parts.examples,
        seed=parts.seed,
        samples=parts.samples,
    )


def majority(parts: Parts) -> Verifier:
    """What is right most often, whatever the posts say."""
    from agents.verifiers import majority as module

    return module.majority([label for label in parts.labels if label in parts.task.labels], parts.task)
