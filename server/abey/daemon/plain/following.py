"""The documents of sessions follow them, whether or not an editor is there: one may have them open that is yet to come
back. Where there are none nothing of this is loaded."""

import os
from functools import cached_property
from typing import TYPE_CHECKING

from abey.core.machine import Machine
from abey.daemon.services import Services
from abey.shared.places import documents_dir

if TYPE_CHECKING:
    from collections.abc import Callable

    from abey.daemon.plain.documents import Documents
    from abey.daemon.plain.pages import Pages


class Following:
    """A publish.Follower. `exists` says, and blocks for it, whether there is a session of that id."""

    def __init__(self, services: Services, exists: "Callable[[str], bool]") -> None:
        self._services = services
        self._exists = exists
        self._folder = documents_dir(services.settings.state_dir)

    @cached_property
    def pages(self) -> "Pages":
        from abey.daemon.plain.pages import Pages

        return Pages(self._services, self._folder)

    @cached_property
    def documents(self) -> "Documents":
        """From when somebody asks for them on, they follow."""
        from abey.daemon.plain.documents import Documents
        from abey.daemon.plain.folder import Folder
        from abey.daemon.plain.papers import Papers

        return Documents(self.pages, Papers(Folder(self._folder)), self._exists)

    def start(self) -> None:
        """An earlier daemon may have left some."""
        if os.path.isdir(self._folder) and os.listdir(self._folder):
            self.documents.start()

    async def close(self) -> None:
        """Writes what is due."""
        if self._are_followed:
            await self.documents.close()

    def changed(self, machine: Machine) -> None:
        if self._are_followed:
            self.documents.changed(machine.session.id)

    def gone(self, machine: Machine) -> None:
        self.changed(machine)

    @property
    def _are_followed(self) -> bool:
        return "documents" in self.__dict__
