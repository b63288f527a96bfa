"""What a write makes of a file: bytes from bytes, before anything is touched."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from abey.runtime.tools.workspace.files import LARGEST
from abey.runtime.tools.workspace.paths import Refused, shown
from abey.runtime.tools.workspace.text import Text, text_of

_LINES_NAMED = 5
_PLACES = 1000
_COMPARED = 64 << 20
"""Characters in all, while overlapping places are looked for."""


def planned(tool: str, arguments: Mapping[str, Any], before: bytes | None) -> bytes:
    """All that the file is to hold; `before` is what it holds now, None where there is none. Raises Refused."""
    path = str(arguments["path"])
    writes = tool == "write_file"
    after = _encoded(str(arguments["content"]), "content") if writes else _edited(path, arguments, before)
    if after == before:
        raise Refused(f"{shown(path)} is like that already: nothing would change")
    _refuse_longer(path, len(after))
    return after


def _refuse_longer(path: str, size: int) -> None:
    """Raises Refused for a file of at least `size` bytes."""
    if size > LARGEST:
        raise Refused(f"{shown(path)} would have {size} bytes; at most {LARGEST} can be written")


def _edited(path: str, arguments: Mapping[str, Any], before: bytes | None) -> bytes:
    if before is None:
        raise Refused(f"{shown(path)}: there is no such file; write_file makes one")
    text = text_of(before)
    if text is None:
        raise Refused(f"{shown(path)} is a binary file, and only texts can be edited")
    old, new = str(arguments["old_text"]), str(arguments["new_text"])
    for name, value in (("old_text", old), ("new_text", new)):
        _encoded(value, name)
    if text.is_crlf:
        old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    plain = text.plain
    found = list(islice(_places(plain, old), _most_places(old)))
    if not found:
        raise Refused(_not_there(path, text, old))
    if len(found) > 1 and not arguments.get("all"):
        raise Refused(_too_often(path, plain, old, found))
    # before it is made: a short text in many places can become more than the machine has room for
    _refuse_longer(path, len(plain) + plain.count(old) * (len(new) - len(old)))
    return text.with_plain(plain.replace(old, new))


def _encoded(text: str, name: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused(f"{name} has half of a surrogate pair, which is no character") from None


def _most_places(piece: str) -> int:
    """As many as are found soon: at least the second, which is one too many."""
    return max(2, min(_PLACES, _COMPARED // len(piece)))


def _places(text: str, piece: str) -> Iterator[int]:
    """Also where two of them overlap: then it is not clear which one is meant."""
    at = text.find(piece)
    while at >= 0:
        yield at
        at = text.find(piece, at + 1)


def _not_there(path: str, text: Text, old: str) -> str:
    message = f"old_text is not in {shown(path)}"
    wanted = [line.strip() for line in old.strip().split("\n")]
    lines = [line.strip() for line in text.plain.split("\n")]
    starts = (at for at, line in enumerate(lines) if line == wanted[0])
    near = next((at for at in islice(starts, 100) if lines[at : at + len(wanted)] == wanted), None)
    if near is not None and wanted != [""]:
        return f"{message}: what begins in line {near + 1} differs from it in white space; copy it exactly"
    return f"{message}; read the file again and copy what is there exactly"


def _too_often(path: str, text: str, piece: str, found: list[int]) -> str:
    lines = ", ".join(str(text.count("\n", 0, at) + 1) for at in found[:_LINES_NAMED])
    more = ", …" if len(found) > _LINES_NAMED else ""
    times = f"{len(found)} times" if len(found) < _most_places(piece) else "very often"
    return (
        f"old_text is in {shown(path)} {times} (lines {lines}{more}); give more of its surroundings, so that only one "
        "fits, or all: true"
    )
