"""Very many sessions wait for an approval, and one gets it: how soon its call starts."""

import time
from pathlib import Path
from statistics import median
from typing import Any

from bench import work
from bench.client import Client
from bench.figures import Figures
from bench.machine import Machine
from bench.measures.daemon import Driver
from bench.sizes import Size


def measure(size: Size, folder: Path) -> Figures:
    machine = Machine(folder / "machine")
    with machine.serving() as (_, client):
        driver = Driver(machine, client)
        waiting = [driver.start(driver.begin()) for _ in range(size.waiting)]
        driver.seconds.clear()
        starts = [_started(client, pending) for pending in waiting[:: max(1, size.waiting // size.tries)]]
    return {"waiting": median(starts) * 1000, "waiting.most": max(starts) * 1000}


def _started(client: Client, pending: dict[str, Any]) -> float:
    """Seconds from the answer of a person to the first event that its step makes."""
    client.request("agents/attach", sessionId=pending["sessionId"])
    client.heard.clear()
    began = time.perf_counter()
    asked = client.ask(
        "agents/complete",
        token=pending["token"],
        outcome={"kind": "approve"},
        argumentsHash=pending["argumentsHash"],
        resume=True,
    )
    started, answer = 0.0, client.next_message()
    while answer.get("id") != asked:
        if not started and answer["method"] == "agents/event":
            started = time.perf_counter() - began
        answer = client.next_message()
    assert answer["result"]["session"]["output"] == work.FINAL, answer
    client.request("agents/detach", sessionId=pending["sessionId"])
    return started
