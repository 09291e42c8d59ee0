"""Each reader on small made-up files in its format, and on files that are not."""

import csv
import json
import zipfile
from collections import Counter

import pytest

from corpora.catalog import load
from corpora.errors import UsageError
from corpora.readers.files import seconds_of


@pytest.fixture
def environ(tmp_path):
    data, cache = tmp_path / "data", tmp_path / "cache"
    data.mkdir()
    return {"HEARSAY_DATA": str(data), "XDG_CACHE_HOME": str(cache)}


@pytest.fixture
def data(environ, tmp_path):
    return tmp_path / "data"


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def tweet(identifier, text, minute, parent=None, user="ann", **more):
    return {
        "id": int(identifier),
        "id_str": identifier,
        "text": text,
        "created_at": f"Mon Jun 01 12:{minute:02}:00 +0000 2015",
        "in_reply_to_status_id_str": parent,
        "user": {"id_str": "9", "screen_name": user},
        **more,
    }


def post(thread, identifier):
    return next(post for post in thread.posts if post.id == identifier)


# -- pheme ---------------------------------------------------------------------------------------------------


def pheme_thread(root, event, kind, identifier, annotation, replies=()):
    folder = root / "all-rnr-annotated-threads" / event / kind / identifier
    write(folder / "source-tweets" / f"{identifier}.json", tweet(identifier, "A dam broke @x", 1))
    write(folder / "source-tweets" / f"._{identifier}.json", b"\x00\x05\x16macos")
    for reply in replies:
        write(folder / "reactions" / f"{reply['id_str']}.json", reply)
    if annotation is not None:
        write(folder / "annotation.json", annotation)
    return folder


def test_pheme(data, environ):
    root = data / "PHEME"
    replies = [
        tweet("13", "really? @ann", 9, "12", "cy"),
        tweet("12", "no @X", 5, "11", "bo"),
        tweet("11", "the source again", 1),
    ]
    event = "flood-all-rnr-threads"
    pheme_thread(root, event, "rumours", "11", {"is_rumour": "rumour", "misinformation": "1", "true": "0"}, replies)
    pheme_thread(root, event, "rumours", "14", {"misinformation": 0, "true": "1"})
    pheme_thread(root, event, "rumours", "15", {"misinformation": "0"})
    pheme_thread(root, event, "rumours", "16", {"misinformation": "1", "true": "1"})
    pheme_thread(root, "fire", "non-rumours", "17", {"is_rumour": "nonrumour"})
    broken = pheme_thread(root, "fire", "rumours", "18", None)
    write(broken / "reactions" / "19.json", "{not json")
    write(broken / "reactions" / "20.json", {"id_str": "20"})
    corpus = load("pheme", environ=environ)
    threads = {thread.id: thread for thread in corpus.threads}
    assert {i: t.gold.veracity for i, t in threads.items()} == {
        **{"11": "F", "14": "T", "15": "U", "16": None, "17": "N", "18": None}
    }
    assert {i: t.gold.rumor for i, t in threads.items()}["17"] == "non-rumor"
    assert (threads["11"].event, threads["17"].event) == ("flood", "fire")
    assert [(p.id, p.parent, p.seconds, p.author) for p in threads["11"].posts] == [
        ("11", None, 0.0, "user1"),
        ("12", "11", 240.0, "user3"),
        ("13", "12", 480.0, "user4"),
    ]
    assert [p.text for p in threads["11"].posts] == ["A dam broke @user2", "no @user2", "really? @user1"]
    assert corpus.counts["duplicate_posts"] == 1
    assert corpus.counts["malformed_records"] == 2
    assert corpus.counts["unknown_labels"] == 1
    assert not corpus.complete and corpus.label_set == "rumor/non-rumor"


def test_pheme_without_threads_says_what_was_expected(data, environ):
    (data / "pheme").mkdir()
    with pytest.raises(UsageError, match=r"no thread in .*pheme: expected <event>/\{rumours,non-rumours\}"):
        load("pheme", environ=environ)


# -- semeval8 ------------------------------------------------------------------------------------------------


