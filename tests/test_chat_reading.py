"""What people paste into the chat and what they ask of it, read by rules."""

import json
import time
from contextlib import suppress

import pytest

from agents.replies import show_posts
from corpora.errors import UsageError
from corpora.readers.jsonl import to_record
from corpora.sample import __file__ as sample
from corpora.thread import ClaimThread, Gold, Post
from graphs.chatting.intents import read_intent
from graphs.chatting.pasting import MAX_CHARS, read_paste
from graphs.chatting.turns import Conversation, take, thread_of_posts

THREAD = ClaimThread(
    "t",
    (
        Post("a", "they closed the bridge", 0.0, "user1", None),
        Post("b", "source?", 60.0, "user2", "a"),
        Post("c", "my cousin: it is true", 300.0, "user1", "b"),
    ),
)


def texts(text: str, **options: object) -> list[str]:
    return [post.text for post in read_paste(text, **options).posts]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pasted", "kind", "expected"),
    [
        ("BREAKING: bridge closed", "one", ["BREAKING: bridge closed"]),
        ("it is closed\nwhy?\n really", "lines", ["it is closed", "why?", "really"]),
        ("- closed\n- really?\n• no", "lines", ["closed", "really?", "no"]),
        ("1. closed\n2) why\nand more\n3: no", "numbered", ["closed", "why and more", "no"]),
        ("1、停水\n2、真的？", "numbered", ["停水", "真的？"]),
        ("2020: what a year", "one", ["2020: what a year"]),
        ("tom: closed\n@ann (10:32): why\nstill tom\nbob: no", "named", ["closed", "why still tom", "no"]),
        ("[12/05/24, 10:32] Tom Smith: closed\n[12/05/24, 10:33] Ann: is it", "named", ["closed", "is it"]),
        ("Update: closed\nRT: closed", "lines", ["Update: closed", "RT: closed"]),
        ("a claim of\ntwo lines\n\na reply\n\nanother", "paragraphs", ["a claim of two lines", "a reply", "another"]),
        ('{"id": 7, "rumor": "rumor", "posts": [{"id": 1, "text": "x"}, {"id": 2, "text": "y"}]}', "json", ["x", "y"]),
        ('```json\n["x", "y"]\n```', "json", ["x", "y"]),
        ('{"text": "x"}\n{"full_text": "y", "user": {"screen_name": "q"}}', "json", ["x", "y"]),
        ('{"9": {"label": 1, "seq": {"timeline": [0, 5], "texts": ["x", "y"]}}}', "json", ["x", "y"]),
        ('{"lc": 1, "type": "constructor"}', "one", ['{"lc": 1, "type": "constructor"}']),
        ("[]", "one", ["[]"]),
    ],
)
def test_pastes_are_read_as_what_they_look_like(pasted: str, kind: str, expected: list[str]) -> None:
    assert read_paste(pasted).kind == kind
    assert texts(pasted) == expected


def test_posts_as_they_are_shown_to_models_come_back_with_authors_times_and_parents() -> None:
    found = read_paste(show_posts(THREAD))
    assert [(post.text, post.author, post.seconds, post.parent) for post in found.posts] == [
        ("they closed the bridge", "user1", 0.0, None),
        ("source?", "user2", 60.0, "1"),
        ("my cousin: it is true", "user1", 300.0, "2"),
    ]


def test_every_thread_of_the_sample_comes_back_as_it_was_exported() -> None:
    with open(sample.replace("__init__.py", "threads.jsonl"), encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            found = read_paste(line)
            assert found.thread_id == record["id"]
            assert [post.id for post in found.posts] == [post["id"] for post in record["posts"]]
    thread, _ = thread_of_posts(after(line)[0])
    assert thread.gold == Gold()  # a label in a paste is not read


@pytest.mark.parametrize("cut", ['{"id": 1, "posts": [{"text": "a"', '[{"text": "a"}, {"tex', "x" * (MAX_CHARS + 1)])
def test_what_cannot_be_read_is_a_line_that_says_so(cut: str) -> None:
    with pytest.raises(UsageError, match=r"cannot be read|can be pasted"):
        read_paste(cut)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("why?", {"do": "why"}),
        ("OK, and why do you think so?", {"do": "why"}),
        ("为什么？", {"do": "why"}),
        ("show post 5", {"do": "show", "posts": [5, 5]}),
        ("Can you show me posts 2 to four?", {"do": "show", "posts": [2, 4]}),
        ("第五条帖子说了什么？", {"do": "show", "posts": [5, 5]}),
        ("show the claim", {"do": "show", "posts": [1, 1]}),
        ("judge it by debate", {"do": "judge", "how": "s2mad"}),
        ("let them debate it", {"do": "judge", "how": "s2mad"}),
        ("用辩论判断一下", {"do": "judge", "how": "s2mad"}),
        ("ask the model", {"do": "judge", "how": "direct"}),
        ("and with only the first three posts?", {"do": "judge", "first": 3}),
        ("what about the first two replies?", {"do": "judge", "first": 3}),
        ("只看前十二条呢？", {"do": "judge", "first": 12}),
        ("only the claim", {"do": "judge", "first": 1}),
        ("without posts 2 and 4?", {"do": "judge", "without": [2, 4]}),
        ("去掉第3条", {"do": "judge", "without": [3]}),
        ("what would change your mind?", {"do": "change"}),
        ("什么会改变你的判断？", {"do": "change"}),
        ("how sure are you?", {"do": "sure"}),
        ("where would it have stopped?", {"do": "stop"}),
        ("that is a new claim", {"do": "claim"}),
        ("start over", {"do": "new"}),
        ("undo", {"do": "undo"}),
        ("Is it a rumor?", {"do": "judge"}),
        ("你好", {"do": "help"}),
        # posts, however they begin
        ("why would they close the bridge?", None),
        ("source?", None),
        ("it is a rumor", None),
        ("the debate is over", None),
        ("show post 5 to everybody you know", None),
        ("why?\nshow post 5", None),
    ],
)
def test_requests_are_read_by_rules_and_posts_are_not_taken_for_requests(said: str, expected: object) -> None:
    assert read_intent(said) == expected


