"""The scheduler on a disk that fails at its n-th call, and on clocks that jump."""

import errno
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from support.figures import Figures
from support.harness.faults_everywhere import FEW, KINDS
from support.harness.stories import fault_in
from support.shell import CLIENT, Shell, answer, outcome

from abey.core import events as e
from abey.core.call import Call
from abey.core.completing import pending_kind
from abey.core.conversation import ModelAnswer, ModelRequest, ResultMessage
from abey.core.hashes import shown_hash
from abey.core.session import open_calls
from abey.errors import RecordFailed, SessionDamaged
from abey.protocol import outcomes as o
from abey.protocol.journal import Record
from abey.runtime.live import Live
from abey.runtime.ports import OnDelta
from abey.runtime.store.faults import Fault, FaultyIO
from abey.runtime.store.recovery import Opened

pytestmark = pytest.mark.figures

LATER = "2027-01-01T00:00:00.000Z"


class AsksOnce:
    """A model that asks for a tool that runs and one that waits for somebody, and then is content."""

    async def ask(self, request: ModelRequest, on_delta: OnDelta) -> ModelAnswer:
        if isinstance(request.messages[-1], ResultMessage):
            return answer(text="done")
        return answer(("c1", "run", "{}"), ("c2", "ask", "{}"))


class Seen(Shell):
    """`seen` are the sessions whose creation was acknowledged."""

    def __init__(self, state: Path, io: FaultyIO) -> None:
        super().__init__(state, [], io=io)
        self.model = AsksOnce()  # type: ignore[assignment]  # any model will do
        self.seen: set[str] = set()


def shell_at(state: Path, io: FaultyIO) -> Seen:
    return Seen(state, io)


async def test_a_fault_at_any_call_stops_one_session_which_goes_on_once_it_is_reopened(
    tmp_path: Path, figures: Figures
) -> None:
    runs = 0
    for kind in KINDS if figures.large else FEW[::3]:
        for at in count():
            calls = await _session_under(tmp_path / f"{runs}", Fault(at, kind.number, kind.write, kind.sticky))
            runs += 1
            if calls <= at:
                break
    figures.note("silent losses with a fault at each call of the scheduler's session to the disk", 0, f"{runs} runs")


async def _session_under(state: Path, fault: Fault) -> int:
    """How many calls a whole session makes. The disk is good again after the first error; nothing else is told."""
    io = FaultyIO()
    shell = shell_at(state, io)
    other = (await shell.start("s2")).live
    before, io.fault = len(io.calls), Fault(len(io.calls) + fault.at, fault.number, fault.write, fault.sticky)
    names = ["s1"]
    while True:
        try:
            live = await _known(shell, names)
            shell.seen.add(live.id)
            if live.machine.session.state == "completed":
                break
            await _advance(shell, live)
        except RecordFailed as failed:
            short = (errno.EIO,) if fault.write == "short" else ()
            assert failed.details["errno"] in (fault.number, *short), failed
            io.fault = None
        except SessionDamaged as damaged:
            assert io.fault is not None, damaged  # it cannot be read, as long as the disk is bad
            io.fault = None
    calls, io.fault = len(io.calls) - before, None
    assert [name for name in ("run", "ask") if shell.tools.started.count(name) > 1] == []
    await _whole(state, live)
    for _ in range(2):
        await _advance(shell, other)
    assert other.failure is None
    await shell.scheduler.close()
    return calls


async def _known(shell: Seen, names: list[str]) -> Live:
    """The session, started where it is not there, reopened where it failed; `names` are the ids that were taken."""
    if names[-1] not in shell.store.ids():
        return (await shell.start(names[-1])).live
    try:
        live = await shell.sessions.get(names[-1])
    except SessionDamaged:
        if names[-1] in shell.seen:
            return (await shell.sessions.reopen(names[-1]))[0]
        # what was left of a creation that failed, and could not be taken back
        names.append(f"s1-{len(names)}")
        return await _known(shell, names)
    return live if live.failure is None else (await shell.sessions.reopen(names[-1]))[0]


