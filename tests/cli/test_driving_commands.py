"""`run`, `resume` and `wait`: to the answer, or to where somebody must decide."""

import json
import threading
from pathlib import Path

import pytest
from support.canned_daemon import (
    AT,
    HASH,
    SESSION_ID,
    TOKEN,
    CannedDaemon,
    Refusal,
    answered,
    completion,
    empty,
    ended,
    pending,
    session,
    tool_item,
    transcript,
    waiting,
)

YIELDED = (
    "State: PartialUserTurn\n  completed: 0\n  deferred:  1\n  ready:     0\n"
    f"  token: {TOKEN} (bash_command) approval required\n"
)

APPROVE = f"`abey session approve {TOKEN}` (or `deny`)"
RESUME = f"`abey session resume {SESSION_ID}` goes on"
SEND = f"`abey session send {SESSION_ID} TEXT` gives it an input"
CONTINUE = f"`abey session continue {SESSION_ID}` goes on without another input"


def result(outcome: str, found: object) -> dict[str, object]:
    return {"outcome": outcome, "steps": 1, "session": found}


@pytest.fixture
def ready(daemon: CannedDaemon) -> CannedDaemon:
    """A daemon that starts any agent, and shows one deferred call as the last batch."""
    daemon.on["agents/start"] = session()
    daemon.on["agents/get"] = {"session": session()}
    daemon.on["agents/list"] = {"items": [], "untrusted": []}
    daemon.on["agents/transcript"] = transcript(tool_item("bash_command", "deferred"))
    return daemon


def test_a_run_without_a_step_says_that_the_answer_is_no_news(abey, ready: CannedDaemon) -> None:
    ready.on["agents/resume"] = {**result("completed", answered()), "steps": 0}
    another = f"`abey session send {SESSION_ID} TEXT` gives it another input"
    told = f"nothing was done: the last turn was answered before; {another}\n"
    assert abey("session", "resume", SESSION_ID) == (0, "all done\n", told)
    assert abey("session", "resume", SESSION_ID, "--json").err == ""


def test_run_prints_the_final_text_alone(abey, ready: CannedDaemon) -> None:
    ready.on["agents/run"] = result("completed", answered())
    ran = abey("run", "--agent", "a", "-p", "x", "--max-steps", "3")
    assert ran == (0, "all done\n", f"session-id: {SESSION_ID}\n")
    assert ready.params("agents/run") == [{"sessionId": SESSION_ID, "until": "yield", "maxSteps": 3}]


@pytest.mark.parametrize(
    ("found", "ran"),
    [
        (answered(), (0, "all done\n", "")),
        (ended("failed"), (7, "", f"State: LlmTurn (failed)\n{CONTINUE}\n")),
        (waiting(), (3, YIELDED, f"next: {APPROVE}; then {RESUME}\n")),
    ],
)
def test_continue_prints_what_resume_does(abey, ready: CannedDaemon, found: object, ran: object) -> None:
    ready.on["agents/continue"] = found
    assert abey("session", "continue", SESSION_ID, "--if-revision", "4") == ran
    assert ready.params("agents/continue") == [{"sessionId": SESSION_ID, "ifRevision": 4}]


