"""The scripted debater knows every prompt, and its corpus takes a debate through all of its branches."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI

import prompts
from agents.call_log import CallLog
from agents.debate.settings import DebateSettings
from agents.verdict import Verdict
from corpora.catalog import load
from corpora.labels import LABEL_SETS
from graphs.debate_verifier import debate_verifier
from graphs.parts import Parts
from tests.debate_script import CASES, Speaker, case_of, reply, score_of, write_debates
from tests.made_up import stub_process

QUOTED = "---- 0123456789abcdef begins ----\n{}\n---- 0123456789abcdef ends ----"
SHOWN = {
    "source": QUOTED.format("[1] a: the dam is open"),
    "comment": QUOTED.format("[2] b: source?"),
    "comments": QUOTED.format("[2] b: source?\n[3] c: so sad"),
    "other": QUOTED.format("No.\nFake"),
    "support": QUOTED.format("Yes.\nReal"),
    "oppose": QUOTED.format("No.\nFake"),
    "posts": "[1] a: the dam is open",
}


ELSEWHERE = ("stance", "veracity", "joint", "chat-intent", "chat-words")
"""Prompts that are no part of a debate or its controls."""


@pytest.mark.parametrize("name", [name for name in prompts.names() if name.partition(".")[0] not in ELSEWHERE])
def test_every_prompt_is_known(name: str) -> None:
    prompt = prompts.load(*name.split("."))
    messages = prompt.render(**{place: SHOWN[place] for place in prompt.identifiers})
    if name.startswith("debate."):
        first = prompts.load("opinion-subjective", name.split(".")[1]).render(
            source=SHOWN["source"], comments=SHOWN["comments"]
        )
        messages = [*first, {"role": "assistant", "content": "No.\nFake"}, *messages]
    elif name.startswith("correct."):
        first = prompts.load("direct", name.split(".")[1]).render(posts=SHOWN["posts"])
        messages = [*first, {"role": "assistant", "content": "No"}, *messages]
    answer = reply({"messages": messages})
    assert answer and "Nobody told me" not in answer
    assert answer == reply({"messages": messages})


async def verdicts(path: Path, **settings: Any) -> tuple[dict[str, Verdict], dict[str, Any]]:
    threads = {thread.id: thread for thread in load(f"jsonl:{path}", environ={}).threads}
    parts = Parts(
        LABEL_SETS["rumor/non-rumor"],
        log=CallLog(),
        models={"": Speaker()},
        debate=DebateSettings(**settings),
    )
    verify = debate_verifier(parts)
    return {name: await verify(thread) for name, thread in threads.items()}, threads


async def test_the_corpus_takes_every_branch(tmp_path: Path) -> None:
    found, threads = await verdicts(write_debates(tmp_path / "debates.jsonl"))
    assert {thread.language for thread in threads.values()} == {"en", "zh"}
    lengths = [len(thread.posts) for thread in threads.values()]
    assert min(lengths) == 1 and max(lengths) == 500
    ways: Counter[str] = Counter()
    for name, verdict in found.items():
        debate = verdict.debate
        assert debate
        last = {turn["speaker"]: turn for turn in debate["turns"]}
        ways[verdict.outcome] += 1
        ways["judge" if "judge" in last else "consensus"] += 1
        ways[f"subjective {debate['subjective']}"] += 1
        ways[f"sides {bool(debate['p'])} {bool(debate['n'])}"] += 1
        ways[f"flips {debate['flips']['p']} {debate['flips']['n']}"] += 1
        ways["unreadable score"] += None in debate["scores"].values()
        ways["asked twice"] += any(turn["calls"] == 2 for turn in debate["turns"])
        ways["invented post"] += any(turn["unknown"] for turn in debate["turns"])
        ways["cites"] += any(turn["cites"] for turn in debate["turns"])
        case = case_of(threads[name].source.text)
        both = debate["p"] and debate["n"]
        if case == "silent judge":
            assert verdict.reason == "the debaters did not agree, and the judge's reply has no label"
        elif case == "both mumble":
            assert verdict.reason == "no debater's last reply has a label"
        elif both and case == "dispute":
            assert (last["p"]["label"], last["n"]["label"]) == ("non-rumor", "rumor") and "judge" in last
        elif both and case == "p yields":
            assert debate["flips"] == {"p": 1, "n": 0} and "judge" not in last
        elif both and case == "swap once":
            assert debate["flips"] == {"p": 1, "n": 1} and "judge" in last
        elif both and case.endswith("falls away"):
            assert debate["flips"] == {"p": int(case[0] == "p"), "n": int(case[0] == "n")} and "judge" in last
        elif both and case == "p yields late":
            assert [turn["label"] for turn in debate["turns"] if turn["speaker"] == "p"][1] == "non-rumor"
            assert debate["flips"]["p"] == 1
    assert {case_of(thread.source.text) for thread in threads.values()} == set(CASES)
    wanted = ["verdict", "abstained", "judge", "consensus", "subjective True", "subjective False", "flips 2 2"]
    wanted += ["sides True True", "sides True False", "sides False True", "sides False False"]
    wanted += ["unreadable score", "asked twice", "invented post", "cites"]
    assert all(ways[way] for way in wanted), ways


@pytest.mark.parametrize("settings", [{"score_batch": 5}, {"quarantine": True}, {"gate": True}, {"ablate": "debate"}])
async def test_other_ways_to_debate(tmp_path: Path, settings: dict[str, Any]) -> None:
    """Scores and sides are the same, whichever prompt asks for them."""
    path = write_debates(tmp_path / "debates.jsonl", longest=20)
    one, _ = await verdicts(path)
    other, _ = await verdicts(path, **settings)
    for name, verdict in other.items():
        assert verdict.debate and one[name].debate
        if "score_batch" not in settings:  # an unreadable reply is one comment's own
            assert verdict.debate["scores"] == one[name].debate["scores"]
        assert verdict.debate["p"] == one[name].debate["p"]
        if "quarantine" in settings:
            assert verdict.label == one[name].label
        assert verdict.debate["turns"][0]["speaker"] == ("agent" if settings.get("ablate") else "p")


def test_scores_of_comments() -> None:
    assert -1 <= (score_of("Unconfirmed!") or 0) < 0 < (score_of("confirmed") or 0) <= 1
    found = [score_of(f"comment {number}") for number in range(100)]
    assert {None, 0.0} < set(found) and all(score is None or -1 <= score <= 1 for score in found)


async def test_a_stub_that_speaks_by_script() -> None:
    """In a process of its own; what no rule matches is the script's."""
    prompt = prompts.load("subjectivity", "en").render(source=SHOWN["source"])
    rules = [{"contains": "the flood", "reply": "as the rule says"}]
    with stub_process(rules, "--script", "tests.debate_script:reply") as url:
        async with AsyncOpenAI(base_url=url, api_key="none") as client:
            scripted = await client.chat.completions.create(model="x", messages=prompt)  # type: ignore[arg-type]
            prompt[-1] = {"role": "user", "content": prompt[-1]["content"].replace("the dam", "the flood")}
            ruled = await client.chat.completions.create(model="x", messages=prompt)  # type: ignore[arg-type]
    assert scripted.choices[0].message.content in ("Yes", "No", "Perhaps.")
    assert ruled.choices[0].message.content == "as the rule says"
    assert scripted.usage and scripted.usage.prompt_tokens > 100
