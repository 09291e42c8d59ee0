"""The cleaning rules, each on made-up posts, and what must hold for any posts at all."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.clean import DROPS_POSTS, RULES, RawPost, RawThread, build_thread, encodable, language_of, printable
from corpora.corpus import fingerprint
from corpora.readers import jsonl


def build(*posts, source="s", language="en", **options):
    tally = Counter()
    raw = RawThread("t", source, list(posts), language=language)
    return build_thread(raw, tally, **options), +tally


def ids(thread):
    return [post.id for post in thread.posts]


def texts(thread):
    return [post.text for post in thread.posts]


def test_posts_are_sorted_by_time_and_ties_keep_file_order_with_the_source_first():
    thread, tally = build(
        RawPost("late", "x", 30.0), RawPost("b", "x", 20.0), RawPost("s", "x", 10.0), RawPost("a", "x", 20.0)
    )
    assert ids(thread) == ["s", "b", "a", "late"]
    assert [post.seconds for post in thread.posts] == [0.0, 10.0, 10.0, 20.0]
    assert not tally


def test_a_reply_timed_before_its_source_comes_after_it_at_time_zero():
    thread, tally = build(RawPost("s", "x", 100.0), RawPost("r", "x", 40.0, parent="s"))
    assert [(post.id, post.seconds) for post in thread.posts] == [("s", 0.0), ("r", 0.0)]
    assert tally == {"times_before_source": 1}


def test_one_missing_time_leaves_the_thread_untimed_in_file_order():
    thread, tally = build(RawPost("s", "x", 5.0), RawPost("b", "x", None), RawPost("a", "x", 1.0))
    assert ids(thread) == ["s", "b", "a"]
    assert not thread.timed
    assert {post.seconds for post in thread.posts} == {None}
    assert tally == {"partly_timed_threads": 1}


@pytest.mark.parametrize("blank", ["", " \n", "\u200b\u200d", "\x00\x1f", "\ufeff\u3164", "\u2800", "\U000e0041"])
def test_a_blank_post_is_dropped_and_its_replies_answer_what_it_answered(blank):
    thread, tally = build(
        RawPost("s", "x"), RawPost("a", "x"), RawPost("e", blank, parent="a"), RawPost("c", "x", parent="e")
    )
    assert [(post.id, post.parent) for post in thread.posts] == [("s", None), ("a", "s"), ("c", "a")]
    assert tally == {"empty_posts": 1}


@pytest.mark.parametrize("posts", [[], [RawPost("r", "x")], [RawPost("s", " \u200b"), RawPost("r", "x")]])
def test_a_thread_without_a_source_is_dropped(posts):
    thread, tally = build(*posts)
    assert thread is None
    assert tally == +Counter(threads_without_source=1, posts_without_source=len(posts))


def test_a_post_with_an_id_already_seen_is_dropped_and_so_is_the_source_among_its_replies():
    thread, tally = build(
        RawPost("s", "first", 0.0),
        RawPost("r", "one", 1.0),
        RawPost("r", "two", 2.0),
        RawPost("s", "again", 3.0),
    )
    assert texts(thread) == ["first", "one"]
    assert tally == {"duplicate_posts": 2}


def test_orphans_answer_the_source():
    thread, tally = build(RawPost("s", "x"), RawPost("a", "x", parent="gone"), RawPost("b", "x"))
    assert [post.parent for post in thread.posts] == [None, "s", "s"]
    assert tally == {"orphan_posts": 1}  # naming no parent is a format's way, not a fault


def test_a_reply_before_its_parent_answers_the_nearest_ancestor_before_it():
    thread, tally = build(
        RawPost("s", "x", 0.0),
        RawPost("a", "x", 1.0, parent="s"),
        RawPost("b", "x", 9.0, parent="a"),
        RawPost("c", "x", 2.0, parent="b"),
        RawPost("loop1", "x", 3.0, parent="loop2"),
        RawPost("loop2", "x", 4.0, parent="loop1"),
        RawPost("self", "x", 5.0, parent="self"),
    )
    parents = {post.id: post.parent for post in thread.posts}
    assert parents == {"s": None, "a": "s", "c": "a", "loop1": "s", "loop2": "loop1", "self": "s", "b": "a"}
    assert tally == {"early_replies": 3}  # c, loop1, self


def test_a_blank_post_sorted_late_hands_on_what_it_answered():
    thread, tally = build(
        RawPost("s", "x", 0.0),
        RawPost("a", "x", 1.0, parent="s"),
        RawPost("c", "x", 2.0, parent="blank"),
        RawPost("blank", "", 3.0, parent="late"),
        RawPost("late", "x", 4.0, parent="a"),
        RawPost("d", "x", 5.0, parent="blank"),
    )
    assert {post.id: post.parent for post in thread.posts} == {"s": None, "a": "s", "c": "a", "late": "a", "d": "late"}
    assert tally == {"empty_posts": 1}


@pytest.mark.parametrize(("last", "parents"), [("s", {"s"}), ("gone", {"s"}), ("0", {"s", "0"})])
def test_no_order_makes_cleaning_slow(last, parents):
    n = 50_000
    chain = [RawPost(str(i), "x", float(i), parent=str(i + 1) if i < n else last) for i in range(n + 1)]
    thread, _ = build(RawPost("s", "x", 0.0), *chain)
    assert {post.parent for post in thread.posts[1:]} == parents


def test_handles_are_numbered_in_order_of_appearance():
    thread, _ = build(
        RawPost("s", "so says @Mayor_X", author="anna"),
        RawPost("r", "@ANNA @mayor_x: no. mail me@example.org, see https://pics.example/@carl", author="bob"),
    )
    assert texts(thread) == [
        "so says @user2",
        "@user1 @user2: no. mail me@example.org, see https://pics.example/@user4",
    ]
    assert [post.author for post in thread.posts] == ["user1", "user3"]


def test_a_mention_needs_no_space_before_it_unless_a_host_name_follows():
    thread, _ = build(RawPost("s", "RT@one cc@two,via@one. me@mail-1.example @one@two @three.org"))
    assert thread.source.text == "RT@user1 cc@user2,via@user1. me@mail-1.example @user1@user2 @user3.org"


def test_a_bare_at_stays_and_an_unknown_author_takes_no_number():
    thread, _ = build(RawPost("s", "@ and @ @one"), RawPost("r", "＠two", author="three"))
    assert texts(thread) == ["@ and @ @user1", "＠user3"]
    assert [post.author for post in thread.posts] == ["", "user2"]


def test_weibo_names_end_where_no_name_can_go_on():
    thread, _ = build(RawPost("s", "看的我都@河-边 小记！转//@阿明:假的@UPPER_码，对", author="阿明"), language="zh")
    assert texts(thread) == ["看的我都@user2 小记！转//@user1:假的@user3，对"]


def test_keep_handles_keeps_them():
    thread, _ = build(RawPost("s", "@one", author="Two"), keep_handles=True)
    assert (thread.source.text, thread.source.author) == ("@one", "Two")


def test_lone_surrogates_are_replaced_wherever_they_are():
    tally = Counter()
    posts = [RawPost("s\ud800", "ab\ud83dc", author="\udfff"), RawPost("r", "x", parent="s\ud800")]
    raw = encodable(RawThread("t\ud800", "s\ud800", posts, event="e\ud800"), tally)
    assert (raw.id, raw.source, raw.event) == ("t?", "s?", "e?")
    assert raw.posts == [RawPost("s?", "ab?c", author="?"), RawPost("r", "x", parent="s?")]
    assert tally == {"unencodable_texts": 7}
    assert encodable(raw, tally) is raw


def test_language_of_counts_letters():
    assert language_of(["桥塌了 says who"]) == "en"
    assert language_of(["桥已经塌了, ok", "真的吗"]) == "zh"
    assert language_of([]) == "en"


def test_printable_lets_no_control_character_through():
    assert printable("a\x1b[31mb\u202ec\ud800\nd\u2028e") == "a [31mb c  d e"
    assert len(printable("x" * 500)) == 120


# -- what holds for any thread ------------------------------------------------------------------------------

names = st.sampled_from(["ann", "Bob", "BOB", "", "小明", "user3"])
identifiers = st.sampled_from(["s", *"abcdef"])
bodies = st.lists(
    st.sampled_from(["@ann", "@Bob", "@x_1", "@", "hm", " ", "\u200b", "@小明 ", "@user1"]), max_size=4
).map("".join)
posts = st.builds(
    RawPost,
    id=identifiers,
    text=bodies,
    seconds=st.one_of(st.integers(-5, 5).map(float), st.just(3.0)),
    author=names,
    parent=st.one_of(st.none(), identifiers, st.just("gone")),
    stance=st.sampled_from([None, "S", "D"]),
)
threads = st.builds(
    RawThread,
    id=st.just("t"),
    source=st.just("s"),
    posts=st.lists(posts, max_size=9).map(lambda rest: [RawPost("s", "claim @ann", 0.0, "Bob"), *rest]),
    language=st.sampled_from(["en", "zh"]),
)


@given(threads)
def test_no_prefix_shows_the_future(raw):
    thread = build_thread(raw, Counter())
    for n in range(1, len(thread.posts) + 1):
        prefix = thread.prefix(n)
        assert prefix.posts == thread.posts[:n]
        assert prefix.gold.veracity is None and prefix.gold.rumor is None and not prefix.gold.stances
        seen = set()
        for post in prefix.posts:
            assert post.parent in seen or (post.parent is None and not seen)
            seen.add(post.id)
        times = [post.seconds for post in prefix.posts]
        assert times == sorted(times)


@given(threads, st.data())
def test_handles_in_a_prefix_are_numbered_as_in_the_whole(raw, data):
    whole = build_thread(raw, Counter())
    n = data.draw(st.integers(1, len(whole.posts)))
    published = build_thread(raw, Counter(), keep_handles=True)
    # the same thread as it was when only n posts had been written
    early = [RawPost(p.id, p.text, p.seconds, p.author, p.parent) for p in published.posts[:n]]
    then = build_thread(RawThread("t", "s", early, language=raw.language), Counter())
    assert then.posts == whole.prefix(n).posts


@given(threads)
def test_every_post_is_kept_or_counted(raw):
    tally = Counter()
    thread = build_thread(raw, tally)
    assert set(tally) <= set(RULES)
    assert len(thread.posts) == len(raw.posts) - sum(tally[rule] for rule in DROPS_POSTS)
    assert set(thread.gold.stances) <= {post.id for post in thread.posts}


@given(threads)
def test_cleaning_what_was_exported_changes_nothing(raw):
    once = build_thread(raw, Counter())
    record = jsonl.to_record(once)
    exported = [
        RawPost(p["id"], p["text"], p["seconds"], p["author"], p["parent"], p.get("stance")) for p in record["posts"]
    ]
    tally = Counter()
    again = build_thread(RawThread("t", "s", exported, language=raw.language), tally)
    assert not +tally
    assert fingerprint([again]) == fingerprint([once])
