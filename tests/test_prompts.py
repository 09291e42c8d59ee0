import hashlib
from pathlib import Path

import pytest

import prompts
from prompts import PromptError


@pytest.mark.parametrize("name", prompts.names())
def test_every_prompt_loads_and_puts_its_question_last(name):
    prompt = prompts.load(*name.rsplit(".", 1))
    messages = prompt.render(**dict.fromkeys(prompt.identifiers, "POSTS"))
    next_turn = name.startswith(("debate.", "correct."))  # the instructions stand in the conversation already
    assert [message["role"] for message in messages] == ["user"] if next_turn else ["system", "user"]
    assert next_turn or "POSTS" not in messages[0]["content"]  # what changes comes after the instructions
    assert messages[-1]["content"].rpartition("POSTS")[2].strip().endswith((".", "。"))


def test_every_prompt_is_there_in_both_languages():
    stems = {name.rsplit(".", 1)[0] for name in prompts.names()}
    assert set(prompts.names()) == {f"{stem}.{language}" for stem in stems for language in ("en", "zh")}


def test_sha256_is_that_of_the_file():
    path = Path(prompts.__file__).parent / "direct.en.md"
    assert prompts.load("direct", "en").sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_missing_and_unused_names_raise():
    prompt = prompts.load("direct", "en")
    with pytest.raises(PromptError, match=r"no value for \$posts"):
        prompt.render()
    with pytest.raises(PromptError, match=r"no place for \$claim"):
        prompt.render(posts="x", claim="y")


@pytest.mark.parametrize("hostile", ["{posts}", "{0.__class__}", "$posts", "${posts}", "$$", "%s", "\\1 \\g<0>"])
def test_values_are_put_in_as_they_are(hostile):
    content = prompts.load("direct", "en").render(posts=hostile)[1]["content"]
    assert f"\n{hostile}\n" in content


def test_a_folder_overrides_by_file_name(tmp_path):
    (tmp_path / "direct.en.md").write_text("Posts: $posts\nIt costs $$5. Rumor?", encoding="utf-8")
    prompt = prompts.load("direct", "en", tmp_path)
    assert prompt.render(posts="p") == [{"role": "user", "content": "Posts: p\nIt costs $5. Rumor?"}]
    assert prompt.sha256 != prompts.load("direct", "en").sha256
    assert prompts.load("direct", "zh", tmp_path).sha256 == prompts.load("direct", "zh").sha256


def test_a_file_that_replaces_nothing_is_an_error(tmp_path):
    (tmp_path / "detect.en.md").write_text("x")
    with pytest.raises(PromptError, match=r"detect\.en\.md replaces no prompt; there are: .*correct\.en"):
        prompts.load("direct", "en", tmp_path)


@pytest.mark.parametrize("text", ["it costs $5", b"\xff\xfe"])
def test_a_bad_file_is_an_error(tmp_path, text):
    (tmp_path / "direct.en.md").write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(PromptError):
        prompts.load("direct", "en", tmp_path)


def test_unknown_names_and_folders_are_errors(tmp_path):
    with pytest.raises(PromptError, match=r"no prompt quarrel\.en; there are"):
        prompts.load("quarrel", "en")
    with pytest.raises(PromptError, match="no folder"):
        prompts.load("direct", "en", tmp_path / "nowhere")
