"""Opening a session from a snapshot comes to what opening its journal comes to, whatever happened to either."""

import errno
import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.snapshots import Told, told

from abey.core.idempotency import Remembered
from abey.protocol import journal as j
from abey.protocol.blocks import TextBlock
from abey.protocol.journal import Record, RecordData
from abey.protocol.session import Usage
from abey.protocol.transcript import TextPart
from abey.runtime.event_log import EventLog
from abey.runtime.reviving import Broken, follow
from abey.runtime.store.faults import Fault, FaultyIO
from abey.runtime.store.io import FileIO
from abey.runtime.store.journal import Journal
from abey.runtime.store.recovery import Opened, load_journal, open_journal
from abey.runtime.store.references import no_blobs
from abey.runtime.store.snapshot_text import Snapshot, Unusable, from_text
from abey.runtime.store.snapshots import Found, find_snapshot, write_snapshot

Units = tuple[tuple[Record, ...], ...]
AT = "2025-11-29T12:00:00.000Z"
NOW = "2025-11-30T00:00:00.000Z"
DISK = FileIO("process")
LARGE = "\ud83d large " * 9000


@dataclass
class Kept:
    """A session on the disk, and a snapshot of it after each of its units."""

    directory: Path
    snapshots: list[Snapshot]

    @property
    def journal(self) -> Path:
        return self.directory / "journal.jsonl"

    def write(self, snapshot: Snapshot, io: FileIO = DISK) -> Path:
        write_snapshot(io, self.directory, snapshot)
        return self.directory / f"snapshot-{snapshot.end.revision}.json"

    def found(self) -> Found:
        return find_snapshot(DISK, self.directory, self.journal.read_bytes())


def keep(directory: Path, units: Sequence[tuple[Record, ...]]) -> Kept:
    journal = Journal.create(DISK, directory, units[0])
    log, snapshots = EventLog(), list[Snapshot]()
    for index, unit in enumerate(units):
        if index:
            journal.append(unit)
        log.add(unit)
        assert log.session is not None
        snapshots.append(Snapshot(log.session, journal.end, journal.hash, log.next_seq))
    journal.close()
    return Kept(directory, snapshots)


def numbered(*data: tuple[RecordData, ...]) -> Units:
    units, rev = [], 1
    for unit in data:
        units.append(tuple(Record(rev + index, AT, each) for index, each in enumerate(unit)))
        rev += len(unit)
    return tuple(units)


def little(text: str = "so", session_id: str = "01k0") -> Units:
    """A session of a few bytes: a turn with its answer, and the beginning of the next."""
    created = j.Created(session_id=session_id, agent="a", config={}, config_hash="0", cwd="/", title="t")
    asked = j.ModelRequested(turn_id="t", step_id="s", invocation_id="n", request_hash="r", config_hash="c")
    candidate = j.Candidate(
        turn_id="t",
        step_id="s",
        invocation_id="n",
        blocks=(TextBlock(text=text),),
        finish_reason="stop",
        usage=Usage(),
        attempts=1,
    )
    again = j.Input(turn_id="u", input_id="k", parts=(TextPart(text="more"),))
    first = j.Input(turn_id="t", input_id="i", parts=(TextPart(text="hi"),))
    return numbered((created, first), (asked,), (candidate, j.Final(turn_id="t", step_id="s")), (again,))


@pytest.fixture
def kept(directory: Path, units: Units) -> Kept:
    return keep(directory, units)


def forget(directory: Path) -> None:
    """What an opening has put aside is where it was."""
    for tail in directory.glob("*.tail-*"):
        tail.unlink()
    for ahead in directory.glob("*.ahead"):
        ahead.rename(ahead.with_suffix(""))


def both(directory: Path, data: bytes) -> tuple[Told, Told]:
    """What opening this journal comes to with the snapshots that are there, and without them."""
    told_of = []
    for opening in (load_journal, open_journal):
        (directory / "journal.jsonl").write_bytes(data)
        told_of.append(told(opening(DISK, directory, NOW)))
        forget(directory)
    return told_of[0], told_of[1]


