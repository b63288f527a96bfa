"""Answers to calls that wait: which are legal, which wins, and what they lead to (machine.md, Completing)."""

from collections.abc import Callable

import pytest
from support.stories import Came, came, complete, completion, crashed, dispatched, find, refused, states
from support.world import CLIENT, World, answer

from abey.core import events as e
from abey.core.completing import legal_outcomes, pending_kind
from abey.core.history import result_of
from abey.core.views import resolution_view
from abey.protocol import journal as j
from abey.protocol import outcomes as o
from abey.protocol.transcript import Question


def asking() -> World:
    world = dispatched("bg")
    world.send(e.ToolAsked(world.effects[0].invocation_id, Question(kind="approval", prompt="sure?")))
    return world


WORLDS: dict[str, Callable[[], World]] = {
    "approval": lambda: dispatched("ask"),
    "external": lambda: dispatched("ext"),
    "question": asking,
    "running": lambda: dispatched("bg"),
    "uncertain": lambda: crashed("run"),
}
LEGAL = {
    "approval": ["approve", "deny", "result", "error", "cancel"],
    "external": ["result", "error", "deny", "cancel"],
    "question": ["answer", "cancel"],
    "running": ["result", "error", "cancel"],
    "uncertain": ["result", "error", "cancel", "rerun"],
}
STATES = {"approval": "deferred", "external": "deferred", "question": "running", "running": "running"}
OUTCOMES: dict[str, o.AnyOutcome] = {
    "approve": o.Approve(),
    "deny": o.DenyCall(message="no"),
    "result": o.Result(content={"b": 1, "a": None}),
    "error": o.Error(message="bad"),
    "answer": o.Answer(value=False),
    "cancel": o.CancelCall(),
    "rerun": o.Rerun(),
}
ENDED = ["call-resolved", "tool-results"]
CAME: dict[tuple[str, str], Came] = {
    ("approval", "approve"): Came(["call-resolved", "call-started"], ["run ask"], "partialUserTurn"),
    ("approval", "deny"): Came(ENDED, [], "userTurn"),
    ("approval", "result"): Came(ENDED, [], "userTurn"),
    ("approval", "error"): Came(ENDED, [], "userTurn"),
    ("approval", "cancel"): Came(ENDED, [], "userTurn"),
    ("external", "deny"): Came(ENDED, [], "userTurn"),
    ("external", "result"): Came(ENDED, [], "userTurn"),
    ("external", "error"): Came(ENDED, [], "userTurn"),
    ("external", "cancel"): Came(ENDED, [], "userTurn"),
    ("question", "answer"): Came(["call-resolved"], ["answer False"], "partialUserTurn"),
    ("question", "cancel"): Came(["call-resolved"], ["answer None"], "partialUserTurn"),
    ("running", "result"): Came(ENDED, ["abort"], "userTurn"),
    ("running", "error"): Came(ENDED, ["abort"], "userTurn"),
    ("running", "cancel"): Came(ENDED, ["abort"], "userTurn"),
    ("uncertain", "result"): Came(ENDED, [], "userTurn"),
    ("uncertain", "error"): Came(ENDED, [], "userTurn"),
    ("uncertain", "cancel"): Came(ENDED, [], "userTurn"),
    ("uncertain", "rerun"): Came(["call-resolved", "call-started"], ["run run"], "partialUserTurn"),
}


@pytest.mark.parametrize("kind", WORLDS)
def test_what_a_call_waits_for_says_what_may_be_answered(kind: str) -> None:
    call = find(WORLDS[kind](), "c1")
    assert (pending_kind(call), list(legal_outcomes(call))) == (kind, LEGAL[kind])


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("kind", WORLDS)
def test_an_answer_is_taken_where_it_is_legal_and_else_the_call_is_untouched(kind: str, outcome: str) -> None:
    world = WORLDS[kind]()
    if (kind, outcome) in CAME:
        assert came(complete(world, "c1", OUTCOMES[outcome])) == CAME[kind, outcome]
        return
    before = world.machine
    assert refused(world, completion(world, "c1", OUTCOMES[outcome])) == {
        "kind": "state/invalid",
        "retryable": False,
        "state": STATES.get(kind, "uncertain"),
        "pendingKind": kind,
        "legal": LEGAL[kind],
    }
    assert world.machine == before


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("approval", "waits for an approval"),
        ("external", "waits for a result"),
        ("question", "asks a question"),
        ("running", "runs"),
        ("uncertain", "may have run"),
    ],
)
def test_a_refused_answer_says_in_words_what_the_call_does(kind: str, words: str) -> None:
    world = WORLDS[kind]()
    outcome = "deny" if kind == "question" else "answer"
    error = world.try_send(completion(world, "c1", OUTCOMES[outcome]))
    assert error is not None
    said = f"{outcome} does not complete a call that {words}; legal: {', '.join(LEGAL[kind])}"
    assert error.message == said


def test_a_call_that_waits_for_its_turn_takes_no_answer() -> None:
    world = dispatched("alone", "run")
    assert refused(world, completion(world, "c2", o.CancelCall())) == {
        "kind": "state/invalid",
        "retryable": False,
        "state": "ready",
        "pendingKind": None,
        "legal": [],
    }


def test_the_record_says_who_answered_what() -> None:
    done = complete(dispatched("ask"), "c1", o.DenyCall(message="not on a Friday"))
    assert done.records[0].data == j.CallResolved(
        call_id="c1", by="test", client=CLIENT, outcome=o.DenyCall(message="not on a Friday")
    )


TOLD = {
    "deny": ("denied by user: no", True),
    "result": ({"b": 1, "a": None}, False),
    "error": ("bad", True),
    "cancel": ("cancelled by user; it was not run", True),
}


