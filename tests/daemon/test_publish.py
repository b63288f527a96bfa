"""What connected clients hear unasked, and who hears nothing."""

import asyncio
import json
import logging
from typing import Any, cast

import pytest
from support.stories import dispatched
from support.world import World

from abey.daemon.publish import TOGETHER_SECONDS, Publisher
from abey.daemon.subscriptions import Subscriptions
from abey.protocol.handshake import AgentsClientCapabilities, InitializationOptions
from abey.protocol.session import Damage
from abey.protocol.transcript import Client
from abey.rpc.peer import Peer
from abey.runtime.event_log import EventLog
from abey.runtime.live import Live
from abey.runtime.reviving import Broken
from abey.runtime.store.journal import Journal

AGENTS = AgentsClientCapabilities(protocol_versions=("1.0",))


def peer(name: str, capabilities: AgentsClientCapabilities | None, heard: list[Any]) -> Peer:
    def send(data: bytes) -> None:
        heard.append(json.loads(data))

    return Peer(name, Client(id=name, name=name, kind="test"), capabilities, InitializationOptions(), send)


def nobody() -> Subscriptions:
    return Subscriptions(lambda _: None, lambda _: None)


async def test_a_summary_goes_once_to_everybody_who_knows_of_agents() -> None:
    heard: list[Any] = []
    unheard: list[Any] = []
    publisher, world = Publisher(nobody()), World()
    world.start("hello")
    publisher.joined(peer("a", AGENTS, heard))
    publisher.joined(peer("plain", None, unheard))
    assert world.machine is not None
    publisher.changed(world.machine)
    publisher.tell()
    publisher.changed(world.machine)
    publisher.tell()
    assert ([(one["method"], one["params"]["revision"]) for one in heard], unheard) == ([("agents/summary", 2)], [])


async def test_of_changes_at_one_time_the_last_is_told() -> None:
    heard: list[Any] = []
    publisher, world = Publisher(nobody()), World()
    publisher.joined(peer("a", AGENTS, heard))
    world.start("hello")
    assert world.machine is not None
    publisher.changed(world.machine)
    publisher.changed(dispatched("ask").machine or world.machine)
    assert heard == []
    await asyncio.sleep(2 * TOGETHER_SECONDS)
    assert [(one["params"]["attention"], one["params"]["pendingCount"]) for one in heard] == [("approval", 1)]


async def test_who_is_answered_has_heard_of_all_that_changed_before() -> None:
    heard: list[Any] = []
    publisher, world = Publisher(nobody()), World()
    asks = peer("a", AGENTS, heard)
    publisher.joined(asks)
    world.start("hello")
    assert world.machine is not None
    publisher.changed(world.machine)
    publisher.settle(asks)
    assert [one["params"]["revision"] for one in heard] == [2]


def test_a_notice_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        Publisher(nobody()).noticed("s1", {"type": "stale-result"})
    assert caplog.messages == ['session s1: {"type": "stale-result"}']


async def test_of_a_deleted_session_a_last_summary_tells_that_nothing_waits() -> None:
    heard: list[Any] = []
    publisher, world = Publisher(nobody()), World()
    world.start("hello")
    publisher.joined(peer("a", AGENTS, heard))
    assert world.machine is not None
    publisher.changed(world.machine)
    publisher.gone(world.machine)
    first, last = (one["params"] for one in heard)
    assert last == {**first, "pendingCount": 0, "attention": "none", "deleted": True}
    publisher.changed(world.machine)  # it came back
    publisher.tell()
    assert heard[-1]["params"] == first


def live(world: World) -> Any:
    """The world's session in memory, as far as a publisher looks at it."""
    assert world.machine is not None
    return Live(world.machine, cast(Journal, None), EventLog(), world.agent)


async def test_a_session_that_was_read_anew_is_told_of_only_where_it_was_told_otherwise() -> None:
    heard: list[Any] = []
    publisher, world = Publisher(nobody()), dispatched("run")
    publisher.joined(peer("a", AGENTS, heard))
    assert world.machine is not None
    publisher.kept(live(world))
    publisher.changed(world.machine)
    publisher.kept(live(world))
    world.crash()
    publisher.kept(live(world))
    told = [(one["params"]["activity"], one["params"]["attention"]) for one in heard]
    assert told == [("tools", "none"), ("idle", "uncertain")]


def test_a_damaged_session_wants_somebody_and_its_calls_nobody() -> None:
    heard: list[Any] = []
    publisher, world = Publisher(nobody()), dispatched("ask")
    publisher.joined(peer("a", AGENTS, heard))
    damage = Damage(session_id="s1", reason="bits")
    publisher.kept(Broken(damage))
    publisher.kept(Broken(damage, world.machine))
    assert [(one["params"]["pendingCount"], one["params"]["attention"]) for one in heard] == [(0, "error")]
