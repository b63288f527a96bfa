"""JSON in ASCII, as it goes over the wire: no character of a text can act on anything that shows it."""

import codecs
import json
from json.encoder import encode_basestring_ascii

from pydantic_core import to_json

from abey.protocol.base import Json, Wire

SHORT_BYTES = 64 * 1024
_ESCAPED = "abey-escaped"
_CUT, _CUT_ESCAPED = "…".encode(), b"\\u2026"
"""What ends a title that was cut. Most answers have nothing else that is no ASCII: without it they are there a quarter
sooner."""


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """A run of characters that are no ASCII, as the standard library spells them in JSON."""
    assert isinstance(error, UnicodeEncodeError)
    return encode_basestring_ascii(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error(_ESCAPED, _escaped)


def ascii_json(value: Json | Wire) -> bytes:
    """Without spaces; values of the protocol in it as `wire` gives them. Raises ValueError, TypeError for what is no
    JSON.

    pydantic's writer takes an eighth of the time, and while a long answer is written nobody else is served. But it
    leaves characters as they are (or takes ten times as long to escape them), passes NaN on, and refuses half
    characters and deep nesting. In a short answer the few that are no ASCII, as in a title that was cut, are escaped
    afterwards.
    """
    text = _written(value)
    return _dumped(value, allow_nan=False) if text is None else text


def ascii_size(value: Json | Wire) -> int:
    """How many bytes `ascii_json` has of it; of what is no JSON anything."""
    text = _written(value)
    return len(_dumped(value) if text is None else text)


def _written(value: Json | Wire) -> bytes | None:
    """By pydantic; None where json has to take it, or to say what is wrong."""
    try:
        text = to_json(value)
    except ValueError:
        return None
    # DEL is ASCII, and acts on a terminal
    if b"\x7f" in text or b"NaN" in text or b"Infinity" in text:
        return None
    if text.isascii():
        return text
    if len(text) > SHORT_BYTES:
        return None
    cut = text.replace(_CUT, _CUT_ESCAPED)
    return cut if cut.isascii() else cut.decode().encode("ascii", _ESCAPED)


def _dumped(value: Json | Wire, *, allow_nan: bool = True) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=allow_nan, default=_wire).encode("ascii")


def _wire(value: object) -> Json:
    if isinstance(value, Wire):
        return value.wire()
    raise TypeError(f"{type(value).__name__} is no JSON")