@pytest.mark.parametrize("outcome", TOLD)
def test_the_model_is_told_what_was_answered(outcome: str) -> None:
    world = dispatched("ask")
    complete(world, "c1", OUTCOMES[outcome])
    result = result_of(find(world, "c1"))
    assert (result.content, result.is_error) == TOLD[outcome]


@pytest.mark.parametrize("second", OUTCOMES)
@pytest.mark.parametrize("first", ["deny", "result", "error", "cancel"])
def test_the_first_recorded_answer_wins_and_a_later_one_gets_no_records(first: str, second: str) -> None:
    world = dispatched("ask", "ext")
    complete(world, "c1", OUTCOMES[first])
    revision = world.session.revision
    assert came(complete(world, "c1", OUTCOMES[second])) == Came([], [], "partialUserTurn")
    assert (resolution_view(find(world, "c1")).kind, world.session.revision) == (first, revision)


def test_a_second_approval_changes_nothing_while_the_call_runs_and_after_it() -> None:
    world = dispatched("ask", "ext")
    complete(world, "c1", o.Approve())
    assert came(complete(world, "c1", o.Approve())) == Came([], [], "partialUserTurn")
    world.tool_ends()
    assert came(complete(world, "c1", o.DenyCall())) == Came([], [], "partialUserTurn")
    assert states(world) == {"c1": "completed", "c2": "deferred"}


def test_an_answer_to_a_call_that_ended_by_itself_was_cancelled_or_expired_comes_too_late() -> None:
    ended = dispatched("bg")
    ended.tool_ends()
    cancelled = dispatched("ask")
    cancelled.send(e.Cancel(None, None, CLIENT))
    expired = dispatched("soon")
    expired.millis += 60_000
    expired.send(e.TimePassed())
    kinds = {}
    for name, world in {"ended": ended, "cancelled": cancelled, "expired": expired}.items():
        assert came(complete(world, "c1", o.Result(content=1))).wrote == []
        kinds[name] = resolution_view(find(world, "c1")).kind
    assert kinds == {"ended": "finished", "cancelled": "cancelled", "expired": "expired"}


def test_an_answer_that_finds_the_call_overdue_records_the_expiry() -> None:
    world = dispatched("soon")
    event = completion(world, "c1", o.Approve())
    world.millis += 60_000
    assert came(world.send(event)) == Came(["call-expired", "tool-results"], [], "userTurn")


def test_a_token_that_was_never_issued_is_unknown() -> None:
    event = e.Complete("0" * 32, o.CancelCall(), None, CLIENT)
    assert refused(dispatched("ask"), event) == {"kind": "token/unknown", "retryable": False}


def test_the_tokens_of_a_stopped_session_are_answered_with_stopped_and_kept() -> None:
    world = dispatched("ask", "bg")
    tokens = [find(world, call_id).verdict.token for call_id in ("c1", "c2")]
    world.send(e.Stop("over", CLIENT))
    done = world.tool_ends("bg", "kept")
    assert done.records[-1].data == j.Stopped(
        reason="over", by="test", cancelled_calls=({"callId": "c1", "token": tokens[0]},)
    )
    for token in tokens:
        event = e.Complete(token, o.CancelCall(), None, CLIENT)
        assert refused(world, event) == {"kind": "session/stopped", "retryable": False}


def test_calls_complete_in_any_order_and_the_last_one_commits_the_batch() -> None:
    world = dispatched("ext", "ask", "ext")
    assert came(complete(world, "c3", o.Result(content=3))) == Came(["call-resolved"], [], "partialUserTurn")
    assert came(complete(world, "c1", o.Result(content=1))) == Came(["call-resolved"], [], "partialUserTurn")
    done = complete(world, "c2", o.Result(content=2))
    assert came(done) == Came(ENDED, [], "userTurn")
    assert done.records[-1].data.call_ids == ("c1", "c2", "c3")


def test_completing_calls_the_model_only_with_resume() -> None:
    done = complete(dispatched("ext"), "c1", o.Result(content=1), resume=True)
    assert came(done) == Came([*ENDED, "model-requested"], ["ask model"], "userTurn", "model")


def test_resuming_goes_on_once_the_approved_call_has_ended() -> None:
    world = dispatched("ask")
    done = complete(world, "c1", o.Approve(), resume=True)
    assert (came(done).did, done.generation) == (["run ask"], 3)
    wrote = ["call-finished", "tool-results", "model-requested"]
    assert came(world.tool_ends()) == Came(wrote, ["ask model"], "userTurn", "model")


def test_resuming_ends_waiting_where_others_are_still_asked() -> None:
    world = dispatched("ask", "ext")
    complete(world, "c1", o.Approve(), resume=True)
    assert came(world.tool_ends()) == Came(["call-finished"], ["end waiting after 0"], "partialUserTurn")


@pytest.mark.parametrize("run", [e.STEP, e.UNTIL_YIELD], ids=["step", "run"])
def test_resuming_while_a_step_goes_on_is_not_lost(run: e.Run) -> None:
    world = World()
    world.start("hello", run)
    world.model_says(answer(("c1", "run", "{}"), ("c2", "ask", "{}")))
    if run.once:
        world.drive()
    done = complete(world, "c2", o.Approve(), resume=True)
    assert came(done) == Came(["call-resolved", "call-started"], ["run ask"], "partialUserTurn", "tools")
    world.tool_ends("run")
    wrote = ["call-finished", "tool-results", "model-requested"]
    assert came(world.tool_ends("ask")) == Came(wrote, ["ask model"], "userTurn", "model")
    assert world.machine is not None and world.machine.work.run is not None
    assert world.machine.work.run.generation == done.generation
