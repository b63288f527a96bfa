"""Sessions and calls as text, whole blocks at a time."""

from typing import Any

import pytest
from support.canned_daemon import (
    AT,
    TOKEN,
    answered,
    ended,
    input_item,
    pending,
    session,
    tool_item,
    waiting,
)

from abey_cli.call_text import call_lines, hash_line
from abey_cli.render import (
    diagnostic_line,
    last_batch,
    pending_lines,
    session_line,
    session_lines,
    state_lines,
)

BATCH = [tool_item("bump", "completed")["call"], tool_item("bash_command", "deferred")["call"]]
UNDECIDED = [tool_item("fetch_remote", "undecided")["call"], tool_item("bash_command", "undecided")["call"]]
PARTIAL = ["State: PartialUserTurn", "  completed: 1", "  deferred:  1", "  ready:     0"]


def whole(name: str) -> str:
    return name


@pytest.mark.parametrize(
    ("shown", "batch", "lines"),
    [
        (session(), [], ["State: UserTurn (ready for LLM)"]),
        (
            session(state="llmTurn"),
            UNDECIDED,
            ["State: LlmTurn", "  tool call: fetch_remote", "  tool call: bash_command"],
        ),
        (waiting(), BATCH, [*PARTIAL, f"  token: {TOKEN} (bash_command) approval required"]),
        (answered(), [], ["State: LlmTurn (completed)"]),
        (ended("cancelled"), [], ["State: LlmTurn (cancelled)"]),
        (
            {name: value for name, value in session(state="completed").items() if name != "turn"},
            [],
            ["State: empty session"],
        ),
        (session(state="stopped"), [], ["State: Stopped"]),
        (session(state="llm\x1bTurn2"), [], [r"State: llm\x1bTurn2"]),
        (
            session(paused={"reason": "lunch", "at": AT}, queued=[{"inputId": "i", "delivery": "turn"}]),
            [],
            ["State: UserTurn (ready for LLM)", "  paused: lunch", "  queued: 1"],
        ),
        (
            session(lastError={"kind": "model/auth", "message": "no key", "at": AT}),
            [],
            ["State: UserTurn (ready for LLM)", "  error: no key (model/auth)"],
        ),
        (answered(lastError={"kind": "model/auth", "message": "old", "at": AT}), [], ["State: LlmTurn (completed)"]),
    ],
)
def test_a_state_is_its_words_from_the_plan(shown: Any, batch: Any, lines: list[str]) -> None:
    assert state_lines(shown, batch, whole) == lines


def test_final_calls_are_completed_uncertain_ones_wait_and_background_ones_have_a_line() -> None:
    states = ["completed", "failed", "denied", "expired", "deferred", "uncertain", "ready", "approved", "running"]
    batch = [tool_item(f"t{n}", state)["call"] for n, state in enumerate(states)]
    calls = (
        pending(kind="uncertain", startedAt=AT),
        pending(kind="running"),
        pending(kind="external", reason=None),
        pending(kind="question", question={"kind": "response", "prompt": "which one?\x1b"}),
    )
    assert state_lines(waiting(*calls), batch, lambda token: f"{token[:4]}…") == [
        "State: PartialUserTurn",
        "  completed: 4",
        "  deferred:  2",
        "  ready:     2",
        "  running:   1",
        f"  token: 6f0c… (bash_command) may have run, started {AT}",
        "  token: 6f0c… (bash_command) running",
        "  token: 6f0c… (bash_command) waits for a result from outside",
        r"  token: 6f0c… (bash_command) which one?\x1b",
    ]


def test_the_last_batch_is_that_of_the_last_answer_alone() -> None:
    note = {"itemId": "9.0", "revision": 9, "turnId": "t1", "at": AT, "kind": "note", "text": "interrupted"}
    old, a, b = tool_item("old", "completed", 3), tool_item("a", "ready", 7), tool_item("b", "ready", 7)
    assert last_batch([input_item(), old, a, b, note]) == [a["call"], b["call"]]


def test_of_a_call_that_nobody_knows_to_have_started_no_start_is_claimed() -> None:
    call = pending(kind="uncertain")
    assert pending_lines(call, whole, whole)[0] == (
        f"token: {TOKEN} (bash_command) may have run, and nobody can tell whether it did"
    )


