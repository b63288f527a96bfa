"""Clients that listen to sessions which stream: `python -m bench.crowd STATE CLIENTS SESSION…`.

Every client is attached to as many of the sessions. One line is printed when all are, and another at the end, once
every session has completed: the events that each of them should have heard and has not, and all that were heard.
"""

import json
import os
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

from abey.shared.starting import connect
from bench.client import Client

_PAGE = 1000


@dataclass(slots=True)
class Heard:
    """What came of one session: the numbers of its durable events, and how many pieces of its answer."""

    after: int
    numbers: list[int] = field(default_factory=list)
    pieces: int = 0
    is_over: bool = False


def listen(client: Client, heard: dict[str, Heard]) -> None:
    """Until every session has completed."""
    while not all(one.is_over for one in heard.values()):
        message = client.heard.pop(0) if client.heard else client.next_message()
        if message.get("method") != "agents/event":
            continue
        params = message["params"]
        one = heard[params["sessionId"]]
        if "seq" not in params:
            one.pieces += 1
            continue
        one.numbers.append(params["seq"])
        event = params["event"]
        one.is_over |= event["type"] == "session/updated" and event["session"]["state"] == "completed"


def lost(client: Client, heard: dict[str, Heard]) -> int:
    """Durable events that the daemon tells of when it is asked, and did not tell by itself; and any told twice."""
    missing = 0
    for session_id, one in heard.items():
        found = client.request("agents/events", sessionId=session_id, after=one.after, limit=_PAGE)["events"]
        numbers = [event["seq"] for event in found]
        missing += len(set(numbers) - set(one.numbers)) + len(one.numbers) - len(set(one.numbers))
    return missing


def main(state: Path, clients: int, sessions: list[str]) -> None:
    everybody: list[tuple[Client, dict[str, Heard]]] = []
    for number in range(clients):
        client = Client.of_socket(connect(state, os.environ, start=False, timeout=30))
        client.greet(os.environ)
        heard = {}
        for session_id in sessions[number::clients]:
            attached = client.request("agents/attach", sessionId=session_id, deltas=True)
            heard[session_id] = Heard(attached["seq"])
        everybody.append((client, heard))
    print("attached", flush=True)
    threads = [threading.Thread(target=listen, args=one) for one in everybody]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    total = [one for _, heard in everybody for one in heard.values()]
    report = {
        "lost": sum(lost(client, heard) for client, heard in everybody),
        "events": sum(len(one.numbers) for one in total),
        "pieces": sum(one.pieces for one in total),
    }
    print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
