"""What tools print while they run: kept beside the journal until a result is durable, at nobody's cost."""

import asyncio
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from support.processes import until
from support.shell import Heard

from abey.runtime.live import Live
from abey.runtime.partials import Partials
from abey.runtime.ports import Progress
from abey.runtime.so_far import SoFar
from abey.runtime.store.faults import Fault, FaultyIO
from abey.runtime.store.io import FileIO
from abey.runtime.store.partial import PartialFile, read_partial
from abey.runtime.store.store import Store


@dataclass
class Running:
    """A session of which only the output matters."""

    id: str = "s1"
    so_far: dict[str, SoFar] = field(default_factory=dict)


class Case:
    """One call that runs."""

    def __init__(self, root: Path, io: FileIO | None = None) -> None:
        self.store = Store(root, io or FileIO("process"))
        self.folder = root / "sessions" / "s1"
        self.folder.mkdir()
        self.heard = Heard()
        self.partials = Partials(self.store, self.heard)
        self.live = cast(Live, Running())
        self.tell: Callable[[Progress], None] = self.partials.begin(self.live, "c1", "i1")

    def kept(self) -> str | None:
        return self.store.read_partial("s1", "i1")

    async def end(self, *, told: bool) -> None:
        await self.partials.end(self.live, "i1", told=told)

    def names(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


async def test_what_is_told_is_heard_kept_and_gone_with_the_result(tmp_path: Path) -> None:
    case = Case(tmp_path)
    for text in ("one ", "half \ud83d"):
        case.tell(Progress(text=text))
    case.tell(Progress(message="m", done=1, total=2))
    await until(lambda: case.kept() == "one half \ufffd")
    assert case.heard.news == {
        "c1": [
            Progress(text="one ", message=""),
            Progress(text="half \ufffd", message=""),
            Progress(text="", message="m", done=1, total=2),
        ]
    }
    assert ((case.folder / "partial-i1").stat().st_mode & 0o777, case.live.so_far["i1"].size) == (0o600, 10)
    await case.end(told=True)
    assert (case.names(), case.live.so_far) == ([], {})


async def test_what_is_printed_last_is_kept_where_the_daemon_ends_in_order(tmp_path: Path) -> None:
    case = Case(tmp_path)
    case.tell(Progress(text="begun"))
    await case.end(told=False)
    assert (case.kept(), list(case.live.so_far)) == ("begun", ["i1"])


async def test_a_call_that_prints_nothing_or_is_quick_makes_no_file(tmp_path: Path) -> None:
    io = FaultyIO()
    case = Case(tmp_path, io)
    before = list(io.calls)
    case.tell(Progress(text="quick"))
    await case.end(told=True)
    assert (case.names(), io.calls) == ([], before)


async def test_nobody_hears_of_a_call_that_was_told_to_end(tmp_path: Path) -> None:
    case = Case(tmp_path)
    await case.end(told=True)
    case.tell(Progress(text="late"))
    await case.partials.close()
    assert (case.heard.news, case.live.so_far, case.names()) == ({}, {}, [])


async def test_a_full_disk_costs_only_what_is_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    case = Case(tmp_path)
    case.folder.rmdir()
    with caplog.at_level(logging.WARNING):
        case.tell(Progress(text="one"))
        await until(lambda: "cannot be kept" in caplog.text)
    case.tell(Progress(text=" two"))
    assert (case.live.so_far["i1"].text(), len(case.heard.news["c1"])) == ("one two", 2)
    await case.end(told=True)
    assert caplog.text.count("cannot be kept") == 1


@pytest.mark.parametrize("at", range(8))
def test_a_write_that_fails_leaves_the_last_one_whole(tmp_path: Path, at: int) -> None:
    PartialFile(FileIO("process"), tmp_path, "i1").write("before")
    io = FaultyIO(Fault(at))
    file, after = PartialFile(io, tmp_path, "i1"), "after"
    try:
        file.write(after)
    except OSError:
        after = "before"
    assert read_partial(FileIO("process"), tmp_path, "i1") == after


@pytest.mark.parametrize("name", ["partial-i1", "partial-i1.new"])
@pytest.mark.parametrize("lies", ["a link", "a pipe"])
def test_what_somebody_put_in_its_place_is_never_written_to(tmp_path: Path, name: str, lies: str) -> None:
    """A write to a pipe that nobody reads would never end."""
    mine = tmp_path / "mine"
    mine.write_text("of the user")
    (tmp_path / name).symlink_to(mine) if lies == "a link" else os.mkfifo(tmp_path / name)
    file = PartialFile(FileIO("process"), tmp_path, "i1")
    file.write("text")
    there = read_partial(FileIO("process"), tmp_path, "i1"), mine.read_text(), len(list(tmp_path.iterdir()))
    file.remove()
    assert (there, list(tmp_path.iterdir())) == (("text", "of the user", 2), [mine])


def test_a_write_that_fails_leaves_nothing_else_behind(tmp_path: Path) -> None:
    (tmp_path / "partial-i1").mkdir()
    with pytest.raises(IsADirectoryError):
        PartialFile(FileIO("process"), tmp_path, "i1").write("text")
    assert [path.name for path in tmp_path.iterdir()] == ["partial-i1"]


def test_after_its_end_no_late_write_brings_it_back(tmp_path: Path) -> None:
    file = PartialFile(FileIO("process"), tmp_path, "i1")
    file.write("text")
    file.remove()
    file.write("late")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("lies", ["nothing", "a folder", "too much", "a link", "a pipe"])
def test_what_is_none_of_ours_is_not_read(tmp_path: Path, lies: str) -> None:
    path = tmp_path / "partial-i1"
    if lies == "a folder":
        path.mkdir()
    elif lies == "too much":
        path.write_bytes(b"x" * ((1 << 20) + 1))
    elif lies == "a link":
        (tmp_path / "secret").write_text("a secret of the user")
        path.symlink_to("secret")
    elif lies == "a pipe":
        os.mkfifo(path)
    assert read_partial(FileIO("process"), tmp_path, "i1") is None


async def test_a_tool_that_prints_without_end_is_written_now_and_then(tmp_path: Path) -> None:
    io = FaultyIO()
    case = Case(tmp_path, io)
    for _ in range(200):
        case.tell(Progress(text="x" * 65_536))
        await asyncio.sleep(0)
    await until(lambda: case.kept() is not None)
    await case.end(told=False)
    renames: list[Any] = [call for call in io.calls if "rename" in str(call)]
    assert (len(renames) <= 3, len(case.kept() or "") < 140_000) == (True, True)
