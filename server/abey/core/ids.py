"""Identifiers, made from a time and a piece of chance that the caller brings (protocol.md, Rules)."""

import hashlib
from functools import lru_cache

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [first + second for first in _CROCKFORD for second in _CROCKFORD]


def ulid(millis: int, chance: bytes) -> str:
    """A lower-case ULID: the time, then the first 80 bits of `chance`."""
    return _of_time(millis) + _eight(int.from_bytes(chance[:5], "big")) + _eight(int.from_bytes(chance[5:10], "big"))


@lru_cache(maxsize=4)
def _of_time(millis: int) -> str:
    """The first ten characters, which all the ids of a transition have in common."""
    return _PAIRS[millis >> 40] + _eight(millis & 0xFF_FFFF_FFFF)


def _eight(bits: int) -> str:
    """Forty bits in eight characters."""
    return f"{_PAIRS[bits >> 30]}{_PAIRS[bits >> 20 & 1023]}{_PAIRS[bits >> 10 & 1023]}{_PAIRS[bits & 1023]}"


def key_id(text: str) -> str:
    """An id in the form of a ULID that `text` alone decides."""
    chance = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return ulid(int.from_bytes(chance[:6], "big"), chance[6:])


def derive(entropy: bytes, label: str) -> bytes:
    """32 bytes of chance for one purpose; another label gives others."""
    return hashlib.sha256(entropy + label.encode("utf-8", "surrogatepass")).digest()
