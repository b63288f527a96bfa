"""Two hundred hostile frames, other ones in every run: answered, or the end of the connection for a logged reason."""

import asyncio
import logging
import socket
from pathlib import Path

import pytest
from support.figures import Figures
from support.hostile import KINDS, Hostile, hostile
from support.hostile_client import HostileClient, Outcome
from support.raw_peer import Stage, until

from abey.daemon.binding import bind
from abey.daemon.listen import Listener
from abey.daemon.reception import Reception
from abey.rpc.connection import LIMITS

FRAMES = 200


async def test_whatever_comes_in_is_accounted_for(
    tmp_path: Path, figures: Figures, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "abey")
    chance = figures.chance("generated frames")
    path = tmp_path / "run" / "socket"
    reception = Reception(Stage().surface, LIMITS)
    listener = Listener(reception, bind(path), path, tmp_path)
    await listener.start()
    frames = [Hostile(kind, make(chance)) for kind, make in KINDS.items()]
    frames += [hostile(chance) for _ in range(FRAMES - len(frames))]
    for one in frames:
        caplog.clear()
        outcome = await asyncio.to_thread(attack, path, one.data)
        if outcome.good is None:
            assert " closed: " in caplog.text, one
        else:
            assert outcome.good["result"] == {"value": None}, one
            assert outcome.answers or " sent " in caplog.text or " answered " in caplog.text, one
    await until(lambda: reception.clients == 0)
    listener.close()


def attack(path: Path, data: bytes) -> Outcome:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(path))
    client = HostileClient(connection, "agents/echo")
    client.attack(data)
    return client.outcome()
