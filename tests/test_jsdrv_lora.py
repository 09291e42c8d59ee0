"""SD and RV as two LoRA adapters on one tiny Llama, trained through TRL and peft."""

import json
from pathlib import Path

import pytest

import prompts
from agents.jsdrv.annotation import Annotation, StanceExample, Trainable, VeracityExample
from agents.models import ModelSettings, open_model
from corpora.errors import UsageError
from corpora.thread import ClaimThread, Post
from tests.tiny_llama import build
from training.jsdrv.chat_training import ChatTrainer
from training.jsdrv.lora import LoraSettings

torch = pytest.importorskip("torch")
SAYS = {"S": "it is true, I saw it", "D": "no, that is fake", "Q": "is that so? source?", "C": "what a day"}
QUICK = LoraSettings(epochs=4, learning_rate=5e-3, batch=2, answer_tokens=32)


def post(n):
    label = "SDQC"[n % 4]
    posts = (Post("a", "the dam is leaking", 0.0, "ann", None), Post("b", SAYS[label], 60.0, "bob", "a"))
    return StanceExample(ClaimThread(f"t{n}", posts), 1, label)


def claim(n):
    label = "TF"[n % 2]
    thread = post("TF".index(label)).thread
    return VeracityExample(thread, {1: Annotation("SD"[n % 2])}, label)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    texts = [str(part.template) for name in ("stance", "veracity") for part in parts(name)]
    folder = tmp_path_factory.mktemp("llama")
    size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    return build(folder, positions=1536, corpus=texts, vocabulary=1200, **size)


def parts(name):
    prompt = prompts.load(name, "en")
    return prompt.system, prompt.user


def weights(trainer):
    tensors = trainer.adapters.chat.model.state_dict()
    return {name: tensor.clone() for name, tensor in tensors.items() if "lora" not in name}


@pytest.fixture(scope="module")
def trained(base, tmp_path_factory):
    """A trainer after two rounds of learning, what it told, and where it was saved."""
    trainer = ChatTrainer(f"hf:{base}", settings=QUICK, reasons=False)
    before, told, losses = weights(trainer), [], {}
    losses["stance"] = trainer.pretrain_stances([post(n) for n in range(8)], lambda *step: told.append(step))
    losses["stance"] += trainer.fine_tune_stances([post(n) for n in range(8)])
    losses["veracity"] = trainer.pretrain_veracity([claim(n) for n in range(8)])
    folder = tmp_path_factory.mktemp("saved")
    trainer.save(folder)
    return trainer, before, told, losses, folder


async def test_the_loss_falls_over_the_epochs(trained):
    trainer, _, told, losses, _ = trained
    assert isinstance(trainer, Trainable)
    assert len(losses["stance"]) == 8 and len(losses["veracity"]) == 4
    assert losses["stance"][-1] < losses["stance"][3] < losses["stance"][0] / 2
    assert losses["veracity"][-1] < losses["veracity"][0] / 2
    assert told == [(2 * n, 32) for n in range(1, 17)]
    assert trainer.fine_tune_stances([]) == []


async def test_what_was_learned_is_what_is_answered(trained):
    trainer, *_ = trained
    found = [(await trainer.stances(post(n).thread, [1]))[0] for n in range(4)]
    assert [each.label for each in found] == ["S", "D", "Q", "C"]
    assert all(sum(each.probabilities.values()) == pytest.approx(1) for each in found)
    assert found[0].method == "log-likelihood" and found[0].probabilities["S"] > 0.5


async def test_both_roles_share_one_base_that_nothing_changes(base, trained):
    trainer, before, *_ = trained
    roles = trainer.models
    assert roles["stance"].base is roles["veracity"].base is trainer.adapters.chat
    after = weights(trainer)
    assert after.keys() == before.keys() and all(torch.equal(after[name], before[name]) for name in before)
    plain = open_model(ModelSettings(f"hf:{base}", max_tokens=32), {})
    messages, words = [{"role": "user", "content": "Is it? "}], ("Stance: Deny", "Veracity: True")
    replies = [await model.complete(messages, labels=words) for model in (plain, trainer.adapters.chat)]
    assert replies[0].label_probabilities == pytest.approx(replies[1].label_probabilities, rel=1e-4)
    await plain.close()


async def test_questions_of_both_roles_at_once_are_answered_as_one_by_one(trained):
    import asyncio

    roles = trained[0].models
    messages, words = [{"role": "user", "content": "The dam? "}], ("Stance: Deny", "Veracity: True")
    alone = [await roles[kind].complete(messages, labels=words) for kind in ("stance", "veracity")]
    for keep in (False, True):
        asked = [roles[kind].complete(messages, labels=words) for kind in ("stance", "veracity") * 3]
        if keep:
            with roles["stance"].keep_prefixes(4):
                together = await asyncio.gather(*asked)
        else:
            together = await asyncio.gather(*asked)
        for n, reply in enumerate(together):
            assert reply.label_probabilities == pytest.approx(alone[n % 2].label_probabilities, rel=1e-3)
    assert alone[0].label_probabilities != pytest.approx(alone[1].label_probabilities, rel=0.01)
    assert roles["stance"].parameters["adapter"] != roles["veracity"].parameters["adapter"]


