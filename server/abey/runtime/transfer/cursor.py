"""A place in a JSON value of elsewhere: what stands there, and how to refuse it by its file and pointer."""

import json
from dataclasses import dataclass
from math import isinf

from abey.errors import InvalidSeed
from abey.protocol.base import Json
from abey.runtime.agents.jsonc import child
from abey.shared.escaping import escape_line


@dataclass(frozen=True, slots=True)
class At:
    """`value` stands at `pointer` of `file`; every reader raises InvalidSeed where the shape is another."""

    file: str
    value: Json
    pointer: str = ""

    def member(self, name: str) -> "At":
        """The member of an object; its value is None where it is absent."""
        if not isinstance(self.value, dict):
            raise self.refused("an object")
        return At(self.file, self.value.get(name), child(self.pointer, name))

    def items(self) -> tuple["At", ...]:
        """The items of a list."""
        if not isinstance(self.value, list):
            raise self.refused("a list")
        return tuple(At(self.file, item, child(self.pointer, index)) for index, item in enumerate(self.value))

    def items_or_none(self) -> tuple["At", ...]:
        return () if self.value is None else self.items()

    def pair(self) -> tuple["At", "At"]:
        """Both items of a list of two."""
        items = self.items()
        if len(items) != 2:
            raise self.refused("a list of two")
        return items[0], items[1]

    def text(self) -> str:
        """A string as every provider takes it: each half of a surrogate pair is U+FFFD."""
        if not isinstance(self.value, str):
            raise self.refused("a string")
        return mended(self.value)

    def text_or_none(self) -> str | None:
        return None if self.value is None else self.text()

    def count_or_none(self) -> int | None:
        """A whole number from 0 on, None for anything else: what only counts refuses no file."""
        value = self.value
        return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else None

    def look(self, *names: str | int) -> "At":
        """What stands deeper, None where the way does not exist."""
        value, pointer = self.value, self.pointer
        for name in names:
            pointer = child(pointer, name)
            match value, name:
                case dict(), str():
                    value = value.get(name)
                case list(), int() if name < len(value):
                    value = value[name]
                case _:
                    value = None
        return At(self.file, value, pointer)

    def refused(self, wanted: str) -> InvalidSeed:
        """The error that says that something else was wanted here."""
        return self.wrong(f"{_kind(self.value)} stands where {wanted} belongs")

    def wrong(self, fact: str) -> InvalidSeed:
        where = self.pointer or "the top"
        return InvalidSeed(f"{escape_line(self.file)}: at {escape_line(where)}: {fact}", pointer=self.pointer)


def read_json(file: str, text: str) -> At:
    """The one value of a JSON text; of a key that stands twice the last one counts. Raises InvalidSeed."""
    try:
        return At(file, strict_json(text))
    except ValueError as error:
        raise InvalidSeed(f"{escape_line(file)}: {error}") from None


def strict_json(text: str) -> Json:
    """The value of a JSON text that can be written again. Raises ValueError, also for NaN and what nests too deep."""
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("it nests too deep") from None
    except ValueError as error:
        raise ValueError(f"it is not JSON: {error}") from None


def mended(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _kind(value: Json) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case int() | float():
            return "a number"
        case list():
            return f"a list of {len(value)}"
        case _:
            return "an object"


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    if isinf(float(text)):
        raise ValueError(f"{text[:40]} is too large a number")
    return float(text)
