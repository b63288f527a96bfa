"""The durable events of a session: a pure function of its journal, numbered without a gap (protocol.md, Events)."""

from collections.abc import Iterator
from dataclasses import dataclass

from abey.core.agent import Agent
from abey.core.completing import pending_kind
from abey.core.machine import Machine
from abey.core.notes import repair_note
from abey.core.pending_views import pending_view
from abey.core.replay import recover
from abey.core.session import Call, Session
from abey.core.views import resolution_view, session_view, turn_items
from abey.protocol import journal as j
from abey.protocol.base import Json
from abey.protocol.session import Usage

Event = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Mark:
    """An event before it is written out: its type, and the item, call or input it is about."""

    type: str
    item_id: str = ""
    call_id: str = ""
    input_id: str = ""


def marks_of(record: j.Record, before: Session | None, after: Session, *, last: bool) -> tuple[Mark, ...]:
    """The durable events of a record that led from `before` to `after`; `last` closes its unit."""
    return tuple(_marks(record, before, after, last))


def render(mark: Mark, record: j.Record, before: Session | None, after: Session, agent: Agent | None) -> Event:
    """The event of a mark, written out for the wire."""
    data = record.data
    match mark.type:
        case "session/updated":
            return {"type": mark.type, "session": session_view(Machine(after), agent).wire()}
        case "turn/started" | "turn/completed":
            return _turn_event(mark.type, after)
        case "input/queued" | "input/committed" | "input/stopped":
            return {"type": mark.type, "inputId": mark.input_id}
        case "usage":
            used = data.usage if isinstance(data, j.Candidate | j.Compacted) else Usage()
            return {"type": mark.type, "usage": after.usage.wire(), "call": used.wire()}
        case "note":
            return {"type": mark.type, "text": _note(data)}
        case "pending/added" | "pending/resolved" | "pending/expired":
            return _pending_event(mark, before, after, agent)
        case _:
            return {"type": mark.type, "item": _item(mark, after)}


def _marks(record: j.Record, before: Session | None, after: Session, last: bool) -> Iterator[Mark]:
    data = record.data
    match data:
        case j.Input():
            if before is None or before.open_turn is None:
                yield Mark("turn/started")
            yield Mark("input/committed", input_id=data.input_id)
            yield Mark("item/completed", item_id=f"{record.rev}.0")
        case j.InputQueued():
            yield Mark("input/queued", input_id=data.input_id)
        case j.Candidate():
            ids = [f"{data.step_id}.{index}" for index in range(len(data.blocks) + len(data.calls))]
            yield from (Mark("item/completed", item_id=one) for one in ids[: len(data.blocks)])
            yield from (Mark("item/started", item_id=one) for one in ids[len(data.blocks) :])
            yield Mark("usage")
        case j.ModelFailure() | j.Repaired() | j.RuleAdded() | j.RuleRemoved():
            yield Mark("note")
        case j.Compacted():
            yield Mark("note")
            yield Mark("usage")
        case j.Final() | j.Cancelled() | j.Failed() | j.Stopped():
            if before is not None and before.open_turn is not None:
                yield Mark("turn/completed")
            if isinstance(data, j.Stopped) and before is not None:
                yield from (Mark("input/stopped", input_id=queued.input_id) for queued in before.queue)
        case _:
            yield from _call_marks(data, before, after)
    if last:
        yield Mark("session/updated")


def _call_marks(data: j.RecordData, before: Session | None, after: Session) -> Iterator[Mark]:
    call_id = getattr(data, "call_id", "")
    was, now = _find(before, call_id), _find(after, call_id)
    if now is None:
        return
    yield Mark("item/completed" if now.final else "item/updated", call_id=call_id)
    # A call that an answer names waited for one, though the journal need not say so: a restart makes a call uncertain.
    waited = isinstance(data, j.CallResolved) or (was is not None and pending_kind(was) is not None)
    waits = pending_kind(now) is not None
    if waits and not waited:
        yield Mark("pending/added", call_id=call_id)
    elif waited and not waits:
        yield Mark("pending/expired" if now.state == "expired" else "pending/resolved", call_id=call_id)


def _find(session: Session | None, call_id: str) -> Call | None:
    answer = session.last_answer if session and call_id else None
    return next((call for call in answer.calls if call.call_id == call_id), None) if answer else None


def _turn_event(kind: str, after: Session) -> Event:
    turn = after.turn
    if turn is None:
        return {"type": kind}
    return {"type": kind, "turnId": turn.turn_id, "n": turn.n} | ({"end": turn.end} if turn.end else {})


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
        case _:
            return data.type


def _pending_event(mark: Mark, before: Session | None, after: Session, agent: Agent | None) -> Event:
    sources = (after,) if mark.type == "pending/added" or before is None else (before, recover(before))
    views = (view for source in sources for view in pending_view(source, agent) if view.call_id == mark.call_id)
    shown = next(views, None)
    event: Event = {"type": mark.type} | ({"pending": shown.wire()} if shown else {})
    call = _find(after, mark.call_id)
    if mark.type != "pending/added" and call is not None:
        event["resolution"] = resolution_view(call).wire()
    return event


def _item(mark: Mark, after: Session) -> Json:
    for item in turn_items(after.turns[-1]) if after.turns else ():
        if item.item_id == mark.item_id or (item.call is not None and item.call.call_id == mark.call_id):
            return item.wire()
    return None
