"""What extensions say of calls: denied, or asked about before anything of the batch runs (machine.md, Extensions)."""

from dataclasses import replace
from typing import Any

import pytest
from support.stories import LATER, Came, asked, at, came, complete, completion, find, refused, repaired, states
from support.world import CLIENT, World, agent, answer, tool

from abey.core import events as e
from abey.core.conversation import CallRuling
from abey.core.effects import RunTool
from abey.core.hashes import shown_hash
from abey.core.history import history, result_of
from abey.core.machine import Machine
from abey.core.pending_views import pending_view
from abey.core.remembering import TOLD, made
from abey.core.views import items, resolution_view, summary_view
from abey.protocol import journal as j
from abey.protocol import outcomes as o
from abey.protocol.policy import AskedRule, Deny
from abey.protocol.rulings import Ruling
from abey.protocol.transcript import Question

SURE = Question(kind="approval", prompt="push it?")
WHO = Question.model_validate(
    {"kind": "response", "prompt": "who?", "schema": {"type": "object", "properties": {"x": {}}, "required": ["x"]}}
)


def denies(index: int, reason: str | None = "not here") -> CallRuling:
    return CallRuling(index, "guard", reason=reason)


def asks(index: int, question: Question = SURE) -> CallRuling:
    return CallRuling(index, "guard", question=question)


def ruled(*names: str, rulings: tuple[CallRuling, ...], world: World | None = None) -> World:
    """The model has asked for these tools, hooks have said this of its calls, and nothing is decided yet."""
    world = world or World()
    world.start("hello", e.STEP)
    world.model_says(replace(answer(*asked(*names)), rulings=rulings))
    return world


def decided(*names: str, rulings: tuple[CallRuling, ...], run: e.Run = e.STEP) -> World:
    world = ruled(*names, rulings=rulings)
    world.drive(run)
    return world


def waits(world: World) -> list[tuple[str, str, str]]:
    return [(one.call_id, one.kind, one.reason) for one in pending_view(world.session, None)]


ASKS = "extension guard asks before it runs"


def test_rulings_are_recorded_with_the_answer_under_the_ids_of_its_calls() -> None:
    world = World()
    world.start("hello", e.STEP)
    world.model_says(replace(answer(("", "run", "{}"), ("c2", "run", "{}")), rulings=(asks(0), denies(1))))
    candidate = world.records[-1].data
    assert isinstance(candidate, j.Candidate)
    ours = candidate.calls[0].call_id
    assert candidate.verdicts == (
        Ruling(call_id=ours, extension="guard", kind="ask", question=SURE),
        Ruling(call_id="c2", extension="guard", kind="deny", reason="not here"),
    )


def test_an_answer_without_rulings_records_none() -> None:
    candidate = ruled("run", rulings=()).records[-1].data
    assert isinstance(candidate, j.Candidate)
    assert candidate.verdicts is None


@pytest.mark.parametrize("name", ["run", "bg", "ask", "box", "ext", "soon"])
def test_a_denied_call_is_denied_whatever_the_policy_lets_run(name: str) -> None:
    world = decided(name, rulings=(denies(0),))
    call = find(world, "c1")
    assert call.verdict is not None
    said = (call.verdict.disposition, call.verdict.reason, call.verdict.rule, call.verdict.expires_at)
    assert said == (Deny(reason="not here"), "not here", {"extension": "guard"}, None)
    assert world.types()[-3:] == ["call-decided", "call-finished", "tool-results"]
    assert (call.state, result_of(call).content, result_of(call).is_error) == (
        "denied",
        "denied by extension guard: not here",
        True,
    )
    assert (world.session.state, world.starts) == ("userTurn", [])


def test_a_denial_without_a_reason_names_the_extension() -> None:
    world = decided("run", rulings=(denies(0, None),))
    assert result_of(find(world, "c1")).content == "denied by extension guard"


def test_what_the_policy_denies_the_policy_denies() -> None:
    for ruling in (denies(0), asks(0)):
        world = decided("no", rulings=(ruling,))
        assert world.types()[-3:] == ["call-decided", "call-finished", "tool-results"]
        assert result_of(find(world, "c1")).content == "denied by policy: never"


