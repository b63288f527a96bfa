"""What there is to be shown of a session in its documents."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from abey.language.sessions.names import Name
from abey.protocol.session import Session
from abey.protocol.transcript import Item, ItemCall, Pending

IN_DOCUMENTS = frozenset({"approval", "external", "question", "uncertain"})
"""Kinds of pending calls that have a document; a call that runs waits for nobody but its tool."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A pending call and its number."""

    n: int
    pending: Pending

    @property
    def has_document(self) -> bool:
        return self.pending.kind in IN_DOCUMENTS

    @property
    def name(self) -> Name:
        return Name(self.pending.session_id, self.n)


@dataclass(frozen=True, slots=True)
class Before:
    """What of a long transcript is not on its page: so many items, turns and calls."""

    items: int = 0
    turns: int = 0
    calls: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """A session with the end of its transcript, oldest first, and the folder of its documents. Every call that waits
    is in it."""

    session: Session
    items: Sequence[Item]
    folder: Path
    before: Before = Before()

    def without_first(self, number: int) -> "Page":
        """The same without so many items."""
        dropped, kept = self.items[:number], self.items[number:]
        turns = {item.turn_id for item in dropped} - {item.turn_id for item in kept[:1]}
        calls = sum(item.call is not None for item in dropped)
        was = self.before
        before = Before(was.items + len(dropped), was.turns + len(turns), was.calls + calls)
        return replace(self, items=kept, before=before)

    @property
    def calls(self) -> list[tuple[int, ItemCall]]:
        """With their numbers, which count from 1 over the whole session."""
        shown = [item.call for item in self.items if item.call is not None]
        return list(enumerate(shown, self.before.calls + 1))

    @property
    def waiting(self) -> list[Waiting]:
        """The pending calls, in the order of the calls."""
        pending = {one.call_id: one for one in self.session.pending}
        return [Waiting(n, pending[call.call_id]) for n, call in self.calls if call.call_id in pending]

    def call(self, n: int) -> ItemCall | None:
        """The n-th call, if it is on the page."""
        return next((call for number, call in self.calls if number == n), None)

    def wait(self, n: int) -> Waiting | None:
        """The n-th call, if it waits for somebody and has a document."""
        return next((one for one in self.waiting if one.n == n and one.has_document), None)

    def path(self, name: Name) -> Path:
        return self.folder / str(name)


Look = Callable[[str], Awaitable[Page | None]]
"""The page of the session of that id as it is now; None where there is no such session, or it cannot be read."""
