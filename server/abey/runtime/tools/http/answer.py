"""What the model is told of an HTTP answer: text as text, an image as media, of anything else what it is."""

import base64
import codecs
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

MOST_BYTES = 4 << 20
"""What is read of an answer, after it was decompressed."""

_IMAGES = ("image/gif", "image/jpeg", "image/png", "image/webp")
_TEXTS = re.compile(
    r"text/.*|application/(?:.*\+)?(?:json|xml|yaml)|application/(?:x-ndjson|javascript|x-www-form-urlencoded)|.*\+xml"
)
_CHARSET = re.compile(r"""charset\s*=\s*["']?([A-Za-z0-9_.:-]+)""", re.IGNORECASE)
_SNIFFED = 1024
_CODECS = re.compile(
    r"utf-8|ascii|iso8859-\d+|cp125\d|cp1006|cp43[07]|cp85\d|cp86\d|cp87\d|cp9\d\d|koi8-[rtu]|utf-16|utf-16-[bl]e|utf-32"
    r"|big5|big5hkscs|euc_jp|euc_kr|gb18030|gb2312|gbk|hz|iso2022_(?:jp|kr)|shift_jis|johab|mac-.*|tis-620"
)
"""Codecs that make text of bytes; Python knows others under such names."""


class Packed(Exception):
    """An answer in a compression that cannot be read; the message says which."""


class Body:
    """Collects an answer as it comes, decompressed, up to MOST_BYTES; `is_cut` says that there was more."""

    def __init__(self, encoding: str) -> None:
        """`encoding` is what the header `content-encoding` says. Raises Packed."""
        self._inflater = _inflater(encoding.strip().lower())
        self._data = bytearray()
        self._begun = False
        self.is_cut = False

    def add(self, chunk: bytes) -> None:
        """Takes no more once it `is_cut`. Raises Packed."""
        self._begun = True
        room = MOST_BYTES - len(self._data)
        try:
            data = chunk if self._inflater is None else self._inflater.decompress(chunk, room + 1)
        except zlib.error:
            raise Packed("the answer cannot be decompressed") from None
        self._data += data[:room]
        self.is_cut = self.is_cut or len(data) > room

    def end(self) -> None:
        """Nothing more comes. Raises Packed where something is missing."""
        if self._inflater is not None and self._begun and not self.is_cut and not self._inflater.eof:
            raise Packed("the answer cannot be decompressed")

    @property
    def data(self) -> bytes:
        return bytes(self._data)


@dataclass(frozen=True, slots=True)
class Told:
    """`text`, or other `content`; and the lines that are said below it."""

    text: str
    content: Mapping[str, Any] | None
    lines: tuple[str, ...]


def told(method: str, status: int, headers: Mapping[str, str], body: Body) -> Told:
    """What a model is told of a whole answer; of HEAD that is the headers."""
    data, kind = body.data, headers.get("content-type", "").partition(";")[0].strip().lower()
    lines = ["[the answer is longer than 4 MiB, and the rest was not read]"] if body.is_cut else []
    if status >= 400 or not data:
        lines.append(f"[HTTP {status}{_phrase(status)}]")
    if method == "HEAD":
        return Told("".join(f"{name}: {value}\n" for name, value in headers.items()), None, tuple(lines))
    if kind in _IMAGES and data and status < 400 and not body.is_cut:
        media = {"type": "media", "mimeType": kind, "base64Data": base64.b64encode(data).decode("ascii")}
        return Told("", media, tuple(lines))
    if _TEXTS.fullmatch(kind) or (kind not in _IMAGES and b"\0" not in data[:_SNIFFED]):
        return Told(_text(data, headers.get("content-type", ""), is_last=not body.is_cut), None, tuple(lines))
    shown = kind if re.fullmatch(r"[a-z0-9.+-]+/[a-z0-9.+-]+", kind) else "of no known type"
    return Told(f"[{len(data)} bytes, {shown}: no text]", None, tuple(lines))


def _inflater(encoding: str) -> Any:
    if encoding in ("", "identity"):
        return None
    if encoding in ("gzip", "x-gzip", "deflate"):
        return zlib.decompressobj(32 + zlib.MAX_WBITS)
    raise Packed("the answer is compressed in a way that was not asked for")


def _text(data: bytes, content_type: str, *, is_last: bool) -> str:
    """In the charset that is named, else UTF-8; what is none of it becomes U+FFFD."""
    found = _CHARSET.search(content_type)
    decoder = codecs.getincrementaldecoder(_codec(found[1] if found else "utf-8"))("replace")
    return str(decoder.decode(data, is_last)).encode("utf-8", "replace").decode("utf-8")


def _codec(name: str) -> str:
    try:
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        return "utf-8"
    return known if _CODECS.fullmatch(known) else "utf-8"


def _phrase(status: int) -> str:
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""
