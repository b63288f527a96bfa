"""Few journals stay open, whoever is at work."""

from dataclasses import dataclass, field
from typing import Any, cast

from abey.runtime.parking import Parking


@dataclass
class Journal:
    parked: int = 0

    def park(self) -> None:
        self.parked += 1


@dataclass(eq=False)
class Session:
    """What Parking sees of a Live."""

    writing: bool = False
    journal: Journal = field(default_factory=Journal)


def _parked(sessions: list[Session]) -> list[int]:
    return [session.journal.parked for session in sessions]


def _wrote(parking: Parking, session: Session) -> None:
    parking.wrote(cast(Any, session))


def test_who_wrote_longest_ago_is_given_up() -> None:
    parking, sessions = Parking(2), [Session() for _ in range(3)]
    for session in (*sessions[:2], sessions[0], sessions[2]):
        _wrote(parking, session)
    assert _parked(sessions) == [0, 1, 0]


def test_one_that_is_written_to_is_kept() -> None:
    parking, sessions = Parking(2), [Session(writing=True), Session(), Session()]
    for session in sessions:
        _wrote(parking, session)
    assert _parked(sessions) == [0, 1, 0]


def test_where_all_others_are_written_to_it_is_the_one_that_wrote() -> None:
    parking, sessions = Parking(2), [Session(writing=True), Session(writing=True), Session()]
    for session in sessions:
        _wrote(parking, session)
    assert _parked(sessions) == [0, 0, 1]
    sessions[0].writing = False
    _wrote(parking, sessions[2])
    assert _parked(sessions) == [1, 0, 1]
