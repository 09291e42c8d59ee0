"""Labels of every prefix: kept prefixes change nothing but the work, and nobody judges what it was fitted on."""

import asyncio
import json
import os
from collections import Counter
from itertools import pairwise, takewhile
from operator import eq

import pytest

import prompts
from agents.call_log import CallLog
from agents.likelihood import label_log_likelihoods
from agents.local_chat import LocalChat
from agents.models import FatalModelError, KeepsPrefixes, ModelError, ModelSettings, open_model
from agents.prefix_cache import PrefixCache
from agents.replies import show_posts
from agents.stored_replies import reply_of
from agents.verdict import Verdict
from agents.verifiers.direct import direct
from corpora.catalog import load
from corpora.errors import UsageError
from corpora.labels import LABEL_SETS
from corpora.thread import ClaimThread, Post
from tests.chat_stub import ChatStub
from tests.made_up import VECTORS
from tests.tiny_llama import build
from training.prefix_labels import label_prefixes, label_threads, out_of_fold

torch = pytest.importorskip("torch")
RUMOR = LABEL_SETS["rumor/non-rumor"]
SAMPLE = load("sample", environ=os.environ).threads


def thread(thread_id="t", n=5):
    posts = [Post(f"p{i}", f"the dam {thread_id} leaks {i}", 60.0 * i, "ann", "p0" if i else None) for i in range(n)]
    return ClaimThread(thread_id, tuple(posts))


def local(folder, max_tokens=8):
    return open_model(ModelSettings(f"hf:{folder}", max_tokens=max_tokens), {})


class Recorder:
    """A verifier and its call log, with every verdict in the order of prefixes."""

    def __init__(self, model):
        self.model, self.rows, self.verdicts = model, [], {}
        self.log = CallLog(record=self.rows.append)
        self._direct = direct(self.log, model, None, RUMOR)

    async def __call__(self, prefix):
        self.verdicts[prefix.id, len(prefix.posts)] = verdict = await self._direct(prefix)
        return verdict

    @property
    def requests(self):
        return [row["request"] for row in self.rows if row["request"]]


@pytest.fixture(scope="module", params=["chat template, room", "plain, room", "chat template, little room"])
def folder(request, tmp_path_factory):
    more = {"chat_template": None} if "plain" in request.param else {}
    texts = [post.text for thread in SAMPLE for post in thread.posts]
    positions = 640 if "little" in request.param else 4096
    folder = tmp_path_factory.mktemp("llama")
    return build(folder, positions=positions, corpus=texts, vocabulary=3000, **more)


async def test_on_every_prefix_the_label_is_that_of_the_naive_way(folder):
    model = local(folder)
    little = model.max_prompt_tokens < 1000
    threads = SAMPLE[::8]
    naive, kept = Recorder(model), Recorder(model)
    labels = await label_threads(naive, threads)
    assert await label_threads(kept, threads, models=[model]) == labels
    await model.close()
    assert {t.id: len(t.posts) for t in threads} == {name: len(found) for name, found in labels.items()}
    assert {t.language for t in threads} == {"en", "zh"}
    assert min(Counter(label for found in labels.values() for label in found).values()) > 30
    for prefix, verdict in naive.verdicts.items():
        assert kept.verdicts[prefix].probabilities == pytest.approx(verdict.probabilities, abs=1e-4)
        assert kept.verdicts[prefix].probability_method == verdict.probability_method == "log-likelihood"
    left_out = [request for request in kept.requests if "posts left out here" in request[-1]["content"]]
    assert bool(left_out) == little
    totals = kept.log.totals
    assert totals.input_tokens == naive.log.totals.input_tokens == naive.log.totals.computed_tokens
    # with room for less than a block, posts go one by one, and prompts share but the instructions and the source
    assert totals.computed_tokens < totals.naive_tokens / (2 if little else 4)


async def test_threads_cut_short_again_and_again(tmp_path):
    threads = [thread(name, 60) for name in "ab"]
    shown = [message["content"] for message in prompts.load("direct", "en").render(posts=show_posts(threads[0]))]
    model = local(build(tmp_path, positions=720, corpus=shown, vocabulary=1000))
    naive, kept = Recorder(model), Recorder(model)
    assert await label_threads(kept, threads, models=[model]) == await label_threads(naive, threads)
    await model.close()
    cuts = {content.partition("left out here: ")[2][:5] for *_, content in (r[-1].values() for r in kept.requests)}
    assert len(cuts) > 2  # none, and two places
    for prefix, verdict in naive.verdicts.items():
        assert kept.verdicts[prefix].probabilities == pytest.approx(verdict.probabilities, abs=1e-4)
    assert kept.log.totals.computed_tokens < kept.log.totals.naive_tokens / 4


