"""What connected clients hear unasked, and who hears nothing."""

import json
import logging
from typing import Any

import pytest
from support.world import World

from abey.daemon.publish import Publisher
from abey.protocol.handshake import AgentsClientCapabilities, InitializationOptions
from abey.protocol.transcript import Client
from abey.rpc.peer import Peer

AGENTS = AgentsClientCapabilities(protocol_versions=("1.0",))


def peer(name: str, capabilities: AgentsClientCapabilities | None, heard: list[Any]) -> Peer:
    def send(data: bytes) -> None:
        heard.append(json.loads(data))

    return Peer(name, Client(id=name, name=name, kind="test"), capabilities, InitializationOptions(), send)


def test_a_summary_goes_once_to_everybody_who_knows_of_agents() -> None:
    heard: list[Any] = []
    unheard: list[Any] = []
    publisher, world = Publisher(), World()
    world.start("hello")
    publisher.joined(peer("a", AGENTS, heard))
    publisher.joined(peer("plain", None, unheard))
    assert world.machine is not None
    publisher.changed(world.machine)
    publisher.changed(world.machine)
    assert ([(one["method"], one["params"]["revision"]) for one in heard], unheard) == ([("agents/summary", 2)], [])


def test_a_notice_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        Publisher().noticed("s1", {"type": "stale-result"})
    assert caplog.messages == ['session s1: {"type": "stale-result"}']
