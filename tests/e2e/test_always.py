"""*Always*: a rule that a person sees, that is kept before it counts, and that answers what waits everywhere."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.e2e import Place, calls, deferred, says, until
from support.e2e_peer import Refusal

BUMP = ("bump", {"x": "1"})
OTHER = ("bump", {"x": "2"})


def waiting(place: Place, *asked: Any, cwd: Path | None = None) -> str:
    """The id of a session in which these calls wait; a second batch of the same would come then."""
    config = place.config(script=[calls(*asked), calls(*asked), says("end")], rules=[deferred("bump")])
    started = place.rpc("agents/start", config=config, prompt="x", cwd=str(cwd or place.work), run="turn")
    return str(started["sessionId"])


def pending(place: Place, session_id: str | None = None) -> list[Any]:
    items = place.rpc("agents/pending", **({} if session_id is None else {"sessionId": session_id}))["items"]
    return [one for one in items if one["kind"] == "approval"]


def suggestion(call: Any, scope: str) -> Any:
    return next(one for one in call["suggestions"] if one["scope"] == scope)


def always(place: Place, call: Any, scope: str, **more: Any) -> Any:
    """Approves the call, and such calls from now on."""
    shown = {"token": call["token"], "argumentsHash": call["argumentsHash"]}
    return place.rpc("agents/complete", **shown, outcome={"kind": "approve"}, rule=suggestion(call, scope), **more)


def states(place: Place, session_id: str) -> list[str]:
    items = place.rpc("agents/transcript", sessionId=session_id)["items"]
    return [item["call"]["state"] for item in items if item["kind"] == "toolCall"]


def test_always_for_the_user_answers_what_waits_in_every_session_also_in_one_that_is_not_in_memory(
    place: Place,
) -> None:
    asleep = waiting(place, BUMP, OTHER)
    place.kill_daemon()
    here, other = waiting(place, BUMP), waiting(place, BUMP, OTHER, cwd=place.home)
    (call,) = pending(place, here)
    ran = place.run("session", "approve", call["token"], "--always", "user")
    assert ran.code == 0
    assert 'from now on: bump with arguments exactly {"x": "1"} runs without asking, in all your sessions' in ran.err
    until(lambda: states(place, asleep) == ["completed", "deferred"])
    until(lambda: states(place, other) == ["completed", "deferred"])
    assert (states(place, here), place.ran()) == (["completed"], 3)
    kept = json.loads((place.root / "config" / "rules.json").read_text())
    assert [(one["applied"], one["rule"]["scope"]) for one in kept["rules"]] == [(True, "user")]


def test_a_call_that_a_rule_answered_says_so_and_the_rule_is_listed_used_and_removable(place: Place) -> None:
    session = waiting(place, BUMP)
    always(place, pending(place, session)[0], "user", resume=True)
    until(lambda: states(place, session) == ["completed", "completed"])
    (rule,) = place.json("rules", "list")["items"]
    assert (rule["tool"], rule["match"], rule["uses"], place.ran()) == ("bump", {"": {"x": "1"}}, 1, 2)
    listed = place.abey("rules", "list")
    assert f'{rule["ruleId"]}  bump with arguments exactly {{"x": "1"}} runs without asking, in all your' in listed
    assert place.abey("rules", "remove", rule["ruleId"][:12]) == ""
    assert place.json("rules", "list")["items"] == []
    assert states(place, waiting(place, BUMP)) == ["deferred"]


def test_a_rule_of_the_workspace_counts_in_the_sessions_of_that_folder_only(place: Place) -> None:
    here, elsewhere = waiting(place, BUMP), waiting(place, BUMP, cwd=place.home)
    first = waiting(place, BUMP)
    always(place, pending(place, first)[0], "workspace")
    until(lambda: states(place, here) == ["completed"])
    assert states(place, elsewhere) == ["deferred"]
    (rule,) = place.json("rules", "list")["items"]
    assert rule["workspace"] == str(place.work)


def test_a_rule_of_the_session_is_in_its_journal_and_survives_the_daemon(place: Place) -> None:
    session, other = waiting(place, BUMP), waiting(place, BUMP)
    always(place, pending(place, session)[0], "session")
    place.kill_daemon()
    place.abey("session", "resume", session)
    assert (states(place, session), states(place, other)) == (["completed", "completed"], ["deferred"])
    assert [one["uses"] for one in place.json("rules", "list", "--session", session)["items"]] == [1]
    assert place.json("rules", "list")["items"] == []
    rule_id = place.json("rules", "list", "--session", session)["items"][0]["ruleId"]
    place.abey("rules", "remove", rule_id, "--session", session)
    assert place.json("rules", "list", "--session", session)["items"] == []


def test_a_rule_that_a_crash_kept_from_being_applied_is_applied_with_the_next_answer_and_not_before(
    place: Place,
) -> None:
    left, other = waiting(place, BUMP), waiting(place, OTHER)
    rule = suggestion(pending(place, left)[0], "user")
    place.kill_daemon()
    kept = {"version": 1, "rules": [{"rule": rule, "applied": False}]}
    path = place.root / "config" / "rules.json"
    path.write_text(json.dumps(kept))
    path.chmod(0o600)
    assert (states(place, left), place.ran()) == (["deferred"], 0)  # a daemon runs again, and nothing starts by itself
    (call,) = pending(place, other)
    place.rpc("agents/complete", token=call["token"], outcome={"kind": "deny"})
    until(lambda: states(place, left) == ["completed"])
    assert (place.ran(), states(place, other)) == (1, ["denied"])


def test_a_rule_added_by_hand_answers_what_waits_and_other_clients_hear_of_it(place: Place) -> None:
    session = waiting(place, BUMP)
    with place.peer("watcher") as watcher:
        watcher.request("agents/attach", sessionId=session)
        match = json.dumps({"/x": "1"})
        ran = place.run("rules", "add", "bump", "--scope", "user", "--match", match)
        assert (ran.code, 'bump with /x exactly "1" runs without asking' in ran.err) == (0, True)
        heard = [watcher.hear("agents/event")["event"] for _ in range(3)]
        types = [one["type"] for one in heard]
        assert "note" in types
        while "pending/resolved" not in types:
            heard.append(watcher.hear("agents/event")["event"])
            types.append(heard[-1]["type"])
    resolved = next(one for one in heard if one["type"] == "pending/resolved")
    assert (resolved["resolution"]["kind"], resolved["resolution"]["by"]) == ("approve", "rule")
    until(lambda: states(place, session) == ["completed"])


def test_a_request_with_a_key_records_a_rule_of_its_session_once(place: Place) -> None:
    session = waiting(place, BUMP)
    rule = {"tool": "bump", "disposition": "runSync", "scope": "session"}
    told = [
        place.rpc("agents/rules", action="add", rule=rule, sessionId=session, idempotencyKey="k1") for _ in range(2)
    ]
    assert [one.get("replayed") for one in told] == [None, True]
    assert place.journal(session).read_text().count('"rule-added"') == 1
    until(lambda: states(place, session) == ["completed"])


@pytest.mark.parametrize(
    ("params", "kind"),
    [
        ({"action": "add"}, None),
        ({"action": "remove"}, None),
        ({"action": "list", "ruleId": "x"}, None),
        ({"action": "remove", "ruleId": "no such"}, "arguments/invalid"),
        ({"action": "add", "rule": {"tool": "*", "disposition": "runSync", "scope": "user"}}, "arguments/invalid"),
        ({"action": "add", "rule": {"tool": "a", "disposition": "runSync", "scope": "session"}}, "arguments/invalid"),
        ({"action": "add", "rule": {"tool": "a", "disposition": "runIsolated", "scope": "user"}}, None),
        ({"action": "add", "rule": {"tool": "a", "disposition": "deny", "scope": "user"}, "idempotencyKey": "k"}, None),
    ],
)
def test_a_rule_that_cannot_be_is_refused(place: Place, params: Any, kind: str | None) -> None:
    with pytest.raises(Refusal) as told:
        place.rpc("agents/rules", **params)
    assert (told.value.kind if kind else told.value.code) == (kind or -32602)
    assert place.json("rules", "list")["items"] == []


def test_a_damaged_file_lets_nothing_run_is_told_and_kept(place: Place) -> None:
    always(place, pending(place, waiting(place, BUMP))[0], "user")
    path = place.root / "config" / "rules.json"
    path.write_text("{")
    assert states(place, waiting(place, BUMP)) == ["deferred"]
    eager = place.agent("eager", script=[calls(BUMP), says("done")])
    (held,) = pending(place, place.json("run", "--agent-file", str(eager), "-p", "go", code=3)["session"]["sessionId"])
    assert (held["reason"].startswith(f"no remembered rule is known: {path} is damaged"), place.ran()) == (True, 1)
    listed = place.run("rules", "list")
    assert (listed.code, listed.out, "no rule counts" in listed.err) == (0, "", True)
    place.abey("rules", "add", "bump", "--scope", "user", "--disposition", "deny", "--any-arguments")
    assert (path.with_name("rules.json.damaged-1").read_text(), states(place, waiting(place, BUMP))) == (
        "{",
        ["denied", "denied"],
    )


def test_a_floor_counts_more_than_any_rule(place: Place) -> None:
    session = waiting(place, BUMP)
    floor = {"rules": [{"tool": "bump", "disposition": {"tag": "defer", "reason": "my floor"}}]}
    (place.root / "config" / "policy.json").write_text(json.dumps(floor))
    with pytest.raises(Refusal) as told:
        always(place, pending(place, session)[0], "user")
    assert (told.value.kind, "my floor" in told.value.message) == ("arguments/invalid", True)
    place.abey("rules", "add", "bump", "--scope", "user", "--any-arguments")
    assert (states(place, session), place.ran()) == (["deferred"], 0)
