"""Sessions that live in a store: the real machine, driven by chance, whose every record goes through a journal."""

import hashlib
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

from support.snapshots import told
from support.world import CLIENT, T0, agent, answer, check_arguments, text_parts

from abey.core import events as e
from abey.core.completing import pending_kind
from abey.core.conversation import ModelRequest, ToolOutcome
from abey.core.effects import AskModel, RunTool
from abey.core.hashes import shown_hash
from abey.core.history import history
from abey.core.machine import Context, Machine
from abey.core.replay import fold, recover
from abey.core.session import open_calls
from abey.core.transition import Transition, begin, transition
from abey.errors import AbeyError, InvalidState, RecordFailed
from abey.protocol import journal as j
from abey.protocol import outcomes as o
from abey.runtime.clock import timestamp
from abey.runtime.models.strictness import fault_of
from abey.runtime.store.journal import Journal
from abey.runtime.store.recovery import Damaged, Opened
from abey.runtime.store.snapshot_text import Snapshot
from abey.runtime.store.store import Store

NAMES = ("run", "run", "bg", "ask", "ext", "safe", "no")
TEXTS = ("done", "é 😀 \u2028 line\n", "x" * 700, "y" * 3000)
FAT = "z" * 40_000
"""Larger than what a record holds itself where there are blobs."""

Records = tuple[j.Record, ...]


class Vanished(Exception):
    """A session that was acknowledged does not open."""


@dataclass
class Story:
    """One session. `acknowledged` are its records up to the last write that succeeded, `tried` those of one that did
    not; both are the store's promise, whatever happens to the disk."""

    id: str
    chance: Random
    fat: float = 0.02
    acknowledged: Records = ()
    tried: Records = ()
    machine: Machine | None = None
    journal: Journal | None = None
    effects: list[Any] = field(default_factory=list)
    attempts: list[Records] = field(default_factory=list)
    millis: int = T0
    _made: int = 0

    def create(self, store: Store) -> None:
        """Its first write. Raises RecordFailed, InvalidState."""
        created = j.Created(
            session_id=self.id,
            agent="a",
            config={},
            config_hash=agent().config_hash,
            cwd="/w",
            title="t",
            client=CLIENT,
        )
        done = begin(e.Start(created, e.NewInput(text_parts("hello")), e.STEP), self._context())
        before, self.tried = self.tried, done.records
        self.attempts.append(done.records)
        try:
            self.journal = store.create(self.id, done.records)
        except InvalidState:  # what an earlier try left is in the way
            self.tried = before
            raise
        self._took(done)

    def remember(self, store: Store) -> None:
        """Has a snapshot written, as a daemon does behind its steps; one that cannot be costs nothing. None is of a
        session that lacks something now, which may be put back."""
        found = store.open(self.id, timestamp(self.millis))
        known = told(found)
        if found.lost or known.session is None or known.end is None or not (known.journal_hash and known.next_seq):
            return
        with suppress(OSError):
            store.save_snapshot(Snapshot(known.session, known.end, known.journal_hash, known.next_seq))

    @property
    def dead(self) -> bool:
        """A write failed, or nothing is open: it has to be reopened."""
        return self.journal is None or bool(self.tried)

    def go_on(self) -> None:
        """One more write, of whatever may happen next. Raises RecordFailed."""
        assert self.machine is not None
        while True:
            try:
                done = transition(self.machine, self._event(), self._context())
            except AbeyError:
                continue
            if done.records:
                assert self.journal is not None
                self.tried = done.records
                self.journal.append(done.records)
            self._took(done)
            if done.records:
                return

    def open(self, store: Store) -> None:
        """As a new daemon does. Raises Vanished when it is damaged."""
        self._opened(store.open(self.id, timestamp(self.millis)))

    def close(self) -> None:
        """Its daemon is gone, or the handle is dead."""
        journal, self.journal = self.journal, None
        if journal is not None:
            with suppress(OSError):
                journal.close()

    def reopen(self, store: Store) -> None:
        """As after a failed write. Raises Vanished, RecordFailed."""
        self.close()
        self._opened(store.reopen(self.id, timestamp(self.millis)))

    def take_over(self, store: Store) -> None:
        """A session that another process began, as it is. Raises Vanished."""
        found = store.open(self.id, timestamp(self.millis))
        if isinstance(found, Opened):
            self.acknowledged, self._made = found.records, 1000 * len(found.records)
        self._opened(found)

    def _opened(self, found: Opened | Damaged) -> None:
        if isinstance(found, Damaged):
            raise Vanished(f"{self.id}: {found.reason}")
        self.acknowledged = promised(found.records, self.acknowledged, self.tried)
        self.tried = ()
        session = fold(found.records)
        assert session is not None
        self.machine, self.journal, self.effects = Machine(recover(session)), found.journal, []

    def _took(self, done: Transition) -> None:
        self.acknowledged, self.tried = self.acknowledged + done.records, ()
        self.machine = done.machine
        self.effects += [one for one in done.effects if isinstance(one, AskModel | RunTool)]

    def _context(self) -> Context:
        self._made += 1
        self.millis += 5
        chance = hashlib.sha256(f"{self.id}:{self._made}".encode()).digest()
        return Context(self.millis, chance, timestamp, AGENT, AGENT, lambda _: AGENT, check_arguments)

    def _event(self) -> e.Event:
        assert self.machine is not None
        chance, session = self.chance, self.machine.session
        live = {one.invocation_id for one in self.machine.work.live}
        self.effects = [one for one in self.effects if one.invocation_id in live]
        if self.effects and chance.random() < 0.8:
            return self._news(self.effects.pop(chance.randrange(len(self.effects))))
        waiting = [call for call in open_calls(session) if pending_kind(call) in ("approval", "external", "uncertain")]
        if waiting and chance.random() < 0.8:
            call = chance.choice(waiting)
            assert call.verdict is not None
            outcome = chance.choice([o.Approve(), o.DenyCall(message="no"), o.Result(content=self._text())])
            return e.Complete(call.verdict.token, outcome, shown_hash(session, call), CLIENT)
        if session.state == "completed" or chance.random() < 0.1:
            return e.Send(e.NewInput(text_parts(self._text()), delivery=chance.choice(["turn", "queue"])), None, CLIENT)
        return e.Cancel(None, "enough", CLIENT) if chance.random() < 0.03 else e.Drive(e.STEP, CLIENT)

    def _news(self, effect: AskModel | RunTool) -> e.Event:
        if isinstance(effect, RunTool):
            error = "tool/failed" if self.chance.random() < 0.2 else None
            return e.ToolEnded(effect.invocation_id, ToolOutcome({"half \ud83d": self._text()}, error))
        names = self.chance.choices(NAMES, k=self.chance.choice([0, 1, 2]))
        asked = [(f"c{self._made}-{at}", name, '{"x": "1"}') for at, name in enumerate(names)]
        return e.ModelAnswered(effect.invocation_id, answer(*asked, text=self._text()))

    def _text(self) -> str:
        return FAT if self.chance.random() < self.fat else self.chance.choice(TEXTS)


