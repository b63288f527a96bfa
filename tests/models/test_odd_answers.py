"""Values of any shape in the place of any other: an answer or a failure, never another exception."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.exchanges import Exchange, outcome_or_failure, own

VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.sampled_from(["", "x", "\ud83d", "tool_use"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "text", "id"]), inner),
    max_leaves=4,
)


def lines_of(exchange: Exchange) -> list[str]:
    return exchange.body.decode().split("\n")


def places_in(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) inside."""
    found: list[tuple[Any, Any]] = []
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            found += [(value, key), *places_in(inner)]
    return found


@pytest.mark.parametrize("protocol", ["chat", "messages", "responses"])
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_value_that_is_none_of_those_expected_is_no_surprise(protocol: str, data: Any) -> None:
    good = [one for one in own() if one.protocol == protocol and one.status == 200]
    exchange = data.draw(st.sampled_from(good))
    lines = lines_of(exchange)
    number = data.draw(st.integers(0, len(lines) - 1))
    head, text = ("data: ", lines[number][6:]) if lines[number].startswith("data: {") else ("", lines[number])
    try:
        value = json.loads(text)
    except ValueError:
        return
    places = places_in(value)
    if places:
        container, key = data.draw(st.sampled_from(places))
        container[key] = data.draw(VALUES)
    lines[number] = head + json.dumps(value)
    outcome_or_failure(exchange, "\n".join(lines).encode("utf-8", "surrogatepass"))
