"""Long transcripts of elsewhere, and sessions that went back often, cost what they are long (machine.md, Rewinds)."""

from collections.abc import Callable
from functools import partial

import pytest
from support.costs import grows
from support.seeds import Value, answered, call, done, final, planted, results, said, text
from support.world import text_parts

from abey.core.replay import apply, fold
from abey.core.session import Session
from abey.protocol import journal as j
from abey.runtime.store.scan import End
from abey.runtime.store.snapshot_text import Snapshot, to_text

LINEAR = 6.0
"""Four times as much may cost so many times more: a part that grows with the square would make it 16."""


def folds(transcript: list[Value]) -> Callable[[], object]:
    records = planted({"transcript": transcript}).records
    return lambda: fold(records)


def closed_one_by_one(calls: int) -> list[Value]:
    asked = answered(*(call(f"c{n}") for n in range(calls)))
    return [said("hi"), asked, *(results(done(f"c{n}")) for n in range(calls))]


def nobody_closed(entries: int) -> list[Value]:
    return [said("hi"), answered(call("c1")), *(results() for _ in range(entries)), said("and?")]


def turns(count: int) -> list[Value]:
    told = (
        (
            said("hi", f"t{n}"),
            answered(call(f"c{n}"), turn=f"t{n}", step=f"a{n}"),
            results(done(f"c{n}"), turn=f"t{n}", step=f"a{n}"),
            answered(text("so"), turn=f"t{n}", step=f"b{n}"),
            final("so", f"t{n}", f"b{n}"),
        )
        for n in range(count)
    )
    return [entry for turn in told for entry in turn]


@pytest.mark.parametrize("transcript", [closed_one_by_one, nobody_closed, turns])
def test_a_seed_costs_what_it_is_long(transcript: Callable[[int], list[Value]]) -> None:
    assert grows(lambda size: folds(transcript(size)), 50) < LINEAR


def went_back(turns_before: int, times: int) -> tuple[Session, list[j.Record]]:
    """A session of so many turns, and the records with which it is asked again and again, each time from their end."""
    world = planted({"transcript": turns(turns_before)})
    asked = ((j.Input(turn_id=f"x{n}", input_id=f"i{n}", parts=text_parts("?")), j.Rewound(to=2)) for n in range(times))
    more = (data for pair in asked for data in pair)
    return world.session, [j.Record(rev, world.session.updated_at, data) for rev, data in enumerate(more, 3)]


def after(session: Session, records: list[j.Record]) -> Session:
    for record in records:
        session = apply(session, record)
    return session


def test_going_back_costs_the_same_however_long_the_session_is() -> None:
    assert grows(lambda size: partial(after, *went_back(size, 20)), 20) < 2.0


def test_a_snapshot_of_many_lines_costs_what_they_have_of_their_own() -> None:
    def snapshot(times: int) -> Callable[[], object]:
        session = after(*went_back(40, times))
        end = End(size=0, revision=session.revision, crc=0)
        return lambda: to_text(Snapshot(session, end, "", 1), lambda _name, _bytes: True)

    assert grows(snapshot, 10) < 2.0
