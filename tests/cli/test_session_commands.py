"""`abey session`: what is asked of the daemon, what is printed, and the exit code."""

import json
from pathlib import Path

import pytest
from support.canned_daemon import (
    AT,
    SESSION_ID,
    TOKEN,
    CannedDaemon,
    Refusal,
    answered,
    empty,
    ended,
    pending,
    session,
    tool_item,
    transcript,
    waiting,
)

from abey_cli.wording import NEXT, OURS

ANOTHER = f"`abey session send {SESSION_ID} TEXT` gives it another input"
RESUME = f"`abey session resume {SESSION_ID}` goes on"
LISTING = {"slug": "a", "path": "/a.json", "description": "", "state": "ok", "envNames": [], "diagnostics": []}


def test_start_prints_the_id_and_the_state(abey, daemon: CannedDaemon, work: Path) -> None:
    daemon.on["agents/start"] = session()
    ran = abey("session", "start", "--agent-file", "my.json", "-p", "Research", "--title", "T", "--id", "mine")
    assert ran == (0, f"session-id: {SESSION_ID}\nState: UserTurn (ready for LLM)\n", "")
    assert daemon.asked == [
        ("agents/validate", {"uri": str(work / "my.json")}),
        (
            "agents/start",
            {
                "agentFile": str(work / "my.json"),
                "prompt": "Research",
                "cwd": str(work),
                "sessionId": "mine",
                "title": "T",
                "run": "none",
            },
        ),
    ]


def test_start_says_what_its_agent_file_is_warned_of(abey, daemon: CannedDaemon, work: Path) -> None:
    place = {"start": {"line": 2, "character": 4}, "end": {"line": 2, "character": 9}}
    typo = {
        "range": place,
        "severity": 2,
        "code": "unmatched-rule",
        "message": "no tool has this name",
        "source": "abey",
    }
    daemon.on["agents/validate"] = {"diagnostics": [{**typo, "severity": 4}, typo]}
    daemon.on["agents/start"] = session()
    ran = abey("session", "start", "--agent-file", "my.json", "-p", "x")
    assert (ran.code, ran.err) == (0, f"{work / 'my.json'}:3:5: warning: no tool has this name\n")


def test_a_session_of_a_broken_agent_file_says_so(abey, daemon: CannedDaemon) -> None:
    problem = "/w/a.json:3:5: no such field; `abey agents check FILE` says all that is wrong with it"
    daemon.on["agents/start"] = session(configState="stale", configProblem=problem)
    ran = abey("session", "start", "--agent", "a", "-p", "x")
    assert (ran.code, ran.err) == (0, f"the agent's last good version is in use: {problem}\n")


