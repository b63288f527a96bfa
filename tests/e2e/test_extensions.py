"""Extensions as they are installed: the worked example of the docs, and one that does whatever a test wants."""

import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.e2e import Place, calls, deferred, kill, says, until
from support.e2e_journal import read
from support.e2e_peer import Peer, Refusal
from support.extensions import EXAMPLE, GUARD, install_module, install_package, site
from support.processes import alive
from support.replay import Canned, replaying_beside

MOVED = calls(("shell_run", {"command": "cd / && KEPT=yes"}))
LOOKED = calls(("shell_run", {"command": "pwd; echo $KEPT"}))
WHO = calls(("shell_run", {"command": "echo $$"}))
MARK = f"98232.{os.getpid()}"
"""A number of seconds that no other program sleeps."""


@pytest.fixture
def shelled(machine: Place) -> Place:
    """A machine on which the worked example is installed."""
    install_package(machine, EXAMPLE)
    return machine


@pytest.fixture
def guarded(machine: Place) -> Iterator[Peer]:
    """A client of a daemon with the guard."""
    install_module(machine, GUARD.read_text(), "guard = guard:Guard")
    with machine.peer() as peer:
        yield peer


def begun(peer: Peer, place: Place, *script: Any, prompt: str = "go", **more: Any) -> str:
    agent = place.config(script=script, tools=[], **more)
    return str(peer.request("agents/start", config=agent, prompt=prompt, cwd=str(place.work), run="turn")["sessionId"])


def calls_of(peer: Peer, session_id: str) -> list[Any]:
    items = peer.request("agents/transcript", sessionId=session_id)["items"]
    return [item for item in items if "call" in item]


def outputs(peer: Peer, session_id: str) -> list[tuple[str, Any]]:
    return [(item["call"]["state"], item["call"].get("output")) for item in calls_of(peer, session_id)]


def pending(peer: Peer, session_id: str) -> Any:
    [call] = peer.request("agents/pending", sessionId=session_id)["items"]
    return call


def records(place: Place, session_id: str, kind: str) -> list[Any]:
    return [line.data for line in read(place.journal(session_id)) if line.type == kind]


def printed(text: str, status: int = 0) -> tuple[str, Any]:
    return "completed", {"status": status, "output": text}


def test_a_shell_stays_from_one_call_to_the_next_and_is_another_one_in_the_next_session(shelled: Place) -> None:
    with shelled.peer() as peer:
        first = begun(peer, shelled, MOVED, LOOKED, says("done"))
        second = begun(peer, shelled, LOOKED, says("done"))
        assert outputs(peer, first) == [printed(""), printed("/\nyes\n")]
        assert outputs(peer, second) == [printed(f"{shelled.work}\n\n")]


def shell_of(peer: Peer, session_id: str) -> int:
    (_, output) = outputs(peer, session_id)[-1]
    return int(output["output"])


def is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("how", ["stop", "shutdown", "kill"])
def test_the_shell_goes_with_its_session_and_with_its_daemon(shelled: Place, how: str) -> None:
    with shelled.peer() as peer:
        session_id = begun(peer, shelled, WHO, says("done"))
        pid = shell_of(peer, session_id)
        assert not is_gone(pid)
        if how == "stop":
            peer.request("agents/stop", sessionId=session_id)
        elif how == "shutdown":
            shelled.abey("daemon", "stop")
        else:
            kill(peer.pid)
    until(lambda: is_gone(pid), "for the shell to go")


@pytest.mark.parametrize("how", ["stop", "cancel", "shutdown", "kill"])
def test_a_command_in_the_middle_goes_too_with_all_that_has_left_its_shell(shelled: Place, how: str) -> None:
    command = {"command": f"setsid sleep {MARK} & (sleep {MARK} &) ; sleep {MARK}"}
    agent = shelled.config(script=[calls(("shell_run", command)), says("done")], tools=[])
    go = {"config": agent, "prompt": "go", "cwd": str(shelled.work), "run": "turn", "wait": False}
    with shelled.peer() as peer:
        session_id = peer.request("agents/start", **go)["sessionId"]
        until(lambda: len(alive(MARK)) == 3, "for the command to be in the middle")
        if how in ("stop", "cancel"):
            peer.request(f"agents/{how}", sessionId=session_id)
        elif how == "shutdown":
            shelled.abey("daemon", "stop")
        else:
            kill(peer.pid)
    until(lambda: not alive(MARK), "for all of it to go")


