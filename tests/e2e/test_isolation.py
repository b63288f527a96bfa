"""Calls that run in a sandbox, and those that wait for one, through the installed programs."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.e2e import Place, calls, kill, says, until
from support.processes import alive
from support.sandboxes import found

BOXED = {"tool": "sh", "disposition": "runIsolated"}
WRITING = {"tool": "sh", "disposition": {"tag": "runIsolated", "writable": True}}


def outputs(place: Place, session_id: str) -> list[tuple[str, Any]]:
    items = place.rpc("agents/transcript", sessionId=session_id)["items"]
    return [(item["call"]["state"], item["call"].get("output")) for item in items if "call" in item]


def started(place: Place, command: str, rule: Any, session_id: str = "s1") -> None:
    config = place.config(script=[calls(("sh", {"command": command})), says("end")], rules=[rule])
    place.rpc("agents/start", sessionId=session_id, config=config, prompt="go", cwd=str(place.work), run="turn")


def break_bubblewrap(place: Place) -> Path:
    """From here on, until it is removed, there is one that does not work."""
    program = place.root / "bin" / "bwrap"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    place.env["PATH"] = f"{program.parent}:{place.env['PATH']}"
    place.abey("daemon", "restart")
    return program


def test_a_call_that_is_to_be_isolated_runs_in_a_sandbox_by_itself(place: Place) -> None:
    found("bubblewrap")
    (place.home / ".ssh").mkdir()
    (place.home / ".ssh" / "id").write_text("secret\n")
    started(place, "cat ~/.ssh/id; ls $ABEY_STATE_DIR; echo x > escaped; echo inside; exit 0", BOXED)
    [(state, output)] = outputs(place, "s1")
    assert (state, output.splitlines()[-1], "secret" in output) == ("completed", "inside", False)
    assert (list(place.work.iterdir()), place.session("s1")["output"]) == ([], "end")


def test_what_waits_for_a_sandbox_runs_when_there_is_one(place: Place) -> None:
    found("bubblewrap")
    broken = break_bubblewrap(place)
    started(place, "echo inside; echo x > written; mkdir .git", WRITING)
    [call] = place.session("s1")["pending"]
    assert (call["kind"], call["reason"], list(place.work.iterdir())) == ("external", "isolated runner required", [])
    refused = place.run("session", "run-isolated", "s1")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("abey: 1 call waits for a sandbox, and none can be run in one now: ")
    assert place.run("session", "approve", call["token"], "--hash", call["argumentsHash"]).code == 1
    assert place.run("session", "resume", "s1").code == 3
    broken.unlink()  # the daemon that runs looks again
    ran = place.run("session", "run-isolated", "s1")
    assert (ran.code, ran.out.split(": ")[0]) == (0, f"  sh ({call['token']})")
    assert ran.out.split(": ")[1].startswith("inside")
    assert [path.name for path in place.work.iterdir()] == ["written"]
    again = place.run("session", "run-isolated", "s1")
    assert (again.code, again.out, again.err.splitlines()[0]) == (0, "", "no call was run in a sandbox")
    assert place.abey("session", "resume", "s1") == "end\n"


def test_the_protocol_answers_when_the_calls_have_ended_and_the_same_under_the_same_key(place: Place) -> None:
    found("bubblewrap")
    broken = break_bubblewrap(place)
    started(place, "echo inside", WRITING)
    [call] = place.session("s1")["pending"]
    place.abey("daemon", "stop")
    broken.unlink()
    first = place.rpc("agents/runIsolated", token=call["token"], idempotencyKey="k")
    again = place.rpc("agents/runIsolated", token=call["token"], idempotencyKey="k")
    assert (first["ran"], first["session"]["state"], outputs(place, "s1")) == (
        [call["callId"]],
        "userTurn",
        [("completed", "inside\n")],
    )
    assert (again["ran"], again["replayed"], place.rpc("agents/runIsolated", sessionId="s1")["ran"]) == (
        first["ran"],
        True,
        [],
    )


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_nothing_of_an_isolated_call_outlives_a_killed_daemon(place: Place, kind: str) -> None:
    found(kind)
    if kind == "landlock":
        break_bubblewrap(place)
    mark = f"97.{place.root.stat().st_ino}"
    command = f"setsid sleep {mark} & sleep {mark}"
    config = place.config(script=[calls(("sh", {"command": command})), says("end")], rules=[BOXED])
    params = {"config": config, "prompt": "go", "cwd": str(place.work), "run": "turn", "wait": False}
    with place.peer() as peer:
        peer.request("agents/start", sessionId="s1", **params)
        until(lambda: len(alive(mark)) == 2)
        kill(peer.pid)
    until(lambda: alive(mark) == [])
    [call] = place.session("s1")["pending"]
    assert call["kind"] == "uncertain"


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_what_a_killed_daemon_left_of_its_sandboxes_goes_with_the_next(place: Place, kind: str) -> None:
    found(kind)
    if kind == "landlock":
        break_bubblewrap(place)
    scratch = place.root / "scratch"
    scratch.mkdir()
    place.env["TMPDIR"] = str(scratch)
    place.abey("daemon", "restart")
    rule = WRITING if kind == "bubblewrap" else BOXED
    mark = f"96.{place.root.stat().st_ino}"
    config = place.config(script=[calls(("sh", {"command": f"sleep {mark}"})), says("end")], rules=[rule])
    params = {"config": config, "prompt": "go", "cwd": str(place.work), "run": "turn", "wait": False}
    with place.peer() as peer:
        peer.request("agents/start", sessionId="s1", **params)
        until(lambda: alive(mark))
        kill(peer.pid)
    left = sorted(path.name for path in (*place.work.iterdir(), *scratch.iterdir()))
    until(lambda: alive(mark) == [])
    place.session("s1")
    assert (len(left), [*place.work.iterdir(), *scratch.iterdir()]) == (2 if kind == "bubblewrap" else 1, [])


EDIT = """sed 's/"tag": "runIsolated", "writable": true/"tag": "runSync"/'"""


@pytest.mark.parametrize("name", ["agent.json", "deep/agent.json"])
def test_a_program_in_a_sandbox_does_not_change_the_agent_file_of_its_session(place: Place, name: str) -> None:
    found("bubblewrap")
    attack = f"touch ran; {EDIT} -i {name}; {EDIT} {name} > new; mv new {name}; mv deep away; cp -r away deep"
    out = place.root / "escaped"
    script = [calls(("sh", {"command": attack})), calls(("sh", {"command": f"echo x > {out}"})), says("end")]
    file = place.work / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text := json.dumps(place.config(script=script, rules=[WRITING])))
    place.rpc("agents/start", sessionId="s1", agentFile=str(file), prompt="go", cwd=str(place.work), run="turn")
    assert ((place.work / "ran").exists(), out.exists(), file.read_text() == text) == (True, False, True)


def test_the_doctor_says_what_runs_isolated_calls(place: Place) -> None:
    found("bubblewrap")
    findings = {one["check"]: one for one in place.json("doctor")["findings"]}
    assert findings["sandbox"]["message"] == "calls that ask for it run isolated by bubblewrap"