@pytest.mark.parametrize("rulings", [(asks(0), denies(0)), (denies(0), asks(0))])
def test_a_denial_beats_a_question(rulings: tuple[CallRuling, ...]) -> None:
    assert find(decided("run", rulings=rulings), "c1").state == "denied"


def test_of_two_questions_the_first_is_asked() -> None:
    world = decided("run", rulings=(asks(0, WHO), asks(0)))
    assert find(world, "c1").question == WHO


@pytest.mark.parametrize("ruling", [denies(0), asks(0)])
def test_a_call_that_cannot_be_judged_fails_all_the_same(ruling: CallRuling) -> None:
    world = decided("gone", rulings=(ruling,))
    assert (find(world, "c1").state, world.types()[-2:]) == ("failed", ["call-finished", "tool-results"])


def test_a_question_is_asked_before_anything_of_the_batch_runs() -> None:
    world = ruled("run", "bg", "ask", rulings=(asks(0),))
    done = world.drive(e.UNTIL_YIELD)
    wrote = ["call-decided", "call-asked", "call-decided", "call-decided", "waiting"]
    assert came(done) == Came(wrote, ["end waiting after 1"], "partialUserTurn")
    assert states(world) == {"c1": "ready", "c2": "ready", "c3": "deferred"}
    assert waits(world) == [("c1", "question", ASKS), ("c3", "approval", "approval required")]


def test_a_step_on_an_open_question_waits_and_records_nothing() -> None:
    world = decided("run", "run", rulings=(asks(1),))
    for run in (e.STEP, e.UNTIL_YIELD, e.Run(synchronous=True)):
        assert came(world.drive(run)) == Came([], ["end waiting after 0"], "partialUserTurn")


def test_every_question_of_a_batch_is_asked_at_once_and_nothing_starts_before_the_last_answer() -> None:
    world = decided("run", "run", "run", rulings=(asks(2, WHO), asks(0)))
    assert waits(world) == [("c1", "question", ASKS), ("c3", "question", ASKS)]
    assert came(complete(world, "c3", o.Answer(value={"x": "ada"}), resume=True)) == Came(
        ["call-resolved"], ["end waiting after 0"], "partialUserTurn"
    )
    assert came(complete(world, "c1", o.Answer(value=True))) == Came(["call-resolved"], [], "partialUserTurn")
    assert came(world.drive()).did == ["run run", "run run", "run run"]
    answers = [one.answer for one in world.effects if isinstance(one, RunTool)]
    assert answers == [True, None, {"x": "ada"}]


def test_a_patient_run_goes_on_by_itself_with_the_answer() -> None:
    world = decided("run", rulings=(asks(0),), run=e.UNTIL_TURN)
    wrote = ["call-resolved", "call-started"]
    assert came(complete(world, "c1", o.Answer(value=True))) == Came(wrote, ["run run"], "partialUserTurn", "tools")


def test_an_answer_that_resumes_starts_the_call_and_waits_for_what_follows() -> None:
    world = decided("run", rulings=(asks(0),))
    wrote = ["call-resolved", "call-started"]
    done = complete(world, "c1", o.Answer(value=True), resume=True)
    assert came(done) == Came(wrote, ["run run"], "partialUserTurn", "tools")
    assert came(world.tool_ends()) == Came(
        ["call-finished", "tool-results", "model-requested"], ["ask model"], "userTurn", "model"
    )


def test_while_paused_an_answer_is_recorded_and_the_call_starts_when_the_session_goes_on() -> None:
    world = decided("run", rulings=(asks(0),))
    world.send(e.Pause(None, CLIENT))
    assert came(complete(world, "c1", o.Answer(value=True), resume=True)).did == []
    assert came(world.drive(e.UNTIL_YIELD, resume=True)).did == ["run run"]


