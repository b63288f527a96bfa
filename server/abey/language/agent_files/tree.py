"""The tree of a JSON text, which may be half written: what stands where, and what is missing."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from abey.core.pointers import steps_of

Path = tuple[str | int, ...]


@dataclass(slots=True)
class Node:
    """A value between two offsets. `open` is a string without its end, or an object or a list that nothing closes."""

    kind: Literal["object", "array", "string", "word"]
    start: int
    end: int
    value: Any = None
    entries: "list[Entry]" = field(default_factory=list)
    open: bool = False

    def get(self, name: str | int) -> "Node | None":
        """The value of a member, the last one of that name, or of an element."""
        found = self.entry(name)
        return found.value if found else None

    def entry(self, name: str | int) -> "Entry | None":
        return next((one for one in reversed(self.entries) if one.name == name), None)

    def plain(self) -> Any:
        """The value as Python has it; what is missing in it is left out."""
        match self.kind:
            case "object":
                return {one.name: one.value.plain() for one in self.entries if one.value and isinstance(one.name, str)}
            case "array":
                return [one.value.plain() for one in self.entries if one.value]
            case _:
                return self.value


@dataclass(slots=True)
class Entry:
    """A member of an object or an element of a list, with the offsets of its colon and of the comma after it."""

    name: str | int | None
    key: Node | None = None
    colon: int | None = None
    value: Node | None = None
    comma: int | None = None

    @property
    def start(self) -> int:
        first = self.key or self.value
        return first.start if first else self.colon or 0

    @property
    def end(self) -> int:
        """The one after the last character, without the comma."""
        ends = (self.key.end if self.key else 0, 0 if self.colon is None else self.colon + 1)
        return max(*ends, self.value.end if self.value else 0)


@dataclass(frozen=True, slots=True)
class Tree:
    """The tree of a text; `root` is None where there is nothing but blanks."""

    source: str
    root: Node | None
    comments: tuple[tuple[int, int], ...]
    """From the first character to the last between which a character would be part of the comment."""

    def at(self, path: Path) -> Node | None:
        found = self.root
        for step in path:
            found = found.get(step) if found else None
        return found

    def entry(self, path: Path) -> Entry | None:
        inside = self.at(path[:-1]) if path else None
        return inside.entry(path[-1]) if inside else None

    def string(self, *path: str | int) -> str | None:
        found = self.at(path)
        return found.value if found and isinstance(found.value, str) else None

    def in_comment(self, offset: int) -> bool:
        return any(start < offset <= end for start, end in self.comments)


def resolved(found: Tree, pointer: str) -> Path:
    """The path in this tree that a JSON pointer names, as far as it leads."""
    path: list[str | int] = []
    node = found.root
    for step in steps_of(pointer):
        if node is None:
            break
        part = int(step) if node.kind == "array" and step.isascii() and step.isdigit() else step
        path.append(part)
        node = node.get(part)
    return tuple(path)


def walk(node: Node, path: Path = ()) -> Iterator[tuple[Path, Node]]:
    """The node and everything in it, outer first."""
    yield path, node
    for entry in node.entries:
        if entry.value is not None and entry.name is not None:
            yield from walk(entry.value, (*path, entry.name))
