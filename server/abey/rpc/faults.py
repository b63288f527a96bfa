"""What becomes of a failure: the error object that a client gets.

RpcFault                  JSON-RPC's and LSP's own errors, each with a `kind` of ours
 ├─ ParseError            -32700
 ├─ InvalidRequest        -32600
 ├─ MethodNotFound        -32601
 ├─ InvalidParams         -32602  `errors`: where, what, which rule
 ├─ NotInitialized        -32002
 └─ RequestCancelled      -32800
AbeyError                 its own code, kind and data
anything else             -32603  a reference to the log; no traceback, path or secret leaves the daemon

Unanswered                a question of ours to a client brought no result: no fault of who asked the daemon
 └─ Declined              the client answered with an error
"""

import itertools
import logging
import os
from typing import Any, ClassVar

from pydantic import ValidationError

from abey.errors import AbeyError
from abey.protocol.base import Json
from abey.shared.escaping import escape_line

log = logging.getLogger(__name__)

INTERNAL_ERROR = -32603
ERRORS_SHOWN = 20
TEXT_SHOWN = 200

_references = itertools.count(1)


class RpcFault(Exception):
    """An error of the plumbing: `message` is for people, `data` (JSON values) goes to the client."""

    code: ClassVar[int]
    kind: ClassVar[str]

    def __init__(self, message: str, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.data = {"kind": self.kind, "retryable": False, **data}


class ParseError(RpcFault):
    """`id` is that of the message, where that can be read all the same."""

    code = -32700
    kind = "parse-error"
    id: str | int | float | None = None


class InvalidRequest(RpcFault):
    code = -32600
    kind = "invalid-request"


class MethodNotFound(RpcFault):
    code = -32601
    kind = "method-not-found"


class InvalidParams(RpcFault):
    code = -32602
    kind = "invalid-params"


class NotInitialized(RpcFault):
    code = -32002
    kind = "not-initialized"


class RequestCancelled(RpcFault):
    code = -32800
    kind = "cancelled"


class Unanswered(Exception):
    """A question to a client came to nothing. Who asked goes on as if it had not."""


class Declined(Unanswered):
    """The client answered with an error; its words are not to be trusted."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(f"the client answered error {code}: {escape_line(message[:TEXT_SHOWN])}")
        self.code = code
        self.message = message
        self.data = data


def invalid_params(method: str, error: ValidationError) -> InvalidParams:
    """Where and why params are wrong; what was in them is not repeated."""
    errors = error.errors(include_url=False, include_context=False, include_input=False)[:ERRORS_SHOWN]
    shown = [
        {"loc": [_cut(part) for part in e["loc"]], "msg": _cut(_said(e["msg"])), "type": e["type"]} for e in errors
    ]
    return InvalidParams(f"invalid params for {method}: {_first(shown)}", errors=shown)


def _said(message: str) -> str:
    """Without the mark that pydantic gives to words of ours."""
    return message.removeprefix("Value error, ")


def _first(errors: list[dict[str, Any]]) -> str:
    """The first error in a line, for people."""
    where = ".".join(str(part) for part in errors[0]["loc"])
    return f"{where}: {errors[0]['msg']}" if where else str(errors[0]["msg"])


def error_object(error: BaseException) -> dict[str, Any]:
    """The `error` member for a failure; an unexpected one is logged under the reference that the client gets."""
    match error:
        case RpcFault() | AbeyError():
            return {"code": error.code, "message": error.message, "data": error.data}
        case _:
            return _internal(error)


def _internal(error: BaseException) -> dict[str, Any]:
    reference = f"{os.getpid():x}-{next(_references):x}"
    log.error("internal error %s", reference, exc_info=error)
    data = {"kind": "internal", "retryable": False, "reference": reference}
    return {"code": INTERNAL_ERROR, "message": "internal error", "data": data}


def _cut(part: int | str) -> int | str:
    return part if isinstance(part, int) or len(part) <= TEXT_SHOWN else f"{part[:TEXT_SHOWN]}…"