def test_a_call_that_a_killed_daemon_was_in_the_middle_of_is_uncertain_and_not_run_again(shelled: Place) -> None:
    agent = shelled.config(script=[calls(("shell_run", {"command": "echo >> ran; sleep 600"})), says("done")], tools=[])
    go = {"config": agent, "prompt": "go", "cwd": str(shelled.work), "run": "turn", "wait": False}
    with shelled.peer() as peer:
        session_id = peer.request("agents/start", **go)["sessionId"]
        until((shelled.work / "ran").exists, "for the command to be in the middle")
        kill(peer.pid)
    with shelled.peer() as peer:
        assert peer.request("agents/run", sessionId=session_id)["outcome"] == "waiting"
        assert pending(peer, session_id)["kind"] == "uncertain"
    assert (shelled.work / "ran").read_text() == "\n"


def test_after_a_restart_the_shell_is_a_new_one_and_a_call_that_waited_runs_in_it(shelled: Place) -> None:
    with shelled.peer() as peer:
        ask = [{"tool": "shell_run", "match": {"/command": "pwd; echo $KEPT"}, "disposition": "defer"}]
        session_id = begun(peer, shelled, MOVED, LOOKED, says("done"), rules=ask)
        call = pending(peer, session_id)
        assert (call["kind"], call["tool"]) == ("approval", "shell_run")
        kill(peer.pid)
    shelled.abey("session", "approve", call["token"], "--no-input")
    with shelled.peer() as peer:
        until(lambda: outputs(peer, session_id)[-1][0] == "completed")
        assert outputs(peer, session_id) == [printed(""), printed(f"{shelled.work}\n\n")]


def test_what_the_example_forbids_is_denied_and_the_turn_goes_on(shelled: Place) -> None:
    with shelled.peer() as peer:
        session_id = begun(peer, shelled, calls(("shell_run", {"command": "sudo reboot"})), says("well"))
        why = "denied by extension persistent-shell: this shell is nobody's but the user's own"
        assert outputs(peer, session_id) == [("denied", why)]


@pytest.mark.parametrize(("value", "outcome"), [("true", "completed"), ("false", "denied")])
def test_what_the_example_asks_about_waits_for_an_answer(shelled: Place, value: str, outcome: str) -> None:
    file = shelled.agent(script=[calls(("shell_run", {"command": "echo git push"})), says("done")], tools=[])
    shelled.abey("run", "--agent-file", str(file), "-p", "go", "--no-input", code=3)
    [call] = shelled.json("session", "pending")["items"]
    assert (call["kind"], call["question"]["kind"]) == ("question", "approval")
    assert call["question"]["prompt"] == "May this be pushed? echo git push"
    shelled.abey("session", "answer", call["token"], value)
    assert shelled.abey("run", "--session", call["sessionId"]) == "done\n"
    with shelled.peer() as peer:
        [(state, _)] = outputs(peer, call["sessionId"])
    assert state == outcome


def test_a_secret_in_an_answer_ends_the_turn_and_is_nowhere(shelled: Place) -> None:
    secret = "-----BEGIN PRIVATE KEY----- canary"
    file = shelled.agent(script=[says(secret), says("hello")], tools=[])
    done = shelled.run("run", "--agent-file", str(file), "-p", "go")
    assert (done.code, "the answer holds a private key" in done.err) == (7, True)
    session_id = done.err.split("session-id: ")[1].split()[0]
    [failed] = records(shelled, session_id, "failed")
    assert (failed["end"], failed["tripwire"]) == (
        "tripped",
        {"extension": "persistent-shell", "scope": "step"},
    )
    assert records(shelled, session_id, "candidate") == []
    assert shelled.abey("run", "--session", session_id, "-p", "again") == "hello\n"


