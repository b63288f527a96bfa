"""The durable events of a session: a pure function of its journal, numbered without a gap (protocol.md, Events)."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, get_args

from abey.core.agent import Agent
from abey.core.call import Call
from abey.core.completing import pending_kind
from abey.core.finding import calls_of
from abey.core.machine import Machine
from abey.core.notes import repair_note
from abey.core.pending_views import pending_view
from abey.core.replay import recover
from abey.core.session import Session, open_calls
from abey.core.views import resolution_view, session_view, turn_items
from abey.protocol import journal as j
from abey.protocol.base import Json
from abey.protocol.session import Usage
from abey.shared.values import dataclass

Event = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Mark:
    """An event before it is written out: its type, and the item, call or input it is about."""

    type: str
    item_id: str = ""
    call_id: str = ""
    input_id: str = ""


_OfCall = j.CallDecided | j.CallResolved | j.CallExpired | j.CallAsked | j.CallStarted | j.CallFinished

_UPDATED, _USAGE, _NOTE = Mark("session/updated"), Mark("usage"), Mark("note")
_TURN_STARTED, _TURN_COMPLETED = Mark("turn/started"), Mark("turn/completed")


def marks_of(record: j.Record, before: Session | None, after: Session, *, last: bool) -> tuple[Mark, ...]:
    """The durable events of a record that led from `before` to `after`; `last` closes its unit."""
    of = _MARKS.get(type(record.data))
    marks = tuple(of(record.data, record, before, after)) if of is not None else ()
    if before is None or after.dropped is not before.dropped:
        marks = (*marks, *_dropped_marks(before, after))
    return (*marks, _UPDATED) if last else marks


def render(mark: Mark, record: j.Record, before: Session | None, after: Session, agent: Agent | None) -> Event:
    """The event of a mark, written out for the wire."""
    data = record.data
    match mark.type:
        case "session/updated":
            return {"type": mark.type, "session": session_view(Machine(after), agent).wire()}
        case "turn/started" | "turn/completed":
            return _turn_event(mark.type, after)
        case "input/queued" | "input/committed" | "input/withdrawn" | "input/rejected" | "input/stopped":
            return {"type": mark.type, "inputId": mark.input_id}
        case "usage":
            used = data.usage if isinstance(data, j.Candidate | j.Compacted | j.ModelFailure | j.Failed) else None
            return {"type": mark.type, "usage": after.usage.wire(), "call": (used or Usage()).wire()}
        case "note":
            back = {"to": data.to} if isinstance(data, j.Rewound) else {}
            return {"type": mark.type, "text": _note(data), **back}
        case "session/seeded":
            return {"type": mark.type, **_seeded(data)}
        case "tripwire":
            return {"type": mark.type, **_tripwire(data)}
        case "pending/added" | "pending/resolved" | "pending/expired":
            ended = _left(after, mark.call_id) if isinstance(data, j.Rewound) else _find(after, mark.call_id)
            return _pending_event(mark, before, after, ended, agent)
        case _:
            return {"type": mark.type, "item": _item(mark, after)}


def _input_marks(
    data: j.Input | j.Continued, record: j.Record, before: Session | None, _after: Session
) -> Iterator[Mark]:
    if before is None or before.open_turn is None:
        yield _TURN_STARTED
    if not (type(data) is j.Input and data.repairs):
        yield Mark("input/committed", input_id=data.input_id)
    if type(data) is j.Input:
        yield Mark("item/completed", item_id=f"{record.rev}.0")


def _answer_marks(data: j.Candidate, *_: object) -> list[Mark]:
    types = ["item/completed"] * len(data.blocks) + ["item/started"] * len(data.calls)
    return [*[Mark(each, f"{data.step_id}.{index}") for index, each in enumerate(types)], _USAGE]


def _left_marks(_data: j.Rewound, _record: j.Record, before: Session | None, _after: Session) -> Iterator[Mark]:
    """Of the calls that waited on a line that is left."""
    yield _NOTE
    waited = (call for call in open_calls(recover(before)) if _waits(call)) if before is not None else ()
    yield from (Mark("pending/resolved", call_id=call.call_id) for call in waited)


def _end_marks(data: j.RecordData, _record: j.Record, before: Session | None, _after: Session) -> Iterator[Mark]:
    if type(data) is j.Failed and data.tripwire is not None:
        yield Mark("tripwire")
        if data.usage is not None:
            yield _USAGE
    if before is not None and before.open_turn is not None:
        yield _TURN_COMPLETED


def _dropped_marks(before: Session | None, after: Session) -> Iterator[Mark]:
    known = before.dropped if before is not None else {}
    new = ((input_id, how) for input_id, how in after.dropped.items() if input_id not in known)
    yield from (Mark(f"input/{how}", input_id=input_id) for input_id, how in new)


def _call_marks(data: _OfCall, _record: j.Record, before: Session | None, after: Session) -> list[Mark]:
    call_id = data.call_id
    was, now = _find(before, call_id), _find(after, call_id)
    if now is None:
        return []
    marks = [Mark("item/completed" if now.final else "item/updated", call_id=call_id)]
    # A call that an answer names waited for one, though the journal need not say so: a restart makes a call uncertain.
    waited = type(data) is j.CallResolved or _waits(was)
    waits = _waits(now)
    # What was asked about a call before it runs is answered, though the call may wait for something else now.
    heard = was is not None and was.asked_about and not now.asked_about
    if waited and (heard or not waits):
        marks.append(Mark("pending/expired" if now.state == "expired" else "pending/resolved", call_id=call_id))
    if waits and (heard or not waited):
        marks.append(Mark("pending/added", call_id=call_id))
    return marks


_MARKS: Mapping[type[j.RecordData], Callable[[Any, j.Record, Session | None, Session], Iterable[Mark]]] = {
    j.Input: _input_marks,
    j.Continued: _input_marks,
    j.InputQueued: lambda data, *_: (Mark("input/queued", input_id=data.input_id),),
    j.Rewound: _left_marks,
    j.Candidate: _answer_marks,
    j.ModelFailure: lambda data, *_: (_NOTE,) if data.usage is None else (_NOTE, _USAGE),
    j.Repaired: lambda *_: (_NOTE,),
    j.RuleAdded: lambda *_: (_NOTE,),
    j.RuleRemoved: lambda *_: (_NOTE,),
    j.Compacted: lambda *_: (_NOTE, _USAGE),
    j.Seeded: lambda *_: (Mark("session/seeded"),),
    j.Final: _end_marks,
    j.Cancelled: _end_marks,
    j.Failed: _end_marks,
    j.Stopped: _end_marks,
    **dict.fromkeys(get_args(_OfCall), _call_marks),
}
"""By the type of a record, the others have none: a `match` that goes through all types costs far more."""


def _waits(call: Call | None) -> bool:
    """Whether clients are shown that it waits: one that is to be asked about is shown with its question."""
    return call is not None and pending_kind(call) is not None and not call.to_be_asked_about


def _find(session: Session | None, call_id: str) -> Call | None:
    answer = session.last_answer if session is not None and call_id else None
    for call in answer.calls if answer is not None else ():
        if call.call_id == call_id:
            return call
    return None


def _left(after: Session, call_id: str) -> Call | None:
    """The call as the session has just left it."""
    turns = after.lines[-1].turns
    return next((call for call in calls_of(turns[-1]) if call.call_id == call_id), None) if turns else None


def _turn_event(kind: str, after: Session) -> Event:
    turn = after.turn
    if turn is None:
        return {"type": kind}
    return {"type": kind, "turnId": turn.turn_id, "n": turn.n} | ({"end": turn.end} if turn.end else {})


def _seeded(data: j.RecordData) -> Event:
    """The revision that the seed had, and how long it is; of a lost one that is not known."""
    if not isinstance(data, j.Seeded):
        return {}
    transcript = data.seed.transcript
    return {"revision": data.seed.revision, "transcriptEntries": len(transcript) if isinstance(transcript, list) else 0}


def _tripwire(data: j.RecordData) -> Event:
    if not isinstance(data, j.Failed) or data.tripwire is None:
        return {}
    return {"extension": data.tripwire.extension, "scope": data.tripwire.scope, "message": data.message}


def _note(data: j.RecordData) -> str:
    match data:
        case j.ModelFailure():
            return f"the model call failed ({data.code}): {data.message}"
        case j.Compacted():
            return f"summed up for the model, up to revision {data.up_to}"
        case j.Repaired():
            return repair_note(data)
        case j.RuleAdded():
            return f"the session remembers rule {data.rule.rule_id}, about {data.rule.tool}"
        case j.RuleRemoved():
            return f"the session forgets rule {data.rule_id}"
        case j.Rewound():
            return f"went back to revision {data.to}"
        case _:
            return data.type


def _pending_event(
    mark: Mark, before: Session | None, after: Session, ended: Call | None, agent: Agent | None
) -> Event:
    sources = (after,) if mark.type == "pending/added" or before is None else (before, recover(before))
    views = (view for source in sources for view in pending_view(source, agent) if view.call_id == mark.call_id)
    shown = next(views, None)
    event: Event = {"type": mark.type} | ({"pending": shown.wire()} if shown else {})
    if mark.type != "pending/added" and ended is not None:
        event["resolution"] = resolution_view(ended).wire()
    return event


def _item(mark: Mark, after: Session) -> Json:
    for item in turn_items(after.turns[-1]) if after.turns else ():
        if item.item_id == mark.item_id or (item.call is not None and item.call.call_id == mark.call_id):
            return item.wire()
    return None
