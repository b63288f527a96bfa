"""A session as clients see it: folds of the machine into the types of the protocol."""

from collections.abc import Iterator

from abey.core.agent import Agent
from abey.core.agent_views import told_of_agent
from abey.core.call import Call
from abey.core.completing import pending_kind
from abey.core.history import result_of
from abey.core.machine import Machine
from abey.core.pending_views import bare_pending, shown_arguments
from abey.core.session import AnswerEntry, InputEntry, NoteEntry, Session, Turn, open_calls, queue_order
from abey.protocol import session as s
from abey.protocol import transcript as t
from abey.protocol.blocks import TextBlock
from abey.protocol.journal import CallResolved, InputQueued, Rewound
from abey.protocol.notifications import Attention, Summary
from abey.protocol.outcomes import Answer, AnyOutcome, DenyCall, Error, Resolution

QUEUED_TEXT = 200
"""Characters of an input that waits: enough to tell it from the others."""


def session_view(machine: Machine, agent: Agent | None) -> s.Session:
    """The Session of the protocol. `agent` is its agent as it is now, for the schemas of pending calls."""
    session = machine.session
    turn, active = session.turn, machine.work.run
    return s.Session(
        session_id=session.id,
        agent=session.created.agent,
        title=session.title,
        cwd=session.created.cwd,
        state=session.state,
        activity=machine.work.activity,
        revision=session.revision,
        turn=_turn(turn) if turn else None,
        queued=tuple(s.QueuedInput(input_id=one.input_id, delivery=one.delivery) for one in queue_order(session)),
        output=output(session),
        last_error=session.last_error,
        paused=session.paused,
        driven_by="run" if active is not None and not active.run.once else session.driven_by,
        usage=_usage(session),
        created_at=session.created_at,
        updated_at=session.updated_at,
        archived=True if session.archived else None,
        parent=session.created.parent,
        children=session.children,
        forked_from=session.created.forked_from,
        config_hash=session.config_hash,
        **told_of_agent(bare_pending(session), agent, session.created.workspace),
    )


def bare_view(machine: Machine) -> s.Session:
    """The Session without what depends on its agent, as if there was none."""
    return session_view(machine, None)


def queued_texts(session: Session) -> dict[str, str]:
    """How the words of the inputs that wait begin, by their ids; without those that have none."""
    texts = {one.input_id: _words(one)[:QUEUED_TEXT] for one in session.queue}
    return {input_id: text for input_id, text in texts.items() if text}


def _words(waits: InputQueued) -> str:
    return "\n".join(part.text[:QUEUED_TEXT] for part in waits.parts if isinstance(part, t.TextPart))


def summary_view(machine: Machine) -> Summary:
    session = machine.session
    kinds = [kind for call in open_calls(session) if (kind := pending_kind(call)) and kind != "running"]
    attention: Attention = "error" if session.last_error and not session.stopped else "none"
    for kind in ("question", "approval", "external", "uncertain"):
        if kind in kinds:
            attention = kind
            break
    return Summary(
        session_id=session.id,
        title=session.title,
        cwd=session.created.cwd,
        state=session.state,
        activity=machine.work.activity,
        revision=session.revision,
        pending_count=len(kinds),
        attention=attention,
    )


def damaged_summary(machine: Machine) -> Summary:
    """Of a session that can only be looked at: nobody can answer a call of it, and somebody should mend it."""
    return summary_view(Machine(machine.session)).model_copy(update={"pending_count": 0, "attention": "error"})


def output(session: Session) -> str | None:
    """The final text of a completed turn."""
    turn = session.turn
    if turn is None or turn.end != "answered" or session.stopped:
        return None
    answers = [entry for entry in turn.entries if isinstance(entry, AnswerEntry)]
    return _text(answers[-1]) if answers else None


def items(session: Session) -> Iterator[t.Item]:
    """The transcript, oldest first. Item ids are `<revision>.<index>`, in an answer `<step>.<index>`: so that what
    streams has its name before it is recorded."""
    for turn in session.turns:
        yield from turn_items(turn)


def newest_items(session: Session) -> Iterator[t.Item]:
    """The same from its end, so that who wants the last ones builds no others."""
    for turn in reversed(session.turns):
        yield from reversed(tuple(turn_items(turn)))


def turn_items(turn: Turn) -> Iterator[t.Item]:
    for entry in turn.entries:
        match entry:
            case InputEntry(repairs=True):
                yield _item(turn, entry, entry.place, "note", text=_repair_text(entry))
            case InputEntry():
                yield _item(turn, entry, entry.place, "input", parts=entry.parts)
            case NoteEntry():
                yield _item(turn, entry, entry.place, "note", text=entry.text)
            case AnswerEntry():
                yield from _answer_items(turn, entry)


