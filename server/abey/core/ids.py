"""Identifiers, made from a time and a piece of chance that the caller brings (protocol.md, Rules)."""

import hashlib

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [first + second for first in _CROCKFORD for second in _CROCKFORD]
_SHIFTS = range(120, -1, -10)


def ulid(millis: int, chance: bytes) -> str:
    """A lower-case ULID: the time, then the first 80 bits of `chance`."""
    number = int.from_bytes(millis.to_bytes(6, "big") + chance[:10], "big")
    return "".join([_PAIRS[(number >> shift) & 1023] for shift in _SHIFTS])


def key_id(text: str) -> str:
    """An id in the form of a ULID that `text` alone decides."""
    chance = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return ulid(int.from_bytes(chance[:6], "big"), chance[6:])


def derive(entropy: bytes, label: str) -> bytes:
    """32 bytes of chance for one purpose; another label gives others."""
    return hashlib.sha256(entropy + label.encode("utf-8", "surrogatepass")).digest()