def test_semeval8_reads_train_dev_and_test(data, environ):
    root = data / "semeval-2017-task8"
    for where, identifier in (
        ("dataset/rumoureval-data/flood", "21"),
        ("dataset/rumoureval-data/fire", "23"),
        ("test-data", "25"),
    ):
        reply = str(int(identifier) + 1)
        write(root / where / identifier / "source-tweet" / f"{identifier}.json", tweet(identifier, "A claim", 1))
        write(root / where / identifier / "replies" / f"{reply}.json", tweet(reply, "hm", 2, identifier))
        write(root / where / identifier / "structure.json", {identifier: {reply: []}})
    labels = root / "dataset"
    write(labels / "traindev/rumoureval-subtaskA-train.json", {"21": "support", "22": "deny", "99": "query"})
    write(labels / "traindev/rumoureval-subtaskA-dev.json", {"23": "query", "24": "comment"})
    write(labels / "traindev/rumoureval-subtaskB-train.json", {"21": "true"})
    write(labels / "traindev/rumoureval-subtaskB-dev.json", {"23": "false"})
    write(labels / "goldtest/subtaskb.json", {"25": "unverified"})
    corpus = load("semeval8", environ=environ)
    threads = {thread.id: thread for thread in corpus.threads}
    assert {i: (t.gold.veracity, t.partition, t.event) for i, t in threads.items()} == {
        "21": ("T", "train", "flood"),
        "23": ("F", "dev", "fire"),
        "25": ("U", "test", None),
    }
    assert threads["21"].gold.stances == {"21": "S", "22": "D"}
    assert threads["23"].gold.stances == {"23": "Q", "24": "C"}
    assert corpus.counts["labels_without_thread"] == 1
    assert corpus.label_set == "veracity"


# -- rumoreval-s ---------------------------------------------------------------------------------------------


def test_rumoreval_s_reads_the_nested_zip(data, environ):
    root = data / "rumoreval-s"
    write(root / "ClaimLabel.txt", "claimID:31\tUR\r\nclaimID:32\tNR \r\n\r\n")
    write(root / "StanceLabel.txt", "replyID:33\tC \r\nreplyID:31\tS\r\nreplyID: 34\tX\r\nreplyID:77\tD\r\n")
    with zipfile.ZipFile(root / "RawText.zip", "w") as zipped:
        zipped.writestr("Set/", "")
        zipped.writestr("Set/31.txt", "claimID:31\ta dam broke @ \r\nhttp://x.example\r\nreplyID:33\t @ hm\r\n")
        zipped.writestr("__MACOSX/Set/._31.txt", b"\x00\x05")
        zipped.writestr("Set/32.txt", "claimID:32\tanother\r\nreplyID:34\tlate\r\n")
        zipped.writestr("Set/33.txt", "nothing of the kind")
    corpus = load("rumoreval-s", environ=environ)
    first, second = corpus.threads
    assert [(p.id, p.text, p.seconds, p.author, p.parent) for p in first.posts] == [
        ("31", "a dam broke @ \nhttp://x.example", None, "", None),
        ("33", "@ hm", None, "", "31"),
    ]
    assert (first.gold.veracity, first.gold.rumor, first.gold.stances) == (
        "U",
        "rumor",
        {"31": "S", "33": "C"},
    )
    assert (second.gold.veracity, second.gold.rumor) == ("N", "non-rumor")
    dropped = {key: corpus.counts[key] for key in corpus.counts if not key.startswith(("threads", "posts"))}
    assert dropped == {
        "malformed_records": 1,
        "labels_without_thread": 1,
        "unknown_labels": 1,
        "continued_lines": 1,
    }
    (root / "StanceLabel.txt").unlink()
    with pytest.raises(UsageError, match=r"lacks StanceLabel.txt"):
        load("rumoreval-s", environ=environ)


# -- twitter15, twitter16 ------------------------------------------------------------------------------------


def test_twitter15_with_and_without_replies(data, environ):
    for corpus in ("twitter15", "twitter16"):
        root = data / "rumdetect2017" / "rumor_detection_acl2017" / corpus
        write(root / "label.txt", "false:41\nnon-rumor:42\nodd:43\ntrue:44\n")
        write(root / "source_tweets.txt", "41\ta dam broke\n42\tgood morning\n43\twhat\nno tab here\n")
        write(root / "tree" / "41.txt", "['ROOT', 'ROOT', '0.0']->['u', '41', '0.0']\n")
    write(root.parent / "twitter15" / "replies" / "41.txt", "no it did not\n\n @x\u2028says\n")
    corpus = load("twitter15", environ=environ)
    assert [(t.id, t.gold.veracity, len(t.posts)) for t in corpus.threads] == [
        ("41", "F", 3),
        ("42", "N", 1),
        ("43", None, 1),
    ]
    replied = corpus.threads[0]
    assert [(p.id, p.seconds) for p in replied.posts] == [("41", None), ("41:1", None), ("41:3", None)]
    assert replied.posts[2].text == "@user1\u2028says"
    assert {rule: corpus.counts[rule] for rule in ("empty_posts", "malformed_records")} == {
        "empty_posts": 1,
        "malformed_records": 1,
    }
    assert corpus.counts["labels_without_thread"] == 1
    assert all(len(thread.posts) == 1 for thread in load("twitter16", environ=environ).threads)
    write(root / "label.txt", "id,label\n")
    with pytest.raises(UsageError, match=r"label.txt, line 1: expected label:id"):
        load("twitter16", environ=environ)


