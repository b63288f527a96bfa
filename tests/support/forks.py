"""Forks of a world: worlds of their own, on the records that a fork begins with."""

from dataclasses import replace
from itertools import count
from typing import Any

from support.world import CLIENT, World

from abey.core.forking import Fork, fork_of
from abey.core.invariants import check, check_journal, check_lines
from abey.core.lines import at
from abey.core.machine import Machine
from abey.core.replay import fold, recover
from abey.core.session import NoteEntry, Session
from abey.errors import InvalidState

NOW = "T000000000000009Z"
_numbers = count(1)


def forked(world: World, revision: int | None = None, session_id: str = "f1", title: str = "t (fork)") -> World:
    """The world of a fork that leaves the session of `world` there, where it is legal."""
    place = at(world.session, world.session.revision if revision is None else revision).revision
    number = next(_numbers)
    fork = Fork(session_id, title, CLIENT, NOW, f"fork {number}".encode())
    records = list(fork_of(world.records, place, fork))
    session = fold(records)
    assert session is not None
    machine = Machine(recover(session))
    check(machine)
    check_journal(machine, records)
    check_lines(machine, records)
    shared = {"versions": dict(world.versions), "kept": list(world.kept), "children": {}, "cut": set(world.cut)}
    return replace(
        world, records=records, machine=machine, counter=1000 * number, effects=[], ended=[], awaited=set(), **shared
    )


def legal_revisions(session: Session) -> list[int]:
    """Every revision that the session can be forked at."""
    return [revision for revision in range(1, session.revision + 1) if _is_legal(session, revision)]


def issued(world: World) -> set[str]:
    """Every token that the journal issues."""
    return {token for record in world.records if (token := getattr(record.data, "token", None)) is not None}


def told(session: Session) -> list[Any]:
    """What the session says, without notes, the tokens of its calls and the ids of its children."""
    said = ([entry for entry in turn.entries if not isinstance(entry, NoteEntry)] for turn in session.turns)
    return [[_plain(entry) for entry in entries] for entries in said]


def _plain(entry: Any) -> Any:
    calls = getattr(entry, "calls", None)
    return entry if not calls else replace(entry, calls=tuple(_bare(call) for call in calls))


def _bare(call: Any) -> Any:
    verdict = call.verdict and call.verdict.model_copy(update={"token": ""})
    started = call.started and call.started.model_copy(update={"child_id": None})
    return replace(call, verdict=verdict, started=started, ran_before=False)


def _is_legal(session: Session, revision: int) -> bool:
    try:
        at(session, revision)
    except InvalidState:
        return False
    return True
