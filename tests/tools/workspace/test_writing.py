"""Files are made and changed whole, and only while they are what somebody saw."""

import asyncio
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.workspaces import Work, tools

from abey.core.conversation import ToolOutcome
from abey.protocol.diffs import FileChange
from abey.runtime.tools.workspace import writes
from abey.runtime.tools.workspace.paths import Refused
from abey.runtime.tools.workspace.planning import planned

CHANGED = "f changed since it was read: read it again, then make the change anew"


async def test_a_new_file_is_made_with_the_folders_it_is_in(work: Work) -> None:
    outcome = await work.run("write_file", path="a/b/c.txt", content="one\ntwo\n")
    patch = "--- /dev/null\n+++ b/a/b/c.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n"
    assert outcome == ToolOutcome(
        "a/b/c.txt: created, 2 lines added, 0 removed",
        changes=(FileChange(path="a/b/c.txt", kind="created", patch=patch),),
    )
    assert (work.cwd / "a/b/c.txt").read_text() == "one\ntwo\n"


async def test_an_old_file_is_replaced_whole_and_keeps_its_mode(work: Work) -> None:
    file = work.write("run.sh", "old\n")
    file.chmod(0o751)
    outcome = await work.run("write_file", path="run.sh", content="new\n")
    patch = "--- a/run.sh\n+++ b/run.sh\n@@ -1 +1 @@\n-old\n+new\n"
    assert outcome == ToolOutcome(
        "run.sh: modified, 1 lines added, 1 removed",
        changes=(FileChange(path="run.sh", kind="modified", patch=patch),),
    )
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("new\n", 0o751)


async def test_nothing_is_left_beside_a_file_that_was_written(work: Work) -> None:
    await work.told("write_file", path="f", content="1")
    await work.told("write_file", path="f", content="2")
    work.write("g", "")
    (work.cwd / "g").chmod(0o444)
    await work.run("write_file", path="g", content="2")
    assert sorted(os.listdir(work.cwd)) == ["f", "g"]


