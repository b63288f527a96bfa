"""Attached to very many sessions: what it takes, what others wait meanwhile, and what an event then costs."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from support.e2e import Place, says
from support.e2e_crash import Nursery
from support.e2e_peer import Peer
from support.figures import Figures
from support.many import copies

pytestmark = pytest.mark.figures

AT_ONCE = 1000


def test_a_client_attaches_to_very_many_sessions_and_nobody_waits_for_it(
    tmp_path: Path, nursery: Nursery, figures: Figures
) -> None:
    number = figures.size(500, 10_000)
    with closing(Place(tmp_path / "machine")) as place:
        with nursery.wake(place) as peer:
            start = {"config": place.config(script=[says("hi")]), "prompt": "x", "sessionId": "s", "run": "turn"}
            peer.request("agents/start", cwd=str(place.work), **start)
        place.kill_daemon()
        names = [f"c{one:05d}" for one in range(number)]
        copies(place.journal("s"), names)
        with nursery.wake(place) as peer, place.peer("other") as other:
            has_an_index(peer)
            before = one_event(peer)
            figures.begin()
            with waiting(other) as waited:
                memory = attach(peer, names)
            figures.note(
                "attach to many sessions; longest wait of another client meanwhile, s",
                f"{max(waited):.2f}",
                f"{number} sessions",
            )
            figures.note("memory of an attached session, KiB", f"{memory / number / 1024:.1f}", f"{number} sessions")
            after = one_event(other)
            figures.note(
                "an event of a session that nobody is attached to, ms: before, after",
                f"{before:.1f}, {after:.1f}",
                f"{number} subscriptions of others",
            )
            [heard] = [one for one in told(peer, names[7]) if one["event"]["type"] == "session/updated"]
            assert heard["event"]["session"]["title"] == "new"


def has_an_index(peer: Peer) -> None:
    """Every journal has been looked at once: the first list of all takes as long as it takes."""
    listed = peer.start("agents/sessions", limit=1)
    while True:
        with suppress(TimeoutError):
            peer.answer(listed)
            return


def attach(peer: Peer, names: list[str]) -> int:
    """Bytes that the daemon grew by."""
    before = peer.request("agents/status")["memory"]["rssBytes"]
    for start in range(0, len(names), AT_ONCE):
        some = names[start : start + AT_ONCE]
        asked = peer.start("agents/attach", sessionId="*", after=dict.fromkeys(some, 10_000))
        shown = [one["status"] for one in peer.answer(asked)["sessions"]]
        assert shown == ["expired"] * len(some)
        for name in some:
            peer.request("agents/attach", sessionId=name)
    return int(peer.request("agents/status")["memory"]["rssBytes"] - before)


def told(peer: Peer, name: str) -> list[dict[str, dict[str, dict[str, str]]]]:
    peer.request("agents/update", sessionId=name, title="new")
    return [one["params"] for one in peer.heard if one["method"] == "agents/event"]


def one_event(peer: Peer) -> float:
    """Milliseconds from a change to its answer, the median of some."""
    took = []
    for number in range(21):
        began = time.perf_counter()
        peer.request("agents/update", sessionId="s", title=f"{time.time()} {number}")
        took.append(time.perf_counter() - began)
    return sorted(took)[10] * 1000


@contextmanager
def waiting(peer: Peer) -> Iterator[list[float]]:
    """How long each answer took that another client asked for meanwhile."""
    took, over = [0.0], threading.Event()

    def ask() -> None:
        while not over.wait(0.02):
            began = time.perf_counter()
            peer.request("agents/status")
            took.append(time.perf_counter() - began)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield took
    finally:
        over.set()
        thread.join()