def chat(*deltas: dict[str, Any]) -> Canned:
    events: list[Any] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return Canned([f"data: {json.dumps(event)}\n\n".encode() for event in events] + [b"data: [DONE]\n\n"])


def test_the_model_is_told_what_hooks_add_and_the_transcript_is_not(guarded: Peer, machine: Place) -> None:
    with replaying_beside(chat({"content": "fine"})) as model:
        of = {"provider": "openai", "name": "tiny", "baseUrl": model.url}
        session_id = begun(guarded, machine, prompt="say it with context", model=of)
        [asked] = [one.json for one in model.asked]
    told = [message["content"] for message in asked["messages"]]
    assert "the session is of a" in json.dumps(told[-1])
    assert [tool["function"]["name"] for tool in asked["tools"]] == ["told", "wonder", "fail", "count"]
    assert "the session is of a" not in machine.journal(session_id).read_text()


def test_a_tripwire_of_a_step_ends_the_turn_and_one_of_the_session_stops_it(guarded: Peer, machine: Place) -> None:
    for word, state, message in (("step", "completed", "a step too far"), ("session", "stopped", "a session too far")):
        session_id = begun(guarded, machine, says("hello"), says("again"), prompt=f"one {word}")
        assert guarded.request("agents/get", sessionId=session_id)["session"]["state"] == state
        [failed] = records(machine, session_id, "failed")
        assert failed["message"] == message
        assert failed["tripwire"] == {"extension": "guard", "scope": word}


def test_the_tries_and_the_cost_of_an_answer_that_was_not_recorded_count(guarded: Peer, machine: Place) -> None:
    broken = {"error": {"code": "transient"}}
    costly = {**says("hello"), "usage": {"input": 7, "output": 5}}
    session_id = begun(guarded, machine, broken, costly, says("fine"), prompt="one step")
    [failed] = records(machine, session_id, "failed")
    assert (failed["attempts"], failed["usage"]) == (2, {"inputTokens": 7, "outputTokens": 5})
    guarded.request("agents/send", sessionId=session_id, prompt="go", run="turn")
    [answer] = records(machine, session_id, "candidate")
    assert answer["blocks"] == [{"type": "text", "text": "fine"}]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("early", "not even asked"),
        ("raise", "the extension guard failed; see the daemon's log"),
        ("late", "the extension guard failed: instructions are added before `proceed`: the request has gone out"),
        ("capability", "the extension guard failed: guard/broken: out of order"),
    ],
)
def test_what_goes_wrong_in_a_hook_ends_the_turn_and_nothing_else(
    guarded: Peer, machine: Place, word: str, message: str
) -> None:
    session_id = begun(guarded, machine, says("hello"), says("hello"), prompt=word)
    [failed] = records(machine, session_id, "failed")
    assert (failed["end"], failed["message"]) == ("tripped", message)
    guarded.request("agents/send", sessionId=session_id, prompt="fine", run="turn")
    assert guarded.request("agents/get", sessionId=session_id)["session"]["state"] == "completed"
    assert len(records(machine, session_id, "final")) == 1
    assert ("secret" in machine.log()) == (word == "raise")


def test_a_hook_that_hangs_is_ended_by_a_cancel(guarded: Peer, machine: Place) -> None:
    agent = machine.config(script=[says("hello"), says("hello")], tools=[])
    session = guarded.request(
        "agents/start", config=agent, prompt="hang", cwd=str(machine.work), run="turn", wait=False
    )
    session_id = session["sessionId"]
    until(lambda: guarded.request("agents/get", sessionId=session_id)["session"]["activity"] == "model")
    guarded.request("agents/cancel", sessionId=session_id)
    guarded.request("agents/send", sessionId=session_id, prompt="fine", run="turn")
    items = guarded.request("agents/transcript", sessionId=session_id)["items"]
    assert items[-1]["text"] == "hello"


