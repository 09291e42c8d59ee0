"""What one command of `eval.run` is asked to do: a dataclass, the command line and the TOML file that fill it."""

import argparse
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args

from corpora.errors import ArgumentParser, UsageError
from corpora.thread import Language
from graphs.methods import HOW, METHODS, checkpoints, known, open_policy

SPLITS = {
    "few-shot": "shots, a pool of unlabelled threads, and the rest as test, drawn anew for each seed",
    "events": "each event judged with shots from the other events",
    "official": "shots from the publisher's train part, its test part as test",
    "all": "every thread is a test thread and nothing is learned (zero-shot)",
}


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Everything that was in force; precedence: command line, then --config file, then these defaults."""

    dataset: str = "sample"
    """Corpus by name, or FORMAT:PATH (aclr, eard, jsonl)."""
    data_dir: Path | None = None
    keep_handles: bool = False
    language: str | None = None
    """Keep threads of one language, "en" or "zh"."""
    labels: str | None = None
    """Label set; None for the corpus's own."""
    split: str = "few-shot"
    train_on: str | None = None
    """Corpus that the shots come from; None for the tested one."""
    exclude_overlap: str | None = None
    """Corpus whose threads are left out of training (and of the tested corpus, where that trains)."""
    limit: int | None = None
    """At most so many test threads a seed."""
    shots: int = 50
    pool: int = 100
    """Unlabelled threads set aside for methods that need an environment."""
    seeds: int = 5
    method: str | None = None
    when: str = "posts:1,all"
    how: str = "encoder"
    model: str | None = None
    base_url: str | None = None
    temperature: float = 0.0
    max_tokens: int = 512
    samples: int = 1
    """Answers a question where the endpoint gives no logprobs."""
    prompts: Path | None = None
    concurrency: int = 32
    timeout: float = 60.0
    max_retries: int = 5
    requests_per_second: float | None = None
    price: tuple[float, float] | None = None
    max_cost: float | None = None
    fail_on_error: float = 0.05
    db: Path = Path("hearsay.duckdb")
    fresh: bool = False
    dry_run: bool = False

    def __post_init__(self) -> None:
        """Check what can be checked without reading anything.

        Raises:
            UsageError: a name is unknown or a number makes no sense.
        """
        known(self.how, HOW, "--how")
        known(self.split, SPLITS, "--split")
        for checkpoint in self.checkpoints:
            open_policy(checkpoint)
        at_least = {
            "shots": 0,
            "pool": 0,
            "seeds": 1,
            "samples": 1,
            "concurrency": 1,
            "limit": 1,
            "max_tokens": 1,
        }
        for name, least in at_least.items():
            if (value := getattr(self, name)) is not None and value < least:
                raise UsageError(f"--{name.replace('_', '-')} {value}: want at least {least}")
        if self.train_on and self.split != "few-shot":
            raise UsageError(f"--train-on {self.train_on} is a split of its own: leave --split {self.split} out")
        if self.language not in (None, *get_args(Language)):
            raise UsageError(f"--language {self.language}: want {' or '.join(get_args(Language))}")
        if not 0 <= self.fail_on_error <= 1:
            raise UsageError(f"--fail-on-error {self.fail_on_error}: want a share between 0 and 1")
        if HOW[self.how].asks_model and self.model is None:
            raise UsageError(
                f"--how {self.how} asks a chat model: add --model openai:NAME, hf:PATH-OR-NAME or scripted:FILE"
            )
        if not HOW[self.how].asks_model and self.model not in (None, "encoder"):
            raise UsageError(f"--how {self.how} asks no chat model: leave --model out, or add --how direct")
        if HOW[self.how].reads_vectors and (self.split == "all" or self.shots == 0):
            raise UsageError(
                f"--how {self.how} learns from labelled threads: it needs --shots and a split that has some"
            )

    @property
    def checkpoints(self) -> list[str]:
        """The single stop policies of --when."""
        return checkpoints(self.when)

    @property
    def embedded(self) -> bool:
        """Whether everything is computed here, without a chat model."""
        return not HOW[self.how].asks_model


