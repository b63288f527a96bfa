"""Snapshots are written behind, and a daemon that opens a session from one shows what the journal says."""

import asyncio
import errno
import json
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.shell import CLIENT, Shell, answer, outcome
from support.world import text_parts

from abey.core import events as e
from abey.core.waiting import issued_tokens
from abey.errors import RecordFailed
from abey.runtime.live import Kept, Live
from abey.runtime.snapshotting import Snapshotting
from abey.runtime.store.faults import Fault, FaultyIO
from abey.runtime.store.io import FileIO

CALLS = answer(("c1", "ask", '{"x": "1"}'), ("c2", "run", "{}"))
DONE = answer(text="done")


def snapshots(live: Live) -> list[Path]:
    """Oldest first."""
    return sorted(live.journal.path.parent.glob("snapshot-*.json"), key=lambda path: int(path.stem.split("-")[1]))


async def next_turn(shell: Shell, live: Live) -> None:
    await one_turn(shell, live)
    await shell.sessions.snapshots.settle(live.id)


async def one_turn(shell: Shell, live: Live) -> None:
    send = e.Send(e.NewInput(text_parts("next")), e.THIS_TURN, CLIENT)
    await outcome(await shell.scheduler.submit(live, send))


async def told(state: Path, replies: list[Any]) -> Shell:
    """A session of a cancelled turn with calls and of one turn for each reply; then the daemon is gone."""
    shell = Shell(state, [CALLS, *replies], least=0)
    live = (await shell.start()).live
    await outcome(await shell.drive(live, e.UNTIL_YIELD))
    await shell.scheduler.submit(live, e.Cancel(None, "enough", CLIENT))
    for _ in replies:
        await next_turn(shell, live)
    await shell.scheduler.close()
    await shell.sessions.snapshots.close()
    return shell


def events(shell: Shell, live: Live, after: int) -> Any:
    found = live.log.since(after, 10_000, lambda _: None)
    return None if found is None else [event.wire() for event in found]


async def test_a_session_opened_from_a_snapshot_is_the_one_that_its_journal_tells(tmp_path: Path) -> None:
    await told(tmp_path, [DONE, DONE, DONE, CALLS])
    shell = Shell(tmp_path, [], least=1 << 40)
    live = await shell.sessions.get("s1")
    assert live.kept.end > 0
    for path in snapshots(live):
        path.unlink()
    other = Shell(tmp_path, [])
    whole = await other.sessions.get("s1")
    assert live.machine == whole.machine
    assert live.log.session == whole.log.session
    assert live.log.next_seq == whole.log.next_seq
    assert live.journal.end == whole.journal.end
    assert live.log.oldest_seq > whole.log.oldest_seq == 1
    assert events(shell, live, live.log.oldest_seq - 2) is None
    assert events(shell, live, live.log.oldest_seq - 1) == events(other, whole, live.log.oldest_seq - 1)


async def test_events_go_on_without_a_gap_after_a_session_was_opened_from_a_snapshot(tmp_path: Path) -> None:
    await told(tmp_path, [DONE, DONE])
    shell = Shell(tmp_path, [DONE], least=1 << 40)
    live = await shell.sessions.get("s1")
    last = live.log.next_seq - 1
    await next_turn(shell, live)
    went_on = events(shell, live, last)
    for path in snapshots(live):
        path.unlink()
    other = Shell(tmp_path, [])
    assert went_on == events(other, await other.sessions.get("s1"), last)
    assert [event["seq"] for event in went_on] == list(range(last + 1, live.log.next_seq))


async def test_the_token_of_a_call_of_long_ago_is_known_after_a_load_from_a_snapshot(tmp_path: Path) -> None:
    (before,) = (await told(tmp_path, [DONE, DONE, DONE])).sessions.loaded
    issued = list(issued_tokens(before.machine.session))
    shell = Shell(tmp_path, [], least=1 << 40)
    assert len(issued) == 2
    for token in issued:
        live, whole = await shell.sessions.of_token(token[:8])
        assert (live.id, whole) == ("s1", token)
    assert live.kept.end > 0


async def test_a_snapshot_is_due_when_the_journal_has_grown_by_more_than_it_and_the_least(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [DONE] * 30, least=2000)
    live = (await shell.start()).live
    sizes: list[tuple[int, int, int]] = []
    for _ in range(30):
        before = live.kept
        await next_turn(shell, live)
        if live.kept != before:
            sizes.append((live.kept.end - before.end, before.size, live.journal.size))
    assert len(sizes) > 2
    assert all(grown > max(2000, last) for grown, last, _ in sizes)
    assert len(snapshots(live)) == 2
    # two snapshots never hold more than the journal does twice
    assert sum(path.stat().st_size for path in snapshots(live)) <= 2 * live.journal.size


async def test_a_small_session_has_no_snapshot(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [DONE] * 3)
    live = (await shell.start()).live
    for _ in range(3):
        await next_turn(shell, live)
    assert snapshots(live) == []


async def test_a_journal_that_has_grown_without_a_snapshot_gets_one_when_it_is_opened(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [DONE])
    await next_turn(shell, (await shell.start()).live)
    shell = Shell(tmp_path, [], least=100)
    live = await shell.sessions.get("s1")
    await shell.sessions.snapshots.settle("s1")
    assert [path.name for path in snapshots(live)] == [f"snapshot-{live.journal.revision}.json"]