def test_a_hook_that_ignores_its_end_holds_up_neither_its_session_nor_the_daemon(guarded: Peer, machine: Place) -> None:
    agent = machine.config(script=[says("hello")], tools=[], limits={"stopGraceSeconds": 1})
    how = {"prompt": "stubborn", "cwd": str(machine.work), "run": "turn", "wait": False}
    session_id = guarded.request("agents/start", config=agent, **how)["sessionId"]
    until(lambda: guarded.request("agents/get", sessionId=session_id)["session"]["activity"] == "model")
    guarded.request("agents/cancel", sessionId=session_id)
    guarded.request("agents/send", sessionId=session_id, prompt="fine", run="turn")
    assert calls_of(guarded, session_id) == []
    machine.abey("daemon", "stop")  # it waits until the daemon is gone
    assert "ends although something does not" in machine.log()


def test_an_answer_that_was_replaced_is_the_one_that_is_recorded(guarded: Peer, machine: Place) -> None:
    asked = {**calls(("told", {}), ("fail", {})), "text": "two of them"}
    session_id = begun(guarded, machine, asked, says("done"), prompt="replace")
    assert outputs(guarded, session_id) == [("completed", {"answer": None})]
    [first, _] = records(machine, session_id, "candidate")
    assert first["blocks"] == [{"type": "text", "text": "only this"}]


def test_a_tool_that_was_not_offered_is_not_run(guarded: Peer, machine: Place) -> None:
    session_id = begun(guarded, machine, calls(("told", {})), says("done"), prompt="withheld")
    assert outputs(guarded, session_id) == [("denied", "denied by extension guard: this tool was not offered")]


def test_tools_fail_count_and_ask_by_themselves(guarded: Peer, machine: Place) -> None:
    script = [calls(("fail", {}), ("count", {})), calls(("count", {})), calls(("wonder", {})), says("done")]
    session_id = begun(guarded, machine, *script)
    call = pending(guarded, session_id)
    assert (call["kind"], call["question"]) == ("question", {"kind": "approval", "prompt": "Is it so?"})
    outcome = {"kind": "answer", "value": False}
    guarded.request("agents/complete", token=call["token"], outcome=outcome, resume=True)
    until(lambda: guarded.request("agents/get", sessionId=session_id)["session"]["state"] == "completed")
    assert outputs(guarded, session_id) == [
        ("failed", "tool/failed: not today"),
        ("completed", 1),
        ("completed", 2),
        ("completed", {"heard": False}),
    ]


def test_a_stopped_session_that_is_seeded_has_everything_made_afresh(guarded: Peer, machine: Place) -> None:
    agent = machine.config(script=[calls(("count", {})), says("done")], tools=[])
    session_id = begun(guarded, machine, calls(("count", {}), ("count", {})), says("done"))
    assert [output for _, output in outputs(guarded, session_id)] == [1, 2]
    guarded.request("agents/stop", sessionId=session_id)
    said = {"kind": "input", "turnId": "t1", "event": {"kind": "user-message", "text": "go"}}
    seed = {"id": session_id, "transcript": [said]}
    guarded.request("agents/seed", config=agent, cwd=str(machine.work), seed=seed)
    guarded.request("agents/run", sessionId=session_id)
    assert [output for _, output in outputs(guarded, session_id)] == [1, 2]


def test_what_was_answered_before_a_call_reaches_its_tool(guarded: Peer, machine: Place) -> None:
    session_id = begun(guarded, machine, calls(("told", {}), ("told", {})), says("done"), prompt="any colour")
    first, second = guarded.request("agents/pending", sessionId=session_id)["items"]
    assert first["question"]["prompt"] == "Which colour?"
    with pytest.raises(Refusal):
        guarded.request("agents/complete", token=first["token"], outcome={"kind": "answer", "value": {}})
    for call, colour in ((first, "red"), (second, "blue")):
        outcome = {"kind": "answer", "value": {"colour": colour}}
        guarded.request("agents/complete", token=call["token"], outcome=outcome, resume=True)
    until(lambda: guarded.request("agents/get", sessionId=session_id)["session"]["state"] == "completed")
    assert outputs(guarded, session_id) == [
        ("completed", {"answer": {"colour": "red"}}),
        ("completed", {"answer": {"colour": "blue"}}),
    ]


