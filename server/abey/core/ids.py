"""Identifiers, made from a time and a piece of chance that the caller brings (protocol.md, Rules)."""

import hashlib
from functools import lru_cache

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [first + second for first in _CROCKFORD for second in _CROCKFORD]


def ulid(millis: int, chance: bytes) -> str:
    """A lower-case ULID: the time, then the first 80 bits of `chance`."""
    bits = int.from_bytes(chance[:10], "big")
    first = f"{_PAIRS[bits >> 70]}{_PAIRS[bits >> 60 & 1023]}{_PAIRS[bits >> 50 & 1023]}{_PAIRS[bits >> 40 & 1023]}"
    last = f"{_PAIRS[bits >> 30 & 1023]}{_PAIRS[bits >> 20 & 1023]}{_PAIRS[bits >> 10 & 1023]}{_PAIRS[bits & 1023]}"
    return f"{_of_time(millis)}{first}{last}"


@lru_cache(maxsize=4)
def _of_time(millis: int) -> str:
    """The first ten characters, which all the ids of a transition have in common."""
    return "".join([_PAIRS[millis >> place & 1023] for place in (40, 30, 20, 10, 0)])


def key_id(text: str) -> str:
    """An id in the form of a ULID that `text` alone decides."""
    chance = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return ulid(int.from_bytes(chance[:6], "big"), chance[6:])


def derive(entropy: bytes, label: str) -> bytes:
    """32 bytes of chance for one purpose; another label gives others."""
    return hashlib.sha256(entropy + label.encode("utf-8", "surrogatepass")).digest()
