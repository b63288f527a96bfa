"""What takes long is decided beside the event loop, and the rest at once (runtime/deciding.py)."""

import threading
from typing import Any, cast

import pytest
from support.seeds import said
from support.stories import completion, crashed, dispatched
from support.world import CLIENT, World, answer

from abey.core import events as e
from abey.core.seed_reading import seed_of
from abey.core.session import Session
from abey.core.transition import begin
from abey.protocol import journal as j
from abey.protocol.outcomes import Result
from abey.protocol.seeds import Seed
from abey.runtime import deciding
from abey.runtime.event_log import EventLog
from abey.runtime.live import Live
from abey.runtime.store.journal import Journal

SEED = seed_of({"transcript": [said("hi")]})


@pytest.mark.parametrize(("seed", "aside"), [(SEED, True), (None, False)])
async def test_a_seed_keeps_nobody_else_waiting(monkeypatch: Any, seed: Seed | None, aside: bool) -> None:
    threads: list[int] = []

    def noted(*arguments: Any) -> Any:
        threads.append(threading.get_ident())
        return begin(*arguments)

    monkeypatch.setattr(deciding, "begin", noted)
    world = World()
    created = j.Created(
        session_id="s1", agent="a", config={}, config_hash=world.agent.config_hash, cwd="/w", title="t", client=CLIENT
    )
    made = await deciding.decided(None, e.Start(created, None, None, seed), world.context(), None)
    assert [thread != threading.get_ident() for thread in threads] == [aside]
    assert [one.record for one in made.logged] == list(made.done.records)


def live_of(world: World) -> Live:
    assert world.machine is not None
    log = EventLog()
    log.add(world.records)
    if log.session == world.session:
        log.session = world.session
    return Live(world.machine, cast(Journal, None), log, world.agent)


async def taken(live: Live, event: e.Event, world: World) -> list[Session]:
    """The sessions of the log after each record of what the event comes to, which a log for itself has, too."""
    made = await deciding.decided(live, event, world.context(), None)
    alone = EventLog(live.log.next_seq, live.log.session)
    alone.add(made.done.records)
    live.log.take(made.logged)
    live.machine = made.done.machine
    assert (alone.next_seq, alone.session) == (live.log.next_seq, live.log.session)
    world.machine, world.effects = live.machine, [*world.effects, *made.done.effects]
    return [one.after for one in made.logged]


async def test_the_log_takes_the_sessions_of_the_machine() -> None:
    world = dispatched("ask")
    live = live_of(world)
    await taken(live, completion(world, "c1", Result(content=1)), world)
    assert live.log.session is live.machine.session


async def test_after_a_restart_the_log_tells_what_the_journal_tells_until_both_are_the_same() -> None:
    world = crashed("run")
    live = live_of(world)
    assert live.log.session != live.machine.session  # the call runs, as the journal has it, and nobody knows it now
    paused = await taken(live, e.Pause(None, CLIENT), world)
    assert [one.batch.calls[0].state for one in paused if one.batch] == ["running"]
    await taken(live, e.Drive(e.STEP, CLIENT, resume=True), world)
    await taken(live, completion(world, "c1", Result(content=1), resume=True), world)
    assert live.log.session is live.machine.session
    asked = live.machine.work.live[0].invocation_id
    await taken(live, e.ModelAnswered(asked, answer(text="done")), world)
    assert (live.machine.session.state, live.log.session is live.machine.session) == ("completed", True)
