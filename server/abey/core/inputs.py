"""Input: it starts a turn, joins one, or waits in the queue (machine.md, Inputs while busy)."""

from abey.core.effects import EndRun
from abey.core.events import UNTIL_YIELD, Drive, NewInput, Pause, Run, Send, Start, Update
from abey.core.finding import INPUT_IDS, input_goes_on
from abey.core.machine import Draft
from abey.core.session import Session
from abey.core.steps import begin_run, close_leftovers, follow_with
from abey.errors import InvalidState, Overloaded, RevisionConflict, SessionBusy, SessionStopped
from abey.protocol import journal as j
from abey.protocol.transcript import Client
from abey.shared.values import replace

MAX_QUEUED = 256


def start(draft: Draft, event: Start) -> Draft:
    """The session's input, if any, and its run; `created` is written already."""
    if event.input is not None:
        draft = _turn_begins(draft, event.input, event.created.client)
    return begin_run(draft, event.run) if event.run else draft


def send(draft: Draft, event: Send) -> Draft:
    """Commits the input where the session can take it now, else queues it. A repeated input id is taken no second time;
    its run drives what is left of it."""
    session, known = draft.session, event.input.input_id
    refuse_stopped(session)
    if known is not None and known_input(session, known):
        return drive_with(draft, event.run, known) if input_goes_on(session, known) else draft
    refuse_full(draft)
    draft = close_leftovers(draft)
    turn = draft.session.open_turn
    idle = draft.work.activity == "idle" and draft.work.run is None
    input_id = event.input.input_id or draft.mint("input")
    new = replace(event.input, input_id=input_id)
    if turn is None:
        draft = _turn_begins(draft, new, event.client)
    elif new.delivery == "turn" and idle and draft.session.state == "userTurn":
        draft = draft.write(_input(draft, new, turn.turn_id, event.client))
    else:
        draft = put_in_queue(
            draft, j.InputQueued(input_id=input_id, delivery=new.delivery, parts=new.parts, client=event.client)
        )
    return drive_with(draft, event.run, input_id)


def drive(draft: Draft, event: Drive) -> Draft:
    """A step or a run. Refused while the foreground works; while a patient run waits there is nothing to do."""
    session, work = draft.session, draft.work
    refuse_stopped(session)
    refuse_busy(draft)
    refuse_full(draft)
    if event.resume and session.paused is not None:
        draft = draft.write(j.Resumed(by=event.client.name))
    draft = close_leftovers(draft)
    if event.input is not None:
        _refuse_open_turn(draft.session)
        draft = _turn_begins(draft, event.input, event.client)
    draft = draft.with_work(replace(draft.work, rested=frozenset()))
    if work.run is not None and event.run == work.run.run:
        return replace(draft, generation=work.run.generation)
    if work.run is not None:
        return _stand_aside(draft)
    return begin_run(draft, event.run)


def pause(draft: Draft, event: Pause) -> Draft:
    """Takes effect at the next step boundary and aborts nothing; a paused session stays as it is."""
    refuse_stopped(draft.session)
    if draft.session.paused is not None:
        return draft
    return draft.write(j.Paused(reason=event.reason, by=event.client.name))


def update(draft: Draft, event: Update) -> Draft:
    """Legal in every state; what is so already is not recorded again."""
    session = draft.session
    title = event.title if event.title != session.title else None
    archived = event.archived if event.archived != session.archived else None
    if title is None and archived is None:
        return draft
    return draft.write(j.Updated(title=title, archived=archived, client=event.client))


def known_input(session: Session, input_id: str) -> bool:
    """Whether this input is queued, or was, or is in the transcript: then it is never sent again."""
    queued = any(one.input_id == input_id for one in session.queue)
    return queued or input_id in session.dropped or was_committed(session, input_id)


def was_committed(session: Session, input_id: str) -> bool:
    """Whether it is in the transcript, or was before a rewind, or began a turn without input."""
    lines = (session.turns, *(line.turns for line in session.lines))
    return any(input_id in turns.folded(INPUT_IDS) for turns in lines)


def refuse_stopped(session: Session) -> None:
    if session.stopped:
        raise SessionStopped(f"session {session.id} is stopped")


def refuse_busy(draft: Draft) -> None:
    """Raises SessionBusy while the foreground works."""
    activity = draft.work.activity
    if activity != "idle":
        raise SessionBusy(f"session {draft.session.id} is busy ({activity})", activity=activity)


def refuse_full(draft: Draft) -> None:
    """Raises what it is that keeps the session from taking any more."""
    if draft.context.full is not None:
        raise draft.context.full


def refuse_stale(session: Session, if_revision: int | None) -> None:
    """Raises RevisionConflict where the request was decided on another revision."""
    refuse_revision(session.id, session.revision, if_revision)


def refuse_revision(session_id: str, revision: int, if_revision: int | None) -> None:
    """The same for a session at `revision`; one that was not made yet is at 0."""
    if if_revision is not None and if_revision != revision:
        raise RevisionConflict(f"session {session_id} is at revision {revision}, not {if_revision}", revision=revision)


def put_in_queue(draft: Draft, waits: j.InputQueued) -> Draft:
    """Raises Overloaded where too many wait."""
    if len(draft.session.queue) >= MAX_QUEUED:
        raise Overloaded(f"{MAX_QUEUED} inputs wait already; let the session take some first", retryAfterMs=1000)
    return draft.write(waits)


def drive_with(draft: Draft, run: Run | None, input_id: str | None) -> Draft:
    """The run that came with an input: an active run that goes on until all is done takes the input over, else this
    one starts when it ends."""
    if run is None:
        return draft
    active = draft.work.run
    if active is None and draft.work.activity == "idle":
        return begin_run(draft, run, input_id=input_id)
    if active is not None and active.run in (UNTIL_YIELD, replace(UNTIL_YIELD, synchronous=True)):
        return replace(draft, generation=active.generation)
    return follow_with(draft, run, input_id=input_id)


def _refuse_open_turn(session: Session) -> None:
    if session.open_turn is not None:
        raise InvalidState(
            f"a prompt can only be given to a step in state completed, not in {session.state}; use agents/send",
            state=session.state,
            legal=["completed"],
        )


def _turn_begins(draft: Draft, new: NewInput, client: Client | None) -> Draft:
    return draft.write(_input(draft, new, draft.mint("turn"), client))


def _input(draft: Draft, new: NewInput, turn_id: str, client: Client | None) -> j.Input:
    return j.Input(turn_id=turn_id, input_id=new.input_id or draft.mint("input"), parts=new.parts, client=client)


def _stand_aside(draft: Draft) -> Draft:
    """Another run waits for completions already: this one finds only calls that wait for somebody."""
    generation = draft.work.generation + 1
    draft = draft.with_work(replace(draft.work, generation=generation))
    return replace(draft.do(EndRun(generation, "waiting", 0)), generation=generation)
