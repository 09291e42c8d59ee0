"""A debater who answers every prompt of S2MAD, and its controls, by rule: the same request, the same reply.

`reply` is for loopback servers (`python -m tests.chat_stub --script tests.debate_script:reply`), `Speaker` is the same
in process, and `write_debates` makes up a corpus on which every way a debate can go is gone once. What is asked is
read off the last line of the prompt, what is quoted off the lines with codes around it. How a debate goes, one of
CASES, is a hash of the source post's text.
"""

import asyncio
import json
import re
import zlib
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from agents.models import Message, Reply, estimate_tokens

CASES = (
    "agree",  # from the start
    "dispute",  # to the end: the judge decides
    "p yields",
    "n yields",
    "p yields late",  # in the second round
    "swap",  # each takes the other's side, in every round
    "swap once",
    "p falls away",  # from what both said at first
    "n falls away",
    "p mumbles",  # no label in any of its replies, however often it is asked
    "n mumbles",
    "both mumble",
    "p mumbles first",  # and speaks up in the first round
    "silent judge",
)
AGAINST = ("source?", "fake", "not true", "unconfirmed", "debunked", "假的", "求证", "辟谣")
FOR = ("so sad", "prayers", "confirmed", "i saw it", "祈福", "证实", "亲眼")
OPINION = ("in my opinion", "我觉得")
_QUOTED = re.compile(r"^---- ([0-9a-f]{16}) begins ----\n(.*?)\n---- \1 ends ----$", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"^\[(\d+)\](.*)$", re.MULTILINE)
_MADE_OF = re.compile(r" \S+, ([+-]\d\.\d)")
_WORD = re.compile("Fake|Real|谣言|真实")

Messages = Sequence[Message]


def reply(request: dict[str, Any]) -> str:
    """Answer a request of the chat completions protocol."""
    messages = request["messages"]
    question = messages[-1]["content"].rstrip().rpartition("\n")[2]
    for words, answer in _QUESTIONS.items():
        if words in question:
            return answer(messages)
    return "Nobody told me what to say to this."


def case_of(source: str) -> str:
    """How the debate about a source post goes."""
    return CASES[_hash(source) % len(CASES)]


def score_of(comment: str) -> float | None:
    """What the scorer makes of a comment's text; None is a reply that cannot be read."""
    text, number = comment.casefold(), _hash(comment)
    strength = (3 + number % 8) / 10
    if any(word in text for word in AGAINST):
        return -strength
    if any(word in text for word in FOR):
        return strength
    return {0: strength / 4, 1: -strength / 4, 2: None}.get(number % 16, 0.0)


