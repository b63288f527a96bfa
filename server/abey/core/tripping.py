"""Extensions that end what a model call belongs to: the turn, or the session (machine.md, Extensions)."""

from abey.core.budget import priced
from abey.core.events import Tripped
from abey.core.machine import Closing, Draft
from abey.core.steps import step_over
from abey.core.turns import begin_closing, end_turn
from abey.protocol import journal as j
from abey.shared.values import replace


def tripped(draft: Draft, event: Tripped) -> Draft:
    """The turn ends, and nothing of the answer that the model may have given is in it. With scope `session` no queued
    input follows: the session is stopped in the same write, or once what is in flight has ended."""
    requested = draft.session.asked
    if requested is None:
        raise ValueError("a tripwire of no request")
    failed = j.Failed(
        turn_id=requested.turn_id,
        end="tripped",
        kind="tripwire",
        message=event.message,
        tripwire=event.tripwire,
        usage=None if event.usage is None else priced(event.usage, draft.context.agent.prices),
        attempts=event.attempts,
    )
    draft = step_over(draft)
    if event.tripwire.scope == "step":
        return end_turn(draft, failed)
    draft = draft.write(failed)
    run = draft.work.run
    draft = draft.with_work(replace(draft.work, run=replace(run, turn_over=True) if run else None))
    return begin_closing(draft, Closing("stop", event.message, f"extension {event.tripwire.extension}"))