def test_a_deferred_call_needs_its_approval_as_well() -> None:
    world = decided("ask", rulings=(asks(0, WHO),))
    assert waits(world) == [("c1", "question", ASKS)]
    assert refused(world, completion(world, "c1", o.Approve()))["legal"] == ["answer", "cancel"]
    complete(world, "c1", o.Answer(value={"x": "ada"}))
    assert waits(world) == [("c1", "approval", "approval required")]
    complete(world, "c1", o.Approve())
    assert world.take(RunTool).answer == {"x": "ada"}


def test_a_background_call_starts_in_the_background_once_it_was_answered() -> None:
    world = decided("bg", rulings=(asks(0),))
    complete(world, "c1", o.Answer(value=True))
    assert came(world.drive()) == Came(
        ["call-started", "waiting"], ["run bg", "end advanced after 1"], "partialUserTurn"
    )


def test_a_rejection_is_a_result_for_the_model_and_the_turn_goes_on() -> None:
    world = decided("run", "run", rulings=(asks(0), asks(1)))
    complete(world, "c1", o.Answer(value=False))
    call = find(world, "c1")
    assert (call.state, result_of(call).content) == ("denied", "denied by user: Approval rejected")
    assert waits(world) == [("c2", "question", ASKS)]
    assert came(complete(world, "c2", o.Answer(value=False))) == Came(["call-resolved", "tool-results"], [], "userTurn")
    assert world.starts == []


def test_a_response_of_false_is_a_response() -> None:
    world = decided("run", rulings=(asks(0, Question(kind="response", prompt="which?")),))
    complete(world, "c1", o.Answer(value=False))
    world.drive()
    assert world.take(RunTool).answer is False


def test_a_question_that_is_cancelled_closes_the_call_unrun() -> None:
    world = decided("run", rulings=(asks(0),))
    assert came(complete(world, "c1", o.CancelCall())) == Came(["call-resolved", "tool-results"], [], "userTurn")
    call = find(world, "c1")
    assert (call.state, result_of(call).content) == ("cancelled", "cancelled by user; it was not run")


@pytest.mark.parametrize(
    "outcome", [o.Approve(), o.DenyCall(), o.Result(content=1), o.Error(message="bad"), o.Rerun()], ids=str
)
@pytest.mark.parametrize("name", ["run", "ask", "box", "ext"])
def test_anything_else_is_no_answer_to_a_question(name: str, outcome: o.AnyOutcome) -> None:
    world = decided(name, rulings=(asks(0),))
    assert refused(world, completion(world, "c1", outcome)) == {
        "kind": "state/invalid",
        "retryable": False,
        "state": find(world, "c1").state,
        "pendingKind": "question",
        "legal": ["answer", "cancel"],
    }


def test_an_answer_that_does_not_fit_its_question_changes_nothing() -> None:
    world = decided("run", "run", rulings=(asks(0), asks(1, WHO)))
    for call_id, value in (("c1", "yes"), ("c2", {}), ("c2", True)):
        assert refused(world, completion(world, call_id, o.Answer(value=value)))["kind"] == "arguments/invalid"
    other = replace(completion(world, "c1", o.Answer(value=True)), arguments_hash="0" * 64)
    shown = shown_hash(world.session, find(world, "c1"))
    assert refused(world, other) == {"kind": "arguments/mismatch", "retryable": False, "argumentsHash": shown}
    assert came(world.send(replace(other, arguments_hash=None))).wrote == ["call-resolved"]


def test_the_first_answer_wins_and_a_later_one_is_told_so() -> None:
    world = decided("run", "ask", rulings=(asks(0), asks(1)))
    for call_id in ("c1", "c2"):
        complete(world, call_id, o.Answer(value=True))
        before = world.machine
        done = world.send(completion(world, call_id, o.Answer(value=False)))
        assert (dict(done.answer), world.machine) == ({"applied": False}, before)
    won = f"answered yes by test (cli) at {at(world)}"
    assert [resolution_view(find(world, call_id)).text for call_id in ("c1", "c2")] == [won, won]


