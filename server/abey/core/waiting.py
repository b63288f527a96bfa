"""Of all the calls of a session: the tokens they were given, and when those that wait expire."""

from collections.abc import Iterator

from abey.core.finding import calls_of, turns_of_all_lines
from abey.core.session import Session, open_calls
from abey.protocol.base import Timestamp


def issued_tokens(session: Session) -> Iterator[str]:
    """The token of every call that was ever decided, whatever became of it, on all lines."""
    calls = (call for turn in turns_of_all_lines(session) for call in calls_of(turn))
    return iter(dict.fromkeys(call.verdict.token for call in calls if call.verdict is not None))


def deadlines(session: Session) -> list[Timestamp]:
    """When the waiting calls expire that will."""
    return [
        call.verdict.expires_at
        for call in open_calls(session)
        if call.state == "deferred" and call.verdict is not None and call.verdict.expires_at is not None
    ]