async def _advance(shell: Shell, live: Live) -> None:
    waiting = [call for call in open_calls(live.machine.session) if pending_kind(call)]
    if not waiting:
        await outcome(await shell.drive(live))
        return
    await shell.scheduler.submit(live, _answer(live, waiting[0]))
    await shell.until(lambda: not live.machine.work.live or live.failure)


def _answer(live: Live, call: Call) -> e.Complete:
    assert call.verdict is not None
    said: Any = o.Approve() if pending_kind(call) == "approval" else o.Result(content="from outside")
    return e.Complete(call.verdict.token, said, shown_hash(live.machine.session, call), CLIENT)


async def _whole(state: Path, live: Live) -> None:
    """What a new daemon reads is what the old one shows, and nothing of it is there twice."""
    again = shell_at(state, FaultyIO())
    found = again.store.open(live.id, LATER)
    assert isinstance(found, Opened), found
    assert (await again.sessions.get(live.id)).machine.session == live.machine.session
    assert fault_in(found.records) is None
    starts = [one.data.call_id for one in found.records if one.data.type == "call-started"]
    assert len(set(starts)) == len(starts)


JUMPS = {
    "a day on": 86_400.0,
    "a day back": -86_400.0,
    "an hour on (DST)": 3600.0,
    "an hour back (DST)": -3600.0,
    "suspended for a week": 604_800.0,
    "past 2038": 400_000_000.0,
    "before 1990": -1_200_000_000.0,
}


async def test_a_clock_that_jumps_changes_no_order(tmp_path: Path, figures: Figures) -> None:
    changed = 0
    for number, seconds in enumerate(JUMPS.values()):
        for at in range(8):
            records = await _jumping(tmp_path / f"{number}-{at}", at, seconds)
            changed += [one.rev for one in records] != list(range(1, len(records) + 1))
            assert [one.data.type for one in records if one.data.type == "final"] == ["final"]
            assert fault_in(records) is None
    figures.note("orders that a jump of the clock changed", changed, f"{len(JUMPS)} jumps before each of 8 events")
    assert changed == 0


async def _jumping(state: Path, at: int, seconds: float) -> tuple[Record, ...]:
    """The records of a session before whose event of that number the clock jumps; it is opened anew now and then."""
    shell = shell_at(state, FaultyIO())
    live = (await shell.start("s1")).live
    for step in range(8):
        if step == at:
            shell.clock.jump(seconds)
        if step == 4:
            await shell.scheduler.close()
            clock, shell = shell.clock, shell_at(state, FaultyIO())
            shell.clock.seconds = clock.seconds
            live = await shell.sessions.get("s1")
        if live.machine.session.state != "completed":
            await _advance(shell, live)
    await shell.scheduler.close()
    found = shell.store.open("s1", LATER)
    assert isinstance(found, Opened)
    return found.records


@pytest.mark.parametrize(("name", "seconds"), JUMPS.items(), ids=JUMPS)
async def test_a_call_expires_when_the_clock_says_so_and_never_before(
    tmp_path: Path, name: str, seconds: float
) -> None:
    shell = Shell(tmp_path, [answer(("c1", "soon", "{}")), answer(text="done")])
    live = (await shell.start()).live
    for _ in range(2):
        await outcome(await shell.drive(live))
    (waiting,) = open_calls(live.machine.session)
    assert waiting.verdict is not None
    deadline = waiting.verdict.expires_at
    assert deadline is not None
    await shell.until(lambda: shell.clock.slept == [60.0])
    shell.clock.jump(seconds)
    shell.clock.advance(60)
    if seconds < 0:
        await shell.until(lambda: len(shell.clock.slept) == 2)
        assert [call.state for call in open_calls(live.machine.session)] == ["deferred"]
        shell.clock.advance(-seconds)
    await shell.until(lambda: not open_calls(live.machine.session))
    assert shell.clock.now() >= deadline
    await shell.scheduler.close()
