"""The flow of the plan through the installed `abey`: what it prints, and that nothing in between can be lost."""

from collections.abc import Callable

import pytest
from support.e2e import Place, calls, deferred, says

Between = Callable[[Place], None]
SCRIPT = (calls(("bump", {}), ("sh", {"command": "echo hi"})), says("It is sunny in both."))
ARGUMENTS = '  arguments: {"command": "echo hi"}'


def leave_it(machine: Place) -> None:
    """One daemon for all commands."""


def restart(machine: Place) -> None:
    assert machine.run("daemon", "stop", "-q").code == 0
    assert machine.daemon_pid() is None


def kill_9(machine: Place) -> None:
    machine.kill_daemon()


@pytest.mark.parametrize(
    "between", [leave_it, pytest.param(restart, marks=pytest.mark.slow), pytest.param(kill_9, marks=pytest.mark.slow)]
)
def test_the_flow_prints_the_words_of_the_plan(machine: Place, between: Between) -> None:
    agent = machine.agent(script=SCRIPT, rules=[deferred("sh")])
    started = machine.abey("session", "start", "--agent-file", str(agent), "-p", "Research the weather")
    session_id = started.split()[1]
    assert started == f"session-id: {session_id}\nState: UserTurn (ready for LLM)\n"
    between(machine)
    step = machine.abey("session", "step", session_id)
    assert step == "State: LlmTurn\n  tool call: bump\n  tool call: sh\n"
    between(machine)
    step = machine.abey("session", "step", session_id)
    token = machine.abey("session", "pending", session_id, "-q").strip()
    counts = "State: PartialUserTurn\n  completed: 1\n  deferred:  1\n  ready:     0\n"
    waiting = f"{counts}  token: {token} (sh) approval required\n"
    assert step == waiting
    between(machine)
    lines = [f"token: {token} (sh) approval required", f"  session: {session_id}", "  kind: approval", ARGUMENTS]
    assert machine.abey("session", "pending", session_id) == "\n".join(lines) + "\n"
    assert machine.abey("session", "step", session_id, code=3) == waiting
    between(machine)
    (machine.work / "result.json").write_text('"sunny"\n')
    assert machine.abey("session", "complete", token, "result.json") == "State: UserTurn (ready for LLM)\n"
    between(machine)
    assert machine.abey("session", "step", session_id) == "State: LlmTurn (completed)\nIt is sunny in both.\n"
    between(machine)
    assert machine.abey("session", "step", session_id) == "State: LlmTurn (completed)\nIt is sunny in both.\n"
    assert machine.abey("session", "pending") == ""
    assert machine.ran() == 1


@pytest.mark.slow
def test_the_flow_over_stdio_is_the_same_and_leaves_no_process(machine: Place) -> None:
    machine.env["ABEY_TRANSPORT"] = "stdio"
    agent = machine.agent(script=SCRIPT, rules=[deferred("sh")])
    session_id = machine.abey("session", "start", "--agent-file", str(agent), "-p", "x", "-q").strip()
    printed = [machine.abey("session", "step", session_id) for _ in range(2)]
    token = machine.abey("session", "pending", "--transport", "stdio", "-q").strip()
    printed.append(machine.abey("session", "complete", token, "--text", "sunny"))
    printed.append(machine.abey("session", "step", session_id))
    assert printed == [
        "State: LlmTurn\n  tool call: bump\n  tool call: sh\n",
        "State: PartialUserTurn\n  completed: 1\n  deferred:  1\n  ready:     0\n"
        f"  token: {token} (sh) approval required\n",
        "State: UserTurn (ready for LLM)\n",
        "State: LlmTurn (completed)\nIt is sunny in both.\n",
    ]
    assert machine.daemon_pid() is None


def test_run_prints_the_answer_alone_and_resume_goes_on_after_a_yield(machine: Place) -> None:
    agent = machine.agent(script=SCRIPT, rules=[deferred("sh")])
    run = machine.run("run", "--agent-file", str(agent), "-p", "Research the weather")
    [call] = machine.json("session", "pending")["items"]
    counts = "State: PartialUserTurn\n  completed: 1\n  deferred:  1\n  ready:     0\n"
    assert run.out == f"{counts}  token: {call['token']} (sh) approval required\n"
    goes_on = f"`abey session resume {call['sessionId']}` goes on"
    way_on = f"next: `abey session approve {call['token']}` (or `deny`); then {goes_on}"
    assert (run.code, run.err) == (3, f"session-id: {call['sessionId']}\n{way_on}\n")
    approved = machine.run("session", "approve", call["token"], "--hash", call["argumentsHash"])
    assert (approved.code, approved.out) == (0, "State: UserTurn (ready for LLM)\n")
    shown = ["tool: sh", f"token: {call['token']}", f"session: {call['sessionId']}", f"cwd: {machine.work}"]
    shown += ["arguments:", "  {", '    "command": "echo hi"', "  }", "reason: approval required"]
    shown += [f"hash: {call['argumentsHash']}"]
    assert approved.err.splitlines()[: len(shown)] == shown
    assert approved.err.splitlines()[-1] == goes_on
    assert machine.abey("session", "resume", call["sessionId"]) == "It is sunny in both.\n"


def test_a_second_turn_follows_the_first(machine: Place) -> None:
    agent = machine.agent(script=[says("one"), {"echo": True}])
    session_id = machine.abey("session", "start", "--agent-file", str(agent), "-p", "x", "--step", "-q").strip()
    assert machine.abey("session", "send", "@", "and you?").splitlines()[1] == "State: UserTurn (ready for LLM)"
    assert machine.abey("session", "step", session_id) == "State: LlmTurn (completed)\nand you?\n"
    assert machine.session(session_id)["turn"]["n"] == 2