def test_a_question_survives_a_restart_and_so_does_its_answer() -> None:
    world = decided("safe", "run", rulings=(asks(0, WHO),))
    world.crash()
    assert (waits(world), world.session.state) == ([("c1", "question", ASKS)], "partialUserTurn")
    complete(world, "c1", o.Answer(value={"x": "ada"}))
    world.crash()
    assert came(world.drive()).did == ["run safe", "run run"]
    world.crash()
    world.drive()
    assert [(one.tool.name, one.answer) for one in world.effects if isinstance(one, RunTool)] == [
        ("safe", {"x": "ada"})
    ]


def test_a_torn_journal_leaves_a_call_in_doubt_and_no_question() -> None:
    world = repaired(decided("run", rulings=(asks(0),)))
    assert waits(world) == [("c1", "uncertain", "may have run")]
    assert came(complete(world, "c1", o.Rerun())).did == ["run run"]


def test_an_imported_session_still_asks() -> None:
    world = decided("run", "ask", "run", rulings=(asks(0),))
    imported = j.Imported(format="jsonl", source="a.jsonl")
    world.records.append(j.Record(world.records[-1].rev + 1, world.context().now, imported))
    world.crash()
    assert waits(world) == [
        ("c1", "question", ASKS),
        ("c2", "approval", "approval required"),
        ("c3", "uncertain", "may have run"),
    ]


def test_after_a_rewind_the_question_is_asked_again_under_another_token() -> None:
    world = ruled("run", rulings=(asks(0),))
    world.drive()
    before = find(world, "c1").verdict
    complete(world, "c1", o.Answer(value=True))
    world.send(e.Rewind(world.session.batch.revision, CLIENT))
    world.drive()
    after = find(world, "c1").verdict
    assert waits(world) == [("c1", "question", ASKS)]
    assert before is not None
    assert after is not None
    assert before.token != after.token


def test_a_call_that_may_have_run_before_it_was_judged_is_not_asked_about() -> None:
    world = repaired(ruled("run", rulings=(asks(0),)))
    assert came(world.drive()).wrote == ["call-decided", "waiting"]
    assert waits(world) == [("c1", "uncertain", "may have run")]


@pytest.mark.parametrize("event", [e.Cancel(None, None, CLIENT), e.Stop(None, CLIENT)])
def test_cancel_and_stop_close_a_question_with_its_call(event: e.Event) -> None:
    world = decided("run", "ask", rulings=(asks(0), asks(1)))
    tokens = [find(world, call_id).verdict for call_id in ("c1", "c2")]
    world.send(event)
    assert states(world) == {"c1": "cancelled", "c2": "cancelled"}
    assert [find(world, one).question for one in ("c1", "c2")] == [None, None]
    stopped = world.records[-1].data
    if isinstance(stopped, j.Stopped):
        kept = [{"callId": f"c{n}", "token": one.token} for n, one in enumerate(tokens, 1) if one is not None]
        assert list(stopped.cancelled_calls) == kept


def test_a_rule_that_sets_a_time_sets_it_for_the_question_too() -> None:
    world = decided("soon", "ext", rulings=(asks(0),))
    world.millis += 60_000
    world.send(e.TimePassed())
    call = find(world, "c1")
    assert (call.state, call.question, result_of(call).content) == (
        "expired",
        None,
        "nobody answered in time; the call was not run",
    )


def test_a_run_that_waits_for_nobody_has_nobody_asked() -> None:
    world = ruled("run", "run", rulings=(asks(0),))
    world.drive(e.Run(synchronous=True))
    assert result_of(find(world, "c1")).content == "needs a decision, and this run is synchronous"
    assert world.starts == [("c2", "{}")]


def test_an_approved_sibling_runs_while_the_question_is_open() -> None:
    world = decided("run", "ask", rulings=(asks(0),))
    assert came(complete(world, "c2", o.Approve())).did == ["run ask"]
    assert states(world) == {"c1": "ready", "c2": "running"}


def remembers(world: World, disposition: str, **more: str) -> None:
    rule = AskedRule.model_validate({"tool": "ask", "disposition": disposition, "scope": "session", **more})
    world.send(e.ChangeRules("add", made(rule, session_id="s1", origin="by hand", now="T"), CLIENT))


