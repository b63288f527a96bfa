"""The method that reads the whole output of a call, a part at a time."""

import asyncio
import base64
import codecs
import json

from abey.core.call import Call
from abey.core.history import result_of
from abey.core.session import AnswerEntry, Session
from abey.daemon.services import Services
from abey.errors import InvalidArguments, InvalidState
from abey.protocol import upkeep as u
from abey.protocol.base import Json
from abey.protocol.journal import BlobRef
from abey.rpc.peer import Peer
from abey.runtime.live import Live
from abey.runtime.store.store import Store


class Outputs:
    """A handler. It changes nothing, and a damaged session is read as far as it can be looked at."""

    def __init__(self, services: Services, store: Store) -> None:
        self._services = services
        self._store = store

    async def output(self, _: Peer, params: u.OutputParams) -> u.OutputResult:
        """Of a call that runs, or may have run, what there is so far. Raises InvalidArguments for a call that is not
        there, InvalidState for one that was not started yet, and SessionDamaged where the output is lost."""
        machine, _damage = await self._services.sessions.look(params.session_id)
        call = _call(machine.session, params.call_id)
        if not call.final and call.started is None:
            raise InvalidState(f"call {call.call_id} has no output yet: it is {call.state}", state=call.state)
        if not call.final:
            content = self._so_far(params).encode()
            return _result(content[params.offset : params.offset + params.limit], params.offset, len(content))
        whole = call.finished.whole if call.finished else None
        if whole is None:
            content = _bytes(result_of(call).content)
            return _result(content[params.offset : params.offset + params.limit], params.offset, len(content))
        part = await asyncio.to_thread(self._part, params, whole)
        return _result(part, params.offset, whole.bytes)

    def _so_far(self, params: u.OutputParams) -> str:
        entry = self._services.sessions.peek(params.session_id)
        return entry.printed().get(params.call_id, "") if isinstance(entry, Live) else ""

    def _part(self, params: u.OutputParams, whole: BlobRef) -> bytes:
        return self._store.read_blob(params.session_id, whole, params.offset, params.limit)


def _call(session: Session, call_id: str) -> Call:
    for turn in reversed(session.turns):
        for entry in turn.entries:
            for call in entry.calls if isinstance(entry, AnswerEntry) else ():
                if call.call_id == call_id:
                    return call
    raise InvalidArguments(f"session {session.id} has no call {call_id}", errors=["callId is unknown"])


def _bytes(content: Json) -> bytes:
    """What the model was told, as bytes: a text in UTF-8, anything else as JSON."""
    text = content if isinstance(content, str) else json.dumps(content, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def _result(part: bytes, offset: int, size: int) -> u.OutputResult:
    text = _text(part, is_last=offset + len(part) >= size)
    if text is None:
        return u.OutputResult(data=base64.b64encode(part).decode("ascii"), encoding="base64", size=size)
    return u.OutputResult(data=text, encoding="utf-8", size=size)


def _text(part: bytes, *, is_last: bool) -> str | None:
    """The part without the beginning of a character at its end, where more follows; None where it is no text."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(part, final=is_last)
    except UnicodeDecodeError:
        return None
    return text if text or not part else None
