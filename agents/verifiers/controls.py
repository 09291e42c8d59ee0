"""Controls of S2MAD: one agent that may spend the tokens of a debate, and holds none.

`self_consistency` draws as many answers of `direct` as the budget pays for, and takes the vote (Wang et al., ICLR
2023). `self_correction` shows the agent its own answer and asks it to look for mistakes, again and again while the
budget lasts (Huang et al., ICLR 2024, "intrinsic self-correction"). A debate that beats neither of them owes its gain
to the tokens, not to the debating. Prompts are ours.

A label is never asked for by name here (`labels` of agents.models.Model): a local model would then choose the
likeliest word instead of speaking, and all its samples would be equal.
"""

from pathlib import Path

from agents.call_log import CallLog
from agents.debate.evidence import MAX_REPLY, harmless
from agents.models import Message, Model, Reply
from agents.replies import YES_NO, show_posts
from agents.together import together
from agents.verdict import Verdict, Verifier
from agents.verifiers.question import ROLE, check, load_prompts, room_for_posts, verdict_of, vote
from corpora.labels import LabelSet
from corpora.thread import ClaimThread

SAMPLES = 5
"""Of self-consistency, where there is no budget."""
MAX_SAMPLES = 41
"""A vote is settled long before, and a prompt may be as short as one post."""
CORRECTIONS = 2
"""Of self-correction, where there is no budget."""
MAX_CORRECTIONS = 10


def self_consistency(
    log: CallLog,
    model: Model,
    prompts: Path | None,
    label_set: LabelSet,
    *,
    seed: int,
    token_budget: int | None,
) -> Verifier:
    """Make the verifier that votes; a tie is an abstention.

    Args:
        log: where its calls go through.
        model: whom it asks.
        prompts: a folder whose files replace our prompts, or None.
        label_set: a binary task.
        seed: each draws samples of its own.
        token_budget: tokens (in and out) a verdict: as many samples as fit, an odd number from 1 to MAX_SAMPLES, judged
            by what the first one took; None for SAMPLES samples.

    Raises:
        UsageError: the label set is not binary, a prompt file is not usable, or the temperature is 0.
    """
    check("self-consistency", label_set, model, samples=SAMPLES)
    by_language = load_prompts("direct", {"posts"}, prompts)

    async def verify(prefix: ClaimThread) -> Verdict:
        prompt, words = by_language[prefix.language], YES_NO[prefix.language]
        posts = show_posts(prefix, max_tokens=room_for_posts(model, prompt), count=model.count_text)
        messages = prompt.render(posts=posts)

        async def draw(number: int) -> Reply:
            sample = 100 * seed + number
            return await log.ask(
                model, messages, role=ROLE, thread_id=prefix.id, prompt_sha256=prompt.sha256, sample=sample
            )

        first = await draw(0)
        count = SAMPLES
        if token_budget is not None:
            count = max(1, min(MAX_SAMPLES, token_budget // max(1, sum(_tokens(model, messages, first)))))
            count -= count % 2 == 0  # an even number may be tied
        others = await together(*(draw(number) for number in range(1, count)))
        return vote([first, *others], words, label_set)

    return verify


def self_correction(
    log: CallLog,
    model: Model,
    prompts: Path | None,
    label_set: LabelSet,
    *,
    seed: int,
    token_budget: int | None,
) -> Verifier:
    """Make the verifier that looks at its own answer again; its last reply that has a label decides.

    Args:
        log: where its calls go through.
        model: whom it asks.
        prompts: a folder whose files replace our prompts, or None.
        label_set: a binary task.
        seed: each draws samples of its own.
        token_budget: tokens (in and out) a verdict: 1 to MAX_CORRECTIONS corrections, as long as the next one probably
            fits; None for CORRECTIONS.

    Raises:
        UsageError: the label set is not binary, or a prompt file is not usable.
    """
    check("self-correction", label_set, model, samples=1)
    questions = load_prompts("direct", {"posts"}, prompts)
    requests = load_prompts("correct", set(), prompts)
    most = CORRECTIONS if token_budget is None else MAX_CORRECTIONS

    async def verify(prefix: ClaimThread) -> Verdict:
        prompt, correct, words = questions[prefix.language], requests[prefix.language], YES_NO[prefix.language]
        # The last prompt holds every reply before it: from the first on there is room for one of them.
        asking = model.count_tokens(correct.render())
        room = room_for_posts(model, prompt) - asking - min(model.max_tokens, MAX_REPLY)
        posts = show_posts(prefix, max_tokens=room, count=model.count_text)
        messages, sha256 = prompt.render(posts=posts), prompt.sha256
        decided: Verdict | None = None
        spent = corrections = 0
        while True:
            reply = await log.ask(model, messages, role=ROLE, thread_id=prefix.id, prompt_sha256=sha256, sample=seed)
            verdict = verdict_of(reply, words, label_set)
            decided = verdict if decided is None or verdict.label else decided
            read, said = _tokens(model, messages, reply)
            spent += read + said
            following = read + said + asking  # the next prompt
            affordable = token_budget is None or spent + following + said <= token_budget
            fits = following <= model.max_prompt_tokens
            if corrections == most or (corrections and not (affordable and fits)):
                return decided
            messages = [*messages, {"role": "assistant", "content": harmless(reply.text)}, *correct.render()]
            sha256 = correct.sha256
            corrections += 1

    return verify


def _tokens(model: Model, messages: list[Message], reply: Reply) -> tuple[int, int]:
    """Tokens in and out of one call: as the endpoint says, else as the model counts them."""
    read = model.count_tokens(messages) if reply.input_tokens is None else reply.input_tokens
    return read, model.count_text(reply.text) if reply.output_tokens is None else reply.output_tokens
