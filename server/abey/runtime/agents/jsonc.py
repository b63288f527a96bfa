"""Reads JSON with comments, trailing commas and a BOM, and says where every key and value stands."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 100

_BLANK = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"', re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[^\s,:\[\]{}\"/]+")
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}|(.|$))', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_NAMES: dict[str, Any] = {"true": True, "false": False, "null": None}
_MAX_DIGITS = 4000


@dataclass(frozen=True, slots=True)
class Span:
    """Offsets in characters: `start` is the first of the value, `end` the one after its last."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A key that stands twice in one object; the later one counts."""

    pointer: str
    key: Span


@dataclass(frozen=True, slots=True)
class Document:
    """A value with the spans of its values and of its keys, by JSON pointer."""

    value: Any
    values: dict[str, Span]
    keys: dict[str, Span]
    duplicates: tuple[Duplicate, ...]


class BadSyntax(Exception):
    """Not JSON: what is wrong between two offsets of the text."""

    def __init__(self, start: int, end: int, message: str) -> None:
        super().__init__(message)
        self.start = start
        self.end = end
        self.message = message


def parse(text: str) -> Document:
    """The one value of `text`. Raises BadSyntax at the first character that cannot be right."""
    return _Reader(text).document()


def child(pointer: str, part: str | int) -> str:
    """The JSON pointer of a member of what `pointer` names."""
    return f"{pointer}/{str(part).replace('~', '~0').replace('/', '~1')}"


class _Reader:
    """One pass over one text; `at` is the offset of the next character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.values: dict[str, Span] = {}
        self.keys: dict[str, Span] = {}
        self.duplicates: list[Duplicate] = []

    def document(self) -> Document:
        self._blank()
        if self.at == len(self.text):
            raise BadSyntax(0, 0, "the file is empty")
        value = self._value("", 0)
        self._blank()
        if self.at < len(self.text):
            raise self._fault("nothing may follow the value")
        return Document(value, self.values, self.keys, tuple(self.duplicates))

    def _value(self, pointer: str, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise self._fault(f"nested deeper than {MAX_DEPTH} levels")
        start = self.at
        match self._peek():
            case "{":
                value: Any = self._object(pointer, depth)
            case "[":
                value = self._array(pointer, depth)
            case '"':
                value = self._string()
            case _:
                value = self._scalar()
        self.values[pointer] = Span(start, self.at)
        return value

    def _object(self, pointer: str, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}

        def member() -> None:
            if self._peek() != '"':
                raise self._fault("expected a key in double quotes")
            start = self.at
            key = self._string()
            here = child(pointer, key)
            span = Span(start, self.at)
            if key in found:
                self.duplicates.append(Duplicate(here, span))
            self.keys[here] = span
            self._blank()
            if self._peek() != ":":
                raise self._fault("expected `:` after the key")
            self._step()
            found[key] = self._value(here, depth + 1)

        self._members("}", member)
        return found

    def _array(self, pointer: str, depth: int) -> list[Any]:
        found: list[Any] = []
        self._members("]", lambda: found.append(self._value(child(pointer, len(found)), depth + 1)))
        return found

    def _members(self, close: str, member: Callable[[], None]) -> None:
        opened = self.at
        self._step()
        while self._peek() != close:
            self._open(opened, close)
            member()
            self._blank()
            self._open(opened, close)
            if self._peek() == ",":
                self._step()
            elif self._peek() != close:
                raise self._fault(f"expected `,` or `{close}`")
        self.at += 1

    def _open(self, opened: int, close: str) -> None:
        if self.at == len(self.text):
            raise BadSyntax(opened, opened + 1, f"`{self.text[opened]}` is never closed by `{close}`")

    def _string(self) -> str:
        found = _STRING.match(self.text, self.at)
        if found is None:
            raise self._bad_string()
        for escape in _ESCAPE.finditer(found[0][1:-1]):
            if escape[1] is not None:
                start = self.at + 1 + escape.start()
                raise BadSyntax(start, start + 2, f"`{escape[0][:2]}` is no JSON escape")
        value: str = json.loads(found[0])
        if _SURROGATE.search(value):
            raise BadSyntax(self.at, found.end(), "half a surrogate pair is no character")
        self.at = found.end()
        return value

    def _bad_string(self) -> BadSyntax:
        for end in range(self.at + 1, len(self.text)):
            if self.text[end] in "\r\n":
                return BadSyntax(self.at, end, "the string is not closed on its line")
            if self.text[end] < " ":
                return BadSyntax(end, end + 1, f"a string may not hold U+{ord(self.text[end]):04X} unescaped")
        return BadSyntax(self.at, len(self.text), "the string is never closed")

    def _scalar(self) -> Any:
        word = _WORD.match(self.text, self.at)
        if word is None:
            raise self._fault("expected a value")
        if word[0] not in _NAMES and not _NUMBER.fullmatch(word[0]):
            raise BadSyntax(self.at, word.end(), _unknown_word(word[0]))
        value = _NAMES[word[0]] if word[0] in _NAMES else self._number(word[0])
        self.at = word.end()
        return value

    def _number(self, digits: str) -> int | float:
        value: int | float = json.loads(digits) if len(digits) <= _MAX_DIGITS else float("inf")
        if value in (float("inf"), float("-inf")):
            raise BadSyntax(self.at, self.at + len(digits), "the number is too large")
        return value

    def _step(self) -> None:
        self.at += 1
        self._blank()

    def _blank(self) -> None:
        blank = _BLANK.match(self.text, self.at)
        self.at = blank.end() if blank else self.at
        if self.text.startswith("/*", self.at):
            raise BadSyntax(self.at, self.at + 2, "the comment is never closed")

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _fault(self, message: str) -> BadSyntax:
        return BadSyntax(self.at, min(self.at + 1, len(self.text)), message)


def _unknown_word(word: str) -> str:
    if word[0] in "'`\u2018\u201c":
        return "strings need double quotes"
    if word.lower() in _NAMES:
        return f"expected a value; did you mean `{word.lower()}`"
    if word[0] in "0123456789-+.":
        return "not a JSON number"
    return "expected a value"
