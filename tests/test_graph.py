import os
import subprocess
import sys

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agents.stopping.fixed import after_hours, after_posts
from agents.verdict import Verdict
from corpora.errors import UsageError
from corpora.labels import LABEL_SETS
from corpora.thread import ClaimThread, Post
from graphs import stop_then_detect
from graphs.context import Context, Method, method_of
from graphs.methods import HOW, METHODS, check_policy, checkpoints, known, open_policy
from graphs.parts import Parts
from graphs.stop_then_detect import MOST_CHARACTERS, Input, builder, graph, recursion_limit, run_nodes

PARTS = Parts(LABEL_SETS["rumor/non-rumor"])


def thread(times: list[float | None]) -> ClaimThread:
    posts = tuple(
        Post(str(i), f"post {i}", seconds, f"user{i}", None if i == 0 else "0") for i, seconds in enumerate(times)
    )
    return ClaimThread("t", posts)


class Recorder:
    """A verifier that remembers what it was shown."""

    def __init__(self) -> None:
        self.seen: list[ClaimThread] = []

    async def __call__(self, prefix: ClaimThread) -> Verdict:
        self.seen.append(prefix)
        return Verdict("rumor", {"rumor": 0.9, "non-rumor": 0.1}, "classifier")


def as_input(conversation: ClaimThread) -> dict:
    return {
        "id": conversation.id,
        "posts": [
            {"id": p.id, "text": p.text, "seconds": p.seconds, "author": p.author, "parent": p.parent}
            for p in conversation.posts
        ],
    }


@pytest.mark.parametrize(
    ("when", "read"),
    [
        ("first-post", 1),
        ("posts:3", 3),
        ("posts:99", 5),
        ("all-posts", 5),
        ("hours:1", 3),
        ("hours:0", 1),
        ("hours:2", 4),
    ],
)
async def test_stops_where_the_policy_says_and_shows_the_verifier_no_more(when: str, read: int) -> None:
    conversation = thread([0, 60, 3600, 7200, 7201])
    verifier = Recorder()
    state = await run_nodes(conversation, Method(open_policy(when, PARTS), verifier))
    assert state["read"] == read
    assert [len(prefix.posts) for prefix in verifier.seen] == [read]
    assert verifier.seen[0].posts == conversation.posts[:read]
    assert [step["action"] for step in state["steps"]] == ["continue"] * (read - 1) + ["stop"]


@pytest.mark.parametrize("how", ["s2mad", "self-correction"])
async def test_confidence_needs_a_verifier_that_gives_probabilities(how: str) -> None:
    context = Context(when="confidence:0.7", how=how, model="openai:x", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(UsageError, match=f"{how} gives none"):
        await method_of(context)


@pytest.mark.parametrize("when", ["first-post", "posts:3", "all-posts", "hours:1"])
async def test_graph_and_batch_runner_give_the_same(when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = thread([0, 60, 3600, 7200, 7201])
    method = Method(open_policy(when, PARTS), Recorder())

    async def the_method(_: object) -> Method:
        return method

    batch = await run_nodes(conversation, method)
    monkeypatch.setattr(stop_then_detect, "method_of", the_method)
    alone = await graph.ainvoke(as_input(conversation), {"recursion_limit": recursion_limit(5)}, context=Context())
    assert alone["steps"] == batch["steps"]
    assert alone["verdict"] == batch["verdict"]
    assert alone["read"] == batch["read"]


async def test_graph_runs_on_its_defaults_and_can_be_checkpointed_with_strict_types() -> None:
    saved = builder.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    conversation = {"posts": [{"text": "they closed the harbour bridge"}, {"text": "source? no such thing"}]}
    output = await saved.ainvoke(conversation, config, context=None)
    assert output["verdict"]["label"] in ("rumor", "non-rumor")
    assert output["verdict"]["probability_method"] == "classifier"
    assert output["read"] == 2
    state = await saved.aget_state(config)
    assert state.values["conversation"]["posts"][1]["parent"] == "0"


async def test_each_post_is_a_step_of_its_own_in_the_stream() -> None:
    conversation = as_input(thread([0, 1, 2]))
    nodes = [
        node
        async for update in graph.astream(conversation, stream_mode="updates", context=Context())
        for node in update
    ]
    assert nodes == ["admit"] + ["read_post"] * 3 + ["verify"]


def test_drawing_shows_the_two_ways_on_from_a_decision() -> None:
    drawing = graph.get_graph()
    assert {(edge.source, edge.target) for edge in drawing.edges if edge.conditional} == {
        ("read_post", "read_post"),
        ("read_post", "verify"),
    }
    assert "posts" in Input.model_json_schema()["required"]


async def test_no_conversation_is_an_error_of_the_input() -> None:
    with pytest.raises(UsageError, match="posts: List should have at least 1 item"):
        await graph.ainvoke({"posts": []})


async def test_hours_mean_nothing_without_times() -> None:
    with pytest.raises(UsageError, match="no times"):
        await run_nodes(thread([None, None]), Method(open_policy("hours:1", PARTS), Recorder()))


@pytest.mark.parametrize(
    "bad",
    [
        "posts:0",
        "posts:-1",
        "posts:x",
        "posts",
        "hours",
        "hours:nan",
        "hours:-1",
        "frist-post",
        "all-posts:2",
        "eard:",
        "eard:no-such-folder",
        "erd:1",
        "ced:2",
        "confidence:0",
        "random",
        "random:1.5",
        "oracle:x",
    ],
)
def test_bad_policies_are_the_users_error(bad: str) -> None:
    with pytest.raises(UsageError):
        check_policy(bad)


def test_lists_of_checkpoints() -> None:
    assert checkpoints("hours:1, 6,12") == ["hours:1", "hours:6", "hours:12"]
    assert checkpoints("posts:10,all") == ["posts:10", "posts:all"]
    assert checkpoints("first-post") == ["first-post"]
    assert after_posts("all").n is None
    assert after_hours("0.5").deadline == 1800


def test_names_that_are_nearly_right_are_suggested() -> None:
    with pytest.raises(UsageError, match="did you mean direct"):
        known("diretc", HOW, "--how")


def test_every_published_method_is_made_of_known_parts() -> None:
    for pair in METHODS.values():
        assert pair.how in (*HOW, None)
        for checkpoint in checkpoints(pair.when):
            check_policy(checkpoint)


def test_importing_the_graph_loads_no_model_and_no_store() -> None:
    heavy = {"torch", "transformers", "sentence_transformers", "langchain_openai", "duckdb", "sklearn"}
    code = "import sys, graphs.stop_then_detect; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not heavy & set(loaded)
    assert graph.checkpointer is None


async def test_a_second_conversation_on_one_thread_of_a_server_starts_anew() -> None:
    saved = builder.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "one"}}
    method = Method(open_policy("posts:2", PARTS), Recorder())
    for conversation in (thread([0, 60, 120]), thread([0, 60])):
        output = await saved.ainvoke(as_input(conversation), config, context=method)
        assert [step["step"] for step in output["steps"]] == [1, 2]


