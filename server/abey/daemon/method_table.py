"""The table of methods in docs/protocol.md, from the table that the dispatcher has."""

from typing import Any

from abey.protocol.methods import METHODS, Method


def method_table() -> str:
    """Each method with a link to its section, whether it has an effect, and the type of its result."""
    return "\n".join(["| method | effect | result |", "|---|---|---|", *(_row(method) for method in METHODS), ""])


def _row(method: Method[Any, Any]) -> str:
    anchor = method.name.replace("/", "").lower()
    effect = "yes" if "idempotency_key" in method.params.model_fields else ""
    return f"| [`{method.name}`](#{anchor}) | {effect} | {method.result.__name__} |"
