"""SD and RV as chat models (JSDRV, sections 4.1 and 4.2; the in-context mode of section 4.4).

Where probabilities come from, and never from elsewhere:
  - a local model scores every label as the beginning of its reply ("log-likelihood"), which generates nothing; where
    reasons are wanted, it then goes on from the likeliest label;
  - an API's token log-probabilities, at the token with which the label begins;
  - else the shares of several samples, where they are asked for; else there are none, only a label.
A reply without a readable label is asked for once more, and is then an abstention.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from agents.call_log import CallLog
from agents.jsdrv.annotation import Annotation, Kept, StanceExample, VeracityExample
from agents.jsdrv.examples import SHARE, Example, Examples
from agents.jsdrv.questions import LINE_TOKENS, Asked, Questions, local
from agents.jsdrv.reading import WORDS, Answer, Kind, Words, read_answer, read_stances
from agents.likelihood import normalised
from agents.models import Message, Model, Reply
from agents.replies import clean, find_label, no_label
from agents.together import together
from corpora.errors import UsageError
from corpora.thread import ClaimThread, Language

ATTEMPTS = 2
_REASON_TOKENS = 100


class ChatNetworks:
    """Stances and veracity from one chat model, or from one for each."""

    def __init__(
        self,
        log: CallLog,
        models: Mapping[str, Model] | Model,
        prompts: Path | None = None,
        *,
        examples: Sequence[Example] = (),
        examples_tokens: int | None = None,
        most_examples: int | None = None,
        seed: int = 0,
        samples: int = 1,
        reasons: bool = True,
    ) -> None:
        """Load the prompts.

        Args:
            log: Where calls go through.
            models: "stance" and "veracity" -> model; or one for both.
            prompts: A folder whose files replace our prompts, or None.
            examples: What is shown before the questions, the most recent last.
            examples_tokens: What they may take; None for a quarter of what the model reads.
            most_examples: How many of each kind to show at most; None for as many as fit.
            seed: At a temperature above 0, each draws replies of its own.
            samples: Calls a question where the model gives no label probabilities.
            reasons: Ask a local model for reasons too, a call each; an API gives them with its labels.

        Raises:
            UsageError: a prompt file is not usable, or samples cannot differ.
        """
        both = models if isinstance(models, Mapping) else {"stance": models, "veracity": models}
        self.models: dict[Kind, Model] = {"stance": both["stance"], "veracity": both["veracity"]}
        if samples < 1 or (samples > 1 and any(m.parameters.get("temperature") == 0 for m in self.models.values())):
            raise UsageError("several samples need a temperature above 0, or they are all the same")
        names = dict.fromkeys(model.name for model in self.models.values())
        self.name = " + ".join(names)
        self.log, self.questions = log, Questions(prompts)
        self.seed, self.samples, self.reasons = seed, samples, reasons
        self._examples_tokens, self._most_examples = examples_tokens, most_examples
        self._examples: dict[Kind, Examples] = {}
        self.show("stance", [each for each in examples if isinstance(each, StanceExample)])
        self.show("veracity", [each for each in examples if isinstance(each, VeracityExample)])

    def show(self, kind: Kind, examples: Sequence[Example]) -> None:
        """Replace the examples of one kind."""
        self._examples[kind] = Examples(examples, kind, self._most_examples)

    def examples(self) -> dict[Kind, list[Example]]:
        """What may be shown, the most recent of each label last."""
        return {kind: some.all() for kind, some in self._examples.items()}

    async def stances(self, thread: ClaimThread, numbers: Sequence[int]) -> list[Annotation]:
        """Annotate posts, given by their places in `thread.posts`; see annotation.Networks."""
        model = self.models["stance"]
        examples = self._shown("stance", thread)
        asked = [self.questions.stance(model, thread, number, examples) for number in numbers]
        return await together(*(self._ask("stance", each, thread) for each in asked))

    async def veracity(self, thread: ClaimThread, kept: Kept) -> Annotation:
        """Judge the claim by the posts that were kept; see annotation.Networks."""
        model = self.models["veracity"]
        asked = self.questions.veracity(model, thread, kept, self._shown("veracity", thread))
        return await self._ask("veracity", asked, thread)

    async def joint(self, thread: ClaimThread) -> tuple[dict[int, Annotation], Annotation]:
        """Ask for all stances and the veracity at once: place of a post -> its stance, and the veracity.

        A stance has no probabilities here. Posts that the question or the answer has no room for are abstentions.
        """
        model = self.models["veracity"]
        most = max(1, (model.max_tokens - _REASON_TOKENS) // LINE_TOKENS)
        asked = self.questions.joint(model, thread, most, self._shown("veracity", thread))
        if local(model):
            text, veracity = await self._joint_locally(model, asked, thread)
        else:
            reply = await self._readable("veracity", model, asked, thread, "joint")
            text, veracity = reply.text, annotation_of(reply, "veracity", thread.language)
        found = read_stances(text, thread.language)
        stances = {}
        for number in range(len(thread.posts)):
            reason = "no stance in the reply" if number in asked.numbers else "no room for the post in the question"
            label = found.get(number + 1) if number in asked.numbers else None
            stances[number] = Annotation(label, reason=None if label else reason)
        return stances, veracity

    def _shown(self, kind: Kind, thread: ClaimThread) -> str:
        model, examples = self.models[kind], self._examples[kind]
        budget = model.max_prompt_tokens // SHARE if self._examples_tokens is None else self._examples_tokens
        return examples.render(thread, budget, model.count_text) if len(examples) else ""

    async def _ask(self, kind: Kind, asked: Asked, thread: ClaimThread) -> Annotation:
        """Ask one question for a label."""
        model = self.models[kind]
        if local(model):
            return await self._score(kind, model, asked, thread, asked.messages)
        first = await self._readable(kind, model, asked, thread, kind)
        if self.samples == 1 or first.label_probabilities is not None or self.log.dry_run:
            return annotation_of(first, kind, thread.language)
        others = await together(
            *(self._reply(model, asked.messages, asked, thread, kind, sample=n) for n in range(1, self.samples))
        )
        return majority([first, *others], kind, thread.language)

    async def _readable(self, kind: Kind, model: Model, asked: Asked, thread: ClaimThread, role: str) -> Reply:
        """A reply of an API, the second one if the first cannot be read."""
        words = WORDS[kind][thread.language].words
        for attempt in range(ATTEMPTS):
            reply = await self._reply(model, asked.messages, asked, thread, role, words, attempt=attempt)
            if self.log.dry_run or read_answer(reply.text, kind, thread.language, reply.cut):
                break
        return reply

    async def _reply(
        self,
        model: Model,
        messages: Sequence[Message],
        asked: Asked,
        thread: ClaimThread,
        role: str,
        labels: tuple[str, ...] = (),
        sample: int = 0,
        attempt: int = 0,
    ) -> Reply:
        # each seed, sample and attempt draws a reply of its own, also where prompts are equal
        drawn = self.seed * self.samples + sample if model.parameters.get("temperature") else sample
        return await self.log.ask(
            model,
            messages,
            role=role,
            thread_id=thread.id,
            prompt_sha256=asked.sha256,
            labels=labels,
            sample=ATTEMPTS * drawn + attempt,
        )

    async def _score(
        self, kind: Kind, model: Model, asked: Asked, thread: ClaimThread, messages: list[Message]
    ) -> Annotation:
        """The label that a local model is likeliest to begin its reply with, and how it goes on."""
        words = WORDS[kind][thread.language]
        answers = {words.answer(label): label for label in words.labels}
        reply = await self._reply(model, messages, asked, thread, kind, tuple(answers))
        label = answers.get(reply.text)
        annotation = Annotation(
            label,
            reply.label_probabilities and {answers[each]: p for each, p in reply.label_probabilities.items()},
            method=reply.probability_method,
            reason=None if label else no_label(reply, what=kind),
        )
        if not self.reasons or not (label or self.log.dry_run):
            return annotation
        begun = words.beginning(label or next(iter(words.labels)))
        before = messages[-1]["content"] if messages[-1]["role"] == "assistant" else None
        if before is None:
            messages = [*messages, {"role": "assistant", "content": begun}]
        else:
            messages = [*messages[:-1], {"role": "assistant", "content": before + begun}]
        more = await self._reply(model, messages, asked, thread, f"{kind}-reason")
        return Annotation(label, annotation.probabilities, _reason(more.text, words), annotation.method)

    async def _joint_locally(self, model: Model, asked: Asked, thread: ClaimThread) -> tuple[str, Annotation]:
        """The stances that a local model writes, and the veracity that it is likeliest to go on with after them."""
        language = thread.language
        reply = await self._reply(model, asked.messages, asked, thread, "joint")
        words = WORDS["stance"][language].labels
        found = read_stances(reply.text, language)
        lines = [f"[{number + 1}] {words[found[number + 1]]}\n" for number in asked.numbers if number + 1 in found]
        begun: Message = {"role": "assistant", "content": "".join(lines)}
        messages = [*asked.messages, begun] if lines else asked.messages
        return reply.text, await self._score("veracity", model, asked, thread, messages)


def annotation_of(reply: Reply, kind: Kind, language: Language) -> Annotation:
    """What an API's reply says; its probabilities only if they are those of the word that is its label."""
    words = WORDS[kind][language]
    answer = read_answer(reply.text, kind, language, reply.cut)
    if answer is None:
        return Annotation(None, reason=no_label(reply, what=kind))
    given = reply.label_probabilities
    if given and reply.probability_method == "logprobs" and not _at(answer, reply.text, words):
        given = None
    odds = normalised({label: given.get(word, 0.0) for label, word in words.labels.items()}) if given else None
    return Annotation(answer.label, odds, answer.explanation, reply.probability_method if odds else None)


def majority(replies: Sequence[Reply], kind: Kind, language: Language) -> Annotation:
    """The vote of several replies, with the shares of those that have a label; a tie is an abstention."""
    answers = [answer for reply in replies if (answer := read_answer(reply.text, kind, language, reply.cut))]
    votes = Counter(answer.label for answer in answers)
    if not votes:
        return Annotation(None, reason=no_label(*replies, what=kind))
    (label, most), *others = votes.most_common()
    if others and others[0][1] == most:
        return Annotation(None, reason=f"{votes.total()} replies are tied")
    shares = {each: votes[each] / votes.total() for each in WORDS[kind][language].labels}
    reason = next(answer.explanation for answer in answers if answer.label == label)
    return Annotation(label, shares, reason, f"samples:{len(replies)}")


def _at(answer: Answer, text: str, words: Words) -> bool:
    """Whether the call looked at the label's own token: it takes the last label word that is not quoted."""
    return find_label(text, words.words) == (words.labels[answer.label], answer.start)


def _reason(text: str, words: Words) -> str:
    """The reason that a local model wrote after its opening mark."""
    line = text.strip().partition("\n")[0]
    return clean(line.partition(words.quotes[1])[0], 600).strip()