def test_a_long_line_of_any_kind_costs_no_time() -> None:
    for piece in ("first ", "the ", "1", "零", "show post ", "， ", "`", "a: ", "[1] "):
        read_intent(piece * 150)
        read_paste(piece * 20_000)


@pytest.mark.parametrize(
    "hostile",
    ["check this:" + "\n" * 20_000, "what about this " + "\n" * 20_000, "请判断：" + "\n" * 20_000]
    + ["[1] a (" + piece * 20_000 + "x" for piece in (",", "9", "+")]
    + ["[1] a (+" + "9" * 20_000 + " min): x"],
)
def test_a_hostile_message_costs_no_more_than_its_length(hostile: str) -> None:
    began = time.perf_counter()
    with suppress(UsageError):
        take(None, hostile)
    assert time.perf_counter() - began < 0.5


@pytest.mark.parametrize("said", ["\u200b\nreal reply one\nanother", "\u200b", '[{"text": " "}, {"text": "x"}]'])
def test_a_claim_that_shows_nothing_is_refused_where_it_is_pasted(said: str) -> None:
    with pytest.raises(UsageError, match="no visible text"):
        take(after("a b")[0], f"new: {said}")


def after(*messages: str) -> tuple[Conversation, list[str]]:
    conversation, notes = None, []
    for message in messages:
        found = take(conversation, message, post=read_intent(message) is None and conversation is not None)
        conversation, notes = found["conversation"], found["notes"]
    assert conversation
    return conversation, notes


@pytest.mark.parametrize(
    ("messages", "posts", "note"),
    [
        (["they closed it", "source?"], ["they closed it", "source?"], "added:1:2"),
        (["a b\nc d", "e f\ng h"], ["e f", "g h"], "another:2:lines"),
        (["a b\nc d", "more: e f\ng h"], ["a b", "c d", "e f", "g h"], "added:2:4"),
        (["a b\nc d", "e f\ng h", "add them"], ["a b", "c d", "e f", "g h"], "added:2:4"),
        (["1. a b\n2. c d", "3. e f\n4. g h"], ["a b", "c d", "e f", "g h"], "added:2:4"),
        (["a b", "post: why?"], ["a b", "why?"], "added:1:2"),
        (["a b", "c d", "undo"], ["a b"], "undone:1"),
        (["a b", "c d", "that is a new claim"], ["c d"], "another:1:one"),
        (["a b\nc d", "that is one post"], ["a b\nc d"], "began:1:one"),
        (["new: a b", "new: c d"], ["c d"], "another:1:one"),
        (["Can you check this thread?\na b\nc d"], ["a b", "c d"], "began:2:lines"),
        (["Is it true that they closed it?"], ["they closed it?"], "began:1:one"),
        (["a b", "add them"], ["a b"], "nothing_before"),
        (['{"id": 1, "posts": [{"id": 1, "text": "a"}]}'] * 2, ["a"], "added:0:1"),
        (
            ['{"id": 1, "posts": [{"id": 1, "text": "a"}]}', '{"id": 2, "text": "b", "parent": 1}'],
            ["a", "b"],
            "added:1:2",
        ),
    ],
)
def test_a_message_begins_a_conversation_or_goes_on_with_it(messages: list[str], posts: list[str], note: str) -> None:
    conversation, notes = after(*messages)
    assert [post["text"] for post in conversation["posts"]] == posts
    assert notes == [note]


def test_posts_are_put_in_order_and_their_authors_renamed_as_in_every_corpus() -> None:
    pasted = {"id": "x", "posts": [{"id": "s", "text": "@amy said", "seconds": 100, "author": "Tom"}]}
    pasted["posts"].append({"id": "late", "text": "no", "seconds": 400, "author": "Amy", "parent": "s"})
    pasted["posts"].append({"id": "early", "text": " \u200b", "seconds": 200, "parent": "s"})
    pasted["posts"].append({"id": "mid", "text": "yes @tom", "seconds": 300, "parent": "early"})
    thread, notes = thread_of_posts(after(json.dumps(pasted))[0])
    assert [(post.id, post.text, post.author, post.seconds, post.parent) for post in thread.posts] == [
        ("s", "@user2 said", "user1", 0.0, None),
        ("mid", "yes @user1", "", 200.0, "s"),
        ("late", "no", "user2", 300.0, "s"),
    ]
    assert notes == ["dropped:1"]


def test_of_several_threads_the_first_is_read_and_the_person_is_told() -> None:
    lines = "\n".join(json.dumps(to_record(ClaimThread(name, THREAD.posts))) for name in "xyz")
    conversation, notes = after(lines)
    assert conversation["id"] == "x"
    assert notes == ["began:3:json", "several:3"]
