"""What the cursor is on: the key or the value that is there, or that could be."""

from dataclasses import dataclass
from typing import Literal

from abey.language.agent_files.tree import Entry, Node, Path, Tree


@dataclass(frozen=True, slots=True)
class Place:
    """`path` leads to the value here, or to the object whose key is here. What is inserted replaces `start` to `end`.

    `token` is what stands there. `lead` and `trail` say that a comma is missing before, or after; `bare` that a key
    here has no colon yet.
    """

    role: Literal["key", "value"]
    path: Path
    start: int
    end: int
    token: Node | None = None
    lead: bool = False
    trail: bool = False
    bare: bool = True


def place(found: Tree, offset: int) -> Place | None:
    """Where `offset` is, None where nothing can be written: in a comment, after a whole value, before a colon."""
    if found.in_comment(offset):
        return None
    if found.root is None:
        return Place("value", (), offset, offset)
    if not _contains(found.root, offset):
        return _on(found.root, (), offset)
    return _inside(found.root, (), offset)


def _inside(node: Node, path: Path, offset: int) -> Place | None:
    """Where it is in an object or a list, in which it is."""
    if node.kind not in ("object", "array"):
        return _on(node, path, offset)
    for at, entry in enumerate(node.entries):
        if entry.key is not None and _touches(entry.key, offset):
            trail = entry.comma is None and at + 1 < len(node.entries)
            bare = entry.colon is None
            return Place("key", path, entry.key.start, entry.key.end, entry.key, trail=trail and bare, bare=bare)
        if entry.value is not None and (_contains(entry.value, offset) or _touches(entry.value, offset)):
            return _inside(entry.value, (*path, _name(entry, at)), offset)
    return _between(node, path, offset)


def _between(node: Node, path: Path, offset: int) -> Place | None:
    """Where it is between the entries of a node."""
    before = sum(entry.start < offset for entry in node.entries)
    last = node.entries[before - 1] if before else None
    more = before < len(node.entries)
    if last is not None and _lacks_value(last, offset):
        trail = last.comma is None and more
        return Place("value", (*path, _name(last, before - 1)), offset, offset, trail=trail)
    if last is not None and _is_within(last, offset):
        value = last.value
        whole = value is not None and value.start == offset and value.kind not in ("object", "array")
        return Place("value", (*path, _name(last, before - 1)), offset, value.end, value) if value and whole else None
    lead = last is not None and (last.comma is None or offset <= last.comma)
    trail = more and not (lead and last is not None and last.comma is not None)
    if node.kind == "object":
        return Place("key", path, offset, offset, lead=lead, trail=trail)
    return Place("value", (*path, before), offset, offset, lead=lead, trail=trail)


def _on(node: Node, path: Path, offset: int) -> Place | None:
    return Place("value", path, node.start, node.end, node) if _touches(node, offset) else None


def _lacks_value(entry: Entry, offset: int) -> bool:
    colon = entry.colon is not None and offset > entry.colon and entry.value is None
    return colon and (entry.comma is None or offset <= entry.comma)


def _is_within(entry: Entry, offset: int) -> bool:
    """Whether it is between the key and the end of a member, where no other can begin."""
    if entry.key is not None and entry.colon is None:
        return entry.comma is None or offset <= entry.comma
    return offset < entry.end


def _contains(node: Node, offset: int) -> bool:
    """Whether it is between the brackets of an object or a list."""
    return node.kind in ("object", "array") and node.start < offset and (node.open or offset < node.end)


def _touches(node: Node, offset: int) -> bool:
    """Whether what is typed there would become part of a string or a word."""
    if node.kind == "word":
        return node.start <= offset <= node.end
    return node.kind == "string" and (node.start < offset < node.end or (node.open and offset == node.end))


def _name(entry: Entry, at: int) -> str | int:
    return at if entry.name is None else entry.name
