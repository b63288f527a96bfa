"""What is refused: in one clear line, with the exit code that says why, and without a trace in the journal."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.e2e import PROGRAMS, Done, Place, calls, deferred, kill, says, until
from support.e2e_peer import Refusal

from abey_cli.wording import NEXT

TOKEN = "0" * 32
LISTED = "; `abey session list` has those there are"


def one_line(done: Done) -> str:
    """The one line on stderr of a command that failed; nothing stands on stdout."""
    assert (done.out, done.err.count("\n"), "Traceback" in done.err) == ("", 1, False), done
    return done.err.strip()


def waiting(machine: Place, **config: Any) -> Any:
    """A session that waits for `sh`."""
    script = [calls(("bump", {}), ("sh", {"command": "echo hi"})), says("end")]
    agent = machine.config(script=script, rules=[deferred("sh")], **config)
    return machine.rpc("agents/start", config=agent, prompt="x", cwd=str(machine.work), run="turn")


def test_a_blocked_step_writes_nothing_and_keeps_its_revision(machine: Place) -> None:
    session = waiting(machine)
    before = machine.journal(session["sessionId"]).read_bytes()
    for method in ("agents/step", "agents/run", "agents/resume"):
        done = machine.rpc(method, sessionId=session["sessionId"])
        assert (done["outcome"], done["session"]) == ("waiting", session)
    assert machine.run("session", "step", session["sessionId"]).code == 3
    assert (machine.journal(session["sessionId"]).read_bytes(), machine.ran()) == (before, 1)


def test_a_step_after_the_answer_writes_nothing(machine: Place) -> None:
    config = machine.config(script=[says("end")])
    session = machine.rpc("agents/start", config=config, prompt="x", cwd=str(machine.work), run="turn")
    before = machine.journal(session["sessionId"]).read_bytes()
    done = machine.rpc("agents/step", sessionId=session["sessionId"])
    assert (done["outcome"], done["session"]) == ("completed", session)
    assert machine.journal(session["sessionId"]).read_bytes() == before


def test_the_first_completion_wins_and_the_second_is_told_what_it_was(machine: Place) -> None:
    session = waiting(machine)
    [call] = session["pending"]
    first = machine.json("session", "complete", call["token"], "--text", "first")
    before = machine.journal(session["sessionId"]).read_bytes()
    second = machine.run("session", "complete", call["token"], "--text", "second")
    assert (second.code, second.out) == (5, "State: UserTurn (ready for LLM)\n")
    assert second.err == f"already answered: {first['resolution']['text']}\n"
    same = machine.json("session", "complete", call["token"], "--text", "first")
    denied = machine.json("session", "deny", call["token"], code=5)
    late = machine.json("session", "approve", call["token"], "--hash", call["argumentsHash"], code=5)
    for again in (same, denied, late):
        assert (again["applied"], again["resolution"]) == (False, first["resolution"])
    machine.kill_daemon()
    after = machine.json("session", "complete", call["token"], "--text", "first")
    assert (after["applied"], after["resolution"]) == (False, first["resolution"])
    assert machine.journal(session["sessionId"]).read_bytes() == before


def test_what_nobody_knows_is_exit_4(machine: Place) -> None:
    told = {
        arguments: (machine.run(*arguments).code, one_line(machine.run(*arguments)))
        for arguments in (
            ("session", "step", "nosuchsession"),
            ("session", "show", "01jx0000000000000000000000"),
            ("session", "complete", TOKEN, "--text", "x"),
            ("session", "approve", TOKEN),
            ("session", "start", "--agent", "nobody", "-p", "x"),
            ("session", "start", "--agent-file", "nowhere.json", "-p", "x"),
            ("rpc", "agents/get", '{"sessionId": "../../etc"}'),
        )
    }
    agents = machine.root / "config" / "agents"
    assert list(told.values()) == [
        (4, "abey: no session nosuchsession (session/unknown)" + LISTED),
        (4, "abey: no session 01jx0000000000000000000000 (session/unknown)" + LISTED),
        (4, f"abey: no call has the token {TOKEN} (token/unknown); `abey session pending` has those that wait"),
        (4, f"abey: no call has the token {TOKEN} (token/unknown); `abey session pending` has those that wait"),
        (4, f"abey: no agent `nobody` in {agents}; there are none (agent/unknown); `abey agents new SLUG` writes one"),
        (4, f"abey: no agent file {machine.work}/nowhere.json (agent/unknown)"),
        (4, "abey: no session ../../etc (session/unknown)" + LISTED),
    ]


def test_a_wrong_command_line_is_exit_2_and_says_so_in_a_line(machine: Place) -> None:
    for arguments in (
        ("session", "step"),
        ("session", "step", "a", "--no-such-option"),
        ("session", "complete", TOKEN),
        ("session", "complete", TOKEN, "--text", "a", "--data", "1"),
        ("session", "complete", TOKEN, "--data", "{"),
        ("session", "no-such-command"),
        ("no-such-command",),
        ("run", "--until", "never"),
        ("session", "stop", "a"),
    ):
        done = machine.run(*arguments)
        assert (done.code, one_line(done)[:6]) == (2, "abey: "), arguments
    error = machine.json("session", "step", code=2)["error"]
    assert (error["code"], error["data"]) == (0, {"kind": "usage"})


GOOD: dict[str, Any] = {"slug": "a", "systemPrompt": "x", "model": {"provider": "scripted", "script": []}}


def changed(**members: Any) -> bytes:
    return json.dumps({**GOOD, **members}, indent=1).encode()


def twice_the_same_tool() -> bytes:
    tool = {"kind": "external", "name": "t", "description": "d", "parameters": {}}
    return changed(tools=[tool, tool])


BAD_FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", ":1:1: "),
    "blank": (b"\n\n", ":"),
    "not JSON": (b'{"slug": "a",\n  nonsense}', ":2:3: "),
    "cut": (b'{"slug": "a", "model": {', ":1:"),
    "an array": (b"[]", ":1:1: "),
    "NUL": (b"\0\0\0", ":1:1: "),
    "not UTF-8": (b'{"slug": "\xff"}', ":1:1: not UTF-8: byte 10 is 0xff"),
    "no model": (b'{"slug": "a", "systemPrompt": "x"}', ":1:1: "),
    "no slug": (b'{"systemPrompt": "x", "model": {"provider": "scripted", "script": []}}', ":1:1: "),
    "a bad slug": (changed(slug="Not A Slug"), ":2:"),
    "an unknown member": (changed(sytemPrompt="typo"), ":"),
    "an unknown provider": (changed(model={"provider": "oracle"}), ":"),
    "an unknown disposition": (changed(toolCallPolicy={"default": "sometimes"}), ":"),
    "an unknown tag": (changed(toolCallPolicy={"default": {"tag": "perhaps"}}), ":"),
    "an unknown decorator": (
        changed(toolCallPolicy={"default": {"tag": "decorate", "decorators": [{"tag": "x"}], "inner": "deny"}}),
        ":",
    ),
    "two tools of one name": (twice_the_same_tool(), ":"),
    "an unknown tool": (changed(tools=[{"kind": "magic", "name": "t"}]), ":"),
    "a tool without argv": (changed(tools=[{"kind": "command", "name": "t", "description": "d"}]), ":"),
    "limits below zero": (changed(limits={"maxSteps": -1}), ":"),
    "a script that is not there": (changed(model={"provider": "scripted", "script": "gone.json"}), ":"),
    "nested too deep": (b'{"slug": ' + b"[" * 5000 + b"]" * 5000 + b"}", ":1:"),
}


def test_a_bad_agent_file_is_one_line_with_its_place(machine: Place) -> None:
    for name, (text, where) in BAD_FILES.items():
        path = machine.work / "bad.json"
        path.write_bytes(text)
        done = machine.run("session", "start", "--agent-file", "bad.json", "-p", "x")
        line = one_line(done)
        assert (done.code, line.startswith(f"abey: {path}{where}")) == (1, True), (name, line)
        assert re.search(r":\d+:\d+: \S.* \(agent/invalid\); `abey agents check FILE` says", line), (name, line)
        checked = machine.run("agents", "check", "bad.json")
        assert (checked.code, "Traceback" in checked.out + checked.err) == (1, False), name
    assert machine.json("session", "list") == {
        "items": [],
        "damaged": [],
        "usage": {"inputTokens": 0, "outputTokens": 0},
    }


def test_a_folder_in_the_place_of_an_agent_file_is_one_line(machine: Place) -> None:
    (machine.work / "folder.json").mkdir()
    done = machine.run("session", "start", "--agent-file", "folder.json", "-p", "x")
    assert (done.code, one_line(done)) == (
        1,
        f"abey: {machine.work}/folder.json:1:1: a directory, not a file (agent/invalid); "
        "`abey agents check FILE` says all that is wrong with it",
    )


def test_a_busy_session_refuses_a_second_step_and_takes_everything_else(machine: Place) -> None:
    config = machine.config(script=[{"text": "late", "delayMs": 60000}])
    session = machine.rpc("agents/start", config=config, prompt="x", cwd=str(machine.work), run="turn", wait=False)
    named = session["sessionId"]
    for command in ("step", "resume"):
        done = machine.run("session", command, named)
        assert (done.code, one_line(done)) == (
            5,
            f"abey: session {named} is busy (model) (session/busy){NEXT['session/busy'].format(id=named)}",
        )
    sent = machine.json("session", "send", session["sessionId"], "and then")
    assert (sent["position"], machine.session(session["sessionId"])["activity"]) == (1, "model")
    cancelled = machine.json("session", "cancel", session["sessionId"])
    assert (cancelled["applied"], cancelled["session"]["state"], cancelled["session"]["queued"]) == (
        True,
        "userTurn",
        [],
    )


def test_an_effect_on_another_revision_is_a_conflict_that_names_the_current_one(machine: Place) -> None:
    session = waiting(machine)
    [call] = session["pending"]
    before = machine.journal(session["sessionId"]).read_bytes()
    stale = str(session["revision"] - 1)
    for command in (
        ("session", "step", session["sessionId"]),
        ("session", "complete", call["token"], "--text", "x"),
        ("session", "cancel", session["sessionId"]),
        ("session", "send", session["sessionId"], "x"),
        ("session", "pause", session["sessionId"]),
    ):
        error = machine.json(*command, "--if-revision", stale, code=5)["error"]
        assert error["data"] == {"kind": "revision/conflict", "retryable": False, "revision": session["revision"]}
    assert machine.journal(session["sessionId"]).read_bytes() == before
    current = str(session["revision"])
    assert machine.json("session", "complete", call["token"], "--text", "x", "--if-revision", current)["applied"]


def test_a_stopped_session_refuses_work_and_still_tells_what_was(machine: Place) -> None:
    session = waiting(machine)
    [call] = session["pending"]
    named = session["sessionId"]
    assert machine.abey("session", "stop", named, "--yes") == "State: Stopped\n"
    assert machine.run("session", "stop", named, "--yes").code == 0
    stopped = f"abey: session {named} is stopped (session/stopped){NEXT['session/stopped'].format(id=named)}"
    for command in (("step", named), ("resume", named), ("send", named, "x")):
        done = machine.run("session", *command)
        assert (done.code, one_line(done)) == (5, stopped)
    late = machine.run("session", "complete", call["token"], "--text", "x")
    nameless = NEXT["session/stopped"].format(id="ID")
    assert (late.code, one_line(late)) == (5, f"abey: session {named} is stopped (session/stopped){nameless}")
    assert len(machine.rpc("agents/transcript", sessionId=named)["items"]) == 3


def test_a_session_id_that_is_taken_or_no_id_is_refused(machine: Place) -> None:
    agent = str(machine.agent(script=[says("x")]))
    assert machine.abey("session", "start", "--agent-file", agent, "--id", "mine", "-p", "x", "-q") == "mine\n"
    before = machine.journal("mine").read_bytes()
    taken = machine.run("session", "start", "--agent-file", agent, "--id", "mine", "-p", "y")
    way_out = "another --id is another session"
    assert (taken.code, one_line(taken)) == (1, f"abey: session mine exists; {way_out} (state/invalid)")
    for bad in ("../x", "A", "", "x" * 65):
        with pytest.raises(Refusal) as refused:
            machine.rpc("agents/start", agentFile=agent, sessionId=bad)
        assert refused.value.code == -32602, bad
    assert (machine.journal("mine").read_bytes(), len(os.listdir(machine.state / "sessions"))) == (before, 1)


def test_status_and_a_socket_transport_do_not_start_a_daemon(machine: Place) -> None:
    said = f"abey: no daemon is running for {machine.state}; `abey daemon start` starts one"
    for arguments in (("daemon", "status"), ("session", "list", "--transport", "socket")):
        done = machine.run(*arguments)
        assert (done.code, one_line(done)) == (6, said)
    assert not machine.state.exists()
    error = machine.json("daemon", "status", code=6)["error"]
    assert (error["code"], error["data"]["kind"]) == (0, "daemon/unreachable")


def test_a_daemon_that_cannot_start_is_exit_6_with_its_last_words(machine: Place) -> None:
    machine.env["ABEY_DAEMON"] = f"{PROGRAMS / 'python'} -c 'raise SystemExit(\"no disk\")'"
    done = machine.run("session", "list")
    assert (done.code, one_line(done)) == (6, "abey: the daemon ended with status 1: no disk")


def test_stopping_no_daemon_is_fine_and_starts_none(machine: Place) -> None:
    done = machine.run("daemon", "stop")
    assert (done.code, done.out, done.err) == (0, "", "no daemon is running\n")
    assert not machine.state.exists()


def test_stopping_the_daemon_returns_when_it_is_gone(machine: Place) -> None:
    machine.abey("daemon", "start")
    pid = machine.daemon_pid()
    assert pid is not None
    done = machine.run("daemon", "stop")
    assert (done.code, done.err) == (0, f"the daemon (pid {pid}) is gone\n")
    assert machine.daemon_pid() is None


def test_a_second_daemon_on_a_state_directory_leaves_at_once_and_names_the_first(machine: Place) -> None:
    machine.abey("daemon", "start")
    pid = machine.daemon_pid()
    told = f"abey-daemon: the daemon with pid {pid} holds {machine.state / 'daemon.lock'}\n"
    ends = {}
    for options in ((), ("--stdio", "--standalone")):
        command = [str(PROGRAMS / "abey-daemon"), *options]
        done = subprocess.run(command, env=machine.env, capture_output=True, text=True, stdin=-3, check=False)
        ends[options] = (done.returncode, done.stdout, done.stderr)
    assert ends == {(): (0, "", told), ("--stdio", "--standalone"): (6, "", told)}
    private = machine.run("session", "list", "--transport", "stdio")
    assert (private.code, f"the daemon with pid {pid} holds" in one_line(private)) == (6, True)
    assert machine.daemon_pid() == pid


def test_a_state_directory_whose_daemon_was_killed_is_free_again(machine: Place) -> None:
    machine.abey("daemon", "start")
    first = machine.daemon_pid()
    assert first is not None
    kill(first)
    assert (machine.state / "daemon.addr").exists()
    machine.abey("daemon", "start")
    assert machine.daemon_pid() not in (None, first)


def test_a_damaged_session_is_named_and_harms_no_other(machine: Place) -> None:
    good = waiting(machine)
    bad = machine.state / "sessions" / "bad"
    bad.mkdir()
    (bad / "journal.jsonl").write_bytes(b"\0\0\0\0")
    listed = machine.run("session", "list")
    assert (listed.code, good["sessionId"] in listed.out) == (0, True)
    reason = "session bad is damaged at byte 0: the journal holds only NUL bytes"
    assert listed.err == f"abey: {reason}; `abey repair bad` says what can be done\n"
    step = machine.run("session", "step", "bad")
    assert (step.code, one_line(step).endswith("(session/damaged)")) == (1, True)
    assert (bad / "journal.jsonl").read_bytes() == b"\0\0\0\0"


def test_a_missing_file_or_failing_shell_of_a_prompt_starts_nothing(machine: Place) -> None:
    agent = str(machine.agent(script=[says("x")]))
    for option in (("-f", "nowhere.txt"), ("--shell", "exit 3")):
        done = machine.run("session", "start", "--agent-file", agent, *option)
        assert (done.code, one_line(done)[:6]) == (1, "abey: "), option
    assert machine.json("session", "list")["items"] == []


def test_a_timeout_ends_the_wait_and_not_the_session(machine: Place) -> None:
    agent = machine.agent(script=[calls(("slow", {})), says("end")])
    session_id = machine.abey("session", "start", "--agent-file", str(agent), "-p", "x", "--step", "-q").strip()
    done = machine.run("session", "step", session_id, "--timeout", "0.3")
    assert (done.code, one_line(done)) == (8, "abey: no answer within --timeout; what was asked for goes on")
    until(lambda: machine.ran() == 1)
    assert machine.session(session_id)["activity"] == "tools"
    assert machine.abey("session", "cancel", session_id) == "State: LlmTurn (cancelled)\n"


def test_an_interrupted_step_detaches_and_says_how_to_come_back(machine: Place) -> None:
    agent = machine.agent(script=[{"text": "late", "delayMs": 2500}])
    session_id = machine.abey("session", "start", "--agent-file", str(agent), "-p", "x", "-q").strip()
    step = machine.popen("session", "step", session_id)
    until(lambda: machine.session(session_id)["activity"] == "model")
    step.send_signal(signal.SIGINT)
    out, err = step.communicate(timeout=30)
    assert (step.returncode, out) == (130, "")
    assert f"come back with `abey session wait {session_id}`" in err
    assert machine.abey("session", "wait", session_id) == "late\n"


def test_a_broken_pipe_is_silent(machine: Place) -> None:
    machine.abey("daemon", "start")
    read, write = os.pipe()
    os.close(read)
    command = machine.program("session", "list", "--json")
    done = subprocess.run(command, env=machine.env, cwd=machine.work, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert done.stderr == b""


def test_no_message_holds_a_traceback_or_a_key(machine: Place) -> None:
    canary = "sk-canary-5f2b1c"
    machine.env["OPENAI_API_KEY"] = canary
    session = waiting(machine)
    machine.run("session", "step", "nobody")
    machine.kill_daemon()
    files = [path for path in machine.root.rglob("*") if path.is_file()]
    assert [path for path in files if canary.encode() in path.read_bytes()] == []
    assert "Traceback" not in machine.log()
    assert Path(machine.journal(session["sessionId"])).stat().st_mode & 0o777 == 0o600
