"""A client that is a process of its own: one that asks for much and reads it, or one that asks and reads nothing.

    busy_client.py reads|stalls SESSION STREAMED

It prints a line when it is under way; at the end of its stdin it prints what it got, as JSON, and ends.
"""

import json
import os
import select
import sys
from pathlib import Path
from typing import Any

from support.e2e_peer import Peer

from abey.shared.starting import connect

REPLY_BYTES = 2_000_000
ASKED = 40


def main(how: str, session: str, streamed: str) -> None:
    peer = Peer(connect(Path(os.environ["ABEY_STATE_DIR"]), os.environ, start=False, timeout=30))
    peer.initialize(how, os.environ)
    attached = peer.request("agents/attach", sessionId=streamed, deltas=True)["seq"]
    got = reads(peer, session) if how == "reads" else stalls(peer, session)
    print(json.dumps({**got, "attached": attached}), flush=True)


def reads(peer: Peer, session: str) -> dict[str, Any]:
    replies = 0
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        items = peer.request("agents/transcript", sessionId=session)["items"]
        replies += sum(len(item["parts"][0]["text"]) for item in items if "parts" in item) == REPLY_BYTES
    peer.request("agents/status")  # what was on its way is here
    events = [one["params"] for one in peer.heard if one["method"] == "agents/event"]
    numbers = [one["seq"] for one in events if "seq" in one]
    return {"replies": replies, "seqs": numbers, "deltas": len(events) - len(numbers)}


def stalls(peer: Peer, session: str) -> dict[str, Any]:
    """Reads only when it is over: what had come by then."""
    for _ in range(ASKED):
        peer.start("agents/transcript", sessionId=session)
    print("ready", flush=True)
    sys.stdin.read()
    peer.ended()
    return {"replies": peer.answered}


if __name__ == "__main__":
    main(*sys.argv[1:])
