"""Sessions that nobody uses leave memory, and whoever asks next finds them as they were (machine.md, Sessions at
rest)."""

import asyncio
import errno
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support.shell import CLIENT, Shell, answer, outcome
from support.world import text_parts

from abey.core import events as e
from abey.core.hashes import shown_hash
from abey.core.session import open_calls
from abey.core.waiting import issued_tokens
from abey.errors import RecordFailed, SessionDamaged
from abey.protocol.outcomes import Approve, DenyCall
from abey.protocol.session import Damage
from abey.runtime import resting
from abey.runtime.kept_open import NothingOpen
from abey.runtime.live import Live
from abey.runtime.resting import Resting
from abey.runtime.reviving import Broken
from abey.runtime.store.faults import Fault, FaultyIO

DONE = answer(text="done")
ASKS = answer(("c1", "ask", '{"x": "1"}'))
RUNS = answer(("c1", "run", "{}"))
SECONDS = 60.0


class Rested(Shell):
    """A daemon's inside of which sessions leave when the test says that time has passed."""

    def __init__(self, state: Path, replies: list[Any], *, can_list: bool = True, **more: Any) -> None:
        super().__init__(state, replies, **more)
        self.resting = Resting(self.ports, self.sessions, self.scheduler.parking, lambda: can_list, SECONDS)

    @property
    def inside(self) -> list[str]:
        return sorted(self.sessions.entries)

    async def pass_time(self) -> None:
        """Nobody uses anything for so long that what can leave has left."""
        for _ in range(2):
            await turns_of_the_loop()
            self.resting.look()
        await turns_of_the_loop()

    async def left(self) -> None:
        """Time passes, and then nothing is in memory; a thread may hold what it has worked for a moment longer."""
        await self.pass_time()
        await self.until(lambda: self.inside == [])

    async def turn(self, live: Live, prompt: str = "next") -> None:
        send = e.Send(e.NewInput(text_parts(prompt)), e.THIS_TURN, CLIENT)
        await outcome(await self.scheduler.submit(live, send))

    async def close(self) -> None:
        await self.resting.close()
        await self.scheduler.close()
        await self.sessions.snapshots.close()


async def turns_of_the_loop() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@asynccontextmanager
async def opened(state: Path, replies: list[Any], **more: Any) -> AsyncIterator[Rested]:
    shell = Rested(state, replies, **more)
    try:
        yield shell
    finally:
        await shell.close()


async def at_rest(shell: Rested, run: e.Run = e.THIS_TURN) -> tuple[Any, int]:
    """What a session is like whose run has ended and that nobody holds, and the number of its next event."""
    started = await shell.start(run=run)
    await outcome(started)
    return started.live.machine.session, started.live.log.next_seq


async def test_a_session_that_left_comes_back_as_it_was_and_goes_on_with_the_next_event(tmp_path: Path) -> None:
    async with opened(tmp_path, [DONE, DONE]) as shell:
        session, next_seq = await at_rest(shell)
        before = (await shell.sessions.get("s1")).log.since(0, 100, lambda _: None)
        await shell.left()
        live = await shell.sessions.get("s1")
        assert (live.machine.session, live.log.next_seq) == (session, next_seq)
        assert live.log.since(0, 100, lambda _: None) == before
        await shell.turn(live)
        told = live.log.since(next_seq - 1, 100, lambda _: None)
        assert told is not None
        assert [event.seq for event in told] == list(range(next_seq, live.log.next_seq))
        assert [turn.end for turn in live.machine.session.turns] == ["answered", "answered"]


async def test_it_leaves_only_after_a_whole_period_without_use(tmp_path: Path) -> None:
    async with opened(tmp_path, [DONE]) as shell:
        await at_rest(shell)
        await turns_of_the_loop()
        for _ in range(3):
            shell.resting.look()
            await shell.sessions.get("s1")
        shell.resting.look()
        assert shell.inside == ["s1"]
        shell.resting.look()
        await shell.until(lambda: shell.inside == [])


