"""How a file is laid out, and JSON written in the same way: its line ends, its indentation, one line or many."""

import json
from collections.abc import Sequence
from typing import Any

from abey.language.agent_files.tree import Node, Tree
from abey.shared.escaping import escape_line

Edit = tuple[int, int, str]
"""What stands between two offsets becomes this text."""


def written(value: Any) -> str:
    """JSON in which everything can be seen."""
    text = json.dumps(value, ensure_ascii=False)
    return text if escape_line(text) == text else json.dumps(value)


def line_end(found: Tree) -> str:
    return "\r\n" if "\r\n" in found.source else "\n"


def indent(source: str, offset: int) -> str:
    """The blanks at the beginning of the line of `offset`."""
    start = max(source.rfind("\n", 0, offset), source.rfind("\r", 0, offset)) + 1
    line = source[start:offset]
    return line[: len(line) - len(line.lstrip(" \t"))]


def unit(found: Tree) -> str:
    """What one level adds."""
    root = found.root
    first = root.entries[0].start if root and root.entries else 0
    deep = indent(found.source, first)
    return deep if deep and root and _breaks(found.source, root.start, first) else "  "


def spread(found: Tree, node: Node) -> bool:
    """Whether the entries of a node have lines of their own."""
    first = node.entries[0].start if node.entries else node.end
    return _breaks(found.source, node.start, first)


def prepended(found: Tree, node: Node, text: str) -> list[Edit]:
    """`text` as the first entry of an object or a list."""
    comma = "," if node.entries else ""
    if spread(found, node) and node.entries:
        gap = line_end(found) + indent(found.source, node.entries[0].start)
        return [(node.start + 1, node.start + 1, f"{gap}{text}{comma}")]
    inside = found.source[node.start + 1 : node.end - (not node.open)]
    if not inside.strip() and found.root is not None and spread(found, found.root):
        outer = indent(found.source, node.start)
        gap, back = f"{line_end(found)}{outer}{unit(found)}", f"{line_end(found)}{outer}"
        return [(node.start + 1, node.end - (not node.open), f"{gap}{text}{back}")]
    return [(node.start + 1, node.start + 1, f"{text}{comma}{' ' if node.entries else ''}")]


def removed(found: Tree, node: Node, at: int) -> list[Edit]:
    """Without the entry `at` of an object or a list, and without the comma that only it needed."""
    entry = node.entries[at]
    end = entry.end if entry.comma is None else entry.comma + 1
    if at + 1 < len(node.entries):
        return [(entry.start, _after_blanks(found.source, end), "")]
    before = node.entries[at - 1] if at else None
    first: list[Edit] = [(before.comma, before.comma + 1, "")] if before and before.comma is not None else []
    least = first[0][1] if first else node.start + 1
    start = _before_blanks(found.source, entry.start, least)
    ends_line = found.in_comment(start) and found.source[end : end + 1] not in ("", "\r", "\n")
    return [*first, (start, end, line_end(found) if ends_line else "")]


def nested(found: Tree, outer: str, names: Sequence[str], inner: str) -> str:
    """`{"a": {"b": [inner]}}` without the outermost brackets, in the layout of the file, at the indentation `outer`."""
    if found.root is None or not spread(found, found.root):
        return f"{written(names[0])}: {{{written(names[1])}: [{inner}]}}"
    step, end = unit(found), line_end(found)
    return (
        f"{written(names[0])}: {{{end}{outer}{step}{written(names[1])}: [{end}{outer}{step}{step}{inner}"
        f"{end}{outer}{step}]{end}{outer}}}"
    )


def _breaks(source: str, start: int, end: int) -> bool:
    return "\n" in source[start:end] or "\r" in source[start:end]


def _after_blanks(source: str, at: int) -> int:
    while at < len(source) and source[at] in " \t\r\n":
        at += 1
    return at


def _before_blanks(source: str, at: int, least: int) -> int:
    while at > least and source[at - 1] in " \t\r\n":
        at -= 1
    return at
