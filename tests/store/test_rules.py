"""The rules of recovery, one test each, through the store and everything above it (journal.md, Recovery)."""

import errno
import json
import os
import shutil
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.fake_host import FakeHost
from support.shell import CLIENT, Shell, answer, outcome
from support.world import text_parts

from abey.core import events as e
from abey.core.session import NoteEntry
from abey.core.views import items
from abey.errors import RecordFailed, SessionDamaged
from abey.protocol.journal import Record
from abey.runtime.doctor import sessions
from abey.runtime.doctor.subject import Subject
from abey.runtime.live import Live
from abey.runtime.store.faults import Fault, FaultyIO
from abey.runtime.store.io import FileIO
from abey.runtime.store.recovery import Opened
from abey.runtime.store.snapshot_text import Snapshot
from abey.runtime.store.store import Store
from abey.runtime.transfer.exporting import export

NOW = "2025-11-30T00:00:00.000Z"
DATA = Path(__file__).parents[1] / "data"
Lines = list[bytes]


def journal(shell: Shell, session_id: str = "s1") -> Path:
    return shell.store.state_dir / "sessions" / session_id / "journal.jsonl"


def files(shell: Shell) -> dict[str, bytes]:
    folder = shell.store.state_dir / "sessions"
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def written(state: Path) -> Shell:
    """A daemon that has ended; of its session one idempotent and one deferred call wait, and another is well."""
    shell = Shell(state, [answer(("c1", "ask", "{}"), ("c2", "safe", "{}"))])
    shell.tools.instant = False
    await shell.start("other")
    live = (await shell.start()).live
    await outcome(await shell.drive(live))
    await shell.drive(live)
    await shell.until(lambda: shell.tools.started == ["safe"])
    await shell.scheduler.close()
    return shell


def again(shell: Shell) -> Shell:
    return Shell(shell.store.state_dir, [answer(text="done")])


def states(live: Live) -> dict[str, str]:
    batch = live.machine.session.batch
    return {call.call_id: call.state for call in batch.calls} if batch else {}


def notes(live: Live) -> list[str]:
    return [one.text for turn in live.machine.session.turns for one in turn.entries if isinstance(one, NoteEntry)]