async def test_each_prompt_reads_its_new_post_and_the_question(tmp_path):
    model = local(build(tmp_path, positions=4096))
    recorder = Recorder(model)
    with model.keep_prefixes(4):
        await label_prefixes(recorder, thread(n=12))
    counts = [(row["input_tokens"], row["reply"].get("cached_tokens")) for row in recorder.rows]
    assert counts[0][1] == 0
    line = counts[-1][0] - counts[-2][0]
    question = (
        model.count_text("\n\nJudging by these posts, is this a rumor? Answer with a single word, Yes or No.") + 10
    )
    for (before, _), (tokens, cached) in pairwise(counts):
        assert 0 < tokens - cached <= line + question < tokens
        assert before - cached <= question
    await model.close()


async def test_nothing_is_kept_outside_the_block_or_between_blocks(tmp_path):
    model = local(build(tmp_path, positions=4096))
    assert isinstance(model, KeepsPrefixes)
    ask = [{"role": "user", "content": "Is this a rumor? " * 20}]
    yes_no = ("Yes", "No")
    assert (await model.complete(ask, labels=yes_no)).cached_tokens is None
    for _ in range(2):
        with model.keep_prefixes(4):
            assert (await model.complete(ask, labels=yes_no)).cached_tokens == 0
            with model.keep_prefixes(4):
                assert (await model.complete(ask, labels=yes_no)).cached_tokens > 100
            under_way = asyncio.create_task(model.complete(ask, labels=yes_no))
            assert (await model.complete(ask, labels=yes_no)).cached_tokens > 100
    assert model._kept is None
    assert (await under_way).text in yes_no
    assert (await model.complete(ask, labels=yes_no)).cached_tokens is None
    await model.close()


async def test_a_block_that_ends_while_the_model_reads(tmp_path, monkeypatch):
    model = local(build(tmp_path, positions=4096))
    score = PrefixCache.label_log_likelihoods
    ends = asyncio.get_running_loop()

    def slow(self, *args):
        asyncio.run_coroutine_threadsafe(leave(), ends).result()
        return score(self, *args)

    async def leave():
        block.__exit__(None, None, None)

    monkeypatch.setattr(PrefixCache, "label_log_likelihoods", slow)
    block = model.keep_prefixes(4)
    block.__enter__()
    reply = await model.complete([{"role": "user", "content": "Is this a rumor?"}], labels=("Yes", "No"))
    assert reply.text in ("Yes", "No") and model._kept is None
    await model.close()


async def test_memory_that_runs_out_is_given_back_and_the_batch_halved(tmp_path, monkeypatch):
    model, asked, fell = local(build(tmp_path, positions=4096)), [], []
    forward = PrefixCache._forward

    def small_memory(self, group, *args):
        asked.append((len(group), len(self._kept)))
        if len(group) >= 4 and len(self._kept) >= 4 and not fell:
            fell.append(len(asked))
            raise torch.OutOfMemoryError
        return forward(self, group, *args)

    threads = [thread(name, 3) for name in "abcd"]
    expected = await label_threads(Recorder(model), threads)
    monkeypatch.setattr(PrefixCache, "_forward", small_memory)
    assert await label_threads(Recorder(model), threads, models=[model]) == expected
    (size, _), (half, left) = asked[fell[0] - 1 : fell[0] + 1]
    assert half < size and left == 0
    await model.close()


def growing(vocabulary, threads=4, posts=7):
    """Token ids of the prompts of growing threads: a list a step, and labels of one to three tokens."""
    draw = torch.Generator().manual_seed(0)

    def tokens(n):
        return torch.randint(10, vocabulary, (n,), generator=draw).tolist()

    instructions, question = tokens(20), tokens(8)
    contents = [[tokens(3 + (5 * t + 7 * p) % 20) for p in range(posts)] for t in range(threads)]
    flat = [[[i for post in content[:n] for i in post] for content in contents] for n in range(1, posts + 1)]
    return [[instructions + ids + question for ids in step] for step in flat], [[5], [6, 7], [8, 9, 3]]


