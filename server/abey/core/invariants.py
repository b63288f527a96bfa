"""What is true of every machine, in every state that events, crashes and replays can reach.

Each invariant is one sentence and one check; the sentences stand in docs/architecture.md in the same words.
"""

from collections.abc import Callable, Sequence

from abey.core.conversation import AssistantMessage, Message, ResultMessage
from abey.core.history import history
from abey.core.machine import Machine
from abey.core.replay import fold, recover
from abey.core.session import AnswerEntry, Call, Session, open_calls
from abey.protocol import journal as j

Check = Callable[[Machine], bool]


class BrokenInvariant(Exception):
    """The sentence that is not true."""


def check(machine: Machine) -> None:
    """Raises BrokenInvariant where one of INVARIANTS does not hold."""
    for sentence, holds in INVARIANTS.items():
        if not holds(machine):
            raise BrokenInvariant(sentence)


def check_journal(machine: Machine, records: Sequence[j.Record]) -> None:
    """Raises BrokenInvariant where the journal and the machine it belongs to disagree, or a record is not allowed."""
    first = records[0].rev if records else 1
    if [record.rev for record in records] != list(range(first, first + len(records))):
        raise BrokenInvariant(GAPLESS)
    replayed = fold(records)
    if replayed is None or recover(replayed) != recover(machine.session):
        raise BrokenInvariant(REPLAYED)
    if _started_twice(records):
        raise BrokenInvariant(ONCE)
    if _told_twice(records):
        raise BrokenInvariant(REMEMBERED)


REPLAYED = "What a journal replays to is what the daemon remembers"
GAPLESS = "Revisions rise by one, without a gap"
ONCE = "No call starts twice unless its tool is idempotent or somebody chose to run it again"
REMEMBERED = "A request with a key is recorded once, and so is its outcome, which never comes first"
UNCHANGED = "A call in a final state never changes"


def check_step(before: Session, after: Session) -> None:
    """Raises BrokenInvariant where a call that was final in `before` is not the same in `after`."""
    later = {call.call_id: call for call in _calls(after)}
    for call in _calls(before):
        if call.final and later.get(call.call_id) != call:
            raise BrokenInvariant(UNCHANGED)


def _calls(session: Session) -> list[Call]:
    answers = [entry for turn in session.turns for entry in turn.entries if isinstance(entry, AnswerEntry)]
    return [call for answer in answers for call in answer.calls]


def _open_batch_unsent(machine: Machine) -> bool:
    return machine.session.asked is None or not open_calls(machine.session)


def _running_has_work(machine: Machine) -> bool:
    live = {one.call_id for one in machine.work.live if one.call_id is not None}
    running = {call.call_id: call for call in _calls(machine.session) if call.state == "running"}
    tools = {call_id for call_id, call in running.items() if call.child_id is None}
    # While a cancel is on its way, a tool may have ended before its call is closed.
    return live <= running.keys() and (tools <= live or machine.work.closing is not None)


def _children_unique(machine: Machine) -> bool:
    return len(machine.session.children) == len(set(machine.session.children))


def _one_model_call(machine: Machine) -> bool:
    return sum(one.call_id is None for one in machine.work.live) <= 1


def _ended_turns_closed(machine: Machine) -> bool:
    ended = (turn for turn in machine.session.turns if turn.end is not None)
    answers = (entry for turn in ended for entry in turn.entries if isinstance(entry, AnswerEntry))
    return all(answer.settled and (answer.committed or not answer.calls) for answer in answers)


def _one_open_turn(machine: Machine) -> bool:
    return all(turn.end is not None for turn in machine.session.turns[:-1])


def _tokens_unique(machine: Machine) -> bool:
    tokens = [call.verdict.token for call in _calls(machine.session) if call.verdict is not None]
    return len(tokens) == len(set(tokens))


def _stopped_is_quiet(machine: Machine) -> bool:
    return not machine.session.stopped or (not machine.work.live and machine.work.run is None)


def _denied_never_started(machine: Machine) -> bool:
    return all(call.started is None for call in _calls(machine.session) if call.state == "denied")


def _history_closed(machine: Machine) -> bool:
    return legal_history(history(machine.session))


def legal_history(messages: Sequence[Message]) -> bool:
    """Every call is answered once, right after the message that asked for it, in its order."""
    expected: list[str] = []
    for message in messages:
        if isinstance(message, ResultMessage):
            if not expected or expected.pop(0) != message.call_id:
                return False
        elif expected:
            return False
        if isinstance(message, AssistantMessage):
            expected = [call.call_id for call in message.calls]
            if len(expected) != len(set(expected)):
                return False
    return not expected


def _requests_in_flight(machine: Machine) -> bool:
    work = machine.work
    runs = {one.generation for one in (work.run, *work.promised) if one is not None}
    calls = {call.call_id for call in open_calls(machine.session)}
    return all(
        one.generation in runs or one.call_id in calls or (one.closing and work.closing is not None)
        for one in work.requests
    )


def _told_twice(records: Sequence[j.Record]) -> bool:
    """Whether a key has two requests or two outcomes, or an outcome without a request."""
    begun, ended = set[str](), set[str]()
    for record in records:
        request = record.request
        if request is not None and request.key in begun:
            return True
        begun |= {request.key} if request is not None else set()
        for outcome in record.outcomes:
            if outcome.key in ended or outcome.key not in begun:
                return True
            ended.add(outcome.key)
    return False


def _started_twice(records: Sequence[j.Record]) -> bool:
    """Whether a call-started follows another of the same call without a choice in between, or idempotence."""
    started, idempotent = set[str](), set[str]()
    for record in records:
        match record.data:
            case j.CallDecided():
                idempotent |= {record.data.call_id} if record.data.idempotent else set()
            case j.CallResolved() if record.data.outcome.kind == "rerun":
                started.discard(record.data.call_id)
            case j.CallStarted():
                if record.data.call_id in started - idempotent:
                    return True
                started.add(record.data.call_id)
            case _:
                pass
    return False


INVARIANTS: dict[str, Check] = {
    "An open batch is never sent to a model": _open_batch_unsent,
    "A call that runs has work in flight or a child, and work in flight has a call that runs": _running_has_work,
    "Every child works on one call": _children_unique,
    "At most one model call is in flight": _one_model_call,
    "A turn that has ended has no open call": _ended_turns_closed,
    "Only the last turn may be open": _one_open_turn,
    "Every call has its own token": _tokens_unique,
    "A stopped session has no work in flight": _stopped_is_quiet,
    "A call that was denied has never started": _denied_never_started,
    "The history closes every call exactly once, in its place": _history_closed,
    "A request with a key that is in flight waits for something that is in flight": _requests_in_flight,
}
