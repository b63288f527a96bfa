"""How requests come to their answers: what each is told, and when one with a key has ended."""

from collections.abc import Iterator, Mapping

from abey.core.call import Call
from abey.core.completing import pending_kind
from abey.core.effects import EndRun, Refuse
from abey.core.events import Cancel, Complete, Drive, Event, Isolate, Send, Stop
from abey.core.finding import find_call
from abey.core.idempotency import Keyed, failure
from abey.core.isolation import isolated
from abey.core.machine import Draft, OpenRequest
from abey.core.session import Session, open_calls, queue_order
from abey.protocol import journal as j
from abey.protocol.base import Json
from abey.shared.values import replace

STARTED: Mapping[str, Json] = {"outcome": "started", "steps": 0}
"""What a step or a run is answered that nobody waits for."""


def run_outcome(end: EndRun) -> dict[str, Json]:
    """What one is answered that somebody waited for."""
    return {"outcome": end.outcome, "steps": end.steps}


def place_in_queue(session: Session, input_id: str | None) -> int:
    """0 for an input that does not wait, else its place, from 1."""
    queued = [one.input_id for one in queue_order(session)]
    return queued.index(input_id) + 1 if input_id in queued else 0


def told(draft: Draft, event: Event) -> dict[str, Json]:
    """What the request that `event` came from is answered, whatever follows: without the session, and without how a
    run ends that it waits for."""
    match event:
        case Send():
            input_id = event.input.input_id or _taken(draft)
            return {"inputId": input_id, "position": place_in_queue(draft.session, input_id)}
        case Complete():
            found = find_call(draft.session, event.token)
            call_id = found[1].call_id if found else None
            resolved = [one.data.call_id for one in draft.records if type(one.data) is j.CallResolved]
            return {"applied": call_id in resolved}
        case Isolate():
            return {"ran": [*isolated(draft)]}
        case Cancel() | Stop():
            ended = any(isinstance(one.data, j.Cancelled | j.Stopped) for one in draft.records)
            return {"applied": ended or (draft.work.closing is not None and _names(event, draft.session))}
        case _:
            return {}


def _taken(draft: Draft) -> str | None:
    """The id that an input was given which came without one."""
    return next((one.data.input_id for one in draft.records if isinstance(one.data, j.Input | j.InputQueued)), None)


def _names(event: Cancel | Stop, session: Session) -> bool:
    """Whether what is closing now is what this is about."""
    turn = session.open_turn
    return isinstance(event, Stop) or event.turn_id is None or (turn is not None and event.turn_id == turn.turn_id)


def seal(draft: Draft, event: Event, keyed: Keyed | None) -> Draft:
    """Tells in the last record how the requests with a key ended that did so here. What records nothing is forgotten,
    and where there is no record to tell it in there is one of its own."""
    asked = draft.work.requests if keyed is None else (*draft.work.requests, _opened(draft, event, keyed))
    if not asked:
        return draft
    for _ in draft.untold if draft.records else ():
        draft = draft.write(j.Answered())
    followed = tuple(_followed(one, draft) for one in asked)
    open_still = tuple(one for one in followed if one.waits)
    draft = replace(draft, untold=()).with_work(replace(draft.work, requests=open_still))
    outcomes = tuple(
        j.KeyedOutcome(key=one.request.key, outcome=dict(one.answer))
        for one in followed
        if not one.waits and draft.session.remembers(one.request)
    )
    if not outcomes:
        return draft
    return (draft if draft.records else draft.write(j.Answered())).tell(outcomes)


def _opened(draft: Draft, event: Event, keyed: Keyed) -> OpenRequest:
    """The request as it is once its own transition is over."""
    refused = next((effect.error for effect in draft.effects if isinstance(effect, Refuse)), None)
    if refused is not None:
        return OpenRequest(keyed.request, failure(refused))
    opened = OpenRequest(keyed.request, told(draft, event))
    match event:
        case Cancel() | Stop():
            return replace(opened, closing=True)
        case Drive() if not keyed.waits:
            return replace(opened, answer=STARTED)
        case _ if not keyed.waits:
            return opened
        case Drive():
            return replace(opened, generation=draft.generation, reports="end")
        case Complete():
            return replace(opened, generation=draft.generation, call_id=_running(draft, event), reports="nothing")
        case _:
            return replace(opened, generation=draft.generation)


def _followed(one: OpenRequest, draft: Draft) -> OpenRequest:
    """The request after what has just happened: what it waits for no more is gone from it."""
    end = next((fx for fx in draft.effects if isinstance(fx, EndRun) and fx.generation == one.generation), None)
    if end is not None:
        one = replace(one, generation=None, answer=_reported(one, end))
    if one.call_id is not None and all(call.call_id != one.call_id for call in _at_work(draft.session)):
        one = replace(one, call_id=None)
    return replace(one, closing=False) if one.closing and draft.work.closing is None else one


def _at_work(session: Session) -> Iterator[Call]:
    """The calls that run, but those that ask somebody."""
    return (call for call in open_calls(session) if call.state == "running" and call.question is None)


def _reported(one: OpenRequest, end: EndRun) -> Mapping[str, Json]:
    if one.reports == "nothing":
        return one.answer
    if end.error is not None:
        return failure(end.error)
    return run_outcome(end) if one.reports == "end" else one.answer


def _running(draft: Draft, event: Complete) -> str | None:
    """The call that the answer let run."""
    found = find_call(draft.session, event.token)
    call = found[1] if found else None
    return call.call_id if call is not None and call.state == "running" and pending_kind(call) is None else None
