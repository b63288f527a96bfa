"""The scheduler: what it promises whatever clients, models, tools and disks do."""

import asyncio
import errno
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.shell import CLIENT, Shell, agent, answer, outcome, versioned
from support.world import TOOLS, keyed, tool

from abey.core import events as e
from abey.core.agent import Tool
from abey.core.call import Call
from abey.core.conversation import ToolOutcome
from abey.core.hashes import proposed_hash
from abey.errors import (
    DaemonDraining,
    InvalidState,
    ModelFailed,
    RecordFailed,
    RevisionConflict,
    SessionBusy,
    SessionDamaged,
)
from abey.protocol import outcomes as o
from abey.protocol.journal import Record
from abey.protocol.session import Damage
from abey.runtime.live import Live
from abey.runtime.parking import OPEN_JOURNALS
from abey.runtime.ports import Progress, ToolCall
from abey.runtime.recording import WRITERS
from abey.runtime.reviving import Broken
from abey.runtime.store.faults import Fault, FaultyIO
from abey.runtime.store.io import FileIO
from abey.runtime.store.journal import Journal

DONE = answer(text="done")


def types(live: Live) -> list[str]:
    text = live.journal.path.read_text(encoding="ascii")
    return [line.split('"type":"')[-1].split('"')[0] for line in text.splitlines()]


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def call(live: Live, name: str) -> Call:
    batch = live.machine.session.batch or live.machine.session.last_answer
    assert batch is not None
    return next(one for one in batch.calls if one.tool == name)


async def approve(shell: Shell, live: Live, name: str, *, resume: bool = False) -> None:
    one = call(live, name)
    assert one.verdict is not None
    event = e.Complete(one.verdict.token, o.Approve(), proposed_hash(live.machine.session, one), CLIENT, resume=resume)
    await shell.scheduler.submit(live, event)


async def test_a_turn_runs_from_prompt_to_answer_and_its_journal_tells_it(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [answer(("c1", "run", "{}")), DONE])
    started = await shell.start(run=e.UNTIL_YIELD)
    assert await outcome(started) == "completed"
    assert types(started.live) == [
        "created",
        "input",
        "model-requested",
        "candidate",
        "call-decided",
        "call-started",
        "call-finished",
        "tool-results",
        "model-requested",
        "candidate",
        "final",
    ]


async def test_what_a_client_started_goes_on_when_the_client_gives_up_waiting(tmp_path: Path) -> None:
    gate = asyncio.Event()
    shell = Shell(tmp_path, [gate, DONE])
    live = (await shell.start()).live
    waiting = asyncio.create_task(shell.drive(live))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    gate.set()
    await shell.until(lambda: live.machine.session.state == "completed")


async def test_calls_run_at_once_up_to_the_limit_and_their_results_are_in_model_order(tmp_path: Path) -> None:
    asked = answer(*((f"c{n}", "run", "{}") for n in range(5)))
    shell = Shell(tmp_path, [asked, DONE], max_concurrency=2)
    live = (await shell.start()).live
    await outcome(await shell.drive(live))
    shell.tools.instant = False
    step = await shell.drive(live)
    await shell.until(lambda: shell.tools.running == 2)
    shell.tools.end("run")
    assert await outcome(step) == "advanced"
    assert (shell.tools.most, len(shell.tools.started)) == (2, 5)
    assert [one.call_id for one in live.machine.session.turns[0].entries[1].calls] == ["c0", "c1", "c2", "c3", "c4"]


async def test_a_step_is_refused_while_another_runs_and_cancel_ends_it(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [asyncio.Event()])
    live = (await shell.start()).live
    first = await shell.drive(live)
    with pytest.raises(SessionBusy):
        await shell.drive(live)
    await shell.scheduler.submit(live, e.Cancel(None, "enough", CLIENT))
    assert await outcome(first) == "completed"
    assert (live.machine.session.state, live.machine.session.turns[0].end) == ("completed", "cancelled")


