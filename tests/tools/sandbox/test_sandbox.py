"""Which sandbox there is, and that nothing is ever started without one."""

import asyncio
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.sandboxes import Cell, found

from abey.core.agent import Tool
from abey.core.conversation import ToolOutcome
from abey.protocol.policy import RunIsolated
from abey.runtime.tools.groups import GroupLauncher
from abey.runtime.tools.helper import ProcessHelper
from abey.runtime.tools.processes import CannotStart, Ended, Program, Running, Streams
from abey.runtime.tools.sandbox import sandbox as there
from abey.runtime.tools.sandbox import seccomp
from abey.runtime.tools.sandbox.launcher import SandboxedLauncher
from abey.runtime.tools.sandbox.layout import Surroundings, surroundings
from abey.runtime.tools.sandbox.leftovers import SCRATCH, Leftovers
from abey.runtime.tools.sandbox.sandbox import Found, Sandbox
from abey.runtime.tools.sandbox.shields import Shields

NONE = Found(why="bubblewrap is not installed, and there is no Landlock")
ISOLATED = RunIsolated()


def sandbox(found: Found) -> Sandbox:
    return Sandbox(surroundings((), os.environ), look=lambda _: found)


def test_bubblewrap_comes_first_then_landlock_and_else_the_reasons_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    faults: dict[str, str | None] = {"bubblewrap": None, "landlock": None}
    monkeypatch.setattr(there, "why_no_bubblewrap", lambda _: faults["bubblewrap"])
    monkeypatch.setattr(there, "why_no_landlock", lambda _: faults["landlock"])
    names = [there.find(sandbox(NONE)).name]
    faults["bubblewrap"] = "bubblewrap is not installed"
    names.append(there.find(sandbox(NONE)).name)
    faults["landlock"] = "there is no Landlock"
    assert (names, there.find(sandbox(NONE))) == (["bubblewrap", "Landlock and seccomp"], NONE)


async def test_what_there_is_is_found_out_once_and_again_when_somebody_asks() -> None:
    asked: list[int] = []

    def look(_: Sandbox) -> Found:
        asked.append(1)
        return NONE

    one = Sandbox(surroundings((), os.environ), look=look)
    await asyncio.gather(one.look(), one.look(), one.look())
    assert (one.found(), asked) == (NONE, [1])
    await one.look(again=True)
    assert asked == [1, 1]


async def test_a_home_that_is_not_there_is_none(inside: Cell) -> None:
    there_already = found(inside.kind)
    inside.sandbox = Sandbox(Surroundings(("/nonexistent",), ()), look=lambda _: there_already)
    assert await inside.run("true", HOME="/nonexistent") == ToolOutcome("")


async def test_what_works_is_not_looked_for_again() -> None:
    asked: list[int] = []

    def look(_: Sandbox) -> Found:
        asked.append(1)
        return Found(bwrap="bwrap")

    one = Sandbox(surroundings((), os.environ), look=look)
    await one.look()
    await one.look(again=True)
    assert asked == [1]


def test_a_bwrap_that_does_not_work_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    why = there.why_no_bubblewrap(sandbox(NONE))
    assert why == "bubblewrap does not work (bwrap: No permissions to create new namespace)"


def test_an_old_landlock_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(there, "landlock_version", lambda: 5)
    assert there.why_no_landlock(sandbox(NONE)) == "Landlock has version 5, and 6 is needed"
    monkeypatch.setattr(there, "landlock_version", lambda: 0)
    assert there.why_no_landlock(sandbox(NONE)) == "there is no Landlock, and 6 is needed"


def of_kind(kind: str) -> Tool:
    return Tool("t", "", {}, {"kind": kind}, "h")


def test_it_says_for_which_calls_there_is_one(tmp_path: Path) -> None:
    full, empty = sandbox(Found(bwrap="bwrap")), sandbox(NONE)
    cwd = str(tmp_path)
    assert [full.why_not(of_kind(kind), ISOLATED, cwd) for kind in ("command", "executables")] == [None, None]
    assert empty.why_not(of_kind("command"), ISOLATED, cwd) == NONE.why
    said = "a tool of kind mcp is no program that is started for its call"
    assert full.why_not(of_kind("mcp"), ISOLATED, cwd) == said
    assert "is in the session's folder" in (full.why_not(of_kind("command"), ISOLATED, "/") or "")
    only = sandbox(Found(landlock=True))
    answers = [only.why_not(of_kind("command"), RunIsolated(writable=one), cwd) for one in (False, True)]
    assert [one is None for one in answers] == [True, False]