def test_run_prints_the_state_and_its_tokens_after_a_yield(abey, ready: CannedDaemon) -> None:
    ready.on["agents/run"] = result("waiting", waiting())
    assert abey("run", "--agent", "a", "-p", "x", "-q") == (3, YIELDED, "")
    told = f"session-id: {SESSION_ID}\nnext: {APPROVE}; then {RESUME}\n"
    assert abey("run", "--agent", "a", "-p", "x") == (3, YIELDED, told)
    assert abey("run", "--agent", "a", "-p", "x", "--json").err == f"session-id: {SESSION_ID}\n"


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (waiting(pending(kind="question")), f"next: `abey session answer {TOKEN} VALUE`; then {RESUME}\n"),
        (waiting(pending(kind="external")), f"next: `abey session complete {TOKEN} FILE`; then {RESUME}\n"),
        (
            waiting(pending(kind="uncertain")),
            f"next: `abey session rerun {TOKEN}`, or `abey session complete {TOKEN} FILE` (or `--error MSG`); "
            f"then {RESUME}\n",
        ),
        (
            waiting(pending(), pending(token="7" * 32)),
            f"next: {APPROVE}, and so for each token that `abey session pending {SESSION_ID}` shows; then {RESUME}\n",
        ),
        (waiting(pending(kind="running"), pending()), f"next: {APPROVE}; then {RESUME}\n"),
        (
            waiting(pending(kind="running", childId="kid", reason="session kid waits for an approval of sh")),
            f"next: answer what the children wait for, which `abey session pending {SESSION_ID}` shows; "
            f"then {RESUME}\n",
        ),
        (session(paused={"at": AT}), f"{RESUME}\n"),
        (session(), f"{RESUME}\n"),
        (session(activity="tools"), ""),
    ],
)
def test_the_next_command_is_named_after_a_yield(abey, ready: CannedDaemon, found, words) -> None:
    ready.on["agents/resume"] = result("waiting", found)
    ran = abey("session", "resume", SESSION_ID)
    assert (ran.code, ran.err) == (3, words)


@pytest.mark.parametrize(
    ("outcome", "found", "code"),
    [
        ("completed", answered(), 0),
        ("completed", ended("cancelled"), 7),
        ("completed", ended("failed"), 7),
        ("completed", ended("tripped"), 7),
        ("completed", ended("limit"), 7),
        ("cancelled", ended("cancelled"), 7),
        ("cancelled", session(state="stopped"), 7),
        ("waiting", waiting(), 3),
        ("paused", session(paused={"at": AT}), 3),
        ("limit", session(), 3),
    ],
)
def test_the_exit_code_says_how_it_ended(abey, ready: CannedDaemon, outcome, found, code) -> None:
    ready.on["agents/resume"] = result(outcome, found)
    assert abey("session", "resume", SESSION_ID).code == code


def test_a_turn_without_an_answer_is_told_on_stderr(abey, ready: CannedDaemon) -> None:
    ready.on["agents/resume"] = result("completed", ended("cancelled"))
    assert abey("session", "resume", SESSION_ID) == (7, "", f"State: LlmTurn (cancelled)\n{CONTINUE}\n")


def test_json_is_the_result_of_the_run(abey, ready: CannedDaemon) -> None:
    ready.on["agents/run"] = result("completed", answered())
    assert json.loads(abey("run", "--agent", "a", "-p", "x", "--json").out) == result("completed", answered())


def test_run_goes_on_with_a_session_and_its_new_prompt(abey, ready: CannedDaemon) -> None:
    ready.on["agents/send"] = {"inputId": "i", "position": 0, "session": session()}
    ready.on["agents/run"] = result("completed", answered())
    abey("run", "--session", SESSION_ID, "-p", "and Rome?")
    abey("run", "--session", SESSION_ID, "--until", "turn")
    assert ready.asked == [
        ("agents/send", {"sessionId": SESSION_ID, "prompt": "and Rome?"}),
        ("agents/get", {"sessionId": SESSION_ID}),
        ("agents/run", {"sessionId": SESSION_ID, "until": "yield"}),
        ("agents/get", {"sessionId": SESSION_ID}),
        ("agents/run", {"sessionId": SESSION_ID, "until": "turn"}),
    ]


def test_run_without_a_prompt_starts_nothing(abey, ready: CannedDaemon) -> None:
    said = "abey: say what to do: -p TEXT, another prompt option, or text on stdin\n"
    assert abey("run", "--agent", "a") == (2, "", said)
    assert abey("run", "--agent", "a", "-p", "") == (2, "", "abey: the prompt is empty\n")
    assert ready.params("agents/start") == []


def test_run_with_a_session_takes_nothing_that_is_for_a_new_one(abey, daemon: CannedDaemon) -> None:
    said = "abey: --agent-file is for a new session, not with --session\n"
    assert abey("run", "--session", SESSION_ID, "--agent-file", "a.json") == (2, "", said)