async def test_r1_a_torn_tail_is_kept_cut_recorded_and_told_and_nothing_runs_by_itself(tmp_path: Path) -> None:
    first = await written(tmp_path)
    whole = journal(first).read_bytes()
    lines = whole.splitlines(keepends=True)
    half = b"0123abcd " + lines[-1][9:-20]
    journal(first).write_bytes(whole + half)
    shell = again(first)
    live = await shell.sessions.get("s1")
    after = journal(shell).read_bytes()
    assert (after.startswith(whole), len(after.splitlines())) == (True, len(lines) + 1)
    assert journal(shell).with_name(f"journal.jsonl.tail-{len(whole)}").read_bytes() == half
    assert states(live) == {"c1": "uncertain", "c2": "uncertain"}
    told = f"{len(half)} bytes of a torn or damaged write were cut off the journal at byte {len(whole)}"
    assert notes(live) == [
        f"{told} and kept beside it; the session has lost what they told, and calls told there may have run"
    ]
    assert [item.text for item in items(live.machine.session) if item.kind == "note"] == notes(live)
    assert await outcome(await shell.drive(live)) == "waiting"
    assert shell.tools.started == []
    # and a torn first write leaves no session, and is not changed
    await shell.scheduler.close()
    for cut in (1, len(lines[0]) // 2, len(lines[0]) - 1):
        journal(shell).write_bytes(lines[0][:cut])
        before = files(shell)
        [one], [broken] = await again(shell).sessions.all()
        assert (one.id, broken.damage.session_id, broken.machine) == ("other", "s1", None)
        assert files(shell) == before


def flipped(lines: Lines) -> Lines:
    return [*lines[:3], lines[3].replace(b"candidate", b"candidatf"), *lines[4:]]


def twice(lines: Lines) -> Lines:
    return [*lines[:4], *lines[3:]]


def half_copied(lines: Lines) -> Lines:
    return [*lines[:3], lines[3][:50] + b"\n", *lines[3:]]


def glued(lines: Lines) -> Lines:
    return [*lines[:3], lines[3][:-1], *lines[4:]]


@pytest.mark.parametrize("damage", [flipped, twice, half_copied, glued])
async def test_r2_damage_in_the_middle_is_read_only_up_to_it_until_somebody_repairs_it(
    tmp_path: Path, damage: Callable[[Lines], Lines]
) -> None:
    first = await written(tmp_path)
    lines = journal(first).read_bytes().splitlines(keepends=True)
    journal(first).write_bytes(b"".join(damage(lines)))
    shell = again(first)
    before = files(shell)
    [other], [broken] = await shell.sessions.all()
    assert (other.id, broken.damage.session_id) == ("other", "s1")
    machine, damaged = await shell.sessions.look("s1")
    assert damaged is not None
    whole = 4 if damage is twice else 3
    assert (machine.session.revision, damaged.offset) == (whole, sum(map(len, lines[:whole])))
    with pytest.raises(SessionDamaged) as refused:
        await shell.sessions.get("s1")
    assert f"at byte {damaged.offset}" in refused.value.message
    assert refused.value.message.endswith("`abey repair s1` says what can be done")
    seen = await shell.keeping.examine("s1")
    assert files(shell) == before
    done = await shell.keeping.repair("s1")
    assert (done.found, done.actions) == (seen.found, seen.actions)
    assert files(shell)["s1/journal.jsonl.original-1"] == before["s1/journal.jsonl"]
    live = await shell.sessions.get("s1")
    kept = 3 if damage is flipped else len(lines)
    assert live.machine.session.revision == kept + 1
    await shell.scheduler.submit(live, e.Pause(None, CLIENT))


def record(rev: int, prev: bytes, **members: object) -> bytes:
    envelope = {"at": NOW, "data": {}, "first": rev, "last": rev, "prev": prev.decode(), "rev": rev, "v": 1}
    payload = json.dumps(dict(sorted({**envelope, **members}.items())), separators=(",", ":")).encode()
    return b"%08x %b\n" % (zlib.crc32(payload), payload)


async def test_r3_a_newer_journal_is_read_only_and_not_one_byte_of_it_is_changed(tmp_path: Path) -> None:
    first = await written(tmp_path)
    whole = journal(first).read_bytes()
    last = whole.splitlines()[-1]
    rev = len(whole.splitlines()) + 1
    for newer in (
        {"v": 2, "type": "resumed"},
        {"type": "foreseen"},
        {"type": "resumed", "data": {"by": "x", "odd": 1}},
    ):
        journal(first).write_bytes(whole + record(rev, last[:8], **newer))
        shell = again(first)
        before = files(shell)
        machine, damage = await shell.sessions.look("s1")
        assert damage is not None
        assert damage.reason.startswith("written by a newer version: ")
        assert (machine.session.revision, damage.offset) == (rev - 1, len(whole))
        with pytest.raises(SessionDamaged, match=r"a newer version of abey wrote it.*install that version"):
            await shell.keeping.repair("s1")
        assert files(shell) == before


async def test_r3_what_an_older_reader_may_skip_it_skips_and_goes_on(tmp_path: Path) -> None:
    first = await written(tmp_path)
    whole = journal(first).read_bytes()
    *_, last = whole.splitlines()
    rev = len(whole.splitlines()) + 1
    foreseen = record(rev, last[:8], type="foreseen", ignorable=True)
    journal(first).write_bytes(whole + foreseen)
    shell = again(first)
    live = await shell.sessions.get("s1")
    assert live.machine.session.revision == rev
    await shell.scheduler.submit(live, e.Pause(None, CLIENT))
    await shell.scheduler.close()
    after = journal(shell).read_bytes()
    assert (after.startswith(whole + foreseen), len(after.splitlines())) == (True, rev + 1)
    reopened = await again(shell).sessions.get("s1")
    assert (reopened.machine.session.paused is not None, reopened.machine.session.revision) == (True, rev + 1)
    exported = export(shell.store, "s1", None, "jsonl")
    assert [json.loads(line)["type"] for line in exported.pieces].count("skipped") == 1
    assert exported.notes == ("what a newer version recorded, and this one skips: 1",)


async def test_r4_what_is_no_session_is_listed_with_the_reason_and_the_others_load(tmp_path: Path) -> None:
    first = await written(tmp_path)
    sessions = tmp_path / "sessions"
    for name, data in {"empty": b"", "nuls": b"\0" * 512, "foreign": b"hello\n"}.items():
        (sessions / name).mkdir()
        (sessions / name / "journal.jsonl").write_bytes(data)
    shutil.copytree(sessions / "other", sessions / "copy")
    (sessions / "without").mkdir()
    (sessions / "folder" / "journal.jsonl").mkdir(parents=True)
    (sessions / "pipe").mkdir()
    os.mkfifo(sessions / "pipe" / "journal.jsonl")
    (sessions / "plain-file").write_bytes(b"")  # not even a broken session
    shell = again(first)
    before = files(shell)
    live, broken = await shell.sessions.all()
    assert sorted(one.id for one in live) == ["other", "s1"]
    assert {one.damage.session_id: one.damage.reason for one in broken} == {
        "copy": "the journal is that of session other",
        "empty": "the journal is empty",
        "folder": "the journal cannot be read: not a regular file",
        "foreign": "the first write is not whole, or this is no journal: the checksum does not match",
        "nuls": "the journal holds only NUL bytes",
        "pipe": "the journal cannot be read: not a regular file",
        "without": "there is no journal",
    }
    changed = {name for name, data in files(shell).items() if before.get(name) != data}
    assert changed == set()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EFBIG])
