"""The flow of the plan through the installed `abey`: what it prints, and that nothing in between can be lost."""

from collections.abc import Callable

import pytest
from support.e2e import Place, calls, deferred, says

Between = Callable[[Place], None]
SCRIPT = (calls(("bump", {}), ("sh", {"command": "echo hi"})), says("It is sunny in both."))
ARGUMENTS = '  arguments: {"command": "echo hi"}'


def leave_it(place: Place) -> None:
    """One daemon for all commands."""


def restart(place: Place) -> None:
    assert place.run("daemon", "stop", "-q").code == 0
    assert place.daemon_pid() is None


def kill_9(place: Place) -> None:
    place.kill_daemon()


@pytest.mark.parametrize("between", [leave_it, restart, kill_9])
def test_the_flow_prints_the_words_of_the_plan(place: Place, between: Between) -> None:
    agent = place.agent(script=SCRIPT, rules=[deferred("sh")])
    started = place.abey("session", "start", "--agent-file", str(agent), "-p", "Research the weather")
    session_id = started.split()[1]
    assert started == f"session-id: {session_id}\nState: UserTurn (ready for LLM)\n"
    between(place)
    step = place.abey("session", "step", session_id)
    assert step == "State: LlmTurn\n  tool call: bump\n  tool call: sh\n"
    between(place)
    step = place.abey("session", "step", session_id)
    token = place.abey("session", "pending", session_id, "-q").strip()
    counts = "State: PartialUserTurn\n  completed: 1\n  deferred:  1\n  ready:     0\n"
    waiting = f"{counts}  token: {token} (sh) approval required\n"
    assert step == waiting
    between(place)
    lines = [f"token: {token} (sh) approval required", f"  session: {session_id}", "  kind: approval", ARGUMENTS]
    assert place.abey("session", "pending", session_id) == "\n".join(lines) + "\n"
    assert place.abey("session", "step", session_id, code=3) == waiting
    between(place)
    (place.work / "result.json").write_text('"sunny"\n')
    assert place.abey("session", "complete", token, "result.json") == "State: UserTurn (ready for LLM)\n"
    between(place)
    assert place.abey("session", "step", session_id) == "State: LlmTurn (completed)\nIt is sunny in both.\n"
    between(place)
    assert place.abey("session", "step", session_id) == "State: LlmTurn (completed)\nIt is sunny in both.\n"
    assert place.abey("session", "pending") == ""
    assert place.ran() == 1


def test_the_flow_over_stdio_is_the_same_and_leaves_no_process(place: Place) -> None:
    place.env["ABEY_TRANSPORT"] = "stdio"
    agent = place.agent(script=SCRIPT, rules=[deferred("sh")])
    session_id = place.abey("session", "start", "--agent-file", str(agent), "-p", "x", "-q").strip()
    printed = [place.abey("session", "step", session_id) for _ in range(2)]
    token = place.abey("session", "pending", "--transport", "stdio", "-q").strip()
    printed.append(place.abey("session", "complete", token, "--text", "sunny"))
    printed.append(place.abey("session", "step", session_id))
    assert printed == [
        "State: LlmTurn\n  tool call: bump\n  tool call: sh\n",
        "State: PartialUserTurn\n  completed: 1\n  deferred:  1\n  ready:     0\n"
        f"  token: {token} (sh) approval required\n",
        "State: UserTurn (ready for LLM)\n",
        "State: LlmTurn (completed)\nIt is sunny in both.\n",
    ]
    assert place.daemon_pid() is None


def test_run_prints_the_answer_alone_and_resume_goes_on_after_a_yield(place: Place) -> None:
    agent = place.agent(script=SCRIPT, rules=[deferred("sh")])
    run = place.run("run", "--agent-file", str(agent), "-p", "Research the weather")
    [call] = place.json("session", "pending")["items"]
    counts = "State: PartialUserTurn\n  completed: 1\n  deferred:  1\n  ready:     0\n"
    assert run.out == f"{counts}  token: {call['token']} (sh) approval required\n"
    assert (run.code, run.err) == (3, f"session-id: {call['sessionId']}\n")
    approved = place.run("session", "approve", call["token"], "--hash", call["argumentsHash"])
    assert (approved.code, approved.out) == (0, "State: UserTurn (ready for LLM)\n")
    shown = ["tool: sh", f"token: {call['token']}", f"session: {call['sessionId']}", f"cwd: {place.work}"]
    shown += ["arguments:", "  {", '    "command": "echo hi"', "  }", "reason: approval required"]
    shown += [f"hash: {call['argumentsHash']}"]
    assert approved.err.splitlines()[: len(shown)] == shown
    assert place.abey("session", "resume", call["sessionId"]) == "It is sunny in both.\n"


def test_a_second_turn_follows_the_first(place: Place) -> None:
    agent = place.agent(script=[says("one"), {"echo": True}])
    session_id = place.abey("session", "start", "--agent-file", str(agent), "-p", "x", "--step", "-q").strip()
    assert place.abey("session", "send", "@", "and you?").splitlines()[1] == "State: UserTurn (ready for LLM)"
    assert place.abey("session", "step", session_id) == "State: LlmTurn (completed)\nand you?\n"
    assert place.session(session_id)["turn"]["n"] == 2
