"""How deep the JSON of a record is nested."""

import re

NESTING_LIMIT = 256
"""Levels of arrays and objects in a record: fewer than any reader's stack can hold."""

_BRACKET_OR_STRING = re.compile(rb'[\[{\]}]|"[^"\\]*(?:\\.[^"\\]*)*"')


def nesting(payload: bytes) -> int:
    """How many levels of arrays and objects the JSON has, or fewer than NESTING_LIMIT where that is plain to see."""
    if payload.count(b"[") + payload.count(b"{") <= NESTING_LIMIT:
        return 0
    deepest = level = 0
    for found in _BRACKET_OR_STRING.finditer(payload):
        match found[0]:
            case b"[" | b"{":
                level += 1
                deepest = max(deepest, level)
            case b"]" | b"}":
                level -= 1
    return deepest
