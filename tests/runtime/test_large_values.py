"""Large values and full sessions through the scheduler: what is kept, what is lost, and what is refused then."""

import logging
import re
from pathlib import Path
from typing import Any

import pytest
from support.shell import CLIENT, Shell, answer, outcome
from support.world import text_parts

from abey.core import events as e
from abey.core.call import Call
from abey.core.hashes import shown_hash
from abey.core.session import InputEntry
from abey.errors import ArgumentsMismatch, InvalidArguments, TooLarge
from abey.protocol import outcomes as o
from abey.runtime.live import Live
from abey.runtime.quota import Quota

DONE = answer(text="done")
LONG = "x" * 100_000


def the_call(live: Live) -> Call:
    turn = live.machine.session.turns[0]
    return next(call for entry in turn.entries for call in getattr(entry, "calls", ()))


async def again(shell: Shell, tmp_path: Path, replies: list[Any] | None = None) -> tuple[Shell, Live]:
    """The same sessions in another daemon, once the first one is gone."""
    await shell.scheduler.close()
    fresh = Shell(tmp_path, replies or [])
    return fresh, await fresh.sessions.get("s1")


async def test_an_input_of_several_megabytes_comes_back_whole_and_is_sent(tmp_path: Path) -> None:
    text = "é" * 3_000_000
    shell = Shell(tmp_path, [DONE, DONE])
    live = (await shell.start()).live
    await outcome(await shell.drive(live))
    await shell.scheduler.submit(live, e.Send(e.NewInput(text_parts(text)), None, CLIENT))
    fresh, loaded = await again(shell, tmp_path, [DONE])
    [entry] = [one for one in loaded.machine.session.turns[1].entries if isinstance(one, InputEntry)]
    assert entry.parts == text_parts(text)
    assert loaded.journal.size < 10_000
    await outcome(await fresh.drive(loaded))
    assert fresh.model.requests[0].messages[-1].parts == text_parts(text)


def lose_the_blobs(live: Live) -> None:
    for path in live.journal.blobs.directory.iterdir():
        path.unlink()


def arguments(text: str = LONG) -> str:
    return '{"x": "' + text + '"}'


async def test_a_call_whose_arguments_are_lost_never_runs_and_its_approval_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shell = Shell(tmp_path, [answer(("c1", "ask", arguments())), DONE])
    started = await shell.start(run=e.UNTIL_YIELD)
    assert await outcome(started) == "waiting"
    call = the_call(started.live)
    assert call.verdict is not None
    shown = shown_hash(started.live.machine.session, call)
    lose_the_blobs(started.live)
    with caplog.at_level(logging.WARNING):
        fresh, live = await again(shell, tmp_path, [DONE])
    assert "session s1 lacks 1 values: [missing: blob " in caplog.text
    assert the_call(live).arguments.startswith("[missing: blob ")
    with pytest.raises(ArgumentsMismatch) as mismatch:
        await fresh.scheduler.submit(live, e.Complete(call.verdict.token, o.Approve(), shown, CLIENT))
    now = mismatch.value.details["argumentsHash"]
    with pytest.raises(InvalidArguments, match="the arguments are not JSON"):
        await fresh.scheduler.submit(live, e.Complete(call.verdict.token, o.Approve(), now, CLIENT))
    deny = e.Complete(call.verdict.token, o.DenyCall(), None, CLIENT, resume=True)
    assert await outcome(await fresh.scheduler.submit(live, deny)) == "completed"
    assert fresh.tools.started == []


async def test_a_call_that_was_free_to_run_fails_where_its_arguments_are_lost(tmp_path: Path) -> None:
    """An approval that was recorded while the session was paused, and then the arguments went."""
    shell = Shell(tmp_path, [answer(("c1", "ask", arguments())), DONE])
    started = await shell.start(run=e.UNTIL_YIELD)
    await outcome(started)
    await shell.scheduler.submit(started.live, e.Pause(None, CLIENT))
    call = the_call(started.live)
    assert call.verdict is not None
    shown = shown_hash(started.live.machine.session, call)
    await shell.scheduler.submit(started.live, e.Complete(call.verdict.token, o.Approve(), shown, CLIENT))
    assert the_call(started.live).state == "approved"
    lose_the_blobs(started.live)
    fresh, live = await again(shell, tmp_path, [DONE])
    run = await fresh.scheduler.submit(live, e.Drive(e.UNTIL_YIELD, CLIENT, resume=True))
    assert await outcome(run) == "completed"
    finished = the_call(live).finished
    assert finished is not None and finished.error == "tool/invalid-arguments"
    assert fresh.tools.started == []


