"""A file as a model reads it: lines of text that can be copied into an edit, or a picture."""

import base64
from collections.abc import Mapping
from typing import Any

from abey.protocol.base import Json
from abey.runtime.tools.workspace.paths import Refused, shown
from abey.runtime.tools.workspace.text import Text, harmless, text_of

ROOM = 256 * 1024
"""Bytes of text that one call gives."""

PICTURE = 1 << 20
"""Bytes of a picture that a model can be shown."""

_PICTURES = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


def read(path: str, data: bytes, arguments: Mapping[str, Any]) -> Json:
    """Content for the model. Raises Refused for a binary file, or lines that are not there."""
    kind = _picture(data)
    if kind is not None:
        return _media(path, data, kind)
    text = text_of(data)
    if text is None:
        raise Refused(f"{shown(path)} is a binary file of {len(data)} bytes, and not shown")
    return _lines(path, text, arguments)


def _lines(path: str, text: Text, arguments: Mapping[str, Any]) -> str:
    lines = text.plain.split("\n")
    if lines[-1] == "":
        lines.pop()
    start, last = int(arguments.get("start_line", 1)), int(arguments.get("end_line", len(lines)))
    if last < start <= len(lines) or start > max(len(lines), 1):
        raise Refused(f"{shown(path)} has {len(lines)} lines: there are none from {start} to {last}")
    if not lines:
        return f"[{shown(path)}: empty]"
    wanted = lines[start - 1 : last]
    fitting = _fitting(wanted)
    end = start + len(fitting) - 1
    notes = [f"lines {start}-{end} of {len(lines)}", *_notes(text, end == len(lines))]
    if len(fitting) < len(wanted):
        notes.append(f"read on with start_line {end + 1}")
    return f"[{shown(path)}: {'; '.join(notes)}]\n" + harmless("\n".join(fitting))


def _notes(text: Text, is_end: bool) -> list[str]:
    return [
        *(["Windows line endings, kept by edit_file"] if text.is_crlf else []),
        *([f"in {text.encoding}"] if text.encoding != "utf-8" else []),
        *(["some bytes are no UTF-8 and shown as \N{REPLACEMENT CHARACTER}"] if not text.is_clean else []),
        *(["no newline at the end"] if is_end and not text.raw.endswith("\n") else []),
    ]


def _fitting(lines: list[str]) -> list[str]:
    """The first ones there is room for; of a first one that is too long itself, its beginning."""
    room = ROOM
    for at, line in enumerate(lines):
        size = len(line.encode("utf-8", "surrogateescape")) + 1
        if size > room and at:
            return lines[:at]
        if size > room:
            return [f"{line[: ROOM // 4]}[… {len(line) - ROOM // 4} more characters of this line are not shown …]"]
        room -= size
    return lines


def _picture(data: bytes) -> str | None:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _PICTURES if data.startswith(start)), None)


def _media(path: str, data: bytes, kind: str) -> Json:
    if len(data) > PICTURE:
        raise Refused(f"{shown(path)} is a picture of {len(data)} bytes; at most {PICTURE} can be shown")
    return {"type": "media", "mimeType": kind, "base64Data": base64.b64encode(data).decode("ascii")}
