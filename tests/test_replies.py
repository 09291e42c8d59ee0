import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.replies import BLOCK, FAKE_REAL, YES_NO, clean, find_label, read_label, show_posts
from corpora.thread import ClaimThread, Post


def thread(texts, language="en", parents=None):
    posts = [
        Post(f"p{n}", text, 60.0 * n, f"user{n}", (parents or {}).get(n, "p0") if n else None)
        for n, text in enumerate(texts)
    ]
    return ClaimThread("t", tuple(posts), language=language)


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("Yes", "Yes"),
        ("no.", "No"),
        ("**YES**", "Yes"),
        ("_no_", "No"),
        ("Answer:Yes", "Yes"),
        ("Yes or No? I would say: no!", "No"),
        ("Yes, at first.\nOn reflection: No", "No"),
        ('"Yes"', "Yes"),
        ("Answer: “No”.", "No"),
        ("<think>It is surely Yes</think>No", "No"),
        ("it is Yes so far</think>\nNo", "No"),
        ("Yes\n> no, that is fake", "Yes"),
        ('Yes. The second post says "no way, no".', "Yes"),
        ("Yes\n[3] bob: no", "Yes"),
        ("Yes\n[3] user: this is no", "Yes"),
        ("Yes\n  [12] 李.b@c-d (+5 min, answering [1]): no", "Yes"),
        ("Yes\n[2] user1 (+1分钟, 回复[1]): no", "Yes"),
        ("Yes\n[1] ?: no", "Yes"),
        ('Yes\n[3] opposes, -0.8: "no"', "Yes"),
        ("[3] and [5] name the county office as source, so the answer is Yes.", "Yes"),
        ("[3], [5]: two offices confirm it. No", "No"),
        ("Yes\n[3] says otherwise, so No", "No"),
        ("", None),
        ("   ", None),
        ("Not likely", None),
        ("I cannot say yes or no.", None),
        ('Neither "Yes" nor "No"', None),
        ("Yes/No", None),
        ("“he said “No” there” and more", None),
        ("“No, he said", None),
        ("nope", None),
        ("yesterday, nothing", None),
        ("no-one can tell", None),
        ("y", None),
        ("1", None),
        ("<think>Yes, it is", None),
        ('A post says "yes"and that is all', None),
        ("是", None),
    ],
)
def test_yes_or_no(reply, label):
    if reply.startswith("A post"):
        reply = 'A post says "yes, it fell" and that is all'
    assert read_label(reply, YES_NO["en"]) == label


@pytest.mark.parametrize(
    "mark",
    [
        "“",
        "「",
        "『",
        '"',
        "<think>",
        "not ",
        "[1",
        "“「",
        "\n[1] a (",
        "[1] a",
        "\n ",
        "\n[1] ",
        "not, ",
        "so ",
        "Real, not ",
        "不",
    ],
)
def test_no_reply_takes_long_to_read(mark):
    started = time.process_time()
    read_label(mark * (200_000 // len(mark)), [*YES_NO["en"], *FAKE_REAL["en"]])
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("Fake", "Fake"),
        ("The claim is REAL.", "Real"),
        ("First I thought Fake; now Real", "Real"),
        ("It is not fake", None),
        ("It isn't real.", None),
        ("Not Real? No: Fake", "Fake"),
        ("real-time reports, unreal numbers, fakery", None),
        ("Reality", None),
        ("[3] and [5] name the county office as source, so the claim is Real.", "Real"),
        ("[3] user: this is Fake", None),
        ("Fake, not Real", "Fake"),
        ("Real. (Not Fake)", "Real"),
        ("Fake — definitely not Real.", "Fake"),
        ("No, it is Fake", "Fake"),
        ("Not confirmed by anyone, so Fake", "Fake"),
        ("Not confirmed by anyone so it is Fake", "Fake"),
        ("It is not Real but Fake", "Fake"),
        ("It isn't Real, it is Fake.", "Fake"),
        ("There is no doubt that it is Real", "Real"),
        ("Undoubtedly Fake, I would never say Real. Fake", "Fake"),
    ],
)
def test_fake_or_real(reply, label):
    assert read_label(reply, FAKE_REAL["en"]) == label


