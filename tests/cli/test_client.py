"""`abey_cli.client`: the client that scripts use."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from support.canned_daemon import AGENTS, SESSION_ID, CannedDaemon, Refusal

from abey_cli.client import Client, Failure

OTHER = "another"


def event(n: int, session_id: str = SESSION_ID) -> dict[str, Any]:
    return {"sessionId": session_id, "seq": n, "event": {"type": "note", "text": str(n)}}


def told(n: int, session_id: str = SESSION_ID) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "agents/event", "params": event(n, session_id)}


def test_a_request_has_its_result(daemon: CannedDaemon) -> None:
    daemon.on["agents/get"] = lambda params: {"told": params}
    with Client() as client:
        assert client.daemon == AGENTS
        assert client.request("agents/get", {"sessionId": "x"}) == {"told": {"sessionId": "x"}}
        assert client.request("agents/get") == {"told": {}}


def test_it_says_who_it_is_and_where_keys_are(daemon: CannedDaemon) -> None:
    Client(name="nightly", env={**os.environ, "KEY": "k"}).close()
    [params] = daemon.initialized
    agents = params["capabilities"]["experimental"]["agents"]
    ui = {"approvals": True, "editArguments": True, "diffs": False}
    assert agents == {"protocolVersions": ["1.0"], "name": "nightly", "kind": "script", "ui": ui}
    assert params["initializationOptions"]["env"]["KEY"] == "k"


def test_an_error_is_a_failure_with_its_kind(daemon: CannedDaemon) -> None:
    def refuse(_params: object) -> object:
        raise Refusal(-31001, "no such session", kind="session/unknown", retryable=False)

    daemon.on["agents/get"] = refuse
    with Client() as client, pytest.raises(Failure) as caught:
        client.request("agents/get", {"sessionId": "x"})
    failure = caught.value
    assert (failure.kind, failure.code, failure.message) == ("session/unknown", -31001, "no such session")
    assert failure.data == {"kind": "session/unknown", "retryable": False}


def test_a_time_out_ends_the_wait_and_not_the_connection(daemon: CannedDaemon) -> None:
    over = threading.Event()
    daemon.on["slow"] = lambda _params: over.wait(20)
    daemon.on["quick"] = "quick"
    with Client(timeout=20) as client:
        with pytest.raises(Failure) as caught:
            client.request("slow", timeout=0.01)
        assert caught.value.kind == "timeout"
        over.set()
        assert client.request("quick") == "quick"


def test_without_start_no_daemon_is_unreachable(work: Path) -> None:
    with pytest.raises(Failure) as caught:
        Client(start=False, state_dir=work / "state")
    assert caught.value.kind == "daemon/unreachable"
    assert not (work / "state").exists()


def test_events_are_those_of_the_session_each_once_and_in_order(daemon: CannedDaemon) -> None:
    daemon.on["agents/attach"] = {"replay": [event(4)], "seq": 4}
    daemon.on["agents/run"] = {}
    daemon.unasked["agents/run"] = [told(5), told(1, OTHER), told(6)]
    with Client() as client, client.events(SESSION_ID, after=3, timeout=0.1) as events:
        client.request("agents/run")
        assert [*events] == [event(4), event(5), event(6)]
    assert daemon.params("agents/attach") == [{"sessionId": SESSION_ID, "after": 3}]


def test_events_that_were_too_many_are_asked_for(daemon: CannedDaemon) -> None:
    overflow = {"jsonrpc": "2.0", "method": "agents/overflow", "params": {"sessionId": SESSION_ID, "resumeAfter": 5}}
    answers = iter([{"snapshot": {"items": []}, "replay": [], "seq": 4}, {"replay": [event(6), event(7)], "seq": 7}])
    daemon.on["agents/attach"] = lambda _params: next(answers)
    daemon.on["agents/run"] = {}
    daemon.unasked["agents/run"] = [told(5), overflow]
    daemon.unasked["agents/get"] = [told(8)]
    with Client() as client, client.events(SESSION_ID, timeout=0.5) as events:
        client.request("agents/run")
        assert [next(events) for _ in range(3)] == [event(5), event(6), event(7)]
        client.request("agents/get")
        assert next(events) == event(8)
    assert daemon.params("agents/attach") == [{"sessionId": SESSION_ID}, {"sessionId": SESSION_ID, "after": 5}]


def test_a_snapshot_stands_for_events_that_are_gone(daemon: CannedDaemon) -> None:
    snapshot = {"session": {"sessionId": SESSION_ID}, "items": []}
    daemon.on["agents/attach"] = {"snapshot": snapshot, "replay": [], "seq": 9}
    with Client() as client:
        assert [*client.events(SESSION_ID, timeout=0.01)] == []
        assert [*client.events(SESSION_ID, after=1, timeout=0.01)] == [{"snapshot": snapshot, "seq": 9}]


def test_notifications_are_all_that_comes_unasked_until_they_are_closed(daemon: CannedDaemon) -> None:
    summary = {"jsonrpc": "2.0", "method": "agents/summary", "params": {"sessionId": OTHER}}
    daemon.on["agents/run"] = {}
    daemon.unasked["agents/run"] = [summary, told(1)]
    with Client() as client:
        notifications = client.notifications(timeout=0.1)
        client.request("agents/run")
        assert [*notifications] == [
            {"method": "agents/summary", "params": {"sessionId": OTHER}},
            {"method": "agents/event", "params": event(1)},
        ]
        notifications.close()
        daemon.unasked["agents/run"] = [summary]
        client.request("agents/run")
        assert [*notifications] == []


def test_nobody_listens_to_a_session_that_is_unknown(daemon: CannedDaemon) -> None:
    def refuse(_params: object) -> object:
        raise Refusal(-31001, "no such session", kind="session/unknown", retryable=False)

    daemon.on["agents/attach"] = refuse
    with Client() as client, pytest.raises(Failure, match="no such session"):
        client.events("x")


def test_it_loads_nothing_but_the_standard_library(work: Path) -> None:
    program = "import sys; before = {*sys.modules}; import abey_cli.client; print(*sorted({*sys.modules} - before))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded - {*sys.stdlib_module_names} == {"abey", "abey_cli"}
    assert "asyncio" not in loaded


def test_a_client_that_was_closed_writes_nowhere(daemon: CannedDaemon, work: Path) -> None:
    client = Client()
    told = client.notifications()
    client.close()
    client.close()
    with (work / "another").open("w+b", buffering=0) as other:  # it has the descriptor that the client had
        for use in (lambda: client.request("agents/get"), lambda: next(told)):
            with pytest.raises(Failure) as caught:
                use()
            assert (caught.value.kind, caught.value.message) == ("daemon/unreachable", "this connection was closed")
        assert other.read() == b""