class HeldIO(FileIO):
    """Holds what would write a snapshot until it is let go, or fails it."""

    def __init__(self, error: int | None = None) -> None:
        super().__init__("process")
        self.free = threading.Event()
        self.held = threading.Event()
        self.error = error

    def rename(self, source: Path, target: Path) -> None:
        if target.name.startswith("snapshot-"):
            self._hold(target)
        super().rename(source, target)

    def _hold(self, target: Path) -> None:
        if self.error is not None:
            raise OSError(self.error, "no room")
        self.held.set()
        assert self.free.wait(20), f"nobody let {target.name} go"


async def until_held(io: HeldIO) -> None:
    assert await asyncio.to_thread(io.held.wait, 20)


async def test_no_step_waits_for_a_snapshot_and_one_is_written_at_a_time(tmp_path: Path) -> None:
    io = HeldIO()
    shell = Shell(tmp_path, [DONE] * 4, io=io, least=0)
    live = (await shell.start()).live
    await until_held(io)
    revision = live.journal.revision
    for _ in range(4):
        await one_turn(shell, live)
    assert snapshots(live) == []
    io.free.set()
    await shell.sessions.snapshots.settle("s1")
    assert [path.name for path in snapshots(live)] == [f"snapshot-{revision}.json"]
    assert live.kept.size == snapshots(live)[0].stat().st_size


async def test_closing_waits_for_the_snapshot_that_is_being_written(tmp_path: Path) -> None:
    io = HeldIO()
    shell = Shell(tmp_path, [], io=io, least=0)
    live = (await shell.start()).live
    await shell.start("s2")
    await until_held(io)
    closing = asyncio.create_task(shell.sessions.snapshots.close())
    await asyncio.sleep(0)
    assert not closing.done()
    io.free.set()
    await asyncio.wait_for(closing, 20)
    assert len(snapshots(live)) == 1
    # the one that waited for its turn was given up
    assert list((tmp_path / "sessions" / "s2").glob("snapshot-*")) == []
    shell.sessions.snapshots.committed(live)
    await shell.sessions.snapshots.close()


async def test_a_daemon_that_ends_leaves_snapshots_of_what_has_grown(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [DONE] * 5)
    grown, other = (await shell.start()).live, (await shell.start("s2")).live
    for _ in range(5):
        await one_turn(shell, grown)
    await shell.scheduler.close()
    snapshotting = Snapshotting(shell.store, leaving=2000)
    await snapshotting.leave(shell.sessions.loaded)
    assert [path.name for path in snapshots(grown)] == [f"snapshot-{grown.journal.revision}.json"]
    assert snapshots(other) == []
    assert grown.kept == Kept(grown.journal.size, snapshots(grown)[0].stat().st_size)


async def test_a_snapshot_that_fails_is_logged_and_costs_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shell = Shell(tmp_path, [DONE], io=HeldIO(errno.ENOSPC), least=0)
    live = (await shell.start()).live
    await next_turn(shell, live)
    assert (live.failure, live.machine.session.state) == (None, "completed")
    assert list(live.journal.path.parent.glob("snapshot-*")) == []
    assert "session s1 has no snapshot of revision 2: [Errno 28] no room" in caplog.text


async def test_a_session_that_failed_gets_no_snapshot(tmp_path: Path) -> None:
    io = FaultyIO()
    shell = Shell(tmp_path, [DONE], io=io, least=1 << 40)
    live = (await shell.start()).live
    io.fault = Fault(len(io.calls), errno.EIO, sticky=True)
    with pytest.raises(RecordFailed):
        await shell.scheduler.submit(live, e.Pause("hold", CLIENT))
    io.fault = None
    live.kept = Kept()
    keeper = Shell(tmp_path, [], least=0).sessions.snapshots
    keeper.committed(live)
    await keeper.close()
    assert snapshots(live) == []


@pytest.mark.parametrize("spoil", [lambda text: text[:-9], lambda text: text.replace(b'"title":"t"', b'"title":"u"')])
async def test_r6_a_disagreement_is_reported_and_the_journal_counts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, spoil: Callable[[bytes], bytes]
) -> None:
    await told(tmp_path, [DONE, DONE, DONE])
    directory = tmp_path / "sessions" / "s1"
    for path in directory.glob("snapshot-*"):
        path.write_bytes(spoil(path.read_bytes()))
    caplog.set_level(logging.WARNING)
    shell = Shell(tmp_path, [])
    live = await shell.sessions.get("s1")
    assert live.machine.session.title == "t"
    assert live.log.oldest_seq == 1
    names = sorted((path.name for path in snapshots(live)), key=lambda name: -int(name[9:-5]))
    reasons = tuple(f"{name} is ignored: its checksum does not match" for name in names)
    assert shell.sessions.disagreements == {"s1": reasons}
    assert all(f"session s1: {reason}" in caplog.text for reason in reasons)


async def test_a_snapshot_is_one_json_document_for_people(tmp_path: Path) -> None:
    shell = await told(tmp_path, [DONE])
    (live,) = shell.sessions.loaded
    for path in snapshots(live):
        shown = json.loads(path.read_text(encoding="ascii"))
        assert [*shown] == [
            "format",
            "version",
            "journal",
            "journalHash",
            "nextSeq",
            "session",
            "transcript",
            "sha256",
        ]
        assert path.stat().st_mode & 0o777 == 0o600
