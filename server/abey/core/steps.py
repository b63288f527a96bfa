"""How a session moves: one model call or one tool phase at a time, as far as its run goes."""

from collections.abc import Callable

from abey.core.agent import Agent
from abey.core.budget import exhausted
from abey.core.children import resumable
from abey.core.compaction import due, summary_request
from abey.core.conversation import ModelRequest
from abey.core.dispatch import continue_phase, dispatch, startable
from abey.core.effects import AskModel, EndRun, ListTools
from abey.core.events import Run
from abey.core.finding import holds_input
from abey.core.history import history, request_hash
from abey.core.machine import ActiveRun, Draft, Invocation, Phase, Work
from abey.core.offering import offered_tools
from abey.core.session import AnswerEntry, Session, open_calls
from abey.core.turns import commit_batch, end_turn, finish_closing, reach_limit
from abey.errors import AbeyError
from abey.protocol import journal as j
from abey.protocol.session import Driver, State
from abey.shared.values import copier, replace

MOST_CONSEQUENCES = 10_000
"""Far more than a batch of calls and a queue of inputs can have: a law against going round for ever."""


def begin_run(draft: Draft, run: Run, awaits: frozenset[str] = frozenset(), input_id: str | None = None) -> Draft:
    """The next generation starts; the request that asked for it, maybe with an input, waits for it."""
    generation = draft.work.generation + 1
    active = ActiveRun(run, generation, awaits=awaits, input_id=input_id)
    return _waiting_for(draft, _begun(draft.work, generation, active, frozenset()), generation)


def follow_with(draft: Draft, run: Run, awaits: frozenset[str] = frozenset(), input_id: str | None = None) -> Draft:
    """A run is promised, and starts when what goes on now is over; the request that asked for it, maybe with an input,
    waits for it."""
    promise = ActiveRun(run, draft.work.generation + 1, awaits=awaits, input_id=input_id)
    work = replace(draft.work, generation=promise.generation, promised=(*draft.work.promised, promise))
    return _waiting_for(draft, work, promise.generation)


def end_run(draft: Draft, outcome: str, error: AbeyError | None = None) -> Draft:
    """The run is over; the one that was promised is started by `settle`."""
    active = draft.work.run
    if active is None:
        return draft
    ended = EndRun(active.generation, outcome, active.steps, error)
    return draft.with_work(_with_run(draft.work, draft.work.phase, None)).do(ended)


def settle(draft: Draft) -> Draft:
    """Whatever follows from what has just happened, until a model, a tool or somebody outside must act."""
    for _ in range(MOST_CONSEQUENCES):
        after = _settle_once(draft)
        if after.work.promised:
            after = _promises_kept(after)
        if after is draft:
            return draft
        draft = after
    raise RuntimeError(f"session {draft.session.id} does not come to rest at revision {draft.session.revision}")


def _promises_kept(draft: Draft) -> Draft:
    """A run that was promised to an input which has come to its end meanwhile has nothing left to drive."""
    waiting = {queued.input_id for queued in draft.session.queue}
    for promise in draft.work.promised:
        outcome = None if promise.input_id in waiting else _input_outcome(draft.session, promise.input_id)
        if outcome is not None:
            others = tuple(one for one in draft.work.promised if one is not promise)
            draft = draft.do(EndRun(promise.generation, outcome, 0))
            draft = draft.with_work(replace(draft.work, promised=others))
    return draft


def _input_outcome(session: Session, input_id: str | None) -> str | None:
    """What a run comes to that was promised to an input which does not wait; None while its turn is open."""
    if input_id in session.dropped:
        return "cancelled"
    turn = next((one for one in reversed(session.turns) if input_id is not None and holds_input(one, input_id)), None)
    if turn is None or turn.end is None:
        return None
    return "cancelled" if turn.end == "cancelled" else "completed"


def close_leftovers(draft: Draft) -> Draft:
    """The closing record that a crash kept from being written, and what an end commits."""
    turn = draft.session.open_turn
    if turn is not None and draft.session.state == "completed":
        answer = next(entry for entry in reversed(turn.entries) if isinstance(entry, AnswerEntry))
        return end_turn(draft, j.Final(turn_id=turn.turn_id, step_id=answer.step_id))
    return draft


def step_over(draft: Draft) -> Draft:
    """The foreground of a step is done."""
    work = draft.work
    counted = _counted(work.run, work.run.steps + 1) if work.run else None
    return draft.with_work(_with_run(work, "none", counted))


_begun: Callable[[Work, int, ActiveRun, frozenset[str]], Work] = copier(Work, "generation", "run", "rested")
_waiting_for: Callable[[Draft, Work, int], Draft] = copier(Draft, "work", "generation")
_counted: Callable[[ActiveRun, int], ActiveRun] = copier(ActiveRun, "steps")
_with_run: Callable[[Work, Phase, ActiveRun | None], Work] = copier(Work, "phase", "run")