def test_a_session_opens_from_its_newest_snapshot_as_from_its_journal(kept: Kept, units: Units) -> None:
    whole = told(open_journal(DISK, kept.directory, NOW))
    for count, snapshot in enumerate(kept.snapshots, 1):
        kept.write(snapshot)
        opened = load_journal(DISK, kept.directory, NOW)
        assert (opened.base.snapshot, opened.base.disagreements) == (snapshot, ())
        assert opened.records == tuple(record for unit in units[count:] for record in unit)
        assert told(opened) == whole


def test_requests_with_a_key_are_remembered_from_a_snapshot(directory: Path) -> None:
    begun = [j.KeyedRequest(key=key, method="agents/send", body_hash="0" * 64) for key in ("one", "two", "{}")]
    error: dict[str, Any] = {"error": {"code": -31017, "message": "no", "data": {"kind": "model/auth"}}}
    ends = (j.KeyedOutcome(key="one", outcome={"position": 0}), j.KeyedOutcome(key="two", outcome=error))
    (first, *_), *_ = little()
    pages = tuple(Record(2 + at, AT, j.Answered(), request) for at, request in enumerate(begun))
    kept = keep(directory, ((first,), pages, (Record(5, AT, j.Answered(), None, ends),)))
    kept.write(kept.snapshots[-1])
    opened = load_journal(DISK, directory, NOW)
    assert opened.base.snapshot is not None
    assert opened.records == ()
    assert opened.base.snapshot.session.requests == {
        "one": Remembered("one", "agents/send", "0" * 64, {"position": 0}),
        "two": Remembered("two", "agents/send", "0" * 64, error),
        "{}": Remembered("{}", "agents/send", "0" * 64),
    }


def test_what_is_written_after_a_load_from_a_snapshot_continues_the_journal(kept: Kept, units: Units) -> None:
    kept.write(kept.snapshots[2])
    opened = load_journal(DISK, kept.directory, NOW)
    assert isinstance(opened, Opened)
    opened.journal.append((Record(units[-1][-1].rev + 1, AT, j.Paused(by="Ann")),))
    again, whole = load_journal(DISK, kept.directory, NOW), open_journal(DISK, kept.directory, NOW)
    assert told(again) == told(whole)
    assert told(again).journal_hash == opened.journal.hash


def test_every_flipped_byte_of_the_journal_is_found_as_without_the_snapshot(directory: Path) -> None:
    kept = keep(directory, little())
    kept.write(kept.snapshots[1])
    data, end = kept.journal.read_bytes(), kept.snapshots[1].end.size
    for place in range(len(data)):
        flipped = bytearray(data)
        flipped[place] ^= 1 << (place % 8)
        agrees = find_snapshot(DISK, directory, bytes(flipped)).snapshot is not None
        assert agrees == (place >= end), f"byte {place}"
        if place % 4 == 0:
            with_snapshot, without = both(directory, bytes(flipped))
            assert with_snapshot == without, f"byte {place}"


