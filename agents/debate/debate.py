"""The speakers of S2MAD: a scorer, someone who says what kind of claim it is, two debaters and a judge.

Paper: "Breaking Event Rumor Detection via Stance-Separated Multi-Agent Debate" (2024), section 3. Who speaks when is
`graphs/debate.py`'s. A reply that cannot be read is asked for once more; then that speaker abstains.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from agents.call_log import CallLog
from agents.debate.asking import Asker
from agents.debate.evidence import MAX_REPLY, harmless, quarantined, quoted
from agents.debate.readings import read_citations
from agents.debate.scoring import Batch, StanceScorer, batches, score
from agents.debate.settings import DebateSettings
from agents.debate.transcript import Scored, Turn
from agents.models import Message, Model
from agents.replies import FAKE_REAL, YES_NO, read_label, show_posts
from agents.verifiers.question import check
from corpora.labels import LabelSet
from corpora.thread import ClaimThread

LEAST = 200
"""Tokens that source and comments may have, however little room the model leaves."""


class Debate:
    """Everyone who speaks in debates, and how they are asked. One instance serves many threads."""

    def __init__(
        self,
        log: CallLog,
        models: Mapping[str, Model],
        prompts: Path | None,
        label_set: LabelSet,
        settings: DebateSettings,
        *,
        seed: int = 0,
        stance_scorer: StanceScorer | None = None,
    ) -> None:
        """Set up.

        Args:
            log: Where the calls go through.
            models: Of the roles "scorer" (unless there is a stance_scorer), "debater" and "judge".
            prompts: A folder whose files replace our prompts, or None.
            label_set: A binary task; Fake means its first label.
            settings: How the debate is held.
            seed: Makes samples (and draws) of their own.
            stance_scorer: Scores comments in place of the model.

        Raises:
            UsageError: the label set is not binary, or a prompt file is not usable.
        """
        check("s2mad", label_set, models["debater"], 1)
        self.settings, self.label_set, self.seed = settings, label_set, seed
        self._asker, self._stance_scorer = Asker(log, models, prompts, seed), stance_scorer

    def batches(self, thread: ClaimThread) -> list[Batch]:
        """Divide the comments among the calls that will score them; none where nobody scores."""
        if self.settings.ablate == "stance":
            return []
        model = None if self._stance_scorer else self._asker.models["scorer"]
        return batches(thread, self.settings.score_batch, model)

    async def score(self, batch: Batch) -> tuple[list[Scored], int]:
        """Score comments (see agents.debate.scoring.score)."""
        return await score(batch, self._asker, self._stance_scorer, self.settings.quarantine)

    async def classify(self, thread: ClaimThread) -> tuple[bool | None, int]:
        """Ask whether the claim only expresses an opinion; None where the answer cannot be read; and the calls.

        Raises:
            ModelError: a call failed for good.
        """
        words = YES_NO[thread.language]
        about, shown = (thread.id, thread.language), {"source": quoted(show_posts(thread, [0]))}
        word, _, calls = await self._asker.render_and_ask(
            "subjectivity",
            "debater",
            "subjectivity",
            about,
            shown,
            lambda reply: read_label(reply.text, words, reply.cut),
            labels=words,
        )
        return None if word is None else word == words[0], calls

    async def argue(
        self,
        thread: ClaimThread,
        chosen: Sequence[int],
        scored: Mapping[int, Scored],
        subjective: bool,
        speaker: str,
        said: tuple[str, str] | None = None,
        round_: int = 0,
    ) -> Turn:
        """Have a debater form an opinion (equation 3), or answer the other's last reply (equation 4).

        Args:
            thread: The posts seen so far.
            chosen: Indices of the comments that this debater sees.
            scored: What the scorer made of comments.
            subjective: Which family of prompts.
            speaker: "p", "n" or "agent".
            said: Its last reply and the other's, None in round 0.
            round_: Which round it is.

        Raises:
            ModelError: a call failed for good.
        """
        name = "opinion-subjective" if subjective else "opinion-non-subjective"
        prompt, reply_to = self._asker.prompts[name][thread.language], self._asker.prompts["debate"][thread.language]
        model = self._asker.models["debater"]
        room = model.max_prompt_tokens - model.count_tokens(prompt.render(source="", comments=""))
        if self.settings.rounds and speaker != "agent":
            # The later rounds begin with this prompt, so it leaves room for two replies from the first.
            room -= model.count_tokens(reply_to.render(other="")) + 2 * min(model.max_tokens, MAX_REPLY)
        room = max(LEAST, room)
        source = show_posts(thread, [0], max_tokens=room, count=model.count_text)
        if self.settings.quarantine:
            comments = quarantined(chosen, scored, thread.language)
        else:
            room -= model.count_text(source)
            comments = show_posts(thread, chosen, max_tokens=room, count=model.count_text)
        messages = prompt.render(source=quoted(source), comments=quoted(comments))
        if said:
            messages.append({"role": "assistant", "content": harmless(said[0])})
            messages += reply_to.render(other=quoted(harmless(said[1])))
        role = speaker if speaker == "agent" else f"debater_{speaker}"
        return await self._turn(thread, role, "debater", messages, prompt.sha256, speaker, round_)

    async def judge(self, thread: ClaimThread, support: str, oppose: str, round_: int) -> Turn:
        """Have the judge decide between the debaters' last replies (equation 5).

        Raises:
            ModelError: a call failed for good.
        """
        prompt = self._asker.prompts["judge"][thread.language]
        source = show_posts(thread, [0])
        messages = prompt.render(
            source=quoted(source), support=quoted(harmless(support)), oppose=quoted(harmless(oppose))
        )
        return await self._turn(thread, "judge", "judge", messages, prompt.sha256, "judge", round_)

    async def _turn(
        self,
        thread: ClaimThread,
        role: str,
        model: str,
        messages: Sequence[Message],
        prompt_sha256: str,
        speaker: str,
        round_: int,
    ) -> Turn:
        """Ask a speaker for an argument that ends in a label word."""
        words = FAKE_REAL[thread.language]
        word, reply, calls = await self._asker.ask(
            role,
            model,
            messages,
            prompt_sha256,
            thread.id,
            lambda reply: read_label(reply.text, words, reply.cut),
            round_=round_,
        )
        text = reply.text
        if self._asker.log.dry_run:
            # The most that a debate costs in which every reply can be read: long replies, and no agreement.
            word, text = words[role != "debater_n"], f"{role} {round_}" + " so" * self._asker.models[model].max_tokens
        cited, unknown = read_citations(text, range(1, len(thread.posts) + 1))
        turn = Turn(
            speaker=speaker,
            round=round_,
            label=None if word is None else self.label_set.labels[words.index(word)],
            text=text,
            cites=[thread.posts[number - 1].id for number in cited],
            unknown=unknown,
            calls=calls,
        )
        if reply.cut is not None:
            turn["cut"] = reply.cut
        return turn