@pytest.mark.parametrize(("mode", "asked"), [("synchronous", [True]), ("asynchronous", [None])])
def test_run_is_synchronous_where_the_agent_says_so(abey, ready: CannedDaemon, work: Path, mode, asked) -> None:
    (work / "a.json").write_text("{}")
    ready.on["agents/start"] = session(executionMode=mode)
    ready.on["agents/run"] = result("completed", answered())
    abey("run", "--agent-file", "a.json", "-p", "x")
    assert [params.get("synchronous") for params in ready.params("agents/run")] == asked


class Approvals:
    """A session that yields with one call until it is answered, then answers."""

    def __init__(self, daemon: CannedDaemon) -> None:
        self.open = True
        daemon.on["agents/resume"] = daemon.on["agents/run"] = self.run
        daemon.on["agents/complete"] = self.complete

    def run(self, _params: object) -> object:
        return result("waiting", waiting()) if self.open else result("completed", answered())

    def complete(self, params: dict[str, dict[str, str]]) -> object:
        self.open = False
        return completion(params["outcome"]["kind"])


@pytest.mark.parametrize(
    ("typed", "outcome", "code", "out"),
    [
        ("a\n", {"kind": "approve"}, 0, "all done\n"),
        ("\ny\nyes\nAPPROVE\n", {"kind": "approve"}, 0, "all done\n"),
        ("d\n", {"kind": "deny"}, 0, "all done\n"),
        ("e\n", {"kind": "approve", "arguments": {"command": "cal"}}, 0, "all done\n"),
        ("l\n", None, 3, YIELDED),
        ("\n", None, 3, YIELDED),
        ("", None, 3, YIELDED),
    ],
)
def test_at_a_terminal_approvals_are_asked_and_nothing_is_the_default(
    abey, ready: CannedDaemon, monkeypatch, typed, outcome, code, out
) -> None:
    Approvals(ready)
    monkeypatch.setenv("VISUAL", "sed -i s/date/cal/")
    ran = abey("session", "resume", SESSION_ID, typed=typed, terminal=True)
    assert (ran.code, ran.out) == (code, out)
    assert [sent["outcome"] for sent in ready.params("agents/complete")] == ([outcome] if outcome else [])
    assert f"hash: {HASH}\n" in ran.err


UNCERTAIN = pending(kind="uncertain", startedAt="2026-11-30T10:00:00.000Z", outputSoFar="half\x1b[2J of\nit")


@pytest.mark.parametrize(
    ("typed", "outcome", "bound"),
    [
        ("r\nit is done\n", {"kind": "result", "content": "it is done"}, None),
        ("again\n", {"kind": "rerun"}, HASH),
        ("f\nno disk\n", {"kind": "error", "message": "no disk"}, None),
        ("\nyes\na\n", {"kind": "rerun"}, HASH),
        ("ran\n\nl\n", None, None),
        ("", None, None),
    ],
)
def test_at_a_terminal_it_is_asked_what_became_of_a_call_that_may_have_run(
    abey, ready: CannedDaemon, typed, outcome, bound
) -> None:
    ready.on["agents/resume"] = result("waiting", waiting(UNCERTAIN))
    ready.on["agents/run"] = result("completed", answered())
    ready.on["agents/complete"] = lambda params: completion(params["outcome"]["kind"])
    ran = abey("session", "resume", SESSION_ID, typed=typed, terminal=True)
    sent = [(one["outcome"], one.get("argumentsHash")) for one in ready.params("agents/complete")]
    assert (ran.code, sent) == ((0, [(outcome, bound)]) if outcome else (3, []))
    shown = "started: 2026-11-30T10:00:00.000Z\noutput so far:\n  half\\x1b[2J of\n  it\n"
    assert shown in ran.err


