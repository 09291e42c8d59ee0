"""The stopping agent: its world, its training, what a kill leaves, and its work inside the loop."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env

from agents.debate.settings import DebateSettings
from agents.encoder import Encoder
from agents.models import Model, ModelSettings, open_model
from agents.stopping.audits import Oracle, RandomStop, random_stop
from agents.stopping.learned import LearnedPolicy, Network, digest, learned, read_about, save, saved
from agents.stopping.steady import NUMBERS, Steady, features
from agents.verdict import Verdict
from corpora.catalog import load
from corpora.errors import UsageError
from corpora.labels import LABEL_SETS
from corpora.thread import ClaimThread, Post
from graphs.parts import Parts
from graphs.stoppers import _verifier, folder
from training.experts import Stop
from training.settings import RELEASED, Settings, content_of, read_settings
from training.stopper import main as stopper
from training.stopping_env import Normaliser, States, StoppingEnv
from training.task import Task
from training.trainer import STATE, Trainer, _first
from training.workers import train_all, watch

ROOT = Path(__file__).parent.parent
D = 8
QUICK = ["iteration=20", "environments=2", "minibatches=2", "ppo_epochs=1", "disc_epochs=1"]
"""Settings under which an iteration takes a fifth of the time."""


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's own bar stays off; networks this small are slower on two busy cores than on one."""
    monkeypatch.setenv("TQDM_DISABLE", "1")
    torch.set_num_threads(1)


def planted(settings: Settings | None = None, seed: int = 0) -> tuple[Task, list[int]]:
    """Threads in which one post, far from all others, is where the verifier becomes right."""
    rng = np.random.default_rng(0)

    def thread() -> tuple[np.ndarray, int]:
        n = int(rng.integers(5, 15))
        vectors, told = rng.normal(size=(n, D)).astype(np.float32) * 0.3, int(rng.integers(0, n))
        vectors[told, 0] += 8
        return vectors, told

    shots = [thread() for _ in range(40)]
    predicted: list[list[str | None]] = [["no" if t < told else "yes" for t in range(len(v))] for v, told in shots]
    words = rng.normal(size=(2, D)).astype(np.float32) * 0.1
    task = Task(
        [thread()[0] for _ in range(60)],
        [vectors for vectors, _ in shots],
        predicted,
        ["yes"] * len(shots),
        words,
        seed,
        settings or Settings(steps=20_000),
        {"encoder": "planted"},
    )
    return task, [told for _, told in shots]


def trained(task: Task, folder: Path) -> Trainer:
    trainer = Trainer(task, folder)
    while not trainer.finished:
        trainer.advance()
    return trainer


def weights(trainer: Trainer) -> dict[str, torch.Tensor]:
    trainer.write_policy()
    from safetensors.torch import load_file

    return load_file(trainer.folder / "policy.safetensors")


def test_states_are_running_sums_with_the_previous_word() -> None:
    rng = np.random.default_rng(1)
    vectors = [rng.normal(size=(n, D)).astype(np.float32) for n in (3, 1, 4)]
    words = rng.normal(size=(2, D)).astype(np.float32)
    states = States(vectors, words)
    shown, actions = states.demonstrated([Stop(2, 2, 4), Stop(1, 0, 1)])
    assert actions.tolist() == [0, 0, 1, 1, 1]
    expected = [
        vectors[2][:1].sum(0),
        vectors[2][:2].sum(0) + words[0],
        vectors[2][:3].sum(0) + words[0],
        vectors[2][:4].sum(0) + words[1],  # it has said Stop. before its last post
        vectors[1][0],
    ]
    np.testing.assert_allclose(shown, expected, rtol=1e-5)


def test_environment_keeps_to_the_rules_and_stop_does_not_end_an_episode() -> None:
    rng = np.random.default_rng(1)
    vectors = [rng.normal(size=(n, D)).astype(np.float32) for n in (1, 2, 5)]
    states = States(vectors, rng.normal(size=(2, D)).astype(np.float32))
    normalise = Normaliser.of(states)
    environment = StoppingEnv(states, normalise)
    check_env(environment, skip_render_check=True)
    lengths = set()
    for action in (0, 1):
        for _ in range(30):
            observation, _ = environment.reset()
            assert any(np.allclose(observation, normalise(v[0])) for v in vectors)
            steps, over = 0, False
            while not over:
                _, reward, over, _, _ = environment.step(np.int64(action))
                assert reward == 0
                steps += 1
            lengths.add((action, steps))
    assert lengths == {(action, n) for action in (0, 1) for n in (1, 2, 5)}


