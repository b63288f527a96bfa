"""Servers that others wrote, as tools of sessions: over their pipes and over HTTP (agent-file.md, Tools)."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from support.e2e import Place, calls, says, until
from support.e2e_peer import Peer

Find = Callable[[str], str]


class Session:
    """One session with one server, `it`; every turn makes the calls that its script says."""

    def __init__(self, place: Place, peer: Peer, entry: dict[str, Any], *script: Any, **policy: Any) -> None:
        tools = [{"kind": "mcp", "name": "it", **entry}]
        agent = {**place.config(script=script), "tools": tools, "toolCallPolicy": policy or None}
        self._peer = peer
        started = peer.request("agents/start", config=agent, prompt="go", cwd=str(place.work), run="turn")
        self.id = str(started["sessionId"])

    def pending(self) -> Any:
        [call] = self._peer.request("agents/pending", sessionId=self.id)["items"]
        return call

    def complete(self, kind: str, **more: Any) -> Any:
        call = self.pending()
        asked = {"token": call["token"], "outcome": {"kind": kind, **more}, "argumentsHash": call["argumentsHash"]}
        return self._peer.request("agents/complete", **asked, resume=True)

    def outputs(self) -> list[tuple[str, Any]]:
        items = self._peer.request("agents/transcript", sessionId=self.id)["items"]
        return [(item["call"]["state"], item["call"].get("output")) for item in items if "call" in item]


RUNS = {"default": "runSync"}


@contextmanager
def over_http(program: str) -> Iterator[str]:
    """server-everything, listening."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    running = subprocess.Popen([program, "streamableHttp"], env={**os.environ, "PORT": str(port)}, **quiet)

    def answers() -> bool:
        with suppress(OSError), closing(socket.create_connection(("127.0.0.1", port))):
            return True
        return False

    try:
        until(answers, "for the server to listen")
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        running.kill()
        running.wait()


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_everything_over_stdio_and_http(place: Place, peer: Peer, server: Find, transport: str) -> None:
    program = server("MCP_EVERYTHING")
    asked = calls(
        ("mcp_it_echo", {"message": "hi"}),
        ("mcp_it_get-sum", {"a": 2, "b": 3}),
        ("mcp_it_get-sum", {"a": "x"}),
        ("mcp_it_nope", {}),
        ("mcp_it_get-tiny-image", {}),
        ("mcp_it_get-structured-content", {"location": "New York"}),
        ("mcp_it_trigger-long-running-operation", {"duration": 0.2, "steps": 2}),
        ("mcp_it_trigger-elicitation-request", {}),
    )
    script = (asked, calls(("mcp_it_trigger-elicitation-request", {})), says("done"))

    def told(entry: dict[str, Any]) -> None:
        session = Session(place, peer, entry, *script, **RUNS)
        assert session.pending()["question"]["schema"]["required"] == ["name"]
        session.complete("answer", value={"name": "Ada"})
        assert session.complete("cancel")["session"]["output"] == "done"
        echo, total, wrong, none, image, structured, long, accepted, declined = session.outputs()
        assert (echo, total) == (("completed", "Echo: hi"), ("completed", "The sum of 2 and 3 is 5."))
        assert (wrong[0], none[0]) == ("failed", "failed")
        assert {"media": "image/png"}.items() <= {p["type"]: p.get("mimeType") for p in image[1]["parts"]}.items()
        assert (structured[1]["type"], structured[1]["content"]["conditions"]) == ("json", "Cloudy")
        assert long == ("completed", "Long running operation completed. Duration: 0.2 seconds, Steps: 2.")
        assert ["provided" in json.dumps(accepted), "declined" in json.dumps(declined)] == [True, True]

    if transport == "stdio":
        told({"command": [program, "stdio"]})
    else:
        with over_http(program) as url:
            told({"url": url})


