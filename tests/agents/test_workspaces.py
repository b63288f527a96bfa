"""Agents of a workspace: read only once it is trusted, before the user's of the same slug (agent-file.md, Trust)."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from abey.errors import PermissionDenied, UnknownAgent
from abey.runtime.agents import files
from abey.runtime.agents.entries import Entries
from abey.runtime.agents.registry import Found, Registry
from abey.runtime.agents.trust import Trust
from abey.runtime.agents.workspaces import Workspaces
from abey.runtime.store.io import FileIO

AT = "2026-01-02T03:04:05.678Z"


def agent(slug: str, **members: Any) -> str:
    return json.dumps({"slug": slug, "model": {"provider": "scripted", "script": [{"text": "hi"}]}, **members})


def workspace(folder: Path, **agents: str) -> Path:
    (folder / ".abey" / "agents").mkdir(parents=True)
    for name, text in agents.items():
        (folder / ".abey" / "agents" / f"{name}.json").write_text(text)
    return folder


class Machine:
    """A user with a config folder, a home, and what connected clients have open and trust."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.config = root / "config"
        for folder in (self.home, self.config / "agents"):
            folder.mkdir(parents=True)
        self.read: list[Path] = []
        self.lent: list[Path] = []
        self.trust = Trust(root / "state" / "trust.json", FileIO("process"), self.home)
        self.workspaces = Workspaces(self.trust, lambda: self.lent, lambda: self.lent)
        self.registry = Registry(self.config, self.workspaces, Entries(self._read))

    def _read(self, path: Path) -> str:
        self.read.append(path)
        return files.read_text(path)

    def listed(self, cwd: Path, *lent: Path) -> list[tuple[str, str, str]]:
        items = self.registry.list(str(cwd), lent).items
        return [(item.slug, item.state, Path(item.path).parts[-4]) for item in items]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def work(machine: Machine) -> Path:
    return workspace(machine.home / "work", a=agent("one", description="theirs"), b=agent("two"))


def test_the_agents_of_a_trusted_workspace_come_first(machine: Machine, work: Path) -> None:
    (machine.config / "agents" / "x.json").write_text(agent("one"))
    (machine.config / "agents" / "y.json").write_text(agent("three"))
    root = machine.config.parent.name
    assert machine.listed(work) == [("one", "ok", root), ("three", "ok", root)]
    machine.trust.add(work, AT)
    assert machine.listed(work) == [
        ("one", "ok", "work"),
        ("two", "ok", "work"),
        ("one", "shadowed", root),
        ("three", "ok", root),
    ]
    assert machine.listed(machine.home) == [("one", "ok", root), ("three", "ok", root)]
    assert machine.registry.find("one", work) == Found(work / ".abey" / "agents" / "a.json", work)
    assert machine.registry.find("three", work).workspace is None
    assert {slug: one.config.get("description") for slug, one in machine.registry.agents(work).items()} == {
        "one": "theirs",
        "two": None,
        "three": None,
    }


def test_before_trust_no_file_of_a_workspace_is_opened_and_its_folder_is_named(machine: Machine, work: Path) -> None:
    os.mkfifo(work / ".abey" / "agents" / "c.json")
    assert machine.registry.list(str(work)).untrusted == (str(work),)
    with pytest.raises(UnknownAgent) as caught:
        machine.registry.find("two", work)
    with pytest.raises(PermissionDenied):
        machine.registry.refuse_untrusted(work / ".abey" / "agents" / "a.json")
    machine.registry.stamps()
    assert machine.read == []
    assert caught.value.message == (
        f"no agent `two` in {machine.config}/agents; there are none; those of {work} are not read: it is not trusted"
    )
    assert caught.value.details == {"found": [], "untrusted": str(work)}
    assert list(machine.registry.folders()) == [machine.config, machine.config / "agents"]


def test_the_workspace_of_a_folder_is_the_nearest_one_around_it(machine: Machine, work: Path) -> None:
    inner = workspace(work / "inner")
    (inner / "deep").mkdir()
    (machine.home / ".abey").mkdir()
    found = [machine.workspaces.of(folder) for folder in (inner / "deep", inner, work / "none", work, machine.home)]
    assert found == [inner, inner, work, work, None]


def test_a_workspace_is_found_and_trusted_by_its_real_path(machine: Machine, work: Path) -> None:
    (machine.home / "link").symlink_to(work)
    machine.trust.add(work, AT)
    assert [slug for slug, _, _ in machine.listed(machine.home / "link")] == ["one", "two"]
    evil = workspace(machine.home / "evil", a=agent("evil"))
    (machine.home / "link").unlink()
    (machine.home / "link").symlink_to(evil)
    assert machine.listed(machine.home / "link") == []
    assert machine.registry.list(str(machine.home / "link")).untrusted == (str(evil),)


def test_a_client_may_trust_its_folders_for_itself(machine: Machine, work: Path) -> None:
    assert [slug for slug, _, _ in machine.listed(work, work)] == ["one", "two"]
    assert (machine.listed(work), machine.listed(work, work / "inner")) == ([], [])
    assert machine.registry.find("two", work, (work,)).workspace == work