async def test_r5_a_write_error_is_typed_stops_that_session_and_reopening_goes_on(tmp_path: Path, number: int) -> None:
    io = FaultyIO()
    shell = Shell(tmp_path, [answer(text="done")], io=io)
    other, live = (await shell.start("other")).live, (await shell.start()).live
    before = journal(shell).read_bytes()
    io.fault = Fault(len(io.calls), number, sticky=True)
    for _ in range(2):
        with pytest.raises(RecordFailed) as failed:
            await shell.drive(live)
        assert failed.value.details == {"errno": number, "errnoName": errno.errorcode[number]}
    io.fault = None
    assert (journal(shell).read_bytes(), live.machine.session.revision) == (before, 2)
    assert [notice["type"] for notice in shell.heard.notices] == ["record-failed"]
    await shell.scheduler.submit(other, e.Pause(None, CLIENT))
    with pytest.raises(RecordFailed):
        await shell.drive(live)
    reopened, applied = await shell.sessions.reopen("s1")
    assert (applied, await outcome(await shell.drive(reopened, e.UNTIL_YIELD))) == (True, "completed")


async def test_r6_a_snapshot_that_disagrees_loses_and_that_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = Shell(tmp_path, [answer(text="done")])
    live = (await first.start()).live
    await outcome(await first.drive(live, e.UNTIL_YIELD))
    assert live.log.session is not None
    lying = replace(live.log.session, title="not so")
    first.store.save_snapshot(Snapshot(lying, live.journal.end, "0" * 64, live.log.next_seq))
    await first.scheduler.close()
    shell = again(first)
    session = (await shell.sessions.get("s1")).machine.session
    assert (session.revision, session.title) == (lying.revision, "t")
    [disagreement] = shell.sessions.disagreements["s1"]
    assert f"session s1: {disagreement}" in caplog.messages


async def test_r6_a_journal_that_has_less_than_its_snapshot_counts_and_the_loss_is_told(tmp_path: Path) -> None:
    first = Shell(tmp_path, [answer(text="done")])
    live = (await first.start()).live
    old = journal(first).read_bytes()
    await outcome(await first.drive(live, e.UNTIL_YIELD))
    session = live.log.session
    assert session is not None and session.revision == 5
    first.store.save_snapshot(Snapshot(session, live.journal.end, live.journal.hash, live.log.next_seq))
    snapshot = (journal(first).parent / "snapshot-5.json").read_bytes()
    await first.scheduler.close()
    journal(first).write_bytes(old)
    lost = "snapshot-5.json knew 5 revisions, and the journal has 2: put journal.jsonl back from a copy"
    [_, finding] = sessions.sessions(FakeHost(), Subject(tmp_path, tmp_path, tmp_path, {}))
    assert (finding.severity, finding.message) == ("error", f"session s1: {lost}")
    shell = again(first)
    found = await shell.keeping.examine("s1")
    assert found.found == (lost, "revisions 3 to 5 are lost to the session, unless there is a copy")
    assert journal(first).read_bytes() == old
    mended = await shell.sessions.get("s1")
    assert mended.machine.session.revision == 3
    assert (journal(first).parent / "snapshot-5.json.ahead").read_bytes() == snapshot
    assert notes(mended) == [
        f"the journal ended too early, at byte {len(old)};"
        " the session has lost its former revisions 3 to 5, and calls told there may have run"
    ]


async def test_r6_a_missing_blob_is_shown_as_missing(tmp_path: Path) -> None:
    first = Shell(tmp_path, [])
    live = (await first.start()).live
    await first.scheduler.submit(live, e.Send(e.NewInput(text_parts("long " * 20_000)), None, CLIENT))
    await first.scheduler.close()
    [blob] = (journal(first).parent / "blobs").iterdir()
    blob.unlink()
    shell = again(first)
    [*_, last] = items((await shell.sessions.get("s1")).machine.session)
    assert last.parts is not None
    assert last.parts[-1].text == f"[missing: blob {blob.name}, 100000 bytes]"  # type: ignore[union-attr] # a text


@pytest.mark.parametrize("golden", sorted(DATA.glob("journal-v*.jsonl")), ids=lambda path: path.name)
def test_r7_every_released_format_opens(tmp_path: Path, golden: Path) -> None:
    store = Store(tmp_path, FileIO("process"))
    (tmp_path / "sessions" / "01k0").mkdir()
    shutil.copy(golden, tmp_path / "sessions" / "01k0" / "journal.jsonl")
    opened = store.open("01k0", NOW)
    assert isinstance(opened, Opened)
    assert (opened.journal.size, opened.repaired) == (golden.stat().st_size, None)
    revisions = [record.rev for record in opened.records]
    assert revisions == list(range(1, len(golden.read_bytes().splitlines()) + 1))
    assert all(isinstance(record, Record) for record in opened.records)
