"""The durable events of a journal: which, in which order, and that they follow from it alone (protocol.md, Events)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import pytest
from support.stories import asked, complete, crashed, dispatched, repaired
from support.world import CLIENT, World, answer, text_parts

from abey.core import events as e
from abey.core.conversation import CallRuling
from abey.core.projection import marks_of, render
from abey.core.replay import apply
from abey.core.session import Session
from abey.protocol import outcomes as o
from abey.protocol.rulings import Tripwire
from abey.protocol.session import Usage
from abey.protocol.transcript import Question


def events(world: World, units: list[int] | None = None) -> list[tuple[int, dict[str, Any]]]:
    """Every event with the revision it belongs to, computed from the journal."""
    ends = set(world.units if units is None else units)
    found: list[tuple[int, dict[str, Any]]] = []
    before: Session | None = None
    for record in world.records:
        after = apply(before, record)
        for mark in marks_of(record, before, after, last=record.rev in ends):
            found.append((record.rev, render(mark, record, before, after, world.agent)))
        before = after
    return found


def types(world: World, since: int = 0) -> list[str]:
    """`revision type` of every event after a revision."""
    return [f"{revision} {event['type']}" for revision, event in events(world) if revision > since]


@dataclass
class Follower:
    """Somebody who computes the events of each unit as it comes."""

    seen: list[tuple[int, dict[str, Any]]]
    session: Session | None = None
    taken: int = 0

    def follow(self, world: World) -> None:
        fresh = world.records[self.taken :]
        for record in fresh:
            after = apply(self.session, record)
            for mark in marks_of(record, self.session, after, last=record is fresh[-1]):
                self.seen.append((record.rev, render(mark, record, self.session, after, world.agent)))
            self.session = after
        self.taken = len(world.records)


def test_a_turn_from_prompt_to_answer() -> None:
    world = World()
    world.start("hello", e.THIS_TURN)
    world.model_says(answer(*asked("run"), text="let me see"))
    world.tool_ends()
    world.model_says(answer(text="done"))
    assert types(world) == [
        "2 turn/started",
        "2 input/committed",
        "2 item/completed",
        "3 session/updated",
        "4 item/completed",
        "4 item/started",
        "4 usage",
        "5 item/updated",
        "6 item/updated",
        "6 session/updated",
        "7 item/completed",
        "9 session/updated",
        "10 item/completed",
        "10 usage",
        "11 turn/completed",
        "11 session/updated",
    ]


def added(world: World) -> list[str]:
    """The events of the last write."""
    return [one.split(" ", 1)[1] for one in types(world, world.units[-2])]


def queued() -> World:
    world = dispatched("run")
    world.send(e.Send(e.NewInput(text_parts("more"), "i1", "queue"), None, CLIENT))
    return world


def stopped() -> World:
    world = queued()
    world.send(e.Stop("over", CLIENT))
    world.tool_ends()
    return world


def failed() -> World:
    world = World()
    world.start("hello", e.STEP)
    world.send(e.ModelCallFailed(world.effects[0].invocation_id, "auth", "no key", 1))
    return world


def expired() -> World:
    world = dispatched("soon", "ext")
    world.millis += 60_000
    world.send(e.TimePassed())
    return world


def completed(name: str, outcome: o.AnyOutcome) -> World:
    world = dispatched(name, "ext")
    complete(world, "c1", outcome)
    return world


def asking() -> World:
    world = dispatched("run")
    world.send(e.ToolAsked(world.effects[0].invocation_id, Question(kind="approval", prompt="sure?")))
    return world


def answering() -> World:
    world = asking()
    complete(world, "c1", o.Answer(value=True))
    return world


def paused() -> World:
    world = dispatched("ask")
    world.send(e.Pause(None, CLIENT))
    return world


def tripped(scope: Literal["step", "session"], usage: Usage | None = None) -> World:
    world = World()
    world.start("hello", e.STEP)
    world.send(e.Send(e.NewInput(text_parts("more"), "i1", "queue"), None, CLIENT))
    tripwire = Tripwire(extension="guard", scope=scope)
    world.send(e.Tripped(world.effects[0].invocation_id, tripwire, "a secret", 1, usage))
    return world


def asked_about(name: str, value: bool | None = None) -> World:
    """An extension wants somebody asked about the call before it runs; with a value that was answered."""
    world = World()
    world.start("hello", e.STEP)
    ruling = CallRuling(0, "guard", question=Question(kind="approval", prompt="sure?"))
    world.model_says(replace(answer(*asked(name, "ext")), rulings=(ruling,)))
    world.drive()
    if value is not None:
        complete(world, "c1", o.Answer(value=value))
    return world


DEFERRED = ["item/updated", "pending/added"]
ASKED_ABOUT = ["item/updated", "item/updated", "pending/added", *DEFERRED, "session/updated"]
LAST_WRITE: dict[str, tuple[Callable[[], World], list[str]]] = {
    "a deferred call": (lambda: dispatched("ask"), [*DEFERRED, "session/updated"]),
    "a denied call": (lambda: dispatched("no"), ["item/updated", "item/completed", "session/updated"]),
    "an unknown tool": (lambda: dispatched("gone"), ["item/completed", "session/updated"]),
    "an approval": (
        lambda: completed("ask", o.Approve()),
        ["item/updated", "pending/resolved", "item/updated", "session/updated"],
    ),
    "a result from outside": (
        lambda: completed("ask", o.Result(content=1)),
        ["item/completed", "pending/resolved", "session/updated"],
    ),
    "an expiry": (expired, ["item/completed", "pending/expired", "session/updated"]),
    "an answered question": (answering, ["item/updated", "pending/resolved", "session/updated"]),
    "a tripwire": (
        lambda: tripped("step"),
        ["tripwire", "turn/completed", "turn/started", "input/committed", "item/completed", "session/updated"],
    ),
    "a tripwire after an answer of the session": (
        lambda: tripped("session", Usage(input_tokens=1)),
        ["tripwire", "usage", "turn/completed", "input/stopped", "session/updated"],
    ),
    "a call that is asked about": (lambda: asked_about("run"), ASKED_ABOUT),
    "a deferred call that is asked about": (lambda: asked_about("ask"), ASKED_ABOUT),
    "a call that may run now": (
        lambda: asked_about("run", True),
        ["item/updated", "pending/resolved", "session/updated"],
    ),
    "a call that needs an approval now": (
        lambda: asked_about("ask", True),
        ["item/updated", "pending/resolved", "pending/added", "session/updated"],
    ),
    "a call that was rejected": (
        lambda: asked_about("ask", False),
        ["item/completed", "pending/resolved", "session/updated"],
    ),
    "a queued input": (queued, ["input/queued", "session/updated"]),
    "a stop": (
        stopped,
        ["item/completed", "turn/completed", "input/stopped", "session/updated"],
    ),
    "a failed model call": (failed, ["note", "session/updated"]),
    "a pause": (paused, ["session/updated"]),
}


@pytest.mark.parametrize("name", LAST_WRITE)
def test_a_write_is_told_in_these_events(name: str) -> None:
    story, told = LAST_WRITE[name]
    assert added(story()) == told


def test_a_tripwire_says_who_and_why() -> None:
    (told,) = [event for _, event in events(tripped("session")) if event["type"] == "tripwire"]
    assert told == {"type": "tripwire", "extension": "guard", "scope": "session", "message": "a secret"}


def test_a_question_that_is_followed_by_an_approval_is_told_with_its_answer() -> None:
    world = asked_about("ask", True)
    told = [event for _, event in events(world) if event["type"].startswith("pending/") and "pending" in event]
    mine = [one for one in told if one["pending"]["callId"] == "c1"]
    assert [(one["type"], one["pending"]["kind"], one.get("resolution", {}).get("kind")) for one in mine] == [
        ("pending/added", "question", None),
        ("pending/resolved", "question", "answer"),
        ("pending/added", "approval", None),
    ]


def test_an_uncertain_call_that_is_settled_is_told() -> None:
    world = crashed("run")
    complete(world, "c1", o.Result(content="settled"))
    assert added(world) == ["item/completed", "pending/resolved", "session/updated"]


def test_a_resolved_call_is_told_as_it_waited_with_what_came_of_it() -> None:
    world = completed("ask", o.DenyCall(message="no"))
    now = world.context().now
    event = next(event for _, event in events(world) if event["type"] == "pending/resolved")
    shown = next(event for _, event in events(world) if event["type"] == "pending/added")
    assert event == {
        "type": "pending/resolved",
        "pending": shown["pending"],
        "resolution": {
            "kind": "deny",
            "by": "test",
            "client": CLIENT.wire(),
            "at": now,
            "message": "no",
            "text": f"denied by test (cli) at {now}: no",
        },
    }


def test_inputs_turns_usage_and_notes_are_told_whole() -> None:
    world = stopped()
    turn_id = world.session.turn.turn_id
    told = {event["type"]: event for _, event in events(world)}
    assert [told[name] for name in ("turn/completed", "input/queued", "input/stopped", "usage")] == [
        {"type": "turn/completed", "turnId": turn_id, "n": 1, "end": "cancelled"},
        {"type": "input/queued", "inputId": "i1"},
        {"type": "input/stopped", "inputId": "i1"},
        {
            "type": "usage",
            "usage": {"inputTokens": 1, "outputTokens": 1},
            "call": {"inputTokens": 1, "outputTokens": 1},
        },
    ]
    assert next(event for _, event in events(failed()) if event["type"] == "note") == {
        "type": "note",
        "text": "the model call failed (auth): no key",
    }


def test_a_repair_is_told_as_a_note() -> None:
    world = repaired(dispatched("ask"))
    assert [event for revision, event in events(world) if revision == len(world.records)] == [
        {
            "type": "note",
            "text": "7 bytes of a torn or damaged write were cut off the journal at byte 100 and kept beside it;"
            " the session has lost what they told, and calls told there may have run",
        }
    ]


def test_the_events_of_the_whole_journal_are_those_that_came_one_unit_at_a_time() -> None:
    world, follower = World(), Follower([])
    steps: list[Callable[[], object]] = [
        lambda: world.start("hello", e.UNTIL_YIELD),
        lambda: world.model_says(answer(*asked("run", "ask", "bg", "no"), text="let me see")),
        lambda: world.tool_ends("run"),
        lambda: complete(world, "c2", o.Approve(arguments={"x": "2"})),
        world.crash,
        lambda: complete(world, "c2", o.Rerun()),
        lambda: complete(world, "c3", o.Result(content=3)),
        lambda: world.tool_ends("ask"),
        lambda: world.send(e.Send(e.NewInput(text_parts("more")), e.STEP, CLIENT)),
        world.crash,
        lambda: world.drive(e.UNTIL_YIELD),
        lambda: world.model_says(answer(text="done")),
    ]
    for step in steps:
        step()
        follower.follow(world)
    assert events(world) == follower.seen
    assert world.session.turn.end == "answered"
