"""What is too large to be shown at once is shown without the middles of its long texts (protocol.md, Rules)."""

import json
from typing import TypeVar

from abey.protocol.ascii_json import ascii_size
from abey.protocol.base import Json, Wire

SHOWN_BYTES = 1 << 20
"""Of JSON: an event or an item is whole up to there, and has hardly more."""

_ENDS = (8192, 512, 32)
"""Characters of the head and of the tail of a text, the first of these with which it fits."""

_VALUES = ("arguments", "content", "effectiveArguments", "output")
"""Members with a JSON value of somebody else: one that is large, however it is made, is shown as text."""

W = TypeVar("W", bound=Wire)


def abridged(value: Json) -> Json:
    """A JSON value that is small enough to be shown."""
    return _abridged(value)[0]


def abridged_view(view: W) -> W:
    """The same for an object of the protocol."""
    return measured_view(view)[0]


def measured_view(view: W) -> tuple[W, int]:
    """The same, and how many bytes it has: to measure a long text takes as long as to send it."""
    size = ascii_size(view)
    if size <= SHOWN_BYTES:
        return view, size
    shorter, size = _abridged(view.wire())
    return type(view).model_validate(shorter), size


def _abridged(value: Json) -> tuple[Json, int]:
    shown, size = value, ascii_size(value)
    for ends in _ENDS:
        if size <= SHOWN_BYTES:
            break
        shown = _cut(value, ends)
        size = ascii_size(shown)
    return shown, size


def _cut(value: Json, ends: int) -> Json:
    match value:
        case str():
            return _cut_text(value, ends)
        case dict():
            return {key: _cut_member(key, inner, ends) for key, inner in value.items()}
        case list():
            return [_cut(inner, ends) for inner in value]
        case _:
            return value


def _cut_member(key: str, value: Json, ends: int) -> Json:
    if key not in _VALUES or isinstance(value, str):
        return _cut(value, ends)
    text = json.dumps(value, ensure_ascii=False)
    return _cut_text(text, ends) if len(text) > SHOWN_BYTES // 4 else value


def _cut_text(text: str, ends: int) -> str:
    left_out = len(text) - 2 * ends
    return f"{text[:ends]}[… {left_out} characters left out …]{text[-ends:]}" if left_out > 100 else text
