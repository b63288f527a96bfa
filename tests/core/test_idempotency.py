"""Requests with a key: what their records say, what a repeat finds after every crash, and what is forgotten."""

from dataclasses import replace
from typing import Any

import pytest
from support.stories import asked, batch, complete, completion, dispatched
from support.world import CLIENT, World, answer, keyed, text_parts

from abey.core import events as e
from abey.core.effects import AskModel
from abey.core.idempotency import Remembered, input_id, keyed_request, made_at_once, recall
from abey.core.ids import key_id
from abey.core.replay import fold
from abey.errors import IdempotencyConflict
from abey.protocol import journal as j
from abey.protocol import outcomes as o

K = keyed("k")


def told(world: World, since: int = 0) -> list[str]:
    """The records in words: `>` before the key of a request that begins, `<` before those that end."""
    words = []
    for record in world.records[since:]:
        begins = f" >{record.request.key}" if record.request else ""
        ends = "".join(f" <{one.key}" for one in record.outcomes)
        words.append(f"{record.data.type}{begins}{ends}")
    return words


def outcomes(world: World) -> dict[str, Any]:
    return {one.key: one.outcome for one in world.session.requests.values()}


def send(run: e.Run | None = None, delivery: Any = "turn") -> e.Send:
    return e.Send(e.NewInput(text_parts("more"), "i1", delivery), run, CLIENT)


def answered() -> World:
    world = World()
    world.start("hello", e.THIS_TURN)
    world.model_says(answer(text="done"))
    return world


def test_a_request_that_is_answered_at_once_begins_and_ends_in_one_record() -> None:
    world = answered()
    world.send(send(), K)
    assert told(world)[-1] == "input >k <k"
    assert outcomes(world) == {"k": {"inputId": "i1", "position": 0}}
    assert recall(world.session.requests, K.request) == Remembered(
        "k", "agents/any", K.request.body_hash, {"inputId": "i1", "position": 0}
    )


def test_a_queued_input_is_told_its_place() -> None:
    world = dispatched("run")
    world.send(send(delivery="queue"))
    world.send(replace(send(delivery="queue"), input=e.NewInput(text_parts("x"), "i2", "queue")), K)
    assert (told(world)[-1], outcomes(world)) == ("input-queued >k <k", {"k": {"inputId": "i2", "position": 2}})


def test_a_step_begins_with_its_first_record_and_ends_with_its_last() -> None:
    world = batch("run", "ask")
    done = len(world.records)
    world.send(e.Drive(e.STEP, CLIENT), K)
    world.tool_ends()
    assert told(world, done) == ["call-decided >k", "call-decided", "call-started", "call-finished", "waiting <k"]
    assert outcomes(world) == {"k": {"outcome": "advanced", "steps": 1}}


def ran_with_a_key() -> World:
    """A model call, a tool, and the answer."""
    world = World()
    world.start("hello")
    world.send(e.Drive(e.UNTIL_YIELD, CLIENT), K)
    world.model_says(answer(*asked("run")))
    world.tool_ends()
    world.model_says(answer(text="done"))
    return world


def test_a_run_ends_with_the_record_that_ends_it() -> None:
    world = ran_with_a_key()
    assert told(world, 2) == [
        "model-requested >k",
        "candidate",
        "call-decided",
        "call-started",
        "call-finished",
        "tool-results",
        "model-requested",
        "candidate",
        "final <k",
    ]
    assert outcomes(world) == {"k": {"outcome": "completed", "steps": 3}}


def test_a_start_is_told_of_by_the_first_record_of_the_session() -> None:
    world = World(keyed=True)
    world.start("hello", e.THIS_TURN)
    world.model_says(answer(text="done"))
    assert told(world) == ["created >k1", "input", "model-requested", "candidate", "final <k1"]
    assert outcomes(world) == {"k1": {}}


def test_a_run_that_nobody_waits_for_has_ended_for_its_request_when_it_has_begun() -> None:
    world = World()
    world.start("hello")
    world.send(e.Drive(e.UNTIL_YIELD, CLIENT), keyed("k", waits=False))
    assert (told(world)[-1], outcomes(world)) == (
        "model-requested >k <k",
        {"k": {"outcome": "started", "steps": 0}},
    )


