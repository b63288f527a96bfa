"""Short ways to say what a transition came to, and the beginnings that several stories share."""

from dataclasses import dataclass
from typing import Any, assert_never

from support.world import CLIENT, World, answer

from abey.core import effects as fx
from abey.core import events as e
from abey.core.call import Call
from abey.core.hashes import shown_hash
from abey.core.session import AnswerEntry
from abey.core.transition import Transition
from abey.errors import AbeyError
from abey.protocol import journal as j
from abey.protocol.outcomes import AnyOutcome


@dataclass(frozen=True)
class Came:
    """What an event came to: record types, effects in words, what the next step does, what goes on now."""

    wrote: list[str]
    did: list[str]
    state: str
    activity: str = "idle"


def came(done: Transition) -> Came:
    session, work = done.machine.session, done.machine.work
    wrote = [record.data.type for record in done.records]
    return Came(wrote, [in_words(one) for one in done.effects], session.state, work.activity)


def in_words(effect: fx.Effect) -> str:
    match effect:
        case fx.AskModel():
            return "ask model"
        case fx.RunTool():
            return f"run {effect.tool.name}"
        case fx.Abort():
            return "abort"
        case fx.EndChild():
            return "end child"
        case fx.AnswerTool():
            return f"answer {effect.value}"
        case fx.StartGrace():
            return f"grace {effect.seconds:g} s"
        case fx.EndRun():
            return f"end {effect.outcome} after {effect.steps}"
        case fx.Refuse():
            return f"refuse {effect.error.kind}"
        case fx.Remember():
            return f"remember {effect.rule.tool}"
        case fx.Quarantined():
            return "quarantine"
        case _:
            assert_never(effect)


def asked(*names: str) -> list[tuple[str, str, str]]:
    """Calls c1, c2, … of these tools, without arguments."""
    return [(f"c{index}", name, "{}") for index, name in enumerate(names, 1)]


def batch(*names: str, world: World | None = None) -> World:
    """The model has asked for these tools and nothing is decided yet."""
    return proposed(*asked(*names), world=world)


def proposed(*calls: tuple[str, str, str], world: World | None = None) -> World:
    """The model has asked for these calls (id, tool, arguments text) and nothing is decided yet."""
    world = world or World()
    world.start("hello", e.STEP)
    world.model_says(answer(*calls))
    return world


def dispatched(*names: str, world: World | None = None) -> World:
    """Every call is decided, and what may run runs."""
    world = batch(*names, world=world)
    world.drive()
    return world


def crashed(*names: str, world: World | None = None) -> World:
    """As `dispatched`; then the daemon died and loaded the journal."""
    world = dispatched(*names, world=world)
    world.crash()
    return world


def repaired(world: World) -> World:
    """The daemon died, and found the end of the journal torn."""
    found = j.Repaired(offset=100, cut_bytes=7, may_have_run=True)
    world.records.append(j.Record(world.records[-1].rev + 1, world.context().now, found))
    world.crash()
    return world


def find(world: World, call_id: str) -> Call:
    answers = [one for turn in world.session.turns for one in turn.entries if isinstance(one, AnswerEntry)]
    return next(call for one in answers for call in one.calls if call.call_id == call_id)


def completion(world: World, call_id: str, outcome: AnyOutcome, *, resume: bool = False) -> e.Complete:
    """The completion that somebody sends who has just looked at the call."""
    call = find(world, call_id)
    assert call.verdict is not None
    return e.Complete(call.verdict.token, outcome, shown_hash(world.session, call), CLIENT, resume)


def complete(world: World, call_id: str, outcome: AnyOutcome, *, resume: bool = False) -> Transition:
    return world.send(completion(world, call_id, outcome, resume=resume))


def states(world: World) -> dict[str, str]:
    """The state of every call, by its id."""
    answers = [one for turn in world.session.turns for one in turn.entries if isinstance(one, AnswerEntry)]
    return {call.call_id: call.state for one in answers for call in one.calls}


def refused(world: World, event: e.Event) -> dict[str, Any]:
    """What the error says that this event is refused with. Nothing has changed then."""
    error: AbeyError | None = world.try_send(event)
    assert error is not None, "the event was taken"
    return error.data


LATER = 1000


def small() -> World:
    """One deferred call that nobody has answered, proposed a second after the session began."""
    world = World()
    world.start("hello", e.STEP)
    world.millis += LATER
    world.model_says(answer(("c1", "soon", '{"x":  "1"}')))
    world.drive()
    return world


def at(world: World, millis: int = 0) -> str:
    return f"T{world.millis + millis:015d}Z"
