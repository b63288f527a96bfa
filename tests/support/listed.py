"""What a daemon lists, without sockets: a Shell with an index, and the handlers that use it."""

from dataclasses import fields
from pathlib import Path
from typing import Any, cast

from support.shell import Shell

from abey.daemon.listing import Listing
from abey.daemon.services import Services
from abey.protocol.queries import PendingParams, SessionsParams
from abey.rpc.peer import Peer
from abey.runtime.children import Children
from abey.runtime.index.database import Database
from abey.runtime.index.index import Index
from abey.runtime.ports import NoToolbox
from abey.runtime.store.io import FileIO

NOBODY = cast(Peer, None)


class Listed(Shell):
    """One daemon on a state directory; it may be followed by another one, whether it was closed or not."""

    def __init__(self, state: Path, replies: list[Any], *, disk: FileIO | None = None, **more: Any) -> None:
        super().__init__(state, replies, **more)
        self.file = state / "index.sqlite"
        self.index = Index(self.sessions, self.store, self.clock, Database(self.file, disk or FileIO("process")))
        parts: dict[str, Any] = {
            "clock": self.clock,
            "versions": self.versions,
            "sessions": self.sessions,
            "scheduler": self.scheduler,
            "toolbox": NoToolbox(),
            "children": Children(self.sessions, self.versions, lambda: self.scheduler),
        }
        # lists need no other parts
        services = Services(**{field.name: parts.get(field.name) for field in fields(Services) if field.init})
        self.listing = Listing(services, self.index)

    async def shown(self, **params: Any) -> Any:
        """The reply of agents/sessions, as it goes out."""
        return (await self.listing.sessions(NOBODY, SessionsParams(**params))).wire()

    async def ids(self, **params: Any) -> list[str]:
        return [one["sessionId"] for one in (await self.shown(**params))["items"]]

    async def waiting(self, **params: Any) -> Any:
        """The reply of agents/pending, as it goes out."""
        return (await self.listing.pending(NOBODY, PendingParams(**params))).wire()

    async def load_all(self) -> "Listed":
        """From now on nothing is read from the index."""
        await self.sessions.all()
        return self

    async def close(self) -> None:
        await self.scheduler.close()
        await self.index.close()
