"""What a program in a sandbox can do to files: its own scratch, its workspace where it may, and nothing else."""

import os
from pathlib import Path

import pytest
from support.sandboxes import PLAIN, Cell

from abey.core.conversation import ToolOutcome
from abey.runtime.tools.processes import Ended, Program
from abey.runtime.tools.sandbox.launcher import SandboxedLauncher
from abey.runtime.tools.sandbox.layout import surroundings
from abey.runtime.tools.sandbox.sandbox import Found, Sandbox

SECRET = "a secret of the user"
NAME = "abey-escaped"


def secret(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SECRET)
    return path


async def test_nothing_is_written_outside(inside: Cell) -> None:
    places = [inside.outside, inside.home, inside.state, inside.work, *map(Path, ("/", "/etc", "/opt", "/usr", "/var"))]
    await inside.sh("; ".join(f"echo x > {place}/{NAME}" for place in places))
    assert [place for place in places if (place / NAME).exists()] == []


async def test_there_is_scratch_space_and_nothing_of_it_stays(inside: Cell) -> None:
    outcome = await inside.sh(
        "cd ${TMPDIR:-/tmp} && pwd && echo a > abey-scratch && cat abey-scratch && mkdir ~/.cache"
    )
    scratch, *told = outcome.content.splitlines()
    assert (outcome.error, told, os.listdir(inside.home)) == (None, ["a"], [])
    assert [name for name in ("abey-scratch", ".cache") if (Path(scratch) / name).exists()] == []


async def test_the_workspace_is_read_and_written_only_where_the_rule_says_so(bubblewrap: Cell) -> None:
    (bubblewrap.work / "in").write_text("in\n")
    refused = await bubblewrap.sh("cat in; echo out > out")
    assert (refused.error, refused.content.split("\n")[0], (bubblewrap.work / "out").exists()) == (
        "tool/failed",
        "in",
        False,
    )
    assert await bubblewrap.sh("cat in; echo out > out", writable=True) == ToolOutcome("in\n")
    assert (bubblewrap.work / "out").read_text() == "out\n"


async def test_landlock_lets_nothing_be_written_and_says_why(landlock: Cell) -> None:
    (landlock.work / "in").write_text("in\n")
    refused = await landlock.sh("cat in; echo out > out")
    assert (refused.content.split("\n")[0], (landlock.work / "out").exists()) == ("in", False)
    why = "Landlock cannot keep `.git` and `.abey` as they are in a folder that may be written; bubblewrap can"
    assert await landlock.sh("echo out > out", writable=True) == ToolOutcome(
        f"there is no sandbox for it: {why}", "tool/failed"
    )
    assert not (landlock.work / "out").exists()


async def test_what_is_the_users_or_ours_is_not_read(inside: Cell) -> None:
    places = ("home/.ssh/id", "home/notes", "state/sessions/s1/journal.jsonl", "outside/x")
    paths = [secret(inside.root / place) for place in places]
    script = "\n".join(f"cat {path}; cat /proc/1/root{path}; test -e {path} && echo there" for path in paths)
    outcome = await inside.sh(script)
    there = outcome.content.splitlines().count("there")
    # Landlock lets names be asked for, which people put no secrets into
    assert (SECRET in outcome.content, there) == (False, 4 if inside.kind == "landlock" else 0)


async def test_no_link_leads_out(inside: Cell) -> None:
    path = secret(inside.outside / "x")
    (inside.work / "link").symlink_to(path)
    (inside.work / "folder").symlink_to(inside.outside)
    outcome = await inside.sh(
        f"cat link folder/x; echo y > link; echo y > folder/y; cd ${{TMPDIR:-/tmp}}; ln {path} hard; ls"
    )
    assert (SECRET in outcome.content, "hard\n" in outcome.content.splitlines(keepends=True)) == (False, False)
    assert (path.read_text(), os.stat(path).st_nlink, os.listdir(inside.outside)) == (SECRET, 1, ["x"])


async def test_no_hard_link_leads_out_of_a_workspace_that_may_be_written(bubblewrap: Cell) -> None:
    path = secret(bubblewrap.outside / "x")
    await bubblewrap.sh(f"ln {path} hard; ln /etc/passwd passwd; mv {bubblewrap.outside} here", writable=True)
    assert (os.listdir(bubblewrap.work), path.read_text()) == ([], SECRET)


async def test_not_even_the_mode_of_a_file_is_changed(inside: Cell) -> None:
    path = secret(inside.work / "x")
    os.utime(path, (1, 1))
    before = path.stat()
    outcome = await inside.sh(
        f"chmod 777 {path}; touch {path}; chmod 777 {inside.root}; setfattr -n user.a -v b {path}"
    )
    after = path.stat()
    assert (outcome.error, after.st_mode, after.st_mtime) == ("tool/failed", before.st_mode, before.st_mtime)


ATTACKS = {
    "hook": "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit",
    "settings": "mkdir -p .git; echo x > .git/config",
    "agent": "mkdir -p .abey/agents; echo x > .abey/agents/x.json",
    "moved": "mv .git away; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit",
    "linked": "rm -rf .git .abey; ln -s made .git; ln -s made .abey; mkdir made; echo x > made/config",
    "covered": "mount -t tmpfs none .git; echo x > .git/config; umount .git; echo x > .git/config",
}