AGENT = agent()


def promised(found: Records, acknowledged: Records, tried: Records) -> Records:
    """`found`, if it is what the store owes: all that was acknowledged, then the unit that was tried, whole or not at
    all, then a repair. Raises AssertionError, Vanished when less is there."""
    if found[: len(acknowledged)] != acknowledged:
        raise Vanished(f"{len(acknowledged)} records were acknowledged, {len(found)} are there")
    rest = found[len(acknowledged) :]
    while rest and rest[-1].data.type == "repaired":
        rest = rest[:-1]
    assert rest in ((), tried), f"neither acknowledged nor tried: {[one.data.type for one in rest]}"
    return found


def looked_at(store: Store, story: Story, now: str) -> Opened:
    """The session as a daemon finds it, which is the same with and without its snapshots and has all its blobs, opens
    the second time without a repair, and has a valid history. Raises Vanished, AssertionError."""
    loaded = store.load(story.id, now)
    found = store.open(story.id, now)
    if not isinstance(loaded, Opened) or not isinstance(found, Opened):
        raise Vanished(f"{story.id}: {loaded}")
    assert told(loaded) == told(found), "its snapshot says something else than its journal"
    assert (found.repaired, found.lost) == (None, ()), found.lost
    promised(found.records, story.acknowledged, story.tried)
    assert fault_in(found.records) is None, fault_in(found.records)
    return found


def fault_in(records: Records) -> str | None:
    """What a strict provider would find wrong with the history of these records, before and after a restart."""
    session = fold(records)
    if session is None:
        return None
    for one in (session, recover(session)):
        messages = history(one)
        fault = fault_of(ModelRequest("s", messages, (), 0)) if messages else None
        # an answer without calls ends a turn: it is followed by input before a model is asked again
        if fault is not None and fault != "the last message is the model's own":
            return fault
    return None


__all__ = ["InvalidState", "RecordFailed", "Story", "Vanished", "fault_in", "looked_at", "promised", "told"]