def test_what_is_no_answer_has_the_choices_explained(abey, ready: CannedDaemon) -> None:
    Approvals(ready)
    ran = abey("session", "resume", SESSION_ID, typed="\na\n", terminal=True)
    question = "[a]pprove, al[w]ays, [e]dit, [d]eny, [l]ater? "
    explained = (
        "  approve  runs the call as it is shown\n"
        "  always   runs it, and lets you choose a rule by which such calls run without asking\n"
        "  edit     opens its arguments in your editor, and then runs it with those\n"
        "  deny     runs nothing; you are asked why, and the model is told so\n"
        "  later    leaves it as it is, to be answered with `abey session approve` or `deny`\n"
        "A word or the letter in brackets is an answer.\n"
    )
    assert (ran.code, f"{question}{explained}{question}" in ran.err) == (0, True)


FIELDS = {"name": {"type": "string", "description": "yours"}, "age": {"type": "integer"}}
ASKED = {"kind": "response", "prompt": "who?\x1b", "schema": {"properties": FIELDS, "required": ["name"]}}


@pytest.mark.parametrize(
    ("question", "typed", "outcome"),
    [
        (ASKED, "a\nAda\n7\n", {"kind": "answer", "value": {"name": "Ada", "age": 7}}),
        (ASKED, "a\nAda\n\n", {"kind": "answer", "value": {"name": "Ada"}}),
        (ASKED, "a\nAda\nold\nwhat\ndecline\n", {"kind": "cancel"}),
        (ASKED, "l\n", None),
        (ASKED, "", None),
        ({"kind": "approval", "prompt": "sure?"}, "answer\nyes\n", {"kind": "answer", "value": True}),
        ({"kind": "response", "prompt": "why?"}, "a\nso\n", {"kind": "answer", "value": "so"}),
    ],
)
def test_what_a_tool_asks_is_asked_at_the_terminal(abey, ready: CannedDaemon, question, typed, outcome) -> None:
    ready.on["agents/resume"] = result("waiting", waiting(pending(kind="question", question=question)))
    ready.on["agents/run"] = result("completed", answered())
    ready.on["agents/complete"] = lambda params: completion(params["outcome"]["kind"])
    ran = abey("session", "resume", SESSION_ID, typed=typed, terminal=True)
    assert (ran.code, [one["outcome"] for one in ready.params("agents/complete")]) == (
        (0, [outcome]) if outcome else (3, [])
    )
    assert "\x1b" not in ran.err


def test_a_tool_that_asks_again_is_answered_again(abey, ready: CannedDaemon) -> None:
    first, second = (
        pending(kind="question", question={"kind": "approval", "prompt": p}, argumentsHash=p * 32) for p in ("aa", "bb")
    )
    answers = iter([waiting(first), waiting(second), answered()])
    ready.on["agents/resume"] = ready.on["agents/run"] = lambda _params: result("waiting", next(answers))
    ready.on["agents/complete"] = completion("answer")
    abey("session", "resume", SESSION_ID, typed="a\nyes\na\nno\n", terminal=True)
    sent = [(one["outcome"]["value"], one["argumentsHash"], one["resume"]) for one in ready.params("agents/complete")]
    assert sent == [(True, "aa" * 32, True), (False, "bb" * 32, True)]


def test_a_call_left_for_later_is_not_asked_about_again(abey, ready: CannedDaemon) -> None:
    answers = iter([waiting(pending(), pending(token="7" * 32)), waiting()])
    ready.on["agents/resume"] = ready.on["agents/run"] = lambda _params: result("waiting", next(answers))
    ready.on["agents/complete"] = completion("approve")
    ran = abey("session", "resume", SESSION_ID, typed="l\na\n", terminal=True)
    assert (ran.code, ran.out, ran.err.count("[l]ater?")) == (3, YIELDED, 2)


