"""Clients that were away, or look on while others act: what they are told, when, and that nothing is told twice."""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from support.e2e import Place, calls, deferred, says, until
from support.e2e_crash import Nursery
from support.e2e_journal import read
from support.e2e_peer import Peer, Refusal


def started(peer: Peer, place: Place, prompt: str = "x", **config: Any) -> str:
    """The id of a session that nobody has driven."""
    cwd = str(place.work)
    return str(peer.request("agents/start", config=place.config(**config), prompt=prompt, cwd=cwd)["sessionId"])


def asking(peer: Peer, place: Place) -> tuple[str, Any]:
    """A session with one call that waits for an approval, and the call."""
    named = started(peer, place, script=[calls(("bump", {})), says("done")], rules=[deferred("bump")])
    [call] = peer.request("agents/run", sessionId=named)["session"]["pending"]
    return named, call


def events(peer: Peer, session_id: str, after: int = 0) -> list[Any]:
    return list(peer.request("agents/events", sessionId=session_id, after=after, limit=1000)["events"])


def heard(peer: Peer, method: str = "agents/event") -> list[Any]:
    """What came unasked, by an answer to a request."""
    peer.request("agents/status")
    return [one["params"] for one in peer.heard if one["method"] == method]


def damage(place: Place, session_id: str) -> None:
    """A record in the middle of its journal stands there twice, once in half."""
    journal = place.journal(session_id)
    lines = [line.raw for line in read(journal)]
    journal.write_bytes(b"".join([*lines[:3], lines[3][:50] + b"\n", *lines[3:]]))


def types(told: list[Any]) -> list[str]:
    return [one["event"]["type"] for one in told]


def test_when_an_answer_comes_everything_it_shows_was_told_before(place: Place) -> None:
    with place.peer("one") as one:
        named = started(one, place, script=[calls(("bump", {}), ("bump", {})), says("done")], loop=True)
        seq = one.request("agents/attach", sessionId=named)["seq"]
        for method, more in (
            ("agents/step", {}),
            ("agents/pause", {"reason": "lunch"}),
            ("agents/resume", {}),
            ("agents/send", {"prompt": "more", "run": "turn"}),
            ("agents/update", {"title": "new"}),
            ("agents/stop", {}),
        ):
            answer = one.request(method, sessionId=named, **more)
            session = answer.get("session", answer)
            told = [event["params"] for event in one.heard if event["method"] == "agents/event"]
            assert told[-1]["revision"] == session["revision"], method
        assert [event["seq"] for event in told] == list(range(seq + 1, seq + 1 + len(told)))
        assert told == events(one, named, seq)


def test_a_model_that_fails_is_told_before_its_error(place: Place) -> None:
    with place.peer("one") as one:
        named = started(one, place, script=[{"error": {"code": "auth", "message": "no key"}}])
        one.request("agents/attach", sessionId=named)
        with pytest.raises(Refusal) as refused:
            one.request("agents/step", sessionId=named)
        told = [event["params"] for event in one.heard if event["method"] == "agents/event"]
        assert (refused.value.kind, types(told)[-2:]) == ("model/auth", ["note", "session/updated"])
        assert told[-1]["revision"] == refused.value.data["session"]["revision"]


def test_a_call_that_came_while_a_client_was_away_is_in_its_answer_and_told_once(place: Place) -> None:
    """C17"""
    with place.peer("other") as other:
        named = started(other, place, script=[calls(("bump", {})), says("done")], rules=[deferred("bump")])
        with place.peer("one") as one:
            seen = one.request("agents/attach", sessionId=named)["seq"]
        [call] = other.request("agents/run", sessionId=named)["session"]["pending"]
        with place.peer("one") as one:
            again = one.request("agents/attach", sessionId=named, after=seen)
            assert again["session"]["pending"] == [call]
            assert types(again["replay"]).count("pending/added") == 1
            assert heard(one) == []
            fresh = one.request("agents/attach", sessionId=named)
            assert (fresh["snapshot"]["session"]["pending"], "session" in fresh) == ([call], False)


def test_after_a_crash_an_answer_says_that_nothing_runs_and_which_call_may_have_run(place: Place) -> None:
    with place.peer("one") as one:
        named = started(one, place, script=[calls(("slow", {}))])
        one.request("agents/attach", sessionId=named)
        one.start("agents/run", sessionId=named)
        until(lambda: place.ran() == 1)
        seen = events(one, named)[-1]["seq"]
    place.kill_daemon()
    with place.peer("one") as one:
        again = one.request("agents/attach", sessionId=named, after=seen)
        [call] = again["session"]["pending"]
        assert (again["replay"], again["seq"]) == ([], seen)
        assert (again["session"]["activity"], call["kind"]) == ("idle", "uncertain")


