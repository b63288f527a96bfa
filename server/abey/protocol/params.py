"""What the params of many methods have in common."""

from typing import Annotated, TypeVar

from pydantic import Field, StringConstraints
from pydantic.alias_generators import to_camel

from abey.protocol.base import Wire
from abey.protocol.transcript import Part

W = TypeVar("W", bound=Wire)

Name = Annotated[str, StringConstraints(min_length=1, max_length=4096)]

"""Something to look up: what does not exist is answered by its own kind, not as bad params."""

Prompt = Annotated[str, StringConstraints(min_length=1)]

Parts = Annotated[tuple[Part, ...], Field(min_length=1)]


def exactly_one(params: W, *names: str) -> W:
    """Raises ValueError unless just one of these members is given."""
    given = [name for name in names if getattr(params, name) is not None]
    if len(given) != 1:
        spelled = ", ".join(to_camel(name) for name in names)
        raise ValueError(f"exactly one of {spelled} is required")
    return params


class NoParams(Wire):
    """A method without params."""


class Nothing(Wire):
    """An empty result."""