@pytest.mark.parametrize(
    "reply",
    [
        "It can't be Real.",
        "It cannot be Real",
        "It is no longer Real",
        "It is not clearly fake",
        "I'm not sure it is Fake",
        "I am unable to confirm it as Real",
        "As an AI I cannot label this Fake",
        "I cannot, in good conscience, say Fake",
        "Nobody confirms that it is Real",
        "There is no evidence that it is Real",
        "I doubt that it is Real",
        "It is unlikely to be Real",
        "If [3] is right the claim is Real",
        "I can't tell Fake from Real",
        "Fake rather than Real",
        "Fake instead of Real",
        "It is more Fake than Real",
        "It is **not** Real",
        "It is not, I think, Real",
        "Fake? Real? Unclear.",
        "Real is not what I would say",
    ],
)
def test_a_label_that_is_denied_doubted_or_compared_is_none(reply):
    assert read_label(reply, FAKE_REAL["en"]) is None


@pytest.mark.parametrize("reply", ["I cannot say Yes", "I would not say Yes", "I don't think the answer is Yes"])
def test_a_refusal_is_no_yes(reply):
    assert read_label(reply, YES_NO["en"]) is None


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("Supporters in [2] and [4] insist that it is Real, because", None),
        ("Fake. The comments say that it is Real, because", "Fake"),
        ("**Fake**\nThe comments", "Fake"),
        ("<think>Real. It is</think>Fake: they", "Fake"),
        ("Fake", "Fake"),
        ("<think>Fake. The", None),
        ("Real people say that it is", None),
        ("Fake or Real? Let me see, Real", None),
        ("", None),
    ],
)
def test_of_a_reply_that_was_cut_only_the_first_word_is_sure(reply, label):
    assert read_label(reply, FAKE_REAL["en"], cut=512) == label


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("是", "是"),
        ("是。", "是"),
        ("是的，", "是"),
        ("否", "否"),
        ("不是", "否"),
        ("答案：否。", "否"),
        ("答案：“是”", "是"),
        ("**否**", "否"),
        ("是，但是没有证据", "是"),
        ("但是没有证据", None),
        ("这是一个问题", None),
        ("是否", None),
        ("还不清楚", None),
        ("Yes", None),
    ],
)
def test_chinese_yes_or_no(reply, label):
    assert read_label(reply, YES_NO["zh"]) == label


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("谣言", "谣言"),
        ("真实。", "真实"),
        ("判断：谣言", "谣言"),
        ("非谣言", "真实"),
        ("不是谣言", "真实"),
        ("不真实", "谣言"),
        ("这是谣言。", "谣言"),
        ("其真实性无法判断", None),
        ("辟谣", None),
        ("有人说“谣言四起”，真实", "真实"),
        ("我不能说“谣言”", None),
        ("没有证据表明这是“真实”", None),
        ("没有证据，谣言", "谣言"),
        ("毫无疑问是“谣言”", "谣言"),
        ("谣言，而非真实", "谣言"),
        ("真实？", None),
    ],
)
def test_chinese_fake_or_real(reply, label):
    assert read_label(reply, FAKE_REAL["zh"]) == label


@given(st.text(), st.sampled_from([*YES_NO.values(), *FAKE_REAL.values()]))
def test_reading_is_total_and_points_into_the_text(text, words):
    found = find_label(text, words)
    assert found is None or (found[0] in words and 0 <= found[1] < len(text))


@given(st.text(), st.sampled_from(["Yes", "No"]))
def test_a_last_line_of_its_own_decides(text, word):
    text = text.replace("<", "").replace('"', "").replace("“", "").replace("「", "").replace("『", "")
    assert read_label(f"{text}.\n{word}", YES_NO["en"]) == word


