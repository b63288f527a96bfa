"""What a sandbox shows, whatever builds it."""

import os
from pathlib import Path

import pytest

from abey.protocol.policy import RunIsolated
from abey.runtime.tools.processes import Program
from abey.runtime.tools.sandbox.keeping import NotConfined
from abey.runtime.tools.sandbox.layout import Layout, Surroundings, layout, surroundings


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    for name in ("bin", ".local/bin", ".local/share/uv", ".pyenv/shims", ".cargo/bin", ".ssh/bin", "work", "venv/bin"):
        (home / name).mkdir(parents=True)
    return home


def program(home: Path, cwd: Path, *path: str, **env: str) -> Program:
    folders = [str(home / name) if not name.startswith("/") else name for name in path]
    return Program(("make",), str(cwd), {"HOME": str(home), "PATH": os.pathsep.join(folders), **env})


def of(home: Path, asked: Program, *ours: Path, **granted: bool) -> Layout:
    return layout(Surroundings((str(home),), tuple(map(str, ours))), asked, RunIsolated(**granted))


def test_of_a_home_only_the_workspace_and_the_tools_in_path_are_shown(home: Path) -> None:
    path = ("bin", ".local/bin", ".pyenv/shims", ".cargo/bin", ".ssh/bin", "missing", "/usr/bin")
    shown = of(home, program(home, home / "work", *path)).shown
    assert shown == tuple(str(home / name) for name in ("bin", ".local/bin", ".pyenv", ".cargo/bin", ".local/share/uv"))


def test_a_virtual_environment_is_shown_and_what_its_python_is_made_of(home: Path) -> None:
    python = home / ".pyenv" / "versions" / "3.11" / "bin" / "python3.11"
    python.parent.mkdir(parents=True)
    python.touch()
    (home / "venv" / "bin" / "python").symlink_to(python)
    shown = of(home, program(home, home / "work", VIRTUAL_ENV=str(home / "venv"))).shown
    assert shown == tuple(str(home / name) for name in ("venv", ".pyenv/versions/3.11", ".local/share/uv"))


@pytest.mark.parametrize("wide", ["home", "."])
def test_a_workspace_that_holds_a_home_gets_no_sandbox(home: Path, wide: str) -> None:
    cwd = home.parent / ("home" if wide == "home" else "")
    with pytest.raises(NotConfined, match="is in the session's folder"):
        of(home, program(home, cwd))


def test_what_is_kept_is_kept_only_where_something_can_be_written(home: Path) -> None:
    asked, ours = program(home, home / "work"), home / "work" / "state"
    kept = of(home, asked, ours, writable=True).kept
    assert (of(home, asked, ours).kept, kept) == (
        (),
        tuple(str(home / "work" / name) for name in (".abey", ".git", "state")),
    )


def test_an_agent_file_in_use_is_kept_with_the_folders_that_lead_to_it(home: Path) -> None:
    (home / "work" / "a" / "b").mkdir(parents=True)
    (home / "work" / "a" / "b" / "agent.json").touch()
    (home / "work" / "mine.json").touch()
    names = (
        "a/b/agent.json",
        "mine.json",
        "a/b/later.json",
        "gone/c/agent.json",
        ".abey/agents/x.json",
        "../else.json",
    )
    around = Surroundings((str(home),), (), lambda: [home / "work" / name for name in names])
    found = layout(around, program(home, home / "work"), RunIsolated(writable=True))
    kept = (".abey", ".git", "a/b/agent.json", "a/b/later.json", "gone", "mine.json")
    assert (found.kept, found.held) == (
        tuple(str(home / "work" / name) for name in kept),
        (str(home / "work" / "a"), str(home / "work" / "a" / "b")),
    )


@pytest.mark.parametrize("link", ["work/agent.json", "work/folder", "elsewhere"])
def test_a_link_in_the_workspace_on_the_way_to_an_agent_file_gets_no_sandbox_that_writes(home: Path, link: str) -> None:
    (home / "real").mkdir()
    (home / "work" / "step").symlink_to(home / "real")
    used = home / link
    used.symlink_to({"work/agent.json": "../real/agent.json", "work/folder": "../real", "elsewhere": "work/step"}[link])
    around = Surroundings((str(home),), (), lambda: [used / "agent.json" if used.is_dir() else used])
    with pytest.raises(NotConfined, match="is a link, which no sandbox can keep as it is"):
        layout(around, program(home, home / "work"), RunIsolated(writable=True))
    assert layout(around, program(home, home / "work"), RunIsolated()).kept == ()


def test_links_that_lead_in_a_circle_keep_nobody_from_working(home: Path) -> None:
    (home / "a").symlink_to("b")
    (home / "b").symlink_to("a")
    around = Surroundings((str(home),), (), lambda: [home / "a" / "agent.json"])
    kept = layout(around, program(home, home / "work"), RunIsolated(writable=True)).kept
    assert kept == (str(home / "work" / ".abey"), str(home / "work" / ".git"))


def test_what_is_ours_is_gone_where_it_is_there(home: Path) -> None:
    ours = (home / "work" / "state", home / "later")
    ours[0].mkdir()
    gone = of(home, program(home, home / "work"), *ours).gone
    assert (str(ours[0]) in gone, str(ours[1]) in gone) == (True, False)


def test_the_surroundings_are_the_homes_of_this_user_and_what_is_ours(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    found = surroundings((link / "state",), {"HOME": str(link)})
    assert (str(tmp_path) in found.homes, found.ours) == (True, (str(tmp_path / "state"),))
    assert "/" not in surroundings((), {"HOME": "/"}).homes