def test_start_quietly_prints_the_id_alone(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/start"] = session()
    assert abey("session", "start", "--agent", "a", "-p", "x", "-q") == (0, f"{SESSION_ID}\n", "")


def test_start_without_a_prompt_is_an_empty_session(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/start"] = empty()
    ran = abey("session", "start", "--agent", "a")
    assert ran == (0, f"session-id: {SESSION_ID}\nState: empty session\n", "")


def test_start_with_a_step_prints_the_calls_of_the_answer(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/start"] = session(state="llmTurn")
    daemon.on["agents/transcript"] = transcript(tool_item("bash_command", "undecided"))
    ran = abey("session", "start", "--agent", "a", "-p", "x", "--step")
    assert ran == (0, f"session-id: {SESSION_ID}\nState: LlmTurn\n  tool call: bash_command\n", "")
    assert daemon.params("agents/start")[0]["run"] == "step"


@pytest.mark.parametrize(
    ("missing", "cure"), [({"missingEnv": "OPENAI_API_KEY"}, "set OPENAI_API_KEY"), ({}, "mend the key")]
)
def test_a_step_whose_key_is_missing_names_the_session_and_what_to_do(
    abey, daemon: CannedDaemon, missing, cure
) -> None:
    def fails(_params: object) -> object:
        raise Refusal(-31017, "no key", kind="model/auth", sessionId=SESSION_ID, session=session(), **missing)

    daemon.on["agents/start"] = daemon.on["agents/step"] = fails
    words = f"abey: no key (model/auth); {cure}, then `abey session resume {SESSION_ID}` goes on\n"
    said = (1, f"session-id: {SESSION_ID}\n", words)
    assert abey("session", "start", "--agent", "a", "-p", "x", "--step") == said
    assert abey("session", "step", SESSION_ID) == said


def test_step_prints_where_the_session_is(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/step"] = {"outcome": "advanced", "session": waiting()}
    daemon.on["agents/transcript"] = transcript(
        tool_item("bump", "completed"), tool_item("bash_command", "deferred", token=TOKEN)
    )
    assert abey("session", "step", SESSION_ID) == (
        0,
        "State: PartialUserTurn\n  completed: 1\n  deferred:  1\n  ready:     0\n"
        f"  token: {TOKEN} (bash_command) approval required\n",
        "",
    )


@pytest.mark.parametrize(
    ("outcome", "found", "code"),
    [
        ("advanced", session(), 0),
        ("completed", answered(), 0),
        ("completed", ended("failed"), 7),
        ("completed", ended("limit"), 7),
        ("completed", ended("tripped"), 7),
        ("completed", session(state="stopped"), 7),
        ("waiting", session(), 3),
    ],
)
def test_the_exit_code_of_a_step_says_what_it_came_to(abey, daemon: CannedDaemon, outcome, found, code) -> None:
    daemon.on["agents/step"] = {"outcome": outcome, "session": found}
    assert abey("session", "step", SESSION_ID).code == code


def test_the_last_step_prints_the_final_text(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/step"] = {"outcome": "completed", "session": answered("all\ndone")}
    assert abey("session", "step", SESSION_ID).out == "State: LlmTurn (completed)\nall\ndone\n"


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (answered(), ""),
        (empty(), f"`abey session send {SESSION_ID} TEXT` gives it an input\n"),
        (ended("tripped"), f"`abey session continue {SESSION_ID}` goes on without another input\n"),
    ],
)
def test_a_step_after_which_there_is_nothing_to_do_says_what_there_is(abey, daemon, found, words) -> None:
    daemon.on["agents/step"] = {"outcome": "completed", "session": found}
    assert abey("session", "step", SESSION_ID).err == words


def test_a_step_that_does_nothing_says_that_the_answer_is_no_news(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/get"] = {"session": answered()}
    daemon.on["agents/step"] = {"outcome": "completed", "session": answered()}
    said = f"nothing was done: the last turn was answered before; {ANOTHER}\n"
    assert abey("session", "step", SESSION_ID) == (0, "State: LlmTurn (completed)\nall done\n", said)
    assert abey("session", "step", SESSION_ID, "--json").err == ""


def test_with_json_the_result_is_printed_as_it_is(abey, daemon: CannedDaemon) -> None:
    result = {"outcome": "waiting", "session": waiting(pending(arguments={"b": 1.0, "a": "\u202e"}))}
    daemon.on["agents/step"] = result
    ran = abey("session", "step", SESSION_ID, "--json", "--if-revision", "7")
    assert (ran.code, json.loads(ran.out), ran.out.isascii(), ran.err) == (3, result, True, "")
    assert daemon.asked == [("agents/step", {"sessionId": SESSION_ID, "ifRevision": 7})]


@pytest.mark.parametrize(
    ("kind", "number", "code"),
    [
        ("session/unknown", -31001, 4),
        ("token/unknown", -31005, 4),
        ("agent/unknown", -31009, 4),
        ("session/busy", -31002, 5),
        ("overloaded", -31011, 1),
        ("arguments/mismatch", -31006, 5),
        ("session/stopped", -31018, 5),
        ("daemon/gone", -31021, 6),
        ("model/auth", -31017, 1),
        ("state/invalid", -31008, 1),
        ("daemon/draining", -31016, 1),
        ("method-not-found", -32601, 1),
    ],
)
def test_every_kind_of_error_has_its_exit_code(abey, daemon: CannedDaemon, kind, number, code) -> None:
    def refuse(_params: object) -> object:
        raise Refusal(number, "no \x1b", kind=kind, retryable=False)

    daemon.on["agents/get"] = refuse
    next_words = NEXT.get(kind, "").format(id=SESSION_ID)
    assert abey("session", "show", SESSION_ID) == (code, "", f"abey: no \\x1b ({kind}){next_words}\n")
    error = {"code": number, "message": "no \x1b", "data": {"kind": kind, "retryable": False}}
    ran = abey("session", "show", SESSION_ID, "--json")
    assert (ran.code, json.loads(ran.out), ran.err) == (code, {"error": error}, "")


@pytest.mark.parametrize(("theirs", "ours"), OURS, ids=[theirs for theirs, _ in OURS])
def test_what_the_daemon_says_of_methods_is_said_of_commands(abey, daemon: CannedDaemon, theirs, ours) -> None:
    def refuse(_params: object) -> object:
        raise Refusal(-31008, f"it is so{theirs} it", kind="state/invalid", retryable=False)

    daemon.on["agents/continue"] = refuse
    ran = abey("session", "continue", SESSION_ID)
    assert ran == (1, "", f"abey: it is so{ours.format(id=SESSION_ID)} it (state/invalid)\n")
    assert "agents/" not in ours


def test_a_model_call_that_failed_can_be_tried_again(abey, daemon: CannedDaemon) -> None:
    def refuse(_params: object) -> object:
        raise Refusal(-31017, "no answer", kind="model/unavailable", sessionId=SESSION_ID, retryable=True)

    daemon.on["agents/resume"] = refuse
    said = f"abey: no answer (model/unavailable); `abey session resume {SESSION_ID}` asks again\n"
    assert abey("session", "resume", SESSION_ID) == (1, "", said)


def test_nothing_on_stdin_is_no_input(abey, daemon: CannedDaemon) -> None:
    assert abey("session", "send", SESSION_ID, "-") == (2, "", "abey: there is no text on stdin\n")
    assert daemon.asked == []


def test_a_conflict_of_revisions_says_what_to_do(abey, daemon: CannedDaemon) -> None:
    def refuse(_params: object) -> object:
        raise Refusal(-31003, f"session {SESSION_ID} is at revision 9, not 7", kind="revision/conflict", revision=9)

    daemon.on["agents/step"] = refuse
    assert abey("session", "step", SESSION_ID, "--if-revision", "7") == (
        5,
        "",
        f"abey: session {SESSION_ID} is at revision 9, not 7 (revision/conflict); look at it again (`abey session "
        "show`), and where it is still meant, repeat it with --if-revision 9\n",
    )


def test_an_error_of_the_protocol_itself_is_exit_1(abey, daemon: CannedDaemon) -> None:
    assert abey("session", "continue", SESSION_ID) == (1, "", "abey: no method agents/continue\n")


def test_without_a_daemon_a_command_that_starts_none_is_exit_6(abey, tmp_path: Path) -> None:
    message = f"no daemon is running for {tmp_path / 'state'}; `abey daemon start` starts one"
    assert abey("session", "list") == (6, "", f"abey: {message}\n")
    error = {"code": 0, "message": message, "data": {"kind": "daemon/unreachable"}}
    assert json.loads(abey("session", "list", "--json").out) == {"error": error}


def test_a_daemon_of_another_protocol_is_refused(abey, daemon: CannedDaemon) -> None:
    daemon.agents = {"protocolVersion": "2.1"}
    way_out = "`abey daemon restart` puts one of this build in its place, and sessions stay"
    said = f"abey: the daemon speaks protocol 2.1, this client 1 (protocol/unsupported); {way_out}\n"
    assert abey("session", "list") == (1, "", said)


def test_the_handshake_says_who_we_are_and_gives_the_environment(abey, daemon: CannedDaemon, monkeypatch) -> None:
    monkeypatch.setenv("A_KEY", "canary")
    daemon.on["agents/get"] = {"session": session()}
    abey("session", "show", SESSION_ID)
    [params] = daemon.initialized
    agents = params["capabilities"]["experimental"]["agents"]
    assert agents.pop("clientId").startswith("cli-")
    assert agents == {
        "protocolVersions": ["1.0"],
        "name": "abey",
        "kind": "cli",
        "ui": {"approvals": True, "editArguments": True, "diffs": False},
    }
    assert params["initializationOptions"]["env"]["A_KEY"] == "canary"


def test_pending_lists_what_waits_and_quietly_the_tokens_alone(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/pending"] = {"items": [pending()]}
    assert abey("session", "pending").out == (
        f"token: {TOKEN} (bash_command) approval required\n"
        f"  session: {SESSION_ID}\n"
        "  kind: approval\n"
        '  arguments: {"command": "date"}\n'
    )
    assert abey("session", "pending", SESSION_ID, "-q").out == f"{TOKEN}\n"
    assert daemon.params("agents/pending") == [{"limit": 1000}, {"sessionId": SESSION_ID, "limit": 1000}]


def test_pending_gathers_every_page(abey, daemon: CannedDaemon) -> None:
    first, second = pending(), pending(token="7" * 32)
    pages = {None: {"items": [first], "nextCursor": "c"}, "c": {"items": [second]}}
    daemon.on["agents/pending"] = lambda params: pages[params.get("cursor")]
    assert json.loads(abey("session", "pending", "--json").out) == {"items": [first, second]}


def test_nothing_pending_is_said_to_people_only(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/pending"] = {"items": []}
    assert abey("session", "pending") == (0, "", "no call waits for anybody\n")


def test_pause_says_why_and_shows_it(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/pause"] = session(paused={"reason": "lunch", "at": AT})
    ran = abey("session", "pause", SESSION_ID, "--reason", "lunch")
    assert ran == (0, "State: UserTurn (ready for LLM)\n  paused: lunch\n", "")
    assert daemon.asked == [("agents/pause", {"sessionId": SESSION_ID, "reason": "lunch"})]


@pytest.mark.parametrize(
    ("paused", "why"),
    [
        ({"reason": "lunch\x1b", "at": AT}, "with the reason 'lunch\\x1b'"),
        ({"at": AT}, "without a reason"),
    ],
)
def test_a_reason_that_is_not_taken_is_told(abey, daemon: CannedDaemon, paused, why: str) -> None:
    daemon.on["agents/pause"] = session(paused=paused)
    ran = abey("session", "pause", SESSION_ID, "--reason", "tea")
    assert (ran.code, ran.err) == (0, f"it was paused before, {why}, and that stays\n")
    assert abey("session", "pause", SESSION_ID).err == ""


@pytest.mark.parametrize(
    ("option", "delivery", "position", "line"),
    [
        ((), "turn", 0, "input-id: i1\n"),
        (("--queue",), "queue", 2, "input-id: i1, 2 in the queue\n"),
        (("--interrupt",), "interrupt", 1, "input-id: i1, 1 in the queue\n"),
    ],
)
def test_send_delivers_as_it_is_told(abey, daemon: CannedDaemon, option, delivery, position, line) -> None:
    daemon.on["agents/send"] = {"inputId": "i1", "position": position, "session": session()}
    ran = abey("session", "send", SESSION_ID, "-", *option, typed="and Rome\n")
    assert ran == (0, f"{line}State: UserTurn (ready for LLM)\n", f"{RESUME}\n")
    assert daemon.asked == [("agents/send", {"sessionId": SESSION_ID, "prompt": "and Rome", "delivery": delivery})]


QUEUED = [{"inputId": "i1", "delivery": "interrupt"}, {"inputId": "other", "delivery": "queue"}]


@pytest.mark.parametrize(("given", "asked"), [("oth", "other"), ("i1", "i1"), ("gone", "gone")])
def test_withdraw_takes_a_prefix_of_what_waits(abey, daemon: CannedDaemon, given: str, asked: str) -> None:
    daemon.on["agents/get"] = {"session": session(queued=QUEUED)}
    daemon.on["agents/withdraw"] = session(queued=QUEUED[:1])
    ran = abey("session", "withdraw", SESSION_ID, given)
    assert ran == (0, "State: UserTurn (ready for LLM)\n  queued: 1\n", "")
    assert daemon.params("agents/withdraw") == [{"sessionId": SESSION_ID, "inputId": asked}]


def test_what_is_in_the_transcript_cannot_be_withdrawn(abey, daemon: CannedDaemon) -> None:
    def refuse(_: object) -> None:
        raise Refusal(-31008, "input i1 is in the transcript already", kind="state/invalid", retryable=False)

    daemon.on["agents/get"] = {"session": session()}
    daemon.on["agents/withdraw"] = refuse
    ran = abey("session", "withdraw", SESSION_ID, "i1")
    assert ran == (1, "", "abey: input i1 is in the transcript already (state/invalid)\n")


def test_cancel_of_nothing_is_exit_0_and_says_so(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/cancel"] = {"applied": False, "session": ended("cancelled")}
    said = (0, "State: LlmTurn (cancelled)\n", "no turn is running: nothing was cancelled\n")
    assert abey("session", "cancel", SESSION_ID) == said


def test_stop_wants_a_yes(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/stop"] = {"applied": True, "session": session(state="stopped")}
    assert abey("session", "stop", SESSION_ID) == (2, "", "abey: stopping ends a session for good; say --yes\n")
    unsure = abey("session", "stop", SESSION_ID, typed="\n", terminal=True)
    assert (unsure.code, unsure.out, daemon.asked) == (1, "", [])
    assert abey("session", "stop", SESSION_ID, "--yes") == (0, "State: Stopped\n", "")


def test_list_names_damaged_sessions_on_stderr(abey, daemon: CannedDaemon) -> None:
    damage = {"sessionId": "x", "reason": "a record is cut", "offset": 12}
    daemon.on["agents/sessions"] = {"items": [session()], "damaged": [damage]}
    assert abey("session", "list") == (
        0,
        f"{SESSION_ID}  userTurn  a  Research  /w\n",
        "abey: session x is damaged at byte 12: a record is cut; `abey repair x` says what can be done\n",
    )
    assert json.loads(abey("session", "list", "--json").out) == {"items": [session()], "damaged": [damage]}


def test_rewind_prints_the_state_that_it_came_to_and_the_way_back(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/get"] = {"session": answered(revision=9)}
    daemon.on["agents/rewind"] = session(revision=10)
    said = f"`abey session rewind {SESSION_ID} --to 9` takes it back to where it was\n{RESUME}\n"
    assert abey("session", "rewind", SESSION_ID, "--to", "3") == (0, "State: UserTurn (ready for LLM)\n", said)
    asked = {"sessionId": SESSION_ID}
    assert daemon.asked == [("agents/get", asked), ("agents/rewind", {**asked, "to": 3})]
    assert abey("session", "rewind", SESSION_ID, "--to", "3", "--json").err == ""


@pytest.mark.parametrize(
    "left",
    [{**waiting(), "revision": 9}, session(revision=10)],
    ids=["calls waited, which is nowhere to go back to", "no move"],
)
def test_rewind_names_no_way_back_where_there_is_none(abey, daemon: CannedDaemon, left: object) -> None:
    daemon.on["agents/get"] = {"session": left}
    daemon.on["agents/rewind"] = session(revision=10)
    assert abey("session", "rewind", SESSION_ID, "--to", "3").err == f"{RESUME}\n"


def test_rewind_without_a_revision_says_where_to_find_one(abey, daemon: CannedDaemon) -> None:
    ran = abey("session", "rewind", SESSION_ID)
    assert (ran.code, "--to" in ran.err, daemon.asked) == (2, True, [])
