"""No path, link or swap leads out of the workspace, and some places in it are not written."""

import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.workspaces import Work

from abey.core.previews import Preview
from abey.runtime.tools.workspace.paths import Own, Refused, spot_of
from abey.runtime.tools.workspace.writes import NO_FILE, look

OUTSIDE = "is outside the workspace; only paths under the session's folder can be used"


@pytest.fixture
def secret(work: Work) -> Path:
    secret = work.cwd.parent / "secret"
    secret.mkdir()
    (secret / "f").write_text("secret")
    return secret


ESCAPES = ["../secret/f", "a/../../secret/f", "/etc/passwd", "{secret}/f", "{cwd}x", "{cwd}/../secret/f", "..", "/"]


@pytest.fixture(autouse=True)
def _nothing_stays_open() -> Iterator[None]:
    """Whatever a call comes to."""
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    yield
    assert before == (len(os.listdir("/proc/self/fd")) if before else 0)


@pytest.mark.parametrize("path", ESCAPES)
async def test_a_path_that_leads_out_is_refused_by_every_tool(work: Work, secret: Path, path: str) -> None:
    (work.cwd / "a").mkdir()
    path = path.format(secret=secret, cwd=work.cwd)
    refused = {
        await work.refused("read_file", path=path),
        await work.refused("list_files", path=path),
        await work.refused("search", path=path, pattern="x"),
        await work.refused("write_file", path=path, content="x"),
        await work.refused("edit_file", path=path, old_text="s", new_text="x"),
        work.shown("write_file", path=path, content="x").fault,
    }
    assert refused == {f"{path} {OUTSIDE}"}
    assert (secret / "f").read_text() == "secret"


@pytest.mark.parametrize(
    "target", ["../secret", "../secret/f", "{secret}/f", "/etc", "/proc/1/root/etc", "a/../../secret"]
)
async def test_a_link_that_leads_out_is_refused(work: Work, secret: Path, target: str) -> None:
    (work.cwd / "a").mkdir()
    (work.cwd / "link").symlink_to(target.format(secret=secret))
    for path in ("link", "link/f", "link/new", "a/../link"):
        assert OUTSIDE in await work.refused("read_file", path=path)
        assert OUTSIDE in await work.refused("write_file", path=path, content="x")
    assert sorted(os.listdir(secret)) == ["f"] and (secret / "f").read_text() == "secret"


async def test_a_link_that_leads_out_is_shown_but_not_followed(work: Work, secret: Path) -> None:
    (work.cwd / "link").symlink_to(secret)
    (work.cwd / "loop").symlink_to(".")
    assert await work.told("list_files", pattern="**") == f"link -> {secret}\nloop -> ."
    assert await work.told("search", pattern="secret") == "no match in 0 files"


async def test_links_and_absolute_paths_that_stay_inside_work(work: Work) -> None:
    work.write("a/b/f", "here")
    (work.cwd / "up").symlink_to("a/b/..")
    (work.cwd / "whole").symlink_to(work.cwd / "a")
    (work.cwd / "chain").symlink_to("whole/b/f")
    paths = ["a/b/f", "a//b/./f", f"{work.cwd}/a/b/f", "up/b/f", "whole/b/f", "chain", "a/b/../../chain", "chain/"]
    assert {await work.told("read_file", path=path) for path in paths} == {
        "[a/b/f: lines 1-1 of 1; no newline at the end]\nhere"
    }


async def test_a_workspace_that_is_named_through_a_link_is_the_same(work: Work, tmp_path: Path) -> None:
    work.write("f", "here")
    alias = tmp_path / "alias"
    alias.symlink_to(work.cwd)
    named = Work(alias)
    for path in ("f", f"{alias}/f", f"{work.cwd}/f"):
        assert (await named.told("read_file", path=path)).endswith("here")


async def test_links_in_a_circle_end(work: Work) -> None:
    (work.cwd / "a").symlink_to("b")
    (work.cwd / "b").symlink_to("a")
    assert await work.refused("read_file", path="a") == "a: too many links"


@pytest.mark.parametrize("path", ["a\0b", "\ud83d", "x" * 300, "x/" * 3000])
async def test_what_is_no_path_is_refused(work: Work, path: str) -> None:
    await work.refused("read_file", path=path)
    await work.refused("write_file", path=path, content="x")
    assert os.listdir(work.cwd) == []


@pytest.mark.parametrize(
    "path", [".git/hooks/post-commit", ".git", "sub/.git/config", ".GIT/config", ".abey/agents/a.json", "hooks/x"]
)
async def test_nothing_is_written_where_programs_and_rules_are(work: Work, path: str) -> None:
    (work.cwd / ".git/hooks").mkdir(parents=True)
    (work.cwd / "hooks").symlink_to(".git/hooks")
    assert "nothing is written in ." in await work.refused("write_file", path=path, content="x")
    assert [len(files) for _, _, files in os.walk(work.cwd)] == [0] * 3


