"""Editors that are killed, daemons that are replaced, and programs that print where messages go."""

import os
import re
import select
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from support.e2e import PROGRAMS, Place, calls, says, until
from support.e2e_peer import PATIENCE, Peer
from support.killed_editor import Editor
from support.raw_peer import INITIALIZE

from abey.shared.version import VERSION

OTHER_BUILD = """
import abey.shared.version as version
version.VERSION = "0.0.9"
import sys
from abey.daemon.main import main
sys.exit(main(sys.argv[1:]))
"""

OTHER_PROTOCOL = """
import abey.protocol.handshake as handshake
handshake.PROTOCOL_VERSION = "2.0"
import sys
from abey.daemon.main import main
sys.exit(main(sys.argv[1:]))
"""


@contextmanager
def server(place: Place, *options: str, **env: str) -> Iterator[tuple[Peer, "subprocess.Popen[str]"]]:
    """A client of `abey-daemon` over its stdin and stdout, which has greeted it; it ends with the client."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [str(PROGRAMS / "abey-daemon"), *options],
            env={**place.env, **env},
            stdin=theirs,
            stdout=theirs,
            stderr=subprocess.PIPE,
            text=True,
        )
    try:
        with Peer(ours) as peer:
            peer.initialize("editor", place.env)
            yield peer, process
    finally:
        process.communicate(timeout=30)


def start(place: Place, **more: Any) -> dict[str, Any]:
    return {"config": place.config(**more), "prompt": "x", "cwd": str(place.work), "run": "turn"}


async def test_a_standalone_daemon_whose_editor_was_killed_ends_and_its_sessions_are_whole(machine: Place) -> None:
    """C21."""
    with Editor(machine.env, str(PROGRAMS / "abey-daemon"), "--stdio", "--standalone") as editor:
        assert editor.says(id=1, method="initialize", params=INITIALIZE).startswith("Content-Length: ")
        with machine.peer("other", start=False) as other:
            pending = other.request("agents/start", **start(machine, script=[calls(("ext", {})), says("end")]))
            running = other.request("agents/start", **start(machine, script=[calls(("slow", {}))]) | {"wait": False})
            until(lambda: machine.ran() == 1)
            editor.is_killed()
            await editor.server_ended()
            assert other.ended()
    with machine.peer() as next_one:
        assert next_one.request("agents/get", sessionId=pending["sessionId"])["session"] == pending
        [call] = next_one.request("agents/get", sessionId=running["sessionId"])["session"]["pending"]
        assert call["kind"] == "uncertain"


def test_what_a_tool_writes_anywhere_is_no_message(machine: Place) -> None:
    noise = "echo out; echo err >&2; for fd in 0 1 2 3 4 5 6 7 8 9; do echo noise > /proc/$PPID/fd/$fd; done; true"
    with server(machine, "--stdio", "--standalone") as (peer, process):
        session = peer.request(
            "agents/start", **start(machine, script=[calls(("sh", {"command": noise})), says("end")])
        )
        assert session["output"] == "end"
        assert peer.request("agents/status")["daemon"]["pid"] == process.pid
        peer.request("shutdown")
        peer.notify("exit", {})
        assert peer.ended()


def test_a_daemon_of_another_build_is_used_and_named_until_it_is_restarted(machine: Place) -> None:
    other = shlex.join([sys.executable, "-P", "-c", OTHER_BUILD])
    machine.env["ABEY_DAEMON"] = other
    with machine.peer() as old:
        session = old.request("agents/start", **start(machine, script=[calls(("ext", {})), says("end")]))
        del machine.env["ABEY_DAEMON"]
        way_out = "`abey daemon restart` makes them one, and sessions stay"
        status = machine.run("daemon", "status")
        assert status.err == f"abey: the daemon is of build 0.0.9, this is {VERSION}; {way_out}\n"
        assert f"build: 0.0.9 (this is {VERSION})\n" in status.out
        with server(machine, "--stdio") as (editor, forwarder):
            assert editor.pid == old.pid
            said = f"abey-daemon: the daemon (pid {old.pid}) is of build '0.0.9', this is '{VERSION}'; {way_out}\n"
            assert forwarder.stderr is not None
            assert forwarder.stderr.readline() == said
            restarted = machine.run("daemon", "restart")
            assert editor.ended()
        assert restarted.err == f"the daemon (pid {old.pid}) is gone\n"
        assert f"build: {VERSION}\n" in restarted.out
        assert old.hear("agents/daemon") == {"state": "draining"}
        assert old.ended()
    with machine.peer() as new:
        assert new.request("agents/get", sessionId=session["sessionId"])["session"] == session
        assert new.pid != old.pid


def test_a_daemon_of_another_protocol_is_refused_and_can_be_replaced(machine: Place) -> None:
    machine.env["ABEY_DAEMON"] = shlex.join([sys.executable, "-P", "-c", OTHER_PROTOCOL])
    refused = machine.run("session", "list")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == (
        "abey: the client speaks 1.0, the daemon 2.0 (protocol/unsupported); "
        "`abey daemon restart` puts one of this build in its place, and sessions stay\n"
    )
    del machine.env["ABEY_DAEMON"]
    restarted = machine.run("daemon", "restart")
    assert restarted.code == 0
    assert re.fullmatch(r"the daemon \(pid \d+\) spoke another protocol, and is gone\n", restarted.err)
    assert machine.abey("session", "list") == ""


def test_a_call_that_waits_does_not_keep_a_daemon_and_is_there_with_the_next(machine: Place) -> None:
    machine.env["ABEY_DAEMON"] = shlex.join([str(PROGRAMS / "abey-daemon"), "--idle-exit", "0.3"])
    with machine.peer() as peer:
        session = peer.request("agents/start", **start(machine, script=[calls(("ext", {})), says("end")]))
        first = peer.pid
        handle = os.pidfd_open(first)
    assert select.select([handle], [], [], PATIENCE)[0]
    os.close(handle)
    assert "nobody was here for 0.3 s" in machine.log()
    with machine.peer() as peer:
        assert peer.pid != first
        assert peer.request("agents/get", sessionId=session["sessionId"])["session"] == session


def test_a_tool_that_runs_keeps_a_daemon_that_nobody_visits(machine: Place) -> None:
    machine.env["ABEY_DAEMON"] = shlex.join([str(PROGRAMS / "abey-daemon"), "--idle-exit", "0.3"])
    os.mkfifo(machine.work / "gate")
    gated = calls(("sh", {"command": f"echo line >> {machine.count}; cat {machine.work / 'gate'}"}))
    with machine.peer() as peer:
        session = peer.request("agents/start", **start(machine, script=[gated, says("end")]) | {"wait": False})
        handle = os.pidfd_open(peer.pid)
        until(lambda: machine.ran() == 1)
    assert not select.select([handle], [], [], 1)[0]
    (machine.work / "gate").write_text("through")
    assert select.select([handle], [], [], PATIENCE)[0]
    os.close(handle)
    assert machine.session(session["sessionId"])["output"] == "end"


def test_a_status_is_answered_while_every_session_works(place: Place) -> None:
    with place.peer() as peer:
        for _ in range(3):
            peer.request("agents/start", **start(place, script=[calls(("slow", {}))]) | {"wait": False})
        until(lambda: place.ran() == 3)
        step = peer.start("agents/run", sessionId=peer.request("agents/sessions")["items"][0]["sessionId"])
        status = peer.request("agents/status")
        assert (status["sessions"]["running"], status["clients"]) == (3, 1)
        del step
