"""Large values are in blobs: a line has references in their place, and says where (journal.md, Blobs)."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from abey.protocol.base import Json
from abey.shared.encoding import ascii_encoder

BLOB_ABOVE = 32 * 1024
"""Bytes that a value may have in its line."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A blob by the SHA-256 of its bytes; `is_json` where they are JSON text and not a string's UTF-8."""

    sha256: str
    bytes: int
    is_json: bool


class BlobLost(Exception):
    """There is no such blob, or its bytes are not those that were written."""

    def __init__(self, how: Literal["missing", "damaged"]) -> None:
        super().__init__(how)
        self.how = how


Fetch = Callable[[Reference], bytes]
"""The bytes of a blob, which have the hash. Raises BlobLost."""


def no_blobs(_: Reference) -> bytes:
    """The Fetch of a journal without its directory."""
    raise BlobLost("missing")


json_text = ascii_encoder(sort_keys=False)
"""JSON in ASCII, without spaces; objects keep their order. Raises ValueError for NaN and Infinity; RecursionError."""


class Deflater:
    """Takes the large values out of one record: `blobs` are their bytes by hash, `pointers` where they stood, and
    `documents` those of the blobs that are JSON. What stays is as it came.

    Raises ValueError for NaN and Infinity; RecursionError.
    """

    def __init__(self, above: int) -> None:
        self.blobs: dict[str, bytes] = {}
        self.pointers: list[str] = []
        self.documents: list[bytes] = []
        self._above = above

    def strings(self, value: Json, pointer: str) -> Json:
        """`value` with a reference in place of every large string in it."""
        match value:
            case str():
                return self._string(value, pointer)
            case dict():
                return {key: self.strings(inner, below(pointer, key)) for key, inner in value.items()}
            case list():
                return [self.strings(inner, below(pointer, index)) for index, inner in enumerate(value)]
            case _:
                return value

    def whole(self, value: Json, pointer: str) -> Json:
        """The same, but where many small things make it large, a reference to all of it."""
        text = json_text(value)
        if len(text) <= self._above:
            return value
        within = Deflater(self._above)
        thinner = within.strings(value, pointer)
        if len(json_text(thinner)) > self._above:
            content = text.encode("ascii")
            self.documents.append(content)
            return self._reference(content, pointer, is_json=True)
        self.blobs |= within.blobs
        self.pointers += within.pointers
        return thinner

    def _string(self, value: str, pointer: str) -> Json:
        # no character has more than four bytes
        if len(value) * 4 <= self._above:
            return value
        content = value.encode("utf-8", "surrogatepass")
        return value if len(content) <= self._above else self._reference(content, pointer, is_json=False)

    def _reference(self, content: bytes, pointer: str, *, is_json: bool) -> Json:
        name = hashlib.sha256(content).hexdigest()
        self.blobs[name] = content
        self.pointers.append(pointer)
        return {"bytes": len(content), **({"json": True} if is_json else {}), "sha256": name}


def inflate(data: dict[str, Any], pointers: Sequence[str], fetch: Fetch) -> tuple[str, ...]:
    """Puts the values of blobs into `data`, and in place of one that is lost a text that says so: these texts.

    Raises ValueError where a pointer does not lead to a reference.
    """
    lost = []
    for pointer in pointers:
        place, key = _place(data, pointer)
        reference = _read(place[key])
        try:
            place[key] = _value(reference, fetch(reference))
        except BlobLost as loss:
            place[key] = f"[{loss.how}: blob {reference.sha256}, {reference.bytes} bytes]"
            lost.append(place[key])
    return tuple(lost)


def below(pointer: str, key: str | int) -> str:
    """The JSON pointer (RFC 6901) of a member or an element."""
    return f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"


def _place(data: Any, pointer: str) -> tuple[Any, Any]:
    """The object or array in which the value of `pointer` stands, and its key there."""
    root, *steps = pointer.split("/")
    if root or not steps:
        raise ValueError(f"{pointer!r} leads nowhere")
    place, key = None, None
    for step in steps:
        place = data if place is None else place[key]
        key = _key(place, step.replace("~1", "/").replace("~0", "~"), pointer)
    return place, key


def _key(place: Any, step: str, pointer: str) -> Any:
    match place:
        case dict() if step in place:
            return step
        case list() if step.isascii() and step.isdigit() and len(step) < 10 and int(step) < len(place):
            return int(step)
    raise ValueError(f"{pointer!r} leads nowhere")


def _read(value: Any) -> Reference:
    match value:
        case {"sha256": str(name), "bytes": int(size), **rest} if _is_name(name) and rest in ({}, {"json": True}):
            return Reference(name, size, bool(rest))
    raise ValueError("no reference to a blob stands there")


def _is_name(text: str) -> bool:
    return len(text) == 64 and set(text) <= set("0123456789abcdef")


def _value(reference: Reference, content: bytes) -> Json:
    try:
        if reference.is_json:
            return json.loads(content.decode("ascii"))
        return content.decode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        # the hash is right, so nobody damaged it: it never was what the record says
        raise BlobLost("damaged") from None
