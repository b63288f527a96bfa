"""`abey session run-isolated`."""

import json

import pytest
from support.canned_daemon import (
    SESSION_ID,
    TOKEN,
    CannedDaemon,
    Refusal,
    pending,
    session,
    tool_item,
    transcript,
    waiting,
)

from abey_cli.way_on import way_on


def test_every_call_that_ran_is_a_line_with_what_came_of_it(abey, daemon: CannedDaemon) -> None:
    output = "one\ntwo \x1b[31m" + "x" * 200
    daemon.on["agents/runIsolated"] = {"ran": ["c1"], "session": session()}
    item = tool_item("bash", "completed", callId="c1", token=TOKEN, output=output)
    daemon.on["agents/transcript"] = transcript(item, tool_item("other", "completed", callId="c2"))
    ran = abey("session", "run-isolated", SESSION_ID, "--if-revision", "7")
    summary = "one two \\x1b[31m" + "x" * (80 - len("one two \x1b[31m"))
    assert (ran.code, ran.out) == (0, f"  bash ({TOKEN}): {summary}\n")
    assert daemon.asked[0] == ("agents/runIsolated", {"sessionId": SESSION_ID, "ifRevision": 7})
    assert json.loads(abey("session", "run-isolated", SESSION_ID, "--json").out)["ran"] == ["c1"]


def test_what_waits_for_a_sandbox_names_the_way_to_try_again() -> None:
    call = pending(kind="external", reason="isolated runner required")
    said = f"next: `abey session complete {TOKEN} FILE`, or `abey session run-isolated {SESSION_ID}`; then "
    assert way_on(waiting(call)) == f"{said}`abey session resume {SESSION_ID}` goes on"


def test_what_nothing_can_ever_isolate_is_not_offered_a_sandbox() -> None:
    call = pending(kind="external", reason="isolated runner required, which a tool of kind http cannot have")
    said = f"next: `abey session complete {TOKEN} FILE`; then `abey session resume {SESSION_ID}` goes on"
    assert way_on(waiting(call)) == said


def test_where_nothing_waits_that_is_said(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/runIsolated"] = {"ran": [], "session": session()}
    ran = abey("session", "run-isolated", SESSION_ID)
    assert (ran.code, ran.out, ran.err.splitlines()[0]) == (0, "", "no call was run in a sandbox")


@pytest.mark.parametrize("json_", [False, True])
def test_without_a_sandbox_it_says_how_many_wait_and_why(abey, daemon: CannedDaemon, json_: bool) -> None:
    said = "2 calls wait for a sandbox, and none can be run in one now: bubblewrap is not installed"

    def refuse(_: object) -> None:
        raise Refusal(-32020, said, kind="state/invalid", found=2)

    daemon.on["agents/runIsolated"] = refuse
    ran = abey("session", "run-isolated", SESSION_ID, *(["--json"] if json_ else []))
    assert (ran.code, said in (ran.out if json_ else ran.err)) == (1, True)
