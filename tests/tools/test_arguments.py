"""Arguments against a tool's schema: the first thing wrong, in a line."""

from typing import Any

import pytest

from abey.runtime.tools.arguments import broken_schema, check_arguments

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "lines": {"type": "array", "items": {"type": "integer"}}},
    "required": ["path"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ({"path": "x", "lines": [1, 2]}, None),
        ({}, "at /: 'path' is a required property"),
        ({"path": 5}, "at /path: 5 is not of type 'string'"),
        ({"path": "x", "lines": [1, "two"]}, "at /lines/1: 'two' is not of type 'integer'"),
        ({"path": "x", "a\n": 1}, "at /: Additional properties are not allowed ('a\\n' was unexpected)"),
        ([], "at /: [] is not of type 'object'"),
        (None, "at /: None is not of type 'object'"),
    ],
)
def test_the_first_thing_wrong_is_said_in_a_line(value: Any, wrong: str | None) -> None:
    assert check_arguments(SCHEMA, value) == wrong


def test_a_long_message_is_cut() -> None:
    assert len(check_arguments(SCHEMA, {"path": ["x" * 5000]}) or "") < 400


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            {"type": "objct"},
            "the tool's schema is broken at /type: 'objct' is not valid under any of the given schemas",
        ),
        ({"properties": []}, "the tool's schema is broken at /properties: [] is not of type 'object'"),
        ({"pattern": "("}, "the tool's schema is broken at /pattern: '(' is not a 'regex'"),
        ({"$schema": 5}, "the tool's schema is broken: 'int' object has no attribute 'decode'"),
    ],
)
def test_a_broken_schema_is_reported(schema: dict[str, Any], message: str) -> None:
    assert (broken_schema(schema), check_arguments(schema, {})) == (message, message)


@pytest.mark.parametrize("reference", ["#/nowhere", "http://localhost:9/schema", "#"])
def test_a_reference_that_leads_nowhere_is_reported_and_nothing_is_fetched(reference: str) -> None:
    found = check_arguments({"$ref": reference}, {})
    assert found is not None and found.startswith("the tool's schema is broken: ")


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, SCHEMA])
def test_a_good_schema_is_not_broken(schema: dict[str, Any]) -> None:
    assert broken_schema(schema) is None
