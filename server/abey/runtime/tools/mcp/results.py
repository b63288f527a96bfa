"""What a server answers to a call, as content for the model (protocol.md, Parts and content)."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

from abey.core.conversation import ToolOutcome
from abey.protocol.base import Json
from abey.runtime.ports import ToolCall
from abey.runtime.tools.descriptors import completed
from abey.runtime.tools.output import MAX_BYTES
from abey.runtime.tools.whole import WholeOutput

MEDIA_BYTES = 6 << 20
"""Of an image, a sound or a file, in base64: what providers take."""
PARTS = 100
_SAID_NOTHING = "tool/failed: the server says that the call failed, and not why"

Part = dict[str, Any]


async def outcome_of(result: Mapping[str, Any], call: ToolCall) -> ToolOutcome:
    """What a result, as it is on the wire, comes to. A text that is too long is kept whole beside what is told."""
    return await told_in_parts(list(_parts(result)), "tool/failed" if result.get("isError") else None, call)


async def told_in_parts(parts: list[Part], error: str | None, call: ToolCall) -> ToolOutcome:
    """The outcome of a call that gave these."""
    parts = list(_bounded(parts))
    texts = [part for part in parts if part["type"] != "media"]
    if sum(len(_text(part).encode("utf-8", "replace")) for part in texts) <= MAX_BYTES:
        content = _content(parts)
        return ToolOutcome(_SAID_NOTHING if error and content == "" else content, error)
    output = WholeOutput(call.spool)
    output.add("\n".join(map(_text, texts)).encode("utf-8", "replace"))
    told, media = _said(output.text()), [part for part in parts if part["type"] == "media"]
    try:
        return ToolOutcome(_content([told, *media]), error, await output.kept())
    except OSError as fault:
        lost = _said(f"[the whole result could not be kept: {fault.strerror}]")
        return ToolOutcome(_content([told, lost, *media]), error)
    finally:
        await completed(asyncio.ensure_future(output.close()))


def _content(parts: list[Part]) -> Json:
    match parts:
        case []:
            return ""
        case [{"type": "text", "content": text}]:
            return text
        case [part]:
            return part
        case _:
            return {"type": "mixed", "parts": parts}


def _parts(result: Mapping[str, Any]) -> Iterator[Part]:
    blocks = result.get("content") or []
    structured = result.get("structuredContent")
    if structured is None:
        yield from map(_part, blocks)
        return
    yield from (_part(block) for block in blocks if not _repeats(block, structured))
    yield {"type": "json", "content": structured}


def _repeats(block: Mapping[str, Any], structured: Json) -> bool:
    """Servers say structured content a second time, as text: all of it, or one text for each value of a list."""
    if block.get("type") != "text":
        return False
    text = block["text"]
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        said = text
    inner = structured["result"] if isinstance(structured, dict) and structured.keys() == {"result"} else structured
    values = inner if isinstance(inner, list) else ()
    return said in (structured, inner, *values) or text in (inner, *values)


def _part(block: Mapping[str, Any]) -> Part:
    match block:
        case {"type": "text", "text": str() as text}:
            return _said(text)
        case {"type": "image" | "audio", "data": str() as data, "mimeType": str() as mime}:
            return media_of(mime, data)
        case {"type": "resource", "resource": {"uri": uri, "text": str() as text}}:
            return _said(f"[{uri}]\n{text}")
        case {"type": "resource", "resource": {"blob": str() as data} as resource}:
            return media_of(resource.get("mimeType") or "application/octet-stream", data)
        case {"type": "resource_link", "uri": uri, "name": name}:
            about = " ".join(str(block[key]) for key in ("mimeType", "description") if block.get(key))
            return _said(f"[{name}: {uri}]{' ' if about else ''}{about}")
        case _:
            return {"type": "json", "content": dict(block)}


def media_of(mime: str, data: str) -> Part:
    """A part, or where it is more than providers take what is told of it."""
    if len(data) > MEDIA_BYTES:
        return _said(f"[{mime} of about {len(data) * 3 // 4} bytes left out: more than providers take]")
    return {"type": "media", "mimeType": mime, "base64Data": data}


def _bounded(parts: list[Part]) -> Iterator[Part]:
    yield from parts[:PARTS]
    if len(parts) > PARTS:
        yield _said(f"[{len(parts) - PARTS} more parts left out]")


def _said(text: str) -> Part:
    return {"type": "text", "content": text}


def _text(part: Part) -> str:
    content = part["content"]
    return content if isinstance(content, str) and part["type"] == "text" else json.dumps(content, ensure_ascii=False)
