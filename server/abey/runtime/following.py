"""Whether records, unit by unit, tell the story of one session."""

from collections.abc import Sequence

from abey.core.edits import IllegalRecord
from abey.core.replay import apply
from abey.core.session import Session
from abey.protocol.journal import Created, Record


class Follower:
    """Says of one unit after the other whether a session can have it."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._session: Session | None = None

    def take(self, unit: Sequence[Record]) -> str | None:
        """Why these records cannot follow the ones before, None where they do."""
        session = self._session
        for record in unit:
            if isinstance(record.data, Created) and record.data.session_id != self._session_id:
                return f"the journal is that of session {record.data.session_id}"
            try:
                session = apply(session, record)
            except IllegalRecord as error:
                return str(error)
        self._session = session
        return None
