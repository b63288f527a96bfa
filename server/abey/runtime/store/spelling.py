"""How the data of a record is spelled: members in order, without those that say nothing; what is large in blobs."""

from collections.abc import Iterator, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, Literal, get_args

from pydantic import BaseModel, PlainSerializer
from pydantic.fields import FieldInfo

from abey.protocol.base import Json
from abey.protocol.journal import RECORD_TYPES, RecordData
from abey.runtime.store.references import Deflater, below
from abey.runtime.store.repeats import carry_client, fill_repeats, once
from abey.shared.values import dataclass

Carried = dict[str, str]
"""What the records so far say last of the members that a record may lack, by alias, and of a client, by
`client.<member>`."""


def spelled(data: RecordData, carried: Mapping[str, str]) -> dict[str, Json]:
    """The JSON value of `data`, without members that have their default or are `carried`, and without what it says
    twice. JSON values inside are theirs, and stay as they came; a required one may be null."""
    told: dict[str, Json] = {}
    values, said = once(data, carried, plain)
    for member in _members(type(data)):
        value, known = values[member.name], member.default
        if member.is_carried:
            known = carried.get(member.alias, known)
        elif member.name in said:
            known = said[member.name]
        if known is _REQUIRED or (value is not known and value != known):
            told[member.alias] = value if type(value) in _AS_THEY_CAME else plain(value, member.is_short)
    return told


def deflated(data: RecordData, carried: Mapping[str, str], deflater: Deflater) -> dict[str, Json]:
    """The same, and `deflater` has what was taken out of it. Raises as Deflater does."""
    told, (values, _) = spelled(data, carried), once(data, carried, plain)
    return {
        member.alias: _deflated_member(values[member.name], member, deflater, below("", member.alias))
        for member in _members(type(data))
        if member.alias in told
    }


LEAVES = frozenset({str, int, float, bool, type(None)})
"""Of the values in which there is nothing else."""

_AS_THEY_CAME = LEAVES | {dict, list}
"""Of the values that stay what they are: nothing in an object or an array is ours."""


def plain(value: Any, is_short: bool = False) -> Json:
    """As `Wire.wire` spells it, by alias, in a third of the time; `is_short`: a bare tag will do."""
    kind: Any = type(value)
    if kind in _AS_THEY_CAME:
        return value
    if kind is tuple:
        return [plain(each) for each in value]
    if not _is_model(kind):
        return value
    values = vars(value)
    told: dict[str, Json] = {}
    for member in _members(kind):
        one = values[member.name]
        if one is not member.default:
            told[member.alias] = one if type(one) in _AS_THEY_CAME else plain(one, member.is_short)
    return _shortened(told) if is_short else told


def carry(data: RecordData, carried: Carried) -> None:
    """`carried` after this record. One that older readers may skip carries nothing: they would not know of it."""
    if data.ignorable:
        return
    values = vars(data)
    for alias, name in _carriers(type(data)):
        value = values[name]
        if value is not None:
            carried[alias] = value
    client = values.get("client")
    if client is not None:
        carry_client(client, carried)


def fill(kind: type[RecordData], data: dict[str, Any], carried: Mapping[str, str] | None) -> None:
    """Puts into the JSON value of a record what its line lacks because the records before it say it, or it does so
    itself: nothing much where the records before are not known."""
    fill_repeats(kind, data, carried)
    for member in _members(kind):
        if member.is_carried and member.alias not in data:
            if carried is not None and member.alias in carried:
                data[member.alias] = carried[member.alias]
            elif carried is None and member.default is _REQUIRED:
                data[member.alias] = ""


@dataclass(frozen=True, slots=True)
class _Member:
    """A field. `default` is what it is where it is absent; `is_short`: it may be a bare tag; `json`: whether it is
    declared as a JSON value, or as an object of them, which itself stays."""

    alias: str
    name: str
    default: Any
    is_carried: bool
    is_short: bool
    json: Literal["value", "object"] | None


_REQUIRED = object()
"""The default of what must be there: nothing else is equal to it."""


def _deflated(value: Any, deflater: Deflater, pointer: str, is_short: bool = False) -> Json:
    match value:
        case BaseModel():
            told = {
                each.alias: _deflated_member(one, each, deflater, below(pointer, each.alias))
                for each, one in _members_of(value)
            }
            return _shortened(told) if is_short else told
        case tuple():
            return [_deflated(each, deflater, below(pointer, index)) for index, each in enumerate(value)]
        case _:
            return deflater.strings(value, pointer)


def _deflated_member(value: Any, member: _Member, deflater: Deflater, pointer: str) -> Json:
    match member.json:
        case "value":
            return deflater.whole(value, pointer)
        case "object" if isinstance(value, dict):
            return {key: deflater.whole(inner, below(pointer, key)) for key, inner in value.items()}
        case _:
            return _deflated(value, deflater, pointer, member.is_short)


def _members_of(value: BaseModel) -> Iterator[tuple[_Member, Any]]:
    """Those of something inside a record. There only null says nothing: a tag has a default, too."""
    values = vars(value)
    for member in _members(type(value)):
        one = values[member.name]
        if one is not member.default:
            yield member, one


def _shortened(told: dict[str, Json]) -> Json:
    """A disposition of which nothing else is said is its tag."""
    return told["tag"] if told.keys() == {"tag"} else told


@cache
def _is_model(kind: type) -> bool:
    """To ask pydantic of a value takes longer than to spell most."""
    return issubclass(kind, BaseModel)


@cache
def _members(model: type[BaseModel]) -> tuple[_Member, ...]:
    """Every field, by alias."""
    is_record = issubclass(model, RecordData)
    carried = model.carried if issubclass(model, RecordData) else frozenset()
    members = [
        _Member(
            alias=_alias(field, name),
            name=name,
            default=_default(field, is_record=is_record),
            is_carried=name in carried,
            is_short=any(isinstance(one, PlainSerializer) for one in _annotations(field)),
            json=_json_kind(field.annotation),
        )
        for name, field in model.model_fields.items()
    ]
    return tuple(sorted(members, key=attrgetter("alias")))


def _alias(field: FieldInfo, name: str) -> str:
    return field.serialization_alias or name


def _default(field: FieldInfo, *, is_record: bool) -> Any:
    """Lists and objects of a record are there, empty or not, for whoever reads it with other tools."""
    if field.is_required() or isinstance(field.default, tuple | dict):
        return _REQUIRED
    return field.default if is_record else None


def _annotations(field: FieldInfo) -> Iterator[Any]:
    yield from field.metadata
    yield from _within(field.annotation)


def _within(annotation: Any) -> Iterator[Any]:
    yield from getattr(annotation, "__metadata__", ())
    for argument in get_args(annotation):
        yield from _within(argument)


def _json_kind(annotation: Any) -> Literal["value", "object"] | None:
    if annotation is Any:
        return "value"
    return "object" if dict[str, Any] in (annotation, *get_args(annotation)) else None


@cache
def _carriers(kind: type[RecordData]) -> tuple[tuple[str, str], ...]:
    """Its members, by alias and name, that another record may lack."""
    names = frozenset[str]().union(*(each.carried for each in RECORD_TYPES.values()))
    return tuple((_alias(field, name), name) for name, field in kind.model_fields.items() if name in names)
