"""The machine: a session and an event give the session after it, what to write, and what to do then.

Laws
- The records of a transition are durable before any of its effects, and before anybody sees the session after it.
- An event that is not legal raises an AbeyError, and nothing happens.
- Nothing here knows a clock, a file, a network or a task: time, chance and the agent come in with the context.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from abey.core.agent import Agent
from abey.core.answering import seal, told
from abey.core.budget import priced
from abey.core.children import finished, settle_children
from abey.core.completing import complete, expire
from abey.core.effects import Effect, Quarantined
from abey.core.events import (
    Aborted,
    Cancel,
    ChangeRules,
    ChildEnded,
    ChildRested,
    Command,
    Complete,
    Drive,
    Event,
    GraceOver,
    Isolate,
    ModelAnswered,
    ModelCallFailed,
    News,
    Pause,
    Send,
    Start,
    Stop,
    TimePassed,
    ToolAsked,
    ToolEnded,
    ToolsListed,
    Update,
)
from abey.core.idempotency import Keyed
from abey.core.inputs import drive, pause, send, start, update
from abey.core.isolation import isolate
from abey.core.machine import Context, Draft, Machine
from abey.core.questions import ask
from abey.core.remembering import change_rules
from abey.core.replay import apply
from abey.core.session import AnswerEntry, Session
from abey.core.steps import end_run, settle, step_over
from abey.core.turns import close, end_turn, finish_closing
from abey.errors import ModelFailed
from abey.protocol import journal as j
from abey.protocol.base import Json
from abey.protocol.blocks import ProposedCall, TextBlock
from abey.protocol.session import Usage


@dataclass(frozen=True, slots=True)
class Transition:
    """What an event came to. `generation` is the run that the request waits for, if it waits for one, and `answer` what
    else it is told, without the session.

    `agent` is the version that the step now running began with.
    """

    machine: Machine
    records: tuple[j.Record, ...]
    effects: tuple[Effect, ...]
    generation: int | None
    agent: Agent
    answer: Mapping[str, Json]


def transition(machine: Machine, event: Event, context: Context, keyed: Keyed | None = None) -> Transition:
    """The machine after `event`, which a request with a key came with if `keyed` says so. Raises AbeyError where the
    event is not legal, before anything is built."""
    draft = Draft(machine, context, untold=() if keyed is None else (keyed.request,))
    if machine.work.phase == "none":
        draft = draft.with_latest_agent()
    return _done(settle(_decide(draft, event)), event, keyed)


def begin(event: Start, context: Context, keyed: Keyed | None = None) -> Transition:
    """A session that did not exist: its first record, and what follows from it."""
    created = j.Record(1, context.now, event.created, keyed.request if keyed else None)
    machine = Machine(apply(None, created))
    return _done(settle(start(Draft(machine, context, records=(created,)), event)), event, keyed)


def _done(draft: Draft, event: Event, keyed: Keyed | None) -> Transition:
    answer, draft = told(draft, event), seal(draft, event, keyed)
    return Transition(draft.machine, draft.records, draft.effects, draft.generation, draft.context.agent, answer)


def _decide(draft: Draft, event: Event) -> Draft:
    if isinstance(event, Command):
        draft = settle_children(expire(draft))
    match event:
        case Start():
            raise ValueError("a session starts once")
        case Send():
            return send(draft, event)
        case Drive():
            return drive(draft, event)
        case Complete():
            return complete(draft, event)
        case Isolate():
            return isolate(draft, event)
        case ChangeRules():
            return change_rules(draft, event)
        case Pause():
            return pause(draft, event)
        case Update():
            return update(draft, event)
        case Cancel() | Stop():
            return close(draft, event)
        case GraceOver():
            due = draft.work.closing is not None and event.generation == draft.work.closing.generation
            return finish_closing(draft) if due else draft
        case TimePassed():
            return expire(draft)
        case ChildEnded():
            return settle_children(draft)
        case _:
            return _report(draft, event)


def _report(draft: Draft, event: News) -> Draft:
    """News of work in flight; of work that nobody waits for any more it is quarantined."""
    invocation = draft.work.find(event.invocation_id)
    if invocation is None:
        lost = isinstance(event, ModelAnswered | ModelCallFailed | ToolEnded | ToolAsked)
        return draft.do(Quarantined(event.invocation_id)) if lost else draft
    if isinstance(event, ToolAsked):
        return ask(draft, invocation, event.question)
    draft = draft.end(event.invocation_id)
    match event:
        case ToolEnded():
            return draft.write(finished(invocation.call_id or "", event.invocation_id, event.outcome))
        case ToolsListed():
            return draft.with_work(replace(draft.work, phase="none")) if draft.work.closing is None else draft
        case ModelAnswered() | ModelCallFailed() if draft.work.closing is not None:
            return _cut(draft, event.answer.attempts if isinstance(event, ModelAnswered) else event.attempts)
        case ModelAnswered():
            return _answered(draft, event)
        case ModelCallFailed():
            return _model_failed(draft, event)
        case Aborted():
            return _cut(draft, event.attempts)
        case ChildRested():
            return draft.with_work(replace(draft.work, rested=draft.work.rested | {invocation.call_id or ""}))


def _cut(draft: Draft, attempts: int) -> Draft:
    closing = draft.work.closing
    if closing is None:
        return draft
    return draft.with_work(replace(draft.work, closing=replace(closing, attempts=closing.attempts + attempts)))


def _answered(draft: Draft, event: ModelAnswered) -> Draft:
    requested, answer = draft.session.asked, event.answer
    if requested is None:
        raise ValueError("an answer to no request")
    usage = priced(answer.usage, draft.context.agent.prices)
    if requested.sums_up is not None:
        return _summed_up(draft, event, requested, usage)
    candidate = j.Candidate(
        turn_id=requested.turn_id,
        step_id=requested.step_id,
        invocation_id=event.invocation_id,
        blocks=answer.blocks,
        calls=_named(draft, event),
        finish_reason=answer.finish_reason,
        usage=usage,
        attempts=answer.attempts,
    )
    draft = step_over(draft.write(candidate))
    return draft if candidate.calls else end_turn(draft, j.Final(turn_id=requested.turn_id, step_id=requested.step_id))


def _summed_up(draft: Draft, event: ModelAnswered, requested: j.ModelRequested, usage: Usage) -> Draft:
    """A summary, and the step goes on. Without text the model has failed, as with any other answer of no use."""
    answer = event.answer
    summary = "".join(block.text for block in answer.blocks if isinstance(block, TextBlock)).strip()
    if not summary:
        message = "the model was asked to sum up the conversation, and gave no text"
        return _model_failed(draft, ModelCallFailed(event.invocation_id, "invalid-output", message, answer.attempts))
    compacted = j.Compacted(
        turn_id=requested.turn_id,
        invocation_id=event.invocation_id,
        up_to=requested.sums_up or 0,
        summary=summary,
        usage=usage,
        attempts=answer.attempts,
    )
    draft = draft.write(compacted)
    return draft.with_work(replace(draft.work, phase="none"))


def _named(draft: Draft, event: ModelAnswered) -> tuple[ProposedCall, ...]:
    """The calls under ids that are unique in the session; an empty or repeated one is a fault of the call."""
    earlier, here = _call_ids(draft.session), set[str]()
    named = []
    for index, call in enumerate(event.answer.calls):
        fault = "tool/invalid-call-id" if not call.id else "tool/duplicate-call-id" if call.id in here else None
        ours = fault is not None or call.id in earlier
        here.add(call.id)
        call_id = draft.mint(f"call:{index}") if ours else call.id
        named.append(ProposedCall(call_id=call_id, tool=call.tool, arguments=call.arguments, fault=fault))
    return tuple(named)


def _call_ids(session: Session) -> frozenset[str]:
    answers = (entry for turn in session.turns for entry in turn.entries if isinstance(entry, AnswerEntry))
    return frozenset(call.call_id for answer in answers for call in answer.calls)


def _model_failed(draft: Draft, event: ModelCallFailed) -> Draft:
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
    )
    draft = step_over(draft.write(failure))
    if event.code == "content-policy":
        kind = f"model/{event.code}"
        draft = end_turn(draft, j.Failed(turn_id=requested.turn_id, end="failed", kind=kind, message=event.message))
    return end_run(draft, "failed", ModelFailed(event.code, event.message, **event.details))