def test_a_model_call_that_fails_is_the_outcome_of_who_waited_for_it() -> None:
    world = answered()
    world.send(send(e.THIS_TURN), K)
    failed = e.ModelCallFailed(world.take(AskModel).invocation_id, "auth", "no key", 1, {"missingEnv": ["X_KEY"]})
    world.send(failed)
    assert told(world)[-1] == "model-failed <k"
    data = {"kind": "model/auth", "retryable": False, "missingEnv": ["X_KEY"]}
    assert outcomes(world) == {"k": {"error": {"code": -31017, "message": "no key", "data": data}}}


def test_an_approval_ends_when_the_call_has_ended_and_what_it_resumed() -> None:
    world = dispatched("ask")
    done = len(world.records)
    world.send(completion(world, "c1", o.Approve(), resume=True), K)
    world.tool_ends()
    assert outcomes(world) == {"k": None}
    world.model_says(answer(text="done"))
    assert told(world, done) == [
        "call-resolved >k",
        "call-started",
        "call-finished",
        "tool-results",
        "model-requested",
        "candidate",
        "final <k",
    ]
    assert outcomes(world) == {"k": {"applied": True}}


def test_a_late_answer_records_nothing_and_is_forgotten() -> None:
    world = dispatched("ask", "ask")
    late = completion(world, "c1", o.DenyCall())
    world.send(late)
    done = world.send(late, K)
    assert (done.records, done.answer, world.session.requests) == ((), {"applied": False}, {})


def test_a_refusal_that_records_something_is_an_outcome() -> None:
    world = dispatched("ask")
    approve = completion(world, "c1", o.Approve())
    tools = {**world.agent.tools, "ask": replace(world.agent.tools["ask"], hash="other")}
    world.agent = replace(world.agent, tools=tools, config_hash="other")
    world.send(approve, K)
    assert told(world)[-1] == "call-decided >k <k"
    assert outcomes(world)["k"]["error"]["data"]["kind"] == "arguments/mismatch"


@pytest.mark.parametrize("event", [e.Pause(None, CLIENT), e.Drive(e.STEP, CLIENT), e.Cancel("other", None, CLIENT)])
def test_a_request_that_recorded_nothing_is_not_remembered(event: e.Event) -> None:
    world = dispatched("ask")
    world.send(e.Pause(None, CLIENT))
    done = world.send(event, K)
    assert (done.records, world.session.requests, done.machine.work.requests) == ((), {}, ())


def test_a_cancel_is_told_of_by_the_records_that_come_when_the_work_has_ended() -> None:
    world = dispatched("run")
    done = len(world.records)
    world.send(e.Cancel(None, None, CLIENT), K)
    assert (told(world, done), outcomes(world)) == ([], {})
    world.send(e.Aborted(world.effects[0].invocation_id))
    assert told(world, done) == ["call-finished >k", "tool-results", "cancelled <k"]
    assert outcomes(world) == {"k": {"applied": True}}


def test_each_of_two_cancels_of_the_same_turn_is_remembered() -> None:
    world = World()
    world.start("hello", e.STEP)
    done = len(world.records)
    world.send(e.Cancel(None, None, CLIENT), keyed("a"))
    world.send(e.Stop(None, CLIENT), keyed("b"))
    world.send(e.Aborted(world.effects[0].invocation_id))
    assert told(world, done) == ["stopped >a", "answered >b <a <b"]
    assert outcomes(world) == {"a": {"applied": True}, "b": {"applied": True}}


def test_a_run_that_waited_before_it_did_anything_is_told_of_by_its_first_step() -> None:
    world = dispatched("ask")
    world.send(e.Drive(e.UNTIL_TURN, CLIENT), K)
    assert world.session.requests == {}
    complete(world, "c1", o.DenyCall())
    assert told(world)[-1] == "model-requested >k"
    world.model_says(answer(text="done"))
    assert (told(world)[-1], outcomes(world)) == ("final <k", {"k": {"outcome": "completed", "steps": 1}})


