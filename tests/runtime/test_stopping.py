"""A turn that is ended while the disk is slow, or what works for it does not listen, is over all the same."""

import asyncio
import errno
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.shell import CLIENT, Shell, answer, outcome
from support.world import text_parts

from abey.core import events as e
from abey.core.call import Call
from abey.core.conversation import ModelAnswer, ModelRequest
from abey.core.hashes import proposed_hash
from abey.core.session import AnswerEntry
from abey.errors import RecordFailed, SessionStopped
from abey.protocol import outcomes as o
from abey.runtime.live import Live
from abey.runtime.models.strictness import fault_of
from abey.runtime.ports import OnDelta
from abey.runtime.store.faults import Fault, FaultyIO
from abey.runtime.store.io import FileIO

DONE = answer(text="done")
GRACE = 10.0
CANCEL = e.Cancel(None, None, CLIENT)
STOP = e.Stop(None, CLIENT)


class SlowIO(FileIO):
    """The write of that number waits until it is let go; `held` once it does."""

    def __init__(self, number: int) -> None:
        super().__init__("process")
        self.left = number
        self.held, self.gate = threading.Event(), threading.Event()

    def write(self, descriptor: int, data: memoryview) -> int:
        self.left -= 1
        if self.left == 0:
            self.held.set()
            self.gate.wait(10)
        return super().write(descriptor, data)