# What is asked of the machine and not of the method: changing it continues the same run. (The endpoint behind
# --base-url is part of the run's address as such, without a password.)
_OPERATIONAL = {
    "data_dir", "concurrency", "timeout", "max_retries", "requests_per_second", "price", "max_cost",
    "fail_on_error", "db", "fresh", "dry_run", "seeds", "prompts", "method", "base_url",
}  # fmt: skip


def identity(config: RunConfig) -> dict[str, Any]:
    """The part of the configuration that decides what is computed; prompts count by their content, elsewhere.

    Options that are off are left out, so that an option added later does not orphan the runs made before it.
    """
    values = {field.name: getattr(config, field.name) for field in fields(config) if field.name not in _OPERATIONAL}
    return {name: value for name, value in values.items() if value is not None and value is not False}


def as_json(config: RunConfig) -> dict[str, Any]:
    """The configuration as stored with the run."""
    return {
        field.name: str(value) if isinstance(value := getattr(config, field.name), Path) else value
        for field in fields(config)
        if field.name not in ("fresh", "dry_run")
    }


def parser() -> ArgumentParser:
    """The command line of `python -m eval.run`."""
    methods = "\n".join(f"  {name:<13} {pair.when} + {pair.how}: {pair.about}" for name, pair in METHODS.items())
    splits = "\n".join(f"  {name:<13} {about}" for name, about in SPLITS.items())
    hows = "\n".join(f"  {name:<13} {how.about}" for name, how in HOW.items())
    result = ArgumentParser(
        prog="python -m eval.run",
        argument_default=argparse.SUPPRESS,
        description="Judge a corpus's conversation threads and store every step in DuckDB.\n"
        "The same command continues a run that was interrupted; a finished one is shown.",
        epilog=f"""methods (--method):
{methods}

when (--when): first-post, all-posts, posts:N, hours:H, or checkpoints such as posts:10,20,all and hours:1,6,12

how (--how):
{hows}

splits (--split):
{splits}

examples:
  python -m eval.run                                          the bundled corpus, offline
  python -m eval.run --dataset pheme --split events           each event unseen
  python -m eval.run --dataset twitter-covid19 --method vanilla --model openai:gpt-4o-mini --dry-run
  python -m eval.run --dataset twitter15 --labels false/non-rumor --when posts:1,3,all
  python -m eval.run --dataset aclr:my-corpus --how direct --model openai:llama3 --base-url http://localhost:11434/v1
  python -m eval.run --dataset pheme --when hours:1,6,12 --how direct --model hf:meta-llama/Llama-3.1-8B-Instruct
""",
    )
    add = result.add_argument_group("what to judge").add_argument
    add(
        "--dataset",
        metavar="NAME",
        help="a corpus (python -m corpora list), or FORMAT:PATH (default: sample)",
    )
    add(
        "--data-dir",
        type=Path,
        metavar="DIR",
        help="where corpora lie (default: $HEARSAY_DATA, then the cache)",
    )
    add("--language", metavar="LANG", help="only threads in en, or in zh")
    add("--labels", metavar="SET", help="rumor/non-rumor, false/non-rumor or veracity (default: the corpus's)")
    add("--split", metavar="NAME", help="few-shot (default), events, official or all; see below")
    add("--train-on", metavar="CORPUS", help="take the shots from another corpus")
    add(
        "--exclude-overlap",
        metavar="CORPUS",
        help="learn from no thread that CORPUS has too, by id or source text",
    )
    add("--limit", type=int, metavar="N", help="at most N test threads a seed, drawn at random")
    add("--shots", type=int, metavar="K", help="labelled threads to learn from (default: 50)")
    add("--pool", type=int, metavar="N", help="unlabelled threads set aside from the test (default: 100)")
    add("--seeds", type=int, metavar="N", help="how many seeds, from 0 (default: 5)")
    add("--keep-handles", action="store_true", help="show models the user names as they are")
    add = result.add_argument_group("when and how").add_argument
    add("--method", metavar="NAME", help="a published pair of when and how; see below")
    add("--when", metavar="POLICY", help="when to stop reading (default: posts:1,all; all-posts with a --model)")
    add("--how", metavar="NAME", help="how to decide (default: encoder; direct with a --model)")
    add = result.add_argument_group("the model").add_argument
    add("--model", metavar="MODEL", help="openai:NAME, hf:PATH-OR-NAME or scripted:FILE")
    add("--base-url", metavar="URL", help="an OpenAI-compatible server (vLLM, Ollama, llama.cpp)")
    add("--temperature", type=float, metavar="T", help="default: 0")
    add("--max-tokens", type=int, metavar="N", help="longest reply (default: 512)")
    add("--samples", type=int, metavar="N", help="answers a question where there are no logprobs (default: 1)")
    add("--prompts", type=Path, metavar="DIR", help="prompt files that replace ours by name")
    add("--concurrency", type=int, metavar="N", help="threads judged at once (default: 32)")
    add("--timeout", type=float, metavar="SECONDS", help="for one attempt at a call (default: 60)")
    add(
        "--max-retries",
        type=int,
        metavar="N",
        help="for 408, 409, 429, 5xx and lost connections (default: 5)",
    )
    add("--requests-per-second", type=float, metavar="N", help="rate limit (default: none)")
    add(
        "--price",
        type=float,
        nargs=2,
        metavar=("IN", "OUT"),
        help="USD per million tokens, if not on our list",
    )
    add("--max-cost", type=float, metavar="USD", help="stop before a call could bring the bill above this")
    add(
        "--fail-on-error",
        type=float,
        metavar="SHARE",
        help="stop when more threads have failed (default: 0.05)",
    )
    add = result.add_argument_group("the record").add_argument
    add("--db", type=Path, metavar="FILE", help="default: hearsay.duckdb")
    add("--fresh", action="store_true", help="judge everything again; answered calls are still not repeated")
    add("--dry-run", action="store_true", help="print calls, tokens and cost, and call nothing")
    add("--config", type=Path, metavar="FILE.toml", help="any of these options, as name = value")
    return result


