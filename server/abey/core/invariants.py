"""What is true of every machine, in every state that events, crashes and replays can reach.

Each invariant is one sentence and one check; the sentences stand in docs/architecture.md in the same words.
"""

from collections.abc import Callable, Sequence

from abey.core.call import Call
from abey.core.conversation import AssistantMessage, Message, ResultMessage
from abey.core.finding import input_goes_on
from abey.core.history import entry_messages, history
from abey.core.line_invariants import final_calls_stay, lines_stay, reached_again, started_twice, tokens_unique
from abey.core.machine import Machine
from abey.core.moves import drawn, moves
from abey.core.replay import fold, recover
from abey.core.session import AnswerEntry, NoteEntry, Session, open_calls
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
    if started_twice(records):
        raise BrokenInvariant(ONCE)
    if _told_twice(records):
        raise BrokenInvariant(REMEMBERED)
    if not _inputs_end_once(machine.session, records):
        raise BrokenInvariant(ENDED)


REPLAYED = "What a journal replays to is what the daemon remembers"
GAPLESS = "Revisions rise by one, without a gap"
ONCE = "No call starts twice unless somebody chose so, or its tool is idempotent and no rewind lies between"
REMEMBERED = "A request with a key is recorded once, and so is its outcome, which never comes first"
ENDED = "Every input waits in the queue until it has its one end: committed, withdrawn, rejected or stopped"
UNCHANGED = "A call in a final state never changes"
KEPT = "A line that a session has left stays as it was left"
REACHED = "A session can go back to every revision at which it was quiet, on whatever line, and to no other"
DRAWN = "A session and its calls change their states as the diagrams say, and in no other way"


def check_step(before: Session, after: Session) -> None:
    """Raises BrokenInvariant where `after` has lost or changed what may only grow."""
    if not final_calls_stay(before, after):
        raise BrokenInvariant(UNCHANGED)
    if not lines_stay(before, after):
        raise BrokenInvariant(KEPT)


def check_moves(before: Session | None, cause: str, after: Session) -> None:
    """Raises BrokenInvariant where a record, or a restart, has moved the session or a call otherwise than is drawn."""
    if not moves(before, cause, after) <= drawn():
        raise BrokenInvariant(DRAWN)


def check_lines(machine: Machine, records: Sequence[j.Record]) -> None:
    """Raises BrokenInvariant where the session cannot go back to where it was, or can to where it was not."""
    if not reached_again(machine.session, records):
        raise BrokenInvariant(REACHED)


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
    return tokens_unique(machine.session)


def _stopped_is_quiet(machine: Machine) -> bool:
    return not machine.session.stopped or (not machine.work.live and machine.work.run is None)


def _asked_about_not_started(machine: Machine) -> bool:
    return all(call.started is None for call in _calls(machine.session) if call.asked_about)


def _nothing_before_the_answer(machine: Machine) -> bool:
    batch = machine.session.batch
    if batch is None or not any(call.asked_about for call in batch.calls):
        return True
    return all(call.started is None or call.resolution is not None for call in batch.calls)


def _denied_never_started(machine: Machine) -> bool:
    return all(call.started is None for call in _calls(machine.session) if call.state == "denied")


def _history_closed(machine: Machine) -> bool:
    turns = machine.session.turns
    if not any(isinstance(entry, NoteEntry) and entry.told for turn in turns for entry in turn.entries):
        return legal_history(history(machine.session))
    own = (entry for turn in turns for entry in turn.entries if not isinstance(entry, NoteEntry))
    return legal_history([message for entry in own for message in entry_messages(entry)])


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


def _promises_open(machine: Machine) -> bool:
    promised = {one.input_id for one in machine.work.promised if one.input_id is not None}
    return all(input_goes_on(machine.session, one) for one in promised)


def _inputs_end_once(session: Session, records: Sequence[j.Record]) -> bool:
    """Whether each input that was taken has one place: the transcript, the queue, or among those that were dropped."""
    taken, places = set[str](), [queued.input_id for queued in session.queue]
    for record in records:
        match record.data:
            case j.Input(input_id=input_id, repairs=None) | j.Continued(input_id=input_id):
                taken.add(input_id)
                places.append(input_id)
            case j.InputQueued(input_id=input_id):
                taken.add(input_id)
            case j.Withdrawn(input_id=input_id):
                places.append(input_id)
            case _:
                pass
    places += [input_id for input_id, how in session.dropped.items() if how != "withdrawn"]
    return sorted(places) == sorted(taken)


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


INVARIANTS: dict[str, Check] = {
    "An open batch is never sent to a model": _open_batch_unsent,
    "A call that runs has work in flight or a child, and work in flight has a call that runs": _running_has_work,
    "Every child works on one call": _children_unique,
    "At most one model call is in flight": _one_model_call,
    "A turn that has ended has no open call": _ended_turns_closed,
    "Only the last turn may be open": _one_open_turn,
    "Every call has its own token": _tokens_unique,
    "A stopped session has no work in flight": _stopped_is_quiet,
    "A call that somebody is asked about before it runs has not started": _asked_about_not_started,
    "While somebody is asked about a call before it runs, of its batch only what was let run has started": (
        _nothing_before_the_answer
    ),
    "A call that was denied has never started": _denied_never_started,
    "The history closes every call exactly once, in its place, but for what a seed has told otherwise": _history_closed,
    "A request with a key that is in flight waits for something that is in flight": _requests_in_flight,
    "A run that is promised to an input is promised to one that waits, or whose turn is open": _promises_open,
}
