"""Sessions, pending calls and items as clients see them (protocol.md, Shapes)."""

from typing import Any

import pytest
from support.stories import LATER, at, complete, dispatched, find, proposed, small
from support.world import CLIENT, World, answer, text_parts

from abey.core import agent_views
from abey.core import events as e
from abey.core.hashes import effective_hash, proposed_hash
from abey.core.pending_views import pending_view
from abey.core.replay import overdue
from abey.core.views import queued_texts, resolution_view, session_view
from abey.protocol import outcomes as o
from abey.protocol.ascii_json import ascii_size
from abey.protocol.blocks import TextBlock, ThinkingBlock
from abey.protocol.policy import Rule
from abey.protocol.session import Usage
from abey.protocol.transcript import Question


def shown(world: World) -> dict[str, Any]:
    assert world.machine is not None
    return session_view(world.machine, world.agent).wire()


def pending(world: World) -> list[dict[str, Any]]:
    return [one.wire() for one in pending_view(world.session, world.agent)]


def soon(world: World) -> dict[str, Any]:
    """The pending call of the small story."""
    call = find(world, "c1")
    return {
        "token": call.verdict.token,
        "sessionId": "s1",
        "turnId": world.session.turn.turn_id,
        "callId": "c1",
        "kind": "approval",
        "tool": "soon",
        "title": 'soon {"x": "1"}',
        "arguments": {"x": "1"},
        "argumentsHash": proposed_hash(world.session, call),
        "argumentsSchema": {"type": "object", "properties": {"x": {"type": "string"}}},
        "editable": True,
        "reason": "approval required",
        "cwd": "/w",
        "rule": {"tool": "soon", "disposition": {"tag": "defer", "expireSeconds": 60}},
        "suggestions": [one.wire() for one in suggested(world)],
        "createdAt": at(world),
        "expiresAt": at(world, 60_000),
    }


def suggested(world: World) -> tuple[Rule, ...]:
    """The rule about exactly this call in each scope: what they say is the matter of test_suggesting."""
    (call,) = pending_view(world.session, world.agent)
    assert [one.scope for one in call.suggestions] == ["session", "workspace", "user"]
    return call.suggestions


def test_a_session_is_shown_whole() -> None:
    world = small()
    assert shown(world) == {
        "sessionId": "s1",
        "agent": "a",
        "title": "t",
        "cwd": "/w",
        "state": "partialUserTurn",
        "activity": "idle",
        "revision": 6,
        "turn": {"turnId": world.session.turn.turn_id, "n": 1, "startedAt": at(world, -LATER)},
        "pending": [soon(world)],
        "queued": [],
        "drivenBy": "step",
        "executionMode": "asynchronous",
        "usage": {"inputTokens": 1, "outputTokens": 1, "contextTokens": 2},
        "createdAt": at(world, -LATER),
        "updatedAt": at(world),
        "children": [],
        "configHash": world.agent.config_hash,
        "configState": "ok",
    }


def test_a_session_that_is_over_is_shown_with_its_output() -> None:
    world = small()
    complete(world, "c1", o.Result(content="4"), resume=True)
    usage = Usage(input_tokens=10, output_tokens=5, cached_tokens=3)
    blocks = (ThinkingBlock(text="hm"), TextBlock(text="it "), TextBlock(text="is 4"))
    reply = answer(text="x")
    world.model_says(type(reply)(blocks, (), "stop", usage))
    told = shown(world)
    turn = world.session.turn
    assert {name: told.get(name) for name in ("state", "output", "turn", "usage", "pending")} == {
        "state": "completed",
        "output": "it is 4",
        "turn": {
            "turnId": turn.turn_id,
            "n": 1,
            "startedAt": at(world, -LATER),
            "endedAt": at(world),
            "end": "answered",
        },
        "usage": {"inputTokens": 11, "outputTokens": 6, "cachedTokens": 3, "contextTokens": 15},
        "pending": [],
    }