def test_a_client_lends_no_folder_that_the_user_could_not_trust(machine: Machine, work: Path) -> None:
    for folder in (Path("/"), machine.home, machine.home.parent, machine.home / ".." / "home"):
        machine.lent = [folder]
        assert machine.listed(work, folder) == []
        assert not machine.workspaces.trusts_for_sessions(str(work))


def test_a_session_is_in_a_workspace_while_the_user_or_a_client_trusts_it(machine: Machine, work: Path) -> None:
    below, other = str(work / "below"), str(workspace(machine.home / "other"))
    found = [machine.workspaces.of_session(below)]
    machine.lent = [work]
    found += map(machine.workspaces.of_session, (below, other))
    machine.lent = []
    machine.trust.add(work, AT)
    found += map(machine.workspaces.of_session, (below, other))
    assert found == [None, work, None, work, None]
    machine.trust.remove(work)
    assert machine.workspaces.of_session(below) is None


def test_a_session_is_in_no_workspace_that_is_not_where_its_name_says(machine: Machine, work: Path) -> None:
    other = workspace(machine.home / "other")
    machine.trust.add(work, AT)
    (work / "loop").symlink_to("loop")
    (work / "link").symlink_to(other)
    assert machine.workspaces.of_session(f"{work}/loop/../link") is None


def test_a_file_that_breaks_in_a_workspace_hides_none_of_the_user(machine: Machine, work: Path) -> None:
    (machine.config / "agents" / "x.json").write_text(agent("bad"))
    (work / ".abey" / "agents" / "bad.json").mkdir()
    machine.trust.add(work, AT)
    assert [(slug, state) for slug, state, _ in machine.listed(work)] == [
        ("one", "ok"),
        ("two", "ok"),
        ("bad", "invalid"),
        ("bad", "ok"),
    ]
    assert machine.registry.find("bad", work).path == machine.config / "agents" / "x.json"


def test_a_session_reads_its_file_while_its_workspace_is_trusted(machine: Machine, work: Path) -> None:
    path = work / ".abey" / "agents" / "a.json"
    with pytest.raises(PermissionDenied, match="is not trusted"):
        machine.registry.by_file(path, str(work))
    machine.trust.add(work, AT)
    assert machine.registry.by_file(path, str(work)).slug == "one"
    machine.trust.remove(work)
    machine.read.clear()
    with pytest.raises(PermissionDenied):
        machine.registry.by_file(path, str(work))
    machine.lent.append(work)
    assert machine.registry.by_file(path, str(work)).slug == "one"
    assert machine.registry.by_file(path).slug == "one"


def test_a_workspace_that_moved_is_none_of_a_session(machine: Machine, work: Path) -> None:
    machine.trust.add(machine.home / "work", AT)
    work.rename(machine.home / "moved")
    work.symlink_to(machine.home / "moved")
    machine.trust.add(machine.home / "moved", AT)
    with pytest.raises(PermissionDenied):
        machine.registry.by_file(work / ".abey" / "agents" / "a.json", str(work))


def test_whoever_names_a_file_in_a_workspace_reads_it(machine: Machine, work: Path) -> None:
    assert machine.registry.by_file(work / ".abey" / "agents" / "b.json").slug == "two"


def test_a_link_into_an_untrusted_workspace_is_refused_like_the_file(machine: Machine, work: Path) -> None:
    (machine.home / "link.json").symlink_to(work / ".abey" / "agents" / "a.json")
    with pytest.raises(PermissionDenied):
        machine.registry.refuse_untrusted(machine.home / "link.json")
    machine.registry.refuse_untrusted(machine.home / "link.json", (work,))
    machine.registry.refuse_untrusted(work / "agent.json")


def test_the_users_own_folder_is_no_workspace_of_others(machine: Machine, work: Path) -> None:
    own = Registry(work / ".abey", machine.workspaces)
    own.refuse_untrusted(work / ".abey" / "agents" / "a.json")
    assert own.find("one", work).workspace is None


def test_workspaces_in_use_are_looked_after_until_they_are_not_trusted(machine: Machine, work: Path) -> None:
    own = [machine.config, machine.config / "agents"]
    machine.trust.add(work, AT)
    before = list(machine.registry.folders())
    machine.registry.list(str(work))
    during = list(machine.registry.folders())
    machine.trust.remove(work)
    assert (before, during, list(machine.registry.folders())) == (
        own,
        [*own, work / ".abey", work / ".abey" / "agents"],
        own,
    )


def test_what_clients_have_open_is_looked_after_if_it_is_trusted(machine: Machine, work: Path) -> None:
    other = workspace(machine.home / "other")
    opened = Workspaces(machine.trust, opened=lambda: (work, other))
    machine.trust.add(other, AT)
    assert opened.in_use() == (other,)


def test_several_folders_are_listed_at_once(machine: Machine, work: Path) -> None:
    other = workspace(machine.home / "other", a=agent("one"))
    closed = workspace(machine.home / "closed")
    (machine.config / "agents" / "x.json").write_text(agent("one"))
    machine.trust.add(work, AT)
    found = machine.registry.list_in((work, other, closed, work / "deep"), (other,))
    assert [(item.slug, item.state, Path(item.path).parts[-4]) for item in found.items] == [
        ("one", "ok", "work"),
        ("two", "ok", "work"),
        ("one", "ok", "other"),
        ("one", "shadowed", machine.config.parent.name),
    ]
    assert found.untrusted == (str(closed),)
