"""Which of its transitions a session has made last (machine.md, Records)."""

from typing import get_args

from abey.core.session import AnswerEntry, NoteEntry, Session, Turn
from abey.protocol import journal as j
from abey.protocol.lines import Transition
from abey.protocol.session import TurnEnd

_TRANSITIONS: dict[str, Transition] = {name: name for name in get_args(Transition)}
_ENDS: dict[TurnEnd, Transition] = {"answered": "final", "cancelled": "cancelled"}


def transition_after(session: Session, data: j.RecordData) -> Transition | None:
    """The last transition of a session that has just become what `data` makes of it, None before the first.

    Other records are none; what goes back, or begins with a value of elsewhere, has made those that led there.
    """
    made = _TRANSITIONS.get(data.type)
    if made is None and data.type in ("rewound", "seeded"):
        return last_transition(session)
    return made or session.transition


def last_transition(session: Session) -> Transition | None:
    """The transition after which a session has this transcript."""
    if session.stopped:
        return "stopped"
    of_turns = (_of_turn(turn) for turn in reversed(session.turns))
    return next((found for found in of_turns if found is not None), None)


def _of_turn(turn: Turn) -> Transition | None:
    """None for a turn that has only begun, without input."""
    if turn.end is not None:
        return _ENDS.get(turn.end, "failed")
    last = next((entry for entry in reversed(turn.entries) if not isinstance(entry, NoteEntry)), None)
    if last is None:
        return None
    if not isinstance(last, AnswerEntry):
        return "input"
    return "tool-results" if last.committed else "candidate"
