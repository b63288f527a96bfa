"""Answers of OpenAI's Responses."""

from collections.abc import Mapping
from typing import Any

from abey.core.conversation import ModelAnswer
from abey.errors import ModelFailed
from abey.protocol.session import Usage
from abey.runtime.models.drafting import (
    Draft,
    DraftBlock,
    DraftCall,
    Shown,
    amount_in,
    arguments_in,
    count_in,
    list_in,
    text_in,
)
from abey.runtime.models.failures import cut_off, failure_of
from abey.runtime.ports import Delta, OnDelta

_ENDS = ("response.completed", "response.incomplete", "response.failed")
_DELTAS = {
    "response.output_text.delta": "answer",
    "response.refusal.delta": "answer",
    "response.reasoning_summary_text.delta": "thinking",
    "response.reasoning_text.delta": "thinking",
}


class ResponsesAnswer:
    """A bodies.Assembly. Deltas are only shown; what counts is the whole items, which come at the end of each."""

    def __init__(self, origin: str, on_delta: OnDelta) -> None:
        self.done = False
        self._origin, self._on_delta = origin, on_delta
        self._shown: Shown | None = None
        self._items: list[Mapping[str, Any]] = []
        self._response: Mapping[str, Any] = {}

    def event(self, name: str, value: Mapping[str, Any]) -> None:
        kind = text_in(value.get("type")) or name
        if kind in _DELTAS:
            piece = text_in(value.get("delta"))
            if piece:
                self._shown = self._shown or Shown(self._on_delta)
                self._shown.show(_DELTAS[kind], piece)
        elif kind == "response.output_item.done" and isinstance(value.get("item"), dict):
            self._items.append(value["item"])
        elif kind in _ENDS:
            self._end(value.get("response"), kind.removeprefix("response."))

    def whole(self, value: Mapping[str, Any]) -> None:
        if not isinstance(value.get("output"), list):
            raise ModelFailed("invalid-output", "the answer is no response: it has no output")
        self._end(value, "")

    def answer(self) -> ModelAnswer:
        if not self.done:
            raise cut_off("its end did not come")
        reason = self._reason()
        self._draft = Draft(self._origin, _ignore if self._shown else self._on_delta)
        self._draft.signed(self._response.get("model"))
        self._draft.usage = _usage(self._response.get("usage"))
        for item in list_in(self._response.get("output")) or self._items:
            if isinstance(item, dict):
                self._item(item)
        return self._draft.answer(reason)

    def _end(self, response: Any, status: str) -> None:
        found = response if isinstance(response, dict) else {}
        self._response = {**({"status": status} if status else {}), **found}
        self.done = True

    def _reason(self) -> str:
        """Why it ended. Raises ModelFailed for a response that failed."""
        status = self._response.get("status") or "completed"
        if status in ("failed", "cancelled"):
            raise failure_of(None, {"error": self._response.get("error") or f"the response is {status}"}, {})
        if status in ("queued", "in_progress"):
            raise ModelFailed("invalid-output", f"the response is {status}: it was to be waited for")
        details = self._response.get("incomplete_details")
        if status == "incomplete":
            return (text_in(details.get("reason")) if isinstance(details, dict) else "") or "length"
        return str(status)

    def _item(self, item: Mapping[str, Any]) -> None:
        match item.get("type"):
            case "message":
                self._message(item.get("content"))
            case "reasoning":
                self._reasoning(item)
            case "function_call":
                call = DraftCall(text_in(item.get("call_id")) or text_in(item.get("id")), text_in(item.get("name")))
                call.pieces.append(arguments_in(item.get("arguments")))
                self._draft.calls.append(call)

    def _message(self, content: Any) -> None:
        for part in [{"type": "output_text", "text": content}] if isinstance(content, str) else list_in(content):
            if not isinstance(part, dict):
                continue
            if part.get("type") == "refusal":
                self._draft.refused = True
                self._draft.add("text", text_in(part.get("refusal")))
            else:
                self._draft.add("text", text_in(part.get("text")))

    def _reasoning(self, item: Mapping[str, Any]) -> None:
        """One item, one block. `calls` is how many calls came before it: it has to go back to the same place."""
        block = DraftBlock("thinking")
        parts = list_in(item.get("summary")) or list_in(item.get("content"))
        texts = [text_in(part.get("text")) for part in parts if isinstance(part, dict)]
        if item.get("encrypted_content"):
            block.opaque = {"item": dict(item), "calls": len(self._draft.calls)}
        self._draft.blocks.append(block)
        self._draft.append(block, "\n\n".join(text for text in texts if text))


def _ignore(delta: Delta) -> None:
    """The pieces were shown as they came."""


def _usage(usage: Any) -> Usage:
    details = usage if isinstance(usage, dict) else {}
    return Usage(
        input_tokens=count_in(usage, "input_tokens", "prompt_tokens") or 0,
        output_tokens=count_in(usage, "output_tokens", "completion_tokens") or 0,
        cached_tokens=count_in(details.get("input_tokens_details"), "cached_tokens"),
        reasoning_tokens=count_in(details.get("output_tokens_details"), "reasoning_tokens"),
        cost=amount_in(details.get("cost")),
    )
