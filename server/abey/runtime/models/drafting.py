"""An answer while it is put together, piece by piece, whatever the provider's form."""

import json
from dataclasses import dataclass, field
from typing import Any

from abey.core.conversation import AskedCall, ModelAnswer
from abey.errors import ModelFailed
from abey.protocol.blocks import Block, TextBlock, ThinkingBlock
from abey.protocol.session import Usage
from abey.runtime.models.contents import mended
from abey.runtime.models.failures import finish_failure
from abey.runtime.ports import Delta, OnDelta

_STOPS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "completed": "stop",
    "eos": "stop",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
}


LONGEST_NAME = 256


@dataclass(slots=True)
class DraftBlock:
    """`opaque` is what the provider wants back, beside the signature."""

    kind: str
    pieces: list[str] = field(default_factory=list)
    signature: str = ""
    opaque: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@dataclass(slots=True)
class DraftCall:
    id: str = ""
    tool: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


class Shown:
    """Passes pieces on, each of whole characters: the first half of a surrogate pair waits for the second."""

    def __init__(self, on_delta: OnDelta) -> None:
        self._on_delta = on_delta
        self._held = ""

    def show(self, kind: str, piece: str) -> None:
        if self._held or not piece.isascii():
            piece, self._held = self._held + piece, ""
            if "\ud800" <= piece[-1] <= "\udbff":
                piece, self._held = piece[:-1], piece[-1]
            piece = mended(piece)
        if piece:
            self._on_delta(Delta(kind, piece))


class Draft:
    """Pieces of text and thinking go to `on_delta` as they come; `answer` is the whole, once it is whole."""

    def __init__(self, origin: str, on_delta: OnDelta) -> None:
        self.origin = origin
        self.blocks: list[DraftBlock] = []
        self.calls: list[DraftCall] = []
        self.usage = Usage()
        self.refused = False
        self.model: str | None = None
        self._shown = Shown(on_delta)

    def add(self, kind: str, piece: str) -> None:
        """A piece of `text` or `thinking`, after what there is."""
        if not piece:
            return
        if not self.blocks or self.blocks[-1].kind != kind:
            self.blocks.append(DraftBlock(kind))
        self.append(self.blocks[-1], piece)

    def append(self, block: DraftBlock, piece: str) -> None:
        if piece:
            block.pieces.append(piece)
            self._shown.show("answer" if block.kind == "text" else "thinking", piece)

    def signed(self, name: Any) -> None:
        """By the model that the provider names, if it does."""
        self.model = mended(text_in(name)[:LONGEST_NAME]) or self.model

    def answer(self, reason: str | None) -> ModelAnswer:
        """The answer that ended for `reason`, in the provider's word or None.

        Raises ModelFailed: `invalid-output` where it was cut inside a call, and what `reason` itself says.
        """
        failure = finish_failure(reason or "")
        if failure is not None:
            raise failure
        finish = self._finish(reason)
        if not self.refused and (finish not in ("stop", "tool_calls") or not reason):
            self._refuse_half_calls()
        calls = tuple(
            AskedCall(mended(call.id) or f"call_{at}", mended(call.tool), mended(call.arguments) or "{}")
            for at, call in enumerate(self.calls, 1)
        )
        own = () if self.refused else calls
        return ModelAnswer(tuple(self._made()), own, finish, self.usage, model=self.model)

    def _finish(self, reason: str | None) -> str:
        if self.refused:
            return "refusal"
        finish = _STOPS.get(reason or "stop", reason or "stop")
        return "tool_calls" if self.calls and finish == "stop" else finish

    def _refuse_half_calls(self) -> None:
        for call in self.calls:
            if not call.tool or not is_json(call.arguments):
                raise ModelFailed("invalid-output", "the answer was cut inside a tool call")

    def _made(self) -> list[Block]:
        made: list[Block] = []
        for block in self.blocks:
            if block.kind == "text":
                made.extend([TextBlock(text=mended(block.text))] if block.text else [])
            elif block.text or block.signature or block.opaque:
                made.append(self._thinking(block))
        return made

    def _thinking(self, block: DraftBlock) -> ThinkingBlock:
        opaque = {"origin": self.origin, **mended(block.opaque)} if block.opaque or block.signature else None
        return ThinkingBlock(text=mended(block.text), signature=mended(block.signature) or None, opaque=opaque)


def is_json(text: str) -> bool:
    """Whether `text` is one JSON value."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def text_in(value: Any) -> str:
    """`value` where it is a text, else ""."""
    return value if isinstance(value, str) else ""


def list_in(value: Any) -> list[Any]:
    """`value` where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def dict_in(value: Any) -> dict[str, Any]:
    """`value` where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def count_in(value: Any, *names: str) -> int | None:
    """The number of tokens that `value` has under the first of `names` that is one."""
    for name in names:
        found = value.get(name) if isinstance(value, dict) else None
        if isinstance(found, int | float) and not isinstance(found, bool) and found >= 0:
            return int(found)
    return None


def amount_in(value: Any) -> float | None:
    """What an answer cost, where the provider says it."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")
    return float(value) if good else None


def arguments_in(value: Any) -> str:
    """The text of a call's arguments, which some servers send as a value, or not at all."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
