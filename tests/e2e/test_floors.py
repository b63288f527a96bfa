"""A policy that holds, through the installed programs: floors, shell commands, and why (agent-file.md, Policy)."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.e2e import Place, calls, deferred, says

COMMAND = {"/command": {"glob": "echo*"}}
ECHO = {"tool": "sh", "match": COMMAND, "disposition": "runSync"}


def policy(place: Place) -> Path:
    return place.agents.parent / "policy.json"


def states(place: Place, *commands: str, **agent: Any) -> list[str]:
    """What becomes of shell commands that a model asks for in one answer."""
    script = [calls(*(("sh", {"command": command}) for command in commands)), says("done")]
    started = place.json("run", "--agent-file", str(place.agent(script=script, **agent)), "-p", "go", code=3)
    items = place.rpc("agents/transcript", sessionId=started["session"]["sessionId"])["items"]
    return [item["call"]["state"] for item in items if item["kind"] == "toolCall"]


def explained(place: Place, *, agent: Path, command: str, tool: str = "sh") -> tuple[Any, list[str]]:
    told = place.json("agents", "explain", "--agent-file", str(agent), tool, json.dumps({"command": command}))
    return told["disposition"], [link["layer"] for link in told["chain"] if link["matched"]]


def test_one_plain_command_runs_and_nothing_around_it(place: Place) -> None:
    mark = place.work / "mark"
    asked = ("echo a", f"echo a; touch {mark}", f"echo $(touch {mark})", f"echo a > {mark}", f"env touch {mark}")
    assert states(place, *asked, rules=[ECHO], default="defer") == ["completed", *["deferred"] * 4]
    assert not mark.exists()


def test_a_floor_denies_what_a_file_lets_run_and_says_so(place: Place) -> None:
    floor = {"rules": [{"tool": "*", "match": {"/command": {"glob": "touch *"}}, "disposition": "deny"}]}
    policy(place).write_text(json.dumps(floor) + "// mine\n")
    mark = place.work / "mark"
    agent = place.agent(rules=[])
    assert explained(place, agent=agent, command=f"touch {mark}") == ("deny", ["user"])
    asked = (f"touch {mark}", f"true && t'ou'ch {mark}", f"$(echo touch) {mark}", f"sh -c 'touch {mark}'", "true")
    assert states(place, *asked) == ["denied", "denied", "deferred", "denied", "completed"]
    assert not mark.exists()


def test_a_saved_floor_counts_for_what_is_not_judged_yet(place: Place) -> None:
    script = [calls(("bump", {})), calls(("bump", {})), says("done")]
    session_id = place.json("session", "start", "--agent-file", str(place.agent(script=script)), "-p", "go")[
        "sessionId"
    ]
    place.run("session", "step", session_id)
    policy(place).write_text('{"default": {"tag": "defer", "reason": "my floor"}}')
    place.run("session", "step", session_id)
    (pending,) = place.json("session", "pending", session_id)["items"]
    assert (place.ran(), pending["reason"]) == (0, "my floor")


@pytest.mark.parametrize("text", ["{", '{"default": "denny"}'])
def test_a_broken_floor_lets_nothing_run_and_everybody_is_told(machine: Place, text: str) -> None:
    policy(machine).write_text(text)
    assert states(machine, "echo a") == ["deferred"]
    (pending,) = machine.json("session", "pending")["items"]
    assert str(policy(machine)) in pending["reason"]
    assert str(policy(machine)) in machine.log()
    checked = machine.run("agents", "check", str(policy(machine)))
    assert (checked.code, "policy.json:1:" in checked.out) == (1, True)
    found = [one for one in machine.rpc("agents/doctor")["findings"] if one["check"] == "policy"]
    assert [(one["severity"], str(policy(machine)) in one["message"]) for one in found] == [("error", True)]


def test_the_floor_of_a_workspace_counts_once_it_is_trusted(place: Place) -> None:
    folder = place.work / ".abey"
    folder.mkdir()
    (folder / "policy.json").write_text(json.dumps({"rules": [deferred("sh", "theirs")]}))
    agent = place.agent(rules=[])
    assert explained(place, agent=agent, command="ls") == ("runSync", ["agent"])
    place.abey("trust", str(place.work), "--yes")
    assert explained(place, agent=agent, command="ls") == ({"tag": "defer", "reason": "theirs"}, ["workspace", "agent"])
    assert explained(place, agent=agent, command="ls", tool="bump") == ("runSync", ["agent"])