async def test_without_a_sandbox_nothing_is_started(helper: ProcessHelper, tmp_path: Path) -> None:
    launcher = SandboxedLauncher(helper, sandbox(NONE))
    program = Program(("touch", "ran"), str(tmp_path), {"PATH": os.environ["PATH"]}, ISOLATED)
    with pytest.raises(CannotStart, match="there is no sandbox for it: bubblewrap is not installed"):
        await launcher.launch(program, 1)
    for bare in (helper, GroupLauncher()):
        with pytest.raises(CannotStart, match="for a sandbox, and this is none"):
            await bare.launch(program, 1)
    assert os.listdir(tmp_path) == []


class Refusing:
    """A Launcher that starts nothing."""

    async def launch(self, program: Program, out: int) -> Running:
        raise CannotStart("no")

    async def converse(self, program: Program, streams: Streams) -> Running:
        raise CannotStart("no")


async def test_what_was_made_for_a_program_that_does_not_start_goes(bubblewrap: Cell) -> None:
    launcher = SandboxedLauncher(Refusing(), bubblewrap.sandbox)
    program = Program(("true",), str(bubblewrap.work), {}, RunIsolated(writable=True))
    with pytest.raises(CannotStart, match="no"):
        await launcher.launch(program, 1)
    assert os.listdir(bubblewrap.work) == []


async def test_a_program_that_is_talked_to_is_in_a_sandbox_too(inside: Cell) -> None:
    launcher = SandboxedLauncher(inside.helper, inside.sandbox)
    env = {"PATH": os.environ["PATH"], "HOME": str(inside.home)}
    program = Program(("sh", "-c", "cat; echo x > escaped || echo no >&2"), str(inside.work), env, ISOLATED)
    stdin, into = os.pipe()
    out, stdout = os.pipe()
    running = await launcher.converse(program, Streams(stdin, stdout, stdout))
    for descriptor in (stdin, stdout):
        os.close(descriptor)
    os.write(into, b"hello\n")
    os.close(into)
    ended = await running.ended()
    await running.end()
    with os.fdopen(out, "rb") as told:
        lines = told.read().splitlines()
    assert (ended, lines[0], lines[-1], os.listdir(inside.work)) == (Ended(exit_code=0), b"hello", b"no", [])


@pytest.mark.parametrize("daemons", [1, 2])
async def test_two_programs_in_one_workspace_keep_it_for_each_other(bubblewrap: Cell, daemons: int) -> None:
    other = bubblewrap if daemons == 1 else replace(bubblewrap, sandbox=sandbox(found("bubblewrap")))
    attack = "while ! test -e go; do sleep 0.01; done; mkdir -p .git; echo x > .git/config; touch tried"
    longer = asyncio.ensure_future(bubblewrap.sh(attack, writable=True))
    while not (bubblewrap.work / ".git").exists():  # noqa: ASYNC110 - another process makes it
        await asyncio.sleep(0.005)
    assert await other.sh("true", writable=True) == ToolOutcome("")
    assert (bubblewrap.work / ".git").exists()
    (bubblewrap.work / "go").touch()
    await longer
    assert sorted(os.listdir(bubblewrap.work)) == ["go", "tried"]


def test_a_shield_goes_with_the_last_who_holds_it_and_never_what_is_in_it(tmp_path: Path) -> None:
    shields, there_already = Shields(), tmp_path / "b"
    there_already.mkdir()
    paths = [str(tmp_path / "a"), str(there_already)]
    first, second = shields.hold(paths), shields.hold(paths)
    shields.let_go(first)
    assert (first, second, os.listdir(tmp_path / "a")) == (paths[:1], paths[:1], [])
    shields.let_go(second)
    assert os.listdir(tmp_path) == ["b"]
    held = shields.hold(paths[:1])
    (tmp_path / "a" / "mine").touch()
    shields.let_go(held)
    assert os.listdir(tmp_path / "a") == ["mine"]


def test_daemons_share_a_shield_and_the_last_of_all_removes_it(tmp_path: Path) -> None:
    daemons = [Shields() for _ in range(3)]
    outer, inner = tmp_path / "work", tmp_path / "work" / "agent.json"
    paths = [str(outer), str(inner)]
    held = [daemons[0].hold(paths[:1]), daemons[1].hold(paths), daemons[2].hold(paths[:1])]
    there = []
    for daemon, mine in zip(daemons, held, strict=True):
        daemon.let_go(mine)
        there.append((outer.exists(), inner.exists()))
    assert (held, there) == ([paths[:1], paths, paths[:1]], [(True, True), (True, False), (False, False)])


