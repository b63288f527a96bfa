"""How deep the JSON of a record is nested."""

import re

NESTING_LIMIT = 256
"""Levels of arrays and objects in a record: fewer than any reader's stack can hold."""

_BRACKET_OR_STRING = re.compile(rb'[\[{\]}]|"[^"\\]*(?:\\.[^"\\]*)*"')


def nesting(payload: bytes) -> int:
    """How many levels of arrays and objects the JSON has, or fewer than NESTING_LIMIT where that is plain to see."""
    if len(payload) <= 2 * NESTING_LIMIT or payload.count(b"[") + payload.count(b"{") <= NESTING_LIMIT:
        return 0  # each level is a bracket at its beginning and one at its end
    deepest = level = 0
    for found in _BRACKET_OR_STRING.finditer(payload):
        match found[0]:
            case b"[" | b"{":
                level += 1
                deepest = max(deepest, level)
            case b"]" | b"}":
                level -= 1
    return deepest