async def test_a_hard_link_elsewhere_stays_what_it_was(work: Work, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    os.link(outside, work.cwd / "f")
    await work.told("write_file", path="f", content="new")
    assert (outside.read_text(), (work.cwd / "f").read_text()) == ("mine", "new")


async def test_a_link_in_the_workspace_stays_a_link_and_its_target_is_written_once_somebody_saw_it(work: Work) -> None:
    work.write("real/f", "old")
    (work.cwd / "link").symlink_to("real/f")
    refused = await work.refused("write_file", path="link", content="new")
    assert refused == "link leads through a link; write to real/f itself"
    shown = work.shown("write_file", path="link", content="new")
    assert (await work.run("write_file", preimage=shown.preimage, path="link", content="new")).error is None
    assert ((work.cwd / "link").is_symlink(), (work.cwd / "real/f").read_text()) == (True, "new")


@pytest.mark.parametrize(
    ("before", "edit", "after"),
    [
        ("a\nb\nc\n", {"old_text": "b\n", "new_text": "B\n"}, "a\nB\nc\n"),
        ("a a a", {"old_text": "a", "new_text": "b", "all": True}, "b b b"),
        ("a\r\nb\r\n", {"old_text": "a\nb", "new_text": "1\n2\n3"}, "1\r\n2\r\n3\r\n"),
        ("a\r\nb\r\n", {"old_text": "a\r\nb", "new_text": "1\r\n2"}, "1\r\n2\r\n"),
        (b"\xef\xbb\xbfa\n", {"old_text": "a", "new_text": "b"}, b"\xef\xbb\xbfb\n"),
        (b"\xff\xfea\0b\0", {"old_text": "b", "new_text": "c"}, b"\xff\xfea\0c\0"),
        (b"\xe4 a \xff\r", {"old_text": "a", "new_text": "\N{SNOWMAN}"}, b"\xe4 \xe2\x98\x83 \xff\r"),
    ],
)
async def test_an_edit_changes_what_it_names_and_nothing_else(
    work: Work, before: str | bytes, edit: dict[str, object], after: str | bytes
) -> None:
    file = work.write("f", before)
    await work.told("edit_file", path="f", **edit)
    assert file.read_bytes() == (after if isinstance(after, bytes) else after.encode())


@pytest.mark.parametrize(
    ("before", "edit", "why"),
    [
        ("a", {"old_text": "b", "new_text": "c"}, "old_text is not in f; read the file again and copy what is there"),
        ("x\n\tif a:\n\t\tb\n", {"old_text": "if a:\n    b", "new_text": ""}, "what begins in line 2 differs from it"),
        ("a\nb\na\n", {"old_text": "a", "new_text": "c"}, "old_text is in f 2 times (lines 1, 3); give more of its"),
        ("aaa", {"old_text": "aa", "new_text": "c"}, "old_text is in f 2 times (lines 1, 1)"),
        ("a\n" * 2000, {"old_text": "a", "new_text": "c"}, "old_text is in f very often (lines 1, 2, 3, 4, 5, …)"),
        ("a", {"old_text": "a", "new_text": "a"}, "f is like that already: nothing would change"),
        ("a\0", {"old_text": "a", "new_text": "b"}, "f is a binary file, and only texts can be edited"),
        ("a", {"old_text": "a", "new_text": "\ud83d"}, "new_text has half of a surrogate pair"),
        (b"\xff", {"old_text": "\udcff", "new_text": "b"}, "old_text has half of a surrogate pair"),
    ],
)
async def test_an_edit_that_is_not_clear_is_refused_and_says_why(
    work: Work, before: str | bytes, edit: dict[str, object], why: str
) -> None:
    file = work.write("f", before)
    was = file.read_bytes()
    assert why in await work.refused("edit_file", path="f", **edit)
    assert file.read_bytes() == was


async def test_an_edit_of_no_file_names_the_way_out(work: Work) -> None:
    refused = await work.refused("edit_file", path="f", old_text="a", new_text="b")
    assert refused == "f: there is no such file; write_file makes one"


async def test_a_file_that_changed_since_it_was_read_is_not_written(work: Work) -> None:
    file = work.write("f", "a b\n")
    await work.told("read_file", path="f")
    file.write_text("a b c\n")
    assert await work.refused("write_file", path="f", content="mine") == CHANGED
    assert await work.refused("edit_file", path="f", old_text="a", new_text="b") == CHANGED
    await work.told("read_file", path="f")
    await work.told("edit_file", path="f", old_text="a", new_text="x")
    assert file.read_text() == "x b c\n"


async def test_a_file_that_was_read_and_is_gone_is_not_made_again(work: Work) -> None:
    work.write("f", "a")
    await work.told("read_file", path="f")
    (work.cwd / "f").unlink()
    assert await work.refused("write_file", path="f", content="mine") == CHANGED


async def test_own_writes_and_what_others_read_are_no_conflict(work: Work) -> None:
    file = work.write("f", "a")
    await work.told("read_file", path="f")
    await work.run("read_file", path="f", session="s2")
    await work.told("write_file", path="f", content="b")
    await work.told("write_file", path="f", content="c")
    assert (await work.run("write_file", path="f", content="d", session="s2")).content == CHANGED
    assert (await work.run("write_file", path="f", content="d", session="s3")).error is None
    assert file.read_text() == "d"


async def test_a_write_is_bound_to_the_file_that_was_shown(work: Work) -> None:
    file = work.write("f", "a")
    shown = work.shown("write_file", path="f", content="b")
    file.write_text("c")
    outcome = await work.run("write_file", preimage=shown.preimage, path="f", content="b")
    assert outcome == ToolOutcome("f changed since the change was approved: nothing was written", error="tool/failed")
    shown = work.shown("write_file", path="f", content="b")
    assert (await work.run("write_file", preimage=shown.preimage, path="f", content="b")).error is None
    assert file.read_text() == "b"


async def test_what_was_shown_of_one_file_is_nothing_for_another_one_that_is_the_same(work: Work) -> None:
    work.write("a", "same")
    work.write("b", "same")
    (work.cwd / "link").symlink_to("a")
    shown = work.shown("write_file", path="link", content="new")
    (work.cwd / "link").unlink()
    (work.cwd / "link").symlink_to("b")
    assert (await work.run("write_file", preimage=shown.preimage, path="link", content="new")).error == "tool/failed"
    assert work.shown("write_file", path="x", content="") != work.shown("write_file", path="y", content="")


async def test_an_empty_file_is_another_one_than_none(work: Work) -> None:
    shown = work.shown("write_file", path="f", content="new")
    work.write("f", "")
    assert (await work.run("write_file", preimage=shown.preimage, path="f", content="new")).error == "tool/failed"


async def test_writes_at_the_same_time_all_count(work: Work) -> None:
    file = work.write("f", "".join(f"<{n}>\n" for n in range(20)))
    await work.told("read_file", path="f")
    edits = (work.told("edit_file", path="f", old_text=f"<{n}>", new_text=f"({n})") for n in range(20))
    await asyncio.gather(*edits)
    assert file.read_text() == "".join(f"({n})\n" for n in range(20))


async def test_a_write_that_has_begun_is_ended_before_its_cancel_is(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, free = threading.Event(), threading.Event()
    put = writes.put

    def slow(*given: Any) -> None:
        begun.set()
        assert free.wait(10)
        put(*given)

    monkeypatch.setattr(writes, "put", slow)
    first = asyncio.create_task(work.runner.run(tools()["write_file"], work.call(path="f", content="1")))
    await asyncio.to_thread(begun.wait, 10)
    second = asyncio.create_task(work.runner.run(tools()["write_file"], work.call(path="g", content="2")))
    await asyncio.sleep(0)
    for one in (first, second):
        one.cancel()
    await asyncio.sleep(0)
    assert not first.done()
    free.set()
    assert [type(one) for one in await asyncio.gather(first, second, return_exceptions=True)] == [
        asyncio.CancelledError
    ] * 2
    assert os.listdir(work.cwd) == ["f"]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is write-protected for root")
async def test_a_write_protected_file_is_not_replaced(work: Work) -> None:
    work.write("f", "a").chmod(0o444)
    assert await work.refused("write_file", path="f", content="b") == "f is write-protected"


async def test_a_write_that_is_too_large_is_refused(work: Work) -> None:
    assert "at most 16777216 can be written" in await work.refused("write_file", path="f", content="x" * (1 << 25))


TEXT = st.text(st.sampled_from("ab\n\r é"), max_size=30)


async def test_an_edit_that_would_make_a_file_of_any_size_is_refused_before_it_is_made(work: Work) -> None:
    work.write("f", "a" * (1 << 20))
    new = "b" * (1 << 20)  # a tebibyte in all
    told = await work.refused("edit_file", path="f", old_text="a", new_text=new, all=True)
    assert told == f"f would have {1 << 40} bytes; at most {16 << 20} can be written"


async def test_places_of_a_long_text_that_overlap_are_not_all_looked_for(work: Work) -> None:
    work.write("f", "a" * (16 << 20))
    refused = await work.refused("edit_file", path="f", old_text="a" * (8 << 20), new_text="b")
    assert refused.startswith("old_text is in f very often (lines 1, 1, 1, 1, 1, …); give more of its surroundings")


@given(TEXT, TEXT.filter(bool), TEXT, st.booleans(), st.binary(max_size=3))
def test_an_edit_is_the_replacement_of_a_text_that_is_there_once(
    text: str, old: str, new: str, every: bool, foreign: bytes
) -> None:
    before = text.encode() + foreign
    arguments = {"path": "f", "old_text": old, "new_text": new, "all": every}
    try:
        after = planned("edit_file", arguments, before)
    except Refused:
        return
    if before.count(b"\n") and before.count(b"\r\n") == before.count(b"\n"):
        was, becomes = (one.replace("\r\n", "\n").encode() for one in (old, new))
        assert after == before.replace(b"\r\n", b"\n").replace(was, becomes).replace(b"\n", b"\r\n")
    else:
        assert after == before.replace(old.encode(), new.encode()) and (every or before.count(old.encode()) == 1)


def test_what_writes_is_destructive_and_what_reads_is_idempotent() -> None:
    told = {name: (tool.destructive, tool.idempotent, tool.runnable) for name, tool in tools().items()}
    assert told == {
        **dict.fromkeys(("read_file", "list_files", "search"), (False, True, True)),
        **dict.fromkeys(("write_file", "edit_file"), (True, False, True)),
    }
    assert [tool.destructive for tool in tools(destructive=False).values()] == [False] * 5
