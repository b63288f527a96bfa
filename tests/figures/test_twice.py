"""A daemon that dies at each write to a journal: no tool runs twice, whoever goes on."""

import os
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from support.e2e import Place, calls, kill, says, until
from support.e2e_crash import ALIVE, Death, Moment, Nursery
from support.e2e_peer import Gone, Peer, Refusal
from support.figures import Figures
from support.harness.traffic import Bench

pytestmark = pytest.mark.figures

SCRIPT = [
    calls(("bump", {"x": "1"}), ("bump", {"x": "2"})),
    calls(("ask", {"x": "3"}), ("later", {"x": "4"})),
    says("done"),
]


def test_no_tool_runs_twice_after_a_crash_at_any_write(tmp_path: Path, nursery: Nursery, figures: Figures) -> None:
    moments: tuple[Moment, ...] = ("before", "torn", "after") if figures.large else ("after",)
    crashes = 0
    for moment in moments:
        for at in count(1):
            with closing(Place(tmp_path / f"{moment}{at}")) as place:
                if not _dies_at(Bench(place, nursery, f"9873.{os.getpid()}"), Death(moment, at)):
                    break
                crashes += 1
    figures.note("tools run twice after a crash at each write of a session", 0, f"{crashes} crashes")


def _dies_at(bench: Bench, death: Death) -> bool:
    """Whether the daemon came to die; the next one brings the session to its end."""
    died = False
    with bench.wake(death) as peer:
        try:
            _drive(bench, peer)
        except Gone:
            died = True
        kill(peer.pid)  # it may be on its way out, and holds the lock until it is gone
    if died:
        with bench.wake(ALIVE) as peer:
            if death.at > 1 or death.moment == "after":
                _drive(bench, peer)
            kill(peer.pid)
    ran = bench.place.count.read_text().split() if bench.place.count.exists() else []
    assert len(set(ran)) == len(ran), f"{death}: {ran}"
    return died


def _drive(bench: Bench, peer: Peer) -> None:
    """From wherever the session is to its end. What may have run is never run again. Raises Gone."""
    while (session := _session(bench, peer))["state"] != "completed":
        waiting = [call for call in session["pending"] if call["kind"] != "running"]
        if waiting:
            _answer(peer, waiting[0])
        elif session["pending"]:
            until(lambda: not _session(bench, peer)["pending"], "for the background call")
        else:
            peer.request("agents/step", sessionId="s1")


def _session(bench: Bench, peer: Peer) -> Any:
    try:
        return peer.request("agents/get", sessionId="s1")["session"]
    except Refusal as refused:
        assert refused.kind == "session/unknown", refused
    config = bench.config("s1", SCRIPT)
    return peer.request("agents/start", config=config, prompt="go", cwd=str(bench.place.work), sessionId="s1")


def _answer(peer: Peer, call: Any) -> None:
    if call["kind"] == "approval":
        peer.request(
            "agents/complete", token=call["token"], outcome={"kind": "approve"}, argumentsHash=call["argumentsHash"]
        )
    else:
        peer.request("agents/complete", token=call["token"], outcome={"kind": "result", "content": "looked it up"})