async def test_nothing_that_was_sent_before_is_taken_for_what_is_sent_now() -> None:
    saved, verifier = builder.compile(checkpointer=InMemorySaver()), Recorder()
    config = {"configurable": {"thread_id": "one"}}
    method = Method(open_policy("all-posts", PARTS), verifier)
    first = {"posts": [{"text": "一"}, {"text": "二"}], "language": "zh", "id": "first"}
    for given, broken in [
        (first, None),
        ({"posts": [{"text": "hello"}]}, None),
        ({"id": "x"}, "posts: Field required"),
    ]:
        if broken:
            with pytest.raises(UsageError, match=broken):
                await saved.ainvoke(given, config, context=method)
        else:
            await saved.ainvoke(given, config, context=method)
    assert [(seen.id, seen.language, len(seen.posts)) for seen in verifier.seen] == [
        ("first", "zh", 2),
        ("thread", "en", 1),
    ]


async def test_posts_are_read_by_the_corporas_own_rules() -> None:
    verifier = Recorder()
    posts = [
        {"text": " the bridge is closed ", "author": "Anna_B"},
        {"text": "\u200b", "author": "c", "seconds": 10},
        {"text": "ask @anna_b, or @Carl", "author": "Carl", "seconds": 3600},
        {"text": "no", "author": "anna_b", "seconds": 3601, "parent": "1"},
    ]
    method = Method(open_policy("hours:1", PARTS), verifier)
    output = await graph.ainvoke({"posts": posts}, context=method)
    (seen,) = verifier.seen
    assert [(post.id, post.text, post.author, post.seconds) for post in seen.posts] == [
        ("0", "the bridge is closed", "user1", 0.0),
        ("2", "ask @user1, or @user2", "user2", 3600.0),
    ], "the source post is where time begins, whether or not that is said"
    assert output["judged"] == ["0", "2"]
    with pytest.raises(UsageError, match="the first post has no visible text"):
        await graph.ainvoke({"posts": [{"text": " "}, {"text": "hello"}]}, context=method)
    output = await graph.ainvoke({"posts": posts}, context=Method(open_policy("all-posts", PARTS), verifier))
    assert verifier.seen[-1].posts[-1].text == "no" and verifier.seen[-1].posts[-1].parent == "0"


async def test_what_a_server_keeps_of_a_decision_does_not_grow_with_the_post() -> None:
    sizes = []
    for length in (10, 1_000):
        saver = InMemorySaver()
        posts = [{"text": "x" * length} for _ in range(40)]
        method = Method(open_policy("all-posts", PARTS), Recorder())
        saved = builder.compile(checkpointer=saver)
        config = {"configurable": {"thread_id": "one"}, "recursion_limit": recursion_limit(40)}
        told = [part async for part in saved.astream({"posts": posts}, config, context=method, stream_mode="updates")]
        assert [part["read_post"]["text"] for part in told if "read_post" in part] == [post["text"] for post in posts]
        sizes.append(sum(len(blob) for key, (_, blob) in saver.blobs.items() if key[2] == "steps"))
    assert sizes[0] == sizes[1]
    with pytest.raises(UsageError, match=f"posts.0.text: String should have at most {MOST_CHARACTERS} characters"):
        await graph.ainvoke({"posts": [{"text": "x" * (MOST_CHARACTERS + 1)}]}, context=method)
