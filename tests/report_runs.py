"""Runs made up for the tests of reports: hostile posts, several seeds and checkpoints, a debate, stances, failures."""

import json
from pathlib import Path
from typing import Any

from corpora.catalog import load
from eval.store import Writer

HOSTILE = (
    "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'></script><!--",
    "\u202egnp.exe\u202c \u2066x\u2069 \x1b[2J\x07 nothing\u200b\u2060here \u2028 \u2029 x",
    "w" * 10_000,
    '\'"></p></li></ol><style>*{display:none}</style>&lt;b&gt;{"__proto__": {"x": 1}}',
    "one\n\n\n\n\n\ntwo \U000e0041 \u05e9\u05dc\u05d5\u05dd 👩\u200d🚒 z" + "\u0300" * 200,
)
LABELS = ("rumor", "non-rumor")
THREADS = 60


def write_corpus(path: Path, threads: int = THREADS) -> Path:
    """Threads t0, t1, ...: every second a rumor; t0 and its id are hostile."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(threads):
            texts = [f"claim {number} about the bridge", "yes it is", "no it is not", "is it?", "well well"]
            texts += HOSTILE if number == 0 else ()
            if number == 0:
                texts[0] += HOSTILE[0]
            posts = [
                {"id": f"p{i}", "parent": f"p{max(0, i - 2)}" if i else None, "seconds": 600 * i,
                 "author": "a<b>\u202e", "text": text, "stance": "SSDQC"[i % 5]}
                for i, text in enumerate(texts)
            ]  # fmt: skip
            content = {"id": name(number), "language": "en", "rumor": LABELS[number % 2]}
            file.write(json.dumps(content | {"posts": posts}) + "\n")
    return path


def name(number: int) -> str:
    return "t0</script>\u202e#%" if number == 0 else f"t{number}"


def store(db: Path, corpus: Path, **run: Any) -> None:
    """Store one run: every third thread wrong (by seed), t5 abstained, t7 failed; rows by what its `how` gives."""
    loaded = load(f"jsonl:{corpus}", environ={})
    config = {"dataset": f"jsonl:{corpus}", "labels": "rumor/non-rumor", "classes": list(LABELS), "seeds": 2}
    row = {"dataset": loaded.name, "split": "all", "model": "encoder", "seed": 0, "n_threads": len(loaded.threads)}
    row |= {"corpus_fingerprint": loaded.fingerprint, "corpus_counts": {"threads": len(loaded.threads), "variant": 1}}
    row |= {"prompts": {}, "packages": {"duckdb": "2.0"}, "git_commit": "abc123+"}
    row |= run | {"config": config | run.get("config", {})}
    checkpoints = row["when"].split(",") if "," in row["when"] else [None]
    with Writer(db, row) as writer:
        for number, thread in enumerate(loaded.threads):
            rows = _rows(row, number, thread.id, len(thread.posts), checkpoints)
            writer.add(**rows)
        call = {"key": f"k{row['run_id']}", "cached": False, "role": "judge", "model": row["model"], "cost": 0.25}
        call |= {"input_tokens": 1000, "output_tokens": 20, "seconds": 1.5, "thread_id": "t1"}
        if row["how"] == "s2mad":
            writer.add(calls=[call, call | {"cached": True}])
        writer.finish(row.get("status", "finished"))


def _rows(row: dict[str, Any], number: int, thread: str, n: int, checkpoints: list[str | None]) -> dict[str, Any]:
    gold = LABELS[number % 2]
    right = (number + row["seed"]) % 3 != 0
    label = gold if right else LABELS[1 - number % 2]
    found: dict[str, list[dict[str, Any]]] = {"predictions": [], "steps": [], "annotations": []}
    for place, checkpoint in enumerate(checkpoints):
        stop = n if row["when"] == "all-posts" else min(n, 2 + place)
        given = {"gold": gold, "label": label, "outcome": "verdict", "reason": None, "stop_index": stop}
        if number == 5:
            given |= {"label": None, "outcome": "abstained", "reason": "no label: <b>\u202ehm</b>"}
        if number == 7:
            given |= {"label": None, "outcome": "failed", "reason": "the line is dead", "stop_index": None}
        odds = None if given["label"] is None else {given["label"]: 0.75, "method": "classifier"}
        there = n + (number == 11)  # as if the corpus had lost a post since
        common = {
            "thread_id": thread,
            "checkpoint": checkpoint,
            "n_posts": there,
            "seconds": 0.5,
            "probabilities": odds,
        }
        common |= {"seconds_to_stop": 600.0 * (stop - 1), "rationale": f"because {HOSTILE[0]}"}
        if row["how"] == "s2mad" and given["label"]:
            common["debate"] = _debate(number)
        found["predictions"].append(common | given)
        if row["how"] == "jsdrv":
            found["annotations"] += [
                {"thread_id": thread, "checkpoint": checkpoint, "post_id": f"p{i}", "gold": "SSDQC"[i % 5],
                 "label": "SDQC"[i % 4], "kept": bool(i % 2) if i else None, "explanation": f"says {HOSTILE[0]}",
                 "probabilities": {"S": 0.7, "D": 0.1, "Q": 0.1, "C": 0.1}}
                for i in range(n)
            ]  # fmt: skip
    if row["when"].startswith("confidence") and number != 7:  # with --sea: labels after the stop, some of which change
        for step in range(1, n + 1):
            action = "continue" if step < 2 else "stop" if step == 2 else "after"
            later = LABELS[(number + step) % 2] if number % 4 == 1 else label
            found["steps"].append(
                {"thread_id": thread, "step": step, "action": action}
                | {"label": {"continue": None, "stop": given["label"], "after": later}[action]}
                | {"stop_probability": None if action == "after" else 0.2 + 0.2 * step}
            )
    return found


def _debate(number: int) -> dict[str, Any]:
    turns = [
        {"speaker": speaker, "round": round_, "label": LABELS[(number + round_) % 2], "text": f"{speaker} {HOSTILE[0]}"}
        | {"cites": ["p1"], "unknown": 1, "calls": 1}
        for round_ in (0, 1)
        for speaker in ("p", "n")
    ]
    turns.append(turns[0] | {"speaker": "judge", "round": 1, "cites": []})
    scores = {"p1": 0.5, "p2": -0.7, "p3": None}
    flips = {"p": number % 2, "n": 0}
    return {"subjective": False, "scores": scores, "p": ["p1"], "n": ["p2"], "turns": turns, "flips": flips, "calls": 8}


def store_all(place: Path) -> Path:
    """A database with configurations conf (two seeds), read (checkpoints), debate and stances."""
    corpus, db = write_corpus(place / "corpus.jsonl"), place / "hearsay.duckdb"
    for seed in (0, 1):
        store(
            db, corpus, run_id=f"conf{seed}run", config_id="confidence", when="confidence:0.6", how="encoder", seed=seed
        )
    store(db, corpus, run_id="readrun", config_id="reading", when="posts:2,posts:3", how="encoder")
    debate = {"when": "all-posts", "how": "s2mad", "model": "openai:x<y>"}
    store(db, corpus, run_id="debaterun", config_id="debating", **debate)
    store(db, corpus, run_id="stancerun", config_id="stances", when="all-posts", how="jsdrv", status="interrupted")
    return db
