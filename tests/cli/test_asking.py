"""A person at the terminal is asked about the calls that wait, until each has its answer or is left for later."""

import io
from pathlib import Path
from typing import Any

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
    pending,
    session,
    waiting,
)

from abey_cli.console import Console


class Asked:
    """A session that waits for one call until that is answered; `results` are what runs of it come to, in order."""

    def __init__(self, daemon: CannedDaemon, call: Any) -> None:
        self.daemon = daemon
        self.call = call
        self.open = True
        daemon.on["agents/resume"] = daemon.on["agents/run"] = self.run
        daemon.on["agents/complete"] = self.complete
        daemon.on["agents/continue"] = lambda _: self.now
        daemon.on["agents/get"] = lambda _: {"session": self.now}

    @property
    def now(self) -> Any:
        return waiting(self.call) if self.open else answered()

    def run(self, _: object) -> Any:
        return {"outcome": "waiting" if self.open else "completed", "steps": 1, "session": self.now}

    def complete(self, params: Any) -> Any:
        self.open = False
        return completion(params["outcome"]["kind"])

    @property
    def sent(self) -> list[Any]:
        return [(one["outcome"], one.get("argumentsHash")) for one in self.daemon.params("agents/complete")]


@pytest.mark.parametrize(
    ("kind", "typed", "outcome", "bound"),
    [
        ("approval", "d\ntoo risky\n", {"kind": "deny", "message": "too risky"}, None),
        ("approval", "deny\n\n", {"kind": "deny"}, None),
        ("external", "r\nit is done\n", {"kind": "result", "content": "it is done"}, None),
        ("external", "f\nresult.txt\n", {"kind": "result", "content": "from\na file"}, None),
        ("external", "f\nabsent\ne\nno disk\n", {"kind": "error", "message": "no disk"}, None),
        ("external", "f\n\nr\n\nd\nnobody\n", {"kind": "deny", "message": "nobody"}, None),
        ("external", "l\n", None, None),
        ("external", "\n", None, None),
    ],
)
def test_what_is_answered_is_what_was_typed(
    abey, daemon: CannedDaemon, work: Path, kind, typed, outcome, bound
) -> None:
    (work / "result.txt").write_text("from\na file\n")
    asked = Asked(daemon, pending(kind=kind))
    ran = abey("session", "resume", SESSION_ID, typed=typed, terminal=True)
    assert (ran.code, asked.sent) == ((0, [(outcome, bound)]) if outcome else (3, []))


def test_a_form_is_asked_for_field_by_field_whatever_their_schemas_are(abey, daemon: CannedDaemon) -> None:
    fields = {"any": True, "pick": {"oneOf": [True, {"const": "x"}, {"const": "y"}]}, "note": {"type": "string"}}
    form = {"kind": "response", "prompt": "who?", "schema": {"properties": fields, "required": ["any"]}}
    asked = Asked(daemon, pending(kind="question", question=form))
    ran = abey("session", "resume", SESSION_ID, typed="a\n1\ny\n\n", terminal=True)
    assert (ran.code, asked.sent) == (0, [({"kind": "answer", "value": {"any": 1, "pick": "y"}}, HASH)])
    questions = ("any (any value):", "pick (x | y, may be left out):", "note (string, may be left out):")
    assert [one in ran.err for one in questions] == [True] * 3


def test_a_key_that_is_no_character_does_not_end_the_question() -> None:
    typed = io.TextIOWrapper(io.BytesIO(b"caf\xe9\n"), encoding="utf-8")
    assert Console(typed, io.StringIO(), io.StringIO(), {}).ask("why?") == "caf\ufffd"


EDITOR = """#!/bin/sh
n=$(cat turn 2>/dev/null || echo 0)
echo $((n + 1)) > turn
cp "$1" "seen-$n"
cp "next-$n" "$1"
"""


