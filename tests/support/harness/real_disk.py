"""Real faults for a real daemon: `python -m support.harness.real_disk FOLDER`, in a user and mount namespace.

Prints what came of each case as JSON. It is a program of its own, so that its mounts are seen by nobody else.
"""

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from support import e2e_journal
from support.e2e import Place, Value, calls, kill, says, until
from support.e2e_crash import Nursery
from support.e2e_peer import Peer, Refusal

STATE_BYTES = 1 << 20
BALLAST_BYTES = 640 << 10
PATIENT_STEPS = 600
FLOOR = "too little is free for tools"
"""A refusal before anything is written."""


def full(place: Place, nursery: Nursery) -> Value:
    """The state directory is a small file system that fills up, and is given room again."""
    place.state.mkdir()
    _mount("-t", "tmpfs", "-o", f"size={STATE_BYTES}", "tmpfs", str(place.state))
    ballast = place.state / "ballast"
    ballast.write_bytes(bytes(BALLAST_BYTES))
    with nursery.wake(place) as peer:
        _start(place, peer)
        return _broken_and_mended(place, nursery, peer, ballast.unlink)


def read_only(place: Place, nursery: Nursery) -> Value:
    """The folder of one session becomes read-only, and is given back."""
    with nursery.wake(place) as peer:
        _start(place, peer)
        kill(peer.pid)
    folder = str(place.journal("s1").parent)
    _mount("--bind", folder, folder)
    _mount("-o", "remount,bind,ro", folder)
    with nursery.wake(place) as peer:
        return _broken_and_mended(place, nursery, peer, lambda: _run("umount", folder))


def too_large(place: Place, nursery: Nursery) -> Value:
    """The daemon may not make files larger than this, and then it may."""
    with nursery.wake(place) as peer:
        _start(place, peer)
        limit = place.journal("s1").stat().st_size + 3000
        _, hard = resource.prlimit(peer.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(peer.pid, resource.RLIMIT_FSIZE, (limit, hard))
        return _broken_and_mended(
            place, nursery, peer, lambda: resource.prlimit(peer.pid, resource.RLIMIT_FSIZE, (hard, hard))
        )


CASES: dict[str, Callable[[Place, Nursery], Value]] = {"full": full, "read-only": read_only, "too-large": too_large}


def _start(place: Place, peer: Peer) -> None:
    """A session, and another one beside it."""
    script = [calls(("bump", {})), calls(("bump", {}), ("bump", {})), says("ok" * 2000)]
    for session_id in ("s1", "s2"):
        config = place.config(session_id, script=script, loop=True)
        peer.request("agents/start", config=config, prompt="go", cwd=str(place.work), sessionId=session_id)


def _broken_and_mended(place: Place, nursery: Nursery, peer: Peer, mend: Callable[[], Any]) -> Value:
    """Steps until one is refused; then the disk is mended, and the session goes on."""
    refused = _until_refused(peer)
    ran, started = place.ran(), _started(place)
    shown = peer.request("agents/get", sessionId="s1")["session"]["revision"]
    other = _tried(peer, "s2")
    mend()
    reopened = peer.request("agents/reopen", sessionId="s1")
    went_on = [_goes_on(peer) for _ in range(3)]
    last = peer.request("agents/get", sessionId="s1")["session"]["revision"]
    lines = e2e_journal.read(place.journal("s1"))
    pid = peer.pid
    kill(pid)
    with nursery.wake(place) as again:
        after = again.request("agents/get", sessionId="s1")["session"]["revision"]
        damaged = again.request("agents/sessions")["damaged"]
        kill(again.pid)
    return {
        "refused": refused,
        "other": other,
        "toolsWithoutRecord": max(0, ran - started),
        "reopened": (reopened["applied"], reopened["session"]["revision"] >= shown),
        "wentOn": went_on,
        "journal": len(lines) == last == after,
        "damaged": damaged,
    }


def _until_refused(peer: Peer) -> Value:
    """The error of the first step that is refused."""
    for _ in range(PATIENT_STEPS):
        found = _tried(peer, "s1")
        if found == FLOOR:  # no tool starts any more; what still writes is input
            found = _sent(peer)
        if found != "went on":
            assert isinstance(found, dict)
            return found
    raise AssertionError("no write is refused")


def _sent(peer: Peer) -> Any:
    try:
        peer.request("agents/send", sessionId="s1", prompt="more" * 500, delivery="queue")
    except Refusal as refused:
        return {"kind": refused.kind, "errno": refused.data.get("errnoName")}
    return "went on"


def _tried(peer: Peer, session_id: str) -> Any:
    try:
        state = peer.request("agents/get", sessionId=session_id)["session"]["state"]
        if state == "completed":
            peer.request("agents/send", sessionId=session_id, prompt="more" * 500)
        peer.request("agents/step", sessionId=session_id)
    except Refusal as refused:
        if "freeBytes" in refused.data:
            return FLOOR
        return {"kind": refused.kind, "errno": refused.data.get("errnoName")}
    return "went on"


def _goes_on(peer: Peer) -> Any:
    """What a step comes to once the daemon has seen that there is room again: it looks once a second."""
    return until(lambda: None if (found := _tried(peer, "s1")) == FLOOR else found, "for room on the disk")


def _started(place: Place) -> int:
    """The records that say a tool has started, in all journals, torn tails aside."""
    lines = [line for path in place.state.glob("sessions/*/journal.jsonl") for line in path.read_bytes().splitlines()]
    return sum(b'"type":"call-started"' in line for line in lines)


def _mount(*arguments: str) -> None:
    _run("mount", *arguments)


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    found = {}
    with Nursery() as nurse:
        for case, try_it in CASES.items():
            where = Place(Path(sys.argv[1]) / case)
            with closing(where):
                found[case] = try_it(where, nurse)
    print(json.dumps(found))
