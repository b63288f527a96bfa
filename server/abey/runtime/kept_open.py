"""What the shell of a session needs to know of what sessions keep open."""

from typing import Protocol


class KeptOpen(Protocol):
    """What sessions keep open while they are in memory: connections, and what extensions have made."""

    def abort(self, session_id: str) -> None:
        """The session is being stopped: nothing is opened for it any more, and what is being opened is not wanted."""
        ...

    def holds(self, session_id: str) -> bool:
        """Whether anything was opened for the session, or could not be, and that is remembered."""
        ...

    async def release(self, session_id: str) -> None:
        """Nothing of the session stays open, as far as it ends within its time."""
        ...

    async def close(self) -> None:
        """The same for all sessions, and nothing is opened any more."""
        ...


class NothingOpen:
    """A KeptOpen where no session keeps anything open."""

    def abort(self, session_id: str) -> None:
        pass

    def holds(self, session_id: str) -> bool:
        return False

    async def release(self, session_id: str) -> None:
        pass

    async def close(self) -> None:
        pass
