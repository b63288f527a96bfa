"""What a session knows of all that was said, found again by going through the whole of it."""

from abey.core.conversation import ModelRequest
from abey.core.finding import CALL_IDS, INPUT_IDS, calls_of, inputs_of
from abey.core.history import history, history_between
from abey.core.session import Session
from abey.runtime.models.strictness import misfit_of


def check_grown(session: Session) -> None:
    """What was folded over its turns as they came is what a fold over all of them gives."""
    messages = history(session)
    assert messages == history_between(session, None)
    assert misfit_of(ModelRequest("", messages, (), 0)) == misfit_of(ModelRequest("", tuple(messages), (), 0))
    for fold, found in ((CALL_IDS, _calls(session)), (INPUT_IDS, _inputs(session))):
        known = session.turns.folded(fold)
        assert (len(known), all(one in known for one in found)) == (len(found), True)


def _calls(session: Session) -> set[str]:
    return {call.call_id for turn in session.turns for call in calls_of(turn)}


def _inputs(session: Session) -> set[str]:
    return {input_id for turn in session.turns for input_id in inputs_of(turn)}
