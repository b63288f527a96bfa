"""Calls that an extension wants somebody asked about before they run: at the shell, in editors, between two clients and
over the death of the daemon (machine.md, Extensions)."""

import os
import pty
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from support.e2e import Place, calls, deferred, says, until
from support.e2e_peer import Peer, Refusal
from support.extensions import GUARD, install_module
from support.plain_editor import arguments, plain_editor

TWICE = [calls(("bump", {}), ("bump", {})), says("done")]
ONCE = [calls(("bump", {})), says("done")]
YES = {"kind": "answer", "value": True}
ANSWERED = b"\x00"
ARGUMENTS = '{\n  "x": "1"\n}\n'


@pytest.fixture
def desk(machine: Place) -> Place:
    """A machine with the guard, on which nothing runs yet."""
    install_module(machine, GUARD.read_text(), "guard = guard:Guard")
    return machine


@pytest.fixture
def peer(desk: Place) -> Iterator[Peer]:
    with desk.peer() as peer:
        yield peer


def begun(peer: Peer, place: Place, script: Any, word: str = "sure", **more: Any) -> str:
    agent = place.config(script=script, **more)
    return str(peer.request("agents/start", config=agent, prompt=word, cwd=str(place.work), run="turn")["sessionId"])


def pending(peer: Peer, session_id: str) -> list[Any]:
    return list(peer.request("agents/pending", sessionId=session_id)["items"])


def states(peer: Peer, session_id: str) -> list[str]:
    items = peer.request("agents/transcript", sessionId=session_id)["items"]
    return [item["call"]["state"] for item in items if "call" in item]


def refused(peer: Peer, call: Any, outcome: Any, **more: Any) -> str:
    with pytest.raises(Refusal) as refusal:
        peer.request("agents/complete", token=call["token"], outcome=outcome, **more)
    return refusal.value.kind


def test_nothing_runs_before_the_answer_and_only_an_answer_is_one(peer: Peer, desk: Place) -> None:
    session_id = begun(peer, desk, TWICE)
    first, second = pending(peer, session_id)
    assert [(one["kind"], one["reason"], one["editable"]) for one in (first, second)] == [
        ("question", "extension guard asks before it runs", False)
    ] * 2
    for outcome in ({"kind": "approve"}, {"kind": "deny"}, {"kind": "result", "content": "x"}, {"kind": "rerun"}):
        assert refused(peer, first, outcome, argumentsHash=first["argumentsHash"]) == "state/invalid"
    assert refused(peer, first, {"kind": "answer", "value": "yes"}) == "arguments/invalid"
    assert refused(peer, first, YES, argumentsHash=second["argumentsHash"]) == "arguments/mismatch"
    assert peer.request("agents/step", sessionId=session_id)["outcome"] == "waiting"
    answered = peer.request("agents/complete", token=first["token"], outcome=YES, resume=True)
    assert (answered["applied"], answered["turnComplete"], desk.ran()) == (True, False, 0)
    rejected = {"kind": "answer", "value": False}
    done = peer.request("agents/complete", token=second["token"], outcome=rejected, resume=True)
    assert (done["session"]["output"], desk.ran(), states(peer, session_id)) == ("done", 1, ["completed", "denied"])


def test_of_two_clients_that_answer_the_first_is_heard(peer: Peer, desk: Place) -> None:
    session_id = begun(peer, desk, ONCE, rules=[deferred("bump")])
    [call] = pending(peer, session_id)
    with desk.peer("other") as other:
        asked = [one.start("agents/complete", token=call["token"], outcome=YES) for one in (peer, other)]
        answers = [one.answer(number) for one, number in zip((peer, other), asked, strict=True)]
    assert sorted(one["applied"] for one in answers) == [False, True]
    assert answers[0]["resolution"] == answers[1]["resolution"]
    assert (pending(peer, session_id)[0]["kind"], desk.ran()) == ("approval", 0)


def test_a_question_and_its_answer_outlive_the_daemon(desk: Place) -> None:
    with desk.peer() as peer:
        session_id = begun(peer, desk, ONCE)
        [asked] = pending(peer, session_id)
    desk.kill_daemon()
    with desk.peer() as peer:
        assert pending(peer, session_id) == [asked]
        assert peer.request("agents/complete", token=asked["token"], outcome=YES)["applied"] is True
    desk.kill_daemon()
    assert desk.ran() == 0
    assert desk.abey("session", "resume", session_id) == "done\n"
    assert desk.ran() == 1