async def test_a_tool_that_ignores_its_abort_is_left_behind_and_its_late_result_is_nobodys(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [answer(("c1", "run", "{}")), DONE])
    shell.tools.instant, shell.tools.stubborn = False, True
    live = (await shell.start()).live
    await outcome(await shell.drive(live))
    running = await shell.drive(live)
    await shell.until(lambda: shell.tools.started == ["run"])
    await shell.scheduler.submit(live, e.Cancel(None, None, CLIENT))
    assert live.machine.work.activity == "stopping"
    await shell.until(lambda: shell.clock.slept == [10.0])
    shell.clock.advance(10)
    assert await outcome(running) == "completed"
    before = types(live)
    shell.tools.end("run", "late")
    await shell.until(lambda: shell.heard.notices)
    assert [notice["type"] for notice in shell.heard.notices] == ["stale-result"]
    assert types(live) == before
    sent = e.Send(e.NewInput(live.machine.session.turns[0].entries[0].parts), e.UNTIL_YIELD, CLIENT)
    assert await outcome(await shell.scheduler.submit(live, sent)) == "completed"


async def test_the_first_failed_write_stops_that_session_only_and_reopen_brings_it_back(tmp_path: Path) -> None:
    io = FaultyIO(None)
    shell = Shell(tmp_path, [DONE, DONE, DONE], io=io)
    live, other = (await shell.start("s1")).live, (await shell.start("s2")).live
    io.fault = Fault(len(io.calls), errno.ENOSPC, sticky=True)
    with pytest.raises(RecordFailed) as failed:
        await shell.drive(live)
    assert failed.value.details["errno"] == errno.ENOSPC
    io.fault = None
    frames = []
    for _ in range(3):
        with pytest.raises(RecordFailed) as refused:
            await shell.drive(live)
        frames.append(len(refused.traceback))
        assert (refused.value.message, refused.value.details) == (failed.value.message, failed.value.details)
    assert refused.value.message.endswith("; `abey session reopen s1` loads it again once the cause is gone")
    assert frames == [frames[0]] * 3  # nothing piles up in a session that is asked again and again
    assert live.machine.session.revision == 2
    assert await outcome(await shell.drive(other)) == "completed"
    again, reopened = await shell.sessions.reopen("s1")
    assert reopened
    assert again.machine.session == live.machine.session
    assert await outcome(await shell.drive(again)) == "completed"


async def test_a_request_with_a_key_whose_end_could_not_be_written_was_cut_off(tmp_path: Path) -> None:
    io = FaultyIO()
    shell = Shell(tmp_path, [answer(("c1", "run", "{}")), DONE], io=io)
    shell.tools.instant = False
    live = (await shell.start("s1")).live
    run = await shell.scheduler.submit(live, e.Drive(e.UNTIL_YIELD, CLIENT), None, keyed("k"))
    await shell.until(lambda: "run" in shell.tools.gates)
    io.fault = Fault(len(io.calls), errno.ENOSPC, sticky=True)
    shell.tools.end("run")
    with pytest.raises(RecordFailed):
        await outcome(run)
    io.fault = None
    again, _ = await shell.sessions.reopen("s1")
    assert [(one.key, one.outcome) for one in again.machine.session.requests.values()] == [("k", None)]


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("\x01" * (2 << 20), ("completed", None)),
        (["x" * (2 << 20)], ("completed", None)),
        (nested(300), ("failed", "tool/too-large")),
    ],
    ids=["text", "parts", "levels"],
)
async def test_a_result_of_any_size_is_kept_and_one_that_no_record_can_hold_fails(
    tmp_path: Path, content: Any, kept: Any
) -> None:
    shell = Shell(tmp_path, [answer(("c1", "run", "{}")), DONE])
    shell.tools.instant = False
    live = (await shell.start()).live
    await outcome(await shell.drive(live))
    step = await shell.drive(live)
    await shell.until(lambda: shell.tools.gates)
    shell.tools.end("run", content)
    assert await outcome(step) == "advanced"
    finished = live.machine.session.turns[0].entries[1].calls[0].finished
    assert finished is not None and (finished.outcome, finished.error) == kept