def test_a_remembered_rule_answers_no_question() -> None:
    world = decided("ask", "ask", rulings=(asks(0),))
    remembers(world, "runSync")
    assert states(world) == {"c1": "deferred", "c2": "running"}
    assert waits(world) == [("c1", "question", ASKS)]


@pytest.mark.parametrize(
    ("disposition", "outcome", "wrote", "effects", "state"),
    [
        ("runSync", o.Approve(), ["call-resolved", "call-resolved", "call-started"], ["run ask"], "running"),
        ("deny", o.DenyCall(message=TOLD), ["call-resolved", "call-resolved", "tool-results"], [], "denied"),
    ],
)
def test_a_rule_that_came_while_somebody_was_asked_answers_the_approval_that_is_left(
    disposition: str, outcome: o.AnyOutcome, wrote: list[str], effects: list[str], state: str
) -> None:
    world = decided("ask", rulings=(asks(0),))
    remembers(world, disposition)
    done = complete(world, "c1", o.Answer(value=True))
    assert (came(done).wrote, came(done).did) == (wrote, effects)
    resolution = find(world, "c1").resolution
    assert resolution is not None
    (rule,) = world.session.rules
    assert (resolution.by, resolution.outcome, resolution.rule_id) == ("rule", outcome, rule.rule_id)
    assert states(world) == {"c1": state}


def test_who_says_no_to_the_question_is_heard_before_any_rule() -> None:
    world = decided("ask", rulings=(asks(0),))
    remembers(world, "runSync")
    complete(world, "c1", o.Answer(value=False))
    assert (states(world), world.starts) == ({"c1": "denied"}, [])


def test_a_sandbox_that_has_come_answers_no_question() -> None:
    world = decided("box", "box", rulings=(asks(0),))
    token = find(world, "c1").verdict
    assert token is not None
    world.no_sandbox = None
    assert refused(world, e.Isolate(token.token, CLIENT))["pendingKind"] == "question"
    assert came(world.send(e.Isolate(None, CLIENT))) == Came(["call-decided"], [], "partialUserTurn")
    assert states(world) == {"c1": "deferred", "c2": "ready"}


def test_a_tool_that_changed_while_somebody_was_asked_needs_an_approval() -> None:
    world = decided("run", rulings=(asks(0, WHO),))
    world.agent = agent((tool("run", idempotent=True),))
    complete(world, "c1", o.Answer(value={"x": "ada"}))
    world.drive()
    assert waits(world) == [("c1", "approval", "the tool's definition changed after the call was judged")]
    complete(world, "c1", o.Approve())
    assert world.take(RunTool).answer == {"x": "ada"}


def test_what_clients_are_shown_of_a_call_that_is_asked_about() -> None:
    world = World()
    world.start("hello", e.STEP)
    world.millis += LATER
    world.model_says(replace(answer(("c1", "run", '{"x":  "1"}')), rulings=(asks(0),)))
    world.drive()
    call = find(world, "c1")
    assert call.verdict is not None
    (shown,) = pending_view(world.session, world.agent)
    assert shown.wire() == {
        "token": call.verdict.token,
        "sessionId": "s1",
        "turnId": world.session.turn.turn_id,
        "callId": "c1",
        "kind": "question",
        "tool": "run",
        "title": 'run {"x": "1"}',
        "arguments": {"x": "1"},
        "argumentsHash": shown_hash(world.session, call),
        "argumentsSchema": world.agent.tools["run"].parameters,
        "editable": False,
        "cwd": "/w",
        "question": {"kind": "approval", "prompt": "push it?"},
        "reason": ASKS,
        "suggestions": [],
        "createdAt": at(world),
    }
    (item,) = [one.call for one in items(world.session) if one.call is not None]
    assert (item.state, item.token) == ("ready", call.verdict.token)
    summary: Any = summary_view(Machine(world.session))
    assert (summary.pending_count, summary.attention) == (1, "question")


def test_the_history_of_a_question_is_closed() -> None:
    world = decided("run", rulings=(asks(0),))
    assert [type(one).__name__ for one in history(world.session)] == [
        "UserMessage",
        "AssistantMessage",
        "ResultMessage",
    ]