def test_a_cancel_closes_the_question_and_the_late_answer_is_told(peer: Peer, desk: Place) -> None:
    session_id = begun(peer, desk, ONCE)
    [call] = pending(peer, session_id)
    peer.request("agents/cancel", sessionId=session_id)
    late = peer.request("agents/complete", token=call["token"], outcome=YES)
    assert (late["applied"], late["resolution"]["kind"], desk.ran()) == (False, "cancelled", 0)


def test_who_is_attached_hears_the_question_its_answer_and_the_approval(peer: Peer, desk: Place) -> None:
    session_id = begun(peer, desk, ONCE, rules=[deferred("bump")])
    [call] = pending(peer, session_id)
    peer.request("agents/complete", token=call["token"], outcome=YES)
    events = [one["event"] for one in peer.request("agents/events", sessionId=session_id)["events"]]
    told = [(one["type"], one["pending"]["kind"]) for one in events if one["type"].startswith("pending/")]
    assert told == [("pending/added", "question"), ("pending/resolved", "question"), ("pending/added", "approval")]


def test_at_the_shell_it_is_answered_and_declined(desk: Place) -> None:
    file = str(desk.agent(script=TWICE))
    ran = desk.run("run", "--agent-file", file, "-p", "sure", "--no-input")
    assert (ran.code, "Really?\\u202e" in ran.out, "abey session answer" in ran.err) == (3, True, True)
    first, second = desk.abey("session", "pending", "-q").split()
    refused = desk.run("session", "approve", first, "--no-input")
    assert (refused.code, f"use `abey session answer {first} VALUE`" in refused.err) == (1, True)
    answered = desk.run("session", "answer", first, "yes")
    assert (answered.code, "question: Really?\\u202e" in answered.err, desk.ran()) == (0, True, 0)
    late = desk.run("session", "answer", first, "no")
    assert (late.code, "already answered" in late.err) == (5, True)
    declined = desk.run("session", "answer", second, "--decline", "--resume")
    assert (declined.code, declined.out.splitlines()[-1], desk.ran()) == (0, "done", 1)


def test_at_a_terminal_the_question_comes_first_and_then_the_approval(desk: Place) -> None:
    file = str(desk.agent(script=ONCE, rules=[deferred("bump")]))
    master, slave = pty.openpty()
    process = subprocess.Popen(
        desk.program("run", "--agent-file", file, "-p", "sure"),
        cwd=desk.work,
        env=desk.env,
        stdin=slave,
        stderr=slave,
        stdout=subprocess.PIPE,
        text=True,
    )
    os.close(slave)
    heard: list[bytes] = []
    listener = threading.Thread(target=_listen, args=(master, heard), daemon=True)
    listener.start()
    try:
        for wanted, said in (("[a]nswer", b"a\n"), ("yes or no:", b"yes\n"), ("[a]pprove", b"a\n")):
            until(partial(_shows, heard, wanted), f"for {wanted} in {b''.join(heard)!r}")
            heard.append(ANSWERED)
            os.write(master, said)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
        listener.join(10)
        os.close(master)
    assert (process.returncode, out, desk.ran()) == (0, "done\n", 1)


def _listen(master: int, heard: list[bytes]) -> None:
    try:
        while piece := os.read(master, 65536):
            heard.append(piece)
    except OSError:
        pass


def _shows(heard: list[bytes], wanted: str) -> bool:
    """Whether that was shown since the last answer."""
    return wanted.encode() in b"".join(heard).rpartition(ANSWERED)[2]


def test_in_a_plain_editor_the_document_of_the_question_becomes_that_of_the_approval(desk: Place) -> None:
    file = desk.agent(script=[calls(("bump", {"x": "1"})), says("done")], rules=[deferred("bump")])
    with plain_editor(desk, desk.work) as editor:
        started = editor.command("abey.start", {"agentFile": str(file), "prompt": "sure", "run": "turn"})
        path = arguments(desk, started["sessionId"], 1)
        until(path.exists, "for the document")
        assert editor.visit(path) == "false\n"
        assert set(editor.actions(path)) == {"Answer"}
        editor.type(path, "true")
        editor.act(path, "Answer")
        until(lambda: path.exists() and path.read_text() == ARGUMENTS, "for the arguments")
        editor.type(path, ARGUMENTS, 3)
        editor.act(path, "Approve what is written")
        until(lambda: desk.ran() == 1, "for the call")
