"""What a model, a tool or another client has written cannot act on the terminal, wherever a person reads it
(security.md, Prompt text)."""

import re
from typing import Any

import pytest
from support.canned_daemon import (
    SESSION_ID,
    TOKEN,
    CannedDaemon,
    Refusal,
    completion,
    pending,
    session,
    tool_item,
    transcript,
)

AT = "2026-11-30T10:00:00.000Z"
BITES = {
    "escape": "\x1b[2J\x1b]0;owned\x07",
    "carriage return": "rm -rf /\rls        ",
    "backspace": "evil\b\b\b\bls",
    "C1": "\x9b31m",
    "bidi": "\u202egnp.exe\u2066",
    "zero width": "l\u200bs\u2060\ufeff",
    "tags": "\U000e0041\U000e007f",
    "long blanks": f"ls{' ' * 200}; rm -rf /",
    "odd blanks": f"ls{chr(0x3000) * 200}; rm",
    "half a character": "\ud800",
    "line separator": "a\u2028b",
    "variation": "a\ufe0f\u180e",
}
ACTS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ud800-\udfff"
    "\U000e0000-\U000e0fff]|[ \u3000]{33}"
)


def rule(bite: str, scope: str = "user") -> Any:
    return {
        "ruleId": f"01{bite}",
        "tool": bite,
        "match": {f"/{bite}": bite, "": {bite: [bite]}, "/g": {"glob": bite}},
        "disposition": {"tag": "deny", "reason": bite},
        "scope": scope,
        "workspace": bite,
        "origin": bite,
        "createdAt": bite,
        "uses": 1,
    }


def call(bite: str, **changes: Any) -> Any:
    base = {
        "tool": bite,
        "title": bite,
        "arguments": {bite: bite, "list": [bite]},
        "reason": bite,
        "cwd": f"/w/{bite}",
        "diff": f"--- a/{bite}\n+++ b/{bite}\n@@ -1 +1 @@\n-{bite}\n+{bite}\n",
        "outputSoFar": f"{bite}\n{bite}",
        "question": {"kind": "response", "prompt": f"{bite}\n{bite}"},
        "startedAt": bite,
        "suggestions": [rule(bite, scope) for scope in ("session", "workspace", "user")],
    }
    return pending(**{**base, **changes})


def item(bite: str) -> Any:
    client = {"id": bite, "name": bite, "kind": bite}
    decision = {"by": bite, "client": client, "at": bite, "edited": True, "message": bite, "ruleId": bite}
    more = {"arguments": {bite: bite}, "effectiveArguments": {bite: bite}, "decision": decision, "output": bite}
    return tool_item(bite, "denied", token=TOKEN, **more)


def hostile_daemon(daemon: CannedDaemon, bite: str, **changes: Any) -> None:
    waits = call(bite, **changes)
    one = session(
        state="partialUserTurn",
        pending=[waits],
        title=bite,
        agent=bite,
        cwd=f"/w/{bite}",
        paused={"reason": bite, "at": AT},
        lastError={"kind": bite, "message": bite, "at": AT},
        configProblem=bite,
        configState="stale",
    )
    told = completion("deny", applied=False, text=bite, by=bite, message=bite)
    daemon.on |= {
        "agents/pending": {"items": [waits]},
        "agents/get": {"session": one},
        "agents/transcript": transcript(item(bite)),
        "agents/sessions": {"items": [one], "damaged": [], "usage": {"inputTokens": 0, "outputTokens": 0}},
        "agents/resume": {"outcome": "waiting", "steps": 1, "session": one},
        "agents/complete": {**told, "session": one},
        "agents/rules": {"items": [rule(bite)], "damaged": bite},
        "agents/diff": {"changes": [{"path": bite, "kind": "modified", "patch": f"-{bite}\n+{bite}\n"}]},
    }


COMMANDS: dict[str, tuple[str, ...]] = {
    "pending": ("session", "pending"),
    "show": ("session", "show", SESSION_ID),
    "tail": ("session", "tail", SESSION_ID),
    "list": ("session", "list"),
    "resume": ("session", "resume", SESSION_ID),
    "approve": ("session", "approve", TOKEN),
    "always": ("session", "approve", TOKEN, "--always", "workspace"),
    "deny": ("session", "deny", TOKEN),
    "rules": ("rules", "list"),
    "remove": ("rules", "remove", "01"),
    "add": ("rules", "add", "t", "--scope", "user", "--any-arguments"),
    "diff": ("session", "diff", TOKEN),
}


@pytest.mark.parametrize("bite", BITES.values(), ids=BITES)
@pytest.mark.parametrize("line", COMMANDS.values(), ids=COMMANDS)
def test_nothing_that_others_wrote_acts_on_a_terminal(abey, daemon: CannedDaemon, line, bite: str) -> None:
    hostile_daemon(daemon, bite)
    ran = abey(*line)
    assert ACTS.findall(ran.out + ran.err) == []
    assert ran.out or ran.err


@pytest.mark.parametrize("bite", BITES.values(), ids=BITES)
@pytest.mark.parametrize("typed", ["w\n1\n", "a\n", "d\n", "l\n"])
def test_nothing_acts_where_a_person_is_asked(abey, daemon: CannedDaemon, monkeypatch, typed: str, bite: str) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    hostile_daemon(daemon, bite)
    ran = abey("session", "resume", SESSION_ID, "-q", typed=typed, terminal=True)
    assert ACTS.findall(ran.err) == []
    assert "[a]pprove, al[w]ays, [e]dit, [d]eny, [l]ater?" in ran.err


@pytest.mark.parametrize("bite", BITES.values(), ids=BITES)
def test_an_error_of_the_daemon_does_not_act_either(abey, daemon: CannedDaemon, bite: str) -> None:
    hostile_daemon(daemon, bite)

    def refuse(_: Any) -> Any:
        raise Refusal(-31007, bite, kind="arguments/invalid")

    daemon.on["agents/complete"] = daemon.on["agents/rules"] = refuse
    for line in (COMMANDS["approve"], COMMANDS["deny"], COMMANDS["rules"]):
        assert ACTS.findall("".join(abey(*line)[1:])) == []
