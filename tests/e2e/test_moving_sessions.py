"""Sessions go out to files and come in from them, through the real daemon."""

import json
import stat
from contextlib import closing
from pathlib import Path

import pytest
from support.e2e import Place, calls, deferred, says, until
from support.e2e_crash import Nursery
from support.e2e_peer import Refusal
from support.foreign import OURS, REAL


def started(place: Place, session_id: str = "one") -> Path:
    """A session that waits for an approval of `bump`, after a turn of its own."""
    script = [calls(("bump", {})), says("first"), calls(("sh", {"command": "true"})), says("second")]
    agent = place.agent(script=script, rules=[deferred("sh")])
    place.rpc("agents/start", agentFile=str(agent), prompt="hello", sessionId=session_id, cwd=str(place.work))
    place.rpc("agents/run", sessionId=session_id)
    place.rpc("agents/send", sessionId=session_id, prompt="more", run="turn")
    assert place.session(session_id)["state"] == "partialUserTurn"
    return agent


def transcript(place: Place, session_id: str) -> list[object]:
    """What is said, without the ids and tokens of this session."""
    page = place.rpc("agents/transcript", sessionId=session_id)
    told = []
    for item in page["items"]:
        call = {name: value for name, value in item.get("call", {}).items() if name != "token"}
        told.append((item["kind"], item.get("text"), item.get("parts"), call))
    return told


def test_a_session_goes_to_another_id_and_goes_on_there(place: Place, tmp_path: Path) -> None:
    started(place)
    path = tmp_path / "one.jsonl"
    result = place.rpc("agents/export", sessionId="one", path=str(path))
    assert result == {"path": str(path), "bytes": path.stat().st_size}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    there = place.rpc("agents/import", path=str(path))
    assert there["sessionId"] not in ("one", "")
    assert transcript(place, there["sessionId"]) == transcript(place, "one")
    (here,) = place.session("one")["pending"]
    (waiting,) = there["pending"]
    assert (waiting["kind"], waiting["tool"]) == (here["kind"], here["tool"])
    assert waiting["token"] != here["token"]
    done = place.rpc(
        "agents/complete",
        token=waiting["token"],
        outcome={"kind": "approve"},
        argumentsHash=waiting["argumentsHash"],
        resume=True,
    )
    assert (done["applied"], done["session"]["output"]) == (True, "second")
    assert place.session("one")["state"] == "partialUserTurn"
    assert place.ran() == 1


def test_what_came_in_is_there_after_a_crash(place: Place, tmp_path: Path, nursery: Nursery) -> None:
    started(place)
    place.rpc("agents/export", sessionId="one", path=str(tmp_path / "f"))
    there = place.rpc("agents/import", path=str(tmp_path / "f"), sessionId="two")
    place.kill_daemon()
    nursery.wake(place).close()
    assert place.session("two") == {**there, "activity": "idle"}


def test_a_session_goes_out_while_its_tool_runs_and_comes_in_as_uncertain(place: Place, tmp_path: Path) -> None:
    agent = place.agent(script=[calls(("slow", {}))])
    place.rpc("agents/start", agentFile=str(agent), prompt="go", sessionId="one")
    place.rpc("agents/run", sessionId="one", wait=False)
    until(place.ran)
    place.rpc("agents/export", sessionId="one", path=str(tmp_path / "f"))
    assert place.session("one")["activity"] == "tools"
    there = place.rpc("agents/import", path=str(tmp_path / "f"), sessionId="two")
    assert [call["kind"] for call in there["pending"]] == ["uncertain"]
    place.rpc("agents/stop", sessionId="one")
    assert place.ran() == 1


