"""What keeps a session from being deleted, and which sessions go with it: its children, and theirs."""

from contextlib import suppress

from abey.core.completing import pending_kind
from abey.core.machine import Machine
from abey.core.session import Session, open_calls
from abey.errors import InvalidState, SessionBusy, UnknownSession
from abey.runtime.live import Live
from abey.runtime.reviving import Broken, Entry
from abey.runtime.sessions import Sessions

NAMED = 10
"""Calls that an error names."""


async def children_of(sessions: Sessions, session: Session) -> tuple[Entry, ...]:
    """Those of its children that are still there."""
    found = []
    for child_id in session.children:
        with suppress(UnknownSession):
            entry = await sessions.entry(child_id)
            if entry.machine is not None and entry.machine.session.created.parent == session.id:
                found.append(entry)
    return tuple(found)


def refuse_deletion(entry: Entry, *, force: bool) -> None:
    """Raises SessionBusy, or InvalidState where calls wait or nobody can tell (not with `force`)."""
    match entry:
        case Live():
            refuse_busy(entry.machine)
            if not force:
                refuse_waiting(entry.machine.session)
        case Broken() if not force:
            raise undecided(entry)
        case Broken():
            pass


def refuse_busy(machine: Machine) -> None:
    """Raises SessionBusy while something is in flight for the session."""
    work = machine.work
    if work.live or work.activity != "idle":
        doing = work.activity if work.activity != "idle" else "a call runs in the background"
        raise SessionBusy(f"session {machine.session.id} is busy ({doing})", activity=work.activity)


def refuse_waiting(session: Session) -> None:
    """Raises InvalidState where calls of the session wait for somebody."""
    waiting = [call for call in open_calls(session) if pending_kind(call) is not None]
    if session.stopped or not waiting:
        return
    named = ", ".join(f"{call.tool} ({call.call_id})" for call in waiting[:NAMED])
    more = f" and {len(waiting) - NAMED} more" if len(waiting) > NAMED else ""
    tokens = [call.verdict.token for call in waiting if call.verdict is not None]
    message = f"session {session.id} has calls that wait for somebody: {named}{more}; force deletes it all the same"
    raise InvalidState(message, state=session.state, sessionId=session.id, tokens=tokens)


def undecided(broken: Broken) -> InvalidState:
    """What is said of a damaged session; to be raised."""
    damage = broken.damage
    message = f"session {damage.session_id} is damaged ({damage.reason}): nobody can tell whether calls wait in it"
    return InvalidState(f"{message}; force deletes it all the same", sessionId=damage.session_id)