def test_there_is_no_batch_after_an_input() -> None:
    assert last_batch([tool_item("old", "completed", 3), input_item()]) == []


def test_a_call_for_approval_is_shown_whole_and_harmless() -> None:
    arguments = {"command": "echo \u202ehi\x1b", "n": 1.0}
    call = pending(arguments=arguments, tool="ba\x1bsh", title="ba\x1bsh {}", reason="leaves\nhere")
    assert call_lines(call) == [
        r"tool: ba\x1bsh",
        f"token: {TOKEN}",
        f"session: {call['sessionId']}",
        "cwd: /w",
        "arguments:",
        "  {",
        r'    "command": "echo \u202ehi\u001b",',
        '    "n": 1.0',
        "  }",
        r"reason: leaves\nhere",
    ]
    assert hash_line(call) == f"hash: {call['argumentsHash']}"


def test_a_call_in_the_list_says_where_it_belongs_and_how_much_is_cut() -> None:
    call = pending(arguments={"command": "x" * 300})
    assert pending_lines(call, whole, lambda _: "01jx…") == [
        f"token: {TOKEN} (bash_command) approval required",
        "  session: 01jx…",
        "  kind: approval",
        f'  arguments: {{"command": "{"x" * 187}… (115 more characters)',
    ]


def test_a_label_that_a_policy_gave_is_shown_with_the_call() -> None:
    call = pending(title="PROD\x1b: bash_command date")
    assert [line.strip() for lines in (call_lines(call), pending_lines(call, whole, whole)) for line in lines[:2]] == [
        r"title: PROD\x1b: bash_command date",
        "tool: bash_command",
        f"token: {TOKEN} (bash_command) approval required",
        r"title: PROD\x1b: bash_command date",
    ]


def test_a_call_that_a_child_works_on_says_what_that_waits_for() -> None:
    reason = "session kid waits for an approval of sh"
    calls = [pending(kind="running", childId="kid", reason=reason), pending(kind="running", reason="runs")]
    assert [pending_lines(call, whole, whole)[0] for call in calls] == [
        f"token: {TOKEN} (bash_command) running: {reason}",
        f"token: {TOKEN} (bash_command) running",
    ]


def test_a_session_in_the_list_says_what_it_does_and_needs() -> None:
    aside = session(paused={"at": AT}, archived=True, parent="p")
    lines = [session_line(one, whole)[28:] for one in (waiting(), session(activity="model", title="a\nb"), aside)]
    assert lines == [
        "partialUserTurn, 1 waiting  a  Research  /w",
        r"model  a  a\nb  /w",
        "userTurn, child, paused, archived  a  Research  /w",
    ]


def test_a_session_is_introduced() -> None:
    assert session_lines(session(configState="stale", parent="above", forkedFrom="other")) == [
        f"session-id: {session()['sessionId']}",
        "title: Research",
        "agent: a (stale)",
        "parent: above",
        "forked from: other",
        "cwd: /w",
        "revision: 2",
        "activity: idle",
        f"updated: {AT}",
        "usage: 0 tokens in, 0 out, cost unknown",
    ]


def test_a_session_that_was_put_away_says_so() -> None:
    aside = session_lines(session(paused={"at": AT}, archived=True))
    assert [line for line in aside if line.startswith("activity")] == ["activity: idle, paused, archived"]


def test_a_diagnostic_counts_from_one() -> None:
    place = {"start": {"line": 2, "character": 4}, "end": {"line": 2, "character": 9}}
    found = {"range": place, "severity": 2, "code": "rule/no-tool", "message": "no such tool", "source": "abey"}
    assert diagnostic_line("a.json", found) == "a.json:3:5: warning: no such tool"


def test_a_question_of_several_lines_cannot_pass_for_what_is_shown_besides() -> None:
    call = pending(kind="question", question={"kind": "approval", "prompt": "push?\nhash: 1\x1b"})
    shown = call_lines(call)
    assert shown[shown.index("question:") :] == ["question:", "  push?", "  hash: 1\\x1b"]
