"""Items, resolutions and summaries as clients see them (protocol.md, Item; protocol.md, Notifications)."""

from collections.abc import Callable
from typing import Any

import pytest
from support.stories import LATER, at, complete, crashed, dispatched, find, repaired, small
from support.world import CLIENT, World, answer

from abey.core import events as e
from abey.core.views import items, resolution_view, summary_view
from abey.protocol import outcomes as o
from abey.protocol.blocks import TextBlock, ThinkingBlock
from abey.protocol.transcript import Question

ANSWERED = ("thinking", "answer", "toolCall")
"""What an answer consists of: those items have the name of its step."""


def item(world: World, revision: int, index: int, kind: str, millis: int = 0, **more: Any) -> dict[str, Any]:
    step = next((one.data.step_id for one in world.records if one.rev == revision and kind in ANSWERED), revision)
    return {
        "itemId": f"{step}.{index}",
        "revision": revision,
        "turnId": world.session.turn.turn_id,
        "at": at(world, millis),
        "kind": kind,
        **more,
    }


def test_the_items_of_a_story_are_told_whole() -> None:
    world = small()
    complete(world, "c1", o.Approve(arguments={"x": "2"}))
    world.tool_ends(content={"n": 1})
    call = {
        "callId": "c1",
        "tool": "soon",
        "arguments": {"x": "1"},
        "effectiveArguments": {"x": "2"},
        "disposition": {"tag": "defer", "expireSeconds": 60},
        "state": "completed",
        "decision": {"by": "test", "client": CLIENT.wire(), "at": at(world), "edited": True},
        "token": find(world, "c1").verdict.token,
        "output": {"n": 1},
        "startedAt": at(world),
        "endedAt": at(world),
    }
    assert [one.wire() for one in items(world.session)] == [
        item(world, 2, 0, "input", -LATER, parts=[{"kind": "text", "text": "hello"}]),
        item(world, 4, 0, "toolCall", call=call),
    ]


def test_thinking_text_notes_and_text_that_is_no_json_have_items_too() -> None:
    world = World()
    world.start("hello", e.STEP)
    world.crash()
    world.drive()
    reply = answer(("c1", "run", "not json"))
    blocks = (ThinkingBlock(text="hm"), TextBlock(text="well"))
    world.model_says(type(reply)(blocks, reply.calls, "tool_calls", reply.usage))
    assert [one.wire() for one in items(world.session)][1:] == [
        item(world, 3, 0, "note", text="model call interrupted"),
        item(world, 5, 0, "thinking", text="hm"),
        item(world, 5, 1, "answer", text="well"),
        item(world, 5, 2, "toolCall", call={"callId": "c1", "tool": "run", "arguments": "not json", "state": "ready"}),
    ]


def test_a_call_that_may_have_run_says_so() -> None:
    worlds = [dispatched("bg"), crashed("run"), repaired(dispatched("ask")), dispatched("ask")]
    complete(worlds[0], "c1", o.CancelCall())
    complete(worlds[3], "c1", o.CancelCall())
    calls = [next(one.call for one in items(world.session) if one.call) for world in worlds]
    assert [(call.state, call.may_have_run) for call in calls] == [
        ("cancelled", True),
        ("uncertain", True),
        ("uncertain", True),
        ("cancelled", None),
    ]


RESOLUTIONS: dict[str, tuple[o.AnyOutcome, str]] = {
    "approve": (o.Approve(), "approved by test (cli) at {at}"),
    "deny": (o.DenyCall(message="no"), "denied by test (cli) at {at}: no"),
    "result": (o.Result(content=1), "completed with a result by test (cli) at {at}"),
    "error": (o.Error(message="bad"), "completed with an error by test (cli) at {at}: bad"),
    "cancel": (o.CancelCall(), "cancelled by test (cli) at {at}"),
}


@pytest.mark.parametrize("kind", RESOLUTIONS)
def test_a_resolution_says_who_answered_what_and_when(kind: str) -> None:
    outcome, text = RESOLUTIONS[kind]
    world = dispatched("ask")
    complete(world, "c1", outcome)
    message = {"message": outcome.message} if isinstance(outcome, o.DenyCall | o.Error) else {}
    assert resolution_view(find(world, "c1")).wire() == {
        "kind": kind,
        "by": "test",
        "client": CLIENT.wire(),
        "at": at(world),
        "text": text.format(at=at(world)),
        **message,
    }


def test_the_resolution_of_a_call_that_is_run_again_says_so() -> None:
    world = crashed("run")
    complete(world, "c1", o.Rerun())
    assert resolution_view(find(world, "c1")).text == f"run again by test (cli) at {at(world)}"


def test_a_call_that_nobody_answered_says_how_it_ended() -> None:
    denied = dispatched("no")
    ended = dispatched("run")
    ended.tool_ends()
    cancelled = dispatched("ask")
    cancelled.send(e.Cancel(None, None, CLIENT))
    told = [resolution_view(find(world, "c1")).wire() for world in (denied, ended, cancelled)]
    now = at(denied)
    assert told == [
        {"kind": "finished", "by": "the policy", "at": now, "text": f"finished at {now}, before anybody answered"},
        {"kind": "finished", "by": "abey", "at": now, "text": f"finished at {now}, before anybody answered"},
        {"kind": "cancelled", "by": "abey", "at": now, "text": f"cancelled at {now}, before anybody answered"},
    ]


def question_and(*names: str) -> World:
    world = dispatched("bg", *names)
    world.send(e.ToolAsked(world.effects[0].invocation_id, Question(kind="approval", prompt="sure?")))
    return world


@pytest.mark.parametrize(
    ("outcome", "kind", "how"),
    [(o.Answer(value=True), "answer", "answered yes"), (o.CancelCall(), "cancel", "declined")],
)
def test_what_was_said_to_a_question_is_not_the_end_of_the_call(outcome: o.AnyOutcome, kind: str, how: str) -> None:
    world = question_and()
    complete(world, "c1", outcome)
    said = {
        "kind": kind,
        "by": "test",
        "client": CLIENT.wire(),
        "at": at(world),
        "text": f"{how} by test (cli) at {at(world)}",
    }
    assert (find(world, "c1").state, resolution_view(find(world, "c1")).wire()) == ("running", said)


def failed() -> World:
    world = World()
    world.start("hello", e.STEP)
    world.send(e.ModelCallFailed(world.effects[0].invocation_id, "auth", "no key", 1))
    return world


ATTENTION: dict[str, tuple[Callable[[], World], str, int]] = {
    "nothing waits": (lambda: dispatched("no"), "none", 0),
    "a background call": (lambda: dispatched("bg"), "none", 0),
    "an approval": (lambda: dispatched("ext", "ask", "bg"), "approval", 2),
    "an external call": (lambda: dispatched("ext"), "external", 1),
    "a question": (lambda: question_and("ask"), "question", 2),
    "an uncertain call": (lambda: crashed("run", "run"), "uncertain", 2),
    "an error": (failed, "error", 0),
}


@pytest.mark.parametrize("name", ATTENTION)
def test_a_summary_says_what_wants_attention(name: str) -> None:
    story, attention, count = ATTENTION[name]
    world = story()
    assert world.machine is not None
    assert summary_view(world.machine).wire() == {
        "sessionId": "s1",
        "title": "t",
        "cwd": "/w",
        "state": world.session.state,
        "activity": "idle",
        "revision": world.session.revision,
        "pendingCount": count,
        "attention": attention,
    }
