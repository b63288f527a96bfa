"""News of tools that run: pieces of their output and messages on their way to who is attached, a few at a time
(protocol.md, Notifications)."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from abey.core.session import Session, open_calls
from abey.daemon.streams import COALESCE_SECONDS, Send
from abey.runtime.ports import Progress

RATE = 64 * 1024
"""Characters a second of one call that clients are told, and that many at once after a silence: a person reads no more,
and `agents/output` has the rest."""

Key = tuple[str, str]
"""Of a session and a call."""


@dataclass(slots=True)
class _Stream:
    """Of one call: how much it has printed, what of it was not sent yet, and what else there is to tell."""

    size: int = 0
    unsent: list[str] = field(default_factory=list)
    in_unsent: int = 0
    message: Mapping[str, Any] | None = None
    allowed: float = RATE
    allowed_at: float = 0.0
    is_due: bool = False

    def add(self, text: str) -> None:
        self.size += len(text)
        self.unsent.append(text)
        self.in_unsent += len(text)
        if self.in_unsent > 2 * RATE:
            self.unsent = ["".join(self.unsent)[-RATE:]]
            self.in_unsent = RATE

    def take(self, now: float) -> tuple[int, str]:
        """What may be sent of it now, and where in the output that is: the end of it, where there is too much."""
        self.allowed = min(RATE, self.allowed + (now - self.allowed_at) * RATE)
        self.allowed_at = now
        text = "".join(self.unsent)
        text = text[max(len(text) - int(self.allowed), 0) :]
        self.allowed -= len(text)
        self.unsent, self.in_unsent = [], 0
        return self.size - len(text), text


def _seconds() -> float:
    """As the timers count them."""
    return asyncio.get_running_loop().time()


class ToolStreams:
    """Of all sessions. Counts also where nobody listens: somebody may join in the middle."""

    def __init__(
        self,
        send_text: Send,
        send_message: Send,
        seconds: float = COALESCE_SECONDS,
        now: Callable[[], float] = _seconds,
    ) -> None:
        """A piece of output goes to `send_text`, a message to `send_message`."""
        self._send_text = send_text
        self._send_message = send_message
        self._seconds = seconds
        self._now = now
        self._streams: dict[Key, _Stream] = {}

    def add(self, session_id: str, call_id: str, news: Progress) -> None:
        key = session_id, call_id
        stream = self._streams.setdefault(key, _Stream(allowed_at=self._now()))
        if news.text:
            stream.add(news.text)
        if news.message or news.done is not None:
            told = {"message": news.message or None, "progress": news.done, "total": news.total}
            stream.message = {name: value for name, value in told.items() if value is not None}
        if not stream.is_due:
            stream.is_due = True
            asyncio.get_running_loop().call_later(self._seconds, self._flush, key, stream)

    def changed(self, session: Session) -> None:
        """What was not sent of calls that run no more is not sent any more: their results are there."""
        if self._streams and (mine := self._of(session.id)):
            running = {call.call_id for call in open_calls(session) if call.state == "running"}
            for key in mine:
                if key[1] not in running:
                    del self._streams[key]

    def gone(self, session_id: str) -> None:
        """The session was deleted."""
        for key in self._of(session_id):
            del self._streams[key]

    def _of(self, session_id: str) -> list[Key]:
        return [key for key in self._streams if key[0] == session_id]

    def _flush(self, key: Key, stream: _Stream) -> None:
        stream.is_due = False
        if self._streams.get(key) is not stream:
            return
        session_id, call_id = key
        offset, text = stream.take(self._now())
        if text:
            piece = {"type": "tool/progress", "callId": call_id, "offset": offset, "text": text}
            self._send_text(session_id, piece)
        message, stream.message = stream.message, None
        if message:
            self._send_message(session_id, {"type": "tool/progress", "callId": call_id, **message})
