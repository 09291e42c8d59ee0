"""What a chat is held with: all that a caller of the graph may set, every field with a default."""

from dataclasses import fields, replace
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as checked_dataclass

from corpora.errors import UsageError
from graphs.checked import Optional, checked
from graphs.context import Context, usual_model
from graphs.methods import HOW, WHEN, how_of, names


@checked_dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class ChatContext(Context):
    """How the chat judges, and when it asks a person; what is not named here it has from stop-then-detect."""

    when: Annotated[
        str,
        Field(
            description=f"Where it would have stopped reading, by this stop policy: {names(WHEN, without='oracle')}",
            examples=["confidence:0.7", "posts:5", "eard"],
        ),
    ] = "confidence:0.7"
    model: Annotated[
        Optional,
        Field(
            description="Chat model: judges where `how` asks one, reads what no rule reads, and words the answer. "
            "openai:NAME, hf:PATH-OR-NAME, scripted:FILE; if empty, what the server's HEARSAY_MODEL names, or none"
        ),
    ] = None
    debate_model: Annotated[
        Optional, Field(description="Chat model of “judge it by debate”, if it is another one than `model`")
    ] = None
    reword: Annotated[bool, Field(description="Let the model add a paragraph of its own to the computed answer")] = True
    ask_human: Annotated[bool, Field(description="Interrupt and ask a person where the verdict is unsure")] = False
    unsure_low: Annotated[
        float, Field(description="Unsure from this probability of the first label (rumor) …", ge=0, le=1)
    ] = 0.4
    unsure_high: Annotated[float, Field(description="… up to this one", ge=0, le=1)] = 0.6
    max_calls: Annotated[
        int,
        Field(
            description="Questions a chat model may be asked to find what carried one verdict and would change it", ge=0
        ),
    ] = 24

    _checked = checked()

    def __post_init__(self) -> None:
        """Check what no field can be checked for alone.

        Raises:
            UsageError: the unsure band ends before it begins.
        """
        if self.unsure_low > self.unsure_high:
            raise UsageError(f"unsure_low {self.unsure_low} is above unsure_high {self.unsure_high}: want a band")

    @property
    def speaker(self) -> str | None:
        """The chat model that reads intents and words answers, if there is one."""
        return self.model or usual_model()

    def judging(self, how: str | None = None) -> Context:
        """What stop-then-detect is run with: by another verifier, if one was asked for.

        A verifier without probabilities reads to the end where the stop policy waits for a probability.
        """
        given = Context(**{field.name: getattr(self, field.name) for field in fields(Context)})
        how = how or self.how
        model = (how == "s2mad" and self.debate_model) or self.model
        waits = self.when.partition(":")[0] == "confidence" and how.partition(":")[0] in HOW
        when = "all-posts" if waits and not how_of(how).gives_probabilities else self.when
        return replace(given, how=how, when=when, model=model)