def test_a_destructive_tool_of_an_extension_waits_as_any_other(guarded: Peer, machine: Place) -> None:
    agent = {**machine.config(script=[calls(("fail", {}), ("told", {})), says("done")], tools=[])}
    agent["toolCallPolicy"] = None
    session = guarded.request("agents/start", config=agent, prompt="go", cwd=str(machine.work), run="turn")
    call = pending(guarded, session["sessionId"])
    assert (call["tool"], call["kind"]) == ("fail", "approval")


def test_a_policy_names_tools_of_extensions(guarded: Peer, machine: Place) -> None:
    session_id = begun(guarded, machine, calls(("told", {})), says("done"), rules=[deferred("told")])
    assert pending(guarded, session_id)["tool"] == "told"


def test_what_waits_is_shown_with_the_parameters_of_its_tool_and_with_rules_after_a_restart_too(
    shelled: Place,
) -> None:
    command = {"command": "pwd"}
    with shelled.peer() as peer:
        session_id = begun(peer, shelled, calls(("shell_run", command)), says("done"), rules=[deferred("shell_run")])
        shown = pending(peer, session_id)
        kill(peer.pid)
    parameters = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
    assert shown["argumentsSchema"] == parameters
    assert {one["scope"]: one["match"] for one in shown["suggestions"] if one["match"] == {"/command": "pwd"}} == {
        scope: {"/command": "pwd"} for scope in ("session", "workspace", "user")
    }
    for ask in (
        lambda peer: peer.request("agents/pending")["items"],
        lambda peer: peer.request("agents/pending", sessionId=session_id)["items"],
        lambda peer: peer.request("agents/get", sessionId=session_id)["session"]["pending"],
        lambda peer: peer.request("agents/sessions")["items"][0]["pending"],
        lambda peer: peer.request("agents/attach", sessionId=session_id)["snapshot"]["session"]["pending"],
        lambda peer: peer.request("agents/attach", sessionId="*", after={session_id: 0})["sessions"][0]["session"][
            "pending"
        ],
    ):
        with shelled.peer() as peer:
            assert ask(peer) == [shown]
            kill(peer.pid)


def test_a_check_of_an_agent_file_takes_no_rule_for_lost_that_may_be_about_an_extension(shelled: Place) -> None:
    rules = [deferred("shell_run"), deferred("hello")]
    tool = {"kind": "external", "name": "hallo", "description": "d", "parameters": {"type": "object"}}
    file = shelled.agent(script=[], tools=[tool], rules=rules)
    found = shelled.json("agents", "check", str(file))["diagnostics"]
    assert [(one["code"], one["message"]) for one in found] == [
        ("not-checked", "not checked: an extension may have a tool of this name"),
        ("unmatched-rule", "no tool of this agent has a name like `hello`; did you mean `hallo`"),
    ]


def test_what_the_policy_says_of_a_tool_of_an_extension_is_explained(shelled: Place) -> None:
    folder = {"kind": "executables", "directory": "tools"}
    file = shelled.agent(script=[], tools=[folder], rules=[deferred("shell_run")])
    told = shelled.json("agents", "explain", "--agent-file", str(file), "shell_run", '{"command": "ls"}')
    assert told["disposition"] == {"tag": "defer", "reason": "approval required"}
    done = shelled.run("agents", "explain", "--agent-file", str(file), "shell_rum")
    names = "its tools are: shell_run; not asked yet, as a step of a session does: bash_*"
    said = f"abey: a has no tool 'shell_rum'; {names} (arguments/invalid)\n"
    assert (done.code, done.err) == (1, said)


