"""What every type that crosses a boundary has in common: frozen, closed, camelCase outside."""

import hashlib
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, StringConstraints
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema

from abey.protocol.wire_form import leave_out_absent
from abey.shared.encoding import ascii_encoder

Json = Any
"""A JSON value that is passed through as it came: never renamed, reordered or re-typed."""

ID_PATTERN = r"^[0-9a-z][0-9a-z_-]{0,63}\Z"
SessionId = Annotated[str, StringConstraints(pattern=r"^[0-9a-z][0-9a-z_-]{0,63}$", max_length=64)]
Token = Annotated[str, StringConstraints(min_length=1, max_length=64)]
IdempotencyKey = Annotated[str, StringConstraints(pattern=r"^[ -~]{1,128}$", min_length=1, max_length=128)]
Int = Annotated[int, Field(strict=True)]
Flag = Annotated[bool, Field(strict=True)]
"""Numbers and booleans are what they are: a string that looks like one is refused."""

Timestamp = str
"""RFC 3339, UTC, milliseconds, `Z`."""


class Wire(BaseModel):
    """A value of the protocol: immutable, unknown members refused, camelCase names on the wire."""

    # most types are never used by one daemon, and building all of them takes longer than most of a start
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        defer_build=True,
        ser_json_inf_nan="constants",
    )

    def wire(self) -> dict[str, Any]:
        """The object for the wire or the disk, of dicts, lists and plain values; what is absent is left out.

        Not pydantic's JSON mode: that loses Infinity and fails on a lone surrogate in a key.
        """
        # model_dump asks the same, and has a dozen options to pass on
        wire: dict[str, Any] = self.__pydantic_serializer__.to_python(self, by_alias=True)
        return wire

    nullable: ClassVar[frozenset[str]] = frozenset()
    """Optional members whose null is a value: set to None they are there, left out they are absent."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        leave_out_absent(handler.resolve_ref_schema(schema), cls.nullable)
        return schema


class Repeatable(Wire):
    """What a request with a key is answered. `replayed`: it had ended before, and this is its outcome, with the session
    as it is now. `interrupted`: a daemon ended before the request did, and nobody can tell how far it got."""

    replayed: Flag | None = None
    interrupted: Flag | None = None


class LenientWire(Wire):
    """A handshake object: members of newer versions are ignored (protocol.md, Handshake)."""

    model_config = ConfigDict(extra="ignore")


_canonical = ascii_encoder(sort_keys=True)


def canonical_json(value: Json) -> bytes:
    """The one spelling that is hashed (protocol.md, Rules). Raises ValueError for NaN and Infinity."""
    return _canonical(value).encode("ascii")


def sha256_hex(value: Json) -> str:
    """Lower-case SHA-256 hex of the canonical JSON of `value`."""
    return hashlib.sha256(canonical_json(value)).hexdigest()
