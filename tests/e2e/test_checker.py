"""The checker of histories finds nothing in a good one, and every fault that is planted into it."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from support.jepsen.checker import violations
from support.jepsen.history import (
    Attached,
    Ended,
    Event,
    History,
    Journal,
    Notice,
    Operation,
    Record,
    Said,
    Told,
    Winner,
)


def told(seq: int, revision: int, kind: str = "session/updated", digest: str = "") -> Told:
    return Told(seq, revision, kind, digest or f"d{seq}")


EVENTS = (told(1, 1), told(2, 2, "input/committed"), told(3, 2), told(4, 3), told(5, 4, "input/queued"), told(6, 4))
RECORDS = (
    Record(1, "created"),
    Record(2, "input", input_id="c1-i1", key="c1-k1"),
    Record(3, "call-resolved", token="t1"),
    Record(4, "input-queued", input_id="c2-i1"),
)
WON = Winner("deny", "c1", "10:00", "c1-a1")


def sent(client: str, subject: str, start: float, revision: int, **more: object) -> Operation:
    said = Said("s0", revision, subject)
    return replace(
        Operation(client, "agents/send", "s0", start, subject, end=start + 1, outcome="ok", said=said),
        **more,  # type: ignore[arg-type]  # a test says only what matters
    )


def completed(client: str, start: float, *, applied: bool, winner: Winner = WON) -> Operation:
    said = Said("s0", 3, applied=applied, winner=winner)
    return Operation(client, "agents/complete", "s0", start, "t1", end=start + 1, outcome="ok", said=said)


def good() -> History:
    """c1 sends, loses its connection and sends again under the same key, and both answer the same call."""
    unknown = Operation("c1", "agents/send", "s0", 0.0, "c1-i1", "c1-k1")
    one: list[Notice] = [
        Attached("s0", None, 3, snapshot=True),
        *(Event("s0", event) for event in EVENTS[3:5]),
        Ended("s0"),
        Attached("s0", 5, 6, (EVENTS[5],)),
    ]
    two: list[Notice] = [Attached("s0", 0, 2, EVENTS[:2]), *(Event("s0", event) for event in EVENTS[2:])]
    return History(
        operations=[
            unknown,
            sent("c1", "c1-i1", 1.0, 2, key="c1-k1", heard=3),
            completed("c1", 3.0, applied=True),
            completed("c2", 3.5, applied=False),
            sent("c2", "c2-i1", 6.0, 4, heard=6),
            Operation("c2", "agents/send", "s0", 8.0, "c2-i2", end=9.0, outcome="refused", error="overloaded"),
            Operation("c2", "agents/send", "s0", 8.0, "c2-i3"),
        ],
        notices={"c1": one, "c2": two},
        journals={"s0": Journal(RECORDS, EVENTS)},
        last={("c1", "s0"): 6, ("c2", "s0"): 6},
    )


def journal(history: History, *records: Record) -> None:
    history.journals["s0"] = replace(history.journals["s0"], records=records)


def change(history: History, index: int, **said: object) -> None:
    """What an answer said was something else."""
    one = history.operations[index]
    assert one.said is not None
    history.operations[index] = replace(one, said=replace(one.said, **said))  # type: ignore[arg-type]  # as above


def lose_an_input(history: History) -> None:
    journal(history, *RECORDS[:3], Record(4, "waiting"))


def double_an_input(history: History) -> None:
    journal(history, *RECORDS, Record(5, "input", input_id="c1-i1"))


def double_an_unknown_input(history: History) -> None:
    history.operations = [one for one in history.operations if one.subject != "c1-i1" or one.outcome == "unknown"]
    journal(history, *RECORDS, Record(5, "input", input_id="c1-i1"))


def take_a_refused_input(history: History) -> None:
    journal(history, *RECORDS, Record(5, "input-queued", input_id="c2-i2"))


def skip_a_revision(history: History) -> None:
    journal(history, *RECORDS[:3], replace(RECORDS[3], rev=5))


def go_back(history: History) -> None:
    change(history, 4, revision=1)


def show_what_is_nowhere(history: History) -> None:
    change(history, 4, revision=9)


def swap_two_answers(history: History) -> None:
    first, second = history.operations[1].said, history.operations[4].said
    history.operations[1] = replace(history.operations[1], said=second)
    history.operations[4] = replace(history.operations[4], said=first)


def answer_about_another_session(history: History) -> None:
    change(history, 1, session_id="s1")


def answer_somebody_else(history: History) -> None:
    history.strays.append("the answer 7 to c2")


def resolve_twice(history: History) -> None:
    journal(history, *RECORDS, Record(5, "call-resolved", token="t1"))


def have_two_winners(history: History) -> None:
    change(history, 3, applied=True)


def disagree(history: History) -> None:
    change(history, 3, winner=replace(WON, client="c2"))


def lose_an_answer(history: History) -> None:
    journal(history, *RECORDS[:2], Record(3, "waiting"), RECORDS[3])


def take_a_key_twice(history: History) -> None:
    journal(history, *RECORDS, Record(5, "updated", key="c1-k1"))


def double_an_event(history: History) -> None:
    history.notices["c2"].insert(2, Event("s0", EVENTS[2]))


def lose_an_event(history: History) -> None:
    del history.notices["c2"][2]


def swap_two_events(history: History) -> None:
    two = history.notices["c2"]
    two[2], two[3] = two[3], two[2]


def replay_too_little(history: History) -> None:
    history.notices["c1"][-1] = Attached("s0", 5, 6)


def replay_too_much(history: History) -> None:
    history.notices["c1"][-1] = Attached("s0", 5, 6, EVENTS[4:])


def tell_who_left(history: History) -> None:
    history.notices["c1"].insert(4, Event("s0", EVENTS[5]))


def tell_before_the_answer(history: History) -> None:
    one = history.notices["c1"]
    one[-1:] = [Event("s0", EVENTS[5]), one[-1]]


def tell_something_else(history: History) -> None:
    history.notices["c2"][-1] = Event("s0", told(6, 4, digest="other"))


def tell_what_is_not_recorded(history: History) -> None:
    history.notices["c2"].append(Event("s0", told(7, 5)))


def answer_before_the_event(history: History) -> None:
    history.operations[1] = replace(history.operations[1], heard=2)


def never_tell_the_last(history: History) -> None:
    history.last["c2", "s0"] = 5


FAULTS: dict[Callable[[History], None], str] = {
    lose_an_input: "input c2-i1 of s0 was acknowledged and is lost",
    double_an_input: "input c1-i1 of s0 was taken twice",
    double_an_unknown_input: "input c1-i1 of s0 was taken twice",
    take_a_refused_input: "input c2-i2 of s0 was refused and taken",
    skip_a_revision: "revision 5 of s0 follows revision 3",
    go_back: "c2 was shown revision 1 of s0 after revision 3",
    show_what_is_nowhere: "c2 was shown revision 9 of s0, which was never recorded",
    swap_two_answers: "c1 sent c1-i1 and was answered about c2-i1",
    answer_about_another_session: "c1 asked about s0 and was answered about s1",
    answer_somebody_else: "nobody asked for the answer 7 to c2",
    resolve_twice: "call t1 was resolved 2 times",
    have_two_winners: "call t1 was won twice",
    disagree: "clients do not agree on who resolved call t1: ['c1', 'c2']",
    lose_an_answer: "the answer to call t1 was acknowledged and is lost",
    take_a_key_twice: "the request with the key c1-k1 was taken 2 times in s0",
    double_an_event: "c2 was told event 3 of s0 after event 3",
    lose_an_event: "c2 was told event 5 of s0 after event 3",
    swap_two_events: "c2 was told event 5 of s0 after event 3",
    replay_too_little: "c1 knew 5 of s0 and was replayed [] up to 6",
    replay_too_much: "c1 knew 5 of s0 and was replayed [5, 6] up to 6",
    tell_who_left: "c1 was told event 6 of s0 without being attached",
    tell_before_the_answer: "c1 was told event 6 of s0 without being attached",
    tell_something_else: "event 6 of s0 was not the same for c2 as for others",
    tell_what_is_not_recorded: "c2 was told event 7 of s0, which does not follow from the journal",
    answer_before_the_event: "c1 was shown revision 2 of s0 before event 3",
    never_tell_the_last: "c2 has heard 5 of the 6 events of s0",
}


def test_a_good_history_breaks_no_promise() -> None:
    assert violations(good()) == []


@pytest.mark.parametrize("plant", FAULTS, ids=lambda plant: plant.__name__)
def test_a_fault_is_told(plant: Callable[[History], None]) -> None:
    history = good()
    plant(history)
    assert FAULTS[plant] in violations(history)