async def test_an_agent_file_is_read_but_not_written(work_beside: Callable[[Own], Work]) -> None:
    work = work_beside(Own(is_agent_file=lambda path: Path(path).parts[-2:] == ("work", "agent.json")))
    work.write("agent.json", "{}")
    (work.cwd / "alias").symlink_to("agent.json")
    for path in ("agent.json", "alias", "./x/../agent.json"):
        (work.cwd / "x").mkdir(exist_ok=True)
        assert await work.refused("write_file", path=path, content="x") == (
            "agent.json is an agent file, and no tool writes one; ask the user to do it"
        )
    assert (await work.told("read_file", path="agent.json")).endswith("{}")


async def test_the_folders_of_the_daemon_are_outside(work_beside: Callable[[Own], Work], tmp_path: Path) -> None:
    work = work_beside(Own((tmp_path / "work/.config/abey",)))
    work.write(".config/abey/keys.json", "secret")
    (work.cwd / "link").symlink_to(".config/abey")
    for path in (".config/abey/keys.json", "link/keys.json"):
        assert "is a folder of the daemon" in await work.refused("read_file", path=path)
        assert "is a folder of the daemon" in await work.refused("write_file", path=path, content="x")
    assert await work.told("search", pattern="secret", hidden=True) == "no match in 0 files"
    assert await work.told("list_files", pattern="**", hidden=True) == ".config/\nlink -> .config/abey"


async def test_devices_pipes_and_sockets_are_not_touched(work: Work) -> None:
    os.mkfifo(work.cwd / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(work.cwd / "socket"))
        for path in ("pipe", "socket"):
            assert await work.refused("read_file", path=path) == f"{path} is no regular file"
            assert await work.refused("write_file", path=path, content="x") == f"{path} is no regular file"
    assert await work.told("list_files") == "pipe (no regular file)\nsocket (no regular file)"
    assert await work.told("search", pattern="x") == "no match in 0 files"


async def test_a_folder_that_becomes_a_link_again_and_again_leads_nowhere(work: Work, secret: Path) -> None:
    """Somebody swaps a folder for a link to outside, as fast as they can."""
    work.write("real/f", "mine")
    (work.cwd / "evil").symlink_to(secret)
    ended = threading.Event()

    def swap() -> None:
        while not ended.is_set():
            _move(work.cwd, "real", "spare")
            _move(work.cwd, "evil", "real")
            _move(work.cwd, "real", "evil")
            _move(work.cwd, "spare", "real")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        told = set()
        for n in range(300):
            told.add((await work.run("read_file", path="real/f")).content.split("\n")[-1])
            await work.run("write_file", path="real/f", content=f"mine {n}")
            await work.run("write_file", path=f"real/new{n}", content="x")
    finally:
        ended.set()
        swapper.join()
    assert not any("secret" in one for one in told if "outside" not in one)
    assert (sorted(os.listdir(secret)), (secret / "f").read_text()) == (["f"], "secret")


def _move(cwd: Path, source: str, to: str) -> None:
    """A write may have made the folder in between."""
    while True:
        try:
            return os.rename(cwd / source, cwd / to)
        except OSError:
            shutil.rmtree(cwd / to, ignore_errors=True)


STEPS = st.lists(st.sampled_from(["a", "b", "c", "..", ".", ""]), min_size=1, max_size=6).map("/".join)
TREES = st.lists(st.tuples(st.sampled_from(["folder", "file", "link", "absolute"]), STEPS, STEPS), max_size=8)


@given(tree=TREES, path=STEPS, absolute=st.booleans())
@settings(max_examples=150)
def test_whatever_links_there_are_a_path_leads_where_the_kernel_says_or_nowhere(
    tmp_path_factory: pytest.TempPathFactory, tree: list[tuple[str, str, str]], path: str, absolute: bool
) -> None:
    root = tmp_path_factory.mktemp("tree")
    cwd = root / "work"
    cwd.mkdir()
    for kind, place, target in tree:
        _plant(cwd, kind, place, target)
    named = f"{cwd}/{path}" if absolute else path
    real = os.path.realpath(f"{cwd}/{path}")
    try:
        with spot_of(str(cwd), named, Own()) as spot:
            led = os.path.join(spot.root, *spot.parts)
    except Refused:
        return
    assert os.path.commonpath([led, os.path.realpath(cwd)]) == os.path.realpath(cwd)
    assert led == real


def _plant(cwd: Path, kind: str, place: str, target: str) -> None:
    """Whatever of it can be made."""
    where = cwd / place
    if os.path.commonpath([os.path.realpath(where), os.path.realpath(cwd)]) != os.path.realpath(cwd):
        return
    try:
        match kind:
            case "folder":
                where.mkdir()
            case "file":
                where.touch()
            case _:
                where.symlink_to(cwd / target if kind == "absolute" else target)
    except OSError:
        return


def test_a_look_never_raises(tmp_path: Path) -> None:
    assert look(str(tmp_path / "gone"), "write_file", {"path": "f", "content": ""}, Own()) == Preview(
        NO_FILE,
        "--- a/f\n+++ b/f\n[nothing would be written: f: No such file or directory]\n",
        "f: No such file or directory",
    )