@pytest.fixture
def editor(work: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An editor that leaves `next-0` the first time, then `next-1` and so on, and keeps what it was given."""
    path = work / "editor"
    path.write_text(EDITOR)
    path.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(path))
    for number, text in enumerate(('{"command": cal', '{"command": 1}', '{"command": "cal"}\n')):
        (work / f"next-{number}").write_text(text)
    return work


def picky(params: Any) -> Any:
    """Takes only a text as the command."""
    if not isinstance(params["outcome"].get("arguments", {}).get("command", ""), str):
        raise Refusal(-32602, "/command: 1 is no string", kind="arguments/invalid")
    return completion(params["outcome"]["kind"])


CAL = {"kind": "approve", "arguments": {"command": "cal"}}


@pytest.mark.parametrize(
    ("line", "typed"),
    [(("session", "resume", SESSION_ID), "e\ne\nedit\nl\n"), (("session", "approve", TOKEN, "--edit"), "e\nx\ne\n")],
)
def test_what_is_wrong_with_an_edit_is_said_and_it_is_edited_again(abey, daemon, editor: Path, line, typed) -> None:
    asked = Asked(daemon, pending())
    daemon.on["agents/complete"] = picky
    daemon.on["agents/pending"] = {"items": [pending()]}
    ran = abey(*line, typed=typed, terminal=True)
    assert [one for one, _ in asked.sent][-1] == CAL
    assert "abey: what the editor left is no JSON: " in ran.err
    assert "abey: /command: 1 is no string\n" in ran.err
    assert [(editor / f"seen-{number}").read_text() for number in (1, 2)] == ['{"command": cal', '{"command": 1}']


def test_an_edit_that_is_given_up_approves_nothing(abey, daemon: CannedDaemon, editor: Path) -> None:
    asked = Asked(daemon, pending())
    daemon.on["agents/pending"] = {"items": [pending()]}
    ran = abey("session", "approve", TOKEN, "--edit", typed="b\n", terminal=True)
    assert (ran.code, asked.sent, ran.err.endswith("abey: nothing was approved\n")) == (1, [], True)
    (editor / "turn").unlink()
    assert abey("session", "resume", SESSION_ID, typed="e\nback\na\n", terminal=True).code == 0
    assert asked.sent == [({"kind": "approve"}, HASH)]


def test_where_nobody_is_asked_a_wrong_edit_is_the_end(abey, daemon: CannedDaemon, editor: Path) -> None:
    daemon.on["agents/pending"] = {"items": [pending()]}
    assert abey("session", "approve", TOKEN, "--edit").code == 1
    assert daemon.params("agents/complete") == []


def test_continue_asks_as_a_run_does(abey, daemon: CannedDaemon) -> None:
    asked = Asked(daemon, pending())
    ran = abey("session", "continue", SESSION_ID, typed="a\n", terminal=True)
    assert (ran.code, ran.out, asked.sent) == (0, "all done\n", [({"kind": "approve"}, HASH)])


def test_until_the_turn_ends_a_person_is_asked_and_may_leave_it_to_others(abey, daemon: CannedDaemon) -> None:
    asked = Asked(daemon, pending())
    looks = []

    def events(params: Any) -> Any:
        """Somebody else answers while it is waited for."""
        if "waitMs" in params:
            looks.append(asked.sent)
            asked.open = False
        return {"events": [], "nextSeq": 5, "hasMore": False, "status": "ok"}

    daemon.on["agents/events"] = events
    ran = abey("session", "resume", SESSION_ID, "--until", "turn", typed="l\n", terminal=True)
    assert (ran.code, ran.out, looks) == (0, "all done\n", [[]])
    assert [params["until"] for method, params in daemon.asked if method in ("agents/resume", "agents/run")] == [
        "yield"
    ]


def test_a_call_of_several_lines_is_shown_as_it_would_be_read(abey, daemon: CannedDaemon) -> None:
    arguments = {"path": "a", "content": 'one\n"two": \x1b[2J\n', "n": 1}
    Asked(daemon, pending(arguments=arguments))
    ran = abey("session", "resume", SESSION_ID, typed="l\n", terminal=True)
    shown = 'arguments:\n  "path": "a"\n  "content":\n    | one\n    | "two": \\x1b[2J\n    | \n  "n": 1\nreason:'
    assert shown in ran.err


@pytest.mark.parametrize("before", ["", "x" * 5000 + "\n", "x\n" * 5000], ids=["short", "wide", "long"])
def test_what_goes_on_is_told_while_a_run_lasts_and_its_answer_once(
    abey, daemon: CannedDaemon, monkeypatch, before: str
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    said = {"type": "item/completed", "item": {"kind": "answer", "text": "I look"}}
    output = before + "\n".join(f"line {number}" for number in range(12))
    call = {"callId": "c\x1b", "tool": "sh", "arguments": {}, "state": "completed", "output": output}
    ran = {"type": "item/completed", "item": {"kind": "toolCall", "call": call}}
    final = {"type": "item/completed", "item": {"kind": "answer", "text": "all done"}}
    ended = {"type": "turn/completed", "n": 1, "end": "answered"}
    told = [{"sessionId": SESSION_ID, "seq": n, "event": one} for n, one in enumerate((said, ran, final, ended), 1)]
    snapshot = {"session": session(), "items": []}
    daemon.on["agents/attach"] = {"snapshot": snapshot, "replay": told, "seq": 4}
    daemon.on["agents/resume"] = {"outcome": "completed", "steps": 1, "session": answered()}
    done = abey("session", "resume", SESSION_ID, terminal=True)
    lines = [
        "I look",
        "* sh {}: completed",
        f"    … `abey session output {SESSION_ID[:14]} c\\x1b` has all",
        *(f"    line {number}" for number in range(4, 12)),
    ]
    assert (done.code, done.out, done.err.splitlines()) == (0, "all done\n", lines)
    assert daemon.params("agents/attach") == [{"sessionId": SESSION_ID, "deltas": True}]
    quiet = abey("session", "resume", SESSION_ID, "-q", terminal=True), abey("session", "resume", SESSION_ID)
    assert [one.err for one in quiet] == ["", ""]


def test_a_paused_session_that_continue_leaves_is_not_asked_about(abey, daemon: CannedDaemon) -> None:
    daemon.on["agents/continue"] = waiting(pending()) | {"paused": {"at": AT}}
    ran = abey("session", "continue", SESSION_ID, typed="a\n", terminal=True)
    assert (ran.code, daemon.params("agents/complete")) == (3, [])