def test_twitter15_ids_lead_nowhere(data, environ):
    root = data / "twitter15"
    write(root / "label.txt", "false:../secret\n")
    write(root / "source_tweets.txt", "../secret\ta dam broke\n")
    write(root / "secret.txt", "hidden")
    (root / "replies").mkdir()
    (thread,) = load("twitter15", environ=environ).threads
    assert len(thread.posts) == 1


# -- ACLR ----------------------------------------------------------------------------------------------------

ACLR = (
    "51\t1\t2\t1.50\t a reply\twith a tab @x\r\n"
    "51\tNone\t1\t0.0\ta dam broke\n"
    "not a post\n"
    "51\t2\t3\t7.27\tto the reply\n"
    "52\tNone\t1\t0.0\n"
    "53\tNone\t1\t0.0\tno label\n"
    "54\t1\t2\t3.0\tno source\n"
)


def test_aclr(data, environ):
    write(data / "flood-standin" / "flood_data.txt", ACLR)
    write(data / "flood-standin" / "flood_label.txt", "51\t1\n54\tnon-rumor\n60\t0\n61\tmaybe\n")
    corpus = load("aclr:flood-standin", environ=environ)
    assert corpus.name == "flood-standin" and corpus.language == "en"
    replied, unlabelled = corpus.threads
    assert [(p.id, p.parent, p.seconds, p.text) for p in replied.posts] == [
        ("1", None, 0.0, "a dam broke"),
        ("2", "1", 90.0, "a reply\twith a tab @user1"),
        ("3", "2", 436.2, "to the reply"),
    ]
    assert (replied.gold.rumor, unlabelled.gold.rumor) == ("rumor", None)
    expected = {"malformed_records": 1, "threads_without_source": 2, "posts_without_source": 2}
    expected |= {"labels_without_thread": 1, "unknown_labels": 1}
    assert {key: corpus.counts[key] for key in expected} == expected
    by_file = load(f"aclr:{data / 'flood-standin' / 'flood_data.txt'}", environ=environ)
    assert (by_file.name, by_file.fingerprint) == ("flood_data", corpus.fingerprint)


def test_aclr_in_chinese(data, environ):
    write(data / "weibo" / "data.txt", "a\tNone\t1\t0.0\t水坝塌了 @河边小记！\na\t1\t2\t2\t真的吗 ok\n")
    write(data / "weibo" / "label.txt", "a\t0\n")
    corpus = load("aclr:weibo", environ=environ)
    assert corpus.language == "zh"
    assert corpus.threads[0].source.text == "水坝塌了 @user1！"


def test_aclr_names_file_and_line(data, environ):
    write(data / "x" / "a_data.txt", "\n{}\n")
    with pytest.raises(UsageError, match=r"no \*data\*.txt with its \*label\*.txt"):
        load("aclr:x", environ=environ)
    write(data / "x" / "a_label.txt", "1\t1\n")
    with pytest.raises(UsageError, match=r"a_data.txt, line 2: expected root id, parent index"):
        load("aclr:x", environ=environ)
    write(data / "x" / "b_data.txt", "")
    write(data / "x" / "b_label.txt", "")
    with pytest.raises(UsageError, match=r"several corpora .* a_data.txt, b_data.txt"):
        load("aclr:x", environ=environ)


@pytest.mark.parametrize("name", ["twitter-covid19", "Twitter_COVID19", "PHEME"])
def test_a_path_never_passes_for_a_catalog_corpus(data, environ, name):
    write(data / "there" / name / "x_data.txt", "a\tNone\t1\t0.0\ttext\n")
    write(data / "there" / name / "x_label.txt", "a\t0\n")
    assert load(f"aclr:{data / 'there' / name}", environ=environ).name == f"aclr:{name}"


# -- EARD ----------------------------------------------------------------------------------------------------


def eard(timeline, texts=("a dam broke", "no"), tids=("71", "72"), label=1):
    return {"e1": {"label": label, "seq": {"timeline": timeline, "tids": list(tids), "texts": list(texts)}}}