def test_scaled_states_have_mean_0_and_deviation_1_over_both_actions() -> None:
    rng = np.random.default_rng(2)
    states = States(
        [rng.normal(2, 3, size=(9, D)).astype(np.float32) for _ in range(20)], np.eye(2, D, dtype=np.float32)
    )
    rows = np.arange(180)
    both = np.concatenate([Normaliser.of(states)(states.raw(rows, np.full(180, action))) for action in (0, 1)])
    np.testing.assert_allclose(both.mean(0), 0, atol=1e-4)
    np.testing.assert_allclose(both.std(0), 1, atol=1e-3)


def test_agent_learns_where_the_verifier_becomes_right(tmp_path: Path) -> None:
    task, told = planted()
    trainer = trained(task, tmp_path)
    assert np.mean(trainer.stops() == np.array(told)) > 0.8
    standing = trainer.statistics()
    assert standing["steps"] == 20_000
    assert standing["shots_macro_f1"] > 0.9
    assert {"taken_for_expert_agent", "taken_for_expert_ce", "taken_for_expert_eae"} <= set(standing)
    assert trainer.shown["me"] == 0


@pytest.mark.parametrize("experts", ["shuffled", "none"])
def test_agent_without_real_experts_does_not(experts: str, tmp_path: Path) -> None:
    task, told = planted(Settings(steps=20_000, experts=experts))
    trainer = trained(task, tmp_path)
    assert np.mean(trainer.stops() == np.array(told)) < 0.6
    assert (sum(trainer.shown.values()) == 0) == (experts == "none")


def test_training_again_and_training_resumed_end_in_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.trainer.CHUNK", 5)
    settings = read_settings([*QUICK, f"steps={3 * 5 * 20}"])
    task, _ = planted(settings)
    whole = weights(trained(task, tmp_path / "a"))
    for done in (1, 2):
        Trainer(task, tmp_path / "b").advance()
        assert Trainer(task, tmp_path / "b").done == done * 5
    resumed = weights(trained(task, tmp_path / "b"))
    other = weights(trained(planted(settings, seed=1)[0], tmp_path / "c"))
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    assert not torch.equal(whole["hidden1.weight"], other["hidden1.weight"])
    assert not (tmp_path / "b" / STATE).exists()


def test_decay_falls_at_every_update_to_0_and_has_an_address_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.trainer.CHUNK", 3)
    settings = read_settings([*QUICK, "decay=true", f"steps={5 * 20}"])
    trainer = Trainer(planted(settings)[0], tmp_path)
    rates: list[float] = []
    train = trainer._agent.train

    def spy() -> None:
        train()
        rates.append(trainer._agent.policy.optimizer.param_groups[0]["lr"])

    monkeypatch.setattr(trainer._agent, "train", spy)
    while not trainer.finished:
        trainer.advance()
    np.testing.assert_allclose(rates, [settings.learning_rate * (1 - n / 5) for n in range(5)])
    assert content_of(Settings()) == asdict(Settings())  # agents that do not decay keep their addresses
    assert content_of(settings)["decay"] != asdict(settings)["decay"]


@pytest.mark.parametrize("words", [["released", "environments=20"], ["gradient_penalty=10"], ["reward=logit"]])
def test_variants_of_the_objective_train_and_differ(words: list[str], tmp_path: Path) -> None:
    trainer = Trainer(planted(read_settings([*words, "steps=1000"]))[0], tmp_path / "variant")
    plain = Trainer(planted(Settings(steps=1000))[0], tmp_path / "plain")
    assert (trainer._gail.reward_train is trainer._gail._reward_net) == (words != ["gradient_penalty=10"])
    assert np.isfinite(trainer.advance()["loss"])
    plain.advance()
    mine, theirs = (each._agent.policy.state_dict()["action_net.weight"] for each in (trainer, plain))
    assert not torch.equal(mine, theirs)