async def test_an_approval_with_resume_goes_on_to_the_answer(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [answer(("c1", "ask", "{}")), DONE])
    started = await shell.start(run=e.UNTIL_YIELD)
    assert await outcome(started) == "waiting"
    await approve(shell, started.live, "ask", resume=True)
    await shell.until(lambda: started.live.machine.session.state == "completed")
    assert shell.tools.started == ["ask"]


async def test_a_call_that_nobody_answers_in_time_expires_by_itself(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [answer(("c1", "soon", "{}")), DONE])
    started = await shell.start(run=e.UNTIL_TURN)
    await shell.until(lambda: shell.clock.slept == [60.0])
    shell.clock.advance(61)
    assert await outcome(started) == "completed"
    assert shell.tools.started == []


async def test_a_failed_model_call_leaves_the_session_usable(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [ModelFailed("auth", "no key"), DONE])
    live = (await shell.start()).live
    submitted = await shell.drive(live)
    assert submitted.run is not None
    end = await submitted.run
    assert end.error is not None and end.error.data == {"kind": "model/auth", "retryable": False, "attempts": 1}
    error = live.machine.session.last_error
    assert error is not None and error.kind == "model/auth"
    assert await outcome(await shell.drive(live)) == "completed"


async def test_a_running_step_keeps_its_agent_and_the_next_one_has_the_new_one(tmp_path: Path) -> None:
    gate = asyncio.Event()
    shell = Shell(tmp_path, [gate, answer(("c1", "run", "{}")), DONE])
    started = await shell.start(run=e.UNTIL_YIELD)
    await shell.until(lambda: shell.model.requests)
    shell.source.save(versioned(agent((tool("fresh"), *TOOLS))))
    gate.set()
    assert await outcome(started) == "completed"
    offered = [[one.name for one in request.tools] for request in shell.model.requests]
    assert ["fresh" in names for names in offered] == [False, True]


async def test_a_session_whose_agent_is_gone_goes_on_with_the_last_version(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [DONE])
    live = (await shell.start()).live
    shell.source.only = None
    assert shell.versions.latest(live.machine.session).stale
    assert await outcome(await shell.drive(live)) == "completed"


async def test_one_id_is_one_session_however_many_start_it_at_once(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [])
    results = await asyncio.gather(
        *(shell.start("same") for _ in range(5)), shell.sessions.all(), return_exceptions=True
    )
    kinds = [type(result) for result in results[:5]]
    assert kinds.count(InvalidState) == 4
    assert len((await shell.sessions.all())[0]) == 1


async def test_a_session_comes_back_from_its_journal_as_it_was(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [answer(("c1", "run", "{}"), ("c2", "ask", "{}")), DONE])
    live = (await shell.start()).live
    await outcome(await shell.drive(live))
    await outcome(await shell.drive(live))
    await shell.scheduler.close()
    later = Shell(tmp_path, [DONE])
    again = await later.sessions.get("s1")
    assert again.machine.session == live.machine.session
    assert again.log.next_seq == live.log.next_seq
    token = call(live, "ask").verdict.token  # type: ignore[union-attr]  # it is decided
    assert await later.sessions.of_token(token) == (again, token)
    assert await later.sessions.of_token(token[:8]) == (again, token)


async def test_a_stale_revision_is_refused_and_nothing_happens(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [DONE])
    live = (await shell.start()).live
    with pytest.raises(RevisionConflict) as conflict:
        await shell.scheduler.submit(live, e.Drive(e.STEP, CLIENT), if_revision=1)
    assert conflict.value.details == {"revision": 2}
    assert types(live) == ["created", "input"]


async def test_a_drain_ends_the_runs_that_wait_and_lets_what_runs_end(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [answer(("c1", "ask", "{}")), answer(("c2", "run", "{}")), DONE])
    patient = await shell.start("s1", run=e.UNTIL_TURN)
    await shell.until(lambda: patient.live.machine.session.state == "partialUserTurn")
    shell.tools.instant = False
    running = await shell.start("s2", run=e.UNTIL_YIELD)
    await shell.until(lambda: shell.tools.gates)
    draining = asyncio.create_task(shell.scheduler.drain(10))
    assert await outcome(patient) == "paused"
    shell.tools.end("run")
    assert await outcome(running) == "paused"
    await draining
    assert running.live.machine.session.state == "userTurn"