def test_a_whole_output_and_a_changed_agent_come_along_to_another_machine(
    place: Place, tmp_path: Path, nursery: Nursery
) -> None:
    agent = place.agent(script=[calls(("sh", {"command": "seq 100000"})), says("done")])
    place.rpc("agents/start", agentFile=str(agent), prompt="go", sessionId="one")
    place.agent(script=[calls(("sh", {"command": "seq 100000"})), says("done")], description="later")
    assert place.rpc("agents/run", sessionId="one")["session"]["output"] == "done"
    path = tmp_path / "f"
    place.rpc("agents/export", sessionId="one", path=str(path))
    with closing(Place(tmp_path / "there")) as there:
        nursery.wake(there).close()
        session = there.rpc("agents/import", path=str(path))
        assert (session["sessionId"], session["output"], session["cwd"]) == ("one", "done", place.session("one")["cwd"])
        call = next(item["call"] for item in place.rpc("agents/transcript", sessionId="one")["items"] if "call" in item)
        asked = {"sessionId": "one", "callId": call["callId"], "offset": 300_000}
        assert there.rpc("agents/output", **asked) == place.rpc("agents/output", **asked)


def test_an_agent_that_is_named_takes_over(place: Place, tmp_path: Path) -> None:
    started(place)
    place.rpc("agents/export", sessionId="one", path=str(tmp_path / "f"))
    other = place.agent("other", script=[says("from the other")])
    session = place.rpc("agents/import", path=str(tmp_path / "f"), agentFile=str(other), cwd=str(tmp_path))
    assert (session["agent"], session["cwd"]) == ("other", str(tmp_path))
    foreign = place.rpc("agents/import", path=str(OURS / "no-version.json"), agentFile=str(other))
    session_id = foreign["sessionId"]
    assert foreign["agent"] == "other"
    assert place.rpc("agents/step", sessionId=session_id, prompt="go on")["session"]["output"] == "from the other"
    place.rpc("agents/export", sessionId=session_id, format="agents-exe", path=str(tmp_path / "g"))
    original = json.loads((OURS / "no-version.json").read_text())
    assert json.loads((tmp_path / "g").read_text())["turns"][2:] == original["turns"]


def test_what_waited_in_a_file_is_completed_here_and_goes_out_complete(place: Place, tmp_path: Path) -> None:
    session = place.rpc("agents/import", path=str(OURS / "version-2-partial.json"))
    assert [(call["callId"], call["kind"]) for call in session["pending"]] == [
        ("ls:1", "external"),
        ("ls:2", "uncertain"),
    ]
    with pytest.raises(Refusal) as refused:
        token, hashed = session["pending"][1]["token"], session["pending"][1]["argumentsHash"]
        place.rpc("agents/complete", token=token, outcome={"kind": "rerun"}, argumentsHash=hashed)
    assert refused.value.kind == "state/invalid"
    for call in session["pending"]:
        done = place.rpc("agents/complete", token=call["token"], outcome={"kind": "result", "content": call["callId"]})
        assert done["applied"]
    assert done["session"]["state"] == "userTurn"
    place.rpc("agents/export", sessionId=session["sessionId"], format="agents-exe", path=str(tmp_path / "f"))
    original = json.loads((OURS / "version-2-partial.json").read_text())
    newest, *older = json.loads((tmp_path / "f").read_text())["turns"]
    assert (newest["tag"], older) == ("UserTurn", original["turns"][1:])
    assert [response["content"] for _, response in newest["contents"]["userToolResponses"]] == [
        "a.txt",
        "ls:1",
        "ls:2",
        "tool call failed: no",
    ]


def test_what_cannot_come_in_leaves_nothing(place: Place) -> None:
    empty = str(OURS / "empty.json")
    for params, kind in (
        ({"path": "rel"}, "arguments/invalid"),
        ({"path": "/nowhere/at/all"}, "arguments/invalid"),
        ({"path": str(OURS / "legacy-continuations.json")}, "session/invalid-seed"),
        ({"path": empty, "format": "jsonl"}, "session/invalid-seed"),
        ({"path": empty, "format": "markdown"}, "arguments/invalid"),
        ({"path": empty, "agent": "nobody"}, "agent/unknown"),
        ({"path": empty, "cwd": "/nowhere"}, "arguments/invalid"),
    ):
        with pytest.raises(Refusal) as refused:
            place.rpc("agents/import", **params)
        assert (refused.value.kind, params) == (kind, params)
    assert place.rpc("agents/sessions")["items"] == []
    assert list((place.state / "sessions").iterdir()) == []


