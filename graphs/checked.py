"""What a caller of a graph sends, checked: a mistake in it is one line that says where it lies and what it is."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ModelWrapValidatorHandler, ValidationError, model_validator

from corpora.errors import UsageError

Optional = Annotated[str | None, BeforeValidator(lambda value: None if value == "" else value)]
"""A text that may be left out, as in a form's empty field."""

M = TypeVar("M", bound=BaseModel)

SHOWN = 3
"""Mistakes told at once."""


def parse(model: type[M], given: Mapping[str, Any]) -> M:
    """What a graph was given, as its input schema says.

    To be called in the first node: LangGraph would do it between two nodes, and a thread whose input is wrong could not
    even be looked at then.

    Raises:
        UsageError: it is not as the schema says.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise UsageError(explain(error)) from None


def checked() -> Any:
    """A validator for the body of a pydantic dataclass, around the whole of it: the same for a context."""
    return model_validator(mode="wrap")(classmethod(_one_line))  # type: ignore[arg-type]


def _one_line(_: type[Any], value: Any, handler: ModelWrapValidatorHandler[Any]) -> Any:
    try:
        return handler(value)
    except ValidationError as error:
        raise UsageError(explain(error)) from None


def explain(error: ValidationError) -> str:
    """`posts.3.seconds: Input should be a valid number`, without the value, which may be anything."""
    mistakes = error.errors(include_input=False, include_url=False, include_context=False)
    told = [f"{'.'.join(map(str, each['loc'])) or 'input'}: {each['msg']}" for each in mistakes[:SHOWN]]
    more = len(mistakes) - SHOWN
    return "; ".join(told) + (f"; and {more} more mistakes" if more > 0 else "")
