"""What each record does to the call it names (machine.md, Calls)."""

from collections.abc import Callable

from abey.core.call import Call, CallState
from abey.protocol import journal as j
from abey.protocol.outcomes import Answer, AnyOutcome
from abey.protocol.policy import AnyDecorator, AnyDisposition, Decorate, Defer, RunIsolated
from abey.shared.values import copier, replace


def base_disposition(disposition: AnyDisposition) -> AnyDisposition:
    """What is left when the decorators are taken off."""
    while type(disposition) is Decorate:  # asked often, and `isinstance` is slow with classes of pydantic
        disposition = disposition.inner
    return disposition


def decorators_of(disposition: AnyDisposition) -> tuple[AnyDecorator, ...]:
    """Those around the inner disposition, outer first."""
    return (*disposition.decorators, *decorators_of(disposition.inner)) if isinstance(disposition, Decorate) else ()


def isolation_of(verdict: j.CallDecided) -> RunIsolated | None:
    """The sandbox that the call runs in, by itself or once it is approved; None where it needs none."""
    base = base_disposition(verdict.disposition)
    return base if type(base) is RunIsolated else verdict.isolation


def waits_for_somebody(verdict: j.CallDecided) -> bool:
    """True where nothing here runs the call by itself."""
    return not verdict.runnable or type(base_disposition(verdict.disposition)) is Defer


def update_call(call: Call, record: j.Record) -> Call:
    """The call after a record that names it."""
    data, at = record.data, record.at
    match data:
        case j.CallDecided():
            waits: CallState = "deferred" if waits_for_somebody(data) else "ready"
            state: CallState = "uncertain" if call.may_have_run else waits
            kept = call.resolution if call.may_have_run else None
            first = call.decided_at or at
            return _decided(call, data, first, state, kept, None)
        case j.CallStarted():
            return _started(call, data, call.started_at or at, "running", None, False)
        case j.CallFinished():
            return _finished(call, data, at, data.outcome, None)
        case j.CallResolved():
            return _resolved(call, data, at)
        case j.CallExpired():
            return replace(call, state="expired", ended_at=at, question=None)
        case j.CallAsked():
            return replace(call, question=data.question)
        case _:
            raise TypeError(f"{data.type} does not name a call")


_decided: Callable[[Call, j.CallDecided, str, CallState, j.CallResolved | None, None], Call]
_decided = copier(Call, "verdict", "decided_at", "state", "resolution", "question")
_started: Callable[[Call, j.CallStarted, str, CallState, None, bool], Call]
_started = copier(Call, "started", "started_at", "state", "question", "in_doubt")
_finished: Callable[[Call, j.CallFinished, str, CallState, None], Call]
_finished = copier(Call, "finished", "ended_at", "state", "question")

_RESOLVED: dict[str, CallState] = {
    "approve": "approved",
    "rerun": "approved",
    "deny": "denied",
    "result": "completed",
    "error": "failed",
    "cancel": "cancelled",
}


def _resolved(call: Call, data: j.CallResolved, at: str) -> Call:
    outcome: AnyOutcome = data.outcome
    if data.answers_question:
        return _answered(call, data, at)
    resolution = data
    if outcome.kind == "rerun" and call.resolution is not None and data.arguments is None:
        edited = {"arguments": call.resolution.arguments, "preimage": call.resolution.preimage}
        resolution = data.model_copy(update=edited) if call.resolution.arguments is not None else data
    state = _RESOLVED[outcome.kind]
    ended = at if state in ("denied", "completed", "failed", "cancelled") else None
    return replace(
        call,
        resolution=resolution,
        resolved_at=at,
        answered=None,
        answered_at=None,
        state=state,
        ended_at=ended,
        question=None,
    )


def _answered(call: Call, data: j.CallResolved, at: str) -> Call:
    """A call that was asked about before it runs is what its verdict made of it, unless nobody wants it to run."""
    heard = replace(call, question=None, answered=data, answered_at=at)
    if not call.asked_about or call.question is None:
        return heard
    value = data.outcome.value if isinstance(data.outcome, Answer) else None
    if isinstance(data.outcome, Answer) and not (call.question.kind == "approval" and value is False):
        return replace(heard, first_answer=data)
    state: CallState = "denied" if isinstance(data.outcome, Answer) else "cancelled"
    return replace(heard, resolution=data, resolved_at=at, state=state, ended_at=at)
