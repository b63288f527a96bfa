"""What waits in the queue: it is withdrawn, or begins a turn without input (machine.md, Inputs while busy)."""

from abey.core.events import Continue, Withdraw
from abey.core.inputs import (
    drive_with,
    known_input,
    put_in_queue,
    refuse_busy,
    refuse_full,
    refuse_stopped,
    was_committed,
)
from abey.core.machine import Draft
from abey.core.session import Session, ends_with_an_answer
from abey.core.steps import close_leftovers
from abey.errors import InvalidState
from abey.protocol import journal as j
from abey.protocol.session import State


def go_on(draft: Draft, event: Continue) -> Draft:
    """A turn without input, or the one that is open; while calls wait for somebody it waits with them.

    Raises InvalidState where the transcript ends with an answer, or there is none, and SessionBusy while the foreground
    works.
    """
    refuse_stopped(draft.session)
    input_id = event.input_id or draft.mint("input")
    if known_input(draft.session, input_id):
        return draft
    refuse_busy(draft)
    refuse_full(draft)
    draft = close_leftovers(draft)
    match draft.session.state:
        case "completed":
            _refuse_without_cause(draft.session)
            begun = j.Continued(turn_id=draft.mint("turn"), input_id=input_id, client=event.client)
            draft = draft.write(begun)
        case "partialUserTurn":
            waits = j.InputQueued(input_id=input_id, delivery="queue", parts=(), client=event.client, continues=True)
            draft = put_in_queue(draft, waits)
        case _:
            pass
    return drive_with(draft, event.run, input_id if known_input(draft.session, input_id) else None)


def withdraw(draft: Draft, event: Withdraw) -> Draft:
    """Takes an input out of the queue; one that is withdrawn stays so. Raises InvalidState for one that does not wait
    any more, or never did."""
    session = draft.session
    refuse_stopped(session)
    if any(queued.input_id == event.input_id for queued in session.queue):
        return draft.write(j.Withdrawn(input_id=event.input_id, client=event.client))
    if session.dropped.get(event.input_id) == "withdrawn":
        return draft
    raise InvalidState(_why_not(session, event.input_id), state=session.state, legal=[])


def _refuse_without_cause(session: Session) -> None:
    if ends_with_an_answer(session):
        why = "the last turn ended with an answer, and there is nothing to go on with"
    elif not session.turns:
        why = "nothing was said yet"
    else:
        return
    legal: list[State] = ["userTurn", "llmTurn", "partialUserTurn"]
    raise InvalidState(f"{why}; say something with agents/send", state=session.state, legal=legal)


def _why_not(session: Session, input_id: str) -> str:
    if was_committed(session, input_id):
        return f"input {input_id} is in the transcript already; agents/cancel ends the turn that it belongs to"
    how = session.dropped.get(input_id)
    return f"input {input_id} was {how} already" if how else f"no input {input_id} waits in this session"