async def test_one_timer_runs_for_all_sessions_and_only_while_one_of_them_may_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timers: list[tuple[float, Callable[[], None]]] = []

    def call_later(seconds: float, callback: Any, *args: Any, **more: Any) -> asyncio.TimerHandle:
        if seconds == SECONDS / 2:
            timers.append((seconds, callback))
            return asyncio.TimerHandle(0, callback, (), loop)
        return later(seconds, callback, *args, **more)

    loop = asyncio.get_running_loop()
    later = loop.call_later
    monkeypatch.setattr(loop, "call_later", call_later)
    async with opened(tmp_path, [DONE, RUNS]) as shell:
        shell.tools.instant = False
        await at_rest(shell)
        (await shell.start("s2", e.THIS_TURN)).live  # noqa: B018 - it runs on, and nobody holds it
        await shell.until(lambda: shell.tools.started)
        for number in (1, 2):
            await turns_of_the_loop()
            assert len(timers) == number
            timers[-1][1]()
        await turns_of_the_loop()
        assert (len(timers), shell.inside) == (2, ["s2"])
        await shell.sessions.get("s1")
        assert len(timers) == 3


async def test_a_use_of_one_session_looks_at_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    rests = resting.rests
    monkeypatch.setattr(resting, "rests", lambda machine: looked.append(machine.session.id) or rests(machine))
    async with opened(tmp_path, [DONE] * 40) as shell:
        ids = [f"s{number}" for number in range(20)]
        for one in ids:
            await outcome(await shell.start(one, e.THIS_TURN))
        await turns_of_the_loop()
        shell.resting.look()
        for _ in range(50):
            await shell.turn(await shell.sessions.get("s3")) if shell.model.replies else await shell.sessions.get("s3")
        assert looked == []
        shell.resting.look()
        assert sorted(looked) == sorted(set(ids) - {"s3"})
        assert shell.inside == ["s3"]


async def fails(shell: Rested, io: FaultyIO) -> None:
    """A write of the only session does."""
    live = await shell.sessions.get("s1")
    io.fault = Fault(len(io.calls), errno.ENOSPC, sticky=True)
    with pytest.raises(RecordFailed):
        await shell.scheduler.submit(live, e.Pause(None, CLIENT))


async def test_what_is_only_in_memory_keeps_a_session_there(tmp_path: Path) -> None:
    io = FaultyIO()
    async with opened(tmp_path, [RUNS, DONE], io=io) as shell:
        shell.tools.instant = False
        run = (await shell.start(run=e.THIS_TURN)).run
        await shell.until(lambda: shell.tools.started)
        await shell.pass_time()
        assert shell.inside == ["s1"]  # a tool runs
        shell.tools.end("run")
        assert run is not None
        await run
        del run
        await shell.left()
        await fails(shell, io)
        await shell.pass_time()
        assert shell.inside == ["s1"]  # that a write failed is written nowhere
        io.fault = None
        with pytest.raises(RecordFailed):
            await shell.scheduler.submit(await shell.sessions.get("s1"), e.Pause(None, CLIENT))
        await shell.sessions.reopen("s1")
        await shell.left()


async def denied(shell: Rested) -> None:
    """The call of the only session is, and its run goes on to the end."""
    live = await shell.sessions.get("s1")
    [call] = open_calls(live.machine.session)
    assert call.verdict is not None
    await shell.scheduler.submit(live, e.Complete(call.verdict.token, DenyCall(), None, CLIENT))
    await shell.until(lambda: live.machine.session.state == "completed")


async def test_a_run_that_waits_for_people_keeps_its_session(tmp_path: Path) -> None:
    async with opened(tmp_path, [ASKS, DONE]) as shell:
        await shell.scheduler.submit((await shell.start()).live, e.Drive(e.UNTIL_TURN, CLIENT))
        await shell.until(lambda: shell.sessions.loaded[0].machine.session.state == "partialUserTurn")
        await shell.pass_time()
        assert shell.inside == ["s1"]
        await denied(shell)
        await shell.left()


class Opened(NothingOpen):
    """Something is open for every session."""

    def holds(self, session_id: str) -> bool:
        return True


async def test_what_is_open_for_a_session_keeps_it(tmp_path: Path) -> None:
    async with opened(tmp_path, [DONE], kept_open=Opened()) as shell:
        await at_rest(shell)
        await shell.pass_time()
        assert shell.inside == ["s1"]


async def test_without_an_index_every_session_stays(tmp_path: Path) -> None:
    async with opened(tmp_path, [DONE], can_list=False) as shell:
        await at_rest(shell)
        await shell.pass_time()
        assert shell.inside == ["s1"]


async def test_what_is_damaged_stays_as_it_was_met(tmp_path: Path) -> None:
    async with opened(tmp_path, []) as shell:
        shell.sessions.keep("s1", Broken(Damage(session_id="s1", reason="it is")))
        await shell.pass_time()
        with pytest.raises(SessionDamaged):
            await shell.sessions.get("s1")