def test_discriminator_steps_on_objective_3(tmp_path: Path) -> None:
    from torch.nn.functional import logsigmoid

    task, _ = planted(Settings(steps=200, disc_lr=1e-9, disc_epochs=1))
    wrong = Task(task.pool, task.shots, [["no"] * len(v) for v in task.shots[:10]] + task.predicted[10:], task.gold,
                 task.words, 0, task.settings, task.about)  # fmt: skip
    trainer = Trainer(wrong, tmp_path)
    assert trainer.shown["me"] > 0
    trainer.advance()
    gail = trainer._gail
    assert gail._last is not None
    loss, logits = gail._last
    weights = [0.7, 0.7, 0.15, -0.15]  # the agent's is alpha + beta - gamma
    terms = [logsigmoid(-logits[0]), *(logsigmoid(row) for row in logits[1:])]
    expected = -sum(weight * term.mean() for weight, term in zip(weights, terms, strict=True))
    assert float(loss) == pytest.approx(float(expected), rel=1e-5)
    states = torch.zeros(3, D)
    action = torch.eye(2)[[0, 1, 1]]
    logit = gail._reward_net(states, action, states, None)
    reward = gail.reward_train(states, action, states, None)
    torch.testing.assert_close(reward, -torch.log(1 - torch.sigmoid(logit)))  # -log D, D the agent's share


def test_verifier_that_is_never_right_has_nothing_to_teach(tmp_path: Path) -> None:
    task, _ = planted()
    wrong = Task(task.pool, task.shots, [["no"] * len(v) for v in task.shots], task.gold, task.words, 0)
    with pytest.raises(UsageError, match="right on no prefix"):
        Trainer(wrong, tmp_path)


@pytest.mark.parametrize(
    "word",
    ["alpha", "alhpa=1", "alpha=x", "alpha=2", "steps=0", "steps=10", "steps=1.5", "environments=7", "minibatches=3",
     "reward=loss", "experts=ce,xx", "gamma=0.9", "decay=perhaps"],
)  # fmt: skip
def test_settings_that_make_no_sense_are_the_users_error(word: str) -> None:
    with pytest.raises(UsageError):
        read_settings([word])


def test_settings_are_read_as_they_are_written() -> None:
    assert read_settings([]) == Settings()
    assert read_settings(["steps=2e4", "decay=yes", "experts=ce", "alpha=.5"]) == Settings(
        steps=20_000, decay=True, experts="ce", alpha=0.5
    )
    assert read_settings(["released", "min_posts=1"]) == Settings(**RELEASED | {"min_posts": 1})


class Planted(Encoder):
    """Vectors by word, no model."""

    def __init__(self, size: int = D) -> None:
        super().__init__("planted", cache=None)
        self._size = size

    def _encode(self, texts: list[str]) -> np.ndarray:
        return np.stack([np.random.default_rng(len(text)).normal(size=self._size) for text in texts]).astype(np.float32)


def conversation(texts: list[str]) -> ClaimThread:
    return ClaimThread("t", tuple(Post(str(i), text, float(i), "a", None) for i, text in enumerate(texts)))


async def test_saved_policy_decides_as_the_trained_one_did(tmp_path: Path) -> None:
    texts = [["x" * n for n in range(1, 9)], ["y" * n for n in range(3, 6)]]
    encoder = Planted()
    task, _ = planted(Settings(steps=2_000))
    vectors = [encoder(each) for each in texts]
    words = encoder(["Continue.", "Stop."])
    task = Task(vectors * 10, vectors, [["no"] * 3 + ["yes"] * 5, ["yes"] * 3], ["yes"] * 2, words, 0, task.settings,
                {"encoder": "planted"})  # fmt: skip
    trainer = trained(task, tmp_path)
    states = trainer.normalise(States(vectors, words).raw(np.arange(11), np.zeros(11, dtype=int)))
    with torch.inference_mode():
        expected = trainer._agent.policy.get_distribution(torch.from_numpy(states)).distribution.probs[:, 1].tolist()
    trainer.write_policy()
    policy = learned(tmp_path, encoder)
    whole = [conversation(each) for each in texts]
    found = [await policy(thread.prefix(n)) for thread in whole for n in range(1, len(thread.posts) + 1)]
    assert found == pytest.approx(expected, abs=1e-5)
    # a function of the prefix alone, in whatever order it is asked
    assert await policy(whole[0].prefix(5)) == pytest.approx(expected[4], abs=1e-5)
    about = read_about(tmp_path)
    assert about["encoder"] == "planted"
    assert about["settings"]["steps"] == 2_000
    assert len(digest(tmp_path)) == 16