async def test_two_who_reopen_at_once_get_one_session(tmp_path: Path) -> None:
    io = FaultyIO(None)
    shell = Shell(tmp_path, [DONE], io=io)
    live = (await shell.start()).live
    io.fault = Fault(len(io.calls), errno.ENOSPC, sticky=True)
    with pytest.raises(RecordFailed):
        await shell.drive(live)
    io.fault = None
    results = await asyncio.gather(*(shell.sessions.reopen("s1") for _ in range(3)))
    again = results[0][0]
    assert results == [(again, True), (again, False), (again, False)]
    assert await outcome(await shell.drive(again)) == "completed"
    assert types(again)[-1] == "final"


async def test_who_reopens_a_session_waits_for_what_is_being_written_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell, gate, begun = Shell(tmp_path, [DONE]), threading.Event(), threading.Event()
    live = (await shell.start()).live
    append = Journal.append

    def slowly(journal: Journal, records: Sequence[Record]) -> None:
        begun.set()
        gate.wait(10)
        append(journal, records)

    monkeypatch.setattr(Journal, "append", slowly)
    paused = asyncio.create_task(shell.scheduler.submit(live, e.Pause(None, CLIENT)))
    await asyncio.to_thread(begun.wait, 10)
    shell.scheduler._fail_stop(live, RecordFailed("something else has failed"))
    reopened = asyncio.create_task(shell.sessions.reopen("s1"))
    await shell.until(lambda: reopened.done() or live.lock._waiters)
    gate.set()
    await paused
    again, _ = await reopened
    assert types(again) == ["created", "input", "paused"]
    assert again.machine.session.revision == 3


async def test_a_start_that_fails_hides_no_session_of_that_id(tmp_path: Path) -> None:
    await (await _written(tmp_path)).scheduler.close()
    shell = Shell(tmp_path, [])
    start, got, everything = await asyncio.gather(
        shell.start("s1"), shell.sessions.get("s1"), shell.sessions.all(), return_exceptions=True
    )
    assert isinstance(start, InvalidState)
    assert isinstance(got, Live) and everything == ((got,), ())


async def _written(state: Path) -> Shell:
    shell = Shell(state, [])
    await shell.start("s1")
    return shell


async def test_a_thousand_sessions_keep_few_files_open(tmp_path: Path) -> None:
    io = CountingIO()
    shell = Shell(tmp_path, [DONE] * 200, io=io)
    lives = [(await shell.start(f"s{number}", run=e.UNTIL_YIELD)).live for number in range(200)]
    await shell.until(lambda: all(live.machine.session.state == "completed" for live in lives))
    assert len(io.held) <= OPEN_JOURNALS
    sent = e.Send(e.NewInput(lives[0].machine.session.turns[0].entries[0].parts), None, CLIENT)
    await shell.scheduler.submit(lives[0], sent)
    assert types(lives[0])[-1] == "input"


class CountingIO(FileIO):
    """Knows which descriptors it has given out."""

    def __init__(self) -> None:
        super().__init__("process")
        self.held: set[int] = set()
        self.most = 0

    def open(self, path: Path, flags: int) -> int:
        descriptor = super().open(path, flags)
        self.held.add(descriptor)
        self.most = max(self.most, len(self.held))
        return descriptor

    def close(self, descriptor: int) -> None:
        self.held.discard(descriptor)
        super().close(descriptor)


async def test_a_burst_of_writes_opens_few_journals(tmp_path: Path) -> None:
    io = CountingIO()
    shell = Shell(tmp_path, [DONE] * 150, io=io)
    lives = [(await shell.start(f"s{number}")).live for number in range(150)]
    assert 0 < io.most <= OPEN_JOURNALS + WRITERS
    io.most = 0
    runs = await asyncio.gather(*(shell.drive(live, e.UNTIL_YIELD) for live in lives))
    assert {await outcome(run) for run in runs} == {"completed"}
    assert 0 < io.most <= OPEN_JOURNALS + WRITERS