@pytest.mark.parametrize(
    "timeline",
    [
        [0, 90],
        [1433160000, 1433160090],
        ["1433160000", "1433160090.0"],
        ["2015-06-01T12:00:00+00:00", "2015-06-01T14:01:30+02:00"],
        ["Mon Jun 01 12:00:00 +0000 2015", "Mon Jun 01 12:01:30 +0000 2015"],
    ],
)
def test_eard_times_are_absolute_or_relative(data, environ, timeline):
    write(data / "beard.json", eard(timeline))
    (thread,) = load("beard", environ=environ).threads
    assert [(p.id, p.parent, p.seconds) for p in thread.posts] == [("71", None, 0.0), ("72", "71", 90.0)]
    assert thread.gold.rumor == "rumor" and not thread.gold.stances


def test_eard_bad_records_are_dropped_and_bad_files_named(data, environ):
    good = eard([0, 1], label="0")
    write(
        data / "b.json",
        {**good, "e2": {"label": 1}, "e3": eard([0])["e1"], "e4": eard([0, 1], label="?")["e1"]},
    )
    corpus = load("eard:b", environ=environ)
    assert corpus.name == "b"
    assert [(t.id, t.gold.rumor) for t in corpus.threads] == [("e1", "non-rumor"), ("e4", None)]
    assert (corpus.counts["malformed_records"], corpus.counts["unknown_labels"]) == (2, 1)
    write(data / "ms.json", eard([1433160000000, 1433160090000]))
    with pytest.raises(UsageError, match="e1 is not in seconds"):
        load("eard:ms", environ=environ)
    for content in ("[]", "{}", "{", "[" * 100_000):
        write(data / "bad.json", content)
        with pytest.raises(UsageError, match=r"bad.json"):
            load("eard:bad", environ=environ)


# -- P-Stance ------------------------------------------------------------------------------------------------


def test_pstance(data, environ):
    for split in ("train", "val", "test"):
        path = data / "pstance" / f"raw_{split}_doe.csv"
        path.parent.mkdir(exist_ok=True)
        with path.open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(["Tweet", "Target", "Stance"])
            rows.writerow(['never, "ever"\n@x', "Jane Doe", "AGAINST"])
            rows.writerow(["always", "Jane Doe", "FAVOR"])
    corpus = load("p-stance", environ=environ)
    assert corpus.label_set is None and len(corpus.threads) == 6
    assert Counter(t.partition for t in corpus.threads) == {"train": 2, "dev": 2, "test": 2}
    thread = corpus.threads[0]
    assert [p.text for p in thread.posts] == ["Jane Doe deserves to be president.", 'never, "ever"\n@user1']
    assert thread.gold.stances == {"tweet": "D"}
    path.write_text("Tweet,Target\nx,y\n")
    with pytest.raises(UsageError, match=r"raw_test_doe.csv, line 1: expected the columns"):
        load("p-stance", environ=environ)


# -- JSONL ---------------------------------------------------------------------------------------------------

LINE = {
    "id": "j1",
    "event": "flood",
    "language": "en",
    "rumor": "rumor",
    "veracity": "F",
    "partition": "test",
    "design": {"source_tells": False},
    "posts": [
        {"id": 1, "parent": None, "seconds": 0, "author": "ann", "text": "a dam broke", "stance": "S"},
        {"id": 2, "parent": 1, "seconds": 60.5, "author": "bo", "text": "no @ann", "extra": 1},
    ],
}