def test_damaged_policies_are_one_line(tmp_path: Path) -> None:
    encoder = Planted()
    with pytest.raises(UsageError, match="no stop policy"):
        learned(tmp_path, encoder)
    save(tmp_path, {"mean": np.zeros(D, np.float32)}, {"encoder": "planted"})
    with pytest.raises(UsageError, match="not a stop policy"):
        learned(tmp_path, encoder)
    (tmp_path / "policy.safetensors").write_bytes(b"\x80\x04.")
    with pytest.raises(UsageError, match="cannot read"):
        learned(tmp_path, encoder)
    with pytest.raises(UsageError, match="reads vectors of planted"):
        learned(tmp_path, Encoder(cache=None))
    (tmp_path / "policy.json").write_text("[]")
    with pytest.raises(UsageError, match="cannot read"):
        learned(tmp_path, encoder)


async def test_policy_refuses_vectors_of_another_size() -> None:
    tensors = {f"{layer}.{part}": np.zeros(shape, np.float32) for layer, rows, columns in
               (("hidden1", 4, D), ("hidden2", 4, 4), ("action", 2, 4)) for part, shape in
               (("weight", (rows, columns)), ("bias", (rows,)))}  # fmt: skip
    tensors |= {name: np.ones(D, np.float32) for name in ("mean", "deviation", "continue")}
    assert await LearnedPolicy(Network(tensors), Planted())(conversation(["a"])) == 0.5
    with pytest.raises(UsageError, match="vectors of 8"):
        await LearnedPolicy(Network(tensors), Planted(D + 1))(conversation(["a"]))


async def test_random_stop_has_the_early_rate_it_is_asked_for() -> None:
    lengths = [int(n) for n in np.random.default_rng(0).integers(1, 60, 400)]
    for wanted in (0.15, 0.4, 0.8):
        policy = random_stop(wanted, lengths, seed=3)
        rates = []
        for number, n in enumerate(lengths):
            thread = ClaimThread(str(number), conversation(["x"] * n).posts)
            read = 1
            while read < n and await policy(thread.prefix(read)) < 0.5:
                read += 1
            rates.append(read / n)
        assert np.mean(rates) == pytest.approx(wanted, abs=0.05)
    assert random_stop(0.0001, lengths, 0) == RandomStop(1.0, 0)
    assert random_stop(1.0, lengths, 0) == RandomStop(0.0, 0)


async def test_oracle_stops_where_the_verifier_is_first_right() -> None:
    async def verifier(prefix: ClaimThread) -> Verdict:
        return Verdict("rumor" if len(prefix.posts) == 2 else "non-rumor")

    thread = conversation(["a", "b", "c"])
    oracle = Oracle(verifier, {"t": "rumor"})
    assert [await oracle(thread.prefix(n)) for n in (1, 2, 3)] == [0.0, 1.0, 0.0]
    with pytest.raises(UsageError, match="knows the answers"):
        await Oracle(verifier, {})(thread)


def test_command_trains_resumes_after_a_kill_and_refuses_anothers_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # two chunks of iterations
    arguments = ["--dataset", "sample", "--shots", "20", "--pool", "20", "--set", *QUICK, "steps=2000", "--out"]
    killed, whole = str(tmp_path / "killed"), str(tmp_path / "whole")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-m", "training.stopper", *arguments, killed], env=environment, start_new_session=True
    )
    while not (Path(killed) / STATE).is_file() and process.poll() is None:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)  # the worker too: it would go on for a second
    process.wait()
    assert not saved(Path(killed))
    assert stopper([*arguments, killed]) == 0
    assert "20 threads" in capsys.readouterr().out
    assert stopper([*arguments, whole]) == 0
    assert (Path(killed) / "policy.safetensors").read_bytes() == (Path(whole) / "policy.safetensors").read_bytes()
    assert stopper([*arguments, killed]) == 0  # and once more: it is there
    assert "holds this agent already" in " ".join(capsys.readouterr().err.split())
    for other in (["--seed", "1"], ["--set", *QUICK, "alpha=0.9", "steps=2000"]):
        with pytest.raises(SystemExit) as stop:
            stopper([*arguments, killed, *other])
        assert stop.value.code == 2
        assert "choose another --out" in capsys.readouterr().err
    # a mistake leaves no claim on the folder, and a setting may be spelled in two ways
    with pytest.raises(SystemExit):
        stopper([*arguments, str(tmp_path / "new"), "--labels", "nope"])
    assert not (tmp_path / "new").exists()
    assert stopper([*arguments, killed, "--set", *QUICK, "steps=2e3", "alpha=.70"]) == 0