def test_every_truncation_of_the_journal_opens_as_without_the_snapshot(directory: Path) -> None:
    kept = keep(directory, little())
    kept.write(kept.snapshots[1])
    data, end = kept.journal.read_bytes(), kept.snapshots[1].end.size
    for size in range(len(data)):
        agrees = find_snapshot(DISK, directory, data[:size]).snapshot is not None
        assert agrees == (size >= end), f"{size} bytes"
        if size % 4 == 0:
            with_snapshot, without = both(directory, data[:size])
            assert with_snapshot == without, f"{size} bytes"


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_becomes_of_the_journal_a_snapshot_changes_nothing(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        kept = keep(Path(folder) / "01k0", little())
        for snapshot in data.draw(st.lists(st.sampled_from(kept.snapshots), min_size=1, max_size=3)):
            kept.write(snapshot)
        lines = kept.journal.read_bytes().splitlines(keepends=True)
        piece = st.sampled_from([*lines, b"".join(lines), b"".join(lines[:4])]) | st.binary(max_size=9)
        pieces = data.draw(st.lists(piece, max_size=6))
        joined = data.draw(st.sampled_from([b"".join(pieces), b"".join([*lines, *pieces]), b"".join(lines[:5])]))
        with_snapshot, without = both(kept.directory, joined)
        assert with_snapshot == without


def test_a_record_that_cannot_follow_breaks_the_session_in_the_same_place(directory: Path) -> None:
    units = little()
    kept = keep(directory, units)
    kept.write(kept.snapshots[2])
    opened = load_journal(DISK, directory, NOW)
    assert isinstance(opened, Opened)
    revision = units[-1][-1].rev
    opened.journal.append((Record(revision + 1, AT, j.Paused(by="Ann")),))
    opened.journal.append((Record(revision + 2, AT, j.CallExpired(call_id="nobody's")),))
    broken = follow(load_journal(DISK, directory, NOW))
    assert isinstance(broken, Broken)
    assert broken == follow(open_journal(DISK, directory, NOW))
    assert (broken.machine and broken.machine.session.revision) == revision + 1


def test_every_flipped_byte_and_every_truncation_of_a_snapshot_costs_only_the_snapshot(directory: Path) -> None:
    kept = keep(directory, little())
    path = kept.write(kept.snapshots[2])
    whole, text = told(open_journal(DISK, directory, NOW)), path.read_bytes()
    for place in range(len(text)):
        flipped = bytearray(text)
        flipped[place] ^= 1 << (place % 8)
        for spoilt in (bytes(flipped), text[:place]):
            with pytest.raises(Unusable, match=r"^its checksum does not match$"):
                from_text(spoilt, no_blobs)
    path.write_bytes(text[:-1])
    assert kept.found() == Found(None, 0, (f"{path.name} is ignored: its checksum does not match",))
    assert told(load_journal(DISK, directory, NOW)) == whole


def test_r6_a_snapshot_that_disagrees_loses_and_the_older_one_counts(kept: Kept) -> None:
    older, newer = kept.write(kept.snapshots[1]), kept.write(kept.snapshots[3])
    newer.write_bytes(older.read_bytes())
    found = load_journal(DISK, kept.directory, NOW)
    assert found.base.snapshot == kept.snapshots[1]
    assert found.base.disagreements == (f"{newer.name} is ignored: it is of revision 6",)
    assert told(found) == told(open_journal(DISK, kept.directory, NOW))


def test_r6_a_snapshot_of_another_journal_loses(tmp_path: Path, directory: Path) -> None:
    kept = keep(directory, little())
    path = kept.write(kept.snapshots[-1])
    end = kept.snapshots[-1].end

    (tmp_path / "other").mkdir()
    other = keep(tmp_path / "other" / "01k0", little("oh"))
    shutil.copy(other.journal, kept.journal)
    why = f"the journal's first {end.size} bytes are not those that it was made of"
    assert kept.found() == Found(None, 0, (f"{path.name} is ignored: {why}",))
    assert told(load_journal(DISK, directory, NOW)) == told(open_journal(DISK, directory, NOW))

    stranger = keep(tmp_path / "stranger", little(session_id="stranger"))
    shutil.copy(stranger.write(stranger.snapshots[-1]), path)
    assert kept.found() == Found(None, 0, (f"{path.name} is ignored: it is of session stranger",))


def test_r6_a_snapshot_of_more_than_there_is_loses(directory: Path) -> None:
    kept = keep(directory, little())
    path = kept.write(kept.snapshots[-1])
    data, size = kept.journal.read_bytes(), kept.snapshots[1].end.size
    kept.journal.write_bytes(data[:size])
    why = f"it is of a journal of {len(data)} bytes, and there are {size}"
    assert kept.found() == Found(None, 0, (f"{path.name} is ignored: {why}",))


def cut_short(tmp_path: Path) -> tuple[Kept, bytes]:
    """A session whose journal has lost the last two of the revisions that its snapshot knew; and that journal."""
    tmp_path.mkdir(exist_ok=True)
    kept = keep(tmp_path / "01k0", little())
    kept.write(kept.snapshots[-1])
    data = kept.journal.read_bytes()[: kept.snapshots[-3].end.size]
    kept.journal.write_bytes(data)
    return kept, data


def test_a_snapshot_of_more_than_there_is_loses_and_the_loss_is_recorded_whoever_wrote_it(tmp_path: Path) -> None:
    kept, data = cut_short(tmp_path)
    path = kept.directory / "snapshot-6.json"
    body = path.read_bytes().replace(b'"version":"', b'"version":"99.', 1)
    lines = body[: body.rindex(b"\n", 0, -1) + 1]
    path.write_bytes(lines + b'],"sha256":"%b"}\n' % hashlib.sha256(lines).hexdigest().encode())
    for tail, opening in ((b"", load_journal), (b"0123", open_journal)):
        (kept.directory / "snapshot-6.json").write_bytes(path.read_bytes())
        kept.journal.write_bytes(data + tail)
        found = opening(DISK, kept.directory, NOW)
        assert isinstance(found, Opened)
        told = j.Repaired(offset=len(data), cut_bytes=len(tail), may_have_run=True, lost=((4, 6),))
        assert ([one.rev for one in found.records], found.repaired) == ([1, 2, 3, 4], told)
        assert not path.exists()
        again = opening(DISK, kept.directory, NOW)
        assert isinstance(again, Opened) and again.repaired is None
        forget(kept.directory)
    kept.journal.write_bytes(data)
    path.write_bytes(path.read_bytes()[:-1])  # garbled, it proves nothing
    proof = load_journal(DISK, kept.directory, NOW)
    assert isinstance(proof, Opened) and proof.repaired is None


def test_a_snapshot_of_another_session_or_under_another_name_proves_nothing(tmp_path: Path) -> None:
    kept, _ = cut_short(tmp_path)
    text = (kept.directory / "snapshot-6.json").read_bytes()
    (kept.directory / "snapshot-6.json").rename(kept.directory / "snapshot-7.json")
    assert isinstance(load_journal(DISK, kept.directory, NOW), Opened)
    stranger = keep(tmp_path / "stranger", little(session_id="stranger")[:2])
    (stranger.directory / "snapshot-6.json").write_bytes(text)
    assert isinstance(load_journal(DISK, stranger.directory, NOW), Opened)


def test_an_opening_that_is_cut_short_anywhere_forgets_no_loss(tmp_path: Path) -> None:
    whole = False
    for at in range(40):
        kept, data = cut_short(tmp_path / str(at))
        first = open_journal(FaultyIO(Fault(at, sticky=True)), kept.directory, NOW)
        opened = open_journal(DISK, kept.directory, NOW)
        assert isinstance(opened, Opened)
        told_of = [one.data for one in opened.records if isinstance(one.data, j.Repaired)]
        expected = j.Repaired(offset=len(data), cut_bytes=0, may_have_run=True, lost=((4, 6),))
        assert told_of[0] == expected
        assert [path.name for path in kept.directory.glob("snapshot-6.json*")] == ["snapshot-6.json.ahead"]
        whole = isinstance(first, Opened)
        if whole:
            break
    assert whole


def test_a_snapshot_of_another_version_is_no_disagreement(kept: Kept) -> None:
    path = kept.write(kept.snapshots[-1])
    body = path.read_bytes().replace(b'"version":"', b'"version":"99.', 1)
    lines = body[: body.rindex(b"\n", 0, -1) + 1]
    path.write_bytes(lines + b'],"sha256":"%b"}\n' % hashlib.sha256(lines).hexdigest().encode())
    assert kept.found() == Found(None)


def test_a_snapshot_that_cannot_be_read_is_named(kept: Kept) -> None:
    (kept.directory / "snapshot-3.json").mkdir()
    assert kept.found() == Found(None, 0, ("snapshot-3.json cannot be read: not a regular file",))
    whole = told(open_journal(DISK, kept.directory, NOW))
    assert told(load_journal(DISK, kept.directory, NOW)) == whole


def test_two_snapshots_are_kept_and_none_of_a_journal_that_is_gone(kept: Kept) -> None:
    (kept.directory / "snapshot-99.json").write_bytes(b"of revisions that were lost")
    (kept.directory / "snapshot-x.json").write_bytes(b"not ours")
    for snapshot in kept.snapshots:
        kept.write(snapshot)
    revisions = [snapshot.end.revision for snapshot in kept.snapshots[-2:]]
    names = {path.name for path in kept.directory.glob("snapshot-*")}
    assert names == {"snapshot-x.json", *(f"snapshot-{revision}.json" for revision in revisions)}


def test_a_large_text_is_kept_once_and_a_lost_one_costs_only_the_snapshot(directory: Path) -> None:
    kept = keep(directory, little(LARGE))
    path = kept.write(kept.snapshots[-1])
    assert path.stat().st_size < 4096
    assert kept.found() == Found(kept.snapshots[-1], path.stat().st_size)
    (blob,) = (directory / "blobs").iterdir()
    blob.unlink()
    lost = f"[missing: blob {blob.name}, {len(LARGE.encode('utf-8', 'surrogatepass'))} bytes]"
    assert kept.found() == Found(None, 0, (f"{path.name} is ignored: it needs what is not there: {lost}",))
    assert told(load_journal(DISK, directory, NOW)) == told(open_journal(DISK, directory, NOW))


def test_a_large_text_without_a_blob_stands_in_the_snapshot(directory: Path) -> None:
    kept = keep(directory, little(LARGE))
    shutil.rmtree(directory / "blobs")
    path = kept.write(kept.snapshots[-1])
    assert kept.found() == Found(kept.snapshots[-1], path.stat().st_size)


def test_a_snapshot_is_whole_and_on_the_disk_before_it_has_its_name(kept: Kept) -> None:
    io = FaultyIO()
    kept.write(kept.snapshots[0], io)
    assert io.calls == ["open", "write", "sync", "rename", "sync_directory"]


@pytest.mark.parametrize("write", ["raises", "short", "partial"])
def test_a_failed_snapshot_leaves_the_last_one_and_nothing_else(kept: Kept, write: str) -> None:
    first = kept.snapshots[0]
    clean = FaultyIO()
    kept.write(first)
    kept.write(kept.snapshots[1], clean)
    (kept.directory / f"snapshot-{kept.snapshots[1].end.revision}.json").unlink()
    names = {path.name for path in kept.directory.iterdir()}
    for at in range(len(clean.calls)):
        io = FaultyIO(Fault(at, errno.ENOSPC, write))  # type: ignore[arg-type]  # one of the three
        try:
            write_snapshot(io, kept.directory, kept.snapshots[1])
        except OSError as error:
            assert error.errno == errno.ENOSPC
        found = kept.found()
        assert found.snapshot in kept.snapshots[:2] and found.disagreements == ()
        (kept.directory / f"snapshot-{kept.snapshots[1].end.revision}.json").unlink(missing_ok=True)
        assert {path.name for path in kept.directory.iterdir()} == names


def test_a_number_that_json_has_not_makes_no_snapshot(kept: Kept) -> None:
    created = kept.snapshots[0].session.created.model_copy(update={"config": float("inf")})
    odd = replace(kept.snapshots[0], session=replace(kept.snapshots[0].session, created=created))
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_snapshot(DISK, kept.directory, odd)
    assert kept.found() == Found(None)
