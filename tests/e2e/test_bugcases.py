"""What went wrong in programs like this one, and must not here."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from support import e2e_journal
from support.e2e import PROGRAMS, Place, calls, deferred, kill, says, until
from support.e2e_peer import Refusal

ASK: dict[str, Any] = {"default": {"tag": "defer", "reason": "ask"}}


def start(place: Place, *, run: str = "turn", wait: bool = True, **config: Any) -> Any:
    params = {"prompt": "x", "cwd": str(place.work), "run": run, "wait": wait}
    return place.rpc("agents/start", config=place.config(**config), **params)


def shell(command: str) -> dict[str, Any]:
    return calls(("sh", {"command": command}))


def answer(place: Place, call: Any, kind: str, **more: Any) -> Any:
    bound = {"argumentsHash": call["argumentsHash"]} if kind in ("approve", "rerun") else {}
    return place.rpc("agents/complete", token=call["token"], outcome={"kind": kind, **more}, **bound)


def calls_of(place: Place, session: Any) -> list[Any]:
    items = place.rpc("agents/transcript", sessionId=session["sessionId"])["items"]
    return [item["call"] for item in items if "call" in item]


def resume(place: Place, session: Any) -> str:
    """What the model answers in the end."""
    return place.abey("session", "resume", session["sessionId"]).rstrip("\n")


@pytest.mark.parametrize("missing", [1, 9, 120])
def test_a_torn_last_write_is_told_kept_aside_and_harms_nothing_before_it(place: Place, missing: int) -> None:
    """C01"""
    session = start(place, script=[says("one"), says("two"), says("three")])
    place.rpc("agents/send", sessionId=session["sessionId"], prompt="again", run="turn")
    place.kill_daemon()
    path = place.journal(session["sessionId"])
    units, whole = e2e_journal.units(path), path.read_bytes()
    path.write_bytes(whole[:-missing])
    shown = place.rpc("agents/transcript", sessionId=session["sessionId"])["items"]
    [note] = [item["text"] for item in shown if item["kind"] == "note" and "torn" in item["text"]]
    kept = b"".join(line.raw for unit in units[:-1] for line in unit)
    [aside] = path.parent.glob("journal.jsonl.tail-*")
    assert (path.read_bytes()[: len(kept)], aside.read_bytes()) == (kept, whole[:-missing][len(kept) :])
    assert f"cut off the journal at byte {len(kept)}" in note
    assert resume(place, session) == "two"
    e2e_journal.read(path)


def test_half_a_record_without_a_newline_is_never_glued_to_the_next(place: Place) -> None:
    """C02"""
    session = start(place, script=[calls(("ext", {})), says("end")])
    place.kill_daemon()
    path = place.journal(session["sessionId"])
    whole = path.read_bytes()
    path.write_bytes(whole + e2e_journal.read(path)[-1].raw[:40])
    step = place.rpc("agents/step", sessionId=session["sessionId"])
    place.kill_daemon()
    after = place.session(session["sessionId"])
    types = [line.type for line in e2e_journal.read(path)]
    assert (path.read_bytes().startswith(whole), types.count("repaired"), types[-1]) == (True, 1, "repaired")
    assert (step["session"], [call["kind"] for call in after["pending"]]) == (after, ["uncertain"])
    answer(place, after["pending"][0], "result", content="x")
    assert resume(place, session) == "end"


def test_a_half_copy_of_a_record_is_damage_in_the_middle_and_the_session_stays_listed(place: Place) -> None:
    """C03, without repair"""
    session = start(place, script=[calls(("bump", {})), says("end")])
    place.kill_daemon()
    path = place.journal(session["sessionId"])
    lines = e2e_journal.read(path)  # the fourth begins the second write
    before = b"".join(line.raw for line in lines[:4])
    half = lines[4].raw[:50] + b"\n"
    path.write_bytes(before + half + b"".join(line.raw for line in lines[4:]))
    damaged = path.read_bytes()
    listed = place.rpc("agents/sessions")
    assert [(one["sessionId"], one["offset"]) for one in listed["damaged"]] == [(session["sessionId"], len(before))]
    assert [one["sessionId"] for one in listed["items"]] == [session["sessionId"]]
    items = place.rpc("agents/transcript", sessionId=session["sessionId"])["items"]
    assert [item["kind"] for item in items] == ["input", "note"]
    refused = place.run("session", "send", session["sessionId"], "hi")
    assert (refused.code, f"damaged at byte {len(before)}" in refused.err) == (1, True)
    assert path.read_bytes() == damaged


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_an_open_approval_survives_the_end_of_the_daemon_and_is_answered_once(place: Place, number: int) -> None:
    """C05"""
    session = start(place, script=[shell("echo hi"), says("end")], rules=[deferred("sh")])
    pid = place.daemon_pid()
    assert pid is not None
    kill(pid, number)
    assert place.rpc("agents/pending")["items"] == session["pending"]
    done = [answer(place, session["pending"][0], "approve")["applied"] for _ in range(2)]
    assert (done, resume(place, session)) == ([True, False], "end")


def test_a_session_whose_daemon_was_killed_in_a_model_call_is_not_running(place: Place) -> None:
    """C06"""
    session = start(place, wait=False, script=[{"text": "at last", "delayMs": 60_000}])
    until(lambda: place.session(session["sessionId"])["activity"] == "model")
    place.kill_daemon()
    after = place.session(session["sessionId"])
    notes = [item.get("text") for item in place.rpc("agents/transcript", sessionId=after["sessionId"])["items"]]
    assert (after["activity"], after["state"], notes) == ("idle", "userTurn", [None, "model call interrupted"])
    assert place.rpc("agents/status")["sessions"]["running"] == 0
    sent = place.rpc("agents/send", sessionId=session["sessionId"], prompt="are you there?")
    assert (sent["position"], sent["session"]["state"]) == (0, "userTurn")


def test_two_terminals_on_one_session_take_turns_and_a_second_daemon_is_refused(place: Place) -> None:
    """C08"""
    session = start(place, script=[{"echo": True}], loop=True)
    command = [str(PROGRAMS / "abey-daemon"), "--stdio", "--standalone"]
    second = subprocess.run(command, env=place.env, capture_output=True, text=True, stdin=-3, check=False)
    assert (second.returncode, f"the daemon with pid {place.daemon_pid()} holds" in second.stderr) == (6, True)
    both = [place.popen("session", "send", session["sessionId"], text) for text in ("one", "two")]
    goes_on = f"`abey session resume {session['sessionId']}` goes on\n"
    assert [process.communicate(timeout=60)[1] for process in both] == [goes_on, goes_on]
    resume(place, session)
    items = place.rpc("agents/transcript", sessionId=session["sessionId"])["items"]
    said = [part["text"] for item in items for part in item.get("parts", ())]
    assert sorted(said) == ["one", "two", "x"]
    e2e_journal.read(place.journal(session["sessionId"]))


def test_a_cancel_in_the_middle_of_a_tool_closes_its_call_for_the_model(place: Place) -> None:
    """C09"""
    session = start(place, wait=False, script=[shell(f"echo line >> {place.count}; sleep 30"), says("hello")])
    until(lambda: place.ran() == 1)
    began = time.monotonic()
    assert place.rpc("agents/cancel", sessionId=session["sessionId"])["applied"]
    assert time.monotonic() - began < 10
    sent = place.rpc("agents/send", sessionId=session["sessionId"], prompt="hi", run="turn")
    assert sent["session"]["output"] == "hello"
    assert [call["output"] for call in calls_of(place, session)] == [
        "cancelled by user; it had started and may have run"
    ]


def test_a_kill_in_the_middle_of_a_tool_leaves_one_open_call_that_is_closed_in_its_place(place: Place) -> None:
    """C10"""
    script = [shell(f"echo line >> {place.count}; sleep 30"), says("one"), says("two"), says("three")]
    session = start(place, wait=False, script=script)
    until(lambda: place.ran() == 1)
    place.kill_daemon()
    yielded = place.run("session", "resume", session["sessionId"])
    [call] = place.session(session["sessionId"])["pending"]
    assert (yielded.code, call["kind"], call["arguments"]) == (3, "uncertain", script[0]["calls"][0]["arguments"])
    answer(place, call, "error", message="nobody knows whether it ran")
    answers = [resume(place, session)]
    for prompt in ("and?", "and then?"):
        answers.append(place.abey("session", "step", session["sessionId"], "-p", prompt).splitlines()[1])
    items = place.rpc("agents/transcript", sessionId=session["sessionId"])["items"]
    kinds = [item["kind"] for item in items]
    assert (answers, kinds) == (
        ["one", "two", "three"],
        ["input", "toolCall", "answer", "input", "answer", "input", "answer"],
    )
    assert (place.ran(), [call["state"] for call in calls_of(place, session)]) == (1, ["failed"])


def test_three_parallel_calls_that_end_in_reverse_order_have_three_results(place: Place) -> None:
    """C11"""
    for name in ("a", "b"):
        os.mkfifo(place.work / name)
    script = [
        calls(*(("sh", {"command": command}) for command in ("cat a", "cat b; echo 1 > a", "echo 2 > b"))),
        says("x"),
    ]
    session = start(place, script=script)
    assert (session["output"], [call["output"] for call in calls_of(place, session)]) == ("x", ["1\n", "2\n", ""])


@pytest.mark.parametrize("ending", ["timeout", "cancel", "shutdown"])
def test_a_tool_that_is_cut_short_always_leaves_a_result_or_a_question(place: Place, ending: str) -> None:
    """C12"""
    limits = {"toolTimeoutSeconds": 2 if ending == "timeout" else 60}
    rules = [{"tool": "slow", "disposition": "runAsync"}]
    session = start(place, script=[calls(("slow", {})), says("end")], rules=rules, limits=limits)
    until(lambda: place.ran() == 1)
    match ending:
        case "timeout":
            until(lambda: place.session(session["sessionId"])["state"] == "userTurn")
        case "cancel":
            place.rpc("agents/cancel", sessionId=session["sessionId"])
        case "shutdown":
            place.abey("daemon", "stop", "--now")
    after = place.session(session["sessionId"])
    [call] = calls_of(place, session)
    expected = {
        "timeout": ("userTurn", "failed", "[timed out after 2 seconds]"),
        "cancel": ("completed", "cancelled", "cancelled by user; it had started and may have run"),
        "shutdown": ("partialUserTurn", "uncertain", None),
    }
    assert (after["state"], call["state"], call.get("output")) == expected[ending]
    assert (after["activity"], _processes("sleep 300", place)) == ("idle", [])


def test_a_sibling_that_has_run_does_not_run_again_when_the_other_is_completed(place: Place) -> None:
    """C13"""
    script = [calls(("bump", {}), ("sh", {"command": "echo hi"})), says("end")]
    session = start(place, script=script, rules=[deferred("sh")])
    place.kill_daemon()
    answer(place, session["pending"][0], "approve")
    place.kill_daemon()
    assert (resume(place, session), place.ran()) == ("end", 1)
    assert [call["output"] for call in calls_of(place, session)] == ["bumped\n", "hi\n"]


def test_only_the_deferred_calls_of_a_mixed_batch_are_wanted(place: Place) -> None:
    """C14"""
    script = [calls(("bump", {}), ("ext", {"n": 1}), ("ext", {"n": 2})), says("end")]
    session = start(place, script=script)
    inline = calls_of(place, session)[0]
    assert [call["arguments"] for call in session["pending"]] == [{"n": 1}, {"n": 2}]
    late = answer(place, inline, "result", content="no")
    assert (late["applied"], late["resolution"]["kind"], late["session"]) == (False, "finished", session)
    with pytest.raises(Refusal) as refused:
        answer(place, {"token": "f" * 32}, "result", content="no")
    assert refused.value.kind == "token/unknown"
    for call in reversed(session["pending"]):
        answer(place, call, "result", content=call["arguments"])
    assert [call["output"] for call in calls_of(place, session)] == ["bumped\n", {"n": 1}, {"n": 2}]
    assert resume(place, session) == "end"


@pytest.mark.parametrize("finish", ["length", None])
def test_a_call_whose_arguments_were_cut_is_never_run(place: Place, finish: str | None) -> None:
    """C15"""
    cut = {"tool": "sh", "rawArguments": '{"command":"echo line >> count","dry_'}
    entry = {"calls": [cut], **({"finishReason": finish} if finish else {})}
    agent = place.agent(script=[entry, says("sorry")])
    done = place.run("run", "--agent-file", str(agent), "-p", "x")
    [session] = place.rpc("agents/sessions")["items"]
    if finish == "length":
        assert (done.code, session["lastError"]["kind"], calls_of(place, session)) == (1, "model/invalid-output", [])
        assert resume(place, session) == "sorry"
    else:
        assert (done.out, [call["state"] for call in calls_of(place, session)]) == ("sorry\n", ["failed"])
    assert place.ran() == 0


def test_an_approval_runs_the_call_that_was_shown_and_no_other(place: Place) -> None:
    """C16"""
    script = [calls(*(("sh", {"command": f"touch ran-{name}"}) for name in "ab")), says("end")]
    session = start(place, script=script, **ASK)
    first, second = session["pending"]
    with pytest.raises(Refusal) as refused:
        answer(place, {**first, "argumentsHash": second["argumentsHash"]}, "approve")
    assert (refused.value.kind, list(place.work.glob("ran-*"))) == ("arguments/mismatch", [])
    answer(place, first, "approve")
    assert [path.name for path in place.work.glob("ran-*")] == ["ran-a"]
    assert place.session(session["sessionId"])["pending"] == [second]


def test_an_approval_after_a_cancel_is_told_what_became_of_the_call(place: Place) -> None:
    """C18"""
    with place.peer() as watching:
        session = start(place, script=[shell("echo hi"), says("next")], rules=[deferred("sh")])
        cancelled = place.rpc("agents/cancel", sessionId=session["sessionId"])["session"]
        late = answer(place, session["pending"][0], "approve")
        assert (late["applied"], late["resolution"]["kind"], late["session"]) == (False, "cancelled", cancelled)
        assert (cancelled["activity"], cancelled["state"], cancelled["pending"]) == ("idle", "completed", [])
        counts = [watching.hear("agents/summary")["pendingCount"]]
        while sum(counts) == 0 or counts[-1]:
            counts.append(watching.hear("agents/summary")["pendingCount"])
        assert counts[-2:] == [1, 0]
    sent = place.rpc("agents/send", sessionId=session["sessionId"], prompt="hi", run="turn")
    assert sent["session"]["output"] == "next"


def test_rejecting_one_call_leaves_the_others(place: Place) -> None:
    """C19"""
    script = [calls(*(("sh", {"command": f"touch ran-{name}"}) for name in "abc")), says("end")]
    session = start(place, script=script, **ASK)
    first, second, third = session["pending"]
    answer(place, second, "deny")
    answer(place, third, "approve")
    answer(place, first, "approve")
    assert sorted(path.name for path in place.work.glob("ran-*")) == ["ran-a", "ran-c"]
    assert [(call["state"], call["output"]) for call in calls_of(place, session)] == [
        ("completed", ""),
        ("denied", "denied by user"),
        ("completed", ""),
    ]
    assert resume(place, session) == "end"


@pytest.mark.parametrize(
    "command",
    [
        "sleep {s} & echo done",
        "(setsid sleep {s} &) ; echo done",
        "nohup sleep {s} >/dev/null 2>&1 & echo done",
        "sleep {s}",
    ],
)
def test_a_tool_leaves_no_process_behind_and_its_call_returns(place: Place, command: str) -> None:
    """C20"""
    seconds = f"300.{os.getpid()}"
    script = [shell(command.format(s=seconds)), says("end")]
    began = time.monotonic()
    session = start(place, script=script, limits={"toolTimeoutSeconds": 2})
    assert time.monotonic() - began < 8
    [call] = calls_of(place, session)
    expected = ("failed", "[timed out after 2 seconds]") if "done" not in command else ("completed", "done\n")
    assert (session["output"], (call["state"], call["output"])) == ("end", expected)
    assert _processes(f"sleep {seconds}", place) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_end_of_the_daemon_is_the_end_of_its_tools(place: Place, number: int) -> None:
    """C20, for the daemon itself"""
    seconds = f"301.{os.getpid()}"
    command = f"(setsid sleep {seconds} &) ; echo line >> {place.count}; sleep {seconds}"
    start(place, wait=False, script=[shell(command)])
    until(lambda: place.ran() == 1)
    pid = place.daemon_pid()
    assert pid is not None
    kill(pid, number)
    until(lambda: not _processes(f"sleep {seconds}", place), "for the tools to end")


def test_output_that_is_no_text_is_shown_with_marks_and_the_session_goes_on(place: Place) -> None:
    """C22"""
    command = r"printf 'a\344b\377\n'; head -c 100000 /dev/zero | tr '\0' '\200'; echo; echo end"
    session = start(place, script=[shell(command), says("I see")])
    [call] = calls_of(place, session)
    assert session["output"] == "I see"
    head, _, flag = call["output"].rpartition("\nend\n")
    assert (head[:5], flag) == ("a�b�\n", "[100002 bytes are no UTF-8]")
    place.kill_daemon()
    assert calls_of(place, session) == [call]


LONE = "ok \ud83d"
MENDED = "ok \ufffd"


def test_a_tool_that_prints_half_an_emoji_is_told_with_a_mark(place: Place) -> None:
    """C23"""
    session = start(place, script=[shell(r"printf 'ok \355\240\275'"), says("I see")])
    assert (session["output"], "\ud83d" in calls_of(place, session)[0]["output"]) == ("I see", False)
    place.kill_daemon()
    assert place.session(session["sessionId"])["output"] == "I see"


def test_half_an_emoji_in_a_result_from_outside_does_not_end_the_session(place: Place) -> None:
    """C23"""
    session = start(place, script=[calls(("ext", {})), says("I see"), says("and again")])
    answer(place, session["pending"][0], "result", content=LONE)
    assert resume(place, session) == "I see"
    assert [call["output"] for call in calls_of(place, session)] == [MENDED]
    place.kill_daemon()
    sent = place.rpc("agents/send", sessionId=session["sessionId"], prompt="hi", run="turn")
    assert sent["session"]["output"] == "and again"


def test_half_an_emoji_in_a_prompt_is_refused_before_it_is_kept(place: Place) -> None:
    """C23"""
    session = start(place, script=[says("one"), says("two")])
    with pytest.raises(Refusal) as refused:
        place.rpc("agents/send", sessionId=session["sessionId"], prompt=LONE)
    assert (refused.value.code, place.session(session["sessionId"])) == (-32602, session)


def test_half_an_emoji_in_the_arguments_of_the_model_does_not_end_the_session(place: Place) -> None:
    """C23"""
    asks = {"calls": [{"tool": "sh", "rawArguments": r'{"command": "printf %s \ud83d"}'}]}
    session = start(place, script=[asks, says("one"), says("two")])
    [call] = calls_of(place, session)
    assert (session["output"], call["state"], call["arguments"]) == ("one", "failed", {"command": "printf %s \ud83d"})
    place.kill_daemon()
    sent = place.rpc("agents/send", sessionId=session["sessionId"], prompt="x", run="turn")
    assert sent["session"]["output"] == "two"


def test_a_cut_through_an_emoji_keeps_or_marks_the_whole_character(place: Place) -> None:
    """C23"""
    command = "printf x; head -c 400000 /dev/zero | tr '\\0' ' ' | sed 's/ /😀/g'"
    session = start(place, script=[shell(command), says("I see")])
    [call] = calls_of(place, session)
    assert session["output"] == "I see"
    assert len(call["output"].encode()) <= 256 * 1024
    assert set(call["output"]) <= set("x😀\n[… 0123456789bytes left out …]")


BROKEN: dict[str, Any] = {
    "bad syntax": lambda path: path.write_text('{"slug": "b",\n  oops}'),
    "empty": lambda path: path.write_text(""),
    "a folder": lambda path: path.mkdir(),
    "not UTF-8": lambda path: path.write_bytes(b"\xff\xfe{}"),
    "a pipe": lambda path: os.mkfifo(path),
}


def test_one_broken_agent_file_stops_no_other_and_is_live_again_when_fixed(place: Place) -> None:
    """C25, at the start of the daemon"""
    for name in ("a", "c"):
        (place.agents / f"{name}.json").write_text(json.dumps(place.config(name, script=[says(name)])))
    path = place.agents / "b.json"
    for name, break_it in BROKEN.items():
        break_it(path)
        place.kill_daemon()
        listed = {item["slug"]: item for item in place.rpc("agents/list")["items"]}
        assert {slug: item["state"] for slug, item in listed.items()} == {"a": "ok", "b": "invalid", "c": "ok"}, name
        refused = place.run("session", "start", "--agent", "b", "-p", "x")
        assert (refused.code, refused.err.startswith(f"abey: {path}:"), refused.err.count("\n")) == (1, True, 1), name
        assert place.abey("run", "--agent", "c", "-p", "x") == "c\n"
        _remove(path)
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(place.config("b", script=[says("with a BOM")])).encode())
    assert place.abey("run", "--agent", "b", "-p", "x") == "with a BOM\n"


def test_a_session_goes_on_with_the_last_good_version_of_a_file_that_breaks_or_goes(place: Place) -> None:
    """C25, while running"""
    agent = place.agent(script=[calls(("ext", {})), says("end")])
    place.abey("run", "--agent-file", str(agent), "-p", "x", code=3)
    session = place.json("session", "show", "@")["session"]
    agent.write_text("{")
    done = place.json("session", "complete", session["pending"][0]["token"], "--text", "x")
    assert (done["session"]["state"], done["session"]["configState"]) == ("userTurn", "stale")
    place.kill_daemon()
    assert place.session(session["sessionId"])["configState"] == "stale"
    agent.unlink()
    assert resume(place, session) == "end"


def _remove(path: Path) -> None:
    if path.is_dir():
        path.rmdir()
    else:
        path.unlink()


def _processes(command: str, place: Place) -> list[str]:
    """The processes of this user with this command line, in the workspace of this test."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().rstrip(b"\0").split(b"\0") if entry.name.isdigit() else []
            cwd = os.readlink(entry / "cwd") if words else ""
        except OSError:
            continue
        if b" ".join(words).decode(errors="replace") == command and cwd == str(place.work):
            found.append(entry.name)
    return found
