"""What the server is made of, without one: contexts, opening once, the access example, what checkpoints hold."""

import asyncio
import fcntl
import gc
import importlib
import json
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from rich.console import Console

from agents.stopping.fixed import after_hours
from agents.verdict import Verdict
from corpora.errors import UsageError
from corpora.thread import ClaimThread, Post
from graphs import annotate_select_finetune, debate
from graphs.checked import explain
from graphs.context import Context, Method, method_of
from graphs.debate_context import DebateContext, debate_of
from graphs.jsdrv.context import TrainingContext, cycle_of, held
from graphs.open_once import TRAINING, OpenOnce, on_disk
from graphs.prepare import Told
from graphs.stop_then_detect import builder, more, why
from tests.chat_stub import ChatStub
from tests.debate_script import Speaker
from tests.jsdrv_fake import Fake, cycle
from tests.made_up import ROOT, stub_process
from tests.test_jsdrv_command import fake_networks
from training.progress import show_labelling

__all__ = ["fake_networks"]

POSTS = [{"text": "the bridge is closed", "seconds": 0}, {"text": "source?", "seconds": 7200}]


class Sure:
    """A policy and a verifier in one."""

    deadline = None

    def __init__(self, probability: float = 0.0) -> None:
        self.probability = probability

    async def __call__(self, prefix: Any) -> Any:
        return self.probability


async def rumor(_: Any) -> Verdict:
    return Verdict("rumor", {"rumor": 1.0, "non-rumor": 0.0}, "classifier")


def test_an_empty_field_of_a_form_is_one_that_was_left_out() -> None:
    assert Context(model="", base_url="") == Context()
    assert DebateContext(judge_model="", ablate="") == DebateContext()
    assert TrainingContext(out="", data_dir="") == TrainingContext()
    assert Context(shots="12").shots == 12, "a form's number may come as text"
    for wrong, told in [({"shots": -1}, "shots"), ({"wehn": "eard"}, "wehn"), ({"when": None}, "when")]:
        with pytest.raises(UsageError, match=f"^{told}: "):
            Context(**wrong)