def resolution_view(call: Call) -> Resolution:
    """What came of a call whose answer was recorded first, or of what it asked last."""
    resolved, at = (call.answered, call.answered_at) if call.answered else (call.resolution, call.resolved_at)
    if resolved is not None and at is not None:
        kind, by, message = resolved.outcome.kind, resolved.by, _message(resolved.outcome)
        how = _past(resolved) + (" with edited arguments" if resolved.arguments is not None else "")
        who = f"{by} ({resolved.client.kind})" if resolved.client else by
        text = f"{how} by {who} at {at}" + (f": {message}" if message else "")
        return Resolution(kind=kind, by=by, client=resolved.client, at=at, message=message, text=text)
    at = call.ended_at or call.decided_at or ""
    if call.rewound is not None:
        return rewound_view(call.rewound, at)
    outcome = call.state if call.state in ("expired", "cancelled") else "finished"
    by = "the policy" if call.state == "denied" else "abey"
    return Resolution(kind=outcome, by=by, at=at, text=f"{outcome} at {at}, before anybody answered")


def rewound_view(rewound: Rewound, at: str) -> Resolution:
    """What came of a call that was open when the session went back to before it."""
    client = rewound.client
    by = client.name if client else "abey"
    who = f"{by} ({client.kind})" if client else by
    text = f"rewound by {who} at {at}: the session went back to revision {rewound.to}"
    return Resolution(kind="rewound", by=by, client=client, at=at, text=text)


def _message(outcome: AnyOutcome) -> str | None:
    """What somebody says with an answer, where there is room for it."""
    return outcome.message if isinstance(outcome, DenyCall | Error) else None


def _past(resolved: CallResolved) -> str:
    kind, outcome = resolved.outcome.kind, resolved.outcome
    if isinstance(outcome, Answer) and isinstance(outcome.value, bool):
        return f"answered {'yes' if outcome.value else 'no'}"
    return "declined" if resolved.answers_question and kind == "cancel" else _PAST[kind]


_PAST = {
    "answer": "answered",
    "approve": "approved",
    "deny": "denied",
    "result": "completed with a result",
    "error": "completed with an error",
    "cancel": "cancelled",
    "rerun": "run again",
}


def _turn(turn: Turn) -> s.TurnInfo:
    return s.TurnInfo(turn_id=turn.turn_id, n=turn.n, started_at=turn.started_at, ended_at=turn.ended_at, end=turn.end)


def _usage(session: Session) -> s.Usage:
    used, known = session.usage, session.context_tokens
    return used if used.context_tokens == known else used.model_copy(update={"context_tokens": known})


def _repair_text(entry: InputEntry) -> str:
    said = "".join(part.text for part in entry.parts if isinstance(part, t.TextPart))
    return f"the model was asked again: {said}"


def _text(answer: AnswerEntry) -> str:
    return "".join(block.text for block in answer.blocks if isinstance(block, TextBlock))


def _answer_items(turn: Turn, answer: AnswerEntry) -> Iterator[t.Item]:
    index = 0
    for block in answer.blocks:
        kind: str = "answer" if isinstance(block, TextBlock) else "thinking"
        yield _item(turn, answer, index, kind, text=block.text)
        index += 1
    for call in answer.calls:
        yield _item(turn, answer, index, "toolCall", call=_call(call))
        index += 1


def _item(turn: Turn, entry: InputEntry | AnswerEntry | NoteEntry, index: int, kind: str, **more: object) -> t.Item:
    place = entry.step_id if isinstance(entry, AnswerEntry) else entry.revision
    known = {"item_id": f"{place}.{index}", "revision": entry.revision, "turn_id": turn.turn_id}
    return t.Item.model_validate({**known, "at": entry.at, "kind": kind, **more})


def _call(call: Call) -> t.ItemCall:
    edited = call.resolution.arguments if call.resolution else None
    told = {"output": result_of(call).content} if call.final else {}
    return t.ItemCall(
        **told,
        call_id=call.call_id,
        tool=call.tool,
        arguments=shown_arguments(call.arguments),
        effective_arguments=None if edited is None else shown_arguments(edited),
        disposition=call.verdict.disposition if call.verdict else None,
        state=call.state,
        decision=_decision(call.resolution, call.resolved_at) if call.resolution else None,
        token=call.verdict.token if call.verdict else None,
        child_id=call.child_id,
        output_bytes=call.finished.whole.bytes if call.finished and call.finished.whole else None,
        may_have_run=True if call.may_have_run and call.state in ("cancelled", "uncertain") else None,
        started_at=call.started_at,
        ended_at=call.ended_at,
    )


def _decision(resolved: CallResolved, at: str | None) -> t.CallDecision:
    return t.CallDecision(
        by=resolved.by,
        client=resolved.client,
        at=at or "",
        edited=resolved.arguments is not None,
        message=_message(resolved.outcome),
        rule_id=resolved.rule_id,
    )
