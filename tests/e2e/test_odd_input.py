"""Input that nobody means, and places that are not as they should be: an error that says so, and nothing hangs."""

import json
import os
import shutil
import signal
import subprocess
from typing import Any

import pytest
from support.e2e import Place, calls, command, deferred, says
from support.e2e_peer import Refusal


@pytest.mark.parametrize(
    ("method", "params", "kind"),
    [
        ("agents/validate", {"uri": "file://[x"}, "arguments/invalid"),
        ("agents/validate", {"uri": "relative.json"}, "arguments/invalid"),
        ("agents/validate", {"uri": "file:///w%00/.abey/agents/x.json"}, "arguments/invalid"),
        ("agents/validate", {"uri": "/w\0/.abey/agents/x.json"}, "arguments/invalid"),
        ("agents/validate", {"uri": "file://elsewhere/x.json"}, "arguments/invalid"),
        ("agents/explain", {"agent": "x", "tool": "t", "cwd": "/\0"}, "arguments/invalid"),
        ("agents/explain", {"agent": "x", "tool": "t", "cwd": "relative"}, "arguments/invalid"),
        ("agents/start", {"agentFile": "/a\u0000b", "prompt": "x"}, "agent/invalid"),
        ("agents/start", {"agentFile": "relative.json", "prompt": "x"}, "arguments/invalid"),
        ("agents/start", {"config": {}, "cwd": "/nowhere at all"}, "arguments/invalid"),
        ("agents/pending", {"cursor": "9" * 5000}, "arguments/invalid"),
        ("agents/sessions", {"cursor": "٣"}, "arguments/invalid"),
        ("agents/get", {"sessionId": "../../etc"}, "session/unknown"),
        ("agents/complete", {"token": "0", "outcome": {"kind": "cancel"}}, "token/unknown"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_name(place: Place, method: str, params: Any, kind: str) -> None:
    with place.peer() as peer, pytest.raises(Refusal) as refused:
        peer.request(method, **params)
    assert refused.value.kind == kind


def test_a_member_that_is_null_is_an_absent_one(place: Place) -> None:
    config = place.config(script=[says("end")])
    session = place.rpc("agents/start", config=config, prompt="x", run=None, wait=None, title=None, cwd=str(place.work))
    page = place.rpc("agents/transcript", sessionId=session["sessionId"], limit=None, after=None)
    assert ([item["kind"] for item in page["items"]], page["hasMore"]) == (["input"], False)


def test_two_hundred_calls_with_big_schemas_still_fit_into_a_session(place: Place) -> None:
    schema = {"type": "object", "description": "x" * 25_000}
    asked = calls(*(("big", {}) for _ in range(200)))
    config = place.config(
        script=[asked, says("end")], tools=[command("big", schema, ["true"])], rules=[deferred("big")]
    )
    session = place.rpc("agents/start", config=config, prompt="x", run="turn", cwd=str(place.work))
    assert (session["state"], len(session["pending"])) == ("partialUserTurn", 200)
    page = place.rpc("agents/pending", sessionId=session["sessionId"])
    assert page["items"][0]["argumentsSchema"] == schema
    assert len(page["items"]) < 200 and page["nextCursor"] == str(len(page["items"]))


def test_a_state_directory_that_was_emptied_holds_no_sessions(place: Place) -> None:
    with place.peer() as peer:
        shutil.rmtree(place.root / "state" / "sessions")
        assert peer.request("agents/sessions") == {
            "items": [],
            "damaged": [],
            "usage": {"inputTokens": 0, "outputTokens": 0},
        }


def test_a_closed_or_full_stdout_is_no_traceback(machine: Place) -> None:
    program = " ".join(machine.program("schema"))
    for where, code in ((">&-", 0), ("> /dev/full", 1)):
        done = subprocess.run(
            ["bash", "-c", f"{program} {where}"], env=machine.env, capture_output=True, text=True, timeout=60
        )
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr


def test_a_timeout_counts_from_the_start_also_where_the_daemon_does_not_answer(machine: Place) -> None:
    machine.abey("daemon", "start")
    pid = machine.daemon_pid()
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        done = machine.run("session", "step", "0" * 26, "--timeout", "0.2", "--json")
        assert (done.code, json.loads(done.out)["error"]["data"]) == (8, {"kind": "timeout"})
    finally:
        os.kill(pid, signal.SIGCONT)
