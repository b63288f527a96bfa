"""Reads JSON as it stands while somebody writes it: every text has a tree, whatever is missing in it."""

import json
import re

from abey.language.agent_files.tree import Entry, Node, Tree
from abey.runtime.agents.jsonc import MAX_DEPTH

_BLANK = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?(?:\*/|\Z))*", re.DOTALL)
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\r\n]|\\[^\r\n])*\\?("?)')
_WORD = re.compile(r"[^\s,:\[\]{}\"/]+|/")
_TOKEN = re.compile(rf"{_STRING.pattern}|{_COMMENT.pattern}", re.DOTALL)


def tree(source: str) -> Tree:
    """Reads in linear time, and raises nothing; what is nested deeper than MAX_DEPTH is passed over."""
    reader = _Reader(source)
    root = reader.root()
    return Tree(source, root, tuple(reader.comments))


class _Reader:
    """One pass over one text; `at` is the offset of the next character."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.comments: list[tuple[int, int]] = []
        self.closers: list[str] = []

    def root(self) -> Node | None:
        self._blank()
        while self.at < len(self.source):
            found = self._value(0)
            if found is not None:
                self._rest()
                return found
            self.at += 1
            self._blank()
        return None

    def _rest(self) -> None:
        """Of what follows the value only the comments count."""
        for found in _TOKEN.finditer(self.source, self.at):
            if found.group().startswith("/"):
                self._comment(found)

    def _comment(self, found: re.Match[str]) -> None:
        closed = found.group().startswith("/*") and found.group().endswith("*/") and len(found.group()) > 3
        self.comments.append((found.start(), found.end() - closed))

    def _value(self, depth: int) -> Node | None:
        """The value that begins here, None where none does."""
        match self._peek():
            case "{" | "[" as opening if depth < MAX_DEPTH:
                return self._container(opening, depth)
            case '"':
                return self._string()
            case "" | "}" | "]" | "," | ":" | "{" | "[":
                return None
            case _:
                return self._word()

    def _container(self, opening: str, depth: int) -> Node:
        node = Node("object" if opening == "{" else "array", self.at, self.at + 1)
        close = "}" if opening == "{" else "]"
        self.closers.append(close)
        self._step()
        while self.at < len(self.source) and self._peek() != close and not self._closes_outside():
            before = self.at
            self._entry(node, depth + 1)
            if self.at == before:
                self._step()
        self.closers.pop()
        node.open = self._peek() != close
        if not node.open:
            self.at += 1
        node.end = self._last(node.start + 1) if node.open else self.at
        return node

    def _last(self, least: int) -> int:
        """Where the blanks before this place begin."""
        end = self.at
        while end > least and self.source[end - 1].isspace():
            end -= 1
        return end

    def _closes_outside(self) -> bool:
        return self._peek() in ("}", "]") and self._peek() in self.closers

    def _entry(self, node: Node, depth: int) -> None:
        """A member or an element, or the comma after one."""
        if self._peek() == ",":
            if node.entries and node.entries[-1].comma is None:
                node.entries[-1].comma = self.at
            self._step()
            return
        entry = self._member(depth) if node.kind == "object" else Entry(len(node.entries), value=self._value(depth))
        if entry.key or entry.value or entry.colon is not None:
            node.entries.append(entry)
        self._blank()

    def _member(self, depth: int) -> Entry:
        entry = Entry(None)
        if self._peek() not in ("{", "[", ":"):
            entry.key = self._value(depth)
            entry.name = str(entry.key.value) if entry.key else None
            self._blank()
        if self._peek() == ":":
            entry.colon = self.at
            self._step()
        if (entry.colon is not None or entry.key is None) and not self._is_key():
            entry.value = self._value(depth)
        return entry

    def _is_key(self) -> bool:
        """Whether the string here is the key of the next member: the value before it is still missing."""
        found = _STRING.match(self.source, self.at)
        if found is None:
            return False
        blank = _BLANK.match(self.source, found.end())
        return self.source.startswith(":", blank.end() if blank else found.end())

    def _string(self) -> Node:
        found = _STRING.match(self.source, self.at)
        text = found[0] if found else '"'
        closed = bool(found and found[1])
        if not closed:
            text = text.rstrip(" \t,}]") or text[:1]  # these were there before it
        start, self.at = self.at, self.at + len(text)
        return Node("string", start, self.at, _decoded(text, closed), open=not closed)

    def _word(self) -> Node:
        found = _WORD.match(self.source, self.at)
        text = found[0] if found else self._peek()
        start, self.at = self.at, self.at + len(text)
        try:
            value = json.loads(text) if len(text) < MAX_DEPTH else text
        except ValueError:
            value = text
        return Node("word", start, self.at, value)

    def _step(self) -> None:
        self.at += 1
        self._blank()

    def _blank(self) -> None:
        blank = _BLANK.match(self.source, self.at)
        end = blank.end() if blank else self.at
        if "/" in self.source[self.at : end]:
            for found in _COMMENT.finditer(self.source, self.at, end):
                self._comment(found)
        self.at = end

    def _peek(self) -> str:
        return self.source[self.at : self.at + 1]


def _decoded(text: str, closed: bool) -> str:
    try:
        return str(json.loads(text if closed else f'{text}"'))
    except ValueError:
        return text.strip('"')