async def test_many_daemons_at_once_leave_nothing_and_each_finds_it_there(tmp_path: Path) -> None:
    path = str(tmp_path / ".git")

    def use() -> list[bool]:
        shields, seen = Shields(), []
        for _ in range(100):
            held = shields.hold([path])
            seen.append(os.path.isdir(path) and held == [path])
            shields.let_go(held)
        return seen

    seen = await asyncio.gather(*(asyncio.to_thread(use) for _ in range(4)))
    assert (seen, os.listdir(tmp_path)) == ([[True] * 100] * 4, [])


def test_a_killed_daemon_takes_no_shield_from_another_one(tmp_path: Path) -> None:
    record, path = tmp_path / "leftovers.json", str(tmp_path / ".git")
    other, mine = Shields(), Leftovers(record)
    held = other.hold([path])
    mine.note([path])
    Leftovers(record).clear()
    there = os.listdir(tmp_path)
    other.let_go(held)
    assert (there, os.listdir(tmp_path)) == ([".git"], [])


HOLDING = """
import sys
from dataclasses import replace
from pathlib import Path
from abey.runtime.tools.sandbox.leftovers import Leftovers
from abey.runtime.tools.sandbox.shields import Shields
record, scratch, *paths = sys.argv[1:]
leftovers = Leftovers(Path(record))
Shields(leftovers).hold(paths)
leftovers.note([scratch])
"""
"""A daemon that ends without letting go."""


def test_what_a_killed_daemon_left_is_removed_by_the_next_and_nothing_else(tmp_path: Path) -> None:
    record, work, scratch = tmp_path / "leftovers.json", tmp_path / "work", tmp_path / f"{SCRATCH}1"
    (work / "there").mkdir(parents=True)
    paths = [work / name for name in ("left", "filled", "there", "gone")]
    subprocess.run([sys.executable, "-c", HOLDING, record, scratch, *paths], check=True)
    (scratch / "locked").mkdir(parents=True)
    (scratch / "locked" / "file").touch()
    (scratch / "link").symlink_to(work)
    (scratch / "locked").chmod(0)
    (work / "gone").rmdir()
    (work / "filled" / "mine").touch()
    Leftovers(record).clear()
    assert (sorted(os.listdir(work)), os.listdir(tmp_path)) == (["filled", "there"], ["work"])


@pytest.mark.parametrize("text", ["", "{}", "[1, null]", "[", '["relative"]'])
def test_a_record_of_leftovers_that_is_damaged_says_nothing(tmp_path: Path, text: str) -> None:
    record = tmp_path / "leftovers.json"
    record.write_text(text)
    Leftovers(record).clear()
    shields = Shields(Leftovers(record))
    shields.let_go(shields.hold([str(tmp_path / "a")]))
    assert os.listdir(tmp_path) == []


def test_where_one_shield_cannot_be_made_none_is_held(tmp_path: Path) -> None:
    shields = Shields()
    with pytest.raises(FileNotFoundError):
        shields.hold([str(tmp_path / "a"), str(tmp_path / "missing" / "b")])
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("network", [True, False])
def test_the_filter_is_short_enough_for_the_kernel_and_for_its_jumps(machine: str, network: bool) -> None:
    code = seccomp.code(machine, network=network, shared=True)
    assert (len(code) % 8, len(code) // 8 <= 4096) == (0, True)


def test_a_processor_without_a_table_has_no_filter() -> None:
    with pytest.raises(KeyError):
        seccomp.code("vax", network=False, shared=False)


async def test_a_long_argument_comes_through(inside: Cell) -> None:
    text = 'ü"\\\n' * 15_000
    assert await inside.run("printf", "%s", text) == ToolOutcome(text)


async def test_a_program_is_shown_its_own_file_wherever_it_is(inside: Cell) -> None:
    program = inside.state / "tool"
    program.write_text('#!/bin/sh\necho it runs; ls -A "$(dirname "$0")"\n')
    program.chmod(0o755)
    (inside.state / "keys.json").touch()
    outcome = await inside.run(str(program))
    assert (outcome.content.startswith("it runs\n"), "keys.json" in outcome.content) == (True, False)
