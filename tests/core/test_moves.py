"""Every move that the diagrams of docs/architecture.md draw is made by one of these stories; that no other one is made
is held against them in every world of the tests."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from support import seeds
from support.stories import asked, batch, complete, crashed, dispatched, repaired
from support.world import CLIENT, World, agent, answer, text_parts, tool

from abey.core import events as e
from abey.core import replay
from abey.core.agent import Tool
from abey.core.conversation import CallRuling
from abey.core.effects import AskModel
from abey.core.invariants import DRAWN, BrokenInvariant, check_moves
from abey.core.moves import Move, drawn
from abey.core.replay import fold
from abey.core.seed_reading import seed_of
from abey.protocol import journal as j
from abey.protocol import outcomes as o
from abey.protocol.transcript import Question

SAID = seeds.said("hi")
ASKS = seeds.answered(seeds.call("c1"))
FORMS: dict[str, list[Any]] = {
    "completed": [],
    "userTurn": [SAID],
    "llmTurn": [SAID, ASKS],
}
"""Transcripts of seeds, by the state of a session that begins with one."""


def answered() -> World:
    world = World()
    world.start("hello", e.STEP)
    world.model_says(answer(text="hi"))
    return world


def unasked() -> World:
    world = World()
    world.start("hello")
    return world


def cancelled(world: World) -> World:
    world.send(e.Cancel(None, None, CLIENT))
    world.send(e.GraceOver(world.machine.work.generation if world.machine else 0))
    return world


def stopped(world: World) -> World:
    world.send(e.Stop(None, CLIENT))
    return world


def failed() -> World:
    world = World()
    world.start("hello", e.STEP)
    world.send(e.ModelCallFailed(world.take(AskModel).invocation_id, "content-policy", "no", 1))
    return world


def done(world: World, name: str | None = None, error: str | None = None) -> World:
    world.tool_ends(name, error=error)
    return world


def resolved(world: World, *outcomes: o.AnyOutcome) -> World:
    """The calls c1, c2, … are answered in this way."""
    for number, outcome in enumerate(outcomes, 1):
        complete(world, f"c{number}", outcome)
    return world


def paused(world: World, *outcomes: o.AnyOutcome) -> World:
    """The same while nothing starts."""
    world.send(e.Pause(None, CLIENT))
    return resolved(world, *outcomes)


def expired(world: World) -> World:
    world.millis += 60_000
    world.send(e.TimePassed())
    return world


def driven(world: World, run: e.Run = e.STEP) -> World:
    world.drive(run, resume=True)
    return world


def reloaded(world: World, *tools: Tool) -> World:
    """The agent file was saved with these tools alone."""
    world.agent = agent(tools)
    return world


def isolated(world: World) -> World:
    world.no_sandbox = None
    world.send(e.Isolate(None, CLIENT))
    return world


def continued(world: World) -> World:
    world.send(e.Continue(None, CLIENT))
    return world


def sent(world: World) -> World:
    world.send(e.Send(e.NewInput(text_parts("more")), None, CLIENT))
    return world


def asked_about(*outcomes: o.AnyOutcome) -> World:
    """An extension asks about each of as many calls before it runs, and is answered in this way."""
    world, question = World(), Question(kind="approval", prompt="sure?")
    world.start("hello", e.STEP)
    names = ["run"] * len(outcomes)
    rulings = tuple(CallRuling(index, "guard", question=question) for index in range(len(names)))
    world.model_says(replace(answer(*asked(*names)), rulings=rulings))
    return resolved(driven(world), *outcomes)


def second_turn(until: str) -> World:
    """After a whole turn with a call another one, up to this state."""
    world = done(dispatched("run"))
    world.drive()
    world.model_says(answer(text="hi"))
    if until == "completed":
        return world
    sent(world)
    if until == "userTurn":
        return world
    world.drive()
    world.model_says(answer(("c9", "ask", "{}")))
    return world if until == "llmTurn" else driven(world)


def rewound(world: World, state: str) -> World:
    """Back to the last revision at which the session was in this state."""
    for count in range(len(world.records), 0, -1):
        past = fold(world.records[:count])
        if past and past.state == state and not world.try_send(e.Rewind(past.revision, CLIENT)):
            return world
    raise AssertionError(f"there is no way back to {state}")


def reseeded(state: str) -> World:
    world = stopped(answered())
    world.send(e.Reseed(seed_of({"transcript": FORMS[state]}), CLIENT))
    return world


def told(world: World, data: j.RecordData) -> World:
    """A record that another room writes, over what the daemon had in memory when it died."""
    before = fold(world.records)
    assert before is not None
    world.fold(before, (j.Record(before.revision + 1, "T", data),))
    return world


TORN = j.Repaired(offset=100, cut_bytes=7, may_have_run=True)
BROUGHT = j.Imported(format="jsonl", source="a file")
EVERY_ANSWER = (o.Approve(), o.Result(content=1), o.Error(message="bad"), o.DenyCall(), o.CancelCall())
OTHERS = (o.Result(content=1), o.Error(message="bad"), o.CancelCall())
NOBODY = e.Run(synchronous=True)

STORIES: dict[str, Callable[[], World]] = {
    "an answer": answered,
    "another input": lambda: sent(answered()),
    "no answer": failed,
    "a cancel, and on without input": lambda: continued(cancelled(batch("run"))),
    "a stop of a turn": lambda: stopped(unasked()),
    "a stop": lambda: stopped(answered()),
    "calls that run": lambda: done(done(dispatched("run", "alone", "gone")), error="tool/failed"),
    "a call that the policy denies": lambda: dispatched("no"),
    "calls that wait": lambda: resolved(dispatched(*["ask"] * 5), *EVERY_ANSWER),
    "calls in the background": lambda: resolved(dispatched(*["bg"] * 3), *OTHERS),
    "calls that may have run": lambda: resolved(crashed(*["run"] * 3, "safe"), *OTHERS),
    "a call that runs again": lambda: resolved(crashed("run"), o.Rerun()),
    "calls that nobody answers": lambda: expired(dispatched("soon")),
    "calls of a turn that is cancelled": lambda: cancelled(dispatched("run", "ask", "bg")),
    "a call that may have run, of such a turn": lambda: cancelled(crashed("run")),
    "an approved one": lambda: cancelled(paused(dispatched("ask"), o.Approve())),
    "a call that nobody may be asked about": lambda: driven(batch("ask"), NOBODY),
    "calls that somebody is asked about first": lambda: asked_about(o.Answer(value=False), o.CancelCall()),
    "a call whose tool has changed": lambda: driven(
        reloaded(paused(dispatched("ask"), o.Approve()), replace(tool("ask"), hash="another"))
    ),
    "a call whose tool has gone": lambda: driven(reloaded(paused(dispatched("ask"), o.Approve()), tool("run"))),
    "a call that a sandbox comes for": lambda: isolated(paused(dispatched("box"))),
    "a sandbox without the tool": lambda: isolated(reloaded(dispatched("box"), tool("run"))),
    "calls told in a write that was torn": lambda: driven(repaired(batch("run", "no"))),
    "a torn write": lambda: told(dispatched("run", "ask", "alone"), TORN),
    "a torn write after an approval": lambda: told(paused(dispatched("ask"), o.Approve()), TORN),
    "an import": lambda: told(dispatched("run", "alone"), BROUGHT),
    "an import after an approval": lambda: told(paused(dispatched("ask"), o.Approve()), BROUGHT),
    **{f"a seed, {state}": partial(seeds.planted, {"transcript": form}) for state, form in FORMS.items()},
    **{f"a seed for a stopped session, {state}": partial(reseeded, state) for state in FORMS},
    **{
        f"from {state} back to {goal}": lambda state=state, goal=goal: rewound(second_turn(state), goal)
        for state in ("completed", "userTurn", "llmTurn", "partialUserTurn")
        for goal in {*FORMS} - {state}
    },
}


@pytest.fixture(scope="module")
def made() -> set[Move]:
    return set().union(*(story().moved for story in STORIES.values()))


def test_every_move_that_is_drawn_is_made(made: set[Move]) -> None:
    assert drawn() - made == frozenset()


def test_a_move_that_is_not_drawn_is_found() -> None:
    session = answered().session
    with pytest.raises(BrokenInvariant, match=DRAWN):
        check_moves(session, "waiting", batch("run").session)


def test_every_record_has_its_fold_or_names_a_call() -> None:
    others = set(j.RECORD_TYPES.values()) - set(replay._FOLDS) - {j.Created}
    assert {kind for kind in others if "call_id" not in kind.model_fields} == set()
