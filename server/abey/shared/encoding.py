"""JSON in ASCII, without spaces, by the encoder of the standard library: set up once, and not again for each text."""

from _json import make_encoder
from collections.abc import Callable
from json import JSONEncoder
from json.encoder import encode_basestring_ascii
from typing import Any


def ascii_encoder(*, sort_keys: bool) -> Callable[[Any], str]:
    """What writes a value down. It raises ValueError for NaN and Infinity, TypeError for what is no JSON, and
    RecursionError for what is nested too deep."""
    refuse = JSONEncoder().default
    encode = make_encoder(None, refuse, encode_basestring_ascii, None, ":", ",", sort_keys, False, False)
    return lambda value: "".join(encode(value, 0))
