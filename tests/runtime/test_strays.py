"""What comes out of a model or a tool that nobody has told to end: an error, a cancellation of its own, a group."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest
from support.shell import Shell, answer, outcome

from abey.core.agent import Tool
from abey.core.conversation import ModelAnswer, ModelRequest, ToolOutcome
from abey.core.events import UNTIL_TURN
from abey.errors import RecordFailed
from abey.protocol.transcript import Question
from abey.runtime.ports import OnDelta, ToolCall

DONE = answer(text="done")
STRAYS = [
    ValueError("secret"),
    asyncio.CancelledError("a library cancels what it began"),
    BaseExceptionGroup("a library gathers what it began", [asyncio.CancelledError()]),
]

each = pytest.mark.parametrize("stray", STRAYS, ids=lambda stray: type(stray).__name__)


class Raising:
    """A tool, and a model whose first try fails."""

    def __init__(self, stray: BaseException) -> None:
        self.stray: BaseException | None = stray

    async def run(self, tool: Tool, call: ToolCall) -> ToolOutcome:
        assert self.stray is not None
        raise self.stray

    async def ask(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        stray, self.stray = self.stray, None
        if stray is not None:
            raise stray
        return DONE


@each
@pytest.mark.parametrize("tool", ["run", "bg"])
async def test_whatever_a_tool_raises_is_its_result_and_the_turn_goes_on(
    tmp_path: Path, stray: BaseException, tool: str
) -> None:
    shell = Shell(tmp_path, [answer(("c1", tool, "{}")), DONE], tools=Raising(stray))
    started = await shell.start(run=UNTIL_TURN)
    assert await outcome(started) == "completed"
    live = started.live
    [call] = live.machine.session.turns[0].entries[1].calls
    assert call.finished is not None
    assert (call.finished.outcome, call.finished.error, call.finished.output) == (
        "failed",
        "tool/failed",
        "tool/failed: internal error",
    )
    assert live.machine.session.turns[0].end == "answered"


@each
async def test_whatever_a_model_raises_is_a_failed_try_and_the_next_step_asks_again(
    tmp_path: Path, stray: BaseException
) -> None:
    shell = Shell(tmp_path, [], model=Raising(stray))
    live = (await shell.start()).live
    submitted = await shell.drive(live)
    assert submitted.run is not None
    ended = await asyncio.wait_for(asyncio.shield(submitted.run), 10)
    assert ended.error is not None and ended.error.data["kind"] == "model/transient"
    assert (live.machine.session.state, live.machine.work.activity) == ("userTurn", "idle")
    assert await outcome(await shell.drive(live)) == "completed"


class AskingLate:
    """A tool that ignores its abort and asks a person then."""

    def __init__(self) -> None:
        self.begun, self.answers = asyncio.Event(), list[object]()

    async def run(self, tool: Tool, call: ToolCall) -> ToolOutcome:
        self.begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        self.answers.append(await call.ask(Question(kind="approval", prompt="now?")))
        return ToolOutcome("late")


async def test_a_tool_that_asks_after_its_session_has_failed_is_answered_by_nobody(tmp_path: Path) -> None:
    tool = AskingLate()
    shell = Shell(tmp_path, [answer(("c1", "run", "{}"))], tools=tool)
    started = await shell.start(run=UNTIL_TURN)
    await asyncio.wait_for(tool.begun.wait(), 10)
    [task] = started.live.tasks.values()
    shell.scheduler._fail_stop(started.live, RecordFailed("the disk is full"))
    await asyncio.wait_for(task, 10)
    assert tool.answers == [None]
