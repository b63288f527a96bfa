"""Every method, bound to who handles it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from abey.daemon.agent_files import AgentFiles
from abey.daemon.attaching import Attaching
from abey.daemon.completing import Completing
from abey.daemon.diffs import Diffs
from abey.daemon.doctor import Doctor
from abey.daemon.driving import Driving
from abey.daemon.greeting import Greeting
from abey.daemon.idempotency import Repeats
from abey.daemon.isolation import Isolating
from abey.daemon.lines import Lines
from abey.daemon.listing import Listing
from abey.daemon.outputs import Outputs
from abey.daemon.publish import Publisher
from abey.daemon.queueing import Queueing
from abey.daemon.reading import Reading
from abey.daemon.rules import Rules
from abey.daemon.seeding import Seeding
from abey.daemon.services import Services
from abey.daemon.subscriptions import Subscriptions
from abey.daemon.summaries import Summaries
from abey.daemon.trusting import Trusting
from abey.daemon.upkeep import Upkeep
from abey.protocol import methods as m
from abey.protocol import params as p
from abey.protocol import requests as r
from abey.rpc.dispatch import Binding, bind, bind_prompt
from abey.rpc.peer import Peer
from abey.runtime.index.index import Index
from abey.runtime.keeping import Keeping
from abey.runtime.store.store import Store
from abey.runtime.transfer.adopting import Adopting

if TYPE_CHECKING:
    from abey.daemon.transfer import Transfer


@dataclass(frozen=True, slots=True)
class Rooms:
    """Who the handlers work with."""

    services: Services
    store: Store
    greeting: Greeting
    publisher: Publisher
    subscriptions: Subscriptions
    index: Index
    doctor: Doctor
    keeping: Keeping
    adopting: Adopting
    transfer: "Callable[[], Transfer]"
    trusting: Trusting
    rules: Rules
    repeats: Repeats
    shutdown: Callable[[Peer, r.ShutdownParams], Awaitable[p.Nothing]]


def bound(rooms: Rooms) -> tuple[Binding[Any, Any], ...]:
    keyed = rooms.repeats
    driving = Driving(rooms.services)
    reading = Reading(rooms.services, rooms.greeting.info, lambda: rooms.publisher.clients)
    listing = Listing(rooms.services, rooms.index)
    files = AgentFiles(rooms.services)
    attaching = Attaching(rooms.services, rooms.subscriptions, Summaries(rooms.services, rooms.index))
    return (
        keyed.bind(m.START, driving.start, driving.shown),
        keyed.bind(m.STEP, driving.step, driving.stepped),
        keyed.bind(m.RUN, driving.run, driving.ran),
        keyed.bind(m.RESUME, driving.resume, driving.ran),
        keyed.bind(m.PAUSE, driving.pause, driving.shown),
        keyed.bind(m.SEND, driving.send, driving.sent),
        *_lines(rooms, driving),
        bind(m.PENDING, listing.pending),
        *_answering(rooms),
        keyed.bind(m.CANCEL, driving.cancel, driving.closed),
        keyed.bind(m.STOP, driving.stop, driving.closed),
        keyed.join(m.REOPEN, driving.reopen),
        bind(m.GET, reading.get),
        bind(m.TRANSCRIPT, reading.transcript),
        bind(m.SESSIONS, listing.sessions),
        bind(m.EVENTS, reading.events),
        bind(m.ATTACH, attaching.attach),
        bind(m.DETACH, attaching.detach),
        bind(m.OUTPUT, Outputs(rooms.services, rooms.store).output),
        bind(m.DIFF, Diffs(rooms.services).diff),
        *_upkeep(rooms),
        bind(m.EXPORT, lambda peer, params: rooms.transfer().export(peer, params)),
        keyed.bind(m.IMPORT, lambda peer, params: rooms.transfer().import_(peer, params), driving.shown),
        bind(m.LIST, files.list),
        bind(m.VALIDATE, files.validate),
        bind(m.TRUST, rooms.trusting.trust),
        rooms.rules.bound(keyed),
        bind(m.EXPLAIN, files.explain),
        bind_prompt(m.STATUS, reading.status),
        bind(m.SHUTDOWN, rooms.shutdown),
    )


def _answering(rooms: Rooms) -> tuple[Binding[Any, Any], ...]:
    completing, isolating = Completing(rooms.services, rooms.rules.applying), Isolating(rooms.services)
    return (
        rooms.repeats.bind(m.COMPLETE, completing.complete, completing.completed),
        rooms.repeats.bind(m.RUN_ISOLATED, isolating.run, isolating.ran),
    )


def _upkeep(rooms: Rooms) -> tuple[Binding[Any, Any], ...]:
    keyed, upkeep = rooms.repeats, Upkeep(rooms.services, rooms.keeping)
    return (
        keyed.bind(m.UPDATE, upkeep.update, upkeep.shown),
        keyed.join(m.DELETE, upkeep.delete),
        keyed.join(m.RESTORE, upkeep.restore),
        bind(m.TRASH, upkeep.trash),
        keyed.join(m.REPAIR, upkeep.repair),
        bind(m.DOCTOR, rooms.doctor.doctor),
        bind(m.GC, rooms.doctor.gc),
    )


def _lines(rooms: Rooms, driving: Driving) -> tuple[Binding[Any, Any], ...]:
    keyed, queueing = rooms.repeats, Queueing(rooms.services, driving)
    lines = Lines(rooms.services, rooms.store, rooms.adopting)
    return (
        keyed.bind(m.WITHDRAW, queueing.withdraw, driving.shown),
        keyed.bind(m.CONTINUE, queueing.go_on, driving.shown),
        keyed.bind(m.FORK, lines.fork, driving.shown),
        keyed.bind(m.REWIND, lines.rewind, driving.shown),
        keyed.bind(m.SEED, Seeding(rooms.services).seed, driving.shown),
        bind(m.RECORD, lines.record),
    )
