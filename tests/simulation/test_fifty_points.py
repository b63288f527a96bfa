"""A turn that is disturbed at any of fifty points, between two callbacks of the daemon: the next turn begins soon, and
nothing of the old one comes after its end. Nothing takes time, so the points are the same every time."""

from collections.abc import Callable
from functools import cache

import pytest
from support.simulation.points import GRACE_SECONDS, SOON_SECONDS, Turn, callbacks_of_a_turn, turn

POINTS = 50
Disturb = Callable[[Turn], None]


@cache
def points() -> list[int]:
    """From the first callback after the run was asked for to the last before its end."""
    number = callbacks_of_a_turn()
    return [at * number // POINTS for at in range(POINTS)]


def cancel(turn: Turn) -> None:
    turn.say(turn.watcher, "agents/cancel", turnId=turn.first)


def leave_and_cancel(turn: Turn) -> None:
    """Somebody sends something first, which begins the next turn."""
    turn.leave()
    turn.send("second", "queue")
    cancel(turn)


@pytest.mark.parametrize("deaf", [False, True], ids=["listening", "deaf"])
@pytest.mark.parametrize("disturb", [cancel, leave_and_cancel])
def test_a_cancelled_turn_is_over_and_the_next_one_begins(disturb: Disturb, deaf: bool) -> None:
    ends = []
    for point in points():
        with turn(deaf=deaf) as disturbed:
            disturbed.advance(point)
            disturbed.simulation.actors.calm = True
            disturb(disturbed)
            disturbed.send("third", "turn")
            soon = SOON_SECONDS + (GRACE_SECONDS if deaf else 0.0)
            assert disturbed.go_on(disturbed.answered_again, soon), f"no other turn after point {point}"
            ends.append(disturbed.ends[0])
            check(disturbed, point)
    # at the last point the answer is being written: a cancel that comes too late changes nothing
    assert ends == ["cancelled"] * (POINTS - 1) + ["answered"]


@pytest.mark.parametrize("deaf", [False, True], ids=["listening", "deaf"])
def test_a_stopped_turn_is_over_and_its_session_begins_another_only_once_it_is_seeded(deaf: bool) -> None:
    for point in points():
        with turn(deaf=deaf) as disturbed:
            disturbed.advance(point)
            disturbed.simulation.actors.calm = True
            disturbed.send("second", "queue")
            disturbed.say(disturbed.watcher, "agents/stop")
            soon = SOON_SECONDS + (GRACE_SECONDS if deaf else 0.0)
            assert disturbed.simulation.pass_time(soon, lambda: disturbed.session.stopped), f"at point {point}"
            assert disturbed.request("agents/send", prompt="x", inputId="x")["data"]["kind"] == "session/stopped"
            check(disturbed, point)
            disturbed.seed()
            disturbed.send("third", "turn")
            assert disturbed.go_on(lambda: disturbed.ends[-1:] == ["answered"], SOON_SECONDS), f"at point {point}"
            check(disturbed, point)


def test_a_client_that_leaves_ends_nothing() -> None:
    for point in points():
        with turn(deaf=False) as disturbed:
            disturbed.advance(point)
            disturbed.leave()
            assert disturbed.go_on(disturbed.over)
            assert disturbed.ends == ["answered"]
            disturbed.send("second", "turn")
            assert disturbed.go_on(disturbed.answered_again, SOON_SECONDS), f"no other turn after point {point}"
            check(disturbed, point)


@pytest.mark.parametrize("delivery", ["turn", "queue", "interrupt"])
def test_what_is_sent_meanwhile_joins_the_turn_or_begins_the_next_one(delivery: str) -> None:
    joined, idle = [], []
    for point in points():
        with turn(deaf=False) as disturbed:
            disturbed.advance(point)
            disturbed.send("second", delivery)
            assert disturbed.go_on(disturbed.over)
            joined.append(disturbed.holds("second"))
            if joined[-1]:
                disturbed.send("third", "turn")
            assert disturbed.go_on(disturbed.answered_again, SOON_SECONDS), f"no other turn after point {point}"
            assert disturbed.ends == ["answered", "answered"]
            idle.append(disturbed.met_idle("second"))
            check(disturbed, point)
    if delivery == "interrupt":
        assert any(joined)
    else:  # a `turn` joins one that waits for nothing but to be gone on with, and a `queue` never does
        assert joined == [delivery == "turn" and met for met in idle]


def check(disturbed: Turn, point: int) -> None:
    disturbed.rest()
    assert list(disturbed.faults()) == [], f"at point {point}"
    disturbed.simulation.judge()
