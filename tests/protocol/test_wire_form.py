"""How values are written out: what pydantic's serializer was told, against the rules spelled out in Python."""

import json
import sys
from types import FrameType
from typing import Any, ClassVar, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, model_validator

from abey.protocol.ascii_json import ascii_json, ascii_size
from abey.protocol.base import Json, LenientWire, Wire
from abey.protocol.outcomes import Answer
from abey.protocol.policy import Decorate, Label, RunSync
from abey.protocol.session import Session, TurnInfo, Usage
from abey.protocol.transcript import ItemCall, TextPart


class Inner(LenientWire):
    some_name: str = "x"
    left_out: int | None = None


class Checked(Wire):
    """Its schema stands in validators of both kinds."""

    first_one: int | None = None
    inner: Inner | None = None

    @model_validator(mode="before")
    @classmethod
    def _before(cls, value: Any) -> Any:
        return value

    @model_validator(mode="after")
    def _after(self) -> Self:
        return self


class Tree(Wire):
    nullable: ClassVar[frozenset[str]] = frozenset({"may_be_null", "both"})

    must_be: Json
    may_be_null: Json = None
    both: int | None = None
    many: tuple[Checked, ...] = ()
    perhaps_many: tuple[str, ...] | None = None
    by_name: dict[str, Inner] = Field(default_factory=dict)
    below: "Tree | None" = None


JSON = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text() | st.lists(st.text(), max_size=2)


def some(model: type[Wire], **members: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Values of which some members are set, some of these to None."""
    return st.fixed_dictionaries({}, optional=members).map(lambda given: model(**given))


INNER = some(Inner, some_name=st.text(), left_out=st.none() | st.integers())
CHECKED = some(Checked, first_one=st.none() | st.integers(), inner=st.none() | INNER)
LEAF = {
    "may_be_null": JSON,
    "both": st.none() | st.integers(),
    "many": st.lists(CHECKED, max_size=2).map(tuple),
    "perhaps_many": st.none() | st.lists(st.text(), max_size=2).map(tuple),
    "by_name": st.dictionaries(st.text(), INNER, max_size=2),
}


def trees(below: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    optional = {**LEAF, "below": st.none() | below}
    return st.fixed_dictionaries({"must_be": JSON}, optional=optional).map(lambda given: Tree(**given))


TREES = st.recursive(trees(st.none()), trees, max_leaves=3)


def spelled_out(value: Any) -> Any:
    """The rules: an optional member that is None is absent, unless null is a value of it and it was set."""
    match value:
        case Wire():
            fields = type(value).model_fields
            absent = {
                name
                for name, field in fields.items()
                if not field.is_required()
                and getattr(value, name) is None
                and not (name in value.nullable and name in value.model_fields_set)
            }
            return {
                str(field.serialization_alias): spelled_out(getattr(value, name))
                for name, field in fields.items()
                if name not in absent
            }
        case tuple():
            return [spelled_out(each) for each in value]
        case dict():
            return {key: spelled_out(each) for key, each in value.items()}
        case _:
            return value


@given(TREES)
def test_a_value_is_written_out_as_the_rules_say(value: Tree) -> None:
    told = spelled_out(value)
    assert value.wire() == told
    assert list(value.wire()) == list(told)
    assert ascii_json(value) == ascii_json(told)
    assert ascii_json({"params": value}) == ascii_json({"params": told})
    assert ascii_size(value) == len(ascii_json(told))


SESSION = Session(
    session_id="s1",
    agent="demo",
    title="t",
    cwd="/",
    state="completed",
    activity="idle",
    revision=3,
    turn=TurnInfo(turn_id="t1", n=1, started_at="2026"),
    output="done",
    driven_by="run",
    execution_mode="asynchronous",
    usage=Usage(input_tokens=1),
    created_at="2026",
    updated_at="2026",
    config_hash="h",
    config_state="ok",
)


@pytest.mark.parametrize(
    "value",
    [
        SESSION,
        Answer(value=None),
        ItemCall(call_id="c", tool="t", arguments={"a": [1.5e300, 10**30]}, state="s", output=None),
        ItemCall(call_id="c", tool="t", arguments=None, state="s", disposition=RunSync()),
        Decorate(decorators=(Label(label="l"),), inner=RunSync()),
        TextPart(text="half a character: \ud83d, DEL: \x7f, é, \u2028"),
        TextPart(text="NaN, Infinity"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_json_of_a_value_is_that_of_its_object(value: Wire) -> None:
    assert ascii_json(value) == json.dumps(value.wire(), separators=(",", ":")).encode()


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_json_cannot_say_is_refused_in_a_value_too(number: float) -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        ascii_json(ItemCall(call_id="c", tool="t", arguments=[number], state="s"))
    assert Usage(cost=number).wire()["cost"] is number
    with pytest.raises(ValueError, match="Out of range float"):
        ascii_json(Usage(cost=number))


def test_a_session_is_written_out_without_calling_python_for_each_of_its_members() -> None:
    called: list[str] = []

    def count(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call":
            called.append(frame.f_code.co_name)

    ascii_json(SESSION)
    sys.setprofile(count)
    try:
        ascii_json(SESSION)
    finally:
        sys.setprofile(None)
    absent = sum(not field.is_required() for field in Session.model_fields.values())
    assert len(called) <= absent + 20, called