def made(kind):
    import transformers

    size = {"vocab_size": 120, "hidden_size": 32, "num_hidden_layers": 2}
    attention = {**size, "intermediate_size": 64, "num_attention_heads": 4, "initializer_range": 0.3}
    grouped = {**attention, "num_key_value_heads": 2}
    layers = {"layer_types": ["sliding_attention", "full_attention"], "head_dim": 8, "sliding_window": 12}
    config = {
        "llama": lambda: transformers.LlamaConfig(**grouped),
        "window": lambda: transformers.MistralConfig(**grouped, sliding_window=12),
        "some windows": lambda: transformers.Gemma3TextConfig(**grouped, **layers),
        "learned positions": lambda: transformers.OPTConfig(
            **size, ffn_dim=64, num_attention_heads=4, init_std=0.3, word_embed_proj_dim=32
        ),
        "biased by distance": lambda: transformers.FalconConfig(
            **size, num_attention_heads=4, alibi=True, initializer_range=0.3
        ),
        "recurrent": lambda: transformers.MambaConfig(**size, initializer_range=0.3),
        "recurrent, and does not say so": lambda: transformers.RecurrentGemmaConfig(
            **size | {"num_hidden_layers": 3}, intermediate_size=64, num_attention_heads=4, lru_width=32
        ),
        "positions move": lambda: transformers.LlamaConfig(
            **grouped, rope_scaling={"rope_type": "dynamic", "factor": 2.0}
        ),
    }[kind]()
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        return transformers.AutoModelForCausalLM.from_config(config).eval()


@pytest.mark.parametrize(
    ("kind", "continues"),
    [
        *((kind, True) for kind in ("llama", "window", "some windows", "learned positions", "biased by distance")),
        *((kind, False) for kind in ("recurrent", "recurrent, and does not say so", "positions move")),
    ],
)
def test_architectures_continue_rightly_or_not_at_all(kind, continues):
    model = made(kind)
    cache = PrefixCache(model, 100)
    steps, labels = growing(120)
    for n, batch in enumerate(steps):
        expected = label_log_likelihoods(model, batch, [labels] * len(batch), 0)
        scores, reused = cache.label_log_likelihoods(batch, [labels] * len(batch), 0)
        assert torch.allclose(scores, expected, atol=1e-4)
        assert expected.std() > 0.1
        if not continues:
            assert reused == [None] * len(batch)
        elif n:
            kept = [20 + len(p) - 28 for p in steps[n - 1]]
            assert all(k - 16 <= r <= k + 3 for k, r in zip(kept, reused, strict=True))


@pytest.mark.parametrize(("conversations", "kilobytes"), [(3, 10**6), (100, 40), (0, 10**6)])
def test_what_is_kept_is_bounded_and_stays_right(conversations, kilobytes):
    model, (steps, labels) = made("llama"), growing(120)
    cache = PrefixCache(model, conversations, max_bytes=kilobytes * 1000)
    most = 0
    for batch in steps:
        for prompt in batch:
            expected = label_log_likelihoods(model, [prompt], [labels], 0)
            assert torch.allclose(cache.label_log_likelihoods([prompt], [labels], 0)[0], expected, atol=1e-4)
            held = sum(tensor.nbytes for kept in cache._kept for layer in kept.layers for tensor in layer)
            assert held <= kilobytes * 1000 and len(cache._kept) <= conversations
            most = max(most, len(cache._kept))
    assert most == {3: 3, 0: 0}.get(conversations, most) and (most > 0 or not conversations)


def test_a_conversation_is_kept_once_and_the_others_stay():
    model, (steps, labels) = made("llama"), growing(120)
    cache = PrefixCache(model, 100)
    for batch in steps:
        cache.label_log_likelihoods(batch, [labels] * len(batch), 0)
    assert len(cache._kept) == len(steps[0])


# ---- what is asked, and in which order


async def test_a_threads_prefixes_are_asked_in_order_and_threads_side_by_side():
    asked, now, peak = [], Counter(), 0

    async def verify(prefix):
        nonlocal peak
        asked.append((prefix.id, len(prefix.posts)))
        now[prefix.id] += 1
        peak = max(peak, now.total())
        assert now[prefix.id] == 1 and prefix.gold.rumor is None
        await asyncio.sleep(0)
        now[prefix.id] -= 1
        return Verdict("rumor" if len(prefix.posts) > 2 else "non-rumor")

    threads, told = [thread(str(n), 2 + n % 4) for n in range(9)], []
    labels = await label_threads(verify, threads, concurrency=3, progress=told.append)
    for each in threads:
        mine = [n for name, n in asked if name == each.id]
        assert mine == list(range(1, len(each.posts) + 1))
        assert labels[each.id] == ["rumor" if n > 2 else "non-rumor" for n in mine]
    assert peak == 3 and told == list(range(1, 10)) and list(labels) == [t.id for t in threads]
    assert await label_threads(verify, [], concurrency=3) == {}
    short = await label_threads(verify, threads, max_posts=3)
    assert {name: found[:3] for name, found in labels.items()} == short