def _settle_once(draft: Draft) -> Draft:
    batch, work = draft.session.batch, draft.work
    if batch is not None and batch.settled:
        return commit_batch(draft, batch)
    if work.closing is not None:
        return draft if work.live else finish_closing(draft)
    if work.phase == "tools":
        return _continue_tools(draft)
    if work.phase == "none" and work.run is not None:
        return _advance(draft, work.run)
    if work.run is None and work.promised:
        first, *others = work.promised
        return draft.with_work(replace(work, run=first, promised=tuple(others), rested=frozenset()))
    return draft


def _continue_tools(draft: Draft) -> Draft:
    after = continue_phase(draft)
    if after is not draft:
        return after
    if any(not one.background for one in draft.work.live):
        return draft
    waiting = open_calls(draft.session)
    turn, batch = draft.session.open_turn, draft.session.batch
    if waiting and turn is not None and batch is not None:
        ids = tuple(call.call_id for call in waiting)
        waits = j.Waiting(turn_id=turn.turn_id, step_id=batch.step_id, call_ids=ids, driven_by=_driver(draft))
        draft = draft.write(waits)
    return step_over(draft)


def _advance(draft: Draft, active: ActiveRun) -> Draft:
    run, session, state = active.run, draft.session, draft.session.state
    if state == "stopped":
        return end_run(draft, _turn_outcome(draft, run))
    if active.turn_over and (run.once or run.ends_with_turn or state == "completed"):
        return end_run(draft, _turn_outcome(draft, run))
    if run.once and active.steps:
        return end_run(draft, "completed" if state == "completed" else "advanced")
    if draft.context.draining or (session.paused and not run.once):
        return end_run(draft, "paused")
    if state == "completed":
        return end_run(draft, "completed")
    if run.max_steps is not None and active.steps >= run.max_steps:
        return end_run(draft, "limit")
    if draft.context.full is not None and (state in ("userTurn", "llmTurn") or _has_work(draft)):
        return end_run(draft, "failed", draft.context.full)
    if draft.context.no_tools is not None and (state == "llmTurn" or startable(session)):
        return end_run(draft, "failed", draft.context.no_tools)
    after = _begin_step(draft, state)
    if after is not draft or (run.patient and not run.synchronous):
        return after
    return draft if active.awaits and _awaited(draft, active) else end_run(draft, "waiting")


def _awaited(draft: Draft, active: ActiveRun) -> bool:
    """Whether a call is in flight that the run waits for, and which asks nobody."""
    asking = {call.call_id for call in open_calls(draft.session) if call.question is not None}
    mine = [one for one in draft.work.live if one.child_id is None or active.run.synchronous]
    return any(one.call_id in active.awaits - asking for one in mine)


def _has_work(draft: Draft) -> bool:
    return bool(startable(draft.session) or resumable(draft))


def _turn_outcome(draft: Draft, run: Run) -> str:
    last = next((turn for turn in reversed(draft.session.turns) if turn.end is not None), None)
    cancelled = last is not None and last.end == "cancelled"
    return "cancelled" if cancelled and not run.once else "completed"


def _begin_step(draft: Draft, state: State) -> Draft:
    match state:
        case "userTurn" | "llmTurn":
            draft = _on_behalf(draft).with_latest_agent()
            if draft.context.agent.unlisted:
                return _list_tools(draft)
            reached = exhausted(draft.session, draft.context.agent)
            if reached is not None:
                return reach_limit(draft, reached)
            return _ask_model(draft) if state == "userTurn" else dispatch(draft)
        case "partialUserTurn" if _has_work(draft):
            draft = _on_behalf(draft).with_latest_agent()
            if draft.context.agent.unlisted:
                return _list_tools(draft)
            return draft.with_work(replace(draft.work, phase="tools"))
        case _:
            return draft


def _list_tools(draft: Draft) -> Draft:
    """The step waits until every source of tools was asked: nothing of it is recorded before."""
    invocation_id = draft.mint("listing")
    return draft.begin(Invocation(invocation_id), ListTools(invocation_id), "listing")


def _on_behalf(draft: Draft) -> Draft:
    """What a step records is recorded for those who wait for its run."""
    active = draft.work.run
    return draft.claim(lambda one: active is not None and one.generation == active.generation)


def _ask_model(draft: Draft) -> Draft:
    session, agent, turn = draft.session, draft.context.agent, draft.session.open_turn
    if turn is None:
        raise ValueError("a userTurn has an open turn")
    invocation_id = draft.mint("invocation")
    up_to = due(session, agent)
    requested = j.ModelRequested(
        turn_id=turn.turn_id,
        step_id=draft.mint("step"),
        invocation_id=invocation_id,
        request_hash=request_hash(session),
        config_hash=agent.config_hash,
        driven_by=_driver(draft),
        sums_up=None if up_to is None else up_to.revision,
        sums_up_place=None if up_to is None else up_to.place,
    )
    request = _request(session, agent) if up_to is None else summary_request(session, agent, up_to)
    return draft.write(requested).begin(Invocation(invocation_id), AskModel(invocation_id, request), "model")


def _request(session: Session, agent: Agent) -> ModelRequest:
    tools = offered_tools(agent)
    return ModelRequest(agent.system_prompt, history(session), tools, session.tries, agent.output_schema)


def _driver(draft: Draft) -> Driver:
    active = draft.work.run
    return "run" if active is not None and not active.run.once else "step"
