"""When a model call comes to nothing: nobody answered, or what was answered is of no use."""

from abey.core.events import ModelCallFailed
from abey.core.machine import Draft
from abey.core.steps import end_run, step_over
from abey.core.turns import end_turn
from abey.errors import ModelFailed
from abey.protocol import journal as j
from abey.protocol.session import Usage


def model_failed(draft: Draft, event: ModelCallFailed, usage: Usage | None = None) -> Draft:
    """The state is kept, and the run ends with the error; a content policy ends the turn. `usage` is there where the
    model did answer."""
    requested = draft.session.asked
    if requested is None:
        raise ValueError("a failure of no request")
    failure = j.ModelFailure(
        turn_id=requested.turn_id,
        step_id=requested.step_id,
        invocation_id=event.invocation_id,
        code=event.code,
        message=event.message,
        attempts=event.attempts,
        usage=usage,
    )
    draft = step_over(draft.write(failure))
    if event.code == "content-policy":
        kind = f"model/{event.code}"
        draft = end_turn(draft, j.Failed(turn_id=requested.turn_id, end="failed", kind=kind, message=event.message))
    return end_run(draft, "failed", ModelFailed(event.code, event.message, **event.details))
