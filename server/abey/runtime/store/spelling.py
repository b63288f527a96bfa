"""How the data of a record is spelled: members in order, what is absent left out, what is large in blobs."""

from functools import cache
from typing import Any, Literal, NamedTuple, get_args

from pydantic import BaseModel

from abey.protocol.base import Json, Wire
from abey.runtime.store.references import Deflater, below


def spelled(data: Wire, deflater: Deflater) -> Json:
    """The JSON value of `data`; `deflater` has what was taken out of it. JSON values inside are theirs, and stay as
    they came; a required one may be null. Raises as Deflater does."""
    return _spelled(data, data.model_dump(by_alias=True), deflater, "")


def _spelled(value: Any, dumped: Any, deflater: Deflater, pointer: str) -> Any:
    match value:
        case BaseModel() if isinstance(dumped, dict):
            return {
                member.alias: _member(member, getattr(value, member.name), dumped[member.alias], deflater, pointer)
                for member in _members(type(value))
                if member.alias in dumped and (member.required or dumped[member.alias] is not None)
            }
        case tuple():
            pairs = enumerate(zip(value, dumped, strict=True))
            return [_spelled(*pair, deflater, below(pointer, index)) for index, pair in pairs]
        case _:
            return deflater.strings(dumped, pointer)


def _member(member: "_Member", value: Any, dumped: Any, deflater: Deflater, pointer: str) -> Any:
    pointer = below(pointer, member.alias)
    match member.json:
        case "value":
            return deflater.whole(dumped, pointer)
        case "object" if isinstance(dumped, dict):
            return {key: deflater.whole(inner, below(pointer, key)) for key, inner in dumped.items()}
        case _:
            return _spelled(value, dumped, deflater, pointer)


class _Member(NamedTuple):
    """A field; `json`: whether it is declared as a JSON value, or as an object of them, which itself stays."""

    alias: str
    name: str
    required: bool
    json: Literal["value", "object"] | None


@cache
def _members(model: type[BaseModel]) -> tuple[_Member, ...]:
    """Every field, by alias."""
    fields = model.model_fields.items()
    return tuple(
        sorted(
            _Member(field.serialization_alias or name, name, field.is_required(), _json_kind(field.annotation))
            for name, field in fields
        )
    )


def _json_kind(annotation: Any) -> Literal["value", "object"] | None:
    if annotation is Any:
        return "value"
    return "object" if dict[str, Any] in (annotation, *get_args(annotation)) else None
