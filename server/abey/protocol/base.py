"""What every type that crosses a boundary has in common: frozen, closed, camelCase outside."""

import hashlib
import json
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, StringConstraints, model_serializer
from pydantic.alias_generators import to_camel

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

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    def wire(self) -> dict[str, Any]:
        """The object for the wire or the disk, of dicts, lists and plain values; what is absent is left out.

        Not pydantic's JSON mode: that loses Infinity and fails on a lone surrogate in a key.
        """
        return self.model_dump(by_alias=True)

    nullable: ClassVar[frozenset[str]] = frozenset()
    """Optional members whose null is a value: set to None they are there, left out they are absent."""

    def _says_null(self, name: str) -> bool:
        return name in self.nullable and name in self.model_fields_set

    @model_serializer(mode="wrap")
    def _without_absent(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Not pydantic's `exclude_none`: a member that must be there may be JSON null, and then it stays."""
        absent = {
            spelling
            for name, field in type(self).model_fields.items()
            if not field.is_required() and getattr(self, name) is None and not self._says_null(name)
            for spelling in (name, field.serialization_alias)
        }
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in dump(self).items()
            if name not in absent
        }


class Repeatable(Wire):
    """What a request with a key is answered. `replayed`: it had ended before, and this is its outcome, with the session
    as it is now. `interrupted`: a daemon ended before the request did, and nobody can tell how far it got."""

    replayed: Flag | None = None
    interrupted: Flag | None = None


class LenientWire(Wire):
    """A handshake object: members of newer versions are ignored (protocol.md, Handshake)."""

    model_config = ConfigDict(extra="ignore")


def canonical_json(value: Json) -> bytes:
    """The one spelling that is hashed (protocol.md, Rules). Raises ValueError for NaN and Infinity."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.encode("ascii")


def sha256_hex(value: Json) -> str:
    """Lower-case SHA-256 hex of the canonical JSON of `value`."""
    return hashlib.sha256(canonical_json(value)).hexdigest()
