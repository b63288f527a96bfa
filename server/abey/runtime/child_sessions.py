"""What the shell of a session needs to know of its children, the sessions that work on its calls."""

from collections.abc import Sequence
from typing import Protocol

from abey.core.call import Call
from abey.core.conversation import ToolOutcome
from abey.core.session import Session
from abey.protocol.journal import Record
from abey.runtime.live import Live


class ChildRests(Exception):
    """What works on a child can do nothing more, though the turn of the child has not ended. The call runs on."""


class ChildSessions(Protocol):
    """Who knows the children of sessions."""

    async def look(self, session: Session) -> None:
        """The children of its open calls are in memory, if they are there at all."""
        ...

    def outcome(self, session: Session, call: Call) -> ToolOutcome | None:
        """What came of the child that works on the call, as far as it is in memory; None where its turn goes on."""
        ...

    def took(self, live: Live, records: Sequence[Record]) -> None:
        """These records of a session are durable: if they end a turn, and it is a child, its parent is told."""
        ...

    def gone(self, session: Session) -> None:
        """A session was deleted: if it is a child, nobody will work on its call any more."""
        ...

    async def end(self, parent_id: str, child_id: str) -> None:
        """The turn of the child is cancelled, or the child is stopped where its parent is; returns when that is done.
        Whoever stops waiting stops nothing."""
        ...


class NoChildren:
    """A ChildSessions where no agent asks another one."""

    async def look(self, session: Session) -> None:
        pass

    def outcome(self, session: Session, call: Call) -> ToolOutcome | None:
        return None

    def took(self, live: Live, records: Sequence[Record]) -> None:
        pass

    def gone(self, session: Session) -> None:
        pass

    async def end(self, parent_id: str, child_id: str) -> None:
        pass
