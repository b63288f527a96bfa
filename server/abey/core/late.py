"""Members of values in snapshots that are rarely there: what reads one is made when the first is read."""

from functools import cache
from typing import Any

from pydantic import TypeAdapter
from pydantic_core.core_schema import CoreSchema, no_info_plain_validator_function


class Late:
    """Marks such a member, in `Annotated`: pydantic takes milliseconds for what reads the larger ones."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, _handler: object) -> CoreSchema:
        return no_info_plain_validator_function(lambda value: _reader(source).validate_python(value))


@cache
def _reader(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
