"""Agent files while a daemon runs: saved, broken, gone; what runs keeps the version that it began with."""

import json
import os
from pathlib import Path
from typing import Any

from support.e2e import Place, says, until


def save(place: Place, path: Path, number: int, **more: Any) -> None:
    config = place.config("live", script=[says("hi")], loop=True)
    path.write_text(json.dumps({**config, "description": str(number), "systemPrompt": str(number), **more}))


def prompt_of(place: Place, session: Any) -> str:
    """The system prompt of the version that the last model call of a session used."""
    config_hash = place.session(session["sessionId"])["configHash"]
    return str(json.loads((place.state / "configs" / f"{config_hash}.json").read_text())["systemPrompt"])


def start(place: Place, **more: Any) -> Any:
    return place.rpc("agents/start", agent="live", prompt="x", cwd=str(place.work), **more)


def test_of_a_thousand_saves_few_are_told_and_the_last_one_counts(place: Place) -> None:
    path = place.agents / "live.json"
    save(place, path, -1)
    with place.peer() as peer:
        peer.request("agents/list")
        for number in range(1000):
            save(place, path, number)
        told = 0
        heard = ""
        while heard != "999":
            [item] = peer.hear("agents/configChanged")["items"]
            heard, told = item["description"], told + 1
        assert told < 50
        session = start(place, run="step")
        assert (session["configState"], prompt_of(place, session)) == ("ok", "999")
        os.utime(path)
        save(place, path.with_name("z.json"), 0, slug="other")
        assert [item["slug"] for item in peer.hear("agents/configChanged")["items"]] == ["live", "other"]


def test_a_step_keeps_the_version_that_it_began_with(place: Place) -> None:
    path = place.agents / "live.json"
    script = [{"text": "slow", "delayMs": 2500}, says("fast")]
    save(place, path, 1, model={"provider": "scripted", "script": script})
    session = start(place, run="step", wait=False)
    until(lambda: place.session(session["sessionId"])["activity"] == "model")
    save(place, path, 2, model={"provider": "scripted", "script": script})
    until(lambda: place.session(session["sessionId"])["state"] == "completed")
    assert prompt_of(place, session) == "1"
    place.rpc("agents/send", sessionId=session["sessionId"], prompt="again", run="step")
    assert prompt_of(place, session) == "2"


def test_a_session_goes_on_without_its_file_also_after_a_restart(place: Place) -> None:
    path = place.agents / "live.json"
    save(place, path, 1)
    session = start(place, run="step")
    path.unlink()
    place.kill_daemon()
    again = place.rpc("agents/send", sessionId=session["sessionId"], prompt="again", run="step")["session"]
    assert (again["state"], again["configState"], prompt_of(place, session)) == ("completed", "stale", "1")
    gone = f"no agent file {path}; a file that is put there is used again"
    listed = [one["configProblem"] for one in place.rpc("agents/sessions")["items"]]
    assert (again["configProblem"], listed) == (gone, [gone])
    path.write_text("{ broken")
    broken = place.session(session["sessionId"])["configProblem"]
    assert broken.startswith(f"{path}:1:3: ")
    assert broken.endswith("; `abey agents check FILE` says all that is wrong with it")
    save(place, path, 2)
    again = place.rpc("agents/send", sessionId=session["sessionId"], prompt="more", run="step")["session"]
    assert (again["configState"], prompt_of(place, session), "configProblem" in again) == ("ok", "2", False)


def test_a_new_agent_runs_as_it_was_written_also_in_a_workspace(place: Place) -> None:
    assert place.abey("agents", "new", "mine") == f"{place.agents}/mine.json\n"
    assert place.abey("agents", "check", f"{place.agents}/mine.json") == ""
    assert "deferred:  1" in place.abey("run", "-p", "x", code=3)
    made = place.json("agents", "new", "ours", "--workspace")
    assert made == {"path": f"{place.work}/.abey/agents/ours.json", "diagnostics": []}
    place.abey("trust", "--yes")
    [token] = place.abey("session", "pending", "-q").split()
    place.abey("session", "approve", token, "--resume")
    assert "deferred:  1" in place.abey("run", "--agent", "ours", "-p", "x", code=3)
    slugs = [item["slug"] for item in place.json("agents", "list")["items"]]
    assert slugs == ["ours", "mine"]
