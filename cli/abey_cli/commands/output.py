"""`abey session output`: all that a call has printed."""

import base64
from collections.abc import Iterator
from typing import Any

from abey.shared.kinds import EXIT_OK
from abey_cli import lookup
from abey_cli.context import Context
from abey_cli.failures import usage

PART = 1 << 20
"""Bytes of one answer."""


def output(context: Context) -> int:
    session_id = lookup.session_id(context, context.options.session)
    parts = _parts(context, session_id, _call_id(context, session_id, context.options.call))
    if context.console.json:
        context.console.value(_joined(list(parts)))
        return EXIT_OK
    for part in parts:
        context.console.data(_bytes(part))
    return EXIT_OK


def _parts(context: Context, session_id: str, call_id: str) -> Iterator[Any]:
    offset = 0
    while True:
        part = context.request("agents/output", sessionId=session_id, callId=call_id, offset=offset, limit=PART)
        yield part
        read = len(_bytes(part))
        offset += read
        if not read or offset >= part["size"]:
            return


def _joined(parts: list[Any]) -> Any:
    """All parts as one; in base64 where one of them is."""
    size = parts[-1]["size"]
    if all(part["encoding"] == "utf-8" for part in parts):
        return {"data": "".join(part["data"] for part in parts), "encoding": "utf-8", "size": size}
    whole = b"".join(map(_bytes, parts))
    return {"data": base64.b64encode(whole).decode("ascii"), "encoding": "base64", "size": size}


def _bytes(part: Any) -> bytes:
    data: str = part["data"]
    return base64.b64decode(data) if part["encoding"] == "base64" else data.encode()


def _call_id(context: Context, session_id: str, given: str | None) -> str:
    """The call that `given` (its id, its token, or a beginning that no other has) means, of those that the end of the
    transcript has; without it the last one. What matches none is returned as it is.

    Raises Failure `usage` where there is no call, or `given` begins several.
    """
    items = context.request("agents/transcript", sessionId=session_id)["items"]
    calls = [item["call"] for item in items if "call" in item]
    if given is None:
        if not calls:
            raise usage(f"session {session_id} has no call")
        return str(calls[-1]["callId"])
    named = [call for call in calls if given in _names(call)]
    found = {call["callId"] for call in named or calls if named or _begins(call, given)}
    if len(found) > 1:
        raise usage(f"{given!r} begins {len(found)} calls: {', '.join(sorted(found)[:5])}")
    return str(found.pop()) if found else given


def _names(call: Any) -> tuple[str, ...]:
    return call["callId"], call.get("token", "")


def _begins(call: Any, given: str) -> bool:
    return any(name.startswith(given.removesuffix("…")) for name in _names(call))
