"""What editors hear of documents that they have open: that what is said of them changed, or that they are gone."""

from collections.abc import Sequence
from pathlib import Path

from abey.daemon.editors.desk import Desk
from abey.daemon.plain.pages import Pages
from abey.daemon.plain.telling import Errands, tell
from abey.language.sessions.argument_findings import answered
from abey.language.sessions.names import Name, read_name
from abey.rpc.peer import Peer


class News:
    """Of all plain clients."""

    def __init__(self, desk: Desk, pages: Pages, errands: Errands) -> None:
        self._desk = desk
        self._pages = pages
        self._errands = errands
        self._peers: dict[str, Peer] = {}

    def joined(self, peer: Peer) -> None:
        if peer.plain:
            self._peers[peer.id] = peer

    def left(self, peer: Peer) -> None:
        self._peers.pop(peer.id, None)

    def written(self, session_id: str) -> None:
        """Diagnostics and lenses of what is open of the session are made anew."""

        def concerned(path: Path) -> bool:
            name = read_name(path.name)
            return path.parent == self._pages.folder and name is not None and name.session_id == session_id

        self._desk.refresh(concerned)

    def gone(self, names: Sequence[Name]) -> None:
        """These files were removed; who has one open is told why."""
        for name in names:
            path = self._pages.folder / str(name)
            for peer in self._peers.values():
                if path in self._desk.paths(peer):
                    self._errands.run(self._tell(peer, name))

    async def _tell(self, peer: Peer, name: Name) -> None:
        page = await self._pages.look(name.session_id)
        if page is None:
            tell(peer, f"session {name.session_id} is no more: its documents were removed")
        elif name.call is not None:
            tell(peer, f"{answered(page.call(name.call), '').message}; its document was removed")
