"""Clients that race, daemons that end, and what is promised all the same: a short run of what the figures try at
length."""

from support.e2e import Place
from support.e2e_crash import Nursery
from support.figures import Figures
from support.jepsen.chaos import chaos, size
from support.jepsen.checker import violations


def test_what_four_clients_did_and_heard_over_restarts_keeps_every_promise(
    machine: Place, nursery: Nursery, figures: Figures
) -> None:
    history = chaos(machine, nursery, f"{figures.seed}:many clients", restarts=5)
    assert violations(history) == [], size([history])
    assert {one.outcome for one in history.operations} == {"ok", "refused", "unknown"}
