"""Unified diffs, in time and length that are bounded whatever the files hold.

Laws
- A patch that is not cut, applied to the old text, gives the new one.
- It need not be the shortest: where to find that would take long, what differs is replaced as a whole.
"""

import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from abey.runtime.tools.workspace.text import harmless, text_of

CONTEXT = 3
SHOWN = 64 * 1024
"""Characters of a patch."""

LARGEST = 1 << 20
"""Bytes of a file that is compared."""

_WORK = 100_000
"""Steps of the search for a short patch."""

_STRIDE = 1024

_NO_NEWLINE = "\n\\ No newline at end of file\n"

Block = tuple[int, int, int]
"""Equal lines: where they begin in the old text, where in the new one, how many."""


def patch(path: str, before: bytes | None, after: bytes) -> str:
    """From the file as it is, None for none, to what it will be. A binary or a large one is only described."""
    head = heading(path, is_new=before is None)
    old, new = text_of(before or b""), text_of(after)
    if old is None or new is None:
        return f"{head}[binary: {len(before or b'')} bytes become {len(after)}]\n"
    if max(len(before or b""), len(after)) > LARGEST:
        return f"{head}[too large to be compared: {len(before or b'')} bytes become {len(after)}]\n"
    return _cut(head + harmless("".join(hunks(_lines(old.raw), _lines(new.raw)))))


def heading(path: str, *, is_new: bool) -> str:
    """The two lines that name the file."""
    return f"--- {'/dev/null' if is_new else _name('a', path)}\n+++ {_name('b', path)}\n"


def hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """The hunks between lines, each of which ends as it does in its file."""
    for group in _grouped(_equal(old, new), len(old), len(new)):
        yield _range(group)
        a, b = group.a, group.b
        for block in (*group.blocks, (group.a_end, group.b_end, 0)):
            yield from (_line("-", line) for line in old[a : block[0]])
            yield from (_line("+", line) for line in new[b : block[1]])
            yield from (_line(" ", line) for line in old[block[0] : block[0] + block[2]])
            a, b = block[0] + block[2], block[1] + block[2]


@dataclass(frozen=True, slots=True)
class _Group:
    """A hunk: lines `a` to `a_end` of the old text become `b` to `b_end` of the new one, but for the equal `blocks`."""

    a: int
    a_end: int
    b: int
    b_end: int
    blocks: tuple[Block, ...]


def _lines(text: str) -> list[str]:
    """With their ends; only a newline ends one."""
    return list(io.StringIO(text, newline="\n"))


def _line(mark: str, line: str) -> str:
    return f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}{_NO_NEWLINE}"


def _name(side: str, path: str) -> str:
    """Quoted where it could be mistaken for something else."""
    plain = path.isprintable() and not set(path) & {'"', "\\"}
    return f"{side}/{path}" if plain else json.dumps(f"{side}/{path}", ensure_ascii=False)


def _range(group: _Group) -> str:
    return f"@@ -{_span(group.a, group.a_end)} +{_span(group.b, group.b_end)} @@\n"


def _span(start: int, end: int) -> str:
    count = end - start
    return f"{start + 1 if count else start}" + (f",{count}" if count != 1 else "")


def _grouped(blocks: Sequence[Block], a_count: int, b_count: int) -> Iterator[_Group]:
    """What differs, with CONTEXT equal lines around it; two of them that are near are one."""
    edges = [(0, 0, 0), *blocks, (a_count, b_count, 0)]
    group: list[Block] = []
    start: tuple[int, int] | None = None
    for (a, b, size), (a_next, b_next, _) in pairwise(edges):
        a_end, b_end = a + size, b + size
        if start is not None and size > 2 * CONTEXT:
            group.append((a, b, CONTEXT))
            yield _Group(start[0], a + CONTEXT, start[1], b + CONTEXT, tuple(group))
            start, group = None, []
        elif start is not None and size:
            group.append((a, b, size))
        if (a_end, b_end) == (a_next, b_next):
            continue
        if start is None:
            lead = min(CONTEXT, size)
            start = (a_end - lead, b_end - lead)
            group = [(*start, lead)] if lead else []
    if start is not None:
        yield _last(start, group, a_count, b_count)


def _last(start: tuple[int, int], group: Sequence[Block], a_count: int, b_count: int) -> _Group:
    """The equal lines at the very end are context, too, and as many."""
    a, b, size = group[-1] if group else (0, 0, 0)
    spare = size - CONTEXT if size and (a + size, b + size) == (a_count, b_count) else 0
    kept = [*group[:-1], (a, b, size - spare)] if spare > 0 else [*group]
    spare = max(spare, 0)
    return _Group(start[0], a_count - spare, start[1], b_count - spare, tuple(kept))


def _equal(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """Equal lines, in order: those at both ends, and between them those of a shortest edit, if it is soon found."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    middle = _shortest(old[head : len(old) - tail], new[head : len(new) - tail])
    found = [(0, 0, head), *((a + head, b + head, size) for a, b, size in middle)]
    found.append((len(old) - tail, len(new) - tail, tail))
    return _joined(block for block in found if block[2])


def _joined(blocks: Iterator[Block]) -> list[Block]:
    joined: list[Block] = []
    for a, b, size in blocks:
        last = joined[-1] if joined else (0, 0, 0)
        if joined and (last[0] + last[2], last[1] + last[2]) == (a, b):
            joined[-1] = (last[0], last[1], last[2] + size)
        else:
            joined.append((a, b, size))
    return joined


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    length, start = min(len(old), len(new)), 0
    while start < length and old[start : start + _STRIDE] == new[start : start + _STRIDE]:
        start += _STRIDE
    return next((at for at in range(start, length) if old[at] != new[at]), length)


def _shortest(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """Myers' greedy search (An O(ND) Difference Algorithm, 1986); nothing where it would take long."""
    furthest, trace, work = {1: 0}, list[dict[int, int]](), 0
    for depth in range(len(old) + len(new) + 1):
        trace.append(dict(furthest))
        for k in range(-depth, depth + 1, 2):
            down = k == -depth or (k != depth and furthest[k - 1] < furthest[k + 1])
            a = furthest[k + 1] if down else furthest[k - 1] + 1
            start, b = a, a - k
            while a < len(old) and b < len(new) and old[a] == new[b]:
                a, b = a + 1, b + 1
            furthest[k] = a
            work += 4 + a - start
            if a >= len(old) and b >= len(new):
                return _walked_back(trace, len(old), len(new))
        work += len(furthest)
        if work > _WORK:
            break
    return []


def _walked_back(trace: Sequence[dict[int, int]], a: int, b: int) -> list[Block]:
    blocks: list[Block] = []
    for depth in range(len(trace) - 1, -1, -1):
        furthest, k = trace[depth], a - b
        down = k == -depth or (k != depth and furthest[k - 1] < furthest[k + 1])
        before = k + 1 if down else k - 1
        a_from = furthest[before] if depth else 0
        b_from = a_from - before if depth else 0
        a_after, b_after = (a_from + (not down), b_from + down) if depth else (0, 0)
        size = min(a - a_after, b - b_after)
        if size > 0:
            blocks.append((a - size, b - size, size))
        a, b = a_from, b_from
    return blocks[::-1]


def _cut(text: str) -> str:
    """Whole lines, saying how many more there are."""
    if len(text) <= SHOWN:
        return text
    end = text.rfind("\n", 0, SHOWN) + 1
    return f"{text[:end] or text[:SHOWN]}[… {text.count(chr(10), end)} more lines of the diff are not shown …]\n"