def test_who_shows_a_call_that_was_cancelled_is_told_to_drop_it_and_what_became_of_it(place: Place) -> None:
    """C18"""
    with place.peer("one") as one, place.peer("two") as two:
        named, call = asking(one, place)
        one.request("agents/attach", sessionId=named)
        two.request("agents/cancel", sessionId=named)
        told = [event["event"] for event in heard(one) if event["event"]["type"] == "pending/resolved"]
        assert [(event["pending"]["token"], event["resolution"]["kind"]) for event in told] == [
            (call["token"], "cancelled")
        ]
        assert heard(one, "agents/summary")[-1]["pendingCount"] == 0
        outcome = {"kind": "approve"}
        late = one.request("agents/complete", token=call["token"], argumentsHash=call["argumentsHash"], outcome=outcome)
        assert (late["applied"], late["resolution"]["kind"], late["session"]["activity"]) == (
            False,
            "cancelled",
            "idle",
        )
        assert place.ran() == 0


def test_a_client_of_many_sessions_is_told_of_each_what_it_missed_and_of_the_others_a_summary(
    place: Place, nursery: Nursery
) -> None:
    with place.peer("other") as other:
        waits, _ = asking(other, place)
        quiet = started(other, place, "quiet", script=[says("hi")])
        unnamed = started(other, place, "unnamed", script=[says("hi")])
        broken = started(other, place, "broken", script=[says("hi")])
        gone = started(other, place, "gone", script=[says("hi")])
        put_away = started(other, place, "away", script=[says("hi")])
        other.request("agents/update", sessionId=put_away, archived=True)
        other.request("agents/delete", sessionId=gone)
    place.kill_daemon()
    journal = place.journal(broken)
    journal.write_bytes(b"\0" * 100 + journal.read_bytes())
    nursery.wake(place).close()
    with place.peer("one") as one:
        after = {quiet: 1, waits: 3, gone: 1, broken: 1, unnamed: 99}
        told = one.request("agents/attach", sessionId="*", after=after)
        shown = [(each["sessionId"], each["status"], each.get("seq")) for each in told["sessions"]]
        ends = {named: len(events(one, named)) for named in (quiet, waits, unnamed)}
        assert shown == [
            (quiet, "ok", ends[quiet]),
            (waits, "ok", ends[waits]),
            (gone, "unknown", None),
            (broken, "damaged", None),
            (unnamed, "expired", None),
        ]
        assert told["replay"] == [*events(one, quiet, 1), *events(one, waits, 3)]
        assert [each["session"] for each in told["sessions"][:2]] == [
            one.request("agents/get", sessionId=named)["session"] for named in (quiet, waits)
        ]
        assert [(each["title"], each["pendingCount"], each["attention"]) for each in told["summaries"]] == [
            ("x", 1, "approval"),
            ("unnamed", 0, "none"),
            ("quiet", 0, "none"),
        ]
        assert (told["hasMore"], told["seq"], "snapshot" in told) == (False, 0, False)
        for named in (quiet, unnamed):
            one.request("agents/update", sessionId=named, title="new")
        assert {event["sessionId"] for event in heard(one)} == {quiet}
        assert one.request("agents/detach", sessionId="*") == {}
        one.request("agents/update", sessionId=quiet, title="newer")
        assert len(heard(one)) == 1


def test_what_happens_while_many_sessions_are_looked_at_is_told_once(place: Place) -> None:
    with place.peer("one") as one, place.peer("two") as two, place.peer("three") as three:
        names = [started(two, place, f"s{number}", script=[says("hi")]) for number in range(20)]
        three.request("agents/attach", sessionId="*", after=dict.fromkeys(names, 0))
        attach = one.start("agents/attach", sessionId="*", after=dict.fromkeys(names, 0))
        changes = [two.start("agents/update", sessionId=named, title=f"new {named}") for named in names]
        told = one.answer(attach)
        assert [early for early in one.heard if early["method"] == "agents/event"] == []
        assert [two.answer(change)["sessionId"] for change in changes] == names
        streamed = heard(one)
        for named in names:
            both = [event for event in [*told["replay"], *streamed] if event["sessionId"] == named]
            assert both == events(two, named)


@pytest.mark.parametrize(
    "params",
    [
        {"sessionId": "*", "after": 3},
        {"sessionId": "s", "after": {"s": 1}},
        {"sessionId": "s", "after": -1},
        {"sessionId": "*", "after": {"s": -1}},
        {"sessionId": "*", "after": {f"s{number}": 0 for number in range(1001)}},
    ],
    ids=["a number for all", "an object for one", "below zero", "below zero for one of all", "too many"],
)
def test_what_no_client_can_have_heard_is_refused(place: Place, params: Any) -> None:
    with pytest.raises(Refusal) as refused:
        place.rpc("agents/attach", **params)
    assert refused.value.code in (-32602, -31007)


