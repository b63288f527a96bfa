"""Of all the calls of a session: the tokens they were given, and when the next that waits expires."""

from collections.abc import Iterator

from abey.core.session import AnswerEntry, Session, open_calls
from abey.protocol.base import Timestamp


def issued_tokens(session: Session) -> Iterator[str]:
    """The token of every call that was ever decided, whatever became of it."""
    for turn in session.turns:
        for entry in turn.entries:
            for call in entry.calls if isinstance(entry, AnswerEntry) else ():
                if call.verdict is not None:
                    yield call.verdict.token


def next_deadline(session: Session, now: Timestamp) -> Timestamp | None:
    """When the next of the waiting calls expires, if one will after `now`."""
    deadlines = [
        call.verdict.expires_at
        for call in open_calls(session)
        if call.state == "deferred" and call.verdict is not None and call.verdict.expires_at is not None
    ]
    return min((deadline for deadline in deadlines if deadline > now), default=None)
