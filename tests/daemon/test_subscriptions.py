"""Attached clients: every event once and in order, deltas a few at a time, a slow client on its own (protocol.md)."""

import asyncio
import json
from collections import Counter
from typing import Any
from weakref import ref

import pytest
from support.stories import dispatched
from support.world import World, answer

from abey.core import events as e
from abey.daemon.publish import Publisher
from abey.daemon.subscriptions import AT_A_TIME, UNREAD_BYTES, Subscriptions
from abey.protocol.handshake import AgentsClientCapabilities, InitializationOptions
from abey.protocol.transcript import Client
from abey.rpc.peer import Peer
from abey.runtime.event_log import EventLog
from abey.runtime.ports import Delta

AGENTS = AgentsClientCapabilities(protocol_versions=("1.0",))


class Listening:
    """A client that is attached, and what it heard."""

    def __init__(self, name: str, unread: int = 0) -> None:
        self.heard: list[tuple[str, Any]] = []
        self.unread = unread
        client = Client(id=name, name=name, kind="test")
        self.peer = Peer(name, client, AGENTS, InitializationOptions(), self._take, lambda: self.unread)

    def _take(self, data: bytes) -> None:
        message = json.loads(data)
        self.heard.append((message["method"], message["params"]))

    @property
    def numbers(self) -> list[int]:
        return [params["seq"] for method, params in self.heard if method == "agents/event" and "seq" in params]

    @property
    def deltas(self) -> list[dict[str, Any]]:
        events = [params["event"] for method, params in self.heard if method == "agents/event"]
        return [event for event in events if event["type"] == "item/delta"]


class Place:
    """A session as the daemon holds it: its log grows with the world."""

    def __init__(self, world: World) -> None:
        self.log = EventLog()
        self.world = world
        self._logged = 0
        self.written = 0
        self.subscriptions = Subscriptions(lambda _: self.log, self._agent_of)
        self.publisher = Publisher(self.subscriptions, coalesce_seconds=0)
        self.grow()

    def _agent_of(self, _: object) -> None:
        """Asked once for every event that is written out."""
        self.written += 1

    def grow(self) -> None:
        """Takes what the world has recorded, unit by unit, and tells."""
        for end in [one for one in self.world.units if one > self._logged]:
            self.log.add(self.world.records[self._logged : end])
            self._logged = end
        assert self.world.machine is not None
        self.publisher.changed(self.world.machine)

    def attach(self, one: Listening, seq: int | None = None, *, deltas: bool = False) -> None:
        self.subscriptions.add(one.peer, "s1", self.log.next_seq - 1 if seq is None else seq, deltas=deltas)


async def turns_of_the_loop(count: int = 40) -> None:
    """Long enough for whatever is due now."""
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.fixture
def place() -> Place:
    return Place(dispatched("ask"))


class Held:
    """Stands for a session in memory."""


def test_what_somebody_is_attached_to_is_held_until_nobody_is(place: Place) -> None:
    early, late, held = Listening("early"), Listening("late"), Held()
    known = ref(held)
    for one in (early, late):
        place.subscriptions.add(one.peer, "s1", 0, deltas=False, held=held)
    del held
    place.subscriptions.remove(early.peer, "s1")
    assert known() is not None
    place.subscriptions.left(late.peer)
    assert known() is None


async def test_everybody_attached_hears_every_event_once_and_in_order(place: Place) -> None:
    early, late = Listening("early"), Listening("late")
    place.attach(early, 0)
    place.grow()
    await turns_of_the_loop()
    place.attach(late)
    seen = place.log.next_seq - 1
    place.world.send(e.Cancel(None, None, early.peer.client))
    place.grow()
    await turns_of_the_loop()
    last = place.log.next_seq
    assert (early.numbers, late.numbers) == (list(range(1, last)), list(range(seen + 1, last)))
    assert last > seen + 1


async def test_events_are_written_out_once_however_many_are_attached_and_whoever_is_answered_first(
    place: Place,
) -> None:
    everybody = [Listening(f"{number}") for number in range(5)]
    for one in everybody:
        place.attach(one, 0)
    place.grow()
    place.subscriptions.settle(everybody[3].peer)
    told = everybody[3].numbers
    await turns_of_the_loop()
    assert (place.written, told) == (len(told), list(range(1, place.log.next_seq)))
    assert [one.numbers for one in everybody] == [told] * 5
    place.world.send(e.Cancel(None, None, everybody[0].peer.client))
    place.grow()
    await turns_of_the_loop()
    assert [one.numbers for one in everybody] == [list(range(1, place.log.next_seq))] * 5
    assert place.written == place.log.next_seq - 1


async def test_what_happens_after_one_was_answered_is_written_out_anew(place: Place) -> None:
    first, second = Listening("first"), Listening("second")
    for one in (first, second):
        place.attach(one)
    seen = place.log.next_seq - 1
    place.grow()
    place.subscriptions.settle(first.peer)
    place.world.send(e.Cancel(None, None, first.peer.client))
    place.grow()
    await turns_of_the_loop()
    assert first.numbers == second.numbers == list(range(seen + 1, place.log.next_seq))


