"""The numbered events of a session: from the journal alone, kept up to a bound, and found from either end."""

from dataclasses import replace
from itertools import pairwise

import pytest
from support.stories import asked, complete
from support.world import CLIENT, World, answer, text_parts

from abey.core import events as e
from abey.protocol import outcomes as o
from abey.protocol.queries import AgentsEvent
from abey.runtime.event_log import KEPT_RECORDS, EventLog


def story() -> World:
    world = World()
    world.start("hello", e.UNTIL_YIELD)
    world.model_says(answer(*asked("run", "ask", "bg", "no"), text="let me see"))
    world.tool_ends("run")
    world.crash()
    complete(world, "c3", o.Result(content=3))
    complete(world, "c2", o.DenyCall(message="no"))
    world.send(e.Send(e.NewInput(text_parts("more")), e.STEP, CLIENT))
    return world


def units(world: World) -> list[list[object]]:
    starts = [0, *world.units]
    return [world.records[start:end] for start, end in pairwise(starts)]


def whole(world: World) -> EventLog:
    log = EventLog()
    for unit in units(world):
        log.add(unit)
    return log


def told(log: EventLog, after: int = 0, limit: int = 10_000) -> tuple[AgentsEvent, ...] | None:
    return log.since(after, limit, lambda _: None)


def test_the_numbers_rise_by_one_from_one() -> None:
    log = whole(story())
    events = told(log)
    assert events is not None
    assert [event.seq for event in events] == list(range(1, log.next_seq))
    assert log.next_seq > 30


@pytest.mark.parametrize("limit", [1, 3, 10_000])
def test_what_came_after_a_number_is_the_rest_of_all(limit: int) -> None:
    log = whole(story())
    events = told(log)
    assert events is not None
    for after in range(log.next_seq):
        assert told(log, after, limit) == events[after : after + limit]


def test_what_was_never_there_is_told_from_what_has_not_come_yet() -> None:
    log = whole(story())
    last = log.next_seq - 1
    assert (told(log, last), told(log, last + 1), told(log, last + 2), told(log, -1)) == ((), None, None, None)
    assert told(EventLog()) == ()


def test_a_log_that_begins_at_a_snapshot_has_the_same_events_under_the_same_numbers() -> None:
    world = story()
    every, growing = told(whole(world)), EventLog()
    assert every is not None
    for index, unit in enumerate(units(world)):
        growing.add(unit)
        resumed = EventLog(growing.next_seq, growing.session)
        for later in units(world)[index + 1 :]:
            resumed.add(later)
        first = growing.next_seq - 1
        assert (told(resumed, first), resumed.next_seq) == (every[first:], len(every) + 1)
        assert told(resumed, first - 1) is None


def test_only_so_many_records_are_kept() -> None:
    world = World()
    world.start("hello")
    world.send(e.Update("again", None, CLIENT))
    log, last = whole(world), world.records[-1]
    for number in range(1, KEPT_RECORDS + 5):
        log.add([replace(last, rev=last.rev + number)])
    kept = told(log, log.oldest_seq - 1)
    assert kept is not None
    assert (len(kept), told(log, log.oldest_seq - 2)) == (KEPT_RECORDS, None)


def test_nothing_with_the_turn_of_an_event_follows_the_end_of_that_turn() -> None:
    world = story()
    world.model_says(answer(("c9", "ask", "{}")))
    world.send(e.Send(e.NewInput(text_parts("queued"), delivery="queue"), None, CLIENT))
    world.send(e.Stop(None, CLIENT))
    world.send(e.Update("a title", None, CLIENT))
    events = told(whole(world))
    assert events is not None
    ended: set[str] = set()
    for event in events:
        assert event.turn_id not in ended, event
        if event.event["type"] == "turn/completed":
            assert event.event["turnId"] == event.turn_id
            ended.add(str(event.turn_id))
    assert ended == {turn.turn_id for turn in world.session.turns}
    after = [event.event["type"] for event in events if event.turn_id is None]
    assert after == ["input/stopped", "session/updated", "session/updated"]
