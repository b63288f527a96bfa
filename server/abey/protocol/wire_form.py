"""How a value of the protocol is written out: absent members are left out, and whatever is a sequence is a list.

It is said once to pydantic, whose writer of JSON then needs no Python for it: a tenth of the time of a session.
"""

import operator
from functools import partial
from typing import Any

from pydantic import SerializerFunctionWrapHandler
from pydantic_core.core_schema import (
    list_schema,
    plain_serializer_function_ser_schema,
    wrap_serializer_function_ser_schema,
)


def leave_out_absent(model: Any, nullable: frozenset[str]) -> None:
    """Changes the core schema of a model, which may stand in its validators. Optional members that are None are absent,
    those of `nullable` only where they were not set.

    Not pydantic's `exclude_none`: a member that must be there may be JSON null, and then it stays.
    """
    told = _inside(model, "model")
    fields = _inside(told, "model-fields")["fields"]
    for name, field in fields.items():
        _make_list(field["schema"])
        if field["schema"]["type"] == "default" and name not in nullable:
            field["serialization_exclude_if"] = _is_none
    if nullable:
        spellings = tuple((name, fields[name]["serialization_alias"]) for name in sorted(nullable))
        told["serialization"] = wrap_serializer_function_ser_schema(partial(_without_unset, spellings))


def _inside(schema: Any, kind: str) -> Any:
    """What validators stand around."""
    while schema["type"] != kind:
        schema = schema["schema"]
    return schema


_is_none = partial(operator.is_, None)
"""Asked for each absent member of each value that is written out: a function of Python costs three times as much."""


def _make_list(schema: Any) -> None:
    while schema["type"] in ("default", "nullable"):
        schema = schema["schema"]
    if schema["type"] == "tuple":
        [items] = schema["items_schema"]
        # what is in it is then written by pydantic, from the object to the bytes
        schema["serialization"] = plain_serializer_function_ser_schema(list, return_schema=list_schema(items))


def _without_unset(
    spellings: tuple[tuple[str, str], ...], value: Any, dump: SerializerFunctionWrapHandler
) -> dict[str, Any]:
    absent = {
        spelling
        for name, alias in spellings
        if getattr(value, name) is None and name not in value.model_fields_set
        for spelling in (name, alias)
    }
    return {name: member for name, member in dump(value).items() if name not in absent}