def test_a_call_is_cancelled_and_the_session_goes_on_with_the_same_server(
    place: Place, peer: Peer, server: Find
) -> None:
    entry = {"command": [server("MCP_EVERYTHING"), "stdio"]}
    long = calls(("mcp_it_trigger-long-running-operation", {"duration": 600, "steps": 2}))
    tools = [{"kind": "mcp", "name": "it", **entry}]
    agent = {**place.config(script=[long, calls(("mcp_it_echo", {"message": "on"})), says("done")]), "tools": tools}
    session_id = peer.request("agents/start", config=agent, prompt="go", cwd=str(place.work))["sessionId"]
    running = peer.start("agents/run", sessionId=session_id)
    with place.peer() as other:
        until(lambda: "call-started" in place.journal(session_id).read_text(), "for the call to start")
        other.request("agents/cancel", sessionId=session_id)
    assert peer.answer(running)["outcome"] == "cancelled"
    done = peer.request("agents/send", sessionId=session_id, prompt="on", run="turn")
    assert done["session"]["output"] == "done"


def test_a_file_is_written_once_a_person_approves(place: Place, peer: Peer, server: Find) -> None:
    entry = {"command": [server("MCP_FILESYSTEM"), "."]}
    write = calls(("mcp_it_write_file", {"path": str(place.work / "new"), "content": "written"}))
    outside = calls(("mcp_it_read_text_file", {"path": "/etc/passwd"}))
    session = Session(place, peer, entry, write, outside, says("done"))
    written = place.work / "new"
    assert (session.pending()["kind"], written.exists()) == ("approval", False)
    assert session.complete("approve")["session"]["output"] == "done"
    assert written.read_text() == "written"
    (state, _), (refused, why) = session.outputs()
    assert (state, refused, "Access denied" in json.dumps(why)) == ("completed", "failed", True)


def test_what_a_server_remembers_is_there_in_the_next_call(place: Place, peer: Peer, server: Find) -> None:
    (place.work / "memory.jsonl").touch()
    entry = {"command": ["env", f"MEMORY_FILE_PATH={place.work}/memory.jsonl", server("MCP_MEMORY")]}
    entity = {"name": "Ada", "entityType": "person", "observations": ["writes programs"]}
    script = (calls(("mcp_it_create_entities", {"entities": [entity]})), calls(("mcp_it_read_graph", {})), says("done"))
    session = Session(place, peer, entry, *script, **RUNS)
    assert "writes programs" in json.dumps(session.outputs()[1])


def test_git_and_time_answer_and_refuse(place: Place, peer: Peer, server: Find) -> None:
    git = {"command": [server("MCP_GIT"), "--repository", str(place.work)]}
    subprocess.run(["git", "init", "-q", place.work], check=True)
    status = ({"repo_path": str(place.work)}, {"repo_path": str(place.root)})
    session = Session(place, peer, git, *(calls(("mcp_it_git_status", one)) for one in status), says("done"))
    assert [state for state, _ in session.outputs()] == ["completed", "failed"]
    clock = {"command": [server("MCP_TIME"), "--local-timezone", "UTC"]}
    zones = ({"timezone": "Europe/Paris"}, {"timezone": "Nowhere/Nothing"})
    session = Session(place, peer, clock, *(calls(("mcp_it_get_current_time", one)) for one in zones), says("done"))
    assert [state for state, _ in session.outputs()] == ["completed", "failed"]


def running(program: str) -> list[int]:
    """The processes that run it."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and program.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def test_a_server_that_is_killed_is_started_again_and_nothing_of_it_outlives_the_daemon(
    place: Place, peer: Peer, server: Find
) -> None:
    program = place.work / "everything"
    program.symlink_to(os.path.realpath(server("MCP_EVERYTHING")))
    entry = {"command": ["node", str(program), "stdio"]}
    echo = calls(("mcp_it_echo", {"message": "hi"}))
    session = Session(place, peer, entry, *(echo, says("said")) * 50)
    [pid] = running(str(program))
    os.kill(pid, signal.SIGKILL)
    until(lambda: running(str(program)) == [], "for the server to be gone")

    def is_back() -> bool:
        """The daemon hears of the end a moment after the system: what it sends until then is not sent again."""
        peer.request("agents/send", sessionId=session.id, prompt="on", run="turn")
        return session.outputs()[-1][0] == "completed"

    until(is_back, "for the server to have been started again")
    place.kill_daemon()
    until(lambda: running(str(program)) == [], "for the server to be gone")
