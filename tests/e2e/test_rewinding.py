"""A session goes back to an earlier revision and forth again, through the installed programs."""

import json
from pathlib import Path
from typing import Any

import pytest
from support import e2e_journal
from support.e2e import Place, calls, deferred, says, until
from support.e2e_crash import Death, Nursery
from support.e2e_peer import Gone, Refusal
from support.plain_editor import arguments, document, plain_editor

QUIET = ["userTurn", "completed", "llmTurn"]


def begun(place: Place, **more: Any) -> int:
    """A session `one` that has run `bump` and answered; the revision of the answer that asked for it."""
    script = [calls(("bump", {})), says("first"), says("second"), says("third")]
    agent = place.agent(script=script, **more)
    place.rpc("agents/start", agentFile=str(agent), prompt="hello", sessionId="one", cwd=str(place.work))
    asked = place.rpc("agents/step", sessionId="one")["session"]["revision"]
    place.rpc("agents/run", sessionId="one")
    return int(asked)


def shown(place: Place, session_id: str = "one") -> list[Any]:
    return list(place.rpc("agents/transcript", sessionId=session_id)["items"])


def rewind(place: Place, to: int, **more: Any) -> Any:
    return place.rpc("agents/rewind", sessionId="one", to=to, **more)


def test_a_person_finds_the_revision_and_takes_the_session_there(place: Place) -> None:
    asked = begun(place)
    told = place.abey("session", "show", "one", "--revisions")
    assert "\n-- revision 2\n\n### Input\n\n> hello\n" in told
    assert f"\n-- revision {asked}\n\n### Call of bump: completed\n" in told
    done = place.abey("session", "rewind", "one", "--to", str(asked))
    assert done == "State: LlmTurn\n  tool call: bump\n"
    done = place.abey("session", "step", "one")
    assert done.startswith("State: PartialUserTurn\n")
    assert done.endswith("(bump) already ran before the rewind\n")
    assert place.ran() == 1
    refused = place.run("session", "rewind", "one", "--to", "99")
    assert (refused.code, "has the revisions 1 to" in refused.err) == (1, True)
    assert place.run("session", "rewind", "one").code == 2


def test_the_model_goes_on_from_where_it_was_and_what_was_left_can_be_taken_up_again(place: Place) -> None:
    begun(place)
    first, end = shown(place), place.session("one")["revision"]
    back = rewind(place, 2)
    assert (back["state"], back["revision"], back.get("output")) == ("userTurn", end + 1, None)
    assert shown(place) == first[:1]
    again = place.rpc("agents/step", sessionId="one")["session"]
    assert (again["state"], [item["call"]["tool"] for item in shown(place)[1:]]) == ("llmTurn", ["bump"])
    assert rewind(place, end)["output"] == "first"
    assert shown(place) == first
    place.rpc("agents/send", sessionId="one", prompt="more", run="turn")
    assert place.session("one")["output"] == "second"


def test_the_revision_of_the_results_is_named_and_can_be_gone_back_to(place: Place) -> None:
    begun(place)
    page = place.rpc("agents/transcript", sessionId="one")
    ((call_id, at),) = page["resultsAt"].items()
    assert [item["call"]["callId"] for item in page["items"] if "call" in item] == [call_id]
    recorded = [line for line in e2e_journal.read(place.journal("one")) if line.type == "tool-results"]
    assert [line.record["rev"] for line in recorded] == [at]
    assert f"\n-- revision {at}: the results\n" in place.abey("session", "show", "one", "--revisions")
    assert "resultsAt" not in place.rpc("agents/transcript", sessionId="one", limit=1)
    assert rewind(place, at)["state"] == "userTurn"


def test_a_session_that_went_back_is_there_after_a_kill_and_runs_nothing_by_itself(
    place: Place, nursery: Nursery
) -> None:
    asked = begun(place)
    end, whole = place.session("one")["revision"], shown(place)
    back = rewind(place, asked)
    place.kill_daemon()
    nursery.wake(place).close()
    assert place.session("one") == back
    assert rewind(place, end)["state"] == "completed"
    assert shown(place) == whole
    place.kill_daemon()
    nursery.wake(place).close()
    assert shown(place) == whole
    rewind(place, asked)
    place.rpc("agents/run", sessionId="one")
    (call,) = place.session("one")["pending"]
    assert (call["kind"], call["reason"], place.ran()) == ("approval", "already ran before the rewind", 1)