async def test_events_go_out_after_what_the_loop_has_to_do_first(place: Place) -> None:
    one = Listening("one")
    place.attach(one, 0)
    place.grow()
    assert one.numbers == []
    await turns_of_the_loop(1)
    assert one.numbers == list(range(1, place.log.next_seq))


async def test_who_detached_or_left_hears_nothing(place: Place) -> None:
    stays, detaches, leaves = Listening("a"), Listening("b"), Listening("c")
    for one in (stays, detaches, leaves):
        place.attach(one)
    place.subscriptions.remove(detaches.peer, "s1")
    place.publisher.left(leaves.peer)
    place.world.send(e.Cancel(None, None, stays.peer.client))
    place.grow()
    await turns_of_the_loop()
    assert (bool(stays.numbers), detaches.heard, leaves.heard) == (True, [], [])


async def test_a_client_that_does_not_read_is_detached_and_told_where_to_go_on(place: Place) -> None:
    slow, quick = Listening("slow", UNREAD_BYTES + 1), Listening("quick")
    place.attach(slow, 3)
    place.attach(quick)
    place.world.send(e.Cancel(None, None, quick.peer.client))
    place.grow()
    await turns_of_the_loop()
    assert slow.heard == [("agents/overflow", {"sessionId": "s1", "resumeAfter": 3})]
    slow.unread = 0
    place.attach(slow, 3)
    place.grow()
    await turns_of_the_loop()
    assert slow.numbers == list(range(4, place.log.next_seq))
    assert quick.numbers[-1] == slow.numbers[-1]


async def test_a_long_row_of_events_is_sent_whole(place: Place) -> None:
    while place.log.next_seq <= 2 * AT_A_TIME:
        place.world.send(e.Update(str(place.log.next_seq), None, Client(id="c", name="n", kind="k")))
        place.grow()
    one = Listening("one")
    place.attach(one, 0)
    place.grow()
    await turns_of_the_loop()
    assert one.numbers == list(range(1, place.log.next_seq))


async def test_deltas_come_a_few_at_a_time_with_their_place_and_only_to_who_asked() -> None:
    world = World()
    world.start("hello", e.STEP)
    place = Place(world)
    asked, plain = Listening("asked"), Listening("plain")
    place.attach(asked, deltas=True)
    place.attach(plain)
    step = world.session.asked.step_id
    for kind, text in (("thinking", "so "), ("thinking", "it "), ("answer", "Hel"), ("answer", "lo")):
        place.publisher.streamed("s1", step, Delta(kind, text))
    await turns_of_the_loop()
    place.publisher.streamed("s1", step, Delta("answer", "!"))
    await turns_of_the_loop()
    shown = {"type": "item/delta"}
    assert asked.deltas == [
        {**shown, "itemId": f"{step}.0", "kind": "thinking", "offset": 0, "text": "so it "},
        {**shown, "itemId": f"{step}.1", "kind": "answer", "offset": 0, "text": "Hello"},
        {**shown, "itemId": f"{step}.1", "kind": "answer", "offset": 5, "text": "!"},
    ]
    assert (plain.deltas, asked.numbers) == ([], [])


async def test_who_attaches_in_the_middle_knows_how_much_was_missed() -> None:
    world = World()
    world.start("hello", e.STEP)
    place, one = Place(world), Listening("one")
    step = world.session.asked.step_id
    place.publisher.streamed("s1", step, Delta("answer", "Hello"))
    await turns_of_the_loop()
    place.attach(one, deltas=True)
    place.publisher.streamed("s1", step, Delta("answer", ", you"))
    await turns_of_the_loop()
    assert [(delta["offset"], delta["text"]) for delta in one.deltas] == [(5, ", you")]


def _answering(run: e.Run) -> tuple[World, Place, Listening, str]:
    """A session whose model answers, somebody who hears its deltas, and the step."""
    world = World()
    world.start("hello", run)
    place, one = Place(world), Listening("one")
    place.attach(one, deltas=True)
    return world, place, one, world.session.asked.step_id


async def test_nothing_of_an_answer_streams_after_it_is_recorded_and_a_new_try_starts_again() -> None:
    world, place, one, step = _answering(e.STEP)
    place.publisher.streamed("s1", step, Delta("answer", "Hel"))
    place.publisher.restarted("s1", {"type": "note", "text": "again"})
    place.publisher.streamed("s1", step, Delta("answer", "He"))
    await turns_of_the_loop()
    assert [(delta["offset"], delta["text"]) for delta in one.deltas] == [(0, "He")]
    place.publisher.streamed("s1", step, Delta("answer", "llo"))
    world.model_says(answer(text="Hello"))
    place.grow()
    await turns_of_the_loop()
    assert len(one.deltas) == 1
    assert [params["event"]["type"] for _, params in one.heard if "seq" in params][-1] == "session/updated"