async def test_a_server_has_a_usual_model_for_clients_that_name_none(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ChatStub([{"reply": "Yes"}]) as stub:
        monkeypatch.setenv("HEARSAY_MODEL", "openai:usual")
        monkeypatch.setenv("OPENAI_BASE_URL", stub.url)
        method = await method_of(Context(when="first-post", how="direct"))
        saved = builder.compile()
        output = await saved.ainvoke({"posts": POSTS}, context=Context(when="first-post", how="direct"))
        assert output["verdict"]["label"] == "rumor" and output["read"] == 1
        assert {request["model"] for request in stub.requests} == {"usual"}
        await method_of(Context(when="first-post", how="direct", model="openai:other"))
        assert method is await method_of(Context(when="first-post", how="direct", model="openai:usual"))
        assert (await debate_of(None)).settings.rounds == 2
    monkeypatch.delenv("HEARSAY_MODEL")
    with pytest.raises(UsageError, match="set model"):
        await debate_of(None)


async def test_a_training_is_told_to_the_log_and_to_the_stream_which_shows_plain_values(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "graphs.telling")
    context = Context(when="posts:1", how="majority", shots=11, seed=77)
    modes: Any = ["updates", "custom"]
    seen: list[Any] = [
        each async for each in builder.compile().astream({"posts": POSTS}, context=context, stream_mode=modes)
    ]
    told = [said["training"] for mode, said in seen if mode == "custom"]
    assert told == caplog.messages and len(told) == 2
    assert told[0] == "when posts:1, how majority: learns from 11 threads of sample, where it has not before"
    assert told[1].startswith("when posts:1, how majority: ready after ")
    mode, first = seen[0]
    assert mode == "updates" and first["admit"]["steps"] == [], "no wire form of LangGraph's"


def test_a_console_of_a_server_tells_its_lines() -> None:
    told: list[str] = []
    console = Console(file=Told(told.append), force_terminal=False, width=500)
    with show_labelling(console, 50) as done:
        done(25)
    console.print("one\n\n  two", style="bold")
    assert told == ["labelling prefixes: 0 of 50", "one", "  two"]


def test_a_reducer_adds_and_begins_anew() -> None:
    assert more([1], [2]) == [1, 2] and more({"a": 1}, {"b": 2}) == {"a": 1, "b": 2} and more(3, 0) == 3
    assert more([1], []) == [] and more({"a": 1}, {}) == {} and more(3, None) == 0


async def test_what_is_asked_for_together_is_opened_once_and_nobody_waits_for_anothers() -> None:
    opened: list[str] = []
    door = threading.Event()

    def open_(key: str) -> str:
        opened.append(key)
        if key == "slow":
            assert door.wait(10)
        if key == "broken" and opened.count("broken") == 1:
            raise UsageError("not yet")
        return key.upper()

    once = OpenOnce(open_, keep=3)
    slow = [asyncio.create_task(once("slow")) for _ in range(50)]
    await asyncio.sleep(0)
    assert await once("quick") == await once("quick") == "QUICK"
    slow[0].cancel()  # others wait for it too
    door.set()
    assert set(await asyncio.gather(*slow[1:])) == {"SLOW"}
    with pytest.raises(UsageError, match="not yet"):
        await once("broken")
    assert await once("broken") == "BROKEN", "what could not be opened is tried anew"
    assert opened == ["slow", "quick", "broken", "broken"]
    for key in ("a", "b", "c"):
        await once(key)
    await once("quick")
    assert opened.count("quick") == 2, "of many, those last asked for are kept"


async def test_what_is_not_open_yet_is_kept_however_many_others_are_asked_for() -> None:
    opened: list[str] = []
    door = threading.Event()

    def open_(key: str) -> str:
        opened.append(key)
        assert key != "slow" or door.wait(10)
        return key.upper()

    once = OpenOnce(open_, keep=2)
    slow = asyncio.create_task(once("slow"))
    await asyncio.sleep(0)
    for key in ("a", "b", "c"):
        await once(key)
    again = asyncio.create_task(once("slow"))
    await asyncio.sleep(0)
    door.set()
    assert await slow == await again == "SLOW" and opened.count("slow") == 1


async def test_what_was_opened_from_a_file_is_opened_anew_when_the_file_changes(tmp_path: Path) -> None:
    script, context = tmp_path / "script.jsonl", {"when": "first-post", "how": "direct"}
    description = Context(model=f"scripted:{script}", **context)
    labels = []
    for reply in ("Yes", "No, it is not"):
        script.write_text(json.dumps({"default": reply}))
        method = await method_of(description)
        assert method is await method_of(description)
        labels.append((await builder.compile().ainvoke({"posts": POSTS}, context=description))["verdict"]["label"])
    assert labels == ["rumor", "non-rumor"]
    folder = tmp_path / "agent"
    (folder / "networks").mkdir(parents=True)
    before = on_disk("posts:5", None, "openai:x", f"eard:{folder}")
    assert before == on_disk(f"eard:{folder}")
    (folder / "networks" / "weights").write_text("x")
    assert before != on_disk(f"eard:{folder}") != on_disk("jsonl:" + "x" * 9999, "hf:a\0b") == ()


async def test_a_local_model_is_loaded_once_for_all_that_describe_it_and_let_go_with_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded: list[weakref.ref[Any]] = []
    loops: set[Any] = set()

    class Local(Speaker):
        async def complete(self, *given: Any, **more: Any) -> Any:
            loops.add(asyncio.get_running_loop())
            return await super().complete(*given, **more)

        def keep_prefixes(self, conversations: int) -> Any:
            return nullcontext()

    def load(settings: Any) -> Any:
        model = Local()
        loaded.append(weakref.ref(model))
        return model

    monkeypatch.setattr("agents.models.open_model", load)
    methods = [await method_of(Context(how="direct", model="hf:made-up", seed=seed)) for seed in range(8)]
    assert len({id(method) for method in methods}) == 8 and len(loaded) == 1
    thread = ClaimThread("t", (Post("0", "the bridge is closed", None, "", None),))
    assert (await methods[0].verifier(thread)).label
    assert (await asyncio.to_thread(asyncio.run, methods[1].verifier(thread))).label  # type: ignore[arg-type]
    assert len(loops) == 1, "whoever asks, it answers in its own loop"
    held, methods = methods[0], []
    for seed in range(8):
        await method_of(Context(how="majority", shots=10, seed=seed))
    gc.collect()
    assert loaded[0]() is not None, "who still judges with it can"
    del held
    await method_of(Context(how="majority", shots=10, seed=9))
    gc.collect()
    assert loaded[0]() is None


def test_a_training_that_a_command_works_on_keeps_nobody_elses_waiting(fake_networks: Path, tmp_path: Path) -> None:
    context = TrainingContext(
        dataset=f"jsonl:{fake_networks}", settings="epochs=1 claims=5 posts=2 stances=sample", out=str(tmp_path / "out")
    )
    entered = threading.Event()

    def work() -> None:
        with held(context):
            entered.set()

    with (cycle_of(context).place / ".lock").open("w") as command:
        fcntl.flock(command, fcntl.LOCK_EX)
        run = threading.Thread(target=work)
        run.start()
        assert not entered.wait(0.3)
        assert TRAINING.acquire(timeout=1), "what else is trained here does not wait for the command"
        TRAINING.release()
    run.join(10)
    assert entered.is_set() and not run.is_alive()


def test_a_trace_names_the_clock_the_policy_or_the_last_post() -> None:
    clock = Method(after_hours("1"), rumor, "hours:1")
    assert why(clock, 1.0, last=False, upcoming=7200) == (
        "hours:1: the next post comes 7200 s after the source, past the deadline of 3600 s"
    )
    agent = Method(Sure(), rumor, "eard", "the trained agent says stop")
    assert why(agent, 0.75, last=True, upcoming=None) == (
        "eard: the trained agent says stop (stop probability 0.750, threshold 0.5)"
    )
    assert why(agent, 0.25, last=True, upcoming=None) == "the last post is read (stop probability 0.250, threshold 0.5)"
    assert why(agent, 0.25, last=False, upcoming=None) == "stop probability 0.250, threshold 0.5"


async def test_checkpoints_hold_nothing_but_json(tmp_path: Path) -> None:
    def plain(saver: InMemorySaver) -> set[str]:
        """Names of what was kept; what is not plain raises."""
        # LangGraph's own channels hold its own objects, such as what is sent to which node.
        kept = {key[2]: blob for key, blob in saver.blobs.items() if not key[2].startswith("__")}
        for channel, (kind, raw) in kept.items():
            assert kind in ("msgpack", "null", "empty"), channel
            json.dumps(ormsgpack.unpackb(raw) if kind == "msgpack" else None)
        return set(kept)

    config: Any = {"configurable": {"thread_id": "1"}}
    judging, training, arguing = InMemorySaver(), InMemorySaver(), InMemorySaver()
    method: Any = Method(Sure(0.2), rumor)
    await builder.compile(checkpointer=judging).ainvoke({"posts": POSTS}, config, context=method)
    assert plain(judging) > {"conversation", "steps", "verdict", "judged", "stopped"}
    graph = annotate_select_finetune.builder.compile(checkpointer=training)
    made: Any = cycle(tmp_path, "epochs=1")
    await asyncio.to_thread(graph.invoke, {}, config, context=made)
    assert plain(training) > {"drawn", "kept", "scores", "ended"}
    with stub_process([], "--script", "tests.debate_script:reply") as stub:
        context = DebateContext(model="openai:x", base_url=stub, rounds=1)
        await debate.builder.compile(checkpointer=arguing).ainvoke({"posts": POSTS}, config, context=context)
    assert plain(arguing) > {"scores", "turns", "verdict", "stopped"}


def test_two_runs_of_one_training_do_its_work_once(fake_networks: Path, tmp_path: Path) -> None:
    context = TrainingContext(
        dataset=f"jsonl:{fake_networks}", settings="epochs=1 claims=5 posts=2 stances=sample", out=str(tmp_path / "out")
    )
    Fake.taught.clear()
    with ThreadPoolExecutor(3) as threads:
        runs = [threads.submit(annotate_select_finetune.graph.invoke, {}, context=context) for _ in range(3)]
    one, *others = [run.result() for run in runs]
    assert one["ended"] == "1 epochs" and all(other == one for other in others)
    steps = [step for step, _ in Fake.taught]
    assert len(steps) == len(set(steps)), "each network was taught each thing once"


def test_access_by_token_is_off_and_fails_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    config = json.loads((ROOT / "langgraph.json").read_text("utf-8"))
    assert "auth" not in config and set(config["graphs"]) > {"chat", "debate"}
    monkeypatch.delenv("HEARSAY_TOKENS", raising=False)
    with pytest.raises(RuntimeError, match="set HEARSAY_TOKENS"):
        importlib.import_module("graphs.auth")
    monkeypatch.setenv("HEARSAY_TOKENS", "ann:0123456789abcdef bob:fedcba9876543210")
    module = importlib.import_module("graphs.auth")
    for wrong in ("ann:short", "0123456789abcdef", ":0123456789abcdef"):
        with pytest.raises(RuntimeError, match="16 characters"):
            module.read_tokens(wrong)
    known = asyncio.run(module.authenticate("Bearer fedcba9876543210"))
    assert known == {"identity": "bob"}
    for wrong in (
        None,
        "",
        "Bearer ",
        "Bearer x",
        "fedcba9876543210",
        "Basic fedcba9876543210",
        "Bearer bob",
        "Bearer ü",
    ):
        with pytest.raises(Exception, match="send Authorization"):
            asyncio.run(module.authenticate(wrong))


def test_mistakes_are_told_without_what_was_sent() -> None:
    from pydantic import ValidationError

    from graphs.stop_then_detect import Input

    try:
        Input.model_validate({"posts": [{"text": {"secret": n}} for n in range(9)]})
    except ValidationError as error:
        told = explain(error)
    assert told.count("Input should be") == 3 and told.endswith("; and 6 more mistakes") and "secret" not in told


def test_this_page_is_true() -> None:
    page = (ROOT / "docs" / "server.md").read_text("utf-8")
    for said in (
        "HEARSAY_MODEL",
        "HEARSAY_TOKENS",
        "disable_studio_auth",
        "make serve",
        "ORIGINS",
        "--n-jobs-per-worker",
    ):
        assert said in page
