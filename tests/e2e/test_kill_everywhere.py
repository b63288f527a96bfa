"""kill -9 of the daemon at every write of a session, and what is left of it then (machine.md, After a crash)."""

import shutil
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from support import e2e_journal
from support.e2e import Place, calls, deferred, kill, says, until
from support.e2e_crash import ALIVE, Death, Moment, Nursery
from support.e2e_crash_law import Expected, after_a_crash
from support.e2e_peer import Gone, Peer, Refusal

ID = "s1"


@dataclass(frozen=True)
class Flow:
    """A session of one turn: what its model asks for, what its policy says, and whether it is driven by runs."""

    asks: tuple[tuple[str, dict[str, Any]], ...]
    rules: tuple[dict[str, Any], ...]
    runs: bool = False

    @property
    def bumps(self) -> int:
        return sum(tool == "bump" for tool, _ in self.asks)

    def config(self, place: Place) -> dict[str, Any]:
        return place.config(script=[calls(*self.asks), says("all done")], rules=self.rules)


FLOWS = {
    "result": Flow((("bump", {}), ("sh", {"command": "false"})), (deferred("sh"),)),
    "approve": Flow((("bump", {}),), (deferred("bump"),)),
    "approve in a run": Flow((("bump", {}),), (deferred("bump"),), runs=True),
    "mixed": Flow((("bump", {}), ("ext", {}), ("bump", {"x": "ask"})), ({**deferred("bump"), "match": {"/x": "ask"}},)),
    "three at once": Flow((("bump", {}), ("bump", {"x": "b"}), ("bump", {"x": "c"})), ()),
    "runAsync": Flow((("bump", {}),), ({"tool": "bump", "disposition": "runAsync"},)),
}


@dataclass
class Told:
    """What was acknowledged: the journal's bytes and the session as they were at the last reply."""

    journal: bytes = b""
    session: dict[str, Any] = field(default_factory=dict)
    finished: set[str] = field(default_factory=set)


class Bed:
    """A machine whose daemons come from the nursery."""

    def __init__(self, root: Path, nursery: Nursery, flow: Flow) -> None:
        self.place = Place(root)
        self.nursery = nursery
        self.flow = flow
        self.told = Told()
        self.doubted = 0
        self.pid = 0

    def wake(self, death: Death = ALIVE) -> Peer:
        """A client of a new daemon that will die so; the one before is gone by then, and its lock with it."""
        self.close()
        peer = self.nursery.wake(self.place, death)
        self.pid = peer.pid
        return peer

    def close(self) -> None:
        if self.pid:
            kill(self.pid)

    def drive(self, peer: Peer) -> None:
        """From wherever the session is to its final answer. Raises Gone when the daemon dies on the way."""
        session = self._known(peer) or self._note(peer, self.start(peer))
        while session["state"] != "completed":
            session = self._note(peer, self._advance(peer, session))

    def start(self, peer: Peer) -> Any:
        config, cwd = self.flow.config(self.place), str(self.place.work)
        run = "turn" if self.flow.runs else "none"
        return peer.request("agents/start", config=config, prompt="go", cwd=cwd, sessionId=ID, run=run)

    def _known(self, peer: Peer) -> Any:
        try:
            return peer.request("agents/get", sessionId=ID)["session"]
        except Refusal as refused:
            assert refused.kind == "session/unknown", refused
            return None

    def _advance(self, peer: Peer, session: Any) -> Any:
        for call in session["pending"]:
            match call["kind"]:
                case "running":
                    until(lambda: self._known(peer)["state"] != "partialUserTurn", "for the background call")
                    return self._known(peer)
                case "approval" if call["tool"] == "bump":
                    answer: dict[str, Any] = {"outcome": {"kind": "approve"}, "argumentsHash": call["argumentsHash"]}
                case "approval" | "external" | "uncertain":
                    self.doubted += call["kind"] == "uncertain"
                    answer = {"outcome": {"kind": "result", "content": "from outside"}}
                case other:
                    raise AssertionError(f"nothing here is {other}")
            resume = {"resume": True} if self.flow.runs else {}
            return peer.request("agents/complete", token=call["token"], **answer, **resume)["session"]
        return peer.request("agents/run" if self.flow.runs else "agents/step", sessionId=ID)["session"]

    def _note(self, peer: Peer, session: Any) -> Any:
        """Remembers what a reply acknowledged."""
        data = self.place.journal(ID).read_bytes()
        self.told.journal = data if _revision(data) == session["revision"] else self.told.journal
        self.told.session = session
        self.told.finished = {item["call"]["callId"] for item in _calls(peer) if item["call"]["state"] == "completed"}
        return session


