"""Identifiers (protocol.md, Rules)."""

import pytest

from abey.core.ids import derive, ulid

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


@pytest.mark.parametrize("millis", [0, 1, 1_700_000_000_123, 2**40 - 1, 2**40, 2**48 - 1])
@pytest.mark.parametrize("chance", [bytes(10), b"\xff" * 10, derive(b"chance", "a"), derive(b"chance", "b")])
def test_a_ulid_is_its_time_and_eighty_bits_of_chance_in_base_32(millis: int, chance: bytes) -> None:
    text, number = ulid(millis, chance), 0
    for letter in text:
        number = number * 32 + ALPHABET.index(letter)
    assert (len(text), number) == (26, (millis << 80) + int.from_bytes(chance[:10], "big"))
