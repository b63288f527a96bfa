"""Does a history keep the promises of the protocol? Pure: a history in, sentences about what is broken out."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

from support.jepsen.history import Attached, Ended, Event, History, Journal, Notice, Operation, Told, Winner

ACCEPTED = ("input", "input-queued")


def violations(history: History) -> list[str]:
    """Every broken promise, in a sentence; none for a history as it should be."""
    return [
        *_inputs(history),
        *_revisions(history),
        *_replies(history),
        *_tokens(history),
        *_keys(history),
        *_events(history),
        *_read_your_events(history),
        *_completeness(history),
    ]


def _inputs(history: History) -> Iterator[str]:
    """An acknowledged input is in the journal once, one whose fate is unknown at most once, a refused one never."""
    sends: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in history.operations:
        if one.method == "agents/send":
            sends[one.session_id, one.subject].add(one.outcome)
    for (session_id, input_id), outcomes in sends.items():
        kinds = Counter(record.type for record in history.journals[session_id].records if record.input_id == input_id)
        taken, what = bool(kinds), f"input {input_id} of {session_id}"
        if any(kinds[kind] > 1 for kind in ACCEPTED):
            yield f"{what} was taken twice"
        if "ok" in outcomes and not taken:
            yield f"{what} was acknowledged and is lost"
        if outcomes == {"refused"} and taken:
            yield f"{what} was refused and taken"


def _revisions(history: History) -> Iterator[str]:
    """Those of a journal rise by one; a reply never shows an older one than a reply that ended before it was asked."""
    for session_id, journal in history.journals.items():
        seeded = any(record.type == "seeded" for record in journal.records[1:2])  # then it begins where its seed ends
        first = journal.records[0].rev - 1 if seeded else 0
        for before, after in pairwise([first, *(record.rev for record in journal.records)]):
            if after != before + 1:
                yield f"revision {after} of {session_id} follows revision {before}"
        yield from _backwards(session_id, [one for one in history.operations if one.session_id == session_id])
        last = journal.records[-1].rev if journal.records else 0
        for one in history.operations:
            if one.session_id == session_id and one.said and one.said.revision > last:
                yield f"{one.client} was shown revision {one.said.revision} of {session_id}, which was never recorded"


def _backwards(session_id: str, operations: list[Operation]) -> Iterator[str]:
    answered = sorted((one for one in operations if one.said), key=lambda one: one.end)
    shown, newest = iter(answered), 0
    upcoming = next(shown, None)
    for one in sorted(answered, key=lambda one: one.start):
        while upcoming is not None and upcoming.end < one.start:
            assert upcoming.said is not None
            newest = max(newest, upcoming.said.revision)
            upcoming = next(shown, None)
        assert one.said is not None
        if one.said.revision < newest:
            yield f"{one.client} was shown revision {one.said.revision} of {session_id} after revision {newest}"


def _replies(history: History) -> Iterator[str]:
    """Every answer is to the request that was asked, by the client that asked it."""
    yield from (f"nobody asked for {stray}" for stray in history.strays)
    for one in history.operations:
        if one.said is None:
            continue
        if one.said.session_id != one.session_id:
            yield f"{one.client} asked about {one.session_id} and was answered about {one.said.session_id}"
        if one.method == "agents/send" and one.said.input_id != one.subject:
            yield f"{one.client} sent {one.subject} and was answered about {one.said.input_id}"


def _tokens(history: History) -> Iterator[str]:
    """A call is resolved once, by one client, and everybody is told of the same one."""
    answers: dict[tuple[str, str], list[Operation]] = defaultdict(list)
    for one in history.operations:
        if one.method == "agents/complete" and one.said and one.said.winner:
            answers[one.session_id, one.subject].append(one)
    for (session_id, token), operations in answers.items():
        recorded = [record for record in history.journals[session_id].records if record.token == token]
        winners: set[Winner] = {one.said.winner for one in operations if one.said and one.said.winner}
        winning = [one for one in operations if one.said and one.said.applied]
        if len(recorded) > 1:
            yield f"call {token} was resolved {len(recorded)} times"
        if len(winners) > 1:
            yield f"clients do not agree on who resolved call {token}: {sorted(one.client for one in winners)}"
        if len({one.key or one.start for one in winning}) > 1:
            yield f"call {token} was won twice"
        for one in winning:
            if one.said and one.said.winner and one.said.winner.client != one.client:
                yield f"{one.client} won call {token}, which {one.said.winner.client} resolved"
        if winning and not recorded:
            yield f"the answer to call {token} was acknowledged and is lost"


def _keys(history: History) -> Iterator[str]:
    """A request with a key is taken once, however often it was sent."""
    for session_id, journal in history.journals.items():
        for key, times in Counter(record.key for record in journal.records if record.key).items():
            if times > 1:
                yield f"the request with the key {key} was taken {times} times in {session_id}"


def _events(history: History) -> Iterator[str]:
    """Once, in order, without a gap, the same for everybody, and as the journal has them."""
    known: dict[tuple[str, int], str] = {}
    for client, notices in history.notices.items():
        attached: dict[str, int] = {}
        for notice in notices:
            yield from _follows(client, notice, attached)
            for told in _told(notice):
                if known.setdefault((notice.session_id, told.seq), told.digest) != told.digest:
                    yield f"event {told.seq} of {notice.session_id} was not the same for {client} as for others"
                yield from _recorded(client, notice.session_id, told, history.journals[notice.session_id])


def _follows(client: str, notice: Notice, attached: dict[str, int]) -> Iterator[str]:
    session_id = notice.session_id
    match notice:
        case Attached(after=after, seq=seq, replay=replay, snapshot=snapshot):
            numbers = [told.seq for told in replay]
            if not snapshot and after is not None and numbers != list(range(after + 1, seq + 1)):
                yield f"{client} knew {after} of {session_id} and was replayed {numbers} up to {seq}"
            attached[session_id] = seq
        case Event(told=told):
            last = attached.get(session_id)
            if last is None:
                yield f"{client} was told event {told.seq} of {session_id} without being attached"
            elif told.seq != last + 1:
                yield f"{client} was told event {told.seq} of {session_id} after event {last}"
            attached[session_id] = told.seq
        case Ended():
            attached.pop(session_id, None)


def _told(notice: Notice) -> tuple[Told, ...]:
    match notice:
        case Attached(replay=replay):
            return replay
        case Event(told=told):
            return (told,)
        case Ended():
            return ()


def _recorded(client: str, session_id: str, told: Told, journal: Journal) -> Iterator[str]:
    known = journal.events[told.seq - 1] if told.seq <= len(journal.events) else None
    if known is None or (known.revision, known.type) != (told.revision, told.type):
        yield f"{client} was told event {told.seq} of {session_id}, which does not follow from the journal"


def _read_your_events(history: History) -> Iterator[str]:
    """When an answer comes to a client that is attached, every event up to the revision it shows has come before."""
    for one in history.operations:
        if one.said is None or one.heard is None:
            continue
        events = history.journals[one.session_id].events
        due = max((told.seq for told in events if told.revision <= one.said.revision), default=0)
        if one.heard < due:
            yield f"{one.client} was shown revision {one.said.revision} of {one.session_id} before event {due}"


def _completeness(history: History) -> Iterator[str]:
    """Who is attached in the end has heard everything."""
    for (client, session_id), seq in history.last.items():
        events = len(history.journals[session_id].events)
        if seq != events:
            yield f"{client} has heard {seq} of the {events} events of {session_id}"
