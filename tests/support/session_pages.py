"""Sessions as their documents see them, made of plain values; and an editor that asks about one document."""

from pathlib import Path
from typing import Any

from lsprotocol import types as lsp

from abey.language.language import Asker, Document
from abey.language.sessions.page import Before, Look, Page
from abey.language.text import Text
from abey.protocol.session import Session
from abey.protocol.transcript import Client, Item, Pending

AT = "2026-11-30T08:00:00.000Z"
FOLDER = Path("/state/documents")
ASKER = Asker(Client(id="e", name="editor", kind="lsp"), lsp.ClientCapabilities(), plain=True)
WHOLE = Before()
SCHEMA = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "description": "what the shell runs"},
        "mode": {"enum": ["fast", "slow"]},
        "deep": {"type": "object", "properties": {"on": {"type": "boolean"}}},
    },
    "required": ["command"],
    "additionalProperties": False,
}


def pending(call_id: str = "c1", kind: str = "approval", arguments: Any = None, **more: Any) -> Pending:
    """A call of `sh` that waits."""
    given = {
        "token": f"token-of-{call_id}",
        "sessionId": "s1",
        "turnId": "t1",
        "callId": call_id,
        "kind": kind,
        "tool": "sh",
        "title": "sh ls",
        "arguments": {"command": "ls"} if arguments is None else arguments,
        "argumentsHash": "0" * 64,
        "editable": kind == "approval",
        "cwd": "/work",
        "reason": "approval required",
        "createdAt": AT,
        **({"argumentsSchema": SCHEMA} if kind == "approval" else {}),
    }
    return Pending.model_validate({**given, **more})


def item(kind: str, turn: str = "t1", **more: Any) -> Item:
    return Item.model_validate({"itemId": "1.0", "revision": 1, "turnId": turn, "at": AT, "kind": kind, **more})


def said(text: str, turn: str = "t1") -> Item:
    """An input of the user."""
    return item("input", turn, parts=[{"kind": "text", "text": text}])


def call(
    call_id: str = "c1", state: str = "deferred", tool: str = "sh", arguments: Any = None, turn: str = "t1", **more: Any
) -> Item:
    shown = {"command": "ls"} if arguments is None else arguments
    return item("toolCall", turn, call={"callId": call_id, "tool": tool, "arguments": shown, "state": state, **more})


def page(*items: Item, waits: tuple[Pending, ...] = (), before: Before = WHOLE, **more: Any) -> Page:
    """A session in its first turn."""
    shown = {
        "sessionId": "s1",
        "agent": "a",
        "title": "a title",
        "cwd": "/work",
        "state": "partialUserTurn",
        "activity": "idle",
        "revision": 9,
        "turn": {"turnId": "t1", "n": 1, "startedAt": AT},
        "pending": waits,
        "drivenBy": "step",
        "executionMode": "asynchronous",
        "usage": {},
        "createdAt": AT,
        "updatedAt": AT,
        "configHash": "0" * 64,
        "configState": "ok",
    }
    return Page(Session.model_validate({**shown, **more}), items, FOLDER, before)


def looking(found: Page | None) -> Look:
    async def look(_: str) -> Page | None:
        return found

    return look


def document(text: str, name: str = "s1.abey.md") -> Document:
    path = FOLDER / name
    return Document(path.as_uri(), path, 1, Text(text))
