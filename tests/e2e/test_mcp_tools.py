"""Tools of MCP servers and their questions, through the installed programs and clients of them."""

import itertools
import json
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from support.e2e import Place, calls, kill, says, until
from support.e2e_peer import Peer, Refusal
from support.mcp_desk import RAW
from support.plain_editor import arguments, plain_editor
from support.processes import alive

MARKS = itertools.count(97_100)


@pytest.fixture
def peer(place: Place) -> Iterator[Peer]:
    with place.peer() as peer:
        yield peer


@pytest.fixture
def mark() -> str:
    return f"{next(MARKS)}.{os.getpid()}"


def config(place: Place, mark: str, *script: Any, words: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    """An agent with the server `it`, whose process is known by `mark`."""
    tools = [{"kind": "mcp", "name": "it", "command": [*RAW, *words, mark], **more.pop("entry", {})}]
    return {**place.config(script=script), "toolCallPolicy": None, "tools": tools, **more}


def begun(peer: Peer, place: Place, agent: dict[str, Any]) -> str:
    session = peer.request("agents/start", config=agent, prompt="go", cwd=str(place.work), run="turn")
    return str(session["sessionId"])


def outputs(peer: Peer, session_id: str) -> list[tuple[str, Any]]:
    items = peer.request("agents/transcript", sessionId=session_id)["items"]
    return [(item["call"]["state"], item["call"].get("output")) for item in items if "call" in item]


def pending(peer: Peer, session_id: str) -> Any:
    [call] = peer.request("agents/pending", sessionId=session_id)["items"]
    return call


def test_a_turn_uses_a_server_whose_tools_that_may_change_something_wait_for_a_person(
    place: Place, peer: Peer, mark: str
) -> None:
    asked = calls(("mcp_it_say", {"text": "hi"}), ("mcp_it_act", {}), ("mcp_it_none", {}))
    session_id = begun(peer, place, config(place, mark, asked, says("done")))
    call = pending(peer, session_id)
    assert (call["tool"], call["kind"]) == ("mcp_it_act", "approval")
    done = peer.request(
        "agents/complete",
        token=call["token"],
        outcome={"kind": "approve"},
        argumentsHash=call["argumentsHash"],
        resume=True,
    )
    assert done["session"]["output"] == "done"
    said, acted, unknown = outputs(peer, session_id)
    assert (said, acted, unknown[0]) == (("completed", "hi"), ("completed", "said"), "failed")
    assert unknown[1].startswith("tool/unknown: there is no tool named mcp_it_none; the tools are: mcp_it_act, ")


def test_a_server_that_cannot_be_started_leaves_the_turn_without_its_tools(place: Place, peer: Peer, mark: str) -> None:
    agent = config(place, mark, calls(("mcp_it_say", {})), says("done"), entry={"command": ["no/such"]})
    session_id = begun(peer, place, agent)
    [(state, output)] = outputs(peer, session_id)
    why = "the MCP server it cannot be used: cannot start no/such: No such file or directory"
    told = f"tool/unknown: there is no tool named mcp_it_say ({why}); the tools are: none"
    assert (state, output) == ("failed", told)


def test_who_looks_at_a_session_is_told_of_a_server_that_fails_in_every_turn_that_asks_it(
    place: Place, peer: Peer, mark: str
) -> None:
    agent = config(place, mark, says("one"), says("two"), entry={"command": ["no/such"]})
    peer.request("agents/start", sessionId="s1", config=agent, cwd=str(place.work))
    peer.request("agents/attach", sessionId="s1")

    def told(prompt: str) -> list[Any]:
        peer.request("agents/send", sessionId="s1", prompt=prompt, run="turn")
        events = [one["params"] for one in peer.heard if one["method"] == "agents/event"]
        peer.heard.clear()
        return [one["event"] for one in events if one["event"]["type"].startswith("capability/")]

    [first], [second] = told("go"), told("again")
    assert (first["type"], first["capabilityId"][:7]) == ("capability/create-failed", "mcp_it_")
    why = "the MCP server it cannot be used: cannot start no/such: No such file or directory"
    assert (first["message"], second) == (why, first)


ANSWER = {"kind": "answer", "value": {"name": "Ada"}}


def test_a_question_of_a_server_waits_for_its_answer_and_the_call_goes_on(place: Place, peer: Peer, mark: str) -> None:
    session_id = begun(peer, place, config(place, mark, calls(("mcp_it_ask", {})), says("done")))
    session = peer.request("agents/get", sessionId=session_id)["session"]
    assert (session["state"], session["activity"]) == ("partialUserTurn", "idle")
    call = pending(peer, session_id)
    question = {"kind": "response", "prompt": "who?\u202e", "schema": {"type": "object", "properties": {}}}
    assert (call["kind"], call["question"]) == ("question", question)

    def refused(outcome: Any, **more: Any) -> str:
        with pytest.raises(Refusal) as refusal:
            peer.request("agents/complete", token=call["token"], outcome=outcome, **more)
        return refusal.value.kind

    assert refused({"kind": "approve"}, argumentsHash=call["argumentsHash"]) == "state/invalid"
    assert refused({"kind": "result", "content": "x"}) == "state/invalid"
    assert refused({"kind": "answer", "value": "Ada"}) == "arguments/invalid"
    assert refused(ANSWER, argumentsHash="0" * 64) == "arguments/mismatch"
    done = peer.request(
        "agents/complete", token=call["token"], outcome=ANSWER, argumentsHash=call["argumentsHash"], resume=True
    )
    assert (done["applied"], done["session"]["output"]) == (True, "done")
    [(state, output)] = outputs(peer, session_id)
    assert (state, json.loads(output)) == ("completed", {"action": "accept", "content": {"name": "Ada"}})


def test_a_question_is_answered_and_declined_at_the_shell(place: Place, mark: str) -> None:
    path = place.work / "a.json"
    path.write_text(json.dumps(config(place, mark, calls(("mcp_it_ask", {}), ("mcp_it_ask", {})), says("done"))))
    ran = place.run("run", "--agent-file", str(path), "-p", "go")
    assert (ran.code, "who?\\u202e" in ran.out, "abey session answer" in ran.err) == (3, True, True)
    tokens = place.abey("session", "pending", "-q").split()
    answered = place.run("session", "answer", tokens[0], "name=Ada")
    assert (answered.code, "question: who?\\u202e" in answered.err) == (0, True)
    declined = place.run("session", "answer", tokens[1], "--decline", "--resume")
    assert (declined.code, declined.out.splitlines()[-1]) == (0, "done")
    late = place.run("session", "answer", tokens[0], "x=1")
    assert (late.code, "already answered" in late.err) == (5, True)
    [session] = place.json("session", "list")["items"]
    with place.peer() as peer:
        said = [json.loads(output) for _, output in outputs(peer, session["sessionId"])]
    assert said == [{"action": "accept", "content": {"name": "Ada"}}, {"action": "decline"}]


def test_a_run_that_waits_for_nobody_asks_nobody(place: Place, peer: Peer, mark: str) -> None:
    agent = config(place, mark, calls(("mcp_it_ask", {})), says("done"), executionMode="synchronous")
    started = peer.request("agents/start", config=agent, prompt="go", cwd=str(place.work))
    done = peer.request("agents/run", sessionId=started["sessionId"], synchronous=True)
    assert done["session"]["output"] == "done"
    [(state, output)] = outputs(peer, started["sessionId"])
    assert (state, json.loads(output)) == ("completed", {"action": "decline"})


def test_a_daemon_that_is_killed_leaves_nothing_of_a_server_and_an_uncertain_call(place: Place, mark: str) -> None:
    with place.peer() as peer:
        session_id = begun(peer, place, config(place, mark, calls(("mcp_it_ask", {})), says("done"), words=("stays",)))
        assert len(alive(mark)) == 1
    place.kill_daemon()
    until(lambda: alive(mark) == [], "for the server to end")
    with place.peer() as peer:
        call = pending(peer, session_id)
        assert (call["kind"], "question" in call) == ("uncertain", False)
        done = peer.request(
            "agents/complete", token=call["token"], outcome={"kind": "rerun"}, argumentsHash=call["argumentsHash"]
        )
        assert done["session"]["pending"][0]["kind"] == "question"


@pytest.mark.parametrize("ending", ["stop", "delete", "shutdown"])
def test_nothing_of_a_server_is_left_once_its_session_or_the_daemon_ends(
    place: Place, peer: Peer, mark: str, ending: str
) -> None:
    session_id = begun(peer, place, config(place, mark, calls(("mcp_it_say", {})), says("done"), words=("stays",)))
    assert len(alive(mark)) == 1
    match ending:
        case "stop" | "delete":
            peer.request(f"agents/{ending}", sessionId=session_id)
        case "shutdown":
            peer.request("agents/shutdown", mode="now")
    until(lambda: alive(mark) == [], "for the server to end")


def test_a_server_that_says_nothing_when_an_approved_call_needs_it_keeps_no_daemon_from_its_end(
    place: Place, mark: str
) -> None:
    words = place.root / "words"
    words.write_text("")
    server = ["sh", "-c", f'exec {" ".join(RAW)} $(cat {words}) "$0"', mark]
    agent = config(place, mark, calls(("mcp_it_act", {})), says("done"), entry={"command": server})
    with place.peer() as peer:
        session_id = begun(peer, place, agent)
    place.kill_daemon()
    words.write_text("mute stays")
    with place.peer() as peer:
        call = pending(peer, session_id)
        approves = {"token": call["token"], "outcome": {"kind": "approve"}, "argumentsHash": call["argumentsHash"]}
        asked = peer.start("agents/complete", **approves)
        until(lambda: alive(mark), "for the server to start")
        kill(peer.pid, signal.SIGTERM)
        with pytest.raises(Refusal) as refusal:
            peer.answer(asked)
    until(lambda: alive(mark) == [], "for the server to end")
    words.write_text("")
    with place.peer() as peer:
        done = peer.request("agents/complete", **approves, resume=True)
    assert (refusal.value.kind, done["session"]["output"]) == ("daemon/draining", "done")


def test_a_server_keeps_its_state_from_turn_to_turn_and_is_started_anew_where_it_died(
    place: Place, peer: Peer, mark: str
) -> None:
    script = [calls(("mcp_it_calls", {})), says("1"), calls(("mcp_it_calls", {})), calls(("mcp_it_die", {}))]
    session_id = begun(peer, place, config(place, mark, *script, calls(("mcp_it_calls", {})), says("end")))
    peer.request("agents/send", sessionId=session_id, prompt="on", run="turn")
    assert [output for _, output in outputs(peer, session_id)] == [
        "1",
        "2",
        "tool/failed: the MCP server it is gone (killed by signal 9); the call may have run",
        "1",
    ]


def test_tools_that_a_server_changes_are_there_in_the_next_step(place: Place, peer: Peer, mark: str) -> None:
    script = [calls(("mcp_it_say", {})), calls(("mcp_it_more_1", {})), says("end")]
    session_id = begun(
        peer, place, config(place, mark, *script, words=("fickle", "growing"), toolCallPolicy={"default": "runSync"})
    )
    assert [state for state, _ in outputs(peer, session_id)] == ["completed", "completed"]


def test_a_question_is_answered_in_a_plain_editor(place: Place, peer: Peer, mark: str) -> None:
    file = place.work / "a.json"
    file.write_text(json.dumps(config(place, mark, calls(("mcp_it_ask", {})), says("done"))))
    with plain_editor(place, place.work) as editor:
        started = editor.command("abey.start", {"agentFile": str(file), "prompt": "go", "run": "turn"})
        session_id = started["sessionId"]
        path = arguments(place, session_id, 1)
        until(path.exists, "for the document")
        editor.visit(path, '{"name": "Ada"}\n')
        editor.act(path, "Answer")
    [(state, output)] = outputs(peer, session_id)
    assert (state, json.loads(output)) == ("completed", {"action": "accept", "content": {"name": "Ada"}})