@pytest.mark.parametrize("attack", ATTACKS)
async def test_what_is_run_later_outside_is_not_made(bubblewrap: Cell, attack: str) -> None:
    await bubblewrap.sh(f"touch ran; {ATTACKS[attack]}; true", writable=True)
    left = set(os.listdir(bubblewrap.work))
    assert ("ran" in left, left & {".git", ".abey"}) == (True, set())


@pytest.mark.parametrize("attack", ATTACKS)
async def test_what_is_run_later_outside_is_not_changed(bubblewrap: Cell, attack: str) -> None:
    kept = {".git/config": "[core]\n", ".git/hooks/sample": "#\n", ".abey/agents/a.json": "{}\n"}
    for name, text in kept.items():
        secret(bubblewrap.work / name).write_text(text)
    await bubblewrap.sh(f"touch ran; {ATTACKS[attack]}; true", writable=True)
    found = [path for top in (".git", ".abey") for path in (bubblewrap.work / top).rglob("*") if path.is_file()]
    assert {str(path.relative_to(bubblewrap.work)): path.read_text() for path in found} == kept
    assert not any((bubblewrap.work / top).is_symlink() for top in (".git", ".abey"))


async def test_a_link_in_the_place_of_one_of_them_gets_no_sandbox_that_writes(bubblewrap: Cell) -> None:
    (bubblewrap.work / ".git").symlink_to(bubblewrap.outside)
    outcome = await bubblewrap.sh("touch ran", writable=True)
    why = f"{bubblewrap.work / '.git'} is a link, which no sandbox can keep as it is"
    assert outcome == ToolOutcome(f"there is no sandbox for it: {why}", "tool/failed")


OVERWRITES = {
    "written": "echo x > {0}",
    "replaced": "echo x > new; mv -f new {0}",
    "removed": "rm -f {0}; echo x > {0}",
    "moved": "mv deep away; mkdir -p deep/er; echo x > {0}",
    "moved further down": "mv deep/er away; mkdir -p deep/er; echo x > {0}",
}


@pytest.mark.parametrize("attack", OVERWRITES)
@pytest.mark.parametrize("name", ["agent.json", "deep/er/agent.json"])
@pytest.mark.parametrize("there", [True, False])
async def test_an_agent_file_in_use_is_neither_changed_nor_made(
    bubblewrap: Cell, attack: str, name: str, there: bool
) -> None:
    file = bubblewrap.work / name
    around = surroundings((), os.environ, lambda: [file])
    bubblewrap.sandbox = Sandbox(around, look=lambda _: Found(bwrap="bwrap"))
    if there:
        secret(file)
    await bubblewrap.sh(f"touch ran; {OVERWRITES[attack].format(name)}; true", writable=True)
    assert ((bubblewrap.work / "ran").exists(), file.exists()) == (True, there)
    assert not there or SECRET in file.read_text()


async def test_our_places_further_down_are_not_moved_away(bubblewrap: Cell) -> None:
    ours = bubblewrap.work / "var" / "lib" / "state"
    bubblewrap.sandbox = Sandbox(surroundings((ours,), os.environ), look=lambda _: Found(bwrap="bwrap"))
    secret(ours / "keys.json")
    await bubblewrap.sh(
        "mv var away; mkdir -p var/lib/state; echo x > var/lib/state/keys.json; touch ran", writable=True
    )
    assert (sorted(os.listdir(bubblewrap.work)), SECRET in (ours / "keys.json").read_text()) == (["ran", "var"], True)


async def test_what_is_not_in_the_sandbox_yet_does_not_act_on_the_variables_of_the_program(inside: Cell) -> None:
    trace = {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(inside.outside / "trace"), "LD_LIBRARY_PATH": ":."}
    env = {"PATH": os.environ["PATH"], **trace}
    program = Program(("sh", "-c", '[ "$LD_DEBUG$LD_LIBRARY_PATH" = files:. ]'), str(inside.work), env, PLAIN)
    out = os.open(os.devnull, os.O_WRONLY)
    running = await SandboxedLauncher(inside.helper, inside.sandbox).launch(program, out)
    os.close(out)
    ended = await running.ended()
    await running.end()
    assert (ended, os.listdir(inside.outside)) == (Ended(exit_code=0), [])


async def test_memory_is_no_scratch_space_without_a_bound(bubblewrap: Cell) -> None:
    script = "touch /dev/x; df --output=size -B1 /dev/shm | tail -1; echo y > /dev/null && touch /dev/shm/z && echo on"
    outcome = await bubblewrap.sh(script)
    assert outcome.content.split("\n")[1:] == [str(1 << 30), "on", ""]


async def test_our_places_in_a_workspace_are_not_there(bubblewrap: Cell) -> None:
    ours = (bubblewrap.work / "state", bubblewrap.work / "later")
    bubblewrap.sandbox = Sandbox(surroundings(ours, os.environ), look=lambda _: Found(bwrap="bwrap"))
    secret(bubblewrap.work / "state" / "keys.json")
    script = "cat state/keys.json; echo x > state/agent.json; mkdir later; echo x > later/agent.json; touch ran"
    outcome = await bubblewrap.sh(script, writable=True)
    left = sorted(str(path.relative_to(bubblewrap.work)) for path in bubblewrap.work.rglob("*"))
    assert (SECRET in outcome.content, left) == (False, ["ran", "state", "state/keys.json"])
