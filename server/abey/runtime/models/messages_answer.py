"""Answers of Anthropic's Messages."""

import json
from collections.abc import Mapping
from typing import Any

from abey.core.conversation import ModelAnswer
from abey.errors import ModelFailed
from abey.protocol.session import Usage
from abey.runtime.models.drafting import Draft, DraftBlock, DraftCall, count_in, dict_in, list_in, text_in
from abey.runtime.models.failures import cut_off
from abey.runtime.ports import OnDelta


class MessagesAnswer:
    """A bodies.Assembly. Blocks of kinds that it does not know, such as those of tools of the server, are passed over.

    A second `message_start` begins the answer again: what came before belongs to an answer that was given up.
    """

    def __init__(self, origin: str, on_delta: OnDelta) -> None:
        self.done = False
        self._origin, self._on_delta = origin, on_delta
        self._begin()

    def event(self, name: str, value: Mapping[str, Any]) -> None:
        match value.get("type", name):
            case "message_start":
                self._begin()
                self._message(dict_in(value.get("message")))
            case "content_block_start":
                self._start(_index(value), dict_in(value.get("content_block")))
            case "content_block_delta":
                self._delta(_index(value), dict_in(value.get("delta")))
            case "message_delta":
                self._message({**dict_in(value.get("delta")), "usage": value.get("usage")})
            case "message_stop":
                self.done = True

    def whole(self, value: Mapping[str, Any]) -> None:
        content = value.get("content")
        if not isinstance(content, list):
            raise ModelFailed("invalid-output", "the answer is no message: it has no content")
        self._message({name: found for name, found in value.items() if name != "content"})
        for index, block in enumerate(content):
            if isinstance(block, dict):
                self._start(index, block)
        self.done = True

    def answer(self) -> ModelAnswer:
        if self._reason is None:
            raise cut_off("no reason for its end was given")
        self._draft.refused = self._reason == "refusal"
        self._draft.usage = _usage(self._counted)
        return self._draft.answer(self._reason)

    def _begin(self) -> None:
        self._draft = Draft(self._origin, self._on_delta)
        self._open: dict[Any, DraftBlock | DraftCall] = {}
        self._reason: str | None = None
        self._counted: dict[str, Any] = {}

    def _message(self, message: Mapping[str, Any]) -> None:
        self._draft.signed(message.get("model"))
        if message.get("stop_reason"):
            self._reason = str(message["stop_reason"])
        usage = message.get("usage")
        if isinstance(usage, dict):
            self._counted |= {name: found for name, found in usage.items() if found is not None}
        for index, block in enumerate(list_in(message.get("content"))):
            if isinstance(block, dict):
                self._start(index, block)

    def _start(self, index: Any, block: Mapping[str, Any]) -> None:
        match block.get("type"):
            case "text":
                self._begin_block(index, DraftBlock("text"), text_in(block.get("text")))
            case "thinking":
                thinking = DraftBlock("thinking", signature=text_in(block.get("signature")))
                self._begin_block(index, thinking, text_in(block.get("thinking")))
            case "redacted_thinking":
                redacted = DraftBlock("thinking", opaque={"redacted": text_in(block.get("data"))})
                self._begin_block(index, redacted, "")
            case "tool_use":
                asked = block.get("input")
                call = DraftCall(text_in(block.get("id")), text_in(block.get("name")))
                call.pieces.extend([json.dumps(asked, ensure_ascii=False)] if asked else [])
                self._draft.calls.append(call)
                self._open[index] = call
            case _:
                self._open.pop(index, None)

    def _begin_block(self, index: Any, block: DraftBlock, piece: str) -> None:
        self._draft.blocks.append(block)
        self._open[index] = block
        self._draft.append(block, piece)

    def _delta(self, index: Any, delta: Mapping[str, Any]) -> None:
        opened = self._open.get(index)
        match delta.get("type"), opened:
            case "text_delta", DraftBlock(kind="text"):
                self._draft.append(opened, text_in(delta.get("text")))
            case "thinking_delta", DraftBlock(kind="thinking"):
                self._draft.append(opened, text_in(delta.get("thinking")))
            case "signature_delta", DraftBlock():
                opened.signature += text_in(delta.get("signature"))
            case "input_json_delta", DraftCall():
                opened.pieces.append(text_in(delta.get("partial_json")))


def _index(value: Mapping[str, Any]) -> int:
    index = value.get("index")
    return index if isinstance(index, int) else 0


def _usage(counted: Mapping[str, Any]) -> Usage:
    """Input is all that was read, as elsewhere: what came out of the cache and went into it included."""
    cached = count_in(counted, "cache_read_input_tokens")
    written = count_in(counted, "cache_creation_input_tokens") or 0
    return Usage(
        input_tokens=(count_in(counted, "input_tokens") or 0) + (cached or 0) + written,
        output_tokens=count_in(counted, "output_tokens") or 0,
        cached_tokens=cached,
        reasoning_tokens=count_in(counted.get("output_tokens_details"), "thinking_tokens"),
    )