def read_config(arguments: Sequence[str] | None = None) -> RunConfig:
    """Make the configuration of a command line.

    Raises:
        UsageError: an option or a line of the file makes no sense.
    """
    given = vars(parser().parse_args(arguments))
    file = given.pop("config", None)
    values = (_from_file(file) if file else {}) | given
    if "method" in values:
        pair = METHODS[known(values["method"], METHODS, "--method")]
        if "how" in values and values["how"] != pair.how:
            raise UsageError(f"--method {values['method']} decides by {pair.how}: leave --how or --method out")
        values = {"when": pair.when, "split": pair.split} | values | {"how": pair.how}
    elif values.get("model") not in (None, "encoder"):
        values = {"when": "all-posts", "how": "direct"} | values
    if "price" in values:
        values["price"] = tuple(values["price"])
    return RunConfig(**values)


def _from_file(path: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"--config {path}: {error}") from None
    kinds = {field.name: field.type for field in fields(RunConfig)}
    values = {}
    for key, value in content.items():
        name = known(key.replace("-", "_"), kinds, f"{path}:")
        kind = str(kinds[name])
        if "Path" in kind and isinstance(value, str):
            value = Path(value)
        fits = (
            ("bool" in kind and isinstance(value, bool))
            or ("int" in kind and isinstance(value, int) and not isinstance(value, bool))
            or ("float" in kind and isinstance(value, int | float) and not isinstance(value, bool))
            or ("tuple" in kind and isinstance(value, list) and len(value) == 2)
            or ("str" in kind and isinstance(value, str))
            or ("Path" in kind and isinstance(value, Path))
        )
        if not fits:
            raise UsageError(f"{path}: {key} = {value!r} is not what --{key.replace('_', '-')} takes")
        values[name] = value
    return values