async def test_nothing_of_an_answer_streams_after_it_is_recorded_where_the_model_is_asked_again_at_once() -> None:
    world, place, one, step = _answering(e.UNTIL_TURN)
    place.publisher.streamed("s1", step, Delta("answer", "Hello"))
    world.model_says(answer(("c1", "no-such-tool", "{}"), text="Hello"))
    assert world.session.asked.step_id != step
    place.grow()
    await turns_of_the_loop()
    assert one.deltas == []


async def test_before_an_answer_its_client_hears_what_happened_and_no_other_does_yet(place: Place) -> None:
    asks, other = Listening("asks"), Listening("other")
    for one in (asks, other):
        place.attach(one, 0)
    place.grow()
    place.subscriptions.settle(asks.peer)
    assert (asks.numbers, other.numbers) == (list(range(1, place.log.next_seq)), [])
    await turns_of_the_loop()
    assert asks.numbers == other.numbers == list(range(1, place.log.next_seq))


async def test_a_notice_comes_after_the_events_before_it(place: Place) -> None:
    one = Listening("one")
    place.attach(one, 0)
    place.grow()
    place.publisher.noticed("s1", {"type": "stale-result", "invocationId": "i1"})
    seqs = [params.get("seq") for _, params in one.heard]
    assert seqs == [*range(1, place.log.next_seq), None]


async def test_a_notice_that_a_slow_client_cannot_take_is_not_lost_in_silence(place: Place) -> None:
    slow = Listening("slow", UNREAD_BYTES + 1)
    place.attach(slow, 3)
    place.publisher.noticed("s1", {"type": "record-failed", "message": "no room"})
    assert slow.heard == [("agents/overflow", {"sessionId": "s1", "resumeAfter": 3})]


async def test_who_is_attached_to_a_session_that_was_loaded_anew_begins_anew(place: Place) -> None:
    one = Listening("one")
    place.attach(one)
    place.subscriptions.reloaded("s1")
    place.grow()
    await turns_of_the_loop()
    assert one.heard == [("agents/overflow", {"sessionId": "s1", "resumeAfter": 0})]


async def test_an_event_that_cannot_be_told_detaches_and_harms_no_answer(place: Place) -> None:
    def no_agent(_: object) -> None:
        raise ValueError("no such agent")

    subscriptions = Subscriptions(lambda _: place.log, no_agent)
    one = Listening("one")
    subscriptions.add(one.peer, "s1", 0, deltas=False)
    subscriptions.advanced("s1")
    subscriptions.settle(one.peer)
    await turns_of_the_loop()
    assert one.heard == [("agents/overflow", {"sessionId": "s1", "resumeAfter": 0})]


class Counting:
    """Logs of many sessions, and how often each was asked for."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self.asked: Counter[str] = Counter()

    def __call__(self, session_id: str) -> EventLog:
        self.asked[session_id] += 1
        return self._log


async def test_an_event_costs_nothing_for_those_who_are_not_attached_and_is_made_once_for_those_who_are(
    place: Place,
) -> None:
    logs = Counting(place.log)
    subscriptions = Subscriptions(logs, lambda _: None)
    clients = [Listening(f"c{number}") for number in range(50)]
    for client in clients:
        for number in range(200):
            subscriptions.add(client.peer, f"s{number}", 0, deltas=False)
    subscriptions.advanced("nobody is attached")
    subscriptions.advanced("s7")
    await turns_of_the_loop()
    assert logs.asked == {"s7": 1}
    assert {len(client.numbers) for client in clients} == {place.log.next_seq - 1}


async def test_whoever_was_attached_to_thousands_leaves_nothing_behind(place: Place) -> None:
    logs = Counting(place.log)
    subscriptions = Subscriptions(logs, lambda _: None)
    one, other = Listening("one"), Listening("other")
    names = [f"s{number}" for number in range(10_000)]
    for name in names:
        subscriptions.add(one.peer, name, 0, deltas=False)
    subscriptions.add(other.peer, "s3", 0, deltas=False)
    assert len(subscriptions) == 10_001
    subscriptions.left(one.peer)
    for name in names:
        subscriptions.advanced(name)
    await turns_of_the_loop()
    assert (len(subscriptions), logs.asked, one.heard) == (1, {"s3": 1}, [])


async def test_while_thousands_of_sessions_have_news_others_have_their_turn(place: Place) -> None:
    one = Listening("one")
    for number in range(3000):
        place.subscriptions.add(one.peer, f"s{number}", 0, deltas=False)
        place.subscriptions.advanced(f"s{number}")
    await turns_of_the_loop(10)
    assert len({params["sessionId"] for _, params in one.heard}) == 1
    assert len(one.heard) == 10 * (place.log.next_seq - 1)
