"""What a tool costs that prints without end, while a client listens to it and others work; and how soon a call is over
once its program is."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from support.e2e import Place, calls, says
from support.e2e_crash import Nursery
from support.e2e_peer import Peer
from support.figures import Figures

pytestmark = pytest.mark.figures


def resident(pid: int) -> int:
    """Bytes of memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return 1024 * int(status.split("VmRSS:")[1].split()[0])


def prepared(peer: Peer, place: Place, command: str) -> str:
    """A session that will run this command, and to which `peer` listens."""
    config = place.config(script=[calls(("sh", {"command": command})), says("end")])
    cwd = str(place.work)
    session = peer.request("agents/start", config=config, prompt="x", cwd=cwd, run="none")
    session_id = str(session["sessionId"])
    peer.request("agents/attach", sessionId=session_id, deltas=True)
    return session_id


def completed(peer: Peer, session_id: str) -> None:
    """Waits for the end of the turn, and takes what is told meanwhile."""
    while peer.request("agents/get", sessionId=session_id)["session"]["state"] != "completed":
        time.sleep(0.1)


def call_of(peer: Peer, session_id: str) -> Any:
    items = peer.request("agents/transcript", sessionId=session_id)["items"]
    return next(item["call"] for item in items if "call" in item)


def progress(peer: Peer) -> list[Any]:
    """The pieces of output that were told, which are forgotten then."""
    events = [one["params"]["event"] for one in peer.heard if one["method"] == "agents/event"]
    peer.heard.clear()
    return [event for event in events if event["type"] == "tool/progress"]


def test_endless_output_costs_little_memory_and_holds_up_nobody(
    tmp_path: Path, nursery: Nursery, figures: Figures
) -> None:
    size = figures.size(50_000_000, 2_000_000_000)
    took: list[float] = []
    told: list[int] = []
    seconds: list[float] = []
    with closing(Place(tmp_path / "machine")) as place:
        nursery.wake(place).close()
        with place.peer() as peer, place.peer("other") as other, ThreadPoolExecutor(1) as pool:
            small = prepared(other, place, "true")
            other.request("agents/run", sessionId=small)
            before = peak = resident(peer.pid)
            for _ in range(10):
                session_id = prepared(peer, place, f"yes | head -c {size}")
                began = time.monotonic()
                peer.request("agents/run", sessionId=session_id, wait=False)
                flood = pool.submit(completed, peer, session_id)
                while not flood.done():
                    asked = time.monotonic()
                    other.request("agents/get", sessionId=small)
                    took.append(time.monotonic() - asked)
                    peak = max(peak, resident(other.pid))
                flood.result()
                seconds.append(time.monotonic() - began)
                output = call_of(peer, session_id)["output"]
                assert f"\n[… {size - 2 * (131072 - 32)} bytes left out …]\n" in output
                told.append(sum(len(piece["text"]) for piece in progress(peer)))
    took.sort()
    many = f"10 times {size // 1_000_000} MB"
    figures.note("memory that the daemon gains while tools print", f"{(peak - before) / 1e6:.0f} MB", many)
    slowest = f"{took[len(took) * 99 // 100] * 1000:.0f} ms; {took[-1] * 1000:.0f} ms"
    figures.note("a look at another session meanwhile: p99; slowest", slowest, f"{len(took)} looks")
    rate = max(one / each for one, each in zip(told, seconds, strict=True))
    figures.note("characters a second of it that a listener is told, at most", f"{rate:.0f}", many)
    figures.note("seconds that each takes, at most", f"{max(seconds):.1f}", many)


def test_a_call_is_over_soon_after_its_program(tmp_path: Path, nursery: Nursery, figures: Figures) -> None:
    number = figures.size(20, 200)
    late: list[float] = []
    with closing(Place(tmp_path / "machine")) as place:
        nursery.wake(place).close()
        with place.peer() as peer:
            for way in ("sleep 300 & {}", "(setsid sleep 300 &); {}", "nohup sleep 300 & {}", "{}") * (number // 4):
                session_id = prepared(peer, place, way.format("date -u +%s.%N"))
                peer.request("agents/run", sessionId=session_id)
                call = call_of(peer, session_id)
                ended = datetime.fromisoformat(call["endedAt"]).timestamp()
                late.append(ended - float(call["output"].split()[-1]))
    figures.note(
        "from the end of a program whose child holds the pipe to the end of its call: median; slowest",
        f"{sorted(late)[number // 2] * 1000:.0f} ms; {max(late) * 1000:.0f} ms",
        f"{number} calls",
    )
    assert max(late) < 1