def test_command_labels_by_a_chat_model_and_asks_nothing_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = {"rules": [{"contains": "\n[3]", "reply": "Yes"}], "default": {"reply": "No"}}
    script, agent = tmp_path / "script.json", tmp_path / "agent"
    script.write_text(json.dumps(rules))
    arguments = ["--dataset", "sample", "--shots", "10", "--pool", "20", "--verifier", f"scripted:{script}"]
    arguments += ["--set", "steps=400", "--out", str(agent)]
    assert stopper(arguments) == 0
    assert "the naive way" in capsys.readouterr().err
    labels = json.loads((agent / "labels.json").read_text())
    lengths = {thread.id: len(thread.posts) for thread in load("sample", environ={}).threads}
    assert len(labels) == 10
    assert all(len(said) == lengths[name] for name, said in labels.items())
    # an English No to a Chinese question is no label
    said = {label for labels_of in labels.values() for label in labels_of}
    assert {"rumor", "non-rumor"} <= said <= {"rumor", "non-rumor", None}
    weights = (agent / "policy.safetensors").read_bytes()
    (agent / "policy.json").unlink()
    assert stopper(arguments) == 0
    assert "the naive way" not in capsys.readouterr().err
    assert (agent / "policy.safetensors").read_bytes() == weights


def test_workers_pass_on_what_is_wrong(tmp_path: Path) -> None:
    task, _ = planted()
    wrong = Task(task.pool, task.shots, [["no"] * len(v) for v in task.shots], task.gold, task.words, 0)
    with pytest.raises(UsageError, match="right on no prefix"):
        train_all({tmp_path / "x": wrong})


def test_a_signal_may_come_at_any_moment_of_the_waiting() -> None:
    futures: list[Future[None]] = [Future() for _ in range(20)]
    chance, before = random.Random(0), signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for _ in range(50):
            with pytest.raises(KeyboardInterrupt):  # and not what becomes of a lock that is freed twice
                # once more a second later: an exception within the garbage collector's callbacks is lost
                signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-6, 2e-3), 1.0)
                watch(futures, lambda: None)
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_waiting_ends_with_the_last_and_with_the_first_that_failed() -> None:
    futures: list[Future[None]] = [Future(), Future()]
    looks = iter(
        [lambda: futures[0].set_result(None), lambda: futures[1].set_exception(UsageError("no")), lambda: None]
    )
    with pytest.raises(UsageError, match="no"):
        watch(futures, lambda: next(looks)())
    assert futures[0].done() and len(list(looks)) == 1, "and nobody looks again"


def test_features_of_the_verdicts_so_far() -> None:
    def says(label: str | None, sure: float | None) -> Verdict:
        other = "b" if label == "a" else "a"
        return Verdict(label, {label: sure, other: 1 - sure} if label and sure else None)

    found = features([says("a", 0.6), says("a", 0.8), says("b", 0.7), says(None, None), says("b", None)])
    sure, place, flips, run, mean = found.T
    np.testing.assert_allclose(sure[:4], [np.log(0.6 / 0.4), np.log(4), np.log(7 / 3), 0], rtol=1e-5)
    np.testing.assert_allclose(place, np.log1p(np.arange(5)), rtol=1e-6)
    assert flips.tolist() == [0, 0, 1, 2, 3]
    np.testing.assert_allclose(run, np.log1p([0, 1, 0, 0, 0]), rtol=1e-6)
    np.testing.assert_allclose(mean[:3], [0.6, 0.7, (0.4 + 0.2 + 0.7) / 3], rtol=1e-6)
    assert sure[4] > 9  # no probabilities: sure of its label