def test_a_post_is_one_line_with_number_author_time_and_what_it_answers():
    shown = show_posts(thread(["the dam leaks", "source?", "here"], parents={2: "p1"}))
    assert shown.splitlines() == [
        "[1] user0: the dam leaks",
        "[2] user1 (+1 min, answering [1]): source?",
        "[3] user2 (+2 min, answering [2]): here",
    ]
    assert show_posts(thread(["坝漏了", "真的？"], "zh")).endswith("[2] user1 (+1分钟, 回复[1]): 真的？")


def test_times_and_parents_that_are_not_known_are_not_shown():
    posts = (Post("a", "x", None, "", None), Post("b", "y", None, "bob", "deleted"))
    assert show_posts(ClaimThread("t", posts)) == "[1] ?: x\n[2] bob: y"


@given(st.lists(st.text(), min_size=1, max_size=6), st.text())
def test_no_post_can_forge_a_line(texts, author):
    posts = [Post(str(n), text, 0.0, author, None) for n, text in enumerate(texts)]
    shown = show_posts(ClaimThread("t", tuple(posts)))
    assert len(shown.splitlines()) == len(posts)
    for n, line in enumerate(shown.splitlines(), 1):
        assert line.startswith(f"[{n}] ")
    shown.encode()  # no half surrogate pairs


def test_hidden_characters_and_template_marks_are_taken_apart():
    text = "a\u200bb\u202ec\x00\x1b[31md\ufeff\U000e0041<|im_end|>\n\u2028<|im_start|>system</s>[INST] \ud800"
    cleaned = clean(text)
    assert cleaned.startswith("abc[31md") and cleaned.isprintable()
    assert not any(mark in cleaned for mark in ("<|", "</s>", "[INST]", "\n"))
    assert clean("I <3 you, 1<2, 日本 é 👍") == "I <3 you, 1<2, 日本 é 👍"


def test_a_post_is_bounded():
    assert len(clean("x" * 10**6)) == 1000
    assert clean("x" * 10**6).endswith("x…")


def words(text):
    return len(text.split())


def test_over_the_budget_whole_blocks_of_the_oldest_replies_go():
    talk = thread([f"post number {n} of many" for n in range(1 + 5 * BLOCK)])
    everything = show_posts(talk)
    assert show_posts(talk, max_tokens=10**6, count=words) == everything
    shown = show_posts(talk, max_tokens=700, count=words).splitlines()
    assert shown[0] == everything.splitlines()[0]
    assert shown[1] == f"(posts left out here: 2-{1 + BLOCK})" or shown[1].endswith(f"-{1 + 2 * BLOCK})")
    assert shown[2:] == everything.splitlines()[-len(shown[2:]) :]
    assert sum(map(words, shown)) <= 700 and len(shown) == 50


def test_between_two_cuts_growing_prefixes_share_their_beginning():
    talk = thread([f"post number {n} of many" for n in range(200)])
    shown = [show_posts(talk.prefix(n), max_tokens=500, count=words) for n in range(1, 201)]
    breaks = sum(not after.startswith(before) for before, after in pairwise(shown))
    assert 0 < breaks <= 200 / BLOCK
    assert all(f"post number {n - 1} of many" in text for n, text in enumerate(shown, 1))


@given(st.lists(st.integers(0, 80), min_size=1, max_size=60), st.integers(0, 400))
def test_fitting_is_total_and_keeps_the_source(lengths, budget):
    talk = thread(["w " * length for length in lengths])
    shown = show_posts(talk, max_tokens=budget, count=words).splitlines()
    assert shown[0].startswith("[1]")
    assert sum(map(words, shown)) <= max(budget, 1)


def test_no_posts_are_shown_as_none():
    assert show_posts(thread(["a"]), []) == "(none)"
    assert show_posts(thread(["a"], "zh"), []) == "（无）"
