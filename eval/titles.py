"""What a run judges and how, in the words that stand above its tables."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eval.plan import Plan


def judged(run: dict[str, Any]) -> str:
    """What a run judges, in one line: corpus, labels, split, and all that narrows it."""
    config, counts = run["config"] or {}, run["corpus_counts"] or {}
    parts = [run["dataset"] + (" (a sample or variant)" if counts.get("variant") else "")]
    narrowed = {
        "task": "task {}",
        "labels": "{}",
        "language": "only {}",
        "limit": "at most {} threads",
        "train_on": "shots from {}",
        "exclude_overlap": "trained without threads of {}",
        "holdout": "{:.0%} of threads held out",
        "attack": "under the attack {}",
    }
    if config.get("tune"):
        narrowed["holdout"] = "the {:.0%} of threads held out for tuning"
    parts += [text.format(config[name]) for name, text in narrowed.items() if config.get(name)]
    parts.append(f"split {run['split']}")
    if share := config.get("seeds_share"):
        parts.append(f"{share:.0%} of training threads labelled")
    elif run["split"] != "all" and "shots" in config:
        parts.append(f"{config['shots']} shots")
    return ", ".join(parts)


def debate_options(run: dict[str, Any]) -> dict[str, str]:
    """What is not as usual in a run's debates: option -> "k 5", "gate", "scorer-model encoder"."""
    config = run["config"] or {}
    roles = {name: config.get(name) for name in ("scorer_model", "debater_model", "judge_model")}
    found = (config.get("debate") or {}) | {name: value for name, value in roles.items() if value}
    return {name: name.replace("_", "-") + ("" if value is True else f" {value}") for name, value in found.items()}


def options(run: dict[str, Any]) -> list[str]:
    """What is not as usual in how a run judges."""
    config = run["config"] or {}
    examples = [f"{number} examples"] if (number := config.get("examples")) else []
    return [*debate_options(run).values(), *examples, *(config.get("jsdrv") or ())]


def remarks(plan: "Plan") -> list[str]:
    """What a reader of the results should know of the threads they come from."""
    config, found = plan.config, []
    if plan.untaught:
        classes = " and ".join(plan.untaught)
        found.append(f"No thread that is tested here is {classes}: shots that are {classes} are left out.")
    if leaking := plan.counts.get("test_threads_also_in_training_corpus"):
        found.append(
            f"{leaking} of {len(plan.threads)} test threads are in {config.train_on} too, where the shots come from: "
            f"--exclude-overlap {config.dataset} leaves them out of training."
        )
    if seen := plan.counts.get("test_threads_that_the_stop_policy_learned_from"):
        found.append(
            f"{config.when} learned from {seen} of the {len(plan.threads)} threads that may be tested here: "
            "its results on them say little."
        )
    if seen := plan.counts.get("test_threads_that_the_networks_learned_from"):
        found.append(
            f"JSDRV's networks learned from {seen} of the {len(plan.threads)} threads that may be tested here: "
            "their results on them say little."
        )
    return found