async def test_who_comes_while_the_daemon_closes_is_told_to_ask_the_next_one(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [DONE] * 20)
    lives = [(await shell.start(f"s{number}")).live for number in range(20)]
    drives = [asyncio.create_task(shell.drive(live, e.UNTIL_YIELD)) for live in lives]
    await asyncio.sleep(0)
    await shell.scheduler.close()
    results = await asyncio.gather(*drives, return_exceptions=True)
    refused = [result for result in results if isinstance(result, BaseException)]
    assert {type(result) for result in refused} <= {DaemonDraining}
    with pytest.raises(DaemonDraining):
        await shell.drive(lives[0])
    assert all(live.failure is None for live in lives)


class Printing:
    """A tool that prints a word, and ends when the test says so."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.begun: list[str] = []

    async def run(self, _: Tool, call: ToolCall) -> ToolOutcome:
        call.tell(Progress(text="begun"))
        self.begun.append(call.invocation_id)
        await self.gate.wait()
        return ToolOutcome("done")


async def test_a_result_that_comes_too_late_for_the_daemon_is_no_failure_and_loses_no_output(tmp_path: Path) -> None:
    tools = Printing()
    shell = Shell(tmp_path, [answer(("c1", "run", "{}"))], tools=tools)
    live = (await shell.start(run=e.UNTIL_YIELD)).live
    await shell.until(lambda: tools.begun)
    async with live.lock:
        tools.gate.set()
        await shell.until(lambda: not live.tasks)  # it is told, once nobody else is at work on the session
        closing = asyncio.create_task(shell.scheduler.close())
        await asyncio.sleep(0)
    await asyncio.wait_for(closing, 10)
    assert (live.failure, shell.heard.notices, types(live)[-1]) == (None, [], "call-started")
    assert shell.store.read_partial("s1", tools.begun[0]) == "begun"


async def test_a_session_that_is_loaded_expires_its_calls_in_time(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [answer(("c1", "soon", "{}"))])
    assert await outcome(await shell.start(run=e.UNTIL_YIELD)) == "waiting"
    await shell.scheduler.close()
    later = Shell(tmp_path, [])
    live = await later.sessions.get("s1")
    await later.until(lambda: later.clock.slept == [60.0])
    later.clock.advance(60)
    await later.until(lambda: live.machine.session.state == "userTurn")
    assert types(live)[-2:] == ["call-expired", "tool-results"]


async def test_an_agent_file_is_prepared_before_it_is_read_for_a_step_and_for_a_session_that_is_loaded(
    tmp_path: Path,
) -> None:
    shell = Shell(tmp_path, [DONE])
    started = await shell.start()
    shell.source.asked.clear()
    await outcome(await shell.drive(started.live))
    await shell.scheduler.close()
    again = Shell(tmp_path, [])
    await again.sessions.get("s1")
    await again.scheduler.close()
    assert (shell.source.asked[:2], again.source.asked[:2]) == (["prepare", "by_file"], ["prepare", "by_file"])


async def test_whoever_looks_at_a_session_in_memory_has_its_agent_file_prepared(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [])
    live = (await shell.start()).live
    shell.source.asked.clear()
    assert (await shell.sessions.get("s1"), await shell.sessions.look("s1")) == (live, (live.machine, None))
    assert shell.source.asked == ["prepare", "prepare"]


async def test_a_session_that_became_another_one_while_its_file_was_read_is_looked_at_as_it_is(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [])
    live = (await shell.start()).live
    damage = Damage(session_id="s1", reason="torn")

    def breaks() -> None:
        shell.sessions.keep("s1", Broken(damage, live.machine))

    shell.source.while_prepared = breaks
    assert await shell.sessions.look("s1") == (live.machine, damage)
    with pytest.raises(SessionDamaged):
        await shell.sessions.get("s1")
