"""Are these the arguments that a tool's JSON schema asks for."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

from abey.runtime.agents.jsonc import child
from abey.runtime.tools.plain_schemas import fits, is_plain
from abey.shared.escaping import cut, escape_line

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError, Validator

FAULTS = 50
QUESTION_BYTES = 64 * 1024
_SHOWN = 300
_NO_REGEX = ' is not a "regex"'
_TOO_MUCH = "nested too deeply, or a number of too many digits, to be checked"
_text_of = json.JSONEncoder(sort_keys=True).encode
_readable = json.JSONEncoder(ensure_ascii=False).encode
_LINEAR = " that is matched in linear time: look-around and back references are not"


def check_arguments(schema: Mapping[str, Any], value: Any, what: str = "the arguments") -> str | None:
    """What is wrong with `value`, in a line (`at /path: …`, or `what: …` of all of it), or None. A broken schema is
    said to be broken.

    Patterns are matched in linear time, so no value keeps this busy for long.
    """
    if fits(schema, value):
        return None
    broken, validator = _checked(schema)
    if validator is None:
        return _of_tool(broken)
    try:
        error = next(iter(validator.iter_errors(_as_text_allows(value))), None)
    except (ValueError, RecursionError):
        return _line((), _TOO_MUCH, what)
    return _line(error.instance_path, error.message, what) if error else None


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong at a JSON pointer, in a line; `about_key`: it is the name of that member that is wrong."""

    pointer: str
    message: str
    about_key: bool = False


def argument_faults(schema: Mapping[str, Any], value: Any) -> tuple[Fault, ...]:
    """The first FAULTS things that are wrong with `value`; where nobody can tell, why not, as one of the whole."""
    broken, validator = _checked(schema)
    if validator is None:
        return (Fault("", _of_tool(broken)),)
    try:
        return tuple(islice(_faults(validator, value), FAULTS))
    except (ValueError, RecursionError):
        return (Fault("", _TOO_MUCH),)


def broken_schema(schema: Mapping[str, Any]) -> str | None:
    """Why `schema` is no JSON schema that can be used, in a line, or None."""
    fault = schema_fault(schema)
    return None if fault is None else _of_tool(fault)


def schema_fault(schema: Mapping[str, Any]) -> Fault | None:
    """Where in the schema it is that it is broken; the message goes on with a sentence that begins with what it is."""
    return None if is_plain(schema) else _checked(schema)[0]


def question_fault(schema: Mapping[str, Any]) -> str | None:
    """Why nobody could answer a question with this schema, in a line, or None."""
    try:
        if len(json.dumps(schema, allow_nan=False)) > QUESTION_BYTES:
            return f"the schema of the question has more than {QUESTION_BYTES} bytes"
    except (ValueError, TypeError, RecursionError):
        return "the schema of the question is no JSON"
    fault = schema_fault(schema)
    return f"the schema of the question {fault.message}" if fault else None


def _faults(validator: "Validator", value: Any) -> "Iterator[Fault]":
    for error in validator.iter_errors(_as_text_allows(value)):
        pointer, unexpected = _pointer(error.instance_path), _unexpected(error)
        for name in unexpected:
            yield Fault(child(pointer, name), "the schema has no such member", about_key=True)
        if not unexpected:
            yield Fault(pointer, _short(error.message))


def _unexpected(error: "ValidationError") -> list[str]:
    """The members that the schema does not allow, where that is what is wrong."""
    return list(getattr(error.kind, "unexpected", ()))


def _checked(schema: Mapping[str, Any]) -> "tuple[Fault | None, Validator | None]":
    try:
        return _compiled(_text_of(schema))
    except (ValueError, RecursionError) as fault:
        return Fault("", _broken(f": {_short(str(fault))}")), None


@lru_cache(maxsize=256)
def _compiled(text: str) -> "tuple[Fault | None, Validator | None]":
    """The validator of a schema, made once; or why there is none. Raises ValueError for what is no JSON at all."""
    from jsonschema_rs import RegexOptions, ValidationError, validator_for

    try:
        return None, validator_for(text, retriever=_refused, pattern_options=RegexOptions(), validate_formats=False)
    except ValidationError as error:
        unclear = error.message.endswith(_NO_REGEX)
        pointer = _pointer(error.instance_path)
        at = escape_line(pointer)
        told = _broken(f"{f' at {at}' if at else ''}: {_short(error.message + (_LINEAR if unclear else ''))}")
        return Fault(pointer, told), None


def _refused(_: str) -> NoReturn:
    raise LookupError("nothing is fetched for a reference")


def _as_text_allows(value: Any) -> Any:
    """`value`, with `?` for what no text can hold: half a surrogate pair."""
    text = _readable(value)
    return value if text.isascii() else json.loads(text.encode("utf-8", "replace"))


def _broken(how: str) -> str:
    return f"is broken{how}"


def _of_tool(fault: Fault | None) -> str:
    return f"the tool's schema {fault.message if fault else ''}"


def _line(path: Iterable[str | int], message: str, whole: str) -> str:
    """`whole` is the name of what has no path: the JSON pointer of the whole is empty."""
    pointer = escape_line(_pointer(path))
    return f"{f'at {pointer}' if pointer else whole}: {_short(message)}"


def _pointer(path: Iterable[str | int]) -> str:
    pointer = ""
    for part in path:
        pointer = child(pointer, part)
    return pointer


def _short(message: str) -> str:
    return cut(escape_line(message), _SHOWN)
