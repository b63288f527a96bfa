"""Agents that call other agents, at the command line: what children wait for is seen, waited for and answered there."""

import json
import os
import pty
import subprocess
import threading
from typing import Any

from support.e2e import Place, calls, deferred, says, until

ASKS = [calls(("bump", {})), says("bumped it")]


def boss(place: Place, *script: Any, **more: Any) -> str:
    """The file of an agent that asks the agent of the user that has this script."""
    config = place.config(name="reviewer", script=script, description="reviews", **more)
    (place.agents / "reviewer.json").write_text(json.dumps(config))
    tools = [*place.tools(), {"kind": "agent", "name": "reviewer", "agent": "reviewer"}]
    asks = calls(("reviewer", {"prompt": "look at it"}))
    return str(place.agent(**{"name": "boss", **place.config(script=[asks, says("all reviewed")], tools=tools)}))


def parent_of(place: Place) -> Any:
    [found] = [one for one in place.json("session", "list")["items"] if not one.get("parent")]
    return found


def test_a_run_goes_on_with_what_its_child_comes_to_though_nobody_waits_for_completions(place: Place) -> None:
    done = place.run("run", "--agent-file", boss(place, says("it is fine")), "-p", "go")
    assert (done.code, done.out) == (0, "all reviewed\n")


def test_a_run_yields_where_only_an_answer_to_its_child_can_move_it(place: Place) -> None:
    done = place.run("run", "--agent-file", boss(place, *ASKS, rules=[deferred("bump")]), "-p", "go")
    session = parent_of(place)
    [child] = session["children"]
    mine, its = place.json("session", "pending", session["sessionId"])["items"]
    assert (done.code, done.out) == (
        3,
        "State: PartialUserTurn\n  completed: 0\n  deferred:  0\n  ready:     0\n  running:   1\n"
        f"  token: {mine['token']} (reviewer) running: session {child} waits for an approval of bump\n",
    )
    assert f"`abey session pending {session['sessionId']}` shows" in done.err
    told = [(one["sessionId"], one["kind"], one["tool"]) for one in (mine, its)]
    assert told == [(session["sessionId"], "running", "reviewer"), (child, "approval", "bump")]
    waited = place.run("session", "wait", session["sessionId"], "--timeout", "30")
    assert (waited.code, waited.out) == (3, done.out)


def test_whoever_waits_hears_at_once_that_a_child_wants_a_decision(place: Place) -> None:
    file = boss(place, {**calls(("bump", {})), "delayMs": 1500}, says("bumped it"), rules=[deferred("bump")])
    session_id = place.abey("session", "start", "--agent-file", file, "-p", "go", "-q").strip()
    place.rpc("agents/run", sessionId=session_id, until="turn", wait=False)
    until(lambda: place.session(session_id)["pending"], "for the call")
    waited = place.run("session", "wait", session_id, "--timeout", "20")
    assert (waited.code, "waits for an approval of bump" in waited.out) == (3, True)


def test_at_a_terminal_the_calls_of_children_are_asked_too(place: Place) -> None:
    file = boss(place, *ASKS, rules=[deferred("bump")])
    master, slave = pty.openpty()
    process = subprocess.Popen(
        place.program("run", "--agent-file", file, "-p", "go"),
        cwd=place.work,
        env=place.env,
        stdin=slave,
        stderr=slave,
        stdout=subprocess.PIPE,
        text=True,
    )
    os.close(slave)
    drained = threading.Thread(target=_drained, args=(master,), daemon=True)
    drained.start()
    os.write(master, b"a\n")
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out, place.ran()) == (0, "all reviewed\n", 1)
    drained.join(10)
    os.close(master)


def _drained(master: int) -> None:
    """So that nobody who writes there has to wait."""
    try:
        while os.read(master, 65536):
            pass
    except OSError:
        pass
