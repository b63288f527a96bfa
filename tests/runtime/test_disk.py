"""The disk floor: what is refused on a nearly full disk, and what goes on."""

import errno
from pathlib import Path

import pytest
from support.shell import CLIENT, Shell, answer, outcome

from abey.core import events as e
from abey.core.hashes import proposed_hash
from abey.errors import RecordFailed
from abey.protocol import outcomes as o
from abey.runtime.disk import DiskFloor, Space, floor
from abey.runtime.store.io import FileIO

MIB = 1 << 20
DISK = 100_000 * MIB
DONE = answer(text="done")


class NearlyFull(FileIO):
    """A disk with as much room as the test says; it counts how often somebody looked."""

    def __init__(self, free: int = DISK) -> None:
        super().__init__("process")
        self.free = free
        self.looks = 0

    def space(self, path: Path) -> Space:
        self.looks += 1
        return Space(DISK, self.free)


def refused(caught: pytest.ExceptionInfo[BaseException] | BaseException | None) -> dict[str, object]:
    error = caught.value if isinstance(caught, pytest.ExceptionInfo) else caught
    assert isinstance(error, RecordFailed)
    return {name: error.details[name] for name in ("errno", "errnoName", "freeBytes", "neededBytes")}


def full(free: int) -> dict[str, object]:
    return {"errno": errno.ENOSPC, "errnoName": "ENOSPC", "freeBytes": free, "neededBytes": 200 * MIB}


@pytest.mark.parametrize(
    ("total", "needed"), [(DISK, 200 * MIB), (64 * MIB, 200 * MIB), (64 * MIB - 1, 1342177), (50 * 1024, 1024)]
)
def test_the_floor_is_200_mib_and_on_a_small_disk_a_fiftieth_of_it(total: int, needed: int) -> None:
    assert floor(Space(total, 0)) == needed


def test_the_disk_is_looked_at_once_a_second_and_after_the_clock_went_back() -> None:
    found = iter([Space(DISK, 0), Space(DISK, DISK), Space(DISK, 5)])
    disk = DiskFloor(Path("/s"), lambda: next(found))
    first, again, later, back = (disk.refusal(at) for at in (1_000, 1_999, 2_000, 500))
    assert [refused(one) for one in (first, again, back)] == [full(0), full(0), full(5)]
    assert (later, first is again) == (None, False)


def test_a_small_disk_is_told_in_small_units() -> None:
    refusal = DiskFloor(Path("/s"), lambda: Space(2 * MIB, 1024)).refusal(0)
    assert refusal is not None
    assert refusal.message == (
        "1.0 KiB are free on the disk of /s, and new sessions and tools need 41.0 KiB; make room on it "
        "(`abey gc --dry-run` says what abey can spare), then try again"
    )


def test_a_disk_that_does_not_tell_is_no_reason_to_refuse() -> None:
    def look() -> Space:
        raise OSError(errno.ENOSYS, "no")

    assert DiskFloor(Path("/s"), look).refusal(0) is None


async def test_no_session_is_made_on_a_nearly_full_disk(tmp_path: Path) -> None:
    io = NearlyFull(200 * MIB - 1)
    shell = Shell(tmp_path, [], io=io)
    with pytest.raises(RecordFailed, match=r"200\.0 MiB are free .* need 200\.0 MiB; make room") as caught:
        await shell.start()
    assert (refused(caught), shell.store.ids()) == (full(200 * MIB - 1), ())
    io.free = 200 * MIB
    shell.clock.advance(1)
    await shell.start()
    assert shell.store.ids() == ("s1",)


async def test_a_model_is_asked_and_recorded_but_no_tool_starts_until_there_is_room_again(tmp_path: Path) -> None:
    io = NearlyFull()
    shell = Shell(tmp_path, [answer(("c1", "run", "{}")), DONE], io=io)
    live = (await shell.start()).live
    io.free = MIB
    shell.clock.advance(1)
    assert await outcome(await shell.drive(live)) == "advanced"
    assert live.machine.session.state == "llmTurn"
    step = await shell.drive(live)
    assert step.run is not None
    end = await step.run
    assert (end.outcome, refused(end.error), shell.tools.started) == ("failed", full(MIB), [])
    assert live.failure is None
    io.free = DISK
    shell.clock.advance(1)
    assert await outcome(await shell.drive(live, e.UNTIL_YIELD)) == "completed"
    assert shell.tools.started == ["run"]


async def test_a_call_that_waits_for_approval_waits_on_and_runs_once_when_there_is_room(tmp_path: Path) -> None:
    io = NearlyFull()
    shell = Shell(tmp_path, [answer(("c1", "ask", "{}")), DONE], io=io)
    live = (await shell.start(run=e.UNTIL_YIELD)).live
    await shell.until(lambda: live.machine.session.state == "partialUserTurn" and live.machine.work.run is None)
    io.free = 0
    shell.clock.advance(1)
    [call] = live.machine.session.batch.calls if live.machine.session.batch else ()
    assert call.verdict is not None
    approve = e.Complete(call.verdict.token, o.Approve(), proposed_hash(live.machine.session, call), CLIENT)
    revision = live.machine.session.revision
    with pytest.raises(RecordFailed) as caught:
        await shell.scheduler.submit(live, approve)
    assert (refused(caught), live.machine.session.revision, shell.tools.started) == (full(0), revision, [])
    io.free = DISK
    shell.clock.advance(1)
    await shell.scheduler.submit(live, approve)
    await shell.until(lambda: live.machine.session.state == "userTurn")
    assert shell.tools.started == ["ask"]


async def test_a_step_looks_at_the_disk_no_more_than_once_a_second(tmp_path: Path) -> None:
    io = NearlyFull()
    shell = Shell(tmp_path, [answer(("c1", "run", "{}")), DONE], io=io)
    assert await outcome(await shell.start(run=e.UNTIL_YIELD)) == "completed"
    assert io.looks == 1