async def test_whoever_holds_a_session_and_whoever_asks_for_it_have_the_same(tmp_path: Path) -> None:
    async with opened(tmp_path, [DONE, DONE]) as shell:
        await at_rest(shell)
        live = await shell.sessions.get("s1")
        waiting = asyncio.create_task(live.changed.wait())
        await shell.pass_time()
        same = await shell.sessions.get("s1") is live
        await shell.turn(live)
        await asyncio.wait_for(waiting, 10)
        del live, waiting
        assert same
        await shell.left()


async def test_a_session_that_is_about_to_be_written_to_is_looked_at_again(tmp_path: Path) -> None:
    async with opened(tmp_path, [DONE]) as shell:
        await at_rest(shell)
        live = await shell.sessions.get("s1")
        shell.resting.look()
        async with live.lock:
            shell.resting.look()
            assert live.journal.revision > 0
        del live
        await shell.left()


async def approved(shell: Rested, beginning: str, shown: str) -> tuple[str, str]:
    """The token that begins so, and how the run ended that went on then."""
    live, token = await shell.sessions.of_token(beginning)
    approve = e.Complete(token, Approve(), shown, CLIENT, resume=True)
    return token, await outcome(await shell.scheduler.submit(live, approve))


async def test_an_answer_finds_the_call_that_waits_by_a_token_that_was_given_before(tmp_path: Path) -> None:
    async with opened(tmp_path, [ASKS, DONE]) as shell:
        session, _ = await at_rest(shell, e.UNTIL_YIELD)
        [call] = open_calls(session)
        assert call.verdict is not None
        token, shown = call.verdict.token, shown_hash(session, call)
        await shell.left()
        assert await approved(shell, token[:8], shown) == (token, "completed")
        assert shell.tools.started == ["ask"]
        await shell.left()
        again, _ = await shell.sessions.of_token(token)
        assert list(issued_tokens(again.machine.session)) == [token]


async def test_the_deadline_of_a_call_that_waits_is_kept(tmp_path: Path) -> None:
    async with opened(tmp_path, [answer(("c1", "soon", "{}"))]) as shell:
        await at_rest(shell, e.UNTIL_YIELD)
        await shell.pass_time()
        shell.clock.advance(3600)
        await shell.until(lambda: not open_calls(shell.sessions.loaded[0].machine.session))
        assert shell.sessions.loaded[0].machine.session.state == "userTurn"
        await shell.left()


async def test_who_deletes_a_session_that_leaves_meanwhile_deletes_it(tmp_path: Path) -> None:
    async with opened(tmp_path, [DONE]) as shell:
        await at_rest(shell)
        async with shell.sessions.away("s1"):
            deleting = asyncio.create_task(shell.keeping.delete("s1", force=False))
            await shell.pass_time()
        await deleting
        assert (shell.store.ids(), shell.heard.went) == ((), ["s1"])


async def test_no_descriptor_and_no_snapshot_that_is_due_is_left_behind(tmp_path: Path) -> None:
    async with opened(tmp_path, [DONE, *[answer(text="x" * 30_000)] * 12]) as shell:
        await at_rest(shell)
        live = await shell.sessions.get("s1")
        for _ in range(12):
            await shell.turn(live)
        session, next_seq, journal = live.machine.session, live.log.next_seq, live.journal
        del live
        await shell.left()
        assert journal._descriptor is None
        live = await shell.sessions.get("s1")
        assert (live.machine.session, live.kept.end, live.log.oldest_seq) == (session, journal.size, next_seq)


async def test_the_events_from_before_the_snapshot_that_it_came_back_from_are_told_again(tmp_path: Path) -> None:
    async with opened(tmp_path, [DONE, *[answer(text="x" * 30_000)] * 12, DONE]) as shell:
        await at_rest(shell)
        live = await shell.sessions.get("s1")
        for _ in range(12):
            await shell.turn(live)
        del live
        await shell.left()
        live = await shell.sessions.get("s1")
        await shell.turn(live)
        oldest = live.log.oldest_seq
        assert live.log.since(0, 10, lambda _: None) is None
        await shell.sessions.recall(live, 0)
        told = live.log.since(0, 10_000, lambda _: None)
        assert told is not None
        assert [event.seq for event in told] == list(range(1, live.log.next_seq))
        other = Shell(tmp_path, [])
        for path in live.journal.path.parent.glob("snapshot-*"):
            path.unlink()
        assert (await other.sessions.get("s1")).log.since(0, 10_000, lambda _: None) == told
        assert (oldest > 1, live.log.oldest_seq) == (True, 1)
