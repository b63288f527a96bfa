"""Are these the arguments that a tool's JSON schema asks for."""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from abey.runtime.agents.jsonc import child
from abey.shared.escaping import cut, escape_line

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

_SHOWN = 300


def check_arguments(schema: Mapping[str, Any], value: Any) -> str | None:
    """What is wrong with `value`, in a line (`at /path: …`), or None. A broken schema is said to be broken."""
    broken, validator = _compiled(_text(schema))
    if validator is None:
        return broken
    try:
        error = next(iter(validator.iter_errors(value)), None)
    except Exception as fault:  # noqa: BLE001 - a reference that leads nowhere, or in a circle, raises what it likes
        return _broken(fault)
    return _line(error.absolute_path, error.message) if error else None


def broken_schema(schema: Mapping[str, Any]) -> str | None:
    """Why `schema` is no JSON schema, in a line, or None."""
    return _compiled(_text(schema))[0]


@lru_cache(maxsize=256)
def _compiled(text: str) -> "tuple[str | None, Validator | None]":
    """The validator of a schema, made once; or why there is none. Nothing is ever fetched for a reference."""
    import referencing
    from jsonschema import Draft202012Validator, SchemaError
    from jsonschema.validators import validator_for

    schema = json.loads(text)
    try:
        kind = validator_for(schema, default=Draft202012Validator)
        kind.check_schema(schema)
    except SchemaError as error:
        return f"the tool's schema is broken {_line(error.absolute_path, error.message)}", None
    except Exception as fault:  # noqa: BLE001 - a schema that is not even shaped like one raises what it likes
        return _broken(fault), None
    registry: referencing.Registry[Any] = referencing.Registry()
    return None, kind(schema, registry=registry)


def _text(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, sort_keys=True)


def _broken(fault: Exception) -> str:
    return f"the tool's schema is broken: {_short(str(fault) or type(fault).__name__)}"


def _line(path: Iterable[str | int], message: str) -> str:
    pointer = ""
    for part in path:
        pointer = child(pointer, part)
    return f"at {escape_line(pointer) or '/'}: {_short(message)}"


def _short(message: str) -> str:
    return cut(escape_line(message), _SHOWN)