def test_of_a_session_that_others_move_delete_restore_and_import_everybody_gets_summaries(
    place: Place, nursery: Nursery
) -> None:
    with place.peer("one") as one, place.peer("two") as two:
        named, _ = asking(two, place)
        assert heard(one, "agents/summary")[-1]["attention"] == "approval"
        export = str(place.work / "export.jsonl")
        two.request("agents/export", sessionId=named, path=export)
        two.request("agents/delete", sessionId=named, force=True)
        assert _last(one) == (named, 0, "none", True)
        two.request("agents/restore", sessionId=named)
        assert _last(one) == (named, 1, "approval", None)
        two.request("agents/import", path=export, sessionId="copy")
        assert _last(one) == ("copy", 1, "approval", None)
    place.kill_daemon()
    damage(place, named)
    nursery.wake(place).close()
    with place.peer("one") as one, place.peer("two") as two:
        assert named in [each["sessionId"] for each in two.request("agents/sessions")["damaged"]]
        assert _last(one) == (named, 0, "error", None)
        assert [call["sessionId"] for call in two.request("agents/pending")["items"]] == ["copy"]
        told = one.request("agents/attach", sessionId="*")["summaries"]
        assert [(each["sessionId"], each["attention"]) for each in told] == [("copy", "approval"), (named, "error")]
        two.request("agents/repair", sessionId=named, apply=True)
        assert _last(one) == (named, 1, "approval", None)


def _last(peer: Peer) -> tuple[str, int, str, bool | None]:
    summary = heard(peer, "agents/summary")[-1]
    return summary["sessionId"], summary["pendingCount"], summary["attention"], summary.get("deleted")


def test_whoever_is_attached_to_a_session_that_is_mended_begins_anew(place: Place) -> None:
    with place.peer("one") as one, place.peer("two") as two:
        named, _ = asking(two, place)
        one.request("agents/attach", sessionId=named)
        damage(place, named)
        assert two.request("agents/repair", sessionId=named, apply=True)["applied"] is True
        assert heard(one, "agents/overflow") == [{"sessionId": named, "resumeAfter": 0}]
        again = one.request("agents/attach", sessionId=named, after=0)
        assert again["replay"] == events(two, named)


def test_a_client_that_does_not_read_is_cut_off_from_the_session_and_gets_the_rest_once(place: Place) -> None:
    with place.peer("slow") as slow, place.peer("other") as other:
        named = started(other, place, script=[says("hi")])
        seq = slow.request("agents/attach", sessionId=named)["seq"]
        for number in range(16):
            other.request("agents/send", sessionId=named, prompt=f"{number} " + "x" * 400_000)
        told = heard(slow)
        [cut] = heard(slow, "agents/overflow")
        assert [event["seq"] for event in told] == list(range(seq + 1, cut["resumeAfter"] + 1))
        again = slow.request("agents/attach", sessionId=named, after=cut["resumeAfter"])
        assert [event["seq"] for event in again["replay"]] == list(range(cut["resumeAfter"] + 1, again["seq"] + 1))
        whole = [*told, *again["replay"]]
        prompts = [event["event"]["item"]["parts"][0]["text"] for event in whole if "item" in event["event"]]
        assert [text.split()[0] for text in prompts] == [str(number) for number in range(16)]
        other.request("agents/update", sessionId=named, title="new")
        assert [event["seq"] for event in heard(slow)[len(told) :]] == [again["seq"] + 1]


def test_a_write_that_fails_is_told_and_whoever_is_attached_begins_anew_once_the_session_is_loaded_again(
    place: Place, nursery: Nursery
) -> None:
    place.kill_daemon()
    with nursery.wake(place, shaky=0.1, seed=3) as other, place.peer("one") as one:
        named = until(lambda: unless_it_fails(lambda: started(other, place, script=[says("hi")])))
        one.request("agents/attach", sessionId=named)
        number = count()
        until(
            lambda: (
                not unless_it_fails(lambda: other.request("agents/update", sessionId=named, title=str(next(number))))
            )
        )
        assert types(heard(one))[-1] == "record-failed"
        assert heard(one, "agents/overflow") == []
        until(lambda: unless_it_fails(lambda: other.request("agents/reopen", sessionId=named)["applied"]))
        assert heard(one, "agents/overflow") == [{"sessionId": named, "resumeAfter": 0}]
        again = one.request("agents/attach", sessionId=named, after=0)
        assert again["replay"] == events(other, named)


def unless_it_fails(act: Callable[[], Any]) -> Any:
    """What comes of it, None where it cannot be recorded."""
    try:
        return act()
    except Refusal as refused:
        assert refused.kind == "record/failed", refused
        return None


def test_a_session_too_large_for_a_reply_is_shown_without_its_middles(place: Place) -> None:
    script = [calls(*[("ext", {"x": letter * 2_000_000}) for letter in "abc"])]
    with place.peer("one") as one:
        named = started(one, place, script=script)
        one.request("agents/step", sessionId=named)
        stepped = one.request("agents/step", sessionId=named)
        assert stepped["outcome"] == "advanced"
        shown = one.request("agents/attach", sessionId=named)["snapshot"]["session"]["pending"]
        assert [call["kind"] for call in shown] == ["external"] * 3
        assert all("characters left out" in call["arguments"] for call in shown)
        assert stepped["session"]["pending"] == shown
        again = one.request("agents/attach", sessionId="*", after={named: 1})
        assert again["sessions"][0]["session"]["pending"] == shown
        assert again["replay"] == events(one, named, 1)