SMALL = Quota(session_bytes=40_000)


async def full(shell: Shell) -> Live:
    """A session above SMALL that waits for an answer."""
    started = await shell.start(run=e.UNTIL_YIELD)
    assert await outcome(started) == "waiting"
    assert started.live.journal.total > SMALL.session_bytes
    return started.live


async def test_a_full_session_takes_no_input_run_or_step_and_says_the_way_out(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [answer(("c1", "ask", arguments())), DONE], quota=SMALL)
    live = await full(shell)
    size, revision = live.journal.total, live.machine.session.revision
    new = e.NewInput(text_parts("more"))
    for event in (e.Send(new, None, CLIENT), e.Drive(e.STEP, CLIENT), e.Drive(e.UNTIL_YIELD, CLIENT)):
        with pytest.raises(TooLarge) as refused:
            await shell.scheduler.submit(live, event)
        assert (refused.value.message, refused.value.details) == (
            f"session s1 has {size} bytes, 40000 are allowed: what waits can still be answered, but it takes no input "
            "and no step any more; export it and start a new one",
            {"sessionId": "s1", "bytes": size, "limit": 40_000},
        )
    assert live.machine.session.revision == revision


async def test_in_a_full_session_answers_and_ends_are_still_recorded(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [answer(("c1", "ask", arguments())), DONE], quota=SMALL)
    live = await full(shell)
    call = the_call(live)
    assert call.verdict is not None
    hashed = shown_hash(live.machine.session, call)
    approved = await shell.scheduler.submit(
        live, e.Complete(call.verdict.token, o.Approve(), hashed, CLIENT, resume=True)
    )
    assert approved.run is not None
    end = await approved.run
    assert (end.outcome, isinstance(end.error, TooLarge)) == ("failed", True)
    assert (the_call(live).state, shell.tools.started) == ("completed", ["ask"])
    await shell.scheduler.submit(live, e.Cancel(None, None, CLIENT))
    await shell.scheduler.submit(live, e.Stop(None, CLIENT))
    assert (live.machine.session.turns[0].end, live.machine.session.stopped) == ("cancelled", True)


async def test_a_run_that_fills_the_session_ends_before_its_next_step(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [answer(("c1", "run", arguments())), DONE], quota=SMALL)
    started = await shell.start(run=e.UNTIL_YIELD)
    assert started.run is not None
    end = await started.run
    assert (end.outcome, isinstance(end.error, TooLarge)) == ("failed", True)
    assert len(shell.model.requests) == 1


async def test_a_session_that_is_nearly_full_is_told_of_once_a_load(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shell = Shell(tmp_path, [answer(text=LONG)], quota=Quota(session_bytes=120_000))
    live = (await shell.start(run=e.UNTIL_YIELD)).live
    await shell.until(lambda: live.machine.session.state == "completed")
    with caplog.at_level(logging.WARNING):
        for title in ("a", "b", "c"):
            await shell.scheduler.submit(live, e.Update(title, None, CLIENT))
    [warning] = [record.getMessage() for record in caplog.records]
    assert re.fullmatch(r"session s1 has 10\d{4} bytes, 8\d % of the 120000 that it may have", warning)


def test_a_session_far_from_its_limit_gives_no_warning() -> None:
    quota = Quota(session_bytes=1000)
    assert [quota.warning("s", size) for size in (0, 799)] == [None, None]
    assert [quota.full("s", size) for size in (0, 999)] == [None, None]
    assert quota.warning("s", 800) == "session s has 800 bytes, 80 % of the 1000 that it may have"
