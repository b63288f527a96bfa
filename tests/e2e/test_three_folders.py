"""With its three folders in one place, abey neither reads nor writes anything of its user's elsewhere."""

import json
import sys
from pathlib import Path

import pytest
from support.e2e import Place, calls, deferred, says
from support.opens import opens

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel is asked who opens a file")


def decoys(place: Place) -> list[Path]:
    """What abey would use of a home without its variables: an agent, aliases, a state, each in its folder."""
    agents = place.home / ".config" / "abey" / "agents"
    state = place.home / ".local" / "state" / "abey"
    runtime = place.home / "runtime" / "abey"
    for folder in (agents, state, runtime):
        folder.mkdir(parents=True)
    (agents / "decoy.json").write_text(json.dumps(place.config("decoy")))
    (agents.parent / "aliases.json").write_text('{"explain": "decoy"}')
    (state / "address").write_text("decoy")
    place.env["XDG_RUNTIME_DIR"] = str(runtime.parent)
    return [agents, agents.parent, state, runtime]


def test_nothing_of_the_home_is_read_or_written(machine: Place) -> None:
    script = [calls(("sh", {"command": "echo hi"})), says("end")]
    agent = machine.agent(script=script, rules=[deferred("sh")])
    folders = decoys(machine)
    before = sorted(machine.home.rglob("*"))
    with opens(*folders) as opened:
        machine.abey("run", "--agent-file", str(agent), "-p", "x", "--alias", "explain", code=3)
        machine.abey("session", "approve", machine.abey("session", "pending", "-q").strip(), "--always", "user")
        machine.abey("session", "resume", "@")
        assert [one["slug"] for one in machine.json("agents", "list")["items"]] == []
        for words in ("session list", "agents new mine", "trust --yes", "gc", "doctor", "demo --yes", "daemon stop"):
            machine.abey(*words.split())
        assert opened.taken() == []
    assert sorted(machine.home.rglob("*")) == before
