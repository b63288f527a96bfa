"""JSON in ASCII, without spaces, by the encoder of the standard library: set up once, and not again for each text."""

from collections.abc import Callable
from json import JSONEncoder, encoder
from typing import Any


def ascii_encoder(*, sort_keys: bool) -> Callable[[Any], str]:
    """What writes a value down. It raises ValueError for NaN and Infinity, TypeError for what is no JSON, and
    RecursionError for what is nested too deep."""
    whole = JSONEncoder(sort_keys=sort_keys, separators=(",", ":"), allow_nan=False, check_circular=False)
    make: Any = getattr(encoder, "c_make_encoder", None)
    try:
        encode = make(None, whole.default, encoder.encode_basestring_ascii, None, ":", ",", sort_keys, False, False)
    except TypeError:  # no Python has promised it: without it, or with another, it is slower
        return whole.encode
    return lambda value: "".join(encode(value, 0))
