"""Answers of Chat Completions, OpenAI's and those of the many servers that are nearly like it."""

from collections.abc import Mapping
from typing import Any

from abey.core.conversation import ModelAnswer
from abey.errors import ModelFailed
from abey.protocol.session import Usage
from abey.runtime.models.drafting import (
    Draft,
    DraftBlock,
    DraftCall,
    amount_in,
    arguments_in,
    count_in,
    list_in,
    text_in,
)
from abey.runtime.models.failures import cut_off
from abey.runtime.ports import OnDelta

REASONING_FIELDS = ("reasoning_content", "reasoning")


class ChatAnswer:
    """A bodies.Assembly. Only the first choice counts.

    The end is a reason, or `[DONE]`: some servers never say the one, and some never the other.
    """

    def __init__(self, origin: str, on_delta: OnDelta) -> None:
        self.done = False
        self._draft = Draft(origin, on_delta)
        self._by_index: dict[int, DraftCall] = {}
        self._reason: str | None = None
        self._begun = False

    def event(self, name: str, value: Mapping[str, Any]) -> None:
        if name == "[DONE]":
            self.done = True
            return
        self._draft.signed(value.get("model"))
        self._usage(value)
        for choice in list_in(value.get("choices")):
            if isinstance(choice, dict) and not choice.get("index"):
                self._choice(choice, choice.get("delta") or choice.get("message"))

    def whole(self, value: Mapping[str, Any]) -> None:
        self._draft.signed(value.get("model"))
        self._usage(value)
        choices = value.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise ModelFailed("invalid-output", "the answer is no chat completion: it has no choices")
        self._choice(choices[0], choices[0].get("message"))
        self.done = True

    def answer(self) -> ModelAnswer:
        if not self._begun or (self._reason is None and not self.done):
            raise cut_off("no reason for its end was given")
        return self._draft.answer(self._reason)

    def _choice(self, choice: Mapping[str, Any], said: Any) -> None:
        self._begun = True
        if isinstance(said, dict):
            self._said(said)
        if choice.get("finish_reason"):
            self._reason = str(choice["finish_reason"])

    def _said(self, said: Mapping[str, Any]) -> None:
        content = said.get("content")
        if "reasoning" in said or "reasoning_content" in said or "reasoning_details" in said:
            self._reasoning(said)
        if isinstance(content, str):
            self._draft.add("text", content)
        elif isinstance(content, list):
            for part in content:
                self._part(part)
        if said.get("refusal"):
            self._draft.refused = True
            self._draft.add("text", text_in(said["refusal"]))
        if said.get("tool_calls"):
            for position, call in enumerate(list_in(said["tool_calls"])):
                if isinstance(call, dict):
                    self._call(call, position)

    def _reasoning(self, said: Mapping[str, Any]) -> None:
        """One of the two fields, and the details that OpenRouter wants back."""
        field = next((name for name in REASONING_FIELDS if said.get(name) and isinstance(said[name], str)), None)
        details = said.get("reasoning_details")
        if field is not None:
            self._draft.add("thinking", said[field])
            self._draft.blocks[-1].opaque.setdefault("field", field)
        if not isinstance(details, list) or not details:
            return
        if field is None:
            for detail in details:
                self._draft.add("thinking", text_in(detail.get("text")) if isinstance(detail, dict) else "")
        _keep_details(self._thinking(), details)

    def _thinking(self) -> DraftBlock:
        """The block of thoughts that is open, or a new one."""
        if not self._draft.blocks or self._draft.blocks[-1].kind != "thinking":
            earlier = [block for block in self._draft.blocks if block.kind == "thinking"]
            if earlier:
                return earlier[-1]
            self._draft.blocks.append(DraftBlock("thinking"))
        return self._draft.blocks[-1]

    def _part(self, part: Any) -> None:
        """A typed part of the content, as Mistral sends them."""
        if not isinstance(part, dict):
            self._draft.add("text", text_in(part))
        elif part.get("type") == "thinking":
            thinking = part.get("thinking")
            for piece in thinking if isinstance(thinking, list) else [thinking]:
                self._draft.add("thinking", text_in(piece.get("text") if isinstance(piece, dict) else piece))
        else:
            self._draft.add("text", text_in(part.get("text")))

    def _call(self, said: Mapping[str, Any], position: int) -> None:
        function = said.get("function")
        function = function if isinstance(function, dict) else {}
        name, call_id = text_in(function.get("name")), text_in(said.get("id"))
        call = self._find(said.get("index"), position, call_id, name)
        call.id = call.id or call_id
        if name != call.tool and not call.pieces:
            call.tool += name
        piece = arguments_in(function.get("arguments"))
        if piece:
            call.pieces.append(piece)

    def _find(self, index: Any, position: int, call_id: str, name: str) -> DraftCall:
        """The call that a piece belongs to. A new id together with a name begins another one, whatever the index."""
        if not isinstance(index, int):
            index = len(self._by_index) if call_id and name else max(len(self._by_index) - 1, position)
        known = self._by_index.get(index)
        if known is None or (call_id and name and known.id and call_id != known.id):
            known = DraftCall()
            self._by_index[index] = known
            self._draft.calls.append(known)
        return known

    def _usage(self, value: Mapping[str, Any]) -> None:
        usage = value.get("usage")
        if usage is None and "x_groq" in value:
            usage = value["x_groq"].get("usage") if isinstance(value["x_groq"], dict) else None
        if isinstance(usage, dict):
            cached = count_in(usage.get("prompt_tokens_details"), "cached_tokens")
            self._draft.usage = Usage(
                input_tokens=count_in(usage, "prompt_tokens") or 0,
                output_tokens=count_in(usage, "completion_tokens") or 0,
                cached_tokens=count_in(usage, "cached_tokens", "prompt_cache_hit_tokens") if cached is None else cached,
                reasoning_tokens=count_in(usage.get("completion_tokens_details"), "reasoning_tokens"),
                cost=amount_in(usage.get("cost")),
            )


def _keep_details(block: DraftBlock, details: list[Any]) -> None:
    """Adds to the details of `block`: pieces of the same detail are put together."""
    kept: list[dict[str, Any]] = block.opaque.setdefault("reasoning_details", [])
    for detail in details:
        if not isinstance(detail, dict):
            continue
        last = kept[-1] if kept else {}
        if (last.get("type"), last.get("index")) != (detail.get("type"), detail.get("index")):
            kept.append(dict(detail))
            continue
        for name, piece in detail.items():
            glued = name in ("text", "summary", "data") and isinstance(piece, str) and isinstance(last.get(name), str)
            if glued:
                last[name] += piece
            elif piece:
                last[name] = piece