def test_an_id_that_is_taken_is_refused_where_it_was_asked_for_and_else_another_one(place: Place) -> None:
    path = str(OURS / "empty.json")
    own = json.loads((OURS / "empty.json").read_text())["sessionId"]
    first = place.rpc("agents/import", path=path)["sessionId"]
    second = place.rpc("agents/import", path=path)["sessionId"]
    assert (first, len(second)) == (own, 26)
    with pytest.raises(Refusal) as refused:
        place.rpc("agents/import", path=path, sessionId=first)
    assert (refused.value.kind, refused.value.message) == ("state/invalid", f"session {own} exists")


def test_a_file_cannot_take_the_token_of_another_session(place: Place, tmp_path: Path) -> None:
    started(place)
    path = tmp_path / "f"
    place.rpc("agents/export", sessionId="one", path=str(path))
    path.write_text(path.read_text().replace('"sessionId":"one"', '"sessionId":"three"'))
    with pytest.raises(Refusal) as refused:
        place.rpc("agents/import", path=str(path), sessionId="three")
    assert refused.value.kind == "state/invalid"
    there = place.rpc("agents/import", path=str(path))
    assert there["sessionId"] != "three"
    token = place.session("one")["pending"][0]["token"]
    assert [call["sessionId"] for call in place.rpc("agents/pending")["items"] if call["token"] == token] == ["one"]


def test_under_its_own_id_a_session_keeps_its_tokens(place: Place, tmp_path: Path) -> None:
    started(place)
    (before,) = place.session("one")["pending"]
    place.rpc("agents/export", sessionId="one", path=str(tmp_path / "f"))
    place.rpc("agents/delete", sessionId="one", force=True)
    (after,) = place.rpc("agents/import", path=str(tmp_path / "f"))["pending"]
    assert (after["sessionId"], after["token"]) == ("one", before["token"])


def test_an_unknown_session_is_not_written(place: Place, tmp_path: Path) -> None:
    with pytest.raises(Refusal) as refused:
        place.rpc("agents/export", sessionId="none", path=str(tmp_path / "f"))
    assert (refused.value.kind, list(tmp_path.glob("f*"))) == ("session/unknown", [])


@pytest.mark.skipif(not REAL.exists(), reason="the real session files are not here")
def test_the_largest_real_file_comes_in_and_goes_out_whole_after_a_restart(
    place: Place, tmp_path: Path, nursery: Nursery
) -> None:
    (largest,) = REAL.glob("06-*.json")
    session = place.rpc("agents/import", path=str(largest))
    place.kill_daemon()
    nursery.wake(place).close()
    place.rpc("agents/export", sessionId=session["sessionId"], format="agents-exe", path=str(tmp_path / "f"))
    assert (tmp_path / "f").read_bytes() == largest.read_bytes()


def test_the_command_line_moves_a_session_through_a_pipe(place: Place) -> None:
    started(place)
    document = place.abey("session", "export", "one", "--format", "markdown")
    assert document.startswith("# hello\n")
    lines = place.abey("session", "export", "one")
    out = place.abey("session", "import", "-", "--id", "two", stdin=lines)
    assert out.splitlines()[0] == "session-id: two"
    assert transcript(place, "two") == transcript(place, "one")


def test_what_is_printed_is_utf_8_in_every_locale(place: Place, tmp_path: Path) -> None:
    file = json.loads((OURS / "empty.json").read_text())
    (tmp_path / "f").write_text(json.dumps({**file, "note": "é€"}, ensure_ascii=False), encoding="utf-8")
    place.abey("session", "import", str(tmp_path / "f"), "--id", "one")
    place.env |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert json.loads(place.abey("session", "export", "one", "--format", "agents-exe"))["note"] == "é€"