class DeafModel:
    """Answers when `gate` is open, whatever happens meanwhile; what it is asked after that it answers at once. Refuses
    a history in which a call is not closed once."""

    def __init__(self, late: ModelAnswer = DONE) -> None:
        self.late = late
        self.gate = asyncio.Event()
        self.asked = 0

    async def ask(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        assert fault_of(request) is None
        self.asked += 1
        if self.asked > 1:
            return DONE
        while not self.gate.is_set():
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                continue
        return self.late


@asynccontextmanager
async def quiet(shell: Shell) -> AsyncIterator[None]:
    """Afterwards nothing is left of what was begun within."""
    before = asyncio.all_tasks()
    yield
    await shell.scheduler.close()
    await shell.until(lambda: not [task for task in asyncio.all_tasks() - before if not task.done()])


def calls_of(live: Live) -> list[Call]:
    entries = [entry for turn in live.machine.session.turns for entry in turn.entries]
    return [call for entry in entries if isinstance(entry, AnswerEntry) for call in entry.calls]


def records(live: Live) -> list[str]:
    text = live.journal.path.read_text(encoding="ascii")
    return [line.split('"type":"')[-1].split('"')[0] for line in text.splitlines()]


async def sent(shell: Shell, live: Live, prompt: str = "go on") -> Any:
    new = e.NewInput(text_parts(prompt))
    return await shell.scheduler.submit(live, e.Send(new, e.UNTIL_YIELD, CLIENT))


async def replays(shell: Shell, live: Live) -> None:
    """What the journal tells is what the session in memory is."""
    await shell.scheduler.close()
    again = Shell(shell.store.state_dir, [])
    loaded = await again.sessions.get(live.id)
    assert loaded.machine.session == live.machine.session
    await again.scheduler.close()


ACTS = {
    "cancel": (CANCEL,),
    "stop": (STOP,),
    "cancel and stop": (CANCEL, STOP),
    "stop and cancel": (STOP, CANCEL),
    "two stops": (STOP, STOP),
    "input and cancel": (e.Send(e.NewInput(text_parts("and this")), e.UNTIL_YIELD, CLIENT), CANCEL),
    "input and stop": (e.Send(e.NewInput(text_parts("and this")), e.UNTIL_YIELD, CLIENT), STOP),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("number", range(3, 9))
async def test_whatever_is_being_saved_the_turn_ends_after_it_and_the_next_one_begins(
    tmp_path: Path, number: int, act: str
) -> None:
    asked = answer(("c1", "run", "{}"), ("c2", "bg", "{}"), ("c3", "safe", "{}"))
    io = SlowIO(number)
    shell = Shell(tmp_path, [asked, DONE, DONE, DONE], io=io)
    async with quiet(shell):
        live = (await shell.start()).live
        run = asyncio.create_task(shell.drive(live, e.UNTIL_TURN))
        await shell.until(io.held.is_set)
        acts = [asyncio.create_task(shell.scheduler.submit(live, one)) for one in ACTS[act]]
        await asyncio.sleep(0)
        io.gate.set()
        results = await asyncio.gather(*acts, return_exceptions=True)
        assert all(isinstance(one, SessionStopped) or not isinstance(one, BaseException) for one in results)
        await asyncio.gather(run, return_exceptions=True)
        await shell.until(lambda: not live.machine.work.live and live.machine.work.closing is None)
        if "stop" in act:
            assert live.machine.session.stopped
            with pytest.raises(SessionStopped):
                await sent(shell, live)
        else:
            assert await outcome(await sent(shell, live)) in ("completed", "waiting")
        assert all(call.final for call in calls_of(live))
        finished = [one for one in records(live) if one == "call-finished"]
        assert len(finished) == len(calls_of(live))
        assert (live.tasks, live.questions, live.runs) == ({}, {}, {})
        await replays(shell, live)


@pytest.mark.parametrize("act", ["cancel", "stop", "cancel and stop", "stop and cancel"])
@pytest.mark.parametrize("late", [DONE, answer(("c9", "run", "{}"))], ids=["answer", "calls"])
async def test_a_model_that_does_not_listen_has_its_time_and_its_late_answer_is_nowhere(
    tmp_path: Path, act: str, late: ModelAnswer
) -> None:
    model = DeafModel(late)
    shell = Shell(tmp_path, [], model=model)
    async with quiet(shell):
        live = (await shell.start()).live
        run = await shell.drive(live, e.UNTIL_TURN)
        await shell.until(lambda: model.asked == 1)
        for one in ACTS[act]:
            await shell.scheduler.submit(live, one)
        assert live.machine.work.activity == "stopping"
        await shell.until(lambda: shell.clock.slept == [GRACE])
        shell.clock.advance(GRACE)
        await outcome(run)
        if "stop" not in act:
            assert await outcome(await sent(shell, live)) == "completed"
        told = records(live)
        model.gate.set()
        await shell.until(lambda: shell.heard.notices)
        assert [one["type"] for one in shell.heard.notices] == ["stale-result"]
        assert (records(live), shell.tools.started, live.tasks) == (told, [], {})
        await replays(shell, live)


@pytest.mark.parametrize("act", ["cancel", "stop", "stop and cancel", "input and cancel"])
@pytest.mark.parametrize("name", ["run", "bg", "ask", "safe"])
async def test_a_tool_that_does_not_listen_has_its_time_and_its_late_result_is_nowhere(
    tmp_path: Path, act: str, name: str
) -> None:
    shell = Shell(tmp_path, [answer(("c1", name, "{}")), DONE, DONE])
    shell.tools.instant, shell.tools.stubborn = False, True
    async with quiet(shell):
        live = (await shell.start()).live
        await shell.drive(live, e.UNTIL_TURN)
        if name == "ask":
            await shell.until(lambda: [call.state for call in calls_of(live)] == ["deferred"])
            await approve(shell, live)
        await shell.until(lambda: shell.tools.started == [name])
        for one in ACTS[act]:
            await shell.scheduler.submit(live, one)
        await shell.until(lambda: GRACE in shell.clock.slept)
        shell.clock.advance(GRACE)
        await shell.until(lambda: live.machine.work.closing is None)
        [call] = calls_of(live)
        assert (call.state, call.may_have_run) == ("cancelled", True)
        if "stop" in act:
            assert live.machine.session.stopped
        else:
            await shell.until(lambda: live.machine.work.phase == "none" and not live.machine.session.queue)
            assert await outcome(await sent(shell, live)) == "completed"
        told = records(live)
        shell.tools.end(name, "late")
        await shell.until(lambda: shell.heard.notices)
        assert [one["type"] for one in shell.heard.notices] == ["stale-result"]
        assert (records(live), "late" in live.journal.path.read_text(), live.tasks) == (told, False, {})
        await replays(shell, live)


async def approve(shell: Shell, live: Live) -> None:
    [call] = calls_of(live)
    assert call.verdict is not None
    shown = proposed_hash(live.machine.session, call)
    await shell.scheduler.submit(live, e.Complete(call.verdict.token, o.Approve(), shown, CLIENT))


async def test_what_ends_within_the_grace_is_kept_and_nothing_is_left_to_wait_for(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [answer(("c1", "run", "{}"), ("c2", "safe", "{}")), DONE])
    shell.tools.instant, shell.tools.stubborn = False, True
    async with quiet(shell):
        live = (await shell.start()).live
        run = await shell.drive(live, e.UNTIL_TURN)
        await shell.until(lambda: len(shell.tools.started) == 2)
        await shell.scheduler.submit(live, CANCEL)
        shell.tools.end("run", "in time")
        shell.tools.end("safe", "in time, too")
        assert await outcome(run) == "cancelled"
        assert [(call.state, call.finished and call.finished.output) for call in calls_of(live)] == [
            ("completed", "in time"),
            ("completed", "in time, too"),
        ]
        shell.clock.advance(GRACE)
        assert await outcome(await sent(shell, live)) == "completed"
        assert shell.heard.notices == []


async def test_the_grace_of_a_cancel_ends_no_later_turn(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [answer(("c1", "run", "{}")), answer(("c2", "safe", "{}")), DONE])
    shell.tools.instant = False
    async with quiet(shell):
        live = (await shell.start()).live
        await shell.drive(live, e.UNTIL_TURN)
        await shell.until(lambda: shell.tools.started == ["run"])
        await shell.scheduler.submit(live, CANCEL)
        await shell.until(lambda: live.machine.session.state == "completed")
        run = await sent(shell, live)
        await shell.until(lambda: shell.tools.started == ["run", "safe"])
        shell.clock.advance(GRACE)
        await asyncio.sleep(0)
        shell.tools.end("safe", "whole")
        assert await outcome(run) == "completed"
        assert [call.state for call in calls_of(live)] == ["cancelled", "completed"]


@pytest.mark.parametrize("act", [CANCEL, STOP], ids=["cancel", "stop"])
async def test_an_end_that_cannot_be_written_is_no_end_and_after_a_reopen_it_can_be_made(
    tmp_path: Path, act: e.Command
) -> None:
    io = FaultyIO()
    shell = Shell(tmp_path, [answer(("c1", "run", "{}")), DONE], io=io)
    shell.tools.instant = False
    async with quiet(shell):
        live = (await shell.start()).live
        run = await shell.drive(live, e.UNTIL_TURN)
        await shell.until(lambda: shell.tools.started == ["run"])
        io.fault = Fault(len(io.calls), errno.ENOSPC, sticky=True)
        await shell.scheduler.submit(live, act)
        with pytest.raises(RecordFailed):
            await outcome(run)
        await shell.until(lambda: shell.tools.running == 0)
        io.fault = None
        again, applied = await shell.sessions.reopen("s1")
        assert (applied, [call.state for call in calls_of(again)]) == (True, ["uncertain"])
        await shell.scheduler.submit(again, act)
        assert [(call.state, call.may_have_run) for call in calls_of(again)] == [("cancelled", True)]
        assert again.machine.session.stopped == (act is STOP)
        await replays(shell, again)


@dataclass
class Diary:
    """A KeptOpen that writes down what it is told."""

    told: list[str] = field(default_factory=list)

    def abort(self, session_id: str) -> None:
        self.told.append(f"abort {session_id}")

    def holds(self, session_id: str) -> bool:
        return False

    async def release(self, session_id: str) -> None:
        self.told.append(f"release {session_id}")

    async def close(self) -> None:
        self.told.append("close")


async def test_what_a_session_keeps_open_is_aborted_by_a_stop_at_once_and_let_go_after_it(tmp_path: Path) -> None:
    kept = Diary()
    shell = Shell(tmp_path, [answer(("c1", "run", "{}")), answer(("c2", "run", "{}"))], kept_open=kept)
    shell.tools.instant, shell.tools.stubborn = False, True
    async with quiet(shell):
        live = (await shell.start()).live
        await shell.drive(live, e.UNTIL_TURN)
        await shell.until(lambda: shell.tools.started == ["run"])
        await shell.scheduler.submit(live, CANCEL)
        assert kept.told == []
        await shell.scheduler.submit(live, STOP)
        assert kept.told == ["abort s1"]
        await shell.until(lambda: GRACE in shell.clock.slept)
        shell.clock.advance(GRACE)
        await shell.until(lambda: kept.told == ["abort s1", "release s1"])
        assert live.machine.session.stopped
        shell.tools.end("run")
    assert kept.told[-1] == "close"


async def test_what_a_session_keeps_open_is_let_go_when_a_write_fails(tmp_path: Path) -> None:
    kept, io = Diary(), FaultyIO()
    shell = Shell(tmp_path, [DONE], io=io, kept_open=kept)
    async with quiet(shell):
        live = (await shell.start()).live
        io.fault = Fault(len(io.calls), errno.ENOSPC, sticky=True)
        with pytest.raises(RecordFailed):
            await shell.drive(live)
        await shell.until(lambda: kept.told == ["release s1"])
