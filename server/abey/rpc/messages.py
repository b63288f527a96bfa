"""JSON-RPC messages: bytes to one closed union, and answers back to bytes. Params are not looked into."""

import json
import math
from collections.abc import Iterable
from typing import Any, NoReturn

from abey.protocol.ascii_json import ascii_json
from abey.protocol.base import Json, Wire
from abey.rpc.faults import ParseError
from abey.shared.values import dataclass

Id = int | str | float
"""What a client may name a request. JSON-RPC asks for no fractions: such a request is refused, under its id."""

ID_CHARACTERS = 1024


@dataclass(frozen=True, slots=True)
class Request:
    id: int | str
    method: str
    params: Json


@dataclass(frozen=True, slots=True)
class Notification:
    method: str
    params: Json


@dataclass(frozen=True, slots=True)
class Response:
    """An answer to something that we asked; a failure where `error` is not None."""

    id: Json
    result: Json = None
    error: Json = None


@dataclass(frozen=True, slots=True)
class Invalid:
    """Nothing that JSON-RPC knows; `id` is None where none can be read."""

    id: Id | None
    reason: str


Message = Request | Notification | Response | Invalid


def decode(body: bytes, depth: int) -> Json:
    """The JSON value of a body. Raises ParseError, also for what cannot be passed on unchanged: NaN and Infinity,
    numbers out of range, a name twice in one object, nesting deeper than `depth`."""
    try:
        value = _DECODER.decode(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ParseError(f"not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise ParseError(f"not JSON: {error.msg} at character {error.pos}") from error
    except RecursionError as error:
        raise ParseError(f"nested deeper than {depth}") from error
    except ValueError as error:
        raise ParseError(str(error)) from error
    if body.count(b"[") + body.count(b"{") > depth and not _is_flatter_than(value, depth):
        fault = ParseError(f"nested deeper than {depth}")
        fault.id = readable_id(value.get("id")) if isinstance(value, dict) else None
        raise fault
    return value


def parse(value: Json) -> Message:
    """What a decoded value, or an element of a batch, says. Members that JSON-RPC does not know are passed over."""
    if not isinstance(value, dict):
        return Invalid(None, "a message is an object")
    own_id = readable_id(value.get("id"))
    if value.get("jsonrpc") != "2.0":
        return Invalid(own_id, 'a message has the member "jsonrpc": "2.0"')
    if "method" not in value:
        if "id" in value and ("result" in value or "error" in value):
            return Response(value["id"], value.get("result"), value.get("error"))
        return Invalid(own_id, "a message has a method, a result or an error")
    method = value["method"]
    if not isinstance(method, str):
        return Invalid(own_id, "a method is a string")
    if "id" not in value:
        return Notification(method, value.get("params"))
    if own_id is None or isinstance(own_id, float):
        return Invalid(own_id, f"an id is a string of at most {ID_CHARACTERS} characters or a whole number")
    return Request(own_id, method, value.get("params"))


def readable_id(value: Json) -> Id | None:
    """`value` if an answer can carry it back as an id."""
    match value:
        case bool():
            return None
        case str():
            return value if len(value) <= ID_CHARACTERS else None
        case int() | float():
            return value
        case _:
            return None


def encode(value: Json | Wire) -> bytes:
    """JSON in ASCII, so that it has as many bytes as characters; values of the protocol may stand in it. Raises
    ValueError, TypeError for what is no JSON."""
    return ascii_json(value)


def result_reply(id: Id, result: bytes) -> bytes:
    """A response; `result` is encoded already."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (_spelled(id), result)


def error_reply(id: Id | None, error: bytes) -> bytes:
    """An error response; `error` is encoded already, `id` is null where none could be read."""
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (_spelled(id), error)


def _spelled(id: Id | None) -> bytes:
    """Most clients count."""
    return b"%d" % id if type(id) is int else encode(id)


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object has the same name twice")
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is out of range")
    return number


def _whole(digits: str) -> int:
    try:
        return int(digits)
    except ValueError as error:
        raise ValueError("a number has too many digits") from error


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_whole
)


def _is_flatter_than(value: Json, depth: int) -> bool:
    level = [value]
    for _ in range(depth):
        level = [inner for outer in level for inner in _contents(outer)]
        if not level:
            return True
    return False


def _contents(value: Json) -> Iterable[Any]:
    match value:
        case dict():
            return [inner for inner in value.values() if isinstance(inner, (dict, list))]
        case list():
            return [inner for inner in value if isinstance(inner, (dict, list))]
        case _:
            return ()
