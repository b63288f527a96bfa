"""The body of an answer, fed in any pieces: server-sent events, or one JSON value, whichever it turns out to be."""

import json
from collections.abc import Mapping
from typing import Any, Protocol

from abey.core.conversation import ModelAnswer
from abey.errors import ModelFailed
from abey.runtime.models.failures import cut_off, failure_of
from abey.runtime.models.sse import SseDecoder, SseEvent

MOST_BYTES = 64 * 1024 * 1024
_BEFORE = b" \t\r\n\xef\xbb\xbf"
"""Blanks and the byte order mark."""


class Assembly(Protocol):
    """Puts an answer of one wire form together. `done`: nothing that may still come belongs to it."""

    done: bool

    def event(self, name: str, value: Mapping[str, Any]) -> None:
        """One event of a stream. Raises ModelFailed for one that tells of a failure."""
        ...

    def whole(self, value: Mapping[str, Any]) -> None:
        """An answer that was not streamed."""
        ...

    def answer(self) -> ModelAnswer:
        """Raises ModelFailed where no end was seen, or it was a bad one."""
        ...


class AnswerBody:
    """Sans-IO. A stream that ends early, wherever it was cut, is `transient`: never a part of an answer."""

    def __init__(self, assembly: Assembly, most: int = MOST_BYTES) -> None:
        self._assembly = assembly
        self._most = most
        self._sse = SseDecoder()
        self._json: list[bytes] | None = None
        self._begun = False
        self._size = 0

    @property
    def done(self) -> bool:
        """Whether the answer is whole, so that nothing more has to be read."""
        return self._assembly.done

    def feed(self, chunk: bytes) -> None:
        """Raises ModelFailed: what an event tells of, or `invalid-output` for what is no answer."""
        self._size += len(chunk)
        if self._size > self._most:
            raise ModelFailed("invalid-output", f"the answer is larger than {self._most} bytes")
        if not self._begun:
            chunk = chunk.lstrip(_BEFORE)
            if not chunk:
                return
            self._begun = True
            self._json = [] if chunk[:1] in b"{[<" else None
        if self._json is not None:
            self._json.append(chunk)
            return
        for event in self._sse.feed(chunk):
            self._take(event, last=False)

    def end(self) -> ModelAnswer:
        """The answer, when no byte comes any more. Raises ModelFailed."""
        if self._json is not None:
            self._assembly.whole(_object(b"".join(self._json)))
        elif not self._assembly.done:
            for event in self._sse.close():
                self._take(event, last=True)
        return self._assembly.answer()

    def _take(self, event: SseEvent, *, last: bool) -> None:
        if not event.data or self._assembly.done:
            return
        if event.data == "[DONE]":
            self._assembly.event("[DONE]", {})
            return
        try:
            value = json.loads(event.data)
        except (ValueError, RecursionError):
            if last:
                raise cut_off("its last event is not whole") from None
            if event.name == "error":
                raise failure_of(None, event.data, {}) from None
            raise ModelFailed("invalid-output", "an event of the answer is no JSON") from None
        if isinstance(value, dict):
            _refuse_errors(event.name, value)
            self._assembly.event(event.name, value)


def _refuse_errors(name: str, value: Mapping[str, Any]) -> None:
    """Raises ModelFailed for an error in mid-stream, in any of its forms (a `response.failed` has its own)."""
    kind = value.get("type")
    if name == "error" or kind == "error" or value.get("object") == "error":
        raise failure_of(None, value, {})
    if value.get("error") and (kind is None or "choices" in value):
        raise failure_of(None, value, {})
    if "detail" in value and len(value) == 1:
        raise failure_of(None, value, {})


def _object(data: bytes) -> Mapping[str, Any]:
    """The JSON object of a whole body. Raises ModelFailed."""
    try:
        value = json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        if data[:1] == b"<":
            raise ModelFailed("invalid-request", "the answer is a page of HTML; is baseUrl right?") from None
        raise cut_off("its JSON is not whole") from None
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = value[0]
    if not isinstance(value, dict):
        raise ModelFailed("invalid-output", "the answer is no JSON object")
    if value.get("error") and not value.get("output"):
        raise failure_of(None, value, {})
    if value.get("type") == "error" or value.get("object") == "error":
        raise failure_of(None, value, {})
    return value
