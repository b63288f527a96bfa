"""What can be spared and what cannot, and that whatever changed meanwhile stays."""

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.stories import dispatched
from support.world import CLIENT, World

from abey.core import events as e
from abey.runtime import retention
from abey.runtime.clock import timestamp
from abey.runtime.retention import Garbage
from abey.runtime.store.faults import Fault, FaultyIO

NOW = 2_000_000_000_000
HOUR, DAY = 3_600_000, 86_400_000
NAMED, LOST, CUT, SNAPPED = ("a" * 64, "b" * 64, "c" * 64, "d" * 64)


def put(path: Path, age: int, text: str = "12345") -> Path:
    """A file whose last change was so many milliseconds ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    at = (NOW - age) * 1_000_000
    os.utime(path, ns=(at, at))
    return path


def trash_name(session_id: str, age: int) -> str:
    return f"{session_id}.1.{timestamp(NOW - age).replace(':', '')}"


def session(tmp_path: Path) -> Path:
    """A directory with something of every kind in it."""
    directory = tmp_path / "sessions" / "s1"
    put(directory / "journal.jsonl", 0, f'{{"sha256": "{NAMED}"}} {"e" * 65}')
    put(directory / "journal.jsonl.tail-9", 0, CUT)
    put(directory / "snapshot-9.json", 0)
    put(directory / "snapshot-20.json", 0, SNAPPED)
    put(directory / "snapshot-100.json", 0)
    for name in (NAMED, LOST, CUT, SNAPPED, "e" * 64):
        put(directory / "blobs" / name, DAY + 1)
    put(directory / "blobs" / ("f" * 64), DAY - 1)
    put(directory / "blobs" / "notes", 9 * DAY)
    put(directory / "blobs" / "x.part", HOUR + 1)
    put(directory / "journal.jsonl.1-2.new", HOUR + 1)
    put(directory / "young.new", HOUR - 1)
    for invocation in ("ended", "unfinished"):
        put(directory / f"partial-{invocation}", HOUR + 1)
    put(directory / "partial-young", HOUR - 1)
    (directory / "dir.new").mkdir()
    (directory / "link.new").symlink_to("journal.jsonl")
    return directory


@pytest.mark.parametrize("linked", ["session", "blobs", "configs", "documents"])
def test_what_a_link_leads_to_is_never_spared(tmp_path: Path, linked: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    put(elsewhere / "download.part", 9 * DAY)
    put(elsewhere / ".s1.abey.md.new", 9 * DAY)
    put(elsewhere / LOST, 9 * DAY)
    state = tmp_path / "state"
    link = {"session": state / "sessions" / "s1", "blobs": state / "sessions" / "s1" / "blobs"}.get(linked)
    link = link or state / linked
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    io = FaultyIO()
    found = [*retention.in_session(io, state / "sessions" / "s1", NOW), *retention.beside_sessions(io, state, NOW)]
    assert found == []


def test_what_cannot_be_looked_at_counts_for_nothing(tmp_path: Path) -> None:
    put(tmp_path / "a" / "file", 0)
    put(tmp_path / "a" / "b" / "file", 0)

    class Unreadable(FaultyIO):
        def names(self, path: Path) -> list[str]:
            if path.name == "b":
                raise PermissionError
            return super().names(path)

    assert retention.tree_bytes(Unreadable(), tmp_path / "a") == 5


def test_what_a_session_can_spare(tmp_path: Path) -> None:
    directory = session(tmp_path)
    temporary = "a temporary file, untouched for an hour"
    unnamed = "no record names it, and it is older than a day"
    ended = "what a tool printed whose call has ended"
    assert retention.in_session(FaultyIO(), directory, NOW, frozenset({"unfinished"})) == (
        Garbage("temporary", directory / "journal.jsonl.1-2.new", 5, temporary, "s1"),
        Garbage("temporary", directory / "blobs" / "x.part", 5, temporary, "s1"),
        Garbage("temporary", directory / "partial-ended", 5, ended, "s1"),
        Garbage("snapshot", directory / "snapshot-9.json", 5, "2 newer ones are kept", "s1"),
        Garbage("blob", directory / "blobs" / LOST, 5, unnamed, "s1"),
        Garbage("blob", directory / "blobs" / ("e" * 64), 5, unnamed, "s1"),
    )


def test_a_journal_is_not_read_where_no_blob_is_old(tmp_path: Path) -> None:
    directory = tmp_path / "s1"
    put(directory / "journal.jsonl", 0)
    put(directory / "blobs" / LOST, DAY - 1)
    io = FaultyIO()
    assert (retention.in_session(io, directory, NOW), io.calls) == ((), [])


def test_a_blob_stays_where_a_file_of_the_session_cannot_be_read(tmp_path: Path) -> None:
    directory = session(tmp_path)
    with pytest.raises(OSError, match="Input/output"):
        retention.in_session(FaultyIO(Fault(0)), directory, NOW)


@settings(max_examples=50, deadline=None)
@given(
    blobs=st.dictionaries(st.sampled_from([digit * 64 for digit in "0123456789"]), st.integers(0, 3 * DAY)),
    named=st.sets(st.sampled_from([digit * 64 for digit in "0123456789"])),
    place=st.sampled_from(["journal.jsonl", "journal.jsonl.tail-7", "journal.jsonl.original-1", "snapshot-3.json"]),
)
def test_whatever_is_named_anywhere_or_is_young_stays_and_all_else_goes(
    blobs: dict[str, int], named: set[str], place: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "s1"
        put(directory / "journal.jsonl", 0, "{}")
        put(directory / place, 0, " ".join(f'{{"sha256":"{name}"}}' for name in named))
        for name, age in blobs.items():
            put(directory / "blobs" / name, age)
        io = FaultyIO()
        for one in retention.in_session(io, directory, NOW):
            assert retention.remove(io, one)
        left = {path.name for path in (directory / "blobs").iterdir()} if blobs else set()
        assert left == {name for name, age in blobs.items() if name in named or age <= DAY}


def test_what_lies_beside_the_sessions(tmp_path: Path) -> None:
    old = [put(tmp_path / "daemon.addr.new", HOUR + 1), put(tmp_path / "configs" / "a.json.1-2.new", HOUR + 1)]
    put(tmp_path / "index.sqlite", 900 * DAY)
    put(tmp_path / ".gitignore", 900 * DAY)
    put(tmp_path / "documents" / "x.new", 900 * DAY)
    put(tmp_path / "documents" / ".young.abey.md.new", HOUR - 1)
    old.append(put(tmp_path / "documents" / ".s1.abey.md.new", HOUR + 1))
    found = retention.beside_sessions(FaultyIO(), tmp_path, NOW)
    assert [one.path for one in found] == old


def test_what_the_trash_can_spare(tmp_path: Path) -> None:
    trash = tmp_path / "trash"
    over, kept = trash / trash_name("s1", 14 * DAY + 1), trash / trash_name("s2", 14 * DAY)
    for path in (over, kept, trash / "notes", trash / f"{trash_name('s3', 0)}.going"):
        put(path / "journal.jsonl", 900 * DAY)
    put(trash / "s4.1.9999-99-99T999999.999Z" / "journal.jsonl", 900 * DAY)
    put(over / "blobs" / "x", 0, "123")
    assert retention.in_trash(FaultyIO(), trash, NOW) == (
        Garbage("trash", over, 8, "it was deleted more than 14 days ago", "s1"),
        Garbage("trash", trash / f"{trash_name('s3', 0)}.going", 5, "it was being removed"),
    )


def reason(world: World, days: int) -> str | None:
    """Why the session could go so many days after its last record, and a moment."""
    session = replace(world.session, updated_at=timestamp(NOW))
    return retention.why_spared(session, NOW + days * DAY + 1)


def archived(*tools: str) -> World:
    world = dispatched(*tools) if tools else World()
    if not tools:
        world.start(None)
    world.send(e.Update(None, True, CLIENT))
    return world


def test_a_session_is_spared_only_if_it_is_put_away_and_old_and_nothing_waits_in_it() -> None:
    world = archived()
    assert reason(world, 89) is None
    assert reason(world, 90) == "it is archived and has not changed for more than 90 days"
    merely_old = World()
    merely_old.start("hello")
    assert reason(merely_old, 900) is None
    waits = archived("ask")
    assert reason(waits, 900) is None
    waits.send(e.Stop(None, CLIENT))
    assert reason(waits, 90) == "it is stopped and has not changed for more than 90 days"


def test_a_clock_that_went_back_and_a_time_that_is_none_spare_nothing() -> None:
    world = archived()
    assert reason(world, -900) is None
    assert retention.why_spared(replace(world.session, updated_at="once"), NOW) is None


def test_what_changed_since_it_was_looked_at_stays(tmp_path: Path) -> None:
    path = put(tmp_path / "a.new", 2 * HOUR)
    io = FaultyIO()
    [found] = retention.beside_sessions(io, tmp_path, NOW)
    put(path, 2 * HOUR - 1)
    assert (retention.remove(io, found), path.exists()) == (False, True)
    [found] = retention.beside_sessions(io, tmp_path, NOW)
    assert (retention.remove(io, found), path.exists()) == (True, False)
    assert retention.remove(io, found) is False


def test_a_directory_of_the_trash_goes_whole_and_no_link_is_followed(tmp_path: Path) -> None:
    outside = put(tmp_path / "outside" / "file", 0)
    path = tmp_path / "trash" / trash_name("s1", 15 * DAY)
    put(path / "blobs" / "x", 0)
    (path / "link").symlink_to(outside.parent)
    [found] = retention.in_trash(FaultyIO(), tmp_path / "trash", NOW)
    assert retention.remove(FaultyIO(), found) is True
    assert (list((tmp_path / "trash").iterdir()), outside.exists()) == ([], True)


def test_a_removal_that_is_cut_short_anywhere_never_leaves_half_a_session_to_be_restored(tmp_path: Path) -> None:
    for at in range(100):
        trash = tmp_path / str(at)
        name = trash_name("s1", 15 * DAY)
        put(trash / name / "journal.jsonl", 0)
        put(trash / name / "blobs" / "x", 0)
        [found] = retention.in_trash(FaultyIO(), trash, NOW)
        io = FaultyIO(Fault(at, sticky=True))
        try:
            retention.remove(io, found)
        except OSError:
            there = {str(path.relative_to(trash)) for path in trash.rglob("*") if path.is_file()}
            assert name not in os.listdir(trash) or there == {f"{name}/journal.jsonl", f"{name}/blobs/x"}
            for one in retention.in_trash(FaultyIO(), trash, NOW):
                assert retention.remove(FaultyIO(), one) is True
            assert os.listdir(trash) == []
        else:
            assert at > 3
            return
    raise AssertionError("the removal never came to an end")