def test_a_refused_approval_is_asked_again(abey, ready: CannedDaemon) -> None:
    def refuse(_params: object) -> object:
        raise Refusal(-31014, "the policy does not let it run", kind="permission/denied")

    ready.on["agents/resume"] = result("waiting", waiting())
    ready.on["agents/complete"] = refuse
    ran = abey("session", "resume", SESSION_ID, typed="a\nl\n", terminal=True)
    assert (ran.code, ran.err.count("[l]ater?"), "the policy does not let it run" in ran.err) == (3, 2, True)


@pytest.mark.parametrize(
    ("options", "ci", "terminal"), [(("--no-input",), "", True), ((), "true", True), ((), "", False)]
)
def test_nobody_is_asked_where_nobody_is(abey, ready: CannedDaemon, options, ci, terminal) -> None:
    Approvals(ready)
    ran = abey("session", "resume", SESSION_ID, *options, typed="a\n", terminal=terminal, ci=ci)
    assert (ran.code, ran.out, ready.params("agents/complete")) == (3, YIELDED, [])


class Followed:
    """A session whose next look shows the next state, with an event for every change."""

    def __init__(self, daemon: CannedDaemon, *states: object) -> None:
        self.states = list(states)
        daemon.on["agents/get"] = lambda _params: {"session": self.states[0]}
        daemon.on["agents/events"] = self.events

    def events(self, params: dict[str, int]) -> object:
        if "waitMs" in params:
            self.states.pop(0)
            return {"events": [], "nextSeq": params["after"] + 2, "hasMore": False, "status": "ok"}
        return {"events": [], "nextSeq": 5, "hasMore": False, "status": "expired"}


@pytest.mark.parametrize(
    ("options", "states", "code", "out"),
    [
        ((), [answered()], 0, "all done\n"),
        ((), [session(), session(activity="model"), answered()], 0, "all done\n"),
        ((), [session(activity="tools"), waiting(pending(kind="running")), waiting()], 3, YIELDED),
        ((), [session(paused={"at": AT})], 3, None),
        (("--until", "turn"), [waiting(), session(paused={"at": AT}), answered()], 0, "all done\n"),
        ((), [ended("cancelled")], 7, ""),
        ((), [session(state="stopped")], 7, "State: Stopped\n"),
    ],
)
def test_wait_drives_nothing_and_ends_with_the_session(abey, ready: CannedDaemon, options, states, code, out) -> None:
    Followed(ready, *states)
    ran = abey("session", "wait", SESSION_ID, *options)
    assert ran.code == code
    assert out is None or ran.out == out
    assert {method for method, _ in ready.asked} <= {"agents/get", "agents/events", "agents/transcript"}
    after = [params["after"] for params in ready.params("agents/events")[1:]]
    assert after == [4 + n for n in range(len(states) - 1)]


@pytest.mark.parametrize(
    ("found", "options", "words"),
    [
        (session(), (), f"nobody drives the session; {RESUME}"),
        (empty(), (), f"nobody drives the session; {SEND}"),
        (waiting(), ("--until", "turn"), f"calls wait for an answer; next: {APPROVE}; then {RESUME}"),
        (session(activity="model"), (), "the session goes on"),
    ],
)
def test_a_wait_in_vain_says_who_is_waited_for(abey, ready: CannedDaemon, found, options, words) -> None:
    over = threading.Event()
    Followed(ready, found)
    at_once = ready.on["agents/events"]
    ready.on["agents/events"] = lambda params: over.wait(10) if "waitMs" in params else at_once(params)
    ran = abey("session", "wait", SESSION_ID, "--timeout", "0.5", *options)
    over.set()
    assert ran == (8, "", f"abey: --timeout is over; {words}\n")


def test_a_timeout_ends_the_wait_and_takes_the_question_back(abey, daemon: CannedDaemon) -> None:
    over = threading.Event()
    daemon.on["agents/resume"] = lambda _params: over.wait(10)
    ran = abey("session", "resume", SESSION_ID, "--timeout", "0.05", "--json")
    over.set()
    message = "no answer within --timeout; what was asked for goes on"
    error = {"code": 0, "message": message, "data": {"kind": "timeout"}}
    assert (ran.code, json.loads(ran.out)) == (8, {"error": error})
