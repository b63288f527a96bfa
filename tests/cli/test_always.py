"""*Always*: its own explicit choice, that shows the rule before it is remembered."""

from typing import Any

import pytest
from support.canned_daemon import (
    HASH,
    SESSION_ID,
    TOKEN,
    CannedDaemon,
    Refusal,
    completion,
    pending,
    session,
    transcript,
)

from abey_cli.rule_lines import rule_line, rule_lines

AT = "2026-11-30T10:00:00.000Z"


def rule(**changes: Any) -> Any:
    base = {
        "ruleId": "01rule",
        "tool": "bash_command",
        "match": {"/command": "date"},
        "disposition": "runSync",
        "scope": "session",
        "origin": "c2 of session s1",
        "createdAt": AT,
        "uses": 0,
    }
    return {**base, **changes}


OFFERED = [
    rule(),
    rule(scope="workspace", workspace="/w"),
    rule(scope="user"),
    rule(scope="user", match={"/command": {"glob": "date*"}}),
]
SAID = [
    'bash_command with /command exactly "date" runs without asking, in this session',
    'bash_command with /command exactly "date" runs without asking, in /w',
    'bash_command with /command exactly "date" runs without asking, in all your sessions',
    'bash_command with /command like "date*" runs without asking, in all your sessions',
]


class Asked:
    """A session that yields with one call until it is answered."""

    def __init__(self, daemon: CannedDaemon, **changes: Any) -> None:
        self.call = pending(suggestions=OFFERED, **changes)
        self.daemon, self.open = daemon, True
        daemon.on["agents/resume"] = daemon.on["agents/run"] = self.run
        daemon.on["agents/complete"] = self.complete
        daemon.on["agents/transcript"] = transcript()
        daemon.on["agents/pending"] = {"items": [self.call]}

    def run(self, _: object) -> object:
        state = {"state": "partialUserTurn", "pending": [self.call]} if self.open else {"state": "completed"}
        return {"outcome": "waiting" if self.open else "completed", "steps": 1, "session": session(**state)}

    def complete(self, params: Any) -> object:
        self.open = False
        return completion(params["outcome"]["kind"])

    @property
    def rules(self) -> list[Any]:
        return [one.get("rule") for one in self.daemon.params("agents/complete")]


@pytest.mark.parametrize(("scope", "index"), [("session", 0), ("workspace", 1), ("user", 2)])
def test_the_narrowest_rule_of_the_scope_is_shown_and_then_sent(abey, daemon: CannedDaemon, scope, index) -> None:
    asked = Asked(daemon)
    ran = abey("session", "approve", TOKEN, "--always", scope)
    assert (ran.code, asked.rules, f"from now on: {SAID[index]}\n" in ran.err) == (0, [OFFERED[index]], True)
    (sent,) = daemon.params("agents/complete")
    assert (sent["outcome"], sent["argumentsHash"]) == ({"kind": "approve"}, HASH)


def test_who_seeks_a_rule_in_vain_is_told_where_it_may_be(abey, daemon: CannedDaemon) -> None:
    def refuse(_: object) -> object:
        raise Refusal(-32602, "no rule has the id x", kind="arguments/invalid")

    daemon.on["agents/rules"] = refuse
    ran = abey("rules", "remove", "4632gmv2dhhfygwzn3b2ypa3ts")
    others = "those of a session go with --session ID, and `abey rules list` has those there are"
    assert (ran.code, ran.err) == (1, f"abey: no rule has the id x; {others} (arguments/invalid)\n")


def test_where_no_rule_can_be_suggested_nothing_is_approved(abey, daemon: CannedDaemon) -> None:
    asked = Asked(daemon)
    asked.call["suggestions"] = []
    ran = abey("session", "approve", TOKEN, "--always", "user")
    assert (ran.code, asked.rules, "no rule is narrow enough to answer such calls" in ran.err) == (1, [], True)


@pytest.mark.parametrize("more", [("--edit",), ("--arguments", "f")])
def test_always_is_about_the_call_as_it_is_shown(abey, daemon: CannedDaemon, more) -> None:
    asked = Asked(daemon)
    assert (abey("session", "approve", TOKEN, "--always", "user", *more).code, asked.rules) == (2, [])


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("w\n3\n", [OFFERED[2]]),
        ("always\n\n\n0\n5\nx\n4\n", [OFFERED[3]]),
        ("w\nb\na\n", [None]),
        ("w\nback\nl\n", []),
        ("w\n", []),
        ("w\n\n", []),
    ],
    ids=["a number", "only a number there is", "back, and this one alone", "back, and later", "the end", "no default"],
)
def test_at_a_terminal_always_shows_the_rules_and_no_answer_is_a_default(abey, daemon, typed, sent) -> None:
    asked = Asked(daemon)
    ran = abey("session", "resume", SESSION_ID, typed=typed, terminal=True)
    shown = "".join(f"  {number}  {said}\n" for number, said in enumerate(SAID, 1))
    assert (asked.rules, shown in ran.err) == (sent, True)


def test_a_rule_is_listed_with_where_it_came_from_and_what_it_did() -> None:
    assert rule_lines(rule(uses=3)) == [f"01rule  {SAID[0]}", f"  c2 of session s1, {AT}; decided 3"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"match": None}, "bash_command with whatever arguments runs without asking, in this session"),
        (
            {"match": {"": {"a": 1}}},
            'bash_command with arguments exactly {"a": 1} runs without asking, in this session',
        ),
        ({"match": {"/x": ["a", 1]}}, 'bash_command with /x one of ["a", 1] runs without asking, in this session'),
        ({"disposition": {"tag": "deny", "reason": "no"}}, SAID[0].replace("runs without asking", "is denied")),
        ({"disposition": "later", "scope": "galaxy"}, 'bash_command with /command exactly "date" later, galaxy'),
    ],
)
def test_a_rule_says_in_a_line_what_it_does(changes, said) -> None:
    assert rule_line(rule(**changes)) == said


@pytest.mark.parametrize(
    "line",
    [
        ("rules", "add", "t", "--scope", "user"),
        ("rules", "add", "t", "--scope", "user", "--match", "{}"),
        ("rules", "add", "t", "--scope", "user", "--match", "[1]"),
        ("rules", "add", "t", "--scope", "user", "--match", "{"),
        ("rules", "add", "t", "--scope", "user", "--match", '{"/x": 1}', "--any-arguments"),
        ("rules", "add", "t", "--scope", "session", "--any-arguments"),
        ("rules", "add", "t", "--scope", "user", "--any-arguments", "--workspace", "/w"),
        ("rules", "add", "t", "--scope", "user", "--any-arguments", "--idempotency-key", "k"),
        ("rules", "add", "t", "--any-arguments"),
    ],
)
def test_a_rule_that_is_not_said_whole_is_not_sent(abey, daemon: CannedDaemon, line) -> None:
    assert (abey(*line).code, daemon.params("agents/rules")) == (2, [])


def test_a_rule_of_the_workspace_is_about_the_folder_of_here(abey, daemon: CannedDaemon, work) -> None:
    daemon.on["agents/rules"] = {"items": []}
    assert abey("rules", "add", "t", "--scope", "workspace", "--any-arguments").code == 0
    asked = {"tool": "t", "disposition": "runSync", "scope": "workspace", "workspace": str(work)}
    assert daemon.params("agents/rules") == [{"action": "add", "rule": asked}]