def test_a_call_in_the_background_is_ended_and_its_token_says_so(place: Place) -> None:
    agent = place.agent(
        script=[calls(("slow", {}), ("bump", {}))],
        rules=[{"tool": "slow", "disposition": "runAsync"}, deferred("bump")],
    )
    place.rpc("agents/start", agentFile=str(agent), prompt="go", sessionId="one", cwd=str(place.work))
    place.rpc("agents/run", sessionId="one")
    until(place.ran)
    waiting = place.session("one")["pending"]
    assert [call["kind"] for call in waiting] == ["running", "approval"]
    with place.peer("watcher") as watcher, place.peer("other") as other:
        watcher.request("agents/attach", sessionId="one")
        back = other.request("agents/rewind", sessionId="one", to=2)
        assert (back["state"], back["pending"], back["activity"]) == ("userTurn", [], "idle")
        heard: list[Any] = []
        while not heard or heard[-1]["type"] != "session/updated":
            heard.append(watcher.hear("agents/event")["event"])
        assert [event["type"] for event in heard] == ["note", *["pending/resolved"] * 2, "session/updated"]
        assert [event["resolution"]["kind"] for event in heard[1:3]] == ["rewound", "rewound"]
        assert heard[3]["session"]["revision"] == back["revision"]
        late = watcher.request(
            "agents/complete",
            token=waiting[1]["token"],
            outcome={"kind": "approve"},
            argumentsHash=waiting[1]["argumentsHash"],
        )
    assert (late["applied"], late["resolution"]["kind"], late["resolution"]["by"]) == (False, "rewound", "other")
    folder = place.journal("one").parent
    until(lambda: not [path for path in folder.iterdir() if path.name.startswith("partial-")])


@pytest.mark.parametrize("script", [{"text": "never said", "delayMs": 600_000}, calls(("bump", {}))])
def test_a_child_of_a_call_that_is_left_ends_whether_it_works_or_waits(place: Place, script: Any) -> None:
    reviewer = place.config(name="reviewer", script=[script], rules=[deferred("bump")], description="reviews")
    (place.agents / "reviewer.json").write_text(json.dumps(reviewer))
    tools = [*place.tools(), {"kind": "agent", "name": "reviewer", "agent": "reviewer"}]
    config = place.config(script=[calls(("reviewer", {"prompt": "look"}))], tools=tools)
    place.rpc("agents/start", config=config, prompt="go", sessionId="one", cwd=str(place.work), run="turn")
    child = until(lambda: place.session("one")["children"])[0]
    until(lambda: place.journal(child).exists())
    back = rewind(place, 2)
    assert (back["state"], back["pending"], back["children"]) == ("userTurn", [], [child])
    assert until(lambda: (place.session(child)["turn"] or {}).get("end")) == "cancelled"
    assert place.rpc("agents/pending")["items"] == []


def test_a_child_that_a_dying_daemon_left_at_rest_ends_with_the_next_request_to_its_parent(
    machine: Place, nursery: Nursery
) -> None:
    reviewer = machine.config(name="reviewer", script=[calls(("bump", {}))], rules=[deferred("bump")], description="r")
    (machine.agents / "reviewer.json").write_text(json.dumps(reviewer))
    tools = [*machine.tools(), {"kind": "agent", "name": "reviewer", "agent": "reviewer"}]
    config = machine.config(script=[calls(("reviewer", {"prompt": "look"})), says("done")], tools=tools)
    with nursery.wake(machine, Death("after", WRITES_TO_A_REWIND)) as peer, pytest.raises(Gone):
        peer.request("agents/start", config=config, prompt="go", sessionId="one", cwd=str(machine.work), run="turn")
        until(lambda: peer.request("agents/pending")["items"][1:])
        peer.request("agents/rewind", sessionId="one", to=2)
    with nursery.wake(machine) as peer:
        [child] = machine.session("one")["children"]
        assert machine.session("one")["state"] == "userTurn"
        assert machine.session(child)["turn"].get("end") is None
        peer.request("agents/pause", sessionId="one")
        assert until(lambda: machine.session(child)["turn"].get("end")) == "cancelled"
        assert peer.request("agents/pending")["items"] == []