async def test_saved_adapters_are_tensors_and_answer_the_same(base, trained):
    trainer, *_, folder = trained
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    adapters = {
        f"{role}/adapter_{what}" for role in ("stance", "veracity") for what in ("model.safetensors", "config.json")
    }
    assert files == {"networks.json", *adapters}
    again = ChatTrainer(f"hf:{base}", folder, reasons=False)
    assert again.settings == QUICK and again.about == trainer.about
    for n in range(2):
        one, other = [await each.stances(post(n).thread, [0, 1]) for each in (trainer, again)]
        assert [each.probabilities for each in one] == [pytest.approx(each.probabilities, rel=1e-3) for each in other]
        one, other = [await each.veracity(claim(n).thread, claim(n).kept) for each in (trainer, again)]
        assert one.probabilities == pytest.approx(other.probabilities, rel=1e-3) and one.label == "TF"[n]
    addresses = [{role: model.parameters for role, model in each.models.items()} for each in (trainer, again)]
    assert addresses[0] == addresses[1]
    await again.close()


async def test_an_adapter_that_learned_nothing_is_the_base(base):
    fresh = ChatTrainer(f"hf:{base}", settings=QUICK)
    assert fresh.models["stance"].parameters == fresh.adapters.chat.parameters
    (found,) = await fresh.stances(post(0).thread, [1])
    assert found.label and found.reason is None and isinstance(found.explanation, str)
    await fresh.close()


async def test_a_reason_is_what_the_model_goes_on_with(trained):
    trainer, *_ = trained
    chat = trainer.adapters.chat
    begun = [{"role": "user", "content": "So?"}, {"role": "assistant", "content": 'Stance: Deny, Reason: "'}]
    assert chat.count_tokens(begun) > chat.count_tokens(begun[:1])
    assert chat._render(begun).endswith('<|assistant|>Stance: Deny, Reason: "')


def test_a_very_long_thread_keeps_its_label_in_the_loss(trained):
    trainer, *_ = trained
    posts = [Post(f"p{n}", "they say " * 60, 60.0 * n, "ann", "p0" if n else None) for n in range(200)]
    thread, tokenizer = ClaimThread("long", tuple(posts)), trainer.adapters.chat.tokenizer
    examples = [
        StanceExample(thread, 199, "Q"),
        VeracityExample(thread, {n: Annotation("C") for n in range(1, 200)}, "U"),
    ]
    for example, answer in zip(examples, ("Stance: Question", "Veracity: Unverified"), strict=True):
        row = trainer.adapters.row(*trainer.lesson(example))
        ids, mask = row["input_ids"], row["completion_mask"]
        assert 1024 < len(ids) <= 1536 or answer.startswith("Stance")
        learned = [token for token, learn in zip(ids, mask, strict=True) if learn]
        assert tokenizer.decode(learned) == answer + "</s>"
        assert tokenizer.decode(ids).count("<s>") == 0  # TRL would have put one before the template's text
    long_reason = trainer.adapters.row(*(trainer.lesson(examples[0])[0], "Stance: Question, Reason: " + "so " * 900))
    assert sum(long_reason["completion_mask"]) == 32
    # and TRL keeps it: its own limit of 1,024 tokens would cut it off, and the loss would be none at all
    (loss,) = trainer.adapters.train("veracity", [trainer.lesson(examples[1])])[:1]
    assert 0 < loss < 50


@pytest.mark.parametrize("damage", ["other weights", "no adapter", "cut adapter", "another model", "other rank"])
def test_a_folder_that_does_not_fit_is_a_usage_error(base, trained, tmp_path, damage):
    import shutil

    folder, kind = tmp_path / "saved", f"hf:{base}"
    shutil.copytree(trained[-1], folder)
    about = json.loads((folder / "networks.json").read_text())
    adapter = folder / "veracity" / "adapter_model.safetensors"
    if damage == "other weights":
        about["weights"] = "0" * 64
    elif damage == "no adapter":
        adapter.unlink()
    elif damage == "cut adapter":
        adapter.write_bytes(adapter.read_bytes()[:500])
    elif damage == "another model":
        kind = f"hf:{Path(base).parent}"
    else:
        about["lora"]["rank"] = 2
    (folder / "networks.json").write_text(json.dumps(about))
    with pytest.raises(UsageError) as caught:
        ChatTrainer(kind, folder)
    assert "\n" not in str(caught.value)