def test_all_who_wait_for_one_run_are_told_of_once() -> None:
    world = dispatched("ask")
    for key in "abc":
        world.send(e.Drive(e.UNTIL_TURN, CLIENT), keyed(key))
    done = len(world.records)
    complete(world, "c1", o.DenyCall())
    assert told(world, done) == ["call-resolved", "tool-results", "model-requested >a", "answered >b", "answered >c"]
    world.model_says(answer(text="done"))
    assert told(world)[-1] == "final <a <b <c"


def test_a_run_that_ends_without_a_record_gets_one_of_its_own() -> None:
    world = World()
    world.start("hello")
    world.send(e.Drive(e.UNTIL_TURN, CLIENT), K)
    world.model_says(answer(*asked("ask")))
    assert outcomes(world) == {"k": None}
    world.draining = True
    world.send(e.TimePassed())
    assert (told(world)[-1], outcomes(world)) == ("answered <k", {"k": {"outcome": "paused", "steps": 2}})


def test_a_run_that_has_recorded_nothing_ends_without_a_record() -> None:
    world = dispatched("ask")
    world.send(e.Drive(e.UNTIL_TURN, CLIENT), K)
    world.draining = True
    done = world.send(e.TimePassed())
    assert (done.records, world.session.requests, done.machine.work.requests) == ((), {}, ())


def test_after_every_crash_a_request_is_unknown_or_cut_off_or_has_its_outcome() -> None:
    world = ran_with_a_key()
    found = []
    for end in world.units:
        session = fold(world.records[:end])
        assert session is not None
        found.append(recall(session.requests, K.request))
    begun = Remembered("k", "agents/any", K.request.body_hash)
    over = replace(begun, outcome={"outcome": "completed", "steps": 3})
    assert found == [None, begun, begun, begun, over]


def test_what_a_crash_cut_off_stays_so() -> None:
    world = answered()
    world.send(send(e.THIS_TURN), K)
    world.crash()
    world.drive(e.UNTIL_YIELD)
    world.model_says(answer(text="done"))
    assert outcomes(world) == {"k": None}


@pytest.mark.parametrize(
    ("method", "params", "what"), [("agents/any", {"x": 1}, "other params"), ("agents/other", {}, "another method")]
)
def test_a_key_belongs_to_one_request(method: str, params: Any, what: str) -> None:
    world = answered()
    world.send(send(), K)
    with pytest.raises(IdempotencyConflict) as raised:
        recall(world.session.requests, keyed_request("k", method, params))
    assert (raised.value.message, raised.value.data) == (
        f"this idempotencyKey belongs to an earlier agents/any with {what}; a new request needs a new key",
        {"kind": "idempotency/conflict", "retryable": False, "method": "agents/any"},
    )
    assert recall(world.session.requests, keyed_request("other", method, params)) is None


def test_the_hash_of_a_body_is_that_of_its_canonical_json() -> None:
    request = keyed_request("k", "agents/send", {"prompt": "é", "a": [1, None]})
    assert request.body_hash == "aad50ca4a2963b2f4a0bbad2c6d9a6f3559b513dbf7f187720f3e98f1176ed2f"
    assert keyed_request("k", "agents/send", {"a": [1, None], "prompt": "é"}) == request


def test_ids_of_keys_look_like_ulids_and_differ() -> None:
    ids = [key_id(str(number)) for number in range(200)]
    assert len(set(ids)) == 200
    assert all(len(one) == 26 and one[0] in "01234567" for one in ids)
    assert set("".join(ids)) <= set("0123456789abcdefghjkmnpqrstvwxyz")
    assert input_id("s1", "k") != input_id("s2", "k")


def test_a_session_made_whole_tells_of_its_own_request_and_of_no_other() -> None:
    world = World(keyed=True)
    world.start("hello", e.THIS_TURN)
    world.model_says(answer(text="done"))
    bare = made_at_once(world.records, None)
    assert [one for one in bare if one.request or one.outcomes] == []
    first, *_, last = made_at_once(world.records, K.request)
    assert (first.request, last.outcomes) == (K.request, (j.KeyedOutcome(key="k", outcome={}),))
    assert made_at_once(world.records[:1], K.request) == (
        replace(world.records[0], request=K.request, outcomes=last.outcomes),
    )
