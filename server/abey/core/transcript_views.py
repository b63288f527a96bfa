"""What stands beside the items of a transcript: of the turns and the calls that they are of."""

from collections.abc import Iterable

from abey.core.session import AnswerEntry, Session
from abey.protocol import transcript as t
from abey.protocol.queries import TranscriptTurn


def shown_turns(session: Session, shown: Iterable[t.Item]) -> tuple[TranscriptTurn, ...]:
    """The turns that these items are of, oldest first."""
    turn_ids = {item.turn_id for item in shown}
    return tuple(
        TranscriptTurn(turn_id=turn.turn_id, n=turn.n, end=turn.end, usage=turn.usage)
        for turn in session.turns
        if turn.turn_id in turn_ids
    )


def results_at(session: Session, shown: Iterable[t.Item]) -> dict[str, int]:
    """Of the calls among these items, by their ids, the revision at which the results of their batch were all there."""
    calls = {item.call.call_id for item in shown if item.call is not None}
    answers = (entry for turn in session.turns for entry in turn.entries if isinstance(entry, AnswerEntry))
    return {
        call.call_id: entry.committed_rev
        for entry in answers
        if entry.committed_rev is not None
        for call in entry.calls
        if call.call_id in calls
    }