def scripted(tmp_path, rules, default="No"):
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"rules": rules, "default": default}), encoding="utf-8")
    return open_model(ModelSettings(f"scripted:{path}"), {})


async def test_abstentions_and_failures_are_no_labels(tmp_path):
    rules = [
        {"contains": "leaks 4", "reply": "Yes"},
        {"contains": "leaks 3", "error": "the line is dead"},
        {"contains": "leaks 2", "reply": "Who knows?"},
    ]
    verifier, failures = Recorder(scripted(tmp_path, rules)), []
    labels = await label_threads(verifier, [thread("t", 6), thread("u", 2)], failures=failures)
    assert labels == {"t": ["non-rumor", "non-rumor", None, None, "rumor", "rumor"], "u": ["non-rumor"] * 2}
    assert failures == ["thread t, 4 posts: the line is dead"] and verifier.log.totals.failed == 1


async def test_an_error_that_no_call_survives_ends_it():
    asked = []

    async def verify(prefix):
        asked.append(prefix.id)
        await asyncio.sleep(0)
        if prefix.id == "2":
            raise FatalModelError("401: no such key")
        return Verdict("rumor")

    with pytest.raises(FatalModelError, match="no such key"):
        await label_threads(verify, [thread(str(n)) for n in range(9)], concurrency=3)
    assert Counter(asked) == {"0": 5, "1": 5, "2": 1}


async def test_what_was_asked_before_is_not_asked_again(tmp_path):
    verifier = Recorder(scripted(tmp_path, [{"contains": "leaks 2", "reply": "Yes"}]))
    threads = [thread(name) for name in "ab"]
    first = await label_threads(verifier, threads)
    totals = verifier.log.totals
    sent = totals.input_tokens
    assert (totals.calls, totals.cached, totals.remembered_tokens) == (10, 0, 0) and sent > 0
    assert await label_threads(verifier, threads) == first == {name: ["non-rumor"] * 2 + ["rumor"] * 3 for name in "ab"}
    assert (totals.calls, totals.cached, totals.input_tokens) == (10, 10, sent)
    assert (totals.naive_tokens, totals.computed_tokens) == (2 * sent, sent)
    assert (
        f"{2 * sent:,} the naive way; {sent:,} sent, {sent:,} of them computed anew (2.0 times"
        in totals.prompt_tokens()
    )
    dry = CallLog(dry_run=True)
    for _ in range(2):
        await label_threads(direct(dry, verifier.model, None, RUMOR), threads)
    assert dry.totals.naive_tokens == 2 * dry.totals.input_tokens > 0


# ---- a server with prefix caching