def jsonl_file(path, *lines):
    write(path, "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))


def test_jsonl(data, environ):
    bad = [
        "{",
        "[]",
        {"id": "x"},
        {"id": "x", "posts": [{"id": 1}]},
        {**LINE, "id": "fr", "language": "fr"},
        {"id": "x", "posts": [{"id": 1, "text": None}]},
    ]
    odd = {**LINE, "id": "j2", "rumor": "maybe", "veracity": ["T"], "partition": "threads_read"}
    late = {"id": "j3", "posts": [{"id": 1, "text": "x", "seconds": float("nan")}]}
    jsonl_file(data / "own.jsonl", LINE, "", *bad, LINE, odd, late)
    corpus = load("jsonl:own", environ=environ)
    thread, other, untimed = corpus.threads
    assert (thread.id, thread.event, thread.partition, thread.language) == ("j1", "flood", "test", "en")
    assert (thread.gold.rumor, thread.gold.veracity, thread.gold.stances) == ("rumor", "F", {"1": "S"})
    assert [(p.id, p.parent, p.seconds, p.author, p.text) for p in thread.posts] == [
        ("1", None, 0.0, "user1", "a dam broke"),
        ("2", "1", 60.5, "user2", "no @user1"),
    ]
    assert (other.gold.rumor, other.gold.veracity, other.partition) == (None, None, None)
    assert not untimed.timed
    assert corpus.counts == {
        **{"threads_read": 4, "posts_read": 7, "threads": 3, "posts": 5},
        **{
            "duplicate_threads": 1,
            "posts_of_duplicate_threads": 2,
            "malformed_records": 6,
            "unknown_labels": 3,
        },
    }


def test_jsonl_without_line_ends_is_given_up(data, environ, monkeypatch):
    monkeypatch.setattr("corpora.readers.jsonl.LONGEST", 1_000)
    jsonl_file(data / "own.jsonl", LINE)
    assert len(load("jsonl:own", environ=environ).threads) == 1
    with pytest.raises(UsageError, match=r"/dev/zero, line 1: over 1,000 bytes"):
        load("jsonl:/dev/zero", environ=environ)


@pytest.mark.parametrize("content", ["", "\n\n", "id,text\n", "[]", "{}", '{"id": 1, "posts": {}}', "[" * 99_999])
def test_jsonl_names_file_and_line(data, environ, content):
    write(data / "own.jsonl", content)
    with pytest.raises(UsageError, match=r"own.jsonl.* expected one JSON object a line"):
        load("jsonl:own", environ=environ)


def test_bytes_that_are_not_utf8_are_replaced_and_counted(data, environ):
    raw = json.dumps({"id": "j", "posts": [{"id": "1", "text": "caf? dam"}]}).encode()
    write(data / "own.jsonl", b"\xef\xbb\xbf" + raw.replace(b"?", b"\xe9"))
    corpus = load("jsonl:own", environ=environ)
    assert corpus.threads[0].source.text == "caf\ufffd dam"
    assert corpus.counts["undecodable_bytes"] == 1


@pytest.mark.parametrize(
    "value", [None, True, "", "soon", "nan", float("inf"), 10**400, [1], "Mon Foo 01 12:00:00 +0000 2015"]
)
def test_what_is_no_time_is_none(value):
    assert seconds_of(value) is None


def test_a_nested_zip_has_a_bound_of_its_own(data, environ, monkeypatch):
    root = data / "rumoreval-s"
    write(root / "ClaimLabel.txt", "claimID:c1\tTR\n")
    write(root / "StanceLabel.txt", "replyID:1\tS\n")
    with zipfile.ZipFile(root / "RawText.zip", "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("c1.txt", "claimID:c1\t" + "x" * 5000)
    monkeypatch.setattr("corpora.readers.rumoreval_s._MAX_BYTES", 4096)
    with pytest.raises(UsageError, match="more than 4,096 bytes"):
        load("rumoreval-s", environ=environ)


@pytest.mark.parametrize("minutes", ["1e308", "1e400", "nan", "-inf"])
def test_a_number_too_large_for_a_time_is_none(data, environ, minutes):
    write(data / "new" / "data.txt", f"a\tNone\t1\t0\tx y\na\t1\t2\t{minutes}\tz\n")
    write(data / "new" / "label.txt", "a\t1\n")
    corpus = load("aclr:new", environ=environ)
    assert [post.seconds for post in corpus.threads[0].posts] == [0.0]
    assert corpus.counts["malformed_records"] == 1
    post = {"text": "x", "seconds": -1.7e308}
    jsonl_file(data / "far.jsonl", {"id": 1, "posts": [{**post, "id": 1}, {**post, "id": 2, "seconds": 1.7e308}]})
    assert not load("jsonl:far", environ=environ).threads[0].timed


@pytest.mark.parametrize("identifier", [None, True, ["a"], {"a": 1}])
def test_what_is_no_id_is_not_made_one(data, environ, identifier):
    good = {"id": 1, "posts": [{"id": 1.5, "text": "x"}]}
    bad = ({**good, "id": identifier}, {"id": "t", "posts": [{"id": identifier, "text": "x"}]})
    jsonl_file(data / "own.jsonl", good, *bad)
    corpus = load("jsonl:own", environ=environ)
    assert (len(corpus.threads), corpus.counts["malformed_records"]) == (1, 2)


def test_eard_looks_at_every_time_and_takes_lists_only(data, environ):
    write(data / "beard.json", json.dumps(eard([1.4e12, 0])))
    with pytest.raises(UsageError, match="not in seconds"):
        load("beard", environ=environ)
    write(
        data / "beard.json", json.dumps({**eard([0, 1]), "f": {"label": 1, "seq": {"timeline": "01", "texts": "ab"}}})
    )
    assert load("beard", environ=environ).counts["malformed_records"] == 1
