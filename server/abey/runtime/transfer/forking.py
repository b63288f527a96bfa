"""The copy of a session that a fork begins with, from what is on disk; the session itself is only read."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from abey.core.forking import Fork, fork_of
from abey.errors import SessionDamaged
from abey.protocol import journal as j
from abey.runtime.store.store import Store


@dataclass(frozen=True, slots=True)
class Copy:
    """The records of a fork, and the whole outputs that they name, by SHA-256."""

    records: tuple[j.Record, ...]
    wholes: dict[str, bytes]


def copied(store: Store, session_id: str, at: int, fork: Fork) -> Copy:
    """What the session was at the revision `at`, which it has, for a fork. A whole output that is missing there is
    missing in the fork, too.

    Blocking, and long for a long session. Raises UnknownSession, SessionDamaged.
    """
    found = store.read(session_id)
    if found.end.revision < at:
        message = f"the journal of session {session_id} goes only to revision {found.end.revision}"
        raise SessionDamaged(message, sessionId=session_id)
    records = fork_of([record for unit in found.units for record in unit], at, fork)
    return Copy(records, _wholes(store, session_id, records))


def _wholes(store: Store, session_id: str, records: Sequence[j.Record]) -> dict[str, bytes]:
    named = (record.data.whole for record in records if isinstance(record.data, j.CallFinished))
    wholes: dict[str, bytes] = {}
    for blob in filter(None, named):
        with suppress(SessionDamaged):
            wholes[blob.sha256] = store.read_blob(session_id, blob, 0, blob.bytes)
    return wholes
