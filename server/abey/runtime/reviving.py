"""A session in memory from what the store found: whole, or broken and only to be looked at."""

from collections.abc import Callable
from dataclasses import dataclass

from abey.core.edits import IllegalRecord
from abey.core.machine import Machine
from abey.core.replay import apply, recover
from abey.errors import AbeyError, SessionDamaged
from abey.protocol.session import Damage
from abey.runtime.agents.versions import Versions
from abey.runtime.event_log import EventLog
from abey.runtime.live import Kept, Live
from abey.runtime.partials import wanted
from abey.runtime.so_far import SoFar
from abey.runtime.store.recovery import Damaged, Opened


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Broken:
    """A session that can only be looked at: what is wrong, and the machine up to there, if there is one."""

    damage: Damage
    machine: Machine | None = None

    @property
    def id(self) -> str:
        return self.damage.session_id

    def refusal(self) -> SessionDamaged:
        """What who needs the whole session is told; to be raised."""
        damage = self.damage
        at = "" if damage.offset is None else f" at byte {damage.offset}"
        way_out = f"`abey repair {damage.session_id}` says what can be done"
        message = f"session {damage.session_id} is damaged{at}: {damage.reason}; {way_out}"
        where = {} if damage.offset is None else {"offset": damage.offset}
        return SessionDamaged(message, sessionId=damage.session_id, **where)


@dataclass(frozen=True, slots=True)
class Followed:
    """A session whose records could all be followed: its events, and its machine after the restart."""

    found: Opened
    history: EventLog
    machine: Machine
    so_far: dict[str, SoFar]


Entry = Live | Broken


ReadPartial = Callable[[str, str], str | None]
"""What an invocation of a session had printed when its daemon went."""


def follow(
    found: Opened | Damaged, read_partial: ReadPartial = lambda _session, _invocation: None
) -> Followed | Broken:
    """What the records come to. Takes long for a long journal, and may be done in any thread."""
    if isinstance(found, Damaged):
        return _broken(found)
    session_id = found.journal.path.parent.name
    base = found.base.snapshot
    history = EventLog(base.next_seq, base.session) if base else EventLog()
    try:
        for unit in found.units:
            history.add(unit)
    except IllegalRecord as error:
        return _broken(Damaged(session_id, str(error), None, found.records, found.base))
    session = history.session
    if session is None or session.id != session_id:
        return _broken(Damaged(session_id, "the journal is of another session", 0, ()))
    session = recover(session)
    read = ((one, read_partial(session_id, one)) for one in wanted(session))
    return Followed(found, history, Machine(session), {one: SoFar(text) for one, text in read if text})


async def revived(followed: Followed | Broken, versions: Versions) -> Entry:
    """The session with the agent version that counts now."""
    if isinstance(followed, Broken):
        return followed
    found, machine = followed.found, followed.machine
    try:
        agent = await versions.prepared(machine.session)
    except AbeyError as error:
        return Broken(Damage(session_id=machine.session.id, reason=error.message), machine)
    base = found.base.snapshot
    kept = Kept(base.end.size, found.base.size) if base else Kept()
    return Live(machine, found.journal, followed.history, agent, kept=kept, lost=found.lost, so_far=followed.so_far)


def _broken(found: Damaged) -> Broken:
    """The session as far as its records can be followed."""
    session = found.base.snapshot.session if found.base.snapshot else None
    for record in found.records:
        try:
            session = apply(session, record)
        except IllegalRecord:
            break
    damage = Damage(session_id=found.session_id, reason=found.reason, offset=found.offset)
    return Broken(damage, Machine(recover(session)) if session else None)
