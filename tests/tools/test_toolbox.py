"""The tools that only their sources know: asked once, kept, renewed, let go (tools/toolbox.py)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from support.processes import until
from support.stories import dispatched

from abey.core.agent import Agent, Tool, ToolSource
from abey.core.rows import Row
from abey.core.session import Session
from abey.runtime.capabilities import CapabilityStates
from abey.runtime.clock import ManualClock
from abey.runtime.tools.sources import Opened, Place, SourceFailed
from abey.runtime.tools.toolbox import HIDDEN, Toolboxes, capability_id


def source(name: str, **more: Any) -> ToolSource:
    return ToolSource(f"{name}_", {"kind": "fake", "name": name}, name, **more)


def agent(*sources: ToolSource) -> Agent:
    return Agent("a", {}, "c", "p", sources=sources, unlisted=bool(sources))


def session(revision: int = 1) -> Session:
    return replace(dispatched("ok").session, revision=revision)


@dataclass(eq=False)
class Fake:
    """A source that was asked; it can be renewed."""

    name: str
    diary: list[str]
    current: bool = True
    fails: str = ""

    @property
    def tools(self) -> tuple[Tool, ...]:
        return (Tool(f"{self.name}_t", "", {}, {"kind": "fake"}, "h"),)

    def is_current(self) -> bool:
        return self.current

    async def renew(self) -> None:
        self.diary.append(f"renew {self.name}")
        if self.fails:
            raise SourceFailed(self.fails)
        self.current = True

    async def close(self) -> None:
        self.diary.append(f"close {self.name}")


@dataclass
class Source:
    """An Opener: what `held` names does not come before it is let go; what `failing` names fails."""

    diary: list[str] = field(default_factory=list)
    held: dict[str, asyncio.Event] = field(default_factory=dict)
    failing: dict[str, Exception] = field(default_factory=dict)
    made: dict[str, Fake] = field(default_factory=dict)

    async def open(self, source: ToolSource, place: Place) -> Opened:
        name = source.definition["name"]
        self.diary.append(f"open {name}")
        if name in self.held:
            await self.held[name].wait()
        if name in self.failing:
            raise self.failing[name]
        self.made[name] = Fake(name, self.diary)
        return self.made[name]


@dataclass
class Opens:
    """One daemon's toolboxes, with what their sessions are told."""

    opener: Source
    told: list[tuple[str, str, str]] = field(default_factory=list)
    notices: list[Mapping[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.states = CapabilityStates(ManualClock(), lambda _, event: self.notices.append(event))
        self.boxes = Toolboxes({"fake": self.opener}, self.states, lambda *news: self.told.append(news))


def known(opens: Opens, one: Agent, revision: int = 1) -> tuple[list[str], dict[str, str], bool]:
    equipped = opens.boxes.equip(one, session(revision))
    return list(equipped.tools), dict(equipped.missing), equipped.unlisted


async def test_sources_are_asked_once_and_are_there_from_then_on() -> None:
    opener, one = Source(), agent(source("a"), source("b"))
    opens = Opens(opener)
    assert known(opens, one) == ([], {}, True)
    for revision in (1, 2):
        await opens.boxes.list(one, session(revision))
        assert known(opens, one, revision) == (["a_t", "b_t"], {}, False)
    assert opener.diary == ["open a", "open b"]


async def test_a_source_that_fails_hides_no_other_and_is_asked_again_in_the_next_turn() -> None:
    opener, one = Source(failing={"a": SourceFailed("broken"), "b": OSError()}), agent(*map(source, "abc"))
    opens = Opens(opener)
    await opens.boxes.list(one, session())
    missing = {"a_": "broken", "b_": "internal error; see the daemon's log"}
    assert known(opens, one, 2) == (["c_t"], missing, False)
    assert [news[1:] for news in opens.told] == list(missing.items())
    assert opens.notices == [
        {
            "type": "capability/create-failed",
            "capabilityId": capability_id(source(name)),
            "message": missing[f"{name}_"],
        }
        for name in "ab"
    ]
    turn = session(3).open_turn
    assert turn is not None
    later = replace(session(3), turns=Row.of([replace(turn, turn_id="another")]))
    assert opens.boxes.equip(one, later).unlisted
    opener.failing.clear()
    await opens.boxes.list(one, later)
    equipped = opens.boxes.equip(one, later)
    assert (list(equipped.tools), opener.diary[3:]) == (["a_t", "b_t", "c_t"], ["open a", "open b"])


async def test_a_source_that_changed_is_renewed_in_its_place_and_once_at_a_revision() -> None:
    opener, one = Source(), agent(source("a"))
    opens = Opens(opener)
    await opens.boxes.list(one, session())
    opener.made["a"].current = False
    assert known(opens, one, 1) == (["a_t"], {}, False)
    assert known(opens, one, 2) == (["a_t"], {}, True)
    await opens.boxes.list(one, session(2))
    assert (known(opens, one, 2), opener.diary) == ((["a_t"], {}, False), ["open a", "renew a"])


async def test_a_source_that_cannot_be_renewed_is_closed_and_missing() -> None:
    opener, one = Source(), agent(source("a"))
    opens = Opens(opener)
    await opens.boxes.list(one, session())
    opener.made["a"].current, opener.made["a"].fails = False, "gone"
    await opens.boxes.list(one, session(2))
    assert (known(opens, one, 2), opener.diary) == (([], {"a_": "gone"}, False), ["open a", "renew a", "close a"])


async def test_a_tool_whose_name_another_has_is_told_once_and_the_first_one_counts() -> None:
    first, opener = Tool("a_t", "", {}, {"kind": "command"}, "first"), Source()
    one = replace(agent(source("a"), source("b"), source("b", shell="x")), tools={"a_t": first})
    opens = Opens(opener)
    for revision in (1, 2):
        await opens.boxes.list(one, session(revision))
    equipped = opens.boxes.equip(one, session(2))
    assert (list(equipped.tools), equipped.tools["a_t"]) == (["a_t", "b_t"], first)
    assert [news[1:] for news in opens.told] == [("a_t", HIDDEN), ("b_t", HIDDEN)]


@pytest.mark.parametrize("changed", [{"destructive": True}, {"timeout_seconds": 1.0}, {"shell": "x"}])
async def test_an_entry_that_changed_is_another_source(changed: dict[str, Any]) -> None:
    opener = Source()
    opens = Opens(opener)
    await opens.boxes.list(agent(source("a")), session())
    await opens.boxes.list(agent(source("a", **changed)), session(2))
    assert opener.diary == ["open a", "close a", "open a"]


async def test_a_listing_that_is_cancelled_in_the_middle_loses_nothing_that_was_opened() -> None:
    opener, one = Source(held={"b": asyncio.Event()}), agent(source("a"), source("b"))
    opens = Opens(opener)
    listing = asyncio.create_task(opens.boxes.list(one, session()))
    await until(lambda: "a" in opener.made)
    listing.cancel()
    await asyncio.wait({listing})
    await opens.states.release(session().id)
    assert opener.diary == ["open a", "open b", "close a"]


@pytest.mark.parametrize("ends", [lambda states: states.release(session().id), CapabilityStates.close])
async def test_a_listing_ends_with_its_session_whatever_a_source_waits_for(
    ends: Callable[[CapabilityStates], Awaitable[None]],
) -> None:
    opener, one = Source(held={"b": asyncio.Event()}), agent(source("a"), source("b"))
    opens = Opens(opener)
    listings = [asyncio.create_task(opens.boxes.list(one, session())) for _ in range(2)]
    await until(lambda: "a" in opener.made)
    await ends(opens.states)
    await asyncio.gather(*listings)
    assert (opener.diary, known(opens, one, 2)) == (["open a", "open b", "close a"], ([], {}, True))


async def test_nothing_is_opened_once_all_is_closed() -> None:
    opener, one = Source(), agent(source("a"))
    opens = Opens(opener)
    await opens.states.close()
    await opens.boxes.list(one, session())
    assert opener.diary == []


async def test_two_listings_at_once_open_each_source_once() -> None:
    opener, one = Source(), agent(source("a"), source("b"))
    opens = Opens(opener)
    await asyncio.gather(opens.boxes.list(one, session()), opens.boxes.list(one, session()))
    assert opener.diary == ["open a", "open b"]
