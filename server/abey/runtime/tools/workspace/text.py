"""What is in a file, as text that goes back into it unchanged where nobody changed it."""

import codecs
import re
from dataclasses import dataclass

_LOOKED_AT = 8192
_HALF = re.compile("[\ud800-\udfff]")
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


@dataclass(frozen=True, slots=True)
class Text:
    """`raw` is all behind the byte order mark; bytes that are no UTF-8 are lone surrogates in it."""

    raw: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def is_crlf(self) -> bool:
        """Whether every line of it ends as on Windows."""
        ends = self.raw.count("\n")
        return ends > 0 and self.raw.count("\r\n") == ends

    @property
    def plain(self) -> str:
        """With the line endings that a model writes, where those of the file are all of one other kind."""
        return self.raw.replace("\r\n", "\n") if self.is_crlf else self.raw

    @property
    def is_clean(self) -> bool:
        """Whether every byte of it is text."""
        return self.raw.isascii() or harmless(self.raw) == self.raw

    def with_plain(self, plain: str) -> bytes:
        """The bytes of the file with another text, in its own encoding and with its own line endings."""
        raw = plain.replace("\n", "\r\n") if self.is_crlf else plain
        return self.mark + raw.encode(self.encoding, "surrogateescape")


def text_of(data: bytes) -> Text | None:
    """None for what is no text: it has a NUL near its beginning, or a mark that does not fit."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _marked(data, mark, encoding)
    return None if is_binary(data) else Text(data.decode("utf-8", "surrogateescape"))


def is_binary(data: bytes) -> bool:
    return b"\0" in data[:_LOOKED_AT]


def harmless(text: str) -> str:
    """With U+FFFD for each byte that is no UTF-8, and each half of a surrogate pair."""
    return _HALF.sub("\N{REPLACEMENT CHARACTER}", text)


def _marked(data: bytes, mark: bytes, encoding: str) -> Text | None:
    errors = "surrogateescape" if encoding == "utf-8" else "strict"
    try:
        raw = data[len(mark) :].decode(encoding, errors)
    except UnicodeDecodeError:
        return None
    return Text(raw, encoding, mark)
