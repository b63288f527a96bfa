"""How a batch is committed and how a turn ends: with the next input, if one waits."""

from collections.abc import Callable

from abey.core.children import end_children, let_go
from abey.core.effects import Abort, StartGrace
from abey.core.events import Cancel, Stop
from abey.core.machine import ActiveRun, Closing, Draft, Work
from abey.core.session import AnswerEntry, open_calls, queue_order
from abey.protocol import journal as j
from abey.shared.values import copier, replace


def commit_batch(draft: Draft, batch: AnswerEntry) -> Draft:
    """Every call of the batch has a result: they go into the transcript together, then the interrupts that wait."""
    draft = _results(draft, batch)
    turn = draft.session.open_turn
    if turn is None or draft.work.closing is not None:
        return draft
    for queued in draft.session.queue:
        if queued.delivery == "interrupt":
            draft = draft.write(_committed(queued, turn.turn_id))
    return draft


def _results(draft: Draft, batch: AnswerEntry) -> Draft:
    turn = draft.session.open_turn
    if turn is None:
        raise ValueError("a batch belongs to an open turn")
    ids = tuple(call.call_id for call in batch.calls)
    return draft.write(j.ToolResults(turn_id=turn.turn_id, step_id=batch.step_id, call_ids=ids))


def end_turn(draft: Draft, ending: j.Final | j.Cancelled | j.Failed) -> Draft:
    """The turn is over, and the write that says so commits the head of the queue as the next turn's input."""
    draft = draft.write(ending)
    queue, run = queue_order(draft.session), draft.work.run
    if run is not None and all(queued.input_id != run.input_id for queued in queue):
        draft = draft.with_work(_with_run(draft.work, _turn_over(run, True)))
    return draft.write(_committed(queue[0], draft.mint("turn"))) if queue else draft


def reach_limit(draft: Draft, message: str) -> Draft:
    """The turn, or the session, has had all that its agent allows: what it still asked for is not run."""
    turn = draft.session.open_turn
    if turn is None:
        raise ValueError("only an open turn can reach a limit")
    for call in open_calls(draft.session):
        told = j.CallFinished(call_id=call.call_id, outcome="cancelled", output=f"not run: {message}")
        draft = let_go(draft, call).write(told)
    if draft.session.batch is not None:
        draft = _results(draft, draft.session.batch)  # an interrupt begins a turn of its own: this one has no answer
    return end_turn(draft, j.Failed(turn_id=turn.turn_id, end="limit", kind="budget/exhausted", message=message))


def close(draft: Draft, event: Cancel | Stop) -> Draft:
    """Cancels the turn, or stops the session; a stop overtakes a cancel. What is over already stays as it is."""
    session, work = draft.session, draft.work
    closing = Closing("stop" if isinstance(event, Stop) else "cancel", event.reason, event.client.name)
    if work.closing is not None and work.closing.ending == "cancel" and closing.ending == "stop":
        return draft.with_work(
            replace(work, closing=replace(work.closing, ending="stop", reason=event.reason, by=closing.by))
        )
    if session.stopped or work.closing is not None:
        return draft
    if isinstance(event, Cancel):
        turn = session.open_turn
        if turn is None or session.state == "completed" or event.turn_id not in (None, turn.turn_id):
            return draft
    return begin_closing(draft, closing)


def begin_closing(draft: Draft, closing: Closing) -> Draft:
    """Everything in flight is told to end, and has `stopGraceSeconds` for it."""
    closing = replace(closing, generation=draft.work.generation)
    draft = draft.with_work(replace(draft.work, closing=closing))
    for invocation in draft.work.live:
        draft = draft.do(Abort(invocation.invocation_id))
    draft = end_children(draft)
    if draft.work.live:
        draft = draft.do(StartGrace(closing.generation, draft.context.agent.limits.stop_grace_seconds))
    return draft


def finish_closing(draft: Draft) -> Draft:
    """Every open call is closed as cancelled, and the turn, or the session, ends. Late results are nobody's."""
    closing, turn = draft.work.closing, draft.session.open_turn
    if closing is None:
        return draft
    draft = draft.claim(lambda one: one.closing)
    unresolved = open_calls(draft.session)
    for call in unresolved:
        doubt = call.may_have_run
        told = f"cancelled by user; {call.fate}"
        draft = draft.write(
            j.CallFinished(call_id=call.call_id, outcome="cancelled", output=told, may_have_run=doubt or None)
        )
    batch = draft.session.batch
    if batch is not None:
        draft = _results(draft, batch)
    phase_over = replace(draft.work, live=(), phase="none", closing=None)
    draft = draft.with_work(phase_over)
    if closing.ending == "cancel":
        ended = j.Cancelled(
            turn_id=turn.turn_id if turn else "", reason=closing.reason, by=closing.by, attempts=closing.attempts
        )
        return end_turn(draft, ended)
    kept = tuple({"callId": call.call_id, "token": call.verdict.token} for call in unresolved if call.verdict)
    stopped = j.Stopped(reason=closing.reason, by=closing.by, cancelled_calls=kept, attempts=closing.attempts)
    draft = draft.write(stopped)
    run = draft.work.run
    return draft.with_work(_with_run(draft.work, _turn_over(run, True) if run else None))


_turn_over: Callable[[ActiveRun, bool], ActiveRun] = copier(ActiveRun, "turn_over")
_with_run: Callable[[Work, ActiveRun | None], Work] = copier(Work, "run")


def _committed(queued: j.InputQueued, turn_id: str) -> j.Input | j.Continued:
    if queued.continues:
        return j.Continued(turn_id=turn_id, input_id=queued.input_id, client=queued.client)
    return j.Input(turn_id=turn_id, input_id=queued.input_id, parts=queued.parts, client=queued.client)