async def test_steady_policy_is_a_function_of_the_prefix_and_asks_once_a_post(tmp_path: Path) -> None:
    asked: list[int] = []

    async def verifier(prefix: ClaimThread) -> Verdict:
        asked.append(len(prefix.posts))
        return Verdict("a", {"a": 0.5 + 0.04 * len(prefix.posts), "b": 0.5 - 0.04 * len(prefix.posts)})

    rng = np.random.default_rng(0)
    tensors = {f"{layer}.{part}": rng.normal(size=shape).astype(np.float32) for layer, rows, columns in
               (("hidden1", 4, NUMBERS), ("hidden2", 4, 4), ("action", 2, 4)) for part, shape in
               (("weight", (rows, columns)), ("bias", (rows,)))}  # fmt: skip
    tensors |= {name: np.ones(NUMBERS, np.float32) for name in ("mean", "deviation", "continue")}
    thread = conversation(["x"] * 8)
    policy = Steady(Network(tensors), verifier)
    forward = [await policy(thread.prefix(n)) for n in range(1, 9)]
    assert asked == list(range(1, 9))
    fresh = Steady(Network(tensors), verifier)
    assert [await fresh(thread.prefix(n)) for n in (8, 3, 5)] == [forward[7], forward[2], forward[4]]
    # the threshold lies at a half, and changes the order of nothing
    bent = Steady(Network({**tensors, "threshold": np.array([0.8], np.float32)}), verifier)
    calibrated = [await bent(thread.prefix(n)) for n in range(1, 9)]
    assert np.argsort(calibrated).tolist() == np.argsort(forward).tolist()
    assert [p >= 0.5 for p in calibrated] == [p >= 0.8 for p in forward]


def test_calibrated_threshold_reads_as_much_as_is_asked(tmp_path: Path) -> None:
    task, _ = planted(Settings(steps=2_000, learn_from="stability", early_rate=0.4))
    rng = np.random.default_rng(3)
    flips = [["no" if t < int(rng.integers(1, len(v) + 1)) else "yes" for t in range(len(v))] for v in task.pool]
    task = replace(task, pool_predicted=flips)
    trainer = trained(task, tmp_path)
    pool = trainer._pool
    rates = (_first(pool, trainer._probabilities(pool), trainer.threshold()) + 1) / pool.lengths
    later = (_first(pool, trainer._probabilities(pool), trainer.threshold() + 1e-4) + 1) / pool.lengths
    assert rates.mean() <= 0.4
    assert later.mean() >= rates.mean()
    assert trainer.shown["me"] == 0  # the verifier always ends where it ends
    assert trainer.shown["ce"] == len(pool.sums)
    trainer.write_policy()
    from safetensors.numpy import load_file

    assert load_file(tmp_path / "policy.safetensors")["threshold"].item() == pytest.approx(trainer.threshold())


def test_an_agent_is_known_by_all_that_decides_its_verifiers_answers() -> None:
    def model(name: str) -> Model:
        return open_model(ModelSettings(f"openai:{name}", base_url="http://127.0.0.1:9/v1"), {})

    shots, label_set = load("sample", environ=os.environ).threads[:2], LABEL_SETS["rumor/non-rumor"]
    encoder = Encoder(cache=None)

    def where(how: str, **changed: Any) -> Path:
        return folder(
            Parts(label_set, shots=shots, encoder=encoder, how=how, **{"models": {"": model("m")}, **changed})
        )

    debates: list[dict[str, Any]] = [
        {},
        {"seed": 1},
        *({"debate": DebateSettings(**{name: value})} for name, value in (
            ("k", 5), ("rounds", 1), ("ablate", "debate"), ("gate", True), ("quarantine", True), ("score_batch", 3),
            ("scorer", "encoder"),
        )),
        *({"models": {"": model("m"), role: model("n")}} for role in ("scorer", "debater", "judge")),
        {"stance_threads": shots},
    ]  # fmt: skip
    assert len({where("s2mad", **each) for each in debates}) == len(debates)
    for how in ("self-consistency", "self-correction"):
        assert len({where(how, token_budget=budget) for budget in (None, 1_000, 2_000)}) == 3
    # the agents of before are found again: what a debate is held with is nothing to a verifier that holds none
    assert where("direct", debate=DebateSettings(rounds=1), stance_threads=shots) == where("direct")
    known = _verifier(Parts(label_set, shots=shots, how="direct", models={"": model("m")}))
    assert known.keys() == {"how", "samples", "models", "prompts"}
