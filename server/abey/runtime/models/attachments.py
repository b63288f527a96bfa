"""The files and media of inputs, read before anything is sent."""

import base64
import mimetypes
import os
from dataclasses import replace

from abey.core.conversation import Message, ModelRequest, UserMessage
from abey.errors import ModelFailed
from abey.protocol.transcript import FilePart, MediaPart, Part, TextPart
from abey.runtime.models.contents import mended
from abey.runtime.models.regular import NotRegular, open_regular
from abey.shared.escaping import escape_line

MOST_MEDIA_BYTES = 32 * 1024 * 1024
MOST_TEXT_BYTES = 2 * 1024 * 1024


class Unusable(Exception):
    """Why an attachment cannot be sent, in a line that names it."""


def inlined(request: ModelRequest) -> ModelRequest:
    """The request with texts and base64 media only. Reads files: call it in a thread.

    Raises ModelFailed (`invalid-request`) for an attachment of the last input that cannot be read. An earlier one that
    is gone by now becomes a line that says so: the session has to be able to go on.
    """
    last = max((at for at, message in enumerate(request.messages) if isinstance(message, UserMessage)), default=-1)
    messages = tuple(_inlined(message, must=at == last) for at, message in enumerate(request.messages))
    return replace(request, messages=messages)


def _inlined(message: Message, must: bool) -> Message:
    if not isinstance(message, UserMessage):
        return message
    parts: list[Part] = []
    for part in message.parts:
        try:
            parts.append(_part(part))
        except Unusable as error:
            if must:
                raise ModelFailed("invalid-request", str(error)) from None
            parts.append(TextPart(text=f"[{mended(str(error))}]"))
    return UserMessage(tuple(parts))


def _part(part: Part) -> Part:
    match part:
        case TextPart():
            return part
        case MediaPart(base64_data=None, path=None):
            raise Unusable(f"a part of type {escape_line(part.mime_type)} has neither base64Data nor path")
        case MediaPart(base64_data=None, path=str() as path):
            data = _read(path, MOST_MEDIA_BYTES)
            return MediaPart(mime_type=part.mime_type, base64_data=base64.b64encode(data).decode("ascii"))
        case MediaPart():
            return _checked(part)
        case FilePart():
            return _file(part.path)


def _checked(part: MediaPart) -> MediaPart:
    try:
        data = base64.b64decode(part.base64_data or "", validate=True)
    except ValueError:
        raise Unusable(f"the base64Data of a part of type {escape_line(part.mime_type)} is no base64") from None
    if not data:
        raise Unusable(f"a part of type {escape_line(part.mime_type)} is empty")
    return part


def _file(path: str) -> Part:
    """A file by its name: an image or a PDF as such, anything else as text."""
    mime = mimetypes.guess_type(path)[0] or ""
    if (mime.startswith("image/") and mime != "image/svg+xml") or mime == "application/pdf":
        data = _read(path, MOST_MEDIA_BYTES)
        return MediaPart(mime_type=mime, base64_data=base64.b64encode(data).decode("ascii"))
    data = _read(path, MOST_TEXT_BYTES)
    if b"\0" in data:
        raise Unusable(f"{escape_line(path)} is no text; name its type in a media part")
    return TextPart(text=f"{mended(escape_line(path))}:\n{data.decode('utf-8', 'replace')}")


def _read(path: str, most: int) -> bytes:
    """The content of a regular file. Raises Unusable."""
    name = escape_line(path)
    if not os.path.isabs(path):
        raise Unusable(f"the path of an attachment is absolute, not {name}")
    try:
        file, _ = open_regular(path)
        with file:
            data = file.read(most + 1)
    except NotRegular:
        raise Unusable(f"{name} is no regular file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise Unusable(f"{name} cannot be read: {reason}") from None
    if len(data) > most:
        raise Unusable(f"{name} is larger than {most} bytes")
    return data
