"""kill -9 of the real daemon amid mixed traffic: what was acknowledged is there, and no tool runs twice."""

import os
import select
from contextlib import closing
from pathlib import Path

import pytest
from support.e2e import Place, kill
from support.e2e_crash import Nursery
from support.figures import Figures
from support.harness.traffic import Bench, Client

pytestmark = pytest.mark.figures


def test_nothing_that_a_killed_daemon_acknowledged_is_lost(tmp_path: Path, nursery: Nursery, figures: Figures) -> None:
    kills, most = figures.size(10, 300), figures.size(200, 10_000)
    chance = figures.chance("killed daemon")
    with closing(Place(tmp_path / "machine")) as place:
        bench = Bench(place, nursery, f"9871.{os.getpid()}")
        clients = [Client(bench, f"c{number}", f"{figures.seed}:{number}", 3) for number in range(4)]
        held = done = 0
        while done < kills or held < most:
            with bench.wake() as peer:
                held += bench.check(peer)
                for client in clients:
                    client.begin()
                select.select([], [], [], chance.uniform(0.05, 0.7))
                kill(peer.pid)
            done += 1
            for client in clients:
                client.join()
            bench.nothing_is_left()
        with bench.wake() as peer:
            held += bench.check(peer)
        ran = place.ran()
    figures.note("acknowledged things lost after kill -9 of the daemon amid traffic", 0, f"{done} kills, {held} things")
    figures.note("tools run twice in that traffic; processes left of them", "0; 0", f"{ran} runs of tools")
