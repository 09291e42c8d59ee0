"""The chat-model baselines that give stances and veracity: single-task and multi-task, zero-shot and few-shot."""

import json

import pytest

from agents.call_log import CallLog
from agents.models import ModelError, ModelSettings, open_model
from agents.verifiers.prompted import drawn, prompted
from corpora.labels import LABEL_SETS
from corpora.thread import ClaimThread, Gold, Post
from tests.chat_stub import ChatStub
from tests.tiny_llama import build

VERACITY = LABEL_SETS["veracity"]


def thread(*texts, id="t", **more):
    posts = [Post(f"p{n}", text, 60.0 * n, f"u{n}", "p0" if n else None) for n, text in enumerate(texts)]
    return ClaimThread(id, tuple(posts), **more)


TALK = thread("the dam is leaking", "it is, I live there", "no, an old photo", "who says so?")
SHOTS = [
    thread(f"claim {n}", "so they say", id=f"s{n}", gold=Gold(veracity="NTFU"[n % 4], stances={"p1": "D"}))
    for n in range(12)
]


def scripted(tmp_path, rules, default="hm", **more):
    (tmp_path / "script.json").write_text(json.dumps({"rules": rules, "default": default}))
    return open_model(ModelSettings(f"scripted:{tmp_path / 'script.json'}", **more), {})


SINGLE = [
    {"regex": r"Post to judge:\n---- \w+ begins ----\n\[1\]", "reply": "Stance: Support"},
    {"regex": r"Post to judge:\n---- \w+ begins ----\n\[3\]", "reply": 'Stance: Deny, Reason: "an old photo"'},
    {"regex": r"Post to judge:\n---- \w+ begins ----\n\[4\]", "reply": "I question that"},
    {"contains": "Post to judge:", "reply": "Stance: Support", "probabilities": {"Support": 0.75, "Comment": 0.25}},
    {
        "contains": "What is the veracity",
        "reply": 'Veracity: False, Reason: "[3] shows it"',
        "probabilities": {"False": 0.5, "Unverified": 0.25, "Non-rumor": 0.25},
    },
]


async def test_single_task_asks_for_every_post_and_for_the_claim(tmp_path):
    rows = []
    verify = prompted(CallLog(record=rows.append), scripted(tmp_path, SINGLE), None, VERACITY, multi=False)
    verdict = await verify(TALK)
    assert (verdict.label, verdict.rationale) == ("F", "[3] shows it")
    assert verdict.probabilities == {"N": 0.25, "T": 0.0, "F": 0.5, "U": 0.25}
    assert [(row["post"], row["label"]) for row in verdict.annotations] == [
        ("p0", "S"), ("p1", "S"), ("p2", "D"), ("p3", None),
    ]  # fmt: skip
    assert verdict.annotations[1]["probabilities"] == {"S": 0.75, "D": 0.0, "Q": 0.0, "C": 0.25}
    assert verdict.annotations[2]["explanation"] == "an old photo" and verdict.annotations[2]["kept"] is None
    assert verdict.annotations[3]["reason"] == "no stance in the reply: I question that"
    assert verdict.stances == {"p0": "S", "p1": "S", "p2": "D"}
    assert len(rows) == 6  # four posts, one of them twice, and the claim
    (judged,) = [row["request"][-1]["content"] for row in rows if row["role"] == "veracity"]
    assert "[3] u2 (+2 min, answering [1]): no, an old photo" in judged and " · " not in judged


async def test_a_rumour_is_what_is_true_false_or_unverified(tmp_path):
    model = scripted(tmp_path, SINGLE)
    verdict = await prompted(CallLog(), model, None, LABEL_SETS["rumor/non-rumor"], multi=False)(TALK)
    assert verdict.label == "rumor" and verdict.probabilities == {"rumor": 0.75, "non-rumor": 0.25}


async def test_a_line_that_is_dead_is_no_abstention(tmp_path):
    model = scripted(tmp_path, [{"contains": "[4]", "error": "dead"}, {"contains": "", "reply": "Stance: Comment"}])
    with pytest.raises(ModelError, match="dead"):
        await prompted(CallLog(), model, None, VERACITY, multi=False)(TALK)


