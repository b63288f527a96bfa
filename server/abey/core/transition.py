"""The machine: a session and an event give the session after it, what to write, and what to do then.

Laws
- The records of a transition are durable before any of its effects, and before anybody sees the session after it.
- An event that is not legal raises an AbeyError, and nothing happens.
- Nothing here knows a clock, a file, a network or a task: time, chance and the agent come in with the context.
"""

from collections.abc import Mapping

from abey.core.agent import Agent
from abey.core.answering import seal, told
from abey.core.children import end_left, finished, settle_children
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
    Continue,
    Drive,
    Event,
    GraceOver,
    Isolate,
    ModelAnswered,
    ModelCallFailed,
    News,
    Pause,
    Reseed,
    Rewind,
    Send,
    Start,
    Stop,
    TimePassed,
    ToolAsked,
    ToolEnded,
    ToolsListed,
    Tripped,
    Update,
    Withdraw,
)
from abey.core.idempotency import Keyed
from abey.core.inputs import drive, pause, send, start, update
from abey.core.isolation import isolate
from abey.core.machine import Context, Draft, Machine, Work
from abey.core.model_answers import answered
from abey.core.model_failures import model_failed
from abey.core.questions import ask
from abey.core.queueing import go_on, withdraw
from abey.core.remembering import change_rules
from abey.core.replay import apply
from abey.core.rewinding import rewind
from abey.core.seeding import plant, reseed
from abey.core.session import Session
from abey.core.steps import settle
from abey.core.tripping import tripped
from abey.core.turns import close, finish_closing
from abey.protocol import journal as j
from abey.protocol.base import Json
from abey.shared.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class Transition:
    """What an event came to. `generation` is the run that the request waits for, if it waits for one, and `answer` what
    else it is told, without the session. `sessions` are those after each of the records.

    `agent` is the version that the step now running began with.
    """

    machine: Machine
    records: tuple[j.Record, ...]
    sessions: tuple[Session, ...]
    effects: tuple[Effect, ...]
    generation: int | None
    agent: Agent
    answer: Mapping[str, Json]


def transition(machine: Machine, event: Event, context: Context, keyed: Keyed | None = None) -> Transition:
    """The machine after `event`, which a request with a key came with if `keyed` says so. Raises AbeyError where the
    event is not legal, before anything is built."""
    draft = Draft(machine.session, machine.work, context, untold=() if keyed is None else (keyed.request,))
    if machine.work.phase == "none":
        draft = draft.with_latest_agent()
    return _done(settle(_decide(draft, event)), event, keyed)


def begin(event: Start, context: Context, keyed: Keyed | None = None) -> Transition:
    """A session that did not exist: its first record, and what follows from it."""
    rev = 1 if event.seed is None else event.seed.revision + 1
    created = j.Record(rev, context.now, event.created, keyed.request if keyed else None)
    session = apply(None, created)
    draft = Draft(session, Work(), context, (created,), (session,))
    begun = start(draft, event) if event.seed is None else plant(draft, event.seed, event.created.client)
    return _done(settle(begun), event, keyed)


def _done(draft: Draft, event: Event, keyed: Keyed | None) -> Transition:
    answer, draft = told(draft, event), seal(draft, event, keyed)
    machine, agent = Machine(draft.session, draft.work), draft.context.agent
    return Transition(machine, draft.records, draft.sessions, draft.effects, draft.generation, agent, answer)


def _decide(draft: Draft, event: Event) -> Draft:
    if isinstance(event, News):
        return _report(draft, event)
    if isinstance(event, Command):
        draft = end_left(settle_children(expire(draft)))
    match event:
        case Send():
            return send(draft, event)
        case Complete():
            return complete(draft, event)
        case Continue():
            return go_on(draft, event)
        case Withdraw():
            return withdraw(draft, event)
        case Rewind():
            return rewind(draft, event)
        case Reseed():
            return reseed(draft, event)
        case Drive():
            return drive(draft, event)
        case Start():
            raise ValueError("a session starts once")
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


def _report(draft: Draft, event: News) -> Draft:
    """News of work in flight; of work that nobody waits for any more it is quarantined."""
    invocation = draft.work.find(event.invocation_id)
    if isinstance(event, ToolAsked):
        return ask(draft, event, invocation)
    if invocation is None:
        lost = isinstance(event, ModelAnswered | ModelCallFailed | Tripped | ToolEnded)
        return draft.do(Quarantined(event.invocation_id)) if lost else draft
    draft = draft.end(event.invocation_id)
    match event:
        case ToolEnded():
            return draft.write(finished(invocation.call_id or "", event.invocation_id, event.outcome))
        case ToolsListed():
            return draft.with_work(replace(draft.work, phase="none")) if draft.work.closing is None else draft
        case ModelAnswered() | ModelCallFailed() | Tripped() if draft.work.closing is not None:
            return _cut(draft, event.answer.attempts if isinstance(event, ModelAnswered) else event.attempts)
        case ModelAnswered():
            return answered(draft, event)
        case ModelCallFailed():
            return model_failed(draft, event)
        case Tripped():
            return tripped(draft, event)
        case Aborted():
            return _cut(draft, event.attempts)
        case ChildRested():
            return draft.with_work(replace(draft.work, rested=draft.work.rested | {invocation.call_id or ""}))


def _cut(draft: Draft, attempts: int) -> Draft:
    closing = draft.work.closing
    if closing is None:
        return draft
    return draft.with_work(replace(draft.work, closing=replace(closing, attempts=closing.attempts + attempts)))
