"""Answers as they stream: pieces on their way to who listens, a few at a time (protocol.md, Notifications)."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from abey.runtime.ports import Delta

COALESCE_SECONDS = 0.05

Send = Callable[[str, dict[str, Any]], None]
"""(session id, event without a number): to everybody who asked for deltas of the session."""


@dataclass(slots=True)
class Stream:
    """The answer of one step: its item that grows now, how much of that came, and what of it is sent at `due`."""

    step_id: str
    index: int = -1
    kind: str = ""
    offset: int = 0
    unsent: list[str] = field(default_factory=list)
    due: float = 0.0


class Streams:
    """Of all sessions; each has at most one. Counts also where nobody listens: somebody may join in the middle."""

    def __init__(self, send: Send, seconds: float = COALESCE_SECONDS) -> None:
        self._send = send
        self._seconds = seconds
        self._streams: dict[str, Stream] = {}
        self._waiting: deque[tuple[float, str, Stream]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, session_id: str, step_id: str, delta: Delta) -> None:
        stream = self._streams.get(session_id)
        if stream is None or stream.step_id != step_id:
            stream = self._streams[session_id] = Stream(step_id)
        if delta.kind != stream.kind:
            self._flush(session_id, stream)
            stream.index, stream.kind, stream.offset = stream.index + 1, delta.kind, 0
        if not stream.unsent:
            self._will_be_due(session_id, stream)
        stream.unsent.append(delta.text)

    def end(self, session_id: str, but: str | None = None) -> None:
        """The answer is there, or void, unless it is that of the step `but`: what was not sent of it is not sent any
        more."""
        stream = self._streams.get(session_id)
        if stream is not None and stream.step_id != but:
            del self._streams[session_id]

    def _will_be_due(self, session_id: str, stream: Stream) -> None:
        """One timer for all: most answers end before one of their own, which would be set and cancelled for nothing."""
        stream.due = asyncio.get_running_loop().time() + self._seconds
        self._waiting.append((stream.due, session_id, stream))
        if self._timer is None:
            self._set_timer()

    def _set_timer(self) -> None:
        """For the first, since all wait equally long."""
        waits = bool(self._waiting)
        self._timer = asyncio.get_running_loop().call_at(self._waiting[0][0], self._flush_due) if waits else None

    def _flush_due(self) -> None:
        now = asyncio.get_running_loop().time()
        try:
            while self._waiting and self._waiting[0][0] <= now:
                due, session_id, stream = self._waiting.popleft()
                if stream.due == due and self._streams.get(session_id) is stream:
                    self._flush(session_id, stream)
        finally:
            self._set_timer()

    def _flush(self, session_id: str, stream: Stream) -> None:
        text = "".join(stream.unsent)
        stream.unsent.clear()
        if not text:
            return
        item_id = f"{stream.step_id}.{stream.index}"
        delta = {"type": "item/delta", "itemId": item_id, "kind": stream.kind, "offset": stream.offset, "text": text}
        stream.offset += len(text)
        self._send(session_id, delta)
