"""The model and the tool of the common work, behind our ports: their texts are those that everybody else has, too."""

import json
from typing import Any

from common import (  # type: ignore[import-not-found]  # the driver is somewhere else
    call_id,
    final_text,
    tool_args,
    tool_result,
)

from abey.core.agent import Agent, Tool
from abey.core.conversation import AskedCall, ModelAnswer, ModelRequest, ToolOutcome
from abey.protocol.blocks import TextBlock
from abey.protocol.session import Usage
from abey.runtime.ports import OnDelta, ToolCall

TRIES_A_TURN = 2


class Playing:
    """A Model of one session: a call, then an answer, and so on."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id

    async def ask(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        turn, is_answer = divmod(request.tries, TRIES_A_TURN)
        if is_answer:
            return ModelAnswer((TextBlock(text=final_text(turn)),), (), "stop", Usage())
        call = AskedCall(call_id(self._session_id, turn), "bash_command", json.dumps(tool_args(turn)))
        return ModelAnswer((), (call,), "tool_calls", Usage())


class Showing:
    """A ToolRunner that has the result of every turn."""

    async def run(self, tool: Tool, call: ToolCall) -> ToolOutcome:
        return ToolOutcome(tool_result(int(call.call_id.rpartition("_")[2])))


def models(_: Agent, session_id: str) -> Playing:
    """A ModelFactory."""
    return Playing(session_id)


def make_models(*_: Any) -> Any:
    """What a World makes models with."""
    return models
