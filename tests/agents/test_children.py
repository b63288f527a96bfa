"""The agents that other agents name as their tools."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.world import World

from abey.core.agent import Agent, Tool
from abey.core.session import Session
from abey.errors import AbeyError, InvalidAgent, PermissionDenied, UnknownAgent
from abey.runtime.agents.children import Described, agent_named
from abey.runtime.agents.registry import Registry
from abey.runtime.agents.workspaces import Workspaces
from abey.runtime.ports import NoToolbox


class Trusted:
    """The user's choice: this folder, or none."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def covers(self, folder: Path) -> bool:
        return folder == self.folder

    def covers_any(self) -> bool:
        return self.folder is not None

    def is_too_wide(self, real: str | Path) -> bool:
        return str(real) == "/"


class Shelf:
    """A user's agents, and those of a workspace."""

    def __init__(self, root: Path) -> None:
        self.mine, self.work = root / "config" / "agents", root / "work"
        self.theirs = self.work / ".abey" / "agents"
        for folder in (self.mine, self.theirs):
            folder.mkdir(parents=True)
        self.trusted = Trusted(self.work.resolve())
        self.registry = Registry(root / "config", Workspaces(self.trusted))

    def put(self, folder: Path, slug: str, *tools: Any, **more: Any) -> Path:
        path = folder / f"{slug}.json"
        model = {"provider": "scripted", "script": []}
        path.write_text(json.dumps({"slug": slug, "model": model, "tools": tools, **more}))
        return path

    def boss(self, folder: Path, **tool: Any) -> tuple[Session, Agent]:
        """A session in the workspace of an agent that asks another one."""
        asks = {"kind": "agent", "name": "ask", "agent": "other", **tool}
        path = self.put(folder, "boss", asks)
        where = str(self.work.resolve()) if folder == self.theirs else None
        world = World()
        world.start()
        created = {"cwd": str(self.work), "agent_file": str(path), "workspace": where}
        session = world.session.created.model_copy(update=created)
        return replace(world.session, created=session), self.registry.by_file(path)

    def named(self, session: Session, agent: Agent) -> str:
        """Which file the tool `ask` means, or why none."""
        tool: Tool = agent.tools["ask"]
        try:
            return str(agent_named(self.registry, tool, session.created)[1].path)
        except AbeyError as error:
            return type(error).__name__


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def test_a_slug_is_looked_up_where_the_agent_was_found_and_then_among_the_users_own(shelf: Shelf) -> None:
    session, boss = shelf.boss(shelf.theirs)
    assert shelf.named(session, boss) == UnknownAgent.__name__
    mine = shelf.put(shelf.mine, "other")
    assert shelf.named(session, boss) == str(mine)
    theirs = shelf.put(shelf.theirs, "other")
    assert shelf.named(session, boss) == str(theirs.resolve())


def test_without_trust_nothing_of_a_workspace_is_found(shelf: Shelf) -> None:
    shelf.put(shelf.theirs, "other")
    of_theirs, of_mine = shelf.boss(shelf.theirs), shelf.boss(shelf.mine)
    shelf.trusted.folder = None
    assert shelf.named(*of_theirs) == PermissionDenied.__name__
    assert shelf.named(*of_mine) == UnknownAgent.__name__


def test_a_path_is_relative_to_the_file_that_has_it_and_is_read_under_the_same_trust(shelf: Shelf) -> None:
    theirs = shelf.put(shelf.theirs, "other")
    session, boss = shelf.boss(shelf.mine, path=str(Path("..") / ".." / "work" / ".abey" / "agents" / "other.json"))
    assert Path(shelf.named(session, boss)).resolve() == theirs.resolve()
    shelf.trusted.folder = None
    assert shelf.named(session, boss) == PermissionDenied.__name__


def test_an_agent_that_cannot_be_used_says_so(shelf: Shelf) -> None:
    shelf.put(shelf.mine, "other", model={"provider": "nobody"})
    assert shelf.named(*shelf.boss(shelf.mine)) == InvalidAgent.__name__


@pytest.mark.parametrize(
    ("own", "expected"), [("", "reads with care"), ("asks the other", "asks the other")], ids=["the other's", "its own"]
)
def test_a_model_is_told_what_the_file_says_of_the_other_agent_or_what_that_says(
    shelf: Shelf, own: str, expected: str
) -> None:
    shelf.put(shelf.mine, "other", description="reads with care")
    session, boss = shelf.boss(shelf.mine, description=own)
    equipped = Described(NoToolbox(), shelf.registry).equip(boss, session)
    assert (equipped.tools["ask"].description, equipped.tools["ask"].hash) == (expected, boss.tools["ask"].hash)


def test_an_agent_that_is_not_there_is_described_by_nobody(shelf: Shelf) -> None:
    session, boss = shelf.boss(shelf.mine)
    assert Described(NoToolbox(), shelf.registry).equip(boss, session).tools == boss.tools