def _revision(journal: bytes) -> int:
    return journal.count(b"\n")


def _calls(peer: Peer) -> list[Any]:
    return [item for item in peer.request("agents/transcript", sessionId=ID)["items"] if "call" in item]


@pytest.mark.parametrize("moment", ["before", "torn", "after"])
@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)
def test_a_daemon_killed_at_any_write_loses_nothing_and_runs_nothing_twice(
    tmp_path: Path, nursery: Nursery, flow: Flow, moment: Moment
) -> None:
    for at in count(1):
        with closing(Bed(tmp_path / str(at), nursery, flow)) as bed:
            if not _dies_at(bed, Death(moment, at)):
                assert at - 1 == len(e2e_journal.units(bed.place.journal(ID)))
                return


def _dies_at(bed: Bed, death: Death) -> bool:
    """Whether the daemon came to die; if so, it was woken again and everything about the session held."""
    try:
        with bed.wake(death) as peer:
            bed.drive(peer)
        return False
    except Gone:
        left = bed.place.journal(ID).read_bytes() if bed.place.journal(ID).exists() else b""
    with bed.wake() as peer:
        if death.at == 1 and death.moment != "after":
            _nothing_was_acknowledged(bed, peer)
            bed.start(peer)
        else:
            _nothing_is_lost(bed, peer, left)
        _it_comes_to_its_end(bed, peer)
    return True


def _nothing_was_acknowledged(bed: Bed, peer: Peer) -> None:
    """A torn first write leaves no session: the directory is listed as damaged (R4), not one byte changed, until
    somebody makes a session of that id."""
    left = bed.place.journal(ID).read_bytes()
    listed = peer.request("agents/sessions")
    assert ([one["sessionId"] for one in listed["damaged"]], listed["items"]) == ([ID], [])
    assert (bed.told, bed.place.journal(ID).read_bytes()) == (Told(), left)


def _nothing_is_lost(bed: Bed, peer: Peer, left: bytes) -> None:
    session = peer.request("agents/get", sessionId=ID)["session"]
    journal = bed.place.journal(ID).read_bytes()
    whole = left[: left.rfind(b"\n") + 1]
    torn = whole != left
    lines = e2e_journal.read(bed.place.journal(ID))
    assert journal.startswith(bed.told.journal)
    assert session["revision"] >= bed.told.session.get("revision", 0)
    assert ([line.type for line in lines].count("repaired"), journal == left) == (int(torn), not torn)
    assert _shown(peer, session) == after_a_crash(lines)
    known = {item["call"]["callId"] for item in _calls(peer) if item["call"]["state"] == "completed"}
    assert bed.told.finished <= known


def _it_comes_to_its_end(bed: Bed, peer: Peer) -> None:
    """Every call ran once, or not at all where somebody had to say what had come of it."""
    bed.drive(peer)
    session = peer.request("agents/get", sessionId=ID)["session"]
    assert (session["turn"]["end"], session["output"]) == ("answered", "all done")
    assert bed.flow.bumps - bed.doubted <= bed.place.ran() <= bed.flow.bumps
    e2e_journal.read(bed.place.journal(ID))


def _shown(peer: Peer, session: Any) -> Expected:
    states = tuple(item["call"]["state"] for item in _calls(peer))
    pending = tuple(call["kind"] for call in session["pending"])
    items = peer.request("agents/transcript", sessionId=ID)["items"]
    notes = sum(item.get("text") == "model call interrupted" for item in items)
    return Expected(session["state"], states, pending, notes)


@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)
def test_every_prefix_of_a_journal_opens_as_the_law_says_and_nothing_is_written(
    tmp_path: Path, nursery: Nursery, flow: Flow
) -> None:
    with closing(Bed(tmp_path / "whole", nursery, flow)) as bed, bed.wake() as peer:
        bed.drive(peer)
    units = e2e_journal.units(bed.place.journal(ID))
    for length in range(1, len(units) + 1):
        lines = [line for unit in units[:length] for line in unit]
        data = b"".join(line.raw for line in lines)
        with closing(Bed(tmp_path / str(length), nursery, flow)) as other:
            other.place.journal(ID).parent.mkdir(parents=True)
            other.place.journal(ID).write_bytes(data)
            shutil.copytree(bed.place.state / "configs", other.place.state / "configs")
            with other.wake() as peer:
                session = peer.request("agents/get", sessionId=ID)["session"]
                assert (_shown(peer, session), session["revision"]) == (after_a_crash(lines), len(lines))
        assert (other.place.journal(ID).read_bytes(), other.place.ran()) == (data, 0)
