"""Where in JSON that is still being written a cursor stands: in which object or list, and for a key or for a value."""

import json
import re
from dataclasses import dataclass, field
from typing import Literal

_TOKEN = re.compile(
    r'(?P<blank>[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?(?:\*/|\Z))|(?P<string>"(?:[^"\\\r\n]|\\.)*"?)|(?P<sign>[{}\[\]:,])'
    r'|(?P<word>[^\s,:\[\]{}"]+)',
    re.DOTALL,
)

Role = Literal["key", "value"]


@dataclass(frozen=True, slots=True)
class Place:
    """`path` leads to the value at the cursor, or to the object whose key it is; what stands between `start` and `end`
    is what the cursor is in, to be replaced; `keys` are those that the object has before it."""

    role: Role
    path: tuple[str | int, ...]
    start: int
    end: int
    keys: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Frame:
    is_object: bool
    role: Role
    key: str | None = None
    index: int = 0
    keys: set[str] = field(default_factory=set)

    @property
    def step(self) -> str | int:
        return (self.key or "") if self.is_object else self.index


def place(text: str, offset: int) -> Place | None:
    """None where neither a key nor a value can stand: in a comment, after a key, after a value."""
    frames: list[_Frame] = []
    free = True
    for token in _TOKEN.finditer(text):
        start, end = token.span()
        inside = token.lastgroup in ("string", "word") and start < offset <= end
        if inside or start >= offset:
            return _place(frames, start if inside else offset, end if inside else offset) if free else None
        if token.lastgroup == "blank":
            if start < offset < end and token[0][0] == "/":
                return None
            continue
        free = _take(frames, token[0], free)
    return _place(frames, offset, offset) if free else None


def _place(frames: list[_Frame], start: int, end: int) -> Place:
    if not frames:
        return Place("value", (), start, end)
    inner, path = frames[-1], tuple(frame.step for frame in frames)
    if inner.role == "key":
        return Place("key", path[:-1], start, end, frozenset(inner.keys))
    return Place("value", path, start, end)


def _take(frames: list[_Frame], token: str, free: bool) -> bool:
    """One token further; whether a key or a value can follow it."""
    inner = frames[-1] if frames else None
    match token[0]:
        case "{":
            frames.append(_Frame(is_object=True, role="key"))
            return True
        case "[":
            frames.append(_Frame(is_object=False, role="value"))
            return True
        case "}" | "]":
            if frames:
                frames.pop()
            return False
        case ",":
            if inner is not None:
                inner.index += 1
                inner.role = "key" if inner.is_object else "value"
            return inner is not None
        case ":":
            if inner is not None and inner.is_object:
                inner.role = "value"
            return inner is not None
    if inner is not None and inner.role == "key" and free:
        inner.key = _string(token)
        inner.keys.add(inner.key)
    return False


def _string(token: str) -> str:
    try:
        value = json.loads(token)
    except ValueError:
        return token.strip('"')
    return value if isinstance(value, str) else token