def test_queue_pause_error_and_driver_are_shown() -> None:
    world = World()
    world.start("hello", e.UNTIL_YIELD)
    for input_id, delivery, said in (("i1", "queue", "\x1b" + "x" * 500), ("i2", "interrupt", "more")):
        world.send(e.Send(e.NewInput(text_parts(said), input_id, delivery), None, CLIENT))
    world.send(e.Pause("lunch", CLIENT))
    assert queued_texts(world.session) == {"i1": "\x1b" + "x" * 199, "i2": "more"}
    before = shown(world)
    world.send(e.ModelCallFailed(world.effects[0].invocation_id, "auth", "no key", 1))
    after = shown(world)
    assert [before[name] for name in ("activity", "drivenBy", "queued", "paused")] == [
        "model",
        "run",
        [
            {"inputId": "i2", "delivery": "interrupt"},
            {"inputId": "i1", "delivery": "queue"},
        ],
        {"reason": "lunch", "at": at(world)},
    ]
    error = {"kind": "model/auth", "message": "no key", "at": at(world)}
    assert (after["activity"], after["drivenBy"], after["lastError"]) == ("idle", "run", error)


def test_a_session_whose_agent_is_gone_is_stale_and_shows_no_schema() -> None:
    world = small()
    assert world.machine is not None
    told = session_view(world.machine, None).wire()
    assert told["configState"] == "stale"
    known = {name: value for name, value in soon(world).items() if name != "argumentsSchema"}
    assert told["pending"] == [known | {"suggestions": []}]


def test_rules_that_would_make_a_session_too_long_are_left_out_be_they_of_one_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = small()
    size = ascii_size(list(suggested(world)))
    monkeypatch.setattr(agent_views, "SUGGESTION_BYTES", size)
    assert shown(world)["pending"] == [soon(world)]
    monkeypatch.setattr(agent_views, "SUGGESTION_BYTES", size - 1)
    assert shown(world)["pending"] == [soon(world) | {"suggestions": []}]


def test_a_stopped_session_waits_for_nobody_and_has_no_output() -> None:
    world = small()
    world.send(e.Stop(None, CLIENT))
    told = shown(world)
    assert (told["state"], told["pending"], told["turn"]["end"], "output" in told) == (
        "stopped",
        [],
        "cancelled",
        False,
    )


def test_each_kind_of_pending_call_says_what_it_waits_for() -> None:
    world = dispatched("ask", "ext", "box", "bg")
    kinds = [(one["callId"], one["kind"], one.get("reason"), one["editable"]) for one in pending(world)]
    assert kinds == [
        ("c1", "approval", "approval required", True),
        ("c2", "external", "only others can run it", False),
        ("c3", "external", "isolated runner required", False),
        ("c4", "running", "runs in the background", False),
    ]
    assert pending(world)[3]["startedAt"] == at(world)


def test_a_question_is_shown_with_its_prompt_and_schema() -> None:
    world = dispatched("bg")
    question = {"kind": "response", "prompt": "who?", "schema": {"type": "object"}}
    world.send(e.ToolAsked(world.effects[0].invocation_id, Question.model_validate(question)))
    told = pending(world)[0]
    assert (told["kind"], told["question"]) == ("question", question)


def test_an_uncertain_call_is_shown_with_its_effective_arguments_and_their_hash() -> None:
    world = dispatched("ask")
    complete(world, "c1", o.Approve(arguments={"x": "2"}))
    world.crash()
    told = pending(world)[0]
    assert (told["kind"], told["arguments"], told["title"], told["argumentsHash"], told["startedAt"]) == (
        "uncertain",
        {"x": "2"},
        'ask {"x":"2"}',
        effective_hash(world.session, find(world, "c1")),
        at(world),
    )


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        ("", "ask"),
        ("{}", "ask"),
        ('{"x":\n\t"a  b"}', 'ask {"x": "a b"}'),
        ('{"x":"' + "a" * 200 + '"}', 'ask {"x":"' + "a" * 69 + "…"),
    ],
)
def test_a_title_is_one_short_line(arguments: str, title: str) -> None:
    world = proposed(("c1", "ask", arguments))
    world.drive()
    assert pending(world)[0]["title"] == title


def test_an_overdue_call_is_shown_as_expired_before_anybody_recorded_it() -> None:
    world = small()
    late = overdue(world.session, at(world, 60_000))
    assert (pending_view(late, world.agent), late.state) == ((), "userTurn")
    assert (
        resolution_view(late.turns[0].entries[1].calls[0]).text
        == f"expired at {at(world, 60_000)}, before anybody answered"
    )
    assert overdue(world.session, at(world, 59_999)) == world.session