async def test_a_server_that_caches_prefixes_finds_them(tmp_path):
    seen = []

    def usage(request):
        """As a server that keeps every prompt: cached is what one of them shares, in characters."""
        text = "\n".join(message["content"] for message in request["messages"])
        cached = max((sum(takewhile(bool, map(eq, text, other))) for other in seen), default=0)
        seen.append(text)
        return {"prompt_tokens": len(text), "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": cached}}

    async with ChatStub(
        [{"contains": "leaks 3", "reply": "Yes", "usage": usage}, {"reply": "No", "usage": usage}]
    ) as stub:
        model = open_model(ModelSettings("openai:x", base_url=stub.url), {})
        verifier = Recorder(model)
        labels = await label_threads(verifier, [thread(name, 8) for name in "ab"], models=[model])
        await model.close()
    assert labels == {name: ["non-rumor"] * 3 + ["rumor"] * 5 for name in "ab"}
    assert not isinstance(model, KeepsPrefixes)
    totals = verifier.log.totals
    assert totals.naive_tokens == totals.input_tokens == sum(map(len, seen))
    assert 0 < totals.computed_tokens < totals.naive_tokens / 3
    for name in "ab":
        mine = [text.partition("\n\nJudging by these posts")[0] for text in seen if f"dam {name}" in text]
        assert len(mine) == 8 and all(b.startswith(a + "\n") for a, b in pairwise(mine))
    rows = [row for row in verifier.rows if row["reply"].get("cached_tokens")]
    assert len(rows) > 10 and all(reply_of(row).cached_tokens == row["reply"]["cached_tokens"] for row in rows)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 9, "completion_tokens": 1},
        {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": None},
        {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": [3]},
        {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": -1}},
        {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": "4"}},
        {"prompt_tokens_details": {"cached_tokens": 4}},
        ["no usage"],
    ],
)
async def test_cached_tokens_that_nobody_tells_are_none(usage):
    async with ChatStub([{"usage": usage}]) as stub:
        model = open_model(ModelSettings("openai:x", base_url=stub.url), {})
        verifier = Recorder(model)
        assert (await label_prefixes(verifier, thread(n=1))) == ["rumor"]
        await model.close()
    (row,) = verifier.rows
    told = isinstance(usage, dict) and "prompt_tokens" not in usage
    assert row["reply"].get("cached_tokens") == (4 if told else None)
    assert verifier.log.totals.computed_tokens == verifier.log.totals.input_tokens == (row["input_tokens"] or 0)


# ---- out of fold


def memory(fitted):
    """Knows the threads it was fitted on; of others it says the label that is rarest among those."""

    def fit(threads, labels):
        fitted.append([t.id for t in threads])
        known = dict(zip(fitted[-1], labels, strict=True))

        async def verify(prefix):
            assert prefix.id not in known, "judged what it was fitted on"
            return Verdict(Counter(labels).most_common()[-1][0])

        return verify

    return fit


@pytest.mark.parametrize("sizes", [(25, 25), (7, 4), (3, 2), (30, 2), (9, 1, 5), (2, 2, 2)])
async def test_no_shot_is_judged_by_what_was_fitted_on_it(sizes):
    labels = [name for name, size in zip("xyz", sizes, strict=False) for _ in range(size)]
    shots, fitted, told = [thread(str(n), 2 + n % 3) for n in range(len(labels))], [], []
    found = await out_of_fold(memory(fitted), shots, labels, seed=3, progress=told.append)
    assert list(found) == [shot.id for shot in shots]
    assert all(len(found[shot.id]) == len(shot.posts) and None not in found[shot.id] for shot in shots)
    assert told[-1] == len(shots) and len(fitted) == min(5, max(sizes))
    for rest in fitted:
        classes = {labels[int(name)] for name in rest}
        assert len(classes) >= len([size for size in sizes if size > 1]) > 1
        assert len(rest) >= len(shots) // 2
    again, other = [], []
    assert await out_of_fold(memory(again), shots, labels, seed=3) == found and again == fitted
    await out_of_fold(memory(other), shots, labels, seed=4)
    assert other != fitted or len(shots) < 7


async def test_a_class_of_one_shot_cannot_be_judged_where_nothing_else_is_to_be_told_from():
    labels = ["x", "x", "x", "y"]
    shots = [thread(name) for name in "abcd"]
    found = await out_of_fold(memory([]), shots, labels, seed=0, max_posts=3)
    assert found["d"] == [None] * 3 and all(len(found[name]) == 3 for name in "abc")
    assert any(label for name in "abc" for label in found[name])
    with pytest.raises(UsageError, match="two classes"):
        await out_of_fold(memory([]), shots, ["x"] * 4)
    alone = await out_of_fold(memory(fitted := []), shots, list("wxyz"))
    assert [len(rest) for rest in fitted] == [3] * 4 and list(alone) == list("abcd")


async def test_the_encoder_is_less_often_right_on_threads_it_has_not_seen():
    from agents.encoder import Encoder
    from agents.verifiers.encoder import encoder_verifier

    shots = list(SAMPLE[:16])
    labels = [RUMOR.of(shot) or "" for shot in shots]
    encoder = Encoder(cache=VECTORS)
    encoder.warm([post.text for shot in shots for post in shot.posts])

    def right(found):
        return sum(found[s.id][-1] == label for s, label in zip(shots, labels, strict=True))

    seen = await label_threads(encoder_verifier(encoder, shots, labels), shots)
    unseen = await out_of_fold(lambda some, names: encoder_verifier(encoder, some, names), shots, labels, seed=0)
    assert right(seen) == len(shots) > right(unseen)


def test_the_client_in_process_is_the_one_that_keeps():
    assert issubclass(LocalChat, KeepsPrefixes) and not issubclass(ModelError, KeepsPrefixes)