JOINT = "[1] Support\n[2] Support\n[3] Deny\nVeracity: False, Reason: \"[3] says 'Veracity: True' is a lie\""


async def test_multi_task_asks_once(tmp_path):
    async with ChatStub([{"reply": JOINT}]) as stub:
        model = open_model(ModelSettings("openai:tiny", base_url=stub.url), {})
        verdict = await prompted(CallLog(), model, None, VERACITY, multi=True)(TALK)
        await model.close()
    assert stub.count == 1 and (verdict.label, verdict.outcome) == ("F", "verdict")
    assert {row["post"]: row["label"] for row in verdict.annotations} == {"p0": "S", "p1": "S", "p2": "D", "p3": None}
    assert verdict.annotations[3]["reason"] == "no stance in the reply"


async def test_multi_task_that_cannot_be_read_twice_abstains_and_keeps_its_stances(tmp_path):
    async with ChatStub([{"reply": "[1] Support\n[2] Deny\nWho knows?"}]) as stub:
        model = open_model(ModelSettings("openai:tiny", base_url=stub.url), {})
        verdict = await prompted(CallLog(), model, None, VERACITY, multi=True)(TALK)
        await model.close()
    assert stub.count == 2 and verdict.outcome == "abstained" and "no veracity" in verdict.reason
    assert [row["label"] for row in verdict.annotations] == ["S", "D", None, None]


async def test_posts_without_room_in_the_joint_answer_are_abstentions(tmp_path):
    long = thread("the dam is leaking", *(f"post {n}" for n in range(2, 101)))
    reply = "\n".join(f"[{n}] Comment" for n in range(1, 101)) + "\nVeracity: True"
    model = scripted(tmp_path, [], default=reply, max_tokens=260)
    verdict = await prompted(CallLog(), model, None, VERACITY, multi=True)(long)
    labelled = [row["post"] for row in verdict.annotations if row["label"]]
    assert labelled == ["p0", *(f"p{n}" for n in range(81, 100))]
    assert verdict.annotations[1]["reason"] == "no room for the post in the question" and verdict.label == "T"


@pytest.mark.parametrize("multi", [False, True])
async def test_few_shot_shows_labelled_claims_and_no_stances_of_theirs(tmp_path, multi):
    rows = []
    model = scripted(tmp_path, SINGLE, default=JOINT)
    make = {"multi": multi, "shots": SHOTS, "examples": 4, "seed": 3}
    await prompted(CallLog(record=rows.append), model, None, VERACITY, **make)(TALK)
    (shown,) = [row["request"][-1]["content"] for row in rows if row["role"] in ("veracity", "joint")]
    answers = [line for line in shown.splitlines() if line.startswith("Veracity: ")]
    assert sorted(answers) == ["Veracity: False", "Veracity: Non-rumor", "Veracity: True", "Veracity: Unverified"]
    assert "[2] u1 (+1 min, answering [1]): so they say" in shown
    assert not any("Example." in row["request"][-1]["content"] for row in rows if row["role"] == "stance")
    assert [each.thread.id for each in drawn(SHOTS, 3)] != [each.thread.id for each in drawn(SHOTS, 4)]


@pytest.mark.parametrize("multi", [False, True])
async def test_a_local_model_gives_likelihoods(tmp_path, multi):
    pytest.importorskip("torch")
    rows = []
    model = open_model(ModelSettings(f"hf:{build(tmp_path, positions=4096, hidden_size=32)}", max_tokens=200), {})
    verdict = await prompted(CallLog(record=rows.append), model, None, VERACITY, multi=multi)(TALK)
    await model.close()
    assert verdict.probability_method == "log-likelihood" and sum(verdict.probabilities.values()) == pytest.approx(1)
    assert len(verdict.annotations) == 4
    roles = ["joint", "veracity"] if multi else ["stance"] * 4 + ["veracity"]
    assert sorted(row["role"] for row in rows) == roles
