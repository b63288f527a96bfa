"""What a snapshot is held against: the session and the journal that it is of."""

from collections.abc import Sequence
from dataclasses import dataclass

from abey.core.edits import IllegalRecord
from abey.core.replay import apply
from abey.core.session import Session
from abey.core.waiting import issued_tokens
from abey.protocol.journal import CallDecided, Record
from abey.runtime.event_log import EventLog
from abey.runtime.store.recovery import Damaged, Opened
from abey.runtime.store.references import no_blobs
from abey.runtime.store.scan import End
from abey.runtime.store.snapshot_text import Snapshot, from_text, to_text

END = End(1, 2, 3)


def check_snapshot(session: Session, records: Sequence[Record]) -> None:
    """A snapshot gives back the session that it was made of, and with it every token that was ever issued."""
    snapshot = Snapshot(session, END, "0" * 64, 4)
    assert from_text(to_text(snapshot, lambda _name, _size: False), no_blobs) == snapshot
    issued = {record.data.token for record in records if isinstance(record.data, CallDecided)}
    assert set(issued_tokens(session)) == issued


@dataclass(frozen=True)
class Told:
    """What opening a session came to, whether or not a snapshot helped."""

    problem: tuple[str, int | None] | None
    session: Session | None
    next_seq: int | None = None
    end: End | None = None
    journal_hash: str | None = None


def told(found: Opened | Damaged) -> Told:
    base = found.base.snapshot
    if isinstance(found, Damaged):
        session = base.session if base else None
        for record in found.records:
            try:
                session = apply(session, record)
            except IllegalRecord:
                break
        return Told((found.reason, found.offset), session)
    log = EventLog(base.next_seq, base.session) if base else EventLog()
    for unit in found.units:
        log.add(unit)
    return Told(None, log.session, log.next_seq, found.journal.end, found.journal.hash)