def test_children_have_the_same_hooks(guarded: Peer, machine: Place) -> None:
    kid = machine.config("kid", script=[calls(("count", {})), says("kid is done")], tools=[])
    (machine.agents / "kid.json").write_text(json.dumps(kid))
    agent = machine.config(script=[calls(("kid", {"prompt": "go"})), says("done")])
    agent["tools"] = [{"kind": "agent", "name": "kid", "agent": "kid"}]
    session_id = guarded.request("agents/start", config=agent, prompt="go", cwd=str(machine.work))["sessionId"]
    guarded.request("agents/run", sessionId=session_id, until="turn")
    [child] = [item["call"]["childId"] for item in calls_of(guarded, session_id)]
    assert outputs(guarded, child) == [("completed", 1)]


def test_an_extension_that_cannot_be_loaded_lets_no_model_be_asked(machine: Place) -> None:
    install_module(machine, "import nothing_so_called", "guard = guard:Guard")
    file = machine.agent(script=[says("hello")], tools=[])
    done = machine.run("run", "--agent-file", str(file), "-p", "go")
    why = "the extension guard cannot be used (ModuleNotFoundError: No module named 'nothing_so_called')"
    assert (done.code, why in done.err) == (1, True)
    doctor = machine.json("doctor")
    [finding] = [one for one in doctor["findings"] if one["check"] == "extensions"]
    assert finding["severity"] == "error"
    assert "guard" in finding["message"]


def test_who_only_looks_does_not_wait_for_an_extension_that_hangs_and_neither_does_the_end(machine: Place) -> None:
    install_module(machine, GUARD.read_text(), "guard = guard:Guard")
    with machine.peer() as peer:
        session_id = begun(peer, machine, calls(("told", {})), says("done"), rules=[deferred("told")])
        shown = pending(peer, session_id)
        kill(peer.pid)
    (site(machine) / "guard.py").write_text("import time\ntime.sleep(3600)\n")
    unknown = {key: value for key, value in shown.items() if key not in ("argumentsSchema", "suggestions")}
    with machine.peer() as peer:
        assert pending(peer, session_id) == {**unknown, "suggestions": []}
        assert peer.request("agents/get", sessionId=session_id)["session"]["pending"] == [
            {**unknown, "suggestions": []}
        ]
        machine.abey("daemon", "stop")


def test_nothing_of_an_extension_is_loaded_before_it_matters(machine: Place) -> None:
    install_module(
        machine,
        "from pathlib import Path\nPath(__file__ + '.loaded').touch()\n" + GUARD.read_text(),
        "guard = guard:Guard",
    )
    loaded = site(machine) / "guard.py.loaded"
    tool = {"kind": "external", "name": "ext", "description": "d", "parameters": {"type": "object"}}
    with machine.peer() as peer:
        for look in ("agents/list", "agents/sessions", "agents/pending"):
            peer.request(look)
        machine.abey("agents", "check", str(machine.agent(script=[], tools=[tool], rules=[deferred("no")])))
        assert not loaded.exists()
        agent = machine.config(script=[calls(("ext", {})), says("done")], tools=[tool])
        session_id = peer.request("agents/start", config=agent, prompt="go", cwd=str(machine.work), run="turn")[
            "sessionId"
        ]
        assert loaded.exists()
        kill(peer.pid)
    loaded.unlink()
    with machine.peer() as peer:
        assert pending(peer, session_id)["tool"] == "ext"
        assert peer.request("agents/get", sessionId=session_id)["session"]["state"] == "partialUserTurn"
        assert not loaded.exists()


def test_the_doctor_tells_which_extensions_there_are(shelled: Place) -> None:
    with closing(shelled.peer()):
        found = [one for one in shelled.json("doctor")["findings"] if one["check"] == "extensions"]
    assert found == [
        {"check": "extensions", "severity": "ok", "message": "persistent-shell, of abey-persistent-shell 1.0"}
    ]
