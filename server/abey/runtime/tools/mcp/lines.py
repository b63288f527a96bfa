"""A line of a server as a message.

Laws
- Whoever waits for an answer gets one: what makes no sense as the answer to a request is an error of that request.
- Half a character, or a byte that is no UTF-8, spoils no message: U+FFFD stands for it.
"""

import json
import re
from typing import Any

from mcp import types

_NO_SENSE = types.ErrorData(code=types.PARSE_ERROR, message="its answer makes no sense: it is no message")
_ID = r'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,100}")'
_FIRST = re.compile(r'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID)
_LAST = re.compile(_ID + r"\s*\}\s*\Z")
_LOOKED_AT = 200
"""Characters at the end of a line that is nested too deeply to be read, in which the id of its request is sought."""


def message_of(line: bytes) -> types.JSONRPCMessage | None:
    """None for what is no message, and no answer to a request either."""
    try:
        return types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        text = line.decode("utf-8", "replace")
    try:
        said = json.loads(text)
    except RecursionError:
        return _refusal(_id_sought(text))
    except ValueError:
        return None
    try:
        return types.jsonrpc_message_adapter.validate_json(_whole(said), by_name=False)
    except (ValueError, RecursionError):
        return _refusal(said["id"]) if isinstance(said, dict) and "id" in said and "method" not in said else None


def _whole(said: Any) -> str:
    """As JSON text without half a character."""
    return json.dumps(said, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _id_sought(text: str) -> Any:
    found = _FIRST.match(text) or _LAST.search(text[-_LOOKED_AT:])
    return json.loads(found[1]) if found else None


def _refusal(request_id: Any) -> types.JSONRPCMessage | None:
    known = isinstance(request_id, int | str)
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=_NO_SENSE) if known else None
