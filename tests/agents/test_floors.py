"""The floors of a policy, as the files on disk have them (agent-file.md, Floors)."""

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from abey.core.policy import Floor
from abey.protocol.policy import Defer, Deny, Policy
from abey.runtime.agents import floors as module
from abey.runtime.agents.floors import Floors, fault_of, is_floor, load_policy
from abey.runtime.agents.workspaces import Workspaces

DENIES = '{"rules": [{"tool": "rm", "disposition": "deny"}]} // no'
DEFERS = '{"default": "defer"}'


class Trusts:
    """The user's choice: everything, while `all`."""

    def __init__(self) -> None:
        self.all = True

    def covers(self, _: Path) -> bool:
        return self.all

    def covers_any(self) -> bool:
        return self.all

    def is_too_wide(self, real: str | Path) -> bool:
        return str(real) == "/"


class House:
    def __init__(self, root: Path) -> None:
        self.config, self.work = root / "config", root / "work"
        (self.work / ".abey").mkdir(parents=True)
        self.config.mkdir()
        self.trusts = Trusts()
        self.floors = Floors(self.config, Workspaces(self.trusts))
        self.mine, self.theirs = self.config / "policy.json", self.work / ".abey" / "policy.json"

    def now(self) -> list[tuple[str, Policy, str | None]]:
        return [(one.layer, one.policy, one.broken) for one in self.floors.of_session(str(self.work))]


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.fixture
def wait(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Passes time."""
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return lambda seconds: now.__setitem__(0, now[0] + seconds)


def test_without_files_there_is_no_floor(house: House) -> None:
    assert house.now() == []


def test_the_users_floor_comes_before_that_of_the_workspace(house: House) -> None:
    house.mine.write_text(DENIES)
    house.theirs.write_text(DEFERS)
    (denies, _), (defers, _) = load_policy(DENIES), load_policy(DEFERS)
    assert house.floors.of_session(str(house.work / "below")) == (Floor("user", denies), Floor("workspace", defers))
    assert house.floors.of_session("/") == (Floor("user", denies),)
    assert [rule.disposition for rule in denies.rules] == [Deny()]
    assert defers.default == Defer()


def test_of_a_workspace_that_is_not_trusted_nothing_is_read(house: House) -> None:
    house.theirs.write_text(DEFERS)
    house.trusts.all = False
    assert (house.now(), house.floors.of_client(str(house.work), ())) == ([], ())
    assert [one.layer for one in house.floors.of_client(str(house.work), (house.work,))] == ["workspace"]


def test_a_saved_file_counts_at_once(house: House) -> None:
    house.mine.write_text(DEFERS)
    assert house.now() == [("user", Policy(default=Defer()), None)]
    other = house.config / "new"
    other.write_text('{"default": "deny"}')
    other.replace(house.mine)
    assert house.now() == [("user", Policy(default=Deny()), None)]


BROKEN = [
    ("", ":1:1: the file is empty"),
    ("{", "never closed"),
    ('{"default": "denny"}', "unknown disposition or decorator `denny`"),
    ('{"rule": []}', "unknown field `rule`; did you mean `rules`"),
    ('{"rules": [{"tool": "a", "match": {"x": 1}, "disposition": "deny"}]}', ":1:"),
    ('{"rules": [], "rules": [{"tool": "*", "disposition": "deny"}]}', "the key stands twice"),
    ("[]", "expected an object"),
]


@pytest.mark.parametrize(("text", "why"), BROKEN)
def test_a_broken_file_that_never_was_good_lets_nothing_run(
    house: House, text: str, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    house.mine.write_text(text)
    ((layer, policy, broken),) = house.now()
    assert (layer, policy) == ("user", Policy())
    assert broken is not None
    assert str(house.mine) in broken
    assert why in broken
    assert house.now() == [(layer, policy, broken)]
    assert [one.getMessage() for one in caplog.records] == [
        re.sub("^the policy file cannot be used: ", "", broken) + "; every call waits for somebody"
    ]


def test_a_file_that_became_broken_keeps_its_last_good_version(house: House, caplog: pytest.LogCaptureFixture) -> None:
    house.mine.write_text(DEFERS)
    before = house.now()
    house.mine.write_text("{")
    assert (house.now(), len(caplog.records)) == (before, 1)
    assert "its last good version counts" in caplog.records[0].getMessage()
    house.mine.write_text('{"default": "deny"}')
    assert house.now() == [("user", Policy(default=Deny()), None)]


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("nowhere")])
def test_what_is_there_and_is_no_file_lets_nothing_run(house: House, make: Callable[[Path], None]) -> None:
    make(house.mine)
    assert [(layer, broken is not None) for layer, _, broken in house.now()] == [("user", True)]


def test_a_file_that_is_gone_for_a_moment_still_counts(house: House, wait: Callable[[float], None]) -> None:
    house.mine.write_text(DEFERS)
    before = house.now()
    house.mine.unlink()
    assert house.now() == before
    wait(0.9)
    assert house.now() == before
    wait(0.2)
    assert house.now() == []
    house.mine.write_text(DENIES)
    assert [layer for layer, _, _ in house.now()] == ["user"]


@pytest.mark.parametrize("folder_too", [False, True])
def test_a_file_that_was_taken_away_a_while_ago_counts_for_no_call_though_nobody_looked_since(
    house: House, monkeypatch: pytest.MonkeyPatch, folder_too: bool
) -> None:
    house.mine.write_text(DENIES)
    house.theirs.write_text(DEFERS)
    assert [layer for layer, _, _ in house.now()] == ["user", "workspace"]
    house.mine.unlink()
    if folder_too:
        house.config.rmdir()
    later = time.time() + 1.5
    monkeypatch.setattr(module.time, "time", lambda: later)
    assert [layer for layer, _, _ in house.now()] == ["workspace"]


def test_where_the_files_are_is_known_by_their_names(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    assert is_floor(real / "policy.json", link)
    assert is_floor(tmp_path / "w" / ".abey" / "policy.json", link)
    assert not is_floor(tmp_path / "w" / "policy.json", link)
    assert not is_floor(real / "prices.json", link)


def test_every_fault_has_its_place() -> None:
    policy, loaded = load_policy('{\n  "$schema": "x",\n  "default": "denny",\n  "rule": []\n}')
    assert policy is None
    assert [(one.range.start.line, one.range.start.character, one.code) for one in loaded.diagnostics()] == [
        (2, 13, "unknown-disposition"),
        (3, 2, "unknown-field"),
    ]


def test_a_fault_is_told_to_who_asks(house: House) -> None:
    assert fault_of(house.mine) is None
    house.mine.write_text("{")
    assert fault_of(house.mine) == f"{house.mine}:1:1: `{{` is never closed by `}}`"
