"""What is judged without the checker is judged as the checker does."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from abey.runtime.tools import arguments
from abey.runtime.tools.arguments import argument_faults, check_arguments, schema_fault
from abey.runtime.tools.plain_schemas import DEEPEST, WHOLE, fits, is_plain

NAMES = st.sampled_from(["a", "b", "é", "", "$ref", "\ud800", "?"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    NAMES,
    st.sampled_from([0, 1, 1.0, 1.5, -0.0, WHOLE - 1, WHOLE, 10**400, -(10**30)]),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object", "text", ["string"], None])
LISTS = st.lists(NAMES, max_size=3) | SCALARS | st.lists(SCALARS, max_size=2)


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    members = {
        "type": TYPES,
        "properties": st.dictionaries(NAMES, inner, max_size=3) | SCALARS,
        "required": LISTS,
        "additionalProperties": st.booleans() | inner,
        "items": inner,
        "enum": LISTS,
        "title": SCALARS,
        "description": SCALARS,
        "default": VALUES,
        "minimum": SCALARS,
        "$ref": NAMES,
    }
    return st.fixed_dictionaries({}, optional=members)


SCHEMAS = st.recursive(st.fixed_dictionaries({"type": TYPES}) | st.booleans(), schemas, max_leaves=5)
PLAIN_TYPES = ["string", "integer", "number", "boolean", "null", "array", "object"]
PLAIN = st.recursive(
    st.fixed_dictionaries({"type": st.sampled_from(PLAIN_TYPES)}),
    lambda inner: st.fixed_dictionaries(
        {"type": st.sampled_from(PLAIN_TYPES)},
        optional={
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "required": st.lists(NAMES, max_size=2),
            "additionalProperties": st.booleans(),
            "items": inner,
            "enum": st.lists(NAMES, max_size=3),
            "default": SCALARS,
        },
    ),
    max_leaves=5,
)
OF_A_TOOL = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "description": "what is run — as it is"},
        "seconds": {"type": "integer", "default": 3},
        "mode": {"type": "string", "enum": ["a", "b"]},
        "paths": {"type": "array", "items": {"type": "string"}},
        "where": {"type": "object", "properties": {"x": {"type": "number"}}, "additionalProperties": False},
    },
    "required": ["command"],
}


def whole(schema: Any, value: Any) -> str | None:
    """What the checker of all of JSON schema says."""
    faults = argument_faults(schema, value)
    return faults[0].message if faults else None


@settings(max_examples=300)
@given(SCHEMAS | PLAIN, VALUES)
@example({"type": "object", "required": ["a", "a"]}, {"a": 1})
@example({"type": "object", "properties": {"?": {"type": "string"}}}, {"\ud800": 1})
@example({"type": "array"}, [10**400])
@example({"type": "number", "default": float("nan")}, 1)
@example({"type": "number"}, float("inf"))
def test_what_is_plain_is_a_schema_and_what_fits_it_fits_it(schema: Any, value: Any) -> None:
    assert not is_plain(schema) or arguments._checked(schema)[0] is None
    assert not fits(schema, value) or whole(schema, value) is None


@pytest.mark.parametrize(
    "value",
    [
        {"command": "true"},
        {"command": "é😀", "seconds": 7, "mode": "b", "paths": [], "where": {}},
        {"command": "", "paths": ["a", "b"], "where": {"x": 1.5}, "more": [None][0]},
        {"command": "", "where": {"x": 1}, "more": True},
    ],
)
def test_arguments_of_a_tool_fit(value: Any) -> None:
    assert (fits(OF_A_TOOL, value), check_arguments(OF_A_TOOL, value), whole(OF_A_TOOL, value)) == (True, None, None)


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        "true",
        {"command": 7},
        {"command": "", "seconds": True},
        {"command": "", "seconds": 1.5},
        {"command": "", "mode": "c"},
        {"command": "", "paths": [7]},
        {"command": "", "where": {"y": 1}},
        {"command": "", "where": {"x": False}},
    ],
)
def test_what_does_not_fit_is_told_by_the_checker(value: Any) -> None:
    told = check_arguments(OF_A_TOOL, value)
    assert (fits(OF_A_TOOL, value), told is None, whole(OF_A_TOOL, value) is None) == (False, False, False)


@pytest.mark.parametrize("value", [{"command": "", "seconds": 1.0}, {"command": "", "more": {"deep": [1]}}])
def test_what_is_not_judged_here_may_fit_all_the_same(value: Any) -> None:
    assert (fits(OF_A_TOOL, value), check_arguments(OF_A_TOOL, value)) == (False, None)


@pytest.mark.parametrize(
    ("schema", "plain"),
    [
        (OF_A_TOOL, True),
        ({}, False),
        (True, False),
        ({"type": "object", "$schema": "x"}, False),
        ({"type": ["string", "null"]}, False),
        ({"type": "string", "pattern": "x"}, False),
        ({"type": "object", "additionalProperties": {"type": "string"}}, False),
        ({"type": "string", "enum": []}, False),
        ({"type": "object", "required": ["a", "a"]}, False),
    ],
)
def test_what_is_plain(schema: Any, plain: bool) -> None:
    assert is_plain(schema) == plain


@pytest.mark.parametrize(("depth", "plain"), [(DEEPEST, True), (DEEPEST + 1, False), (5000, False)])
def test_schemas_within_schemas_are_plain_to_a_depth(depth: int, plain: bool) -> None:
    schema: Any = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    assert is_plain(schema) == plain


def test_a_schema_that_is_broken_is_said_to_be() -> None:
    assert schema_fault({"type": "text"}) is not None