def _hash(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def _sections(messages: Messages) -> list[str]:
    """What the first of the user's messages quotes: the source post, then the rest."""
    first = next(message["content"] for message in messages if message["role"] == "user")
    return [text for _, text in _QUOTED.findall(first)]


def _text(line: str) -> str:
    """A post's text, without number, author and times."""
    return line.partition(": ")[2]


def _chinese(messages: Messages) -> bool:
    return "源帖子" in messages[0]["content"]


def _score(messages: Messages) -> str:
    comment = _text(_sections(messages)[1])
    score, number = score_of(comment), _hash(comment + "shape")
    if score is None:
        return ("I would rather not say.", '{"Reason": "very", "Score": 3.5}')[number % 2]
    quote = "words of my own" if number % 7 == 0 else comment[: comment.find(" ", 12)]
    body = json.dumps({"Reason": "by rule", "Quote": quote, "Score": score}, ensure_ascii=False)
    shapes = (body, body, f"```json\n{body}\n```", f"Here it is: {body} That is all.", f"Score: {score}")
    return shapes[number % len(shapes)]


def _scores(messages: Messages) -> str:
    found = {int(number): score_of(_text(rest)) for number, rest in _LINE.findall(_sections(messages)[1])}
    read = [
        {"Post": number, "Reason": "by rule", "Score": score} for number, score in found.items() if score is not None
    ]
    return json.dumps(read)


def _subjectivity(messages: Messages) -> str:
    source, zh = _text(_sections(messages)[0]), _chinese(messages)
    if _hash(source + "kind") % 16 == 0:
        return "Perhaps."
    return ("No", "Yes", "否", "是")[2 * zh + any(word in source for word in OPINION)]


def _side(messages: Messages) -> str:
    """Which debater this is, by the comments it was shown: p, n, or "" without comments that lean."""
    leaning = 0.0
    for _, rest in _LINE.findall(_sections(messages)[1]):
        made = _MADE_OF.match(rest)
        leaning += float(made[1]) if made else score_of(_text(rest)) or 0.0
    return "p" if leaning > 0 else "n" if leaning < 0 else ""


def _opinion(messages: Messages) -> str:
    source, side = _text(_sections(messages)[0]), _side(messages)
    case = case_of(source)
    if case == "both mumble" or (side and case in (f"{side} mumbles", f"{side} mumbles first")):
        return f"There is much to be said [{len(messages)}], and I say none of it."
    alike = case in ("agree", "p falls away", "n falls away") or not side
    fake = _hash(source + "truth") % 2 == 0 if alike else side == "n"
    return _argument(messages, fake, "The comments settle it.")


def _update(messages: Messages) -> str:
    source, side = _text(_sections(messages)[0]), _side(messages)
    own_text, (_, other_text) = messages[-2]["content"], _QUOTED.findall(messages[-1]["content"])[-1]
    case, own, other = case_of(source), _fake(own_text), _fake(other_text)
    if case == "both mumble" or (side and case == f"{side} mumbles"):
        return "I still will not say."
    doubted, moved = "not convinced" in own_text, "I was wrong" in own_text
    yields = case in ("swap", f"{side} yields") or (case == f"{side} yields late" and doubted)
    yields = yields or (case == "swap once" and not moved)
    if own is None or (yields and other is not None):
        own, yields = other, True
    elif case == f"{side} falls away" and not moved:
        own, yields = not own, True
    return _argument(messages, own is not False, "I was wrong." if yields else "I am not convinced.")


def _judge(messages: Messages) -> str:
    source = _text(_sections(messages)[0])
    if case_of(source) == "silent judge":
        return "Both have a point."
    return _argument(messages, _hash(source + "judge") % 2 == 0, "One argument is sounder.")


def _fake(text: str) -> bool | None:
    said = _WORD.findall(text)
    return said[-1] in ("Fake", "谣言") if said else None


def _argument(messages: Messages, fake: bool, remark: str) -> str:
    """An argument that names some of the posts shown, now and then one that is not there, and ends in a label."""
    lines = "\n".join(_sections(messages))
    numbers = sorted({int(number) for number, _ in _LINE.findall(lines)})
    seed = _hash(lines + remark)
    named = sorted({numbers[(seed >> shift) % len(numbers)] for shift in (0, 8, 16)})
    named += [9999] if seed % 5 == 0 else []
    word = ("真实", "谣言") if _chinese(messages) else ("Real", "Fake")
    end = ("{}", "**{}**", "{}.")[seed % 3].format(word[fake])
    return f"{remark} See {', '.join(f'[{number}]' for number in named)}.\n{end}"


def _yes_or_no(messages: Messages) -> str:
    """What one agent says of all posts: direct, and once it has looked at its answer again."""
    shown = next(message["content"] for message in messages if message["role"] == "user")
    against = sum(score_of(_text(rest)) or 0.0 for _, rest in _LINE.findall(shown)) < 0
    again = messages[-2]["role"] == "assistant" and _hash(shown) % 4 == 0
    return ("No", "Yes", "否", "是")[2 * ("帖子" in messages[0]["content"]) + (against != again)]


def _fake_or_real(messages: Messages) -> str:
    """What one agent says of 40 comments: vanilla."""
    leaning = sum(score_of(_text(rest)) or 0.0 for _, rest in _LINE.findall(messages[-1]["content"]))
    return (("真实", "谣言") if _chinese(messages) else ("Real", "Fake"))[leaning < 0]


_QUESTIONS: dict[str, Callable[[Messages], str]] = {
    "What is the score of the comment": _score,
    "这条评论的分数是多少": _score,
    "What is the score of each": _scores,
    "这些评论各自的分数": _scores,
    "only express a personal opinion": _subjectivity,
    "是否只表达了": _subjectivity,
    "Argue, and end with": _opinion,
    "请作出论证": _opinion,
    "give your updated argument": _update,
    "给出更新后的论证": _update,
    "Give your reasons, and end with": _judge,
    "请说明理由": _judge,
    "is this a rumor?": _yes_or_no,
    "这是谣言吗": _yes_or_no,
    "Answer with a single word, Fake or Real": _fake_or_real,
    "只用一个词回答：谣言 或 真实": _fake_or_real,
}
"""Words of a prompt's last line -> what is said to it."""


class Speaker:
    """The same as a chat model in this process, which takes its time."""

    name, endpoint, max_prompt_tokens, max_tokens = "openai:speaker", "in process", 12_000, 512

    def __init__(self, seconds: float = 0.0):
        self.seconds, self.asked = seconds, 0
        self.parameters: dict[str, Any] = {"temperature": 0.2}

    async def complete(self, messages: Messages, *, labels: tuple[str, ...] = (), sample: int = 0) -> Reply:
        self.asked += 1
        await asyncio.sleep(self.seconds)
        text = reply({"messages": messages})
        return Reply(text, input_tokens=self.count_tokens(messages), output_tokens=estimate_tokens(text))

    def count_text(self, text: str) -> int:
        return estimate_tokens(text)

    def count_tokens(self, messages: Messages) -> int:
        return sum(estimate_tokens(message["content"]) for message in messages)

    def cost(self, input_tokens: int, output_tokens: int) -> float | None:
        return 0.0

    async def close(self) -> None:
        pass


_COMMENTS = {
    "en": (["So sad, prayers for them", "My cousin says it is confirmed"], ["Source?", "This is not true"]),
    "zh": (["为他们祈福", "官方已经证实"], ["求证，有来源吗", "这是假的"]),
}


def write_debates(path: Path, comments: int = 12, longest: int = 500) -> Path:
    """A JSONL corpus on which every branch of a debate is taken.

    For each language: a thread of mixed comments for each of CASES, threads of one-sided, neutral and no comments,
    and a claim that is an opinion. One thread is `longest` posts long.
    """
    threads = []
    for language in ("en", "zh"):
        support, oppose = _COMMENTS[language]
        mixed = [*support, *oppose, "Lovely weather"]
        kinds = [("", case, mixed) for case in CASES]
        kinds += [("", "dispute", support), ("", "dispute", oppose), (OPINION[language == "zh"] + ", ", "agree", mixed)]
        for number, (start, case, texts) in enumerate(kinds):
            said = [f"{texts[place % len(texts)]} {place}" for place in range(comments)]
            threads.append((language, [_source(start, case, language, number), *said]))
        neutral = (text for n in range(10_000) if score_of(text := f"noted {n}") == 0)
        threads.append((language, [_source("", "dispute", language, 89), *islice(neutral, comments)]))
        threads.append((language, [_source("", "dispute", language, 90)]))
    said = [f"{('Source?', 'so sad', 'noted')[n % 3]} {n}" for n in range(longest - 1)]
    threads.append(("en", [_source("", "dispute", "en", 91), *said]))
    return write_threads(path, threads)


def write_threads(path: Path, threads: Sequence[tuple[str, Sequence[str]]]) -> Path:
    """A JSONL corpus of threads, each a language and the texts of its posts; every other one is a rumor."""
    with path.open("w", encoding="utf-8") as file:
        for number, (language, texts) in enumerate(threads):
            file.write(json.dumps(_thread(f"t{number}", number % 2 == 0, language, texts)) + "\n")
    return path


def _source(start: str, case: str, language: str, number: int) -> str:
    """A source post whose debate goes as `case` says."""
    what = "the bridge at milestone {} is closed" if language == "en" else "{}号里程碑的桥封了"
    found = (start + what.format(100 * tries + number) for tries in range(10_000))
    return next(text for text in found if case_of(text) == case)


def _thread(name: str, rumor: bool, language: str, texts: Sequence[str]) -> dict[str, Any]:
    posts = []
    for number, text in enumerate(texts):
        post = {"id": f"{name}-{number}", "seconds": 60.0 * number, "author": f"user{number}", "text": text}
        if number:
            post |= {
                "parent": f"{name}-0",
                "stance": "S" if (score := score_of(text) or 0) > 0 else "D" if score else "C",
            }
        posts.append(post)
    labels = {"rumor": "rumor" if rumor else "non-rumor", "veracity": "F" if rumor else "N"}
    return {"id": name, "event": f"event {language}", "language": language, **labels, "posts": posts}