WRITES_TO_A_REWIND = 5
"""The parent's start and its answer, the child's start and its answer, and the rewind."""


def test_the_document_of_a_session_that_went_back_is_about_what_it_is_now(place: Place) -> None:
    file = place.agent(script=[calls(("sh", {"command": "echo one"}))], rules=[deferred("sh")])
    with plain_editor(place) as editor:
        session_id = editor.command("abey.start", {"agentFile": str(file), "prompt": "go", "run": "turn"})["sessionId"]
        page, call = document(place, session_id), arguments(place, session_id, 1)
        until(lambda: call.exists() and page.exists() and "echo one" in page.read_text())
        place.rpc("agents/rewind", sessionId=session_id, to=2)
        until(lambda: not call.exists() and "echo one" not in page.read_text())
        place.rpc("agents/step", sessionId=session_id)
        place.rpc("agents/step", sessionId=session_id)
        until(lambda: call.exists() and "echo one" in page.read_text())


def test_where_it_cannot_go_is_said_and_a_key_makes_it_happen_once(place: Place) -> None:
    asked = begun(place)
    revision = place.session("one")["revision"]
    with pytest.raises(Refusal) as refused:
        rewind(place, asked + 1)
    assert refused.value.data == {
        "kind": "state/invalid",
        "retryable": False,
        "state": "partialUserTurn",
        "legal": QUIET,
    }
    with pytest.raises(Refusal) as stale:
        rewind(place, 2, ifRevision=revision - 1)
    assert stale.value.kind == "revision/conflict"
    done = rewind(place, 2, idempotencyKey="k")
    again = rewind(place, 2, idempotencyKey="k")
    assert (again["revision"], again["replayed"]) == (done["revision"], True)


def test_what_went_back_goes_out_and_comes_in(place: Place, tmp_path: Path) -> None:
    begun(place)
    end, whole = place.session("one")["revision"], shown(place)
    rewind(place, 2)
    place.rpc("agents/export", sessionId="one", path=str(tmp_path / "one.jsonl"))
    there = place.rpc("agents/import", path=str(tmp_path / "one.jsonl"), sessionId="two")
    assert (there["state"], shown(place, "two")) == ("userTurn", whole[:1])
    place.rpc("agents/rewind", sessionId="two", to=end)
    told = [(item["itemId"], item["kind"], item.get("text")) for item in shown(place, "two")]
    assert told == [(item["itemId"], item["kind"], item.get("text")) for item in whole]
    for form, left_out in (("markdown", "bumped"), ("agents-exe", "bumped")):
        path = tmp_path / form
        place.rpc("agents/export", sessionId="one", path=str(path), format=form)
        text = path.read_text()
        assert ("hello" in text, left_out in text) == (True, False)


def test_what_was_left_is_found_by_its_words_and_checked_as_sound(place: Place) -> None:
    begun(place)
    rewind(place, 2)
    found = place.rpc("agents/sessions", query="bumped")["items"]
    assert [one["sessionId"] for one in found] == ["one"]
    place.kill_daemon()
    (place.state / "index.sqlite").unlink()
    found = place.rpc("agents/sessions", query="bumped")["items"]
    assert [one["sessionId"] for one in found] == ["one"]
    found = place.rpc("agents/repair", sessionId="one")["found"]
    assert [line.split(":")[0] for line in found] == ["the journal is whole"]


def test_json_prints_the_session(place: Place) -> None:
    begun(place)
    back = place.json("session", "rewind", "one", "--to", "2")
    assert back == json.loads(json.dumps(place.session("one")))
