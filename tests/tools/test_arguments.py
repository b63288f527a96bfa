"""Arguments against a tool's schema: the first thing wrong, in a line."""

import socket
from typing import Any

import pytest

from abey.runtime.tools.arguments import broken_schema, check_arguments

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "lines": {"type": "array", "items": {"type": "integer"}}},
    "required": ["path"],
    "additionalProperties": False,
}

TOO_MUCH = "the arguments: nested too deeply, or a number of too many digits, to be checked"
REFUSED = "nothing is fetched for a reference"


def deep(levels: int) -> list[Any]:
    """A list in a list in a list."""
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ({"path": "x", "lines": [1, 2]}, None),
        ({}, 'the arguments: "path" is a required property'),
        ({"path": 5}, 'at /path: 5 is not of type "string"'),
        ({"path": "x", "lines": [1, "two"]}, 'at /lines/1: "two" is not of type "integer"'),
        ({"path": "x", "a\n": 1}, "the arguments: Additional properties are not allowed ('a\\n' was unexpected)"),
        ([], 'the arguments: [] is not of type "object"'),
        (None, 'the arguments: null is not of type "object"'),
    ],
)
def test_the_first_thing_wrong_is_said_in_a_line(value: Any, wrong: str | None) -> None:
    assert check_arguments(SCHEMA, value) == wrong


def test_the_whole_has_the_name_that_it_is_given() -> None:
    assert check_arguments(SCHEMA, {}, "the answer") == 'the answer: "path" is a required property'


def test_a_long_message_is_cut() -> None:
    assert len(check_arguments(SCHEMA, {"path": ["x" * 5000]}) or "") < 400


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ({"path": "\ud800"}, None),
        ({"path": ["\ud800"]}, 'at /path: ["?"] is not of type "string"'),
        (
            {"path": "x", "\udfff": 1},
            "the arguments: Additional properties are not allowed ('?' was unexpected)",
        ),
        ({"path": "x", "lines": [10**400, -(2**64)]}, None),
        ({"path": 10**30}, f'at /path: {10**30} is not of type "string"'),
        ({"path": 10**5000}, TOO_MUCH),
        ({"path": float("nan")}, 'at /path: null is not of type "string"'),
        ({"path": deep(300)}, TOO_MUCH),
        ({"path": deep(100_000)}, TOO_MUCH),
    ],
    ids=["surrogate", "surrogate shown", "surrogate name", "big", "big shown", "too big", "nan", "deep", "too deep"],
)
def test_every_value_is_checked_or_said_not_to_be(value: Any, wrong: str | None) -> None:
    assert check_arguments(SCHEMA, value) == wrong


@pytest.mark.parametrize(
    ("schema", "value", "wrong"),
    [
        ({"pattern": "^(a+)+$"}, "a" * 100_000 + "!", 'does not match "^(a+)+$"'),
        ({"pattern": "(.*a){25}$"}, "a" * 100_000 + "!", 'does not match "(.*a){25}$"'),
        ({"patternProperties": {"^(a|a)*$": False}}, {"a" * 100_000: 1}, "False schema does not allow 1"),
        ({"uniqueItems": True}, [{"a": [n]} for n in range(20_000)] * 2, "has non-unique elements"),
    ],
    ids=["nested repeats", "repeated stars", "property names", "unique items"],
)
def test_no_value_keeps_a_check_busy(schema: dict[str, Any], value: Any, wrong: str) -> None:
    broken, found = broken_schema(schema), check_arguments(schema, value)
    assert (broken, found is not None and found.startswith(("at /", "the arguments: "))) == (None, True)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            {"type": "objct"},
            "the tool's schema is broken at /type: "
            "\"objct\" is not valid under any of the schemas listed in the 'anyOf' keyword",
        ),
        ({"properties": []}, 'the tool\'s schema is broken at /properties: [] is not of type "object"'),
        (
            {"pattern": "(?=a)b"},
            'the tool\'s schema is broken at /pattern: "(?=a)b" is not a "regex" that is matched in linear time: '
            "look-around and back references are not",
        ),
        ({"$schema": 5}, 'the tool\'s schema is broken at /$schema: 5 is not of type "string"'),
        (
            {"$schema": "http://localhost:9/own"},
            "the tool's schema is broken: Unknown meta-schema: 'http://localhost:9/own'. "
            "Custom meta-schemas must be registered in the registry before use",
        ),
        (
            {"const": "\ud800"},
            "the tool's schema is broken: Invalid string: unexpected end of hex escape at line 1 column 18",
        ),
    ],
    ids=["type", "shape", "pattern", "$schema", "unknown draft", "surrogate"],
)
def test_a_broken_schema_is_reported(schema: dict[str, Any], message: str) -> None:
    assert (broken_schema(schema), check_arguments(schema, {})) == (message, message)


def test_a_schema_that_is_nested_too_deeply_is_broken() -> None:
    schema = {"items": deep(100_000)}
    assert (broken_schema(schema) or "").startswith("the tool's schema is broken: ")


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("#/nowhere", "Pointer '/nowhere' does not exist"),
        *(
            (url, f"Resource '{url}' is not present in a registry and retrieving it failed: LookupError: {REFUSED}")
            for url in ("http://127.0.0.1:9/schema", "https://localhost/schema", "file:///etc/hostname")
        ),
    ],
)
def test_a_reference_that_leads_out_or_nowhere_is_broken(reference: str, why: str) -> None:
    schema = {"properties": {"x": {"$ref": reference}}}
    assert check_arguments(schema, {}) == f"the tool's schema is broken: {why}"


def test_nothing_is_fetched_for_a_reference() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        found = check_arguments({"$ref": f"http://127.0.0.1:{server.getsockname()[1]}/schema"}, {})
        with pytest.raises(BlockingIOError):
            server.accept()
    assert found is not None and found.endswith(REFUSED)


@pytest.mark.parametrize("reference", ["#", "#/$defs/loop"])
def test_a_reference_in_a_circle_asks_for_nothing(reference: str) -> None:
    assert check_arguments({"$ref": reference, "$defs": {"loop": {"$ref": "#/$defs/loop"}}}, {}) is None


@pytest.mark.parametrize(
    ("draft", "wrong"),
    [
        (
            {"$schema": "http://json-schema.org/draft-04/schema#"},
            "the arguments: 3 is less than or equal to the minimum of 3",
        ),
        ({}, 'the tool\'s schema is broken at /exclusiveMinimum: true is not of type "number"'),
    ],
    ids=["draft 4", "2020-12"],
)
def test_the_draft_is_the_one_that_the_schema_names(draft: dict[str, Any], wrong: str) -> None:
    assert check_arguments({**draft, "minimum": 3, "exclusiveMinimum": True}, 3) == wrong


def test_a_format_is_a_remark() -> None:
    draft_7 = {"$schema": "http://json-schema.org/draft-07/schema#", "format": "email"}
    assert [check_arguments(schema, "none") for schema in (draft_7, {"format": "email"})] == [None, None]


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, SCHEMA])
def test_a_good_schema_is_not_broken(schema: dict[str, Any]) -> None:
    assert broken_schema(schema) is None
